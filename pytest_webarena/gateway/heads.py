"""Strict parsers of message heads, which also select the fields to forward.

They are hand-written because this is the hot path: ``h11`` needs about 90 µs for the four heads of one exchange, these
parsers about 20 µs (``benchmarks/gateway.py --parsers``). Tests compare them with ``h11``, which accepts everything
that is accepted here, with the same meaning.

Anything that two parsers might read differently is an error and never repaired: bare CR or LF, folded lines, space
before the colon, repeated or unreadable Content-Length, any Transfer-Encoding but ``chunked``, both at once
(RFC 9112 §§2.2, 5.1, 5.2, 6.1, 6.3, 11.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = [
    "BadMessage",
    "RequestHead",
    "ResponseHead",
    "check_fields",
    "header_pairs",
    "parse_request",
    "parse_response",
    "request_line",
    "unfinished_problem",
]

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_REQUEST_LINE = re.compile(rf"({_TOKEN}{{1,64}}) ([\x21-\x7e]+) HTTP/1\.([01])")
_STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: ([\t\x20-\x7e\x80-\xff]*))?")
_FIELD = re.compile(rf"{_TOKEN}++:[\t\x20-\x7e\x80-\xff]*+\r\n")
_FIELDS = re.compile(rf"(?:{_TOKEN}++:[\t\x20-\x7e\x80-\xff]*+\r\n)*+")
_HOST_VALUE = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_BARE_LF = re.compile(rb"(?<!\r)\n")
_TOKEN_BYTE = re.compile(_TOKEN.encode())

# Fields that affect framing, routing or the connection; all others are forwarded unchanged.
_REQUEST_SPECIAL = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "upgrade", "expect", "te", "keep-alive")
)
_RESPONSE_SPECIAL = frozenset(("content-length", "transfer-encoding", "connection", "upgrade", "te", "keep-alive"))
# If Connection named one of these, one hop would drop a field on which the next hop's framing depends.
_NOT_REMOVABLE = frozenset(("host", "content-length", "transfer-encoding"))
_PER_HOP = frozenset(("close", "keep-alive", "upgrade", "te"))


class BadMessage(Exception):
    """A message that can't be forwarded. ``status`` is the HTTP status of the answer if it is a request."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(slots=True)
class RequestHead:
    """A parsed request head. ``fields`` are the lines to forward upstream (no Host, no hop-by-hop fields)."""

    method: str
    target: str
    minor: int
    """Minor HTTP version: 0 or 1."""
    fields: list[str]
    length: int | None = None
    chunked: bool = False
    close: bool = False
    """Whether the sender wants the connection closed after this exchange."""
    websocket: bool = False
    origin_restored: bool = False
    """Whether its Origin was ``null`` because of a redirect of the gateway, and was put back (`hosted`)."""

    @property
    def wants_page(self) -> bool:
        """Whether a browser requests a page, as opposed to a resource of a page."""
        fields = (field.partition(":") for field in self.fields)
        accepts = next((value for name, _, value in fields if name.lower() == "accept"), "")
        return self.method == "GET" and not self.websocket and accepts.strip().lower().startswith("text/html")


@dataclass(slots=True)
class ResponseHead:
    """A parsed response head. ``fields`` are the lines to forward to the browser."""

    status: int
    reason: str
    minor: int
    fields: list[str]
    length: int | None = None
    chunked: bool = False
    close: bool = False
    websocket: bool = False

    def serialise(self, *more: str) -> bytes:
        """Return the head as bytes for the browser, with the header lines ``more``."""
        lines = (f"HTTP/1.1 {self.status} {self.reason}", *more, *self.fields)
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def parse_request(head: str) -> RequestHead:
    """Parse a head that ends with the CRLF of its last line (without the empty line).

    `BadMessage` describes a malformed one.
    """
    line, _, rest = head.partition("\r\n")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise _bad_request_line(line)
    method, target, minor = match.groups()
    check_fields(rest)
    request = RequestHead(method, target, 1 if minor == "1" else 0, [])
    fields = request.fields
    hosts = 0
    options: list[str] = []
    upgrade = ""
    for field in rest.split("\r\n")[:-1]:
        name = field.partition(":")[0].lower()
        if name not in _REQUEST_SPECIAL:
            # Proxy-Connection, Proxy-Authorization … are addressed to the gateway.
            if name[:6] != "proxy-":
                fields.append(field)
            continue
        value = field[len(name) + 1 :].strip(" \t")
        if name == "host":
            hosts += 1
            if not _HOST_VALUE.fullmatch(value):
                raise BadMessage(f"expected a host name in Host, found {value!r}")
        elif name == "connection":
            options += _options(value)
        elif name == "content-length":
            request.length = _length(value, request.length)
            fields.append(field)
        elif name == "transfer-encoding":
            request.chunked = _chunked(value, request.chunked, request.minor)
            fields.append(field)
        elif name == "upgrade":
            upgrade = value.lower()
        elif name == "expect":
            if value.lower() != "100-continue":
                raise BadMessage(f"expected 100-continue in Expect, found {value!r}", 417)
            fields.append(field)
    if hosts != 1 and (hosts or request.minor):
        raise BadMessage(f"expected one Host field, found {hosts}")
    if request.chunked and request.length is not None:
        raise BadMessage("found both Content-Length and Transfer-Encoding")
    request.close = request.minor == 0 or "close" in options
    if options:
        request.fields = _without_named(fields, options)
        # Only WebSockets: h2c and others would carry traffic that can't be read here.
        request.websocket = (
            upgrade == "websocket"
            and "upgrade" in options
            and method == "GET"
            and request.minor == 1
            and not request.chunked
            and not request.length
        )
    return request


def parse_response(head: str) -> ResponseHead:
    """Parse a response head. Input and errors are those of `parse_request`."""
    line, _, rest = head.partition("\r\n")
    match = _STATUS_LINE.fullmatch(line)
    if match is None:
        raise BadMessage(f"expected a status line, found {line[:80]!r}")
    minor, status, reason = match.groups()
    check_fields(rest)
    response = ResponseHead(int(status), reason or "", 1 if minor == "1" else 0, [])
    fields = response.fields
    options: list[str] = []
    upgrade = ""
    for field in rest.split("\r\n")[:-1]:
        name = field.partition(":")[0].lower()
        if name not in _RESPONSE_SPECIAL:
            if name[:6] != "proxy-":
                fields.append(field)
            continue
        value = field[len(name) + 1 :].strip(" \t")
        if name == "content-length":
            response.length = _length(value, response.length)
            fields.append(field)
        elif name == "transfer-encoding":
            response.chunked = _chunked(value, response.chunked, response.minor)
            fields.append(field)
        elif name == "connection":
            options += _options(value)
        elif name == "upgrade":
            upgrade = value.lower()
    if response.chunked and response.length is not None:
        raise BadMessage("found both Content-Length and Transfer-Encoding")
    response.close = "close" in options or (response.minor == 0 and "keep-alive" not in options)
    if options:
        response.fields = _without_named(fields, options)
    response.websocket = response.status == 101 and upgrade == "websocket" and "upgrade" in options
    return response


def request_line(head: str) -> tuple[str, str] | None:
    """Return method and target of an otherwise malformed head, for the log; None if they can't be read."""
    match = _REQUEST_LINE.match(head)
    return (match[1], match[2]) if match else None


def check_fields(text: str) -> None:
    """Raise `BadMessage` unless ``text`` is a series of well-formed field lines, each ending in CRLF."""
    match = _FIELDS.match(text)
    at = match.end() if match else 0
    if at == len(text):
        return
    line = text[at : text.find("\r\n", at)]
    if line[:1] in (" ", "\t"):
        raise BadMessage("found a folded header line")
    if "\n" in line or "\r" in line:
        raise BadMessage("found a line end other than CRLF in the header")
    raise BadMessage(f"expected 'Name: value', found {line[:80]!r}")


def unfinished_problem(data: bytes, limit: int) -> BadMessage | None:
    """Return why an incomplete head can no longer become valid; None while it can."""
    if problem := _not_http(data):
        return problem
    if len(data) > limit:
        return BadMessage(f"expected at most {limit} bytes of header", 431)
    return None


def header_pairs(head: str) -> tuple[tuple[str, str], ...]:
    """Return all fields of a raw head as sent, for the log."""
    lines = head.split("\r\n")[1:]
    return tuple((name, value.strip(" \t")) for name, _, value in (line.partition(":") for line in lines if line))


def _bad_request_line(line: str) -> BadMessage:
    if problem := _not_http(line.encode("latin-1")):
        return problem
    if re.fullmatch(rf"{_TOKEN}+ [\x21-\x7e]+ HTTP/[0-9](?:\.[0-9])?", line):
        return BadMessage(f"expected HTTP/1.1, found {line.rpartition(' ')[2]}", 505)
    return BadMessage(f"expected 'METHOD http://host/path HTTP/1.1', found {line[:80]!r}")


def _not_http(data: bytes) -> BadMessage | None:
    if not _TOKEN_BYTE.match(data):
        return BadMessage("expected plain HTTP/1.1, found other bytes (TLS is not spoken here)")
    if _BARE_LF.search(data):
        return BadMessage("found a line end other than CRLF in the header")
    return None


def _length(value: str, before: int | None) -> int:
    if before is not None:
        raise BadMessage("found more than one Content-Length")
    if not (value.isascii() and value.isdigit() and len(value) <= 18):
        raise BadMessage(f"expected a number of bytes in Content-Length, found {value[:80]!r}")
    return int(value)


def _chunked(value: str, before: bool, minor: int) -> bool:
    if before or minor == 0:
        raise BadMessage("found more than one Transfer-Encoding" if before else "found Transfer-Encoding in HTTP/1.0")
    if value.lower() != "chunked":
        raise BadMessage(f"expected chunked in Transfer-Encoding, found {value[:80]!r}", 501)
    return True


def _options(value: str) -> list[str]:
    return [option.strip(" \t") for option in value.lower().split(",")]


def _without_named(fields: list[str], options: list[str]) -> list[str]:
    named = set(options) - _PER_HOP
    if not _NOT_REMOVABLE.isdisjoint(named):
        raise BadMessage("found a framing field named in Connection")
    if not named:
        return fields
    return [field for field in fields if field.partition(":")[0].lower() not in named]
