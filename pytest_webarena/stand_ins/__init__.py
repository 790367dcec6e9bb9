"""Programs that a catalogue starts next to an app, in place of services on the Internet.

Each is a process of its own, ``python -m pytest_webarena.stand_ins.NAME``. The environment variable `SETTINGS`
has its settings as JSON, because they can contain passwords.
"""

from __future__ import annotations

import html
import json
import os
from http.server import BaseHTTPRequestHandler
from typing import Any

__all__ = ["SETTINGS", "Handler", "page", "settings"]

SETTINGS = "WEBARENA_STAND_IN"


def settings() -> dict[str, Any]:
    """Return the settings of this process, which are removed from its environment."""
    given: dict[str, Any] = json.loads(os.environ.pop(SETTINGS))
    return given


def page(title: str, content: str) -> str:
    """Return a page whose ``content`` is HTML."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title></head>\n'
        f"<body><main>\n<h1>{html.escape(title)}</h1>\n{content}\n</main></body></html>\n"
    )


class Handler(BaseHTTPRequestHandler):
    """Base of the handlers of requests, which are not logged."""

    protocol_version = "HTTP/1.1"

    def answer(self, text: str, *, status: int = 200, kind: str = "text/html", **headers: str) -> None:
        """Send a response; underscores in names of ``headers`` stand for hyphens."""
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def answer_json(self, data: object, *, status: int = 200) -> None:
        """Send data as JSON."""
        self.answer(json.dumps(data, ensure_ascii=False), status=status, kind="application/json")

    def not_found(self) -> None:
        """Send a page for an unknown address."""
        self.answer(page("Not found", "<p>There is nothing here.</p>"), status=404)

    def log_message(self, format: str, *values: object) -> None:
        """Log nothing."""
