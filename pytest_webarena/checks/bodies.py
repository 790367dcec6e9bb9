"""Decodes the bodies of recorded requests to text for conditions; forms become one field per line."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from email.message import Message
from urllib.parse import unquote_to_bytes

from pytest_webarena.evidence import RequestRecord

__all__ = ["read_body"]

_LONGEST = 4_000_000
"""Maximum size of a decompressed body in bytes."""
_ODD = re.compile("[\udc80-\udcff]")
"""Bytes that are not UTF-8, as surrogate escapes."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_IN_NAMES = {"%22": '"', "%0D": "\r", "%0A": "\n"}
"""Browsers' escapes of characters that the name of a part can't contain."""
_ESCAPES = re.compile(r"\\\\|((?:\\u[0-9a-fA-F]{4})+|\\/)")
_CUT = "was too long to be kept whole"
_FOREIGN = "is in another character encoding than UTF-8, and which one is not said"


class _Unreadable(Exception):
    """Why a body can't be decoded reliably."""


def read_body(request: RequestRecord) -> tuple[str, str]:
    """Returns the body as text, and why the text may be incomplete or wrong; empty if it is neither.

    Each field of a form is a line ``name=value``; line ends within a value are escaped, so that they don't start
    another field.
    """
    cut = _CUT if request.body_cut else ""
    data = _bytes(request.request_body or "")
    try:
        text, doubt = _text(_plain(data, header(request, "content-encoding")), header(request, "content-type"))
    except _Unreadable as error:
        text, doubt = data.decode("utf-8", "replace"), str(error)
    return text, cut or doubt


def _bytes(body: str) -> bytes:
    if not body.startswith("base64:"):
        return body.encode()
    try:
        return base64.b64decode(body.removeprefix("base64:"))
    except binascii.Error:
        return b""


def header(request: RequestRecord, wanted: str) -> str:
    """Returns a request's header by its name in lower case; empty if it has none."""
    return next((value for name, value in request.request_headers if name.lower() == wanted), "")


def _plain(data: bytes, encoding: str) -> bytes:
    """Decompress the body; pages can compress bodies themselves."""
    for each in reversed([name.strip().lower() for name in encoding.split(",")]):
        if each in ("", "identity"):
            continue
        if each not in ("gzip", "x-gzip", "deflate"):
            raise _Unreadable(f"is compressed in a way that is not known here: {each}")
        inflating = zlib.decompressobj(47)
        try:
            data = inflating.decompress(data, _LONGEST)
        except zlib.error:
            raise _Unreadable(f"is said to be {each}, and is not") from None
        if not inflating.eof:
            raise _Unreadable("breaks off, or is too long to be decompressed")
    return data


def _text(data: bytes, kind: str) -> tuple[str, str]:
    """Returns the text, and why it may not be what the page meant."""
    form = kind.strip().lower()
    if form.startswith("application/x-www-form-urlencoded"):
        # Forms of pages in another encoding send its bytes without naming it: %E9 may be é or part of another
        # character.
        pairs = data.decode("utf-8", "replace").split("&")
        fields = [unquote_to_bytes(pair.replace("+", " ")) for pair in pairs]
        doubt = _FOREIGN if any(_is_foreign(field) for field in fields) else ""
        return "\n".join(_on_one_line(field.decode("utf-8", "replace")) for field in fields), doubt
    if form.startswith("multipart/"):
        lines = _fields(data.decode("utf-8", "surrogateescape"), kind)
        doubt = _FOREIGN if any(_ODD.search(line) for line, is_content in lines if not is_content) else ""
        return "\n".join(_ODD.sub("\ufffd", line) for line, _ in lines), doubt
    charset = _parameter(kind, "charset").strip().lower()
    try:
        text, doubt = data.decode(charset or "utf-8"), ""
    except UnicodeDecodeError:
        text, doubt = data.decode("utf-8", "replace"), _FOREIGN
    except (LookupError, ValueError):  # unknown encodings, and codecs that fail with an error of their own
        raise _Unreadable(f"is written in a way that is not known here: {charset}") from None
    text = text.removeprefix("\ufeff")
    if "\\" in text and text.lstrip()[:1] in ("{", "[", '"'):
        text = _ESCAPES.sub(_unescaped, text)  # as the site decodes it; such escapes only hide text
    return text, doubt


def _is_foreign(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def _on_one_line(text: str) -> str:
    return _LINE_END.sub(r"\\n", text)


def _fields(text: str, kind: str) -> list[tuple[str, bool]]:
    """Returns the lines of a multipart form, each with whether it is a file's content."""
    boundary = _parameter(kind, "boundary")
    parts = f"\r\n{text}".split(f"\r\n--{boundary}")
    if not boundary or parts[0] or len(parts) < 2 or parts[-1] not in ("--", "--\r\n"):
        raise _Unreadable("is no form that can be taken apart")
    return [line for part in parts[1:-1] for line in _part(part)]


def _part(part: str) -> list[tuple[str, bool]]:
    """Returns the line of a field; for a file, the lines of its name and of its content."""
    head, gap, value = part.partition("\r\n\r\n")
    named = re.search(r"^content-disposition:(.*)$", head, re.IGNORECASE | re.MULTILINE)
    if not gap or not head.startswith("\r\n") or named is None:
        raise _Unreadable("is no form that can be taken apart")
    name, file = (_parameter(named[1].strip(), each) for each in ("name", "filename"))
    lines = [(file, False), (value, True)] if file else [(value, False)]
    return [(_on_one_line(f"{name}={each}"), is_content) for each, is_content in lines]


def _parameter(header: str, name: str) -> str:
    message = Message()
    message["content-type"] = _LINE_END.sub(" ", header)
    found = message.get_param(name)
    text = found[2] if isinstance(found, tuple) else found or ""
    return re.sub("|".join(_IN_NAMES), lambda escape: _IN_NAMES[escape[0].upper()], text, flags=re.IGNORECASE)


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0]
    meant: str = json.loads(f'"{found[0]}"')
    plain = meant.isprintable() and not set(meant) & {'"', "\\"}
    return meant if plain else found[0]
