"""Pages and other answers of the gateway itself. Agents read them, so they are short and say what to do instead."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus

__all__ = [
    "COMING",
    "NOT_SENT",
    "SERVER",
    "answer",
    "answer_preflight",
    "answer_redirect",
    "answer_script",
    "not_sent",
    "preflight_allowed",
]

SERVER = "pytest-webarena-gateway"
"""Value of the Server field that distinguishes pages of the gateway from those of sites."""

NOT_SENT = "Not sent: live sites are only read"
"""Title of the page about an intercepted request."""

COMING = "is being made ready. This page asks for it again."
"""Text, after the host name, about a site that is still starting."""

_PAGE = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body>
<h1>{title}</h1>
<p>{text}</p>
{sites}</body>
</html>
"""


def answer(
    status: int,
    title: str,
    text: str,
    *,
    sites: Sequence[str] = (),
    body: bool = True,
    close: bool = False,
    refresh: int | None = None,
) -> tuple[str, bytes]:
    """Return the head (for the log) and all bytes of an answer of the gateway. ``sites`` are base URLs to link to.

    ``refresh``: seconds until the browser shall reload.
    """
    links = "".join(f'<li><a href="{html.escape(url)}/">{html.escape(url)}/</a></li>\n' for url in sites)
    offer = f"<p>These sites can be reached:</p>\n<ul>\n{links}</ul>\n" if sites else ""
    content = _PAGE.format(title=html.escape(title), text=html.escape(text), sites=offer).encode()
    lines = [
        f"HTTP/1.1 {status} {_phrase(status)}",
        f"Server: {SERVER}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(content)}",
        "Cache-Control: no-store",
    ]
    if refresh is not None:
        lines.append(f"Refresh: {refresh}")
    if close:
        lines.append("Connection: close")
    head = "\r\n".join(lines) + "\r\n"
    return head, head.encode("latin-1") + b"\r\n" + (content if body else b"")


def answer_script(status: int, text: str, *, origin: str = "", close: bool = False) -> tuple[str, bytes]:
    """Return the same as `answer` for a script, as JSON. CORS fields allow ``origin`` to read it."""
    fields, content = not_sent(text, page=False)
    lines = [
        f"HTTP/1.1 {status} {_phrase(status)}",
        f"Server: {SERVER}",
        *(f"{name}: {value}" for name, value in fields),
        f"Content-Length: {len(content)}",
    ]
    if origin:
        lines += [f"Access-Control-Allow-Origin: {origin}", "Access-Control-Allow-Credentials: true", "Vary: Origin"]
    if close:
        lines.append("Connection: close")
    head = "\r\n".join(lines) + "\r\n"
    return head, head.encode("latin-1") + b"\r\n" + content


def answer_preflight(fields: Mapping[str, str], *, close: bool = False) -> tuple[str, bytes]:
    """Return an answer to a CORS preflight with these ``fields`` that allows the announced request."""
    lines = [f"HTTP/1.1 204 {_phrase(204)}", f"Server: {SERVER}", *(f"{n}: {v}" for n, v in preflight_allowed(fields))]
    if close:
        lines.append("Connection: close")
    head = "\r\n".join(lines) + "\r\n"
    return head, head.encode("latin-1") + b"\r\n"


def answer_redirect(location: str, *, origin: str = "", close: bool = False) -> tuple[str, bytes]:
    """Return a redirect to ``location`` that keeps method and body. CORS fields allow ``origin`` to follow it."""
    lines = [
        f"HTTP/1.1 307 {_phrase(307)}",
        f"Server: {SERVER}",
        f"Location: {location}",
        "Content-Length: 0",
        "Cache-Control: no-store",
    ]
    if origin:
        lines += [f"Access-Control-Allow-Origin: {origin}", "Access-Control-Allow-Credentials: true", "Vary: Origin"]
    if close:
        lines.append("Connection: close")
    head = "\r\n".join(lines) + "\r\n"
    return head, head.encode("latin-1") + b"\r\n"


def preflight_allowed(fields: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return fields that allow what a preflight with ``fields`` (names in lower case) asks for."""
    return (
        ("Access-Control-Allow-Origin", fields.get("origin", "*")),
        ("Access-Control-Allow-Credentials", "true"),
        ("Access-Control-Allow-Methods", fields.get("access-control-request-method", "*")),
        ("Access-Control-Allow-Headers", fields.get("access-control-request-headers", "*")),
    )


def not_sent(text: str, *, page: bool) -> tuple[list[tuple[str, str]], bytes]:
    """Return fields and content of the answer to a request that was not sent: a ``page``, or JSON for scripts."""
    if page:
        content = _PAGE.format(title=NOT_SENT, text=html.escape(text), sites="").encode()
        return [("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store")], content
    content = json.dumps({"error": "not sent", "by": SERVER, "message": text}).encode()
    return [("Content-Type", "application/json"), ("Cache-Control", "no-store")], content


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
