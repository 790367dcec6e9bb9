"""HTTP server, requests and replies of the stand-ins."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Request:
    """One request as the sites read it."""

    method: str
    path: str  # decoded, without query
    query: str
    headers: dict[str, str]  # names in lower case
    body: bytes = b""

    @property
    def host(self) -> str:
        """Host and port that the client asked for."""
        return self.headers.get("host", "")

    @property
    def form(self) -> dict[str, str]:
        """Fields of a posted form, the last value of each."""
        fields = parse_qs(self.body.decode("utf-8", "replace"), keep_blank_values=True)
        return {name: values[-1] for name, values in fields.items()}

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of the query, the last value of each."""
        return {name: values[-1] for name, values in parse_qs(self.query).items()}

    def cookie(self, name: str) -> str:
        """Value of the named cookie, or an empty string."""
        jar: SimpleCookie = SimpleCookie()
        with contextlib.suppress(Exception):
            jar.load(self.headers.get("cookie", ""))
        return jar[name].value if name in jar else ""


@dataclass
class Reply:
    """One reply, before the server adds its length."""

    status: int = 200
    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    headers: list[tuple[str, str]] = field(default_factory=list)
    length: int | None = None  # announced length, when it is not the true one


def redirect(location: str, status: int = 302) -> Reply:
    """Return a redirect to `location`."""
    return Reply(status, b"", headers=[("Location", location)])


Handler = Callable[[Request], Reply]


def _handler_class(answer: Handler, clock: Callable[[], str] | None) -> type[BaseHTTPRequestHandler]:
    class _Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "nginx"
        sys_version = ""

        def date_time_string(self, timestamp: float | None = None) -> str:
            return clock() if clock else super().date_time_string(timestamp)

        def log_message(self, *_: Any) -> None:
            pass

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = answer(Request(self.command, unquote(parts.path) or "/", parts.query, headers, body))
            self.send_response(reply.status)
            for name, value in [("Content-Type", reply.kind), *reply.headers]:
                self.send_header(name, value)
            wrong = reply.length is not None
            self.send_header("Content-Length", str(reply.length if wrong else len(reply.body)))
            if wrong:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)

        do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _serve

    return _Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        """Ignore clients that close their connection early."""


@contextlib.contextmanager
def serving(answer: Handler, host: str, port: int = 0, clock: Callable[[], str] | None = None) -> Iterator[str]:
    """Serve `answer` in a thread; yield the address."""
    server = _Server((host, port), _handler_class(answer, clock))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
