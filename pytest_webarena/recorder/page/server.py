"""HTTP server on loopback for the panel and the view of the browser.

Only the person who started it may use the signed-in browser. So the address contains a secret, requests must name this
server as their host and come from its own page, and changes use a content type that pages of other origins can't send.
The recorder's browser extension has a secret of its own, and its requests must have its origin, which no page can have.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pytest_webarena.errors import UsageError, WebArenaError
from pytest_webarena.recorder.extension.packing import ORIGIN
from pytest_webarena.recorder.extension.receiving import ExtensionRecording
from pytest_webarena.recorder.page.input_relay import InputRelay
from pytest_webarena.recorder.page.panel import Panel
from pytest_webarena.results.page_handler import PageHandler
from pytest_webarena.results.self_contained_page import served

__all__ = ["PageServer"]

_POLICY = "frame-ancestors 'none'"
"""Content security policy, in addition to the one in the page's head."""
_LONGEST = 1_000_000
"""Maximum size in bytes of a JSON request."""
_LARGEST = 50_000_000
"""Maximum size in bytes of a file to be uploaded."""
_EVENTS = 8_000_000
"""Maximum size in bytes of the extension's events or picture in one request."""
_WAIT = 5.0
"""Seconds to wait for a new picture."""


_FOR_EXTENSION = {"Access-Control-Allow-Origin": ORIGIN, "Access-Control-Allow-Methods": "POST"}


class _Refused(Exception):
    """A request that the page does not make, with the status and the reason."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class PageServer(ThreadingHTTPServer):
    """Server that serves at `address` while its context is active. `UsageError` if the port is not available."""

    daemon_threads = True

    def __init__(self, panel: Panel, *, port: int = 0, live: bool) -> None:
        self.panel = panel
        self.live = live
        """Whether the page shows the browser; else the browser has a window."""
        self.input_relay: InputRelay | None = None
        """Relay to the browser while a person may use it."""
        self.extension: ExtensionRecording | None = None
        """Recording that the browser extension sends."""
        self.extension_token = ""
        self.token = secrets.token_urlsafe(24)
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"--port: expected a free port of 127.0.0.1 from 1 to 65535, found {port} ({error}); "
                "leave it out and any free one is taken"
            ) from None

    @property
    def address(self) -> str:
        """Address of the page, including the secret."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    @property
    def extension_address(self) -> str:
        """Address for the extension, including its secret."""
        return f"http://127.0.0.1:{self.server_port}/{self.extension_token}/"

    def __enter__(self) -> PageServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that the client has closed."""


class _Handler(PageHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    timeout = 120

    def do_GET(self) -> None:
        """Send the page, the state or a picture."""
        self._guarded(self._get)

    def do_POST(self) -> None:
        """Handle an action of the person on the page, or what the extension sends."""
        if self.headers.get("Origin") == ORIGIN:
            self._guarded(self._extension, self._allowed_extension)
        else:
            self._guarded(self._post)

    def do_OPTIONS(self) -> None:
        """Allow the extension's requests, which the browser asks about first."""
        allowed = {"Access-Control-Allow-Headers": "content-type", "Access-Control-Allow-Private-Network": "true"}
        self._guarded(
            lambda path: self._send(HTTPStatus.NO_CONTENT, "", b"", _FOR_EXTENSION | allowed), self._allowed_extension
        )

    def _guarded(self, answer: Callable[[list[str]], None], allowed: Callable[[], list[str]] | None = None) -> None:
        try:
            answer((allowed or self._allowed)())
        except _Refused as refused:
            self.close_connection = True
            self._send(refused.status, "text/plain; charset=utf-8", f"{refused}\n".encode())
        except WebArenaError as error:
            self._json({"problem": str(error)}, HTTPStatus.CONFLICT)

    def _allowed(self) -> list[str]:
        """Return the path below the secret if the request comes from the server's own page."""
        host = self._host()
        if self.headers.get("Origin", f"http://{host}") != f"http://{host}":
            raise _Refused(HTTPStatus.FORBIDDEN, "This server answers its own page alone.")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise _Refused(HTTPStatus.FORBIDDEN, "This server answers its own page alone.")
        return self._below(self.server.token)

    def _allowed_extension(self) -> list[str]:
        """Return the path below the extension's secret if the request comes from the extension."""
        self._host()
        if self.headers.get("Origin") != ORIGIN or self.server.extension is None:
            raise _Refused(HTTPStatus.FORBIDDEN, "This server answers its own page and its extension alone.")
        return ["prove"] if self.path == "/prove" else self._below(self.server.extension_token)

    def _host(self) -> str:
        host = self.headers.get("Host", "")
        if host not in (f"127.0.0.1:{self.server.server_port}", f"localhost:{self.server.server_port}"):
            raise _Refused(HTTPStatus.FORBIDDEN, "This server answers as 127.0.0.1 and localhost alone, with its port.")
        return host

    def _below(self, secret: str) -> list[str]:
        _, token, *rest = [unquote(part) for part in urlsplit(self.path).path.split("/")]
        if not secrets.compare_digest(token.encode(), secret.encode()) or not rest:
            raise _Refused(HTTPStatus.NOT_FOUND, "There is nothing here: use the whole address that was printed.")
        return rest

    def _get(self, path: list[str]) -> None:
        match path:
            case [""]:
                page = served(
                    "webarena tasks record", files(__package__), scripts=["panel.js", "view.js"], styles=["page.css"],
                    images="'self' data: blob:",
                )  # fmt: skip
                self._send(HTTPStatus.OK, "text/html; charset=utf-8", page.encode())
            case ["state.json"]:
                self._json(self._state())
            case ["frame.jpg"]:
                self._frame()
            case _:
                raise _Refused(HTTPStatus.NOT_FOUND, "There is nothing of that name.")

    def _state(self) -> dict[str, Any]:
        relay, state = self.server.input_relay, self.server.panel.snapshot()
        state["live"] = self.server.live
        try:
            state["browser"] = relay.state() if relay is not None and state["phase"] == "doing" else None
        except WebArenaError as error:  # it has just been closed, or is no more
            state["browser"], state["problem"] = None, str(error)
        return state

    def _frame(self) -> None:
        after = parse_qs(urlsplit(self.path).query).get("seen", ["0"])[0]
        relay = self.server.input_relay
        try:
            frame = (
                relay.frame(int(after) if after.isascii() and after.isdigit() else 0, _WAIT)
                if relay is not None
                else None
            )
        except WebArenaError:  # `state.json` says why
            frame = None
        if frame is None:
            self._send(HTTPStatus.NO_CONTENT, "", b"")
            return
        headers = {"X-Number": str(frame.number), "X-Size": f"{frame.width:g}x{frame.height:g}"}
        self._send(HTTPStatus.OK, "image/jpeg", frame.data, headers)

    def _post(self, path: list[str]) -> None:
        panel = self.server.panel
        match path:
            case ["input"]:
                self._json({"offer": self._hand().input(self._json_body().get("events", ()))})
            case ["act"]:
                self._json({"problem": self._hand().act(self._json_body())})
            case ["selected"]:
                self._json_body()
                self._json({"text": self._hand().selected()})
            case ["file", name]:
                self._json({"name": self._hand().keep_file(name, self._body(_LARGEST, "application/octet-stream"))})
            case ["change"]:
                panel.change(self._json_body())
                self._json({})
            case ["ask"]:
                panel.ask(self._json_body())
                self._json({})
            case _:
                raise _Refused(HTTPStatus.NOT_FOUND, "There is nothing of that name.")

    def _extension(self, path: list[str]) -> None:
        assert self.server.extension is not None
        if path == ["prove"]:
            self._json({"proof": self._proof(str(self._json_body().get("nonce", "")))}, headers=_FOR_EXTENSION)
            return
        is_picture = path == ["picture"]
        body = self._body(_EVENTS, "image/jpeg") if is_picture else self._json_body(_EVENTS)
        answer = self.server.extension.answer(path, parse_qs(urlsplit(self.path).query), body)
        if answer is None:
            raise _Refused(HTTPStatus.NOT_FOUND, "There is nothing of that name.")
        self._json(answer, headers=_FOR_EXTENSION)

    def _proof(self, nonce: str) -> str:
        """Return the proof that this server knows the extension's secret, which the question does not contain.

        It is for this port, so a program at another one cannot ask here for what it was asked.
        """
        key, message = self.server.extension_token.encode(), f"{self.server.server_port}:{nonce}".encode()
        return hmac.new(key, message, hashlib.sha256).hexdigest()

    def _hand(self) -> InputRelay:
        if self.server.input_relay is None:
            raise UsageError("expected a running browser, found none; reload the page")
        return self.server.input_relay

    def _body(self, most: int, kind: str) -> bytes:
        """Return the body if its type is ``kind``, which pages of other origins can't send without a preflight."""
        if self.headers.get_content_type() != kind:
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send it as {kind}.")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > most:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"Send at most {most:,} bytes, and say how many.")
        return self.rfile.read(int(length))

    def _json_body(self, most: int = _LONGEST) -> dict[str, Any]:
        try:
            data = json.loads(self._body(most, "application/json"))
        except ValueError as error:
            raise _Refused(HTTPStatus.BAD_REQUEST, f"This is no JSON: {error}") from None
        if not isinstance(data, dict):
            raise _Refused(HTTPStatus.BAD_REQUEST, "Send an object.")
        return data

    def _json(
        self,
        data: Mapping[str, Any],
        status: HTTPStatus = HTTPStatus.OK,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._send(status, "application/json", json.dumps(data).encode(), headers)

    def _send(self, status: HTTPStatus, kind: str, body: bytes, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        heads = {
            "Content-Type": kind,
            "Content-Length": str(len(body)) if status != HTTPStatus.NO_CONTENT else "",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "Content-Security-Policy": _POLICY,
            **(more or {}),
        }
        for name, value in heads.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
