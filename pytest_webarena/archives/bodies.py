"""Bodies of archived responses: transfer and content codings, and whether a body is complete."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

__all__ = ["codings_of", "decoded", "is_incomplete", "looks_uncoded", "unchunked"]

_LONGEST = 256 << 20
"""Maximum size of a decoded body, in bytes."""
_PART = 1 << 16
_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_CODED = frozenset(("content-encoding", "x-orig-content-encoding", "x-archive-orig-content-encoding"))


def codings_of(headers: Sequence[tuple[str, str]], *, include_removed: bool = False) -> list[str]:
    """The content codings in header fields, in the order of their application. ``include_removed``: also the fields in
    which tools record codings that they have removed.

    >>> codings_of([("Content-Encoding", "identity, GZip")])
    ['gzip']
    """
    return [
        coding
        for name, value in headers
        if (name.lower() in _CODED if include_removed else name.lower() == "content-encoding")
        for each in value.split(",")
        if (coding := each.strip().lower()) not in ("", "identity")
    ]


def unchunked(data: bytes) -> bytes:
    """The content of a chunked body. Other data is returned unchanged, because many tools store bodies without chunks.
    `ValueError` for a chunked body that is incomplete.

    >>> unchunked(b"3\\r\\ntea\\r\\n0\\r\\n\\r\\n"), unchunked(b"<p>tea")
    (b'tea', b'<p>tea')
    """
    parts: list[bytes] = []
    at = 0
    while (match := _SIZE.match(data, at)) is not None:
        length = int(match[1], 16)
        if not length:
            return b"".join(parts)
        at = match.end() + length + 2
        if at > len(data) or data[at - 2 : at] != b"\r\n":
            break
        parts.append(data[match.end() : at - 2])
    if match is None and not parts:
        return data
    raise ValueError("an answer that breaks off: its last chunk is not there")


def is_incomplete(data: bytes, codings: Sequence[str]) -> bool:
    """Whether the compressed data of a body is incomplete. False for codings that cannot be decoded here."""
    if not data or not codings or looks_uncoded(data, codings[-1]):
        return False
    try:
        decoded(data, codings[-1:])
    except EOFError:
        return True
    except ValueError:
        return False
    return False


def looks_uncoded(data: bytes, coding: str) -> bool:
    """Whether a body is not in the coding that its headers state: tools that decode bodies often keep the header
    field."""
    if coding in ("gzip", "x-gzip"):
        return not data.startswith(b"\x1f\x8b")
    if coding == "zstd":
        return not re.match(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", data)
    return coding == "br" and data.lstrip()[:1] in (b"<", b"{", b"[") and not _is_brotli(data)


def _is_brotli(data: bytes) -> bool:
    try:
        decoded(data, ["br"])
    except EOFError:
        return True
    except ValueError:
        return False
    return True


def decoded(data: bytes, codings: Sequence[str]) -> bytes:
    """A body with ``codings`` removed. `EOFError` when it is incomplete; `ValueError` when it cannot be decoded or
    becomes too large."""
    for coding in reversed(codings):
        if coding in ("gzip", "x-gzip"):
            data = _inflated(data, 31)
        elif coding == "deflate":
            try:
                data = _inflated(data, 15)
            except ValueError:
                data = _inflated(data, -15)
        elif coding == "br":
            data = _unfolded(data)
        else:
            raise ValueError(f"the coding {coding} can't be read here")
    return data


def _inflated(data: bytes, form: int) -> bytes:
    inflating = zlib.decompressobj(form)
    try:
        whole = inflating.decompress(data, _LONGEST + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(whole) > _LONGEST:
        raise ValueError("it unfolds to too much")
    if not inflating.eof:
        raise EOFError("it breaks off")
    return whole


def _unfolded(data: bytes) -> bytes:
    try:
        import brotli
    except ImportError as error:
        raise ValueError("brotli is not installed") from error
    unfolding, parts, size = brotli.Decompressor(), [], 0
    try:
        rest: bytes = data
        while not unfolding.is_finished():
            part = unfolding.process(rest, output_buffer_limit=_PART)
            rest = b""
            parts.append(part)
            size += len(part)
            if size > _LONGEST:
                raise ValueError("it unfolds to too much")
            if not part and unfolding.can_accept_more_data():
                raise EOFError("it breaks off")
    except brotli.error as error:
        raise ValueError(str(error)) from None
    return b"".join(parts)
