"""Helpers of a fork server for its WSGI app: checks requirements, warms it up, logs requests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["importable", "logged", "require", "visit"]


def importable(module: str) -> bool:
    """Whether the running Python finds the module."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def require(app: str, needs: Sequence[str], install: str) -> None:
    """Raise `UsageError`, with the command that installs it, when a module that ``app`` needs is missing."""
    if missing := [module for module in needs if not importable(module)]:
        command = install or f"pip install what provides {missing[0]}"
        raise UsageError(f"the app {app!r} needs {', '.join(missing)}, not installed here; run: {command}")


def visit(app: WSGIApplication, address: str, host: str) -> None:
    """Send a GET request to the app in-process. Raises `RuntimeError` when the app answers with an error."""
    from wsgiref.util import setup_testing_defaults

    parts = urlsplit(address)
    environ: WSGIEnvironment = {
        "PATH_INFO": unquote(parts.path, encoding="latin-1"),
        "QUERY_STRING": parts.query,
        "HTTP_HOST": parts.netloc or host,
        "SERVER_NAME": parts.hostname or host,
        "REMOTE_ADDR": "127.0.0.1",
    }
    setup_testing_defaults(environ)
    statuses: list[str] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
        statuses.append(status)
        return lambda _: None

    answer = app(environ, start_response)
    try:
        for _ in answer:
            pass
    finally:
        if (close := getattr(answer, "close", None)) is not None:
            close()
    if not statuses or statuses[-1][:1] == "5" or statuses[-1][:3] == "404":
        raise RuntimeError(f"warming up, GET {address} answered {statuses[-1] if statuses else 'nothing'}")


def logged(app: WSGIApplication) -> WSGIApplication:
    """Returns ``app`` with one line per request in the replica's log."""

    def log(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        def note(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
            query = f"?{environ['QUERY_STRING']}" if environ.get("QUERY_STRING") else ""
            where = f"{environ.get('HTTP_HOST', '')}{environ.get('PATH_INFO', '')}{query}"
            print(f"{environ['REQUEST_METHOD']} {where} {status}", file=sys.stderr)
            return start_response(status, headers, exc_info) if exc_info else start_response(status, headers)

        return app(environ, note)

    return log
