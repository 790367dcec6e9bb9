"""A visitor without a browser: HTTP through a lease's gateway, with cookies. Used for APIs and login scripts."""

from __future__ import annotations

import codecs
import http.client
import ipaddress
import json
import re
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import Request

from pytest_webarena.errors import SiteError, TooLarge
from pytest_webarena.evidence import JsonValue
from pytest_webarena.sites.catalogues.manifest import ApiRecipe

__all__ = ["LONGEST_ANSWER", "Answer", "Visitor", "is_this_machine"]

_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 10
_PART = 65536
LONGEST_ANSWER = 50_000_000
"""Maximum size in bytes of one response, which is ample for checking a site."""
_DOTLESS = ".local"
"""Suffix that the standard library's cookies add to hosts without a dot, such as localhost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The response of a site."""

    url: str
    """Address of the response after redirects."""
    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def text(self) -> str:
        """The body as text in its declared charset, without a byte order mark."""
        return self.data.decode(_charset(self.headers), "replace").removeprefix("\ufeff")


class _BodyTooLong(Exception):
    """A body of more than `LONGEST_ANSWER` bytes."""


class Visitor:
    """Visits the site at ``url`` through ``proxy``; None: directly. ``timeout`` is the time limit of one request in
    seconds."""

    def __init__(
        self, url: str, *, proxy: str | None, state: Mapping[str, Any] | None = None, timeout: float = 30.0
    ) -> None:
        self.url = url
        self._proxy = urlsplit(proxy) if proxy else None
        self._timeout = timeout
        self._jar = CookieJar(_BrowserCookiePolicy())
        self.received: list[str] = []
        """Values of ``Set-Cookie`` in all responses, also of those whose cookies were replaced since."""
        for cookie in (state or {}).get("cookies", ()):
            self._jar.set_cookie(_cookie(cookie))

    def call(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
        follow: bool = True,
    ) -> Answer:
        """Send a request to ``path`` or a full address, and follow redirects. Raises `SiteError` without a response."""
        url = urljoin(f"{self.url}/", path)
        for _ in range(_MAX_REDIRECTS):
            answer = self._once(method, url, headers or {}, body)
            if not follow or answer.status not in _REDIRECTS or "location" not in answer.headers:
                return answer
            url = urljoin(url, answer.headers["location"])
            if answer.status not in (307, 308):
                method, body = "GET", None
        raise SiteError(f"{method} {path}: expected an answer, found more than {_MAX_REDIRECTS} redirects")

    def authenticated(self, recipe: ApiRecipe) -> dict[str, str]:
        """Returns the headers that an API requires, with a fresh token. Raises `SiteError` when it returns none."""
        token = ""
        if recipe.path:
            headers = {"Accept": "application/json"}
            body = None
            if recipe.body is not None:
                headers["Content-Type"], body = "application/json", json.dumps(recipe.body)
            answer = self.call(recipe.method, recipe.path, headers=headers, body=body)
            token = _token(answer, recipe)
        return {name: value.replace("{token}", token) for name, value in recipe.headers.items()}

    def state(self) -> dict[str, Any]:
        """Returns its cookies as a browser's storage state."""
        return {"cookies": [_stored(cookie) for cookie in self._jar], "origins": []}

    def updated(self, cookies: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Returns the ``cookies`` that it started with, as responses have set, changed or removed them."""

        def key(cookie: Mapping[str, Any]) -> tuple[str, str, str]:
            return cookie["name"], str(cookie["domain"]).removeprefix("."), cookie["path"]

        after = {key(cookie): cookie for cookie in self.state()["cookies"]}
        known = set(map(key, cookies))
        kept = [
            cookie if cookie["value"] == after[key(cookie)]["value"] else {**cookie, **after[key(cookie)]}
            for cookie in cookies
            if key(cookie) in after
        ]
        return [*kept, *(cookie for name, cookie in after.items() if name not in known)]

    def _once(self, method: str, url: str, headers: Mapping[str, str], body: str | None) -> Answer:
        parts = urlsplit(url)
        request = Request(url, method=method)
        self._jar.add_cookie_header(request)
        sent = {**dict(request.header_items()), **headers}
        connection, target = self._connection(parts.scheme, parts.hostname or "", parts.port, url)
        try:
            connection.request(method, target, body=body.encode() if body is not None else None, headers=sent)
            response = connection.getresponse()
            data = self._body(response)
            self._jar.extract_cookies(response, request)
            self.received += response.headers.get_all("Set-Cookie", [])
            found = {name.lower(): value for name, value in response.getheaders()}
            data = _decoded(data, found.get("content-encoding", ""))
            return Answer(url=url, status=response.status, headers=found, data=data)
        except _BodyTooLong:
            raise TooLarge(f"{method} {url}: expected at most {LONGEST_ANSWER:,} bytes, found more") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise SiteError(
                f"{method} {url}: expected an answer within {self._timeout:g} s, found {error!r}"
            ) from error
        finally:
            connection.close()

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        """Returns the whole body within the request's time limit; endless streams and oversized bodies are errors."""
        deadline = time.monotonic() + self._timeout
        data = bytearray()
        while part := response.read1(_PART):
            data += part
            if len(data) > LONGEST_ANSWER:
                raise _BodyTooLong
            if time.monotonic() > deadline:
                raise TimeoutError("an endless answer")
        if response.length:  # `read` would have raised this
            raise http.client.IncompleteRead(bytes(data), response.length)
        return bytes(data)

    def _connection(self, scheme: str, host: str, port: int | None, url: str) -> tuple[http.client.HTTPConnection, str]:
        parts = urlsplit(url)
        origin = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        proxy = self._proxy
        if proxy is None:
            kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
            return kind(host, port, timeout=self._timeout), origin
        at = proxy.hostname or "127.0.0.1"
        # The gateway is on this machine: requests to it are plain HTTP even for https hosts, and TLS begins behind it.
        return http.client.HTTPConnection(at, proxy.port, timeout=self._timeout), f"{scheme}://{parts.netloc}{origin}"


class _BrowserCookiePolicy(DefaultCookiePolicy):
    """Sends ``Secure`` cookies where browsers do: over HTTPS, and to this machine itself, where nobody can listen
    in."""

    def return_ok_secure(self, cookie: Cookie, request: Request) -> bool:
        return not cookie.secure or request.type == "https" or is_this_machine(urlsplit(request.full_url).hostname)


def is_this_machine(host: str | None) -> bool:
    """Whether the host is localhost, a name below it, or a loopback address.

    >>> [is_this_machine(host) for host in ("shop.localhost", "127.3.2.1", "::1", "shop.test", "localhost.test")]
    [True, True, True, False, False]
    """
    name = (host or "").lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _decoded(data: bytes, encoding: str) -> bytes:
    """Returns the content of a compressed body, whether requested or not. Raises `ValueError` if it can't be
    decoded."""
    for each in reversed([name.strip().lower() for name in encoding.split(",")]):
        if not data or each not in ("gzip", "x-gzip", "deflate"):
            break  # empty or unknown encoding; the caller decides what to do with it
        # 47: gzip or zlib, detected from the header. Some servers send deflate without zlib's frame.
        bare = each == "deflate" and (data[0] & 15 != 8 or int.from_bytes(data[:2], "big") % 31)
        inflating = zlib.decompressobj(-15 if bare else 47)
        try:
            data = inflating.decompress(data, LONGEST_ANSWER + 1)
        except zlib.error as error:
            raise ValueError(f"a body that is not {each}: {error}") from None
        if len(data) > LONGEST_ANSWER:
            raise _BodyTooLong
        if not inflating.eof:
            raise ValueError(f"a body of {each} that breaks off")
    return data


def _charset(headers: Mapping[str, str]) -> str:
    named = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", headers.get("content-type", ""), re.IGNORECASE)
    try:
        return codecs.lookup(named[1]).name if named else "utf-8"
    except LookupError:
        return "utf-8"


def _token(answer: Answer, recipe: ApiRecipe) -> str:
    where = f"{recipe.method} {recipe.path}"
    if answer.status >= 400:
        raise SiteError(f"{where}: expected a token for its API, found status {answer.status}: {answer.text[:200]}")
    try:
        found: JsonValue = json.loads(answer.text)
    except ValueError:
        raise SiteError(f"{where}: expected a token as JSON, found {answer.text[:200]!r}") from None
    if recipe.token:
        found = found.get(recipe.token) if isinstance(found, dict) else None
    if not isinstance(found, str):
        what = f"the key {recipe.token!r}" if recipe.token else "a JSON string"
        raise SiteError(f"{where}: expected the token in {what}, found {answer.text[:200]!r}")
    return found


def _cookie(stored: Mapping[str, Any]) -> Cookie:
    domain = str(stored["domain"])
    if "." not in domain:
        domain += _DOTLESS
    expires = stored.get("expires", -1)
    return Cookie(
        version=0, name=stored["name"], value=stored["value"], port=None, port_specified=False, domain=domain,
        domain_specified=domain.startswith("."), domain_initial_dot=domain.startswith("."), path=stored["path"],
        path_specified=True, secure=bool(stored.get("secure")), expires=int(expires) if expires > 0 else None,
        discard=expires <= 0, comment=None, comment_url=None, rest={},
    )  # fmt: skip


def _stored(cookie: Cookie) -> dict[str, Any]:
    same_site = next((str(value) for name, value in _rest(cookie) if name.lower() == "samesite"), "Lax")
    return {
        "name": cookie.name,
        "value": cookie.value or "",
        "domain": cookie.domain.removesuffix(_DOTLESS),
        "path": cookie.path,
        "expires": float(cookie.expires) if cookie.expires is not None else -1,
        "httpOnly": any(name.lower() == "httponly" for name, _ in _rest(cookie)),
        "secure": cookie.secure,
        "sameSite": same_site.capitalize() if same_site.capitalize() in ("Strict", "Lax", "None") else "Lax",
    }


def _rest(cookie: Cookie) -> list[tuple[str, Any]]:
    return list(vars(cookie).get("_rest", {}).items())
