"""The browser's side of the gateway: reads requests from one connection, one exchange at a time."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Iterable
from typing import Protocol

from pytest_webarena.gateway.archive_misses import is_navigation
from pytest_webarena.gateway.exchange import Exchange
from pytest_webarena.gateway.framing import BodyReader, request_body
from pytest_webarena.gateway.heads import BadMessage, RequestHead, parse_request, request_line, unfinished_problem
from pytest_webarena.gateway.hosted import OwnAddressRoute
from pytest_webarena.gateway.log import RequestLog
from pytest_webarena.gateway.log_entry import Entry
from pytest_webarena.gateway.method_override import why_unsafe
from pytest_webarena.gateway.pages import COMING, answer, answer_preflight, answer_script
from pytest_webarena.gateway.routes import Intercepted, NotArchived, Obstructed, Refused, RouteTable
from pytest_webarena.gateway.settings import GatewaySettings
from pytest_webarena.gateway.tunnel import ESTABLISHED, Pipe, TunnelOpening
from pytest_webarena.gateway.upstream import Route, end_writing, reset

__all__ = ["BrowserConnection", "Owner"]

# Pipelined requests wait in memory; beyond this the sender has to wait.
_AHEAD_LIMIT = 65536
_EMPTY_LINES = re.compile(rb"(?:\r\n)+")
_AGAIN = 1
"""Seconds until a page that waits for its site reloads."""


class Owner(Protocol):
    """The part of a session that its connections use."""

    settings: GatewaySettings
    routes: RouteTable
    log: RequestLog
    connections: set[BrowserConnection]
    pipes: set[asyncio.Transport]
    unsafe_hosts: dict[str, str]
    unfinished_hosts: dict[str, str]
    visits: bool
    visited_hosts: set[str]
    upstream_error: str


class BrowserConnection(asyncio.Protocol):
    """One connection from a browser to the gateway."""

    transport: asyncio.Transport

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._settings = owner.settings
        self._buffer = b""
        self._exchange: Exchange | TunnelOpening | None = None
        self._entry: Entry | None = None
        self._inside: Route | None = None
        """The route of an accepted CONNECT. The requests that follow are for this site and name only a path."""
        self._head_only = False
        self._closing = False
        self._write_paused = False
        self._securing: asyncio.Task[None] | None = None
        """The task that negotiates TLS. Data that arrives meanwhile waits."""
        self._refused: tuple[BodyReader, Entry] | None = None
        """The body of a refused upload, which is only recorded, and the log entry for it."""
        self._deadline: asyncio.TimerHandle | None = None

    # --- events of the transport ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._owner.connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._closing:
            if self._refused is not None:
                self._refused_data(data)
            return
        exchange = self._exchange
        if exchange is None:
            self._buffer = self._buffer + data if self._buffer else data
            self._pump()
        elif exchange.wants_body:
            used = exchange.request_data(data)
            if used < len(data) and not self._closing:
                self._buffer = data[used:]
                self._pump()
        else:
            self._buffer += data
            if len(self._buffer) > _AHEAD_LIMIT:
                self.transport.pause_reading()

    def eof_received(self) -> None:
        # A browser that navigates away also closes like this; the two cases can't be distinguished.
        self._lost()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost()
        if self._deadline is not None:
            self._deadline.cancel()
        self._owner.connections.discard(self)

    def pause_writing(self) -> None:
        self._write_paused = True
        if self._exchange is not None:
            self._exchange.pause_download()

    def resume_writing(self) -> None:
        self._write_paused = False
        if self._exchange is not None:
            self._exchange.resume_download()
        else:
            self._pump()

    # --- requests ---

    def _pump(self) -> None:
        """Start the next exchange, or answer requests that need none, until the buffer is empty."""
        while self._buffer and not (self._exchange or self._closing or self._write_paused or self._securing):
            if stray := _EMPTY_LINES.match(self._buffer):
                # Allowed between requests (RFC 9112 §2.2).
                self._buffer = self._buffer[stray.end() :]
                continue
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if self._buffer == b"\r":
                    return
                problem = unfinished_problem(self._buffer, self._settings.head_limit)
                if problem is None:
                    return
                self._refuse(_start(self._buffer), problem)
                return
            text = self._buffer[: end + 2].decode("latin-1")
            self._buffer = self._buffer[end + 4 :]
            try:
                if len(text) > self._settings.head_limit:
                    raise BadMessage(f"expected at most {self._settings.head_limit} bytes of header", 431)
                request = parse_request(text)
            except BadMessage as error:
                self._refuse(text, error)
                return
            if request.method == "CONNECT":
                self._take_connect(request, text)
            else:
                self._take(request, text)

    def _take(self, request: RequestHead, text: str) -> None:
        log = self._owner.log
        inside = self._inside
        entry = self._begin(request.method, request.target if inside is None else inside.url + request.target, text)
        self._head_only = request.method == "HEAD"
        has_body = request.chunked or bool(request.length)
        routes = self._owner.routes
        try:
            if inside is None:
                route, path = routes.resolve(request.target, visits=self._owner.visits)
            else:
                route, path = routes.resolve_inside(inside, request.target, visits=self._owner.visits)
            if isinstance(route, OwnAddressRoute) and request.websocket and (named := route.route_for(path)):
                route = named  # browsers follow no redirect of it
                if named.has_cookies:
                    named.report_own_address(entry.url)
            self._owner.visited_hosts.add(route.host)
            if (own := route.answer_itself(request, path, close=request.close or has_body)) is not None:
                self._answer_itself(request, entry, own, has_body)
                return
            unsafe = "" if route.archived else why_unsafe(request, has_body)
            if unsafe and self._owner.visits and route.forbids(path):
                raise Refused(
                    f"{route.host} can only be read",
                    f"{route.host} is shared by all who visit it and can't be changed: {unsafe} is not allowed",
                )
            route.admit(request, path, unsafe)
        except BadMessage as error:
            if has_body:
                self._read_refused(request, entry)
            self.refuse(entry, error, close=request.close or has_body, request=request)
            return
        if unsafe:
            self._mark_unsafe(route, unsafe, entry)
        body = request_body(request, log.capture(entry)) if has_body else None
        exchange = Exchange(self, self._settings, route, request, path, entry, log)
        self._exchange = exchange
        data, self._buffer = self._buffer, b""
        try:
            used = exchange.start(body, data)
        except BadMessage as error:
            exchange.abort()
            self._exchange = None
            self.refuse(entry, error, close=True)
            return
        if used < len(data) and self._exchange is exchange:
            self._buffer = data[used:]

    def _answer_itself(self, request: RequestHead, entry: Entry, own: tuple[int, str, bytes], has_body: bool) -> None:
        """Send an answer of the route's own, and read the request's body without forwarding it."""
        if has_body:
            self._read_refused(request, entry)
        entry.internal = True
        entry.status, entry.response_head, data = own
        self.transport.write(data)
        self.exchange_done(close=request.close or has_body)

    def _read_refused(self, request: RequestHead, entry: Entry) -> None:
        """Record the body of a refused request, so that the log shows what was to be sent."""
        body = request_body(request, self._owner.log.capture(entry))
        if body is not None:
            self._refused = body, entry
            self._refused_data(self._buffer)

    def _refused_data(self, data: bytes) -> None:
        assert self._refused is not None
        body, entry = self._refused
        try:
            body.feed(data, 0)
        except BadMessage:
            self._refused = None
            return
        entry.request_bytes = body.payload
        if body.done:
            self._refused = None

    def _take_connect(self, request: RequestHead, text: str) -> None:
        entry = self._begin(request.method, request.target, text)
        self._head_only = False
        has_body = request.chunked or bool(request.length)
        try:
            if has_body:
                raise BadMessage("found a body in a CONNECT request")
            if self._inside is not None:
                raise BadMessage("found CONNECT inside a tunnel")
            route = self._owner.routes.resolve_connect(request.target, visits=self._owner.visits)
            self._owner.visited_hosts.add(route.host)
        except BadMessage as error:
            self.refuse(entry, error, close=has_body)
            return
        if route.tls and not route.read:
            self._mark_unsafe(route, "CONNECT", entry)
            self._exchange = TunnelOpening(self, self._settings, route, entry)
            return
        if route.tls:
            if self._buffer:  # asyncio can't start TLS after it has delivered bytes of it
                early = BadMessage("expected nothing behind CONNECT before it is answered")
                self.refuse(entry, early, close=True)
                return
            self._inside = route
            self._securing = asyncio.get_running_loop().create_task(self._end_tls(route, entry))
            return
        # Browsers open a tunnel for WebSockets, Playwright's API client for everything. The tunnel contains plain HTTP,
        # so its requests are read and logged like any others.
        self._inside = route
        entry.status = 200
        entry.response_head = ESTABLISHED
        self.transport.write(ESTABLISHED.encode() + b"\r\n")
        self._finish_entry()

    async def _end_tls(self, route: Route, entry: Entry) -> None:
        """Act as the https host, so that requests in the tunnel are read like plain HTTP."""
        loop, raw = asyncio.get_running_loop(), self.transport
        entry.status, entry.response_head = 200, ESTABLISHED
        secured: asyncio.Transport | None = None
        raw.pause_reading()
        try:
            context = self._settings.certificates(route.host)
            raw.write(ESTABLISHED.encode() + b"\r\n")
            secured = await loop.start_tls(
                raw,
                self,
                context,
                server_side=True,
                ssl_handshake_timeout=self._settings.connect_timeout,
                ssl_shutdown_timeout=self._settings.linger,
            )
        except (OSError, ValueError) as error:
            reason = error.reason if isinstance(error, ssl.SSLError) else str(error) or "the browser went away"
            entry.refused = f"no TLS came about with the browser, which may not trust the run's authority: {reason}"
            self._securing = None
            self.abort()
        finally:
            self._securing = None
            if secured is None:  # asyncio does not report the end of a connection whose TLS handshake has not finished
                raw.abort()
                self.connection_lost(None)
        if secured is None:
            return
        self.transport = secured
        self._finish_entry()
        self._pump()

    def _begin(self, method: str, url: str, text: str) -> Entry:
        self._entry = self._owner.log.begin(method, url, text)
        return self._entry

    def _mark_unsafe(self, route: Route, what: str, entry: Entry) -> None:
        self._owner.unsafe_hosts.setdefault(route.host, self._owner.log.note_unsafe(entry, route.host, what))

    def cut_off(self, route: Route, entry: Entry) -> None:
        self._owner.unfinished_hosts.setdefault(route.host, f"{entry.method} {entry.url} was not over")

    # --- answers of our own ---

    def _refuse(self, text: str, error: BadMessage) -> None:
        """Refuse a request that could not be parsed, and close, because the start of the next request is unknown."""
        line = request_line(text)
        entry = self._begin(*line, text) if line else self._begin("", "", "")
        self._head_only = False
        self.refuse(entry, error, close=True)

    def refuse(self, entry: Entry, error: BadMessage, *, close: bool, request: RequestHead | None = None) -> None:
        """Answer with the reason for the refusal: as JSON for scripts that would change a live site, else as a page."""
        if isinstance(error, NotArchived):
            entry.lacks = error.resource_kind
        else:
            entry.refused = str(error)
        entry.intercepted = isinstance(error, Intercepted)
        if isinstance(error, Obstructed):
            entry.note_obstacle(error.obstacle, str(error))
        fields = _named(request.fields) if request is not None else {}
        if isinstance(error, Refused) and entry.method == "OPTIONS" and "access-control-request-method" in fields:
            # Preflights are allowed, so that the request itself is sent, refused and recorded with its method and body.
            entry.status, entry.own = 204, f"{error}."
            entry.response_head, data = answer_preflight(fields, close=close)
            self.transport.write(data)
            self.exchange_done(close=close)
        elif (
            isinstance(error, Intercepted) and request is not None and not is_navigation(request.method, request.fields)
        ):
            entry.status, entry.own = error.status, f"{error}."
            origin = fields.get("origin", "")
            entry.response_head, data = answer_script(error.status, f"{error}.", origin=origin, close=close)
            self.transport.write(data)
            self.exchange_done(close=close)
        elif isinstance(error, Refused):
            self.reply(entry, error.status, error.title, f"{error}.", close=close)
        else:
            # The client speaks a different protocol, so its next message can't be interpreted safely.
            reason = entry.refused[:1].upper() + entry.refused[1:] + "."
            self.reply(entry, error.status, "Bad request", reason, close=True)

    def reply(
        self, entry: Entry, status: int, title: str, reason: str, *, close: bool, refresh: int | None = None
    ) -> None:
        entry.status = status
        entry.own = reason
        sites = self._owner.routes.urls() if status == 403 else ()
        entry.response_head, data = answer(
            status, title, reason, sites=sites, body=not self._head_only, close=close, refresh=refresh
        )
        self.transport.write(data)
        self.exchange_done(close=close)

    def reply_starting(self, route: Route, entry: Entry) -> None:
        """Answer with a page that says that the site is still starting, and that reloads itself."""
        reason = f"{route.host} {COMING}"
        self.reply(entry, 503, f"{route.host} is being made ready", reason, close=False, refresh=_AGAIN)

    def upstream_failed(self, route: Route, reason: str) -> None:
        if route.is_live:
            if self._entry is not None:
                self._entry.note_obstacle("site", reason)
        elif route.open and not self._owner.upstream_error:
            self._owner.upstream_error = f"{route}: {reason}"

    # --- ends ---

    def exchange_done(self, *, close: bool) -> None:
        exchange, self._exchange = self._exchange, None
        self._finish_entry()
        if close:
            self._close(rest=exchange is None or exchange.wants_body or bool(self._buffer))
            return
        self.transport.resume_reading()
        if self._buffer and exchange is not None:
            self._pump()

    def _close(self, *, rest: bool) -> None:
        """Close after flushing. ``rest``: read and drop remaining input, which else would reset the connection."""
        self._closing = True
        self._buffer = b""
        if not rest:
            self.transport.close()
            return
        end_writing(self.transport)
        self.transport.resume_reading()
        self._deadline = asyncio.get_running_loop().call_later(self._settings.linger, self.transport.abort)

    def cut(self, *, hard: bool) -> None:
        self._exchange = None
        self._closing = True
        self._finish_entry()
        if hard:
            reset(self.transport)
        else:
            self.transport.close()

    def abort(self) -> None:
        """End the connection at once, because the session closes."""
        if self._securing is not None:
            self._securing.cancel()
        self._lost(abort=True)
        self.transport.abort()

    def become_pipe(self, entry: Entry) -> tuple[Pipe, bytes]:
        log, pipes, transport = self._owner.log, self._owner.pipes, self.transport

        def count(size: int) -> None:
            entry.request_bytes += size

        def finish() -> None:
            pipes.discard(transport)
            log.finish(entry)

        self._exchange = None
        self._entry = None
        self._owner.connections.discard(self)
        pipes.add(transport)
        pending, self._buffer = self._buffer, b""
        return Pipe(transport, count, finish), pending

    def _lost(self, *, abort: bool = False) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            if abort:
                exchange.abort()
            else:
                if self._entry is not None:
                    self._entry.abandoned = True
                if exchange.browser_lost():
                    self._entry = None  # the replica is still working on it
        self._finish_entry()
        self._closing = True
        self._buffer = b""

    def _finish_entry(self) -> None:
        entry, self._entry = self._entry, None
        if entry is not None:
            self._owner.log.finish(entry)


def _start(data: bytes) -> str:
    return data[:4096].decode("latin-1")


def _named(fields: Iterable[str]) -> dict[str, str]:
    """Values of header fields by name in lower case."""
    return {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
