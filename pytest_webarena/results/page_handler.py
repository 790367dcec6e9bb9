"""Base of the servers for this package's own pages: no answer repeats anything from a request."""

from __future__ import annotations

import re
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

__all__ = ["PageHandler"]

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class PageHandler(BaseHTTPRequestHandler):
    """Handler of one connection on loopback."""

    server_version = "webarena"
    sys_version = ""

    def send_header(self, keyword: str, value: str) -> None:
        """Send a header like the standard library's method, but raise `ValueError` for control characters.

        They could end the header and begin another one.
        """
        if _CONTROL.search(f"{keyword}{value}"):
            raise ValueError(f"expected a header on one line, found a control character in {keyword!r}")
        super().send_header(keyword, value)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse an invalid request without repeating its text."""
        body = f"{HTTPStatus(code).phrase}\n".encode()
        self.send_response(code)
        self.send_header("Connection", "close")
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because the terminal belongs to the user's command."""
