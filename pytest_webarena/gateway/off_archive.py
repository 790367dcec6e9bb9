"""Answers to requests of archived pages for hosts that are in no archive: they are reported as not archived."""

from __future__ import annotations

from urllib.parse import urlsplit

from pytest_webarena.gateway.archive_misses import ResourceKind, resource_kind
from pytest_webarena.gateway.heads import RequestHead
from pytest_webarena.gateway.routes import NotArchived, Refused, RouteTable
from pytest_webarena.gateway.upstream import Route

__all__ = ["OffArchive", "is_below"]

_HOSTS = 2000
"""Maximum number of hosts of one trial. Pages can invent any number, and each costs a certificate."""


class OffArchive:
    """Guard of a gateway with archived sites, for hosts that no route serves (`routes.Guarded`).

    Addresses that an agent opens itself are refused as usual. Resources that archived pages load from there, and pages
    that they lead to, are reported as missing from the archive.
    """

    def __init__(
        self, routes: RouteTable, *, read: bool, unneeded: tuple[str, ...] = (), home: tuple[str, ...] = ()
    ) -> None:
        """``read``: whether TLS is ended here. ``unneeded``: hosts (with all subdomains) whose absence does not matter.
        ``home``: domains where the trial begins or may navigate on live sites. Everything on them is reported as
        missing."""
        self._routes, self._read, self._unneeded, self._home, self._hosts = routes, read, unneeded, home, 0

    def of(self, routes: RouteTable) -> OffArchive:
        """Return the same guard for another gateway."""
        return OffArchive(routes, read=self._read, unneeded=self._unneeded, home=self._home)

    def route(self, host: str, port: int) -> Route:
        """Return a route over which nothing is sent."""
        tls = port == 443
        self._hosts += 1
        if port not in (80, 443) or (tls and not self._read) or self._hosts > _HOSTS:
            raise _foreign(host)
        return _UnservedRoute(self, host, port, tls=tls)

    def judge(self, route: Route, request: RequestHead, path: str) -> None:
        """Raise `NotArchived` for a request of an archived site's page, else `Refused`."""
        kind = resource_kind(request.method, request.fields)
        if not (is_below(route.host, self._home) or self._is_of_page(request, route.url + path, kind)):
            raise _foreign(route.host)
        kind = "extra" if is_below(route.host, self._unneeded) else kind
        raise NotArchived(f"{request.method} {route.url}{path} is not archived, nor anything of {route.host}", kind)

    def _is_of_page(self, request: RequestHead, url: str, kind: ResourceKind) -> bool:
        known = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in request.fields)}
        sender = known.get("referer") or known.get("origin") or ""
        if (host := _host(sender)) is not None:
            return any(each.archived and each.host == host for each in self._routes)
        # Pages can suppress Referer, and browsers send Sec-Fetch-Site to secure hosts only.
        return kind != "page" or bool(self._routes.sent_on.sender(url)) or known.get("sec-fetch-site", "none") != "none"


class _UnservedRoute(Route):
    """Route to a host that is in no archive."""

    def __init__(self, off_archive: OffArchive, host: str, port: int, *, tls: bool) -> None:
        super().__init__(host, port, host, port, tls=tls, read=tls)
        self._off_archive = off_archive

    def admit(self, request: RequestHead, path: str, unsafe: str) -> None:
        self._off_archive.judge(self, request, path)


def is_below(host: str, names: tuple[str, ...]) -> bool:
    """Return whether a host is one of ``names`` or a subdomain of one.

    >>> is_below("cdn.ads.example", ("ads.example",)), is_below("bads.example", ("ads.example",))
    (True, False)
    """
    return any(host == name or host.endswith(f".{name}") for name in names)


def _host(url: str) -> str | None:
    """Return the host of an address; None if there is none."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return None
    return f"[{host}]" if host and ":" in host else host


def _foreign(host: str) -> Refused:
    return Refused(f"{host} can't be reached", f"{host} is not one of this task's sites")
