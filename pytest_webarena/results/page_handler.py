"""What the servers of this package's own pages have in common: nothing that was asked for comes back in an answer."""

from __future__ import annotations

import re
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

__all__ = ["PageHandler"]

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class PageHandler(BaseHTTPRequestHandler):
    """One connection on loopback."""

    server_version = "webarena"
    sys_version = ""

    def send_header(self, keyword: str, value: str) -> None:
        """As the standard library's, which writes line breaks. `ValueError` for them: what follows is no header."""
        if _CONTROL.search(f"{keyword}{value}"):
            raise ValueError(f"expected a header on one line, found a control character in {keyword!r}")
        super().send_header(keyword, value)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what can't be read as a request, without its words."""
        body = f"{HTTPStatus(code).phrase}\n".encode()
        self.send_response(code)
        self.send_header("Connection", "close")
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal belongs to whoever started this."""
