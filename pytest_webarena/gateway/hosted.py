"""Sites that run elsewhere: browsers see a stable name, the site sees its own address, and no page is rewritten.

Cookies ignore ports, so sites on one host would overwrite each other's. A request to a site's own address (an absolute
link or form) is redirected to its name. Heads of requests and responses are translated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_webarena.gateway.archive_misses import is_navigation
from pytest_webarena.gateway.pages import answer_preflight, answer_redirect
from pytest_webarena.gateway.upstream import Route
from pytest_webarena.own_addresses import OwnAddresses, origin_of, rest_of

if TYPE_CHECKING:
    from pytest_webarena.gateway.heads import RequestHead, ResponseHead
    from pytest_webarena.gateway.log_entry import Entry

__all__ = ["AddressBook", "HostedRoute", "OwnAddressRoute"]

_KEPT = 1000
_REFRESH = re.compile(r"(\s*[0-9.]+\s*[;,]\s*(?:url\s*=\s*)?['\"]?)(.*)", re.IGNORECASE | re.DOTALL)
_NEEDS_SECURE = re.compile(r"\s*__(?:Host|Secure)-", re.IGNORECASE)
_SECURE = re.compile(r"\s*(?:secure|samesite\s*=\s*none)\s*", re.IGNORECASE)
"""Attributes that require https; the second one requires the first."""
_PUBLIC = re.compile(r"(?:font|image|video|audio)/|text/css|(?:text|application)/(?:x-)?javascript|application/font")
"""Content types of resources that pages load without cookies."""


class AddressBook:
    """Translation between the own addresses of hosted sites and their names, for all sites of one gateway."""

    def __init__(self, declared: Mapping[str, str] | None = None) -> None:
        """``declared`` are the names of all instances, whether or not they are served here."""
        self._declared = declared or {}
        self._served: dict[str, str] = {}
        """Own address by the origin of the name."""
        self._table = OwnAddresses(self._declared)

    def add(self, address: str, name: str) -> None:
        """Register that the site at ``address`` is called ``name``, an origin."""
        self._served[name] = address
        served = {address: name for name, address in self._served.items() if address}
        self._table = OwnAddresses({**self._declared, **served})

    def origins_of(self, name: str) -> Sequence[str]:
        """Return the own origins of the site called ``name``, of all its instances."""
        own = [self._served.get(name, ""), *(own for own, known in self._declared.items() if origin_of(known) == name)]
        return tuple(dict.fromkeys(filter(None, map(origin_of, own))))

    def named(self, url: str, *, base: str = "") -> str:
        """Return an absolute address with the site's name in place of its own address; others unchanged. ``base``: the
        origin for addresses that begin with ``//``."""
        full = f"{urlsplit(base).scheme}:{url}" if base and url.startswith("//") else url
        return self._table.named_url(full) or url

    def owned(self, url: str) -> str:
        """Return an absolute address with the site's own address in place of its name; others unchanged."""
        own = origin_of(self._served.get(origin_of(url), ""))
        return own + rest_of(url) if own else url


class HostedRoute(Route):
    """The name of a site that runs elsewhere. The site receives requests as if they were for its own address."""

    def __init__(self, *args: Any, address: str, book: AddressBook, report: Callable[[str], None], **more: Any) -> None:
        """``address`` is the site's own one. ``report`` receives why pages can't work under the name."""
        super().__init__(*args, **more)
        self._book = book
        self._report = report
        self._sent_here: dict[tuple[str, str], str] = {}
        """Origin by method and path of requests that were redirected to the name, for which browsers send ``null``."""
        self._has_cookies = False
        self.settle(address)

    def settle(self, address: str) -> None:
        """Set the site's own address."""
        parts = urlsplit(address)
        self.own_address = address
        self.own_origin = origin_of(address)
        self.host_field = parts.netloc
        self.server_name = parts.hostname or ""
        self._book.add(address, self.url)

    def note_redirect(self, request: RequestHead, path: str) -> None:
        """Note that the browser will repeat a request for this route, without saying where it came from."""
        if origin := _field(request.fields, "origin"):
            self._sent_here[request.method, path] = origin
            if len(self._sent_here) > _KEPT:
                del self._sent_here[next(iter(self._sent_here))]

    def answer_itself(self, request: RequestHead, path: str, *, close: bool) -> tuple[int, str, bytes] | None:
        """Allow a preflight of a redirected request; restore the origin of the request itself."""
        if _field(request.fields, "origin") != "null":
            return None
        wanted = _field(request.fields, "access-control-request-method")
        if request.method == "OPTIONS" and (wanted, path) in self._sent_here:
            return 204, *_preflight(request, close=close)
        if origin := self._sent_here.get((request.method, path)):
            request.fields = [f"Origin: {origin}" if line[:7].lower() == "origin:" else line for line in request.fields]
            request.origin_restored = True
        return None

    def fields(self, sent: Sequence[str]) -> Sequence[str]:
        """Return the field lines with the site's own address in ``Origin`` and ``Referer``."""
        found = []
        for line in super().fields(sent):
            name, _, value = line.partition(":")
            if name.lower() in ("origin", "referer"):
                line = f"{name}: {self._book.owned(value.strip())}"
            elif name.lower() == "cookie":
                self._has_cookies = True
            found.append(line)
        return found

    def receive_response_head(self, request: RequestHead, head: ResponseHead, entry: Entry) -> None:
        """Translate the response's addresses, also in the log."""
        head.fields = [self._translated(line) for line in head.fields]
        first, _, rest = entry.response_head.partition("\r\n")
        entry.response_head = "\r\n".join([first, *(self._translated(line) for line in rest.split("\r\n"))])
        if not request.origin_restored:
            return
        if not _field(head.fields, "access-control-allow-origin"):
            head.fields += ["Access-Control-Allow-Origin: null", "Access-Control-Allow-Credentials: true"]
        by_script = not is_navigation(request.method, request.fields)
        if self._has_cookies and by_script and not _PUBLIC.match(_field(head.fields, "content-type")):
            self.report_own_address(entry.url)

    def report_own_address(self, url: str) -> None:
        """Report that a script uses the site's own address for ``url``, where browsers send no cookies."""
        self._report(
            f"{self.authority} (served by {self.host_field}): a script of its pages asks {self._book.owned(url)} by "
            "the site's own address, where browsers send no cookies. The site needs 'keep_address: true' in the "
            "catalogue"
        )

    @property
    def has_cookies(self) -> bool:
        """Whether the browser has sent cookies, so that requests without them have another effect."""
        return self._has_cookies

    def _translated(self, line: str) -> str:
        name, _, value = line.partition(":")
        value = value.strip(" \t")
        match name.lower():
            case "location" | "content-location" | "access-control-allow-origin":
                value = self._book.named(value, base=self.own_origin)
            case "refresh" if found := _REFRESH.fullmatch(value):
                value = found[1] + self._book.named(found[2], base=self.own_origin)
            case "set-cookie":
                value = self._own_cookie(value)
            case "content-security-policy" | "content-security-policy-report-only":
                value = ",".join(self._widened(policy) for policy in value.split(","))
            case _:
                return line
        return f"{name}: {value}"

    def _own_cookie(self, value: str) -> str:
        """Give a cookie for the site's own host, or a parent domain of it, to the name.

        Browsers accept ``Secure`` by http from this machine's own addresses, but not from the name. There the attribute
        has no effect, so it is removed; cookies whose names require it are reported.
        """
        parts = value.split(";")
        if self.own_origin.startswith("http:") and is_loopback(self.server_name):
            if _NEEDS_SECURE.match(value):
                cookie = parts[0].partition("=")[0].strip()
                self._report(
                    f"{self.authority} (served by {self.host_field}): it sets the cookie {cookie}, which browsers keep "
                    "at its own address only. The site needs 'keep_address: true' in the catalogue"
                )
            else:
                parts = [parts[0], *(part for part in parts[1:] if not _SECURE.fullmatch(part))]
        for number, part in enumerate(parts[1:], 1):
            key, _, domain = part.partition("=")
            domain = domain.strip().lower().removeprefix(".")
            if key.strip().lower() == "domain" and domain and f".{self.server_name}".endswith(f".{domain}"):
                parts[number] = f" Domain={self.host}"
        return ";".join(parts)

    def _widened(self, policy: str) -> str:
        """Allow the name wherever a policy allows the own address, and the reverse: links use both."""
        directives = []
        for directive in policy.split(";"):
            name, *sources = directive.split()[:1] and directive.split()
            more: list[str] = []
            for source in sources:
                if source.lower() == "'self'":
                    more += [self.own_origin, self.own_origin.replace("http", "ws", 1)]
                else:
                    full = source if "://" in source else f"{urlsplit(self.own_origin).scheme}://{source}"
                    as_http = re.sub(r"^ws", "http", full, flags=re.IGNORECASE)
                    if origin_of(as_http) == self.own_origin:
                        named = self._book.named(as_http)
                        more.append(named if as_http == full else named.replace("http", "ws", 1))
            directives.append(" ".join([name, *sources, *(each for each in more if each not in sources)]))
        return "; ".join(directives)


class OwnAddressRoute(Route):
    """The own address of hosted sites: every request is redirected to the name, with its method and body."""

    def __init__(self, host: str, port: int, *, tls: bool, book: AddressBook) -> None:
        super().__init__(host, port, "", 0, tls=tls, read=tls)
        self.names: dict[str, HostedRoute] = {}
        """The routes of the sites at this address, by the origin of their names."""
        self._book = book

    def route_for(self, path: str) -> HostedRoute | None:
        """Return the route of the site to which ``path`` belongs; None if that site is not served."""
        return self.names.get(origin_of(self._book.named(self.url + path)))

    def answer_itself(self, request: RequestHead, path: str, *, close: bool) -> tuple[int, str, bytes] | None:
        """Answer with a redirect; allow preflights, which must not be redirected."""
        if request.method == "OPTIONS" and _field(request.fields, "access-control-request-method"):
            return 204, *_preflight(request, close=close)
        if (route := self.route_for(path)) is not None:
            route.note_redirect(request, path)
        origin = _field(request.fields, "origin")
        return 307, *answer_redirect(self._book.named(self.url + path), origin=origin, close=close)


def is_loopback(host: str) -> bool:
    """Whether browsers trust a host by http, because it is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return f".{host.lower().rstrip('.')}".endswith(".localhost")


def _field(fields: Sequence[str], wanted: str) -> str:
    return next((line.partition(":")[2].strip() for line in fields if line.partition(":")[0].lower() == wanted), "")


def _preflight(request: RequestHead, *, close: bool) -> tuple[str, bytes]:
    named = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in request.fields)}
    return answer_preflight(named, close=close)
