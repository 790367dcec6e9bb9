"""Hosts that a catalogue names in addition to its sites: from which pages load parts, and at which people sign in.

Nothing is requested from a host that no key names. Names are compared exactly, with scheme and port; their addresses
are checked for each connection, and it uses the address that was checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pytest_webarena.gateway.archive_misses import is_browser_service, resource_kind
from pytest_webarena.gateway.heads import RequestHead, ResponseHead
from pytest_webarena.gateway.log_entry import Entry
from pytest_webarena.gateway.method_override import hidden_method, mutates, names_method
from pytest_webarena.gateway.pages import answer_preflight
from pytest_webarena.gateway.routes import Refused
from pytest_webarena.gateway.server_certificates import client_tls
from pytest_webarena.gateway.upstream import Route, UpstreamConnection
from pytest_webarena.live.addresses import address_problem, own_network_problem
from pytest_webarena.live.connecting import Forbidden, LookUp, P, connect, look_up
from pytest_webarena.live.fetching import retrieve
from pytest_webarena.live.host_lists import HostLists
from pytest_webarena.live.load_cache import LoadCache, StoredAnswer, fields_to_send

__all__ = ["LoadNetwork", "NamedHosts"]

_LARGEST = 64 << 20
"""Maximum size in bytes of a part of a page."""
_SECONDS = 30.0
"""Maximum time for a complete answer, and for the head of an answer while signing in."""
_SIGN_IN_METHODS = ("GET", "HEAD", "OPTIONS", "POST")


class LoadNetwork:
    """What all leases of a broker share: kept answers and the way to look up names."""

    def __init__(self, *, find: LookUp = look_up, closed: Callable[[str], str] = address_problem) -> None:
        self.cache = LoadCache()
        self.find, self.closed = find, closed


class NamedHosts:
    """Routes of one lease to the hosts that its apps name (`gateway.routes.OtherHosts`)."""

    def __init__(self, lists: HostLists, network: LoadNetwork, *, read: bool) -> None:
        """``read``: whether the gateway terminates TLS, without which https can't be limited to what is allowed."""
        self.lists, self.network, self._read = lists, network, read

    def joined(self, other: NamedHosts) -> NamedHosts:
        """Return the hosts of both, for one gateway that serves two leases."""
        return NamedHosts(self.lists | other.lists, self.network, read=self._read and other._read)

    def route(self, host: str, port: int) -> Route | None:
        """Return the route to a named host; None for any other. `Refused` if its requests can't be read."""
        for origins, kind in ((self.lists.loads, _LoadRoute), (self.lists.sign_in, _SignInRoute)):
            for tls in (True, False):
                if (host, port, tls) not in origins:
                    continue
                if tls and not self._read:
                    raise Refused(f"{host} can't be reached", f"{host} is visited by https in Chromium only")
                return kind(self, host, port, tls=tls)
        return None

    def closed(self, host: str, address: str) -> str:
        """Return why an address of ``host`` must not be used; empty if it may be."""
        return own_network_problem(address) if host in self.lists.private else self.network.closed(address)


class _NamedRoute(Route):
    """A named host, whose failures are those of the environment."""

    is_live = True
    key = ""
    """The catalogue's key that names it."""

    def __init__(self, hosts: NamedHosts, host: str, port: int, *, tls: bool) -> None:
        super().__init__(host, port, host, port, tls=tls, read=tls)
        self._hosts = hosts
        self.answer_within = _SECONDS

    def __str__(self) -> str:
        return f"{self.authority} (in {self.key!r} of the catalogue)"

    def refusal(self, reason: str) -> Refused:
        """The exception for a request that must not be sent."""
        return Refused(f"{self.host} can't be reached", reason)

    async def open_connection(self, make: Callable[[], P], timeout: float) -> P:
        """Connect to a checked address of the host. `Refused` if it has another one."""
        hosts = self._hosts
        secure = client_tls(*hosts.lists.authorities) if self.tls else None
        try:
            async with asyncio.timeout(timeout):
                return await connect(
                    make, self.host, self.port, find=hosts.network.find, secure=secure,
                    closed=lambda address: hosts.closed(self.host, address),
                )  # fmt: skip
        except Forbidden as error:
            hint = "" if self.host in hosts.lists.private else f"; 'private_hosts: [{self.host}]' would allow it"
            raise self.refusal(f"requests to {self.host} are forbidden: {error}{hint}") from error

    def receive_response_head(self, request: RequestHead, head: ResponseHead, entry: Entry) -> None:
        if head.status >= 500 or head.status == 429:
            entry.note_obstacle("site", f"status {head.status}")


class _LoadRoute(_NamedRoute):
    """A host from which pages load parts: only by GET, never as a page in a tab."""

    key = "loads"

    def answer_itself(self, request: RequestHead, path: str, *, close: bool) -> tuple[int, str, bytes] | None:
        known = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in request.fields)}
        if request.method == "OPTIONS" and known.get("access-control-request-method") == "GET":
            return 204, *answer_preflight(known, close=close)
        return None

    def admit(self, request: RequestHead, path: str, unsafe: str) -> None:
        if resource_kind(request.method, request.fields) == "page" or is_browser_service(request.fields):
            raise self.refusal(f"{self.host} only serves parts of other sites' pages, and is not opened itself")
        query = path.partition("?")[2]
        if request.method != "GET" or unsafe or hidden_method(request.method, query) or mutates(query):
            what = unsafe or request.method
            raise self.refusal(f"{self.host} only serves parts of other sites' pages, and {what} is not sent there")

    def take(self) -> UpstreamConnection | None:
        return None

    async def stored_answer(self, request: RequestHead, path: str, timeout: float) -> bytes | None:
        fields = fields_to_send(request.fields)

        async def fetch() -> StoredAnswer:
            lines = [f"GET {path} HTTP/1.1", f"Host: {self.host_field}", *fields, "Connection: close", "", ""]
            try:
                async with asyncio.timeout(_SECONDS):
                    head, content, is_complete = await retrieve(
                        "\r\n".join(lines).encode("latin-1"),
                        lambda make: self.open_connection(make, timeout),
                        limit=_LARGEST,
                    )
            except TimeoutError as error:
                raise OSError(f"no complete answer within {_SECONDS:g} s") from error
            if not is_complete:
                raise OSError(f"expected an answer of at most {_LARGEST >> 20} MiB, found a larger one")
            return StoredAnswer.of(head, content, fields)

        return (await self._hosts.network.cache.answer(self.url + path, fields, fetch)).data


class _SignInRoute(_NamedRoute):
    """A host at which people sign in: pages may be opened and forms sent there."""

    key = "sign_in_hosts"

    def admit(self, request: RequestHead, path: str, unsafe: str) -> None:
        if is_browser_service(request.fields):
            raise self.refusal(f"the browser asks {self.host} for no page")
        query = path.partition("?")[2]
        is_other = hidden_method(request.method, query) or names_method(request.fields) or unsafe not in ("", "POST")
        if request.method not in _SIGN_IN_METHODS or is_other:
            what = unsafe or request.method
            raise self.refusal(f"{self.host} is only for signing in by GET and POST, and {what} is not sent there")

    async def connect(self, timeout: float, *, raw: bool = False) -> UpstreamConnection:
        return await self.open_connection(lambda: UpstreamConnection(self), timeout)
