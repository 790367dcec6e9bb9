"""A stand-in for a hosted application that knows only its own address, used by several tests of hosted sites.

All instances use the same cookie names, answer with absolute addresses, refuse forms from other origins, and restrict
their pages to their own address.
"""

from __future__ import annotations

import secrets
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

__all__ = ["HostedApp", "Server", "hosted_app"]


class HostedApp:
    """One instance at ``url``. A note that a signed-in visitor saves stays until `/reset` is asked with the token."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.url = ""
        self.sessions: dict[str, str] = {}
        self.note = ""
        self.resets = 0
        self.ready_after = 0
        """Number of requests to `/ready` that fail after a reset."""
        self.lies = False
        """Whether resets succeed and restore nothing."""
        self.down = False
        """Whether connections are closed without an answer."""
        self.dying: list[HostedApp] = []
        """The first visitor of `/dies` on one of these instances ends it; empty: nobody does."""
        self.cookie = ""
        """A cookie that pages set."""
        self.refused: set[str] = set()
        """Names of accounts that can't sign in."""
        self.token = "token"
        """What a reset must send."""
        self.identity = ""
        """Address of the identity provider at which people sign in; empty: they sign in with a form of the app."""
        self.rejected: list[str] = []
        """Why requests were refused."""


class Server(ThreadingHTTPServer):
    """A server whose clients may refuse its certificate."""

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ssl.SSLError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def hosted_app(name: str = "shop", *, tls: ssl.SSLContext | None = None) -> Iterator[HostedApp]:
    """Run an instance on a free port of 127.0.0.1, by https with ``tls``."""
    app = HostedApp(name)

    class Handler(_Handler):
        hosted = app

    server = Server(("127.0.0.1", 0), Handler)
    app.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    if tls is not None:  # the handshake is made by the thread that serves the connection
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield app
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hosted: HostedApp
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        app, (path, _, query) = self.hosted, self.path.partition("?")
        if path == "/dies" and app.dying and not any(each.down for each in app.dying):
            app.down = True
        if app.down:
            self.close_connection = True
            return None
        if self.headers["Host"] != urlsplit(app.url).netloc:
            return self._refuse(f"Host {self.headers['Host']}")
        user = app.sessions.get(self._cookie("SESSION"), "")
        if path == "/login" and app.identity:
            return self._send(302, b"", ("Location", f"{app.identity}/authorize?to={app.url}/signed-in"))
        if path == "/signed-in":
            return self._sign_in(parse_qs(query)["code"][0])
        if path == "/login":
            form = '<input name="user"><input name="password"><button>Sign in</button>'
            return self._page(f'<form method="post" action="{app.url}/login">{form}</form>')
        if path == "/account":
            return self._page(f"<p id='who'>{user}</p>") if user else self._to("/login")
        if path == "/style.css":
            return self._send(200, b"h1 { color: rgb(1, 2, 3) }", ("Content-Type", "text/css"))
        if path == "/script.js":
            return self._send(200, b"document.title += '!'", ("Content-Type", "text/javascript"))
        if path == "/me":
            return self._send(200, f'"{user}"'.encode(), ("Content-Type", "application/json"))
        if path == "/ready":
            app.ready_after -= 1
            return self._send(503 if app.ready_after >= 0 else 200, b"ready")
        if path == "/save":  # a change by GET
            app.note = query
            return self._to("/")
        if path == "/missing":
            return self._send(404, b"missing")
        links = f'<a href="{app.url}/account">Account</a>'
        parts = f'<link rel="stylesheet" href="{app.url}/style.css"><script src="{app.url}/script.js"></script>'
        return self._page(
            f"<title>{app.name}</title><h1>{app.name}</h1>{links}<p id='note'>{app.note}</p>{parts}"
            f'<form method="post" action="/note"><input name="note"><button>Save</button></form>'
        )

    def do_POST(self) -> None:
        app = self.hosted
        if app.down:
            self.close_connection = True
            return None
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"] or 0)).decode())
        if self.path == "/reset":
            if self.headers["Authorization"] != f"Bearer {app.token}":
                return self._refuse("a reset without its token")
            app.note, app.resets = app.note if app.lies else "", app.resets + 1
            app.sessions.clear()
            return self._send(200, b"{}", ("Content-Type", "application/json"))
        if self.headers["Origin"] != app.url:
            return self._refuse(f"Origin {self.headers['Origin']}")
        if self.path == "/login" and form["user"][0] in app.refused:
            return self._to("/login")
        if self.path == "/login":
            return self._sign_in(form["user"][0])
        if app.sessions.get(self._cookie("SESSION")):
            app.note = form["note"][0]
        return self._to("/")

    def _sign_in(self, user: str) -> None:
        key = secrets.token_hex(8)
        self.hosted.sessions[key] = user
        secure = "; Secure" if self.hosted.url.startswith("https:") else ""
        self._to("/account", f"SESSION={key}; Domain=127.0.0.1; Path=/; HttpOnly{secure}")

    def _cookie(self, name: str) -> str:
        found = SimpleCookie(self.headers["Cookie"] or "").get(name)
        return found.value if found else ""

    def _to(self, path: str, cookie: str = "") -> None:
        self._send(303, b"", ("Location", self.hosted.url + path), *([("Set-Cookie", cookie)] if cookie else []))

    def _page(self, html: str) -> None:
        policy = f"default-src 'self'; style-src {self.hosted.url}; form-action 'self'"
        security = ("Strict-Transport-Security", "max-age=9"), ("Content-Security-Policy", policy)
        cookie = [("Set-Cookie", self.hosted.cookie)] if self.hosted.cookie else []
        self._send(200, f"<!doctype html>{html}".encode(), ("Content-Type", "text/html"), *security, *cookie)

    def _refuse(self, why: str) -> None:
        self.hosted.rejected.append(f"{self.command} {self.path}: {why}")
        self._send(400, why.encode())

    def _send(self, status: int, body: bytes, *fields: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass
