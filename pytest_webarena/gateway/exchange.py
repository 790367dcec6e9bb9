"""Relay of one request to a replica and of its response back to the browser.

There is no task and no queue per request: callbacks of the event loop pass bytes from one transport to the other.
Only a new upstream connection costs a task.
"""

from __future__ import annotations

import asyncio

from pytest_webarena.gateway.archived import note_archived
from pytest_webarena.gateway.framing import BodyReader, OpenBody, response_body
from pytest_webarena.gateway.heads import BadMessage, RequestHead, ResponseHead, parse_response, unfinished_problem
from pytest_webarena.gateway.log import RequestLog
from pytest_webarena.gateway.log_entry import Entry
from pytest_webarena.gateway.pending_body import PendingBody
from pytest_webarena.gateway.response_body import ResponseBody
from pytest_webarena.gateway.routes import Intercepted, Refused
from pytest_webarena.gateway.settings import GatewaySettings
from pytest_webarena.gateway.tunnel import BrowserSide, open_tunnel
from pytest_webarena.gateway.upstream import Route, UpstreamConnection, end_writing

__all__ = ["Exchange"]

# Methods that may be sent twice without harm (RFC 9110 §9.2.2), so they may use a connection that might be stale.
_IDEMPOTENT = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"))


class Exchange:
    """Relay of one exchange. A browser connection has at most one at a time."""

    __slots__ = (
        "_browser",
        "_close",
        "_entry",
        "_log",
        "_orphan",
        "_over",
        "_partial",
        "_path",
        "_pending_body",
        "_request",
        "_response",
        "_response_body",
        "_route",
        "_sent",
        "_settings",
        "_task",
        "_timer",
        "_upstream",
    )

    def __init__(
        self,
        browser: BrowserSide,
        settings: GatewaySettings,
        route: Route,
        request: RequestHead,
        path: str,
        entry: Entry,
        log: RequestLog,
    ) -> None:
        self._browser = browser
        self._log = log
        self._settings = settings
        self._route = route
        self._request = request
        self._path = path
        self._entry = entry
        self._pending_body = PendingBody()
        self._partial = b""
        """Beginning of a response head."""
        self._response: ResponseHead | None = None
        self._response_body: BodyReader | None = None
        self._upstream: UpstreamConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | ResponseBody | None = None
        self._close = request.close
        self._over = False
        self._orphan = False
        """Whether the browser has closed its connection while the request still runs."""
        self._sent = False
        """Whether the request may have reached the replica."""

    # --- the request ---

    @property
    def wants_body(self) -> bool:
        """Whether more of the request's body is expected."""
        return self._pending_body.wants_more

    def start(self, body: BodyReader | None, data: bytes) -> int:
        """Send the request. ``data`` are the bytes after its head.

        Returns:
            The number of bytes of ``data`` that belong to the body.

        Raises:
            BadMessage: The body is malformed.
        """
        used = 0
        if body is not None:
            used = self._pending_body.start(body, data, examined=self._route.examines(self._request, self._path))
            self._entry.request_bytes = self._pending_body.payload
        self._entry.sent = not self.wants_body
        idle = None
        if body is None and self._request.method in _IDEMPOTENT and not self._request.websocket:
            idle = self._route.take()
        if idle is not None:
            self._attach(idle)
        else:
            self._connect()
        return used

    def request_data(self, data: bytes) -> int:
        """Forward more of the request body; return the number of bytes used."""
        try:
            part = self._pending_body.feed(data)
        except BadMessage as error:
            self._fail(error.status, "Bad request", str(error))
            return len(data)
        self._entry.request_bytes = self._pending_body.payload
        self._entry.sent = not self.wants_body
        if self._upstream is not None:
            self._upstream.transport.write(part)
        elif self._pending_body.keep(part):
            self._browser.transport.pause_reading()
        return len(part)

    def pause_upload(self) -> None:
        self._browser.transport.pause_reading()

    def resume_upload(self) -> None:
        self._browser.transport.resume_reading()

    def pause_download(self) -> None:
        self._entry.unread = True
        if self._upstream is not None:
            self._upstream.transport.pause_reading()

    def resume_download(self) -> None:
        self._entry.unread = False
        if self._upstream is not None:
            self._upstream.transport.resume_reading()

    def browser_lost(self) -> bool:
        """Handle a browser that closed its connection: as without a gateway, only a fully sent request continues.

        Returns:
            True if the exchange continues and will finish its entry itself. The replica sees a half-closed connection,
            but whatever the method, it may be changing something until it has answered or hung up.
        """
        if self.wants_body:
            self._end()
        elif self._task is not None:
            self._orphan = True
            self._browser.cut_off(self._route, self._entry)
            return True
        else:
            self._browser.cut_off(self._route, self._entry)
            connection, self._upstream = self._upstream, None
            if connection is not None and self._response is None and not self._request.websocket:
                self._orphan = True
                self._upstream = connection
                end_writing(connection.transport)
                return True
            self._end()
            if connection is not None:
                connection.sink = None
                connection.transport.close()  # flushes first
        return False

    def abort(self) -> None:
        """Drop everything at once, because the session ends."""
        self._end()

    # --- the connection ---

    def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        # For resources of a page, a browser waits as long as needed.
        if self._route.arrival is not None and self._request.wants_page:
            self._timer = loop.call_later(self._settings.hold, self._show_waiting_page)
        self._task = loop.create_task(self._open())

    def _show_waiting_page(self) -> None:
        """Answer the first visit of a site that is still starting with a waiting page, before the browser times out."""
        if self._task is None or self._orphan or self._over or self._route.arrival is None:
            return
        self._end()
        self._browser.reply_starting(self._route, self._entry)

    async def _open(self) -> None:
        try:
            if self._pending_body.needs_examination:
                await self._pending_body.examine(self._route, self._request, self._path, self._entry.url)
            timeout = self._settings.connect_timeout
            if (stored := await self._route.stored_answer(self._request, self._path, timeout)) is not None:
                self._deliver(stored)
                return
            connection = await self._route.open_for(self._request, self._path, timeout)
        except Refused as error:
            self._task = None
            self._refuse(error)
        except TimeoutError:
            self._task = None
            self._upstream_fault(f"no connection within {self._settings.connect_timeout:g} s")
        except OSError as error:
            self._task = None
            self._upstream_fault(f"no connection: {error.strerror or error}")
        else:
            self._task = None
            if connection.transport.is_closing():
                self._upstream_fault("the connection ended at once")
            else:
                self._attach(connection)

    def _deliver(self, answer: bytes) -> None:
        """Answer with a complete response that the route keeps."""
        self._task = None
        if self._orphan:
            self._end()
        else:
            self.response_data(answer)

    def _request_head(self) -> bytes:
        """The head for the replica. It is made late, because some sites get their address with the connection."""
        request, route = self._request, self._route
        lines = [
            f"{request.method} {self._path} HTTP/1.{request.minor}",
            f"Host: {route.host_field}",
            *route.fields(request.fields),
        ]
        if request.websocket:
            lines += ("Connection: Upgrade", "Upgrade: websocket")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _attach(self, connection: UpstreamConnection) -> None:
        if self._orphan:
            connection.transport.write(self._request_head() + self._pending_body.take())
            self._upstream = connection
            connection.sink = self
            end_writing(connection.transport)
            return
        self._upstream = connection
        self._sent = True
        connection.sink = self
        body = self._pending_body.take()
        if body:
            # Resume first: the write may ask for a pause again.
            self._browser.transport.resume_reading()
        connection.transport.write(self._request_head() + body)
        if (seconds := self._response_timeout) is not None:
            self._cancel_timer()
            self._timer = asyncio.get_running_loop().call_later(seconds, self._timed_out)

    @property
    def _response_timeout(self) -> float | None:
        """Seconds within which the response has to begin; None: no limit."""
        own = self._route.answer_within
        return self._settings.response_timeout if own is None else own

    def _timed_out(self) -> None:
        if self._response is None:
            self._upstream_fault(f"no answer within {self._response_timeout:g} s", 504)

    # --- the response ---

    def response_data(self, data: bytes) -> None:
        body = self._response_body
        if body is not None:
            try:
                used = body.feed(data, 0)
            except BadMessage as error:
                self._upstream_fault(str(error))
                return
            self._entry.note_progress(body.payload)
            if body.done:
                self._browser.transport.write(data if used == len(data) else data[:used])
                self._finish(clean=used == len(data))
            else:
                self._browser.transport.write(data)
            return
        self._partial = self._partial + data if self._partial else data
        try:
            while self._response is None:
                end = self._partial.find(b"\r\n\r\n")
                if end < 0:
                    if self._partial and (problem := unfinished_problem(self._partial, self._settings.head_limit)):
                        raise problem
                    return
                text = self._partial[: end + 2].decode("latin-1")
                self._partial = self._partial[end + 4 :]
                self._take_head(text, parse_response(text))
        except BadMessage as error:
            if self._orphan:
                self._end()
            else:
                self._upstream_fault(str(error))

    def _take_head(self, text: str, head: ResponseHead) -> None:
        if len(text) > self._settings.head_limit:
            raise BadMessage(f"expected at most {self._settings.head_limit} bytes of header")
        if head.status < 200 and head.status != 101:
            if self._request.minor and not self._orphan:
                self._browser.transport.write(head.serialise())
            return
        if self._orphan:
            self._response = head
            self._entry.status = head.status
            self._entry.response_head = text
            self._end()
            return
        if head.status == 101:
            if not (head.websocket and self._request.websocket):
                raise BadMessage("found a protocol switch that was not asked for")
            self._switch(text, head)
            return
        body = response_body(head, self._request.method, self._log.capture_response(self._entry, text))
        if body is not None and head.chunked and not self._request.minor:
            raise BadMessage("found a chunked response to an HTTP/1.0 request")
        data, self._partial = self._partial, b""
        used = body.feed(data, 0) if body is not None and data else 0
        self._response = head
        self._log.answered(self._entry, head.status)
        self._entry.response_head = text
        self._cancel_timer()
        if self._route.is_live:
            request_fields = self._request.fields
            self._timer = ResponseBody.of(
                self._entry, request_fields, head.fields, self._response_timeout, self._upstream_fault
            )
        # If a response overtakes its request, the rest of the upload stays unread, so the connection has to close.
        self._close = self._close or self.wants_body or isinstance(body, OpenBody)
        if self._route.archived:
            note_archived(self._route, self._request, self._path, head, self._entry)
        self._route.receive_response_head(self._request, head, self._entry)
        out = head.serialise(*(["Connection: close"] if self._close else []))
        self._browser.transport.write(out + data[:used] if used else out)
        if body is not None:
            self._entry.response_bytes = body.payload
        if body is None or body.done:
            self._finish(clean=used == len(data))
        else:
            self._response_body = body

    def _switch(self, text: str, head: ResponseHead) -> None:
        """Switch to raw bytes in both directions after a 101 response."""
        upstream = self._upstream
        assert upstream is not None
        self._response = head
        self._log.answered(self._entry, 101)
        self._entry.response_head = text
        self._cancel_timer()
        upstream.sink = None
        self._upstream = None
        self._over = True
        self._browser.transport.write(head.serialise("Connection: Upgrade", "Upgrade: websocket"))
        open_tunnel(self._browser, self._route, upstream.transport, self._entry, self._partial)

    def response_end(self, error: Exception | None) -> None:
        connection, self._upstream = self._upstream, None
        if connection is None:
            return
        if self._orphan:  # the replica may hang up on a client that does not read
            self._end()
            return
        body = self._response_body
        if self._response is not None and body is not None:
            if error is None and body.end():
                self._finish(clean=False)
            else:
                self._upstream_fault("the connection ended in the middle of the response")
        elif connection.reused and not self._partial and self._route.open:
            # The replica had closed the idle connection just before it was used. A new connection is tried once.
            self._connect()
        else:
            self._upstream_fault("the connection ended without an answer" + (f": {error}" if error else ""))

    def _finish(self, *, clean: bool) -> None:
        """Complete the exchange. ``clean``: nothing followed the response on the connection."""
        connection, self._upstream = self._upstream, None
        self._cancel_timer()
        self._over = self._entry.whole = True
        if connection is not None:
            connection.sink = None
            head = self._response
            assert head is not None
            idle = clean and not head.close and not self.wants_body and self._request.minor == 1
            if idle and connection.transport.get_write_buffer_size() == 0:
                self._route.give_back(connection)
            else:
                connection.transport.abort()
        self._browser.exchange_done(close=self._close)

    # --- faults ---

    def _refuse(self, error: Refused) -> None:
        """Refuse a request that proved to be forbidden while the connection was made or the body was examined."""
        if self._over:
            return
        orphan, pending = self._orphan, self.wants_body
        self._entry.refused = str(error)
        self._entry.by_body = isinstance(error, Intercepted)
        self._end()
        if not orphan:
            self._browser.refuse(self._entry, error, close=pending or self._close, request=self._request)

    def _upstream_fault(self, reason: str, status: int = 502) -> None:
        if self._over:
            return
        self._browser.upstream_failed(self._route, reason)
        self._fail(status, f"{self._route.host} does not work", f"The site {self._route} failed: {reason}.")

    def _fail(self, status: int, title: str, reason: str) -> None:
        """End the exchange with an error page of the gateway; if the response has begun, cut the connection instead."""
        has_response = self._response is not None
        hard = isinstance(self._response_body, OpenBody)
        orphan = self._orphan
        pending = self.wants_body
        self._end()
        if orphan:
            return
        if has_response:
            self._browser.cut(hard=hard)
        else:
            if status < 500:
                self._entry.refused = reason
            self._browser.reply(self._entry, status, title, reason, close=pending or self._close)

    def _end(self) -> None:
        if self._sent and not self._over:
            self._browser.cut_off(self._route, self._entry)
        self._over = True
        if self._orphan:
            self._log.finish(self._entry)
        self._cancel_timer()
        if self._task is not None:
            self._task.cancel()
            self._task = None
        connection, self._upstream = self._upstream, None
        if connection is not None:
            connection.sink = None
            connection.transport.abort()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
