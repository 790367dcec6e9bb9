"""The records of WARC files: an index of their exchanges, and the bytes of one."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_webarena.archives.bodies import codings_of, is_incomplete, unchunked
from pytest_webarena.archives.files import WarcSource, package_faults, warc_sources
from pytest_webarena.archives.matching import body_digest, canonical, host_and_path
from pytest_webarena.archives.writing import WITHHELD
from pytest_webarena.errors import UsageError
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from warcio.archiveiterator import ArchiveIterator

__all__ = ["Capture", "Stored", "find_damage", "info_of", "read_captures", "read_stored"]

_NO_ANSWERS = frozenset((206, 304))
"""Statuses of partial (206) and conditional (304) responses, which are useless for other requests."""
_LONGEST = 512 << 20
"""Maximum size of one response, in bytes; larger ones are not served."""
_SENT = 64 << 20
"""Number of bytes of a request body that its digest includes."""
_TRAIL = 8
"""Number of bytes (line ends) that may follow the last record."""
_LINE = 1 << 16
_LINES = 20_000
"""Maximum length of a line in bytes, and number of lines, in the heads of records. Without limits, reading a damaged
head might never end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One exchange in an archive."""

    url: str
    """Canonical address."""
    method: str
    body: str
    """`body_digest` of the request body; empty when there was none or it was not recorded."""
    time: float
    """Unix time in seconds."""
    status: int
    mime: str
    digest: str
    """Digest of the payload, as recorded in the archive or computed; equal payloads have equal digests."""
    place: int
    """Index of the file in the archive."""
    offset: int
    """Byte offset of the record in that file."""
    is_duplicate: bool = False
    """Whether the payload is stored only with another capture that has the same digest."""
    is_truncated: bool = False
    """Whether the record itself says that it contains only the beginning of the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A site's stored response."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    data: bytes
    """Body as it was sent, with its content coding."""


def _iterator(file: IO[bytes], **options: Any) -> ArchiveIterator:
    try:
        from warcio.archiveiterator import ArchiveIterator
    except ImportError:
        raise UsageError(
            "archived sites need the package warcio, which is not installed: pip install 'pytest-webarena[archive]'"
        ) from None
    iterator = ArchiveIterator(file, **options)
    _limit_heads(iterator.reader)
    return iterator


def _limit_heads(reader: Any) -> None:
    """Limit the heads of records: reading raises `ValueError` for too many lines or too long a line."""
    read, readline, lines = reader.read, reader.readline, 0

    def next_line(length: int | None = None) -> bytes:
        nonlocal lines
        lines += 1
        line: bytes = readline(_LINE if length is None else min(length, _LINE))
        endless = len(line) > _LINE // 8 and len(line) != length and not line.endswith(b"\n")
        if lines > _LINES or endless:
            raise ValueError(f"a head without end (more than {_LINES} lines, or {_LINE} bytes in one)")
        return line

    def next_bytes(length: int | None = None) -> bytes:
        nonlocal lines
        lines = 0
        data: bytes = read(length)
        return data

    reader.readline, reader.read = next_line, next_bytes


def _damage_errors() -> tuple[type[Exception], ...]:
    """Exceptions raised while reading a damaged file."""
    try:
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError:
        return (OSError,)
    return (ArchiveLoadFailed, OSError, EOFError, zlib.error, ValueError, AttributeError)


def read_captures(places: list[WarcSource], kept_back: set[tuple[str, str]] | None = None) -> Iterator[Capture]:
    """Every exchange in these files, in their order. `UsageError` with the byte position for a damaged file.

    The set ``kept_back`` receives method and `host_and_path` of requests that were withheld when the files were made.
    """
    damage = _damage_errors()
    for number, place in enumerate(places):
        requests: dict[str, tuple[str, str]] = {}
        waiting: dict[str, dict[str, Any]] = {}
        offset = 0
        try:
            with place.open() as file:
                iterator = _iterator(file)
                for record in _whole_records(iterator, place):
                    headers = record.rec_headers
                    if record.rec_type == "request" and record.http_headers is not None:
                        request_record = (
                            record.http_headers.protocol.split(" ")[0].upper(),
                            body_digest(
                                record.content_stream().read(_SENT),
                                record.http_headers.get_header("Content-Type") or "",
                            ),
                        )
                        # Either record may refer to the other, and either may come first.
                        for name in ("WARC-Concurrent-To", "WARC-Record-ID"):
                            if (mark := headers.get_header(name)) is None:
                                continue
                            requests[mark] = request_record
                            if (found := waiting.pop(mark, None)) is not None:
                                yield Capture(**{**found, "method": request_record[0], "body": request_record[1]})
                                break
                        continue
                    if record.rec_type == "metadata" and kept_back is not None and (method := _kept_back(record)):
                        kept_back.add((method, host_and_path(_address(record))))
                    if record.rec_type not in ("response", "revisit", "resource"):
                        continue
                    found = _capture(record, number)
                    if found is None:
                        continue
                    offset = found["offset"] = iterator.get_record_offset()  # reads to the record's end
                    marks = [headers.get_header("WARC-Record-ID"), headers.get_header("WARC-Concurrent-To")]
                    if (asked_for := next((requests[m] for m in marks if m in requests), None)) is not None:
                        yield Capture(**{**found, "method": asked_for[0], "body": asked_for[1]})
                        continue
                    # Its request may be the next record.
                    for unanswered in waiting.values():
                        yield Capture(**unanswered)
                    waiting = {mark: found for mark in marks[:1] if mark} or {"": found}
        except damage as error:
            raise UsageError(
                f"{place.name}: expected a whole WARC record behind byte {offset}, found: {_reason(error)}"
            ) from None
        for unanswered in waiting.values():
            yield Capture(**unanswered)


def _whole_records(iterator: ArchiveIterator, place: WarcSource) -> Iterator[Any]:
    """The records. `EOFError` when a record is incomplete, or when other data follows the last one."""
    end = 0
    for record in iterator:
        yield record
        while record.raw_stream.read(1 << 16):
            pass
        if getattr(record.raw_stream, "limit", 0) > 0:
            raise EOFError("the file breaks off")
        end = iterator.get_record_offset() + iterator.get_record_length()
    if place.length - end > _TRAIL:
        raise EOFError("something that is no record, or not all of one")


def _reason(error: Exception) -> str:
    return shorten(str(error)) or type(error).__name__


def _address(record: Any) -> str:
    """Canonical address of a record; empty unless it is an HTTP address."""
    url = (record.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")  # as old versions of wget write it
    try:
        found = canonical(url)
    except ValueError:
        return ""
    return found if re.match(r"https?://[^/]", found) else ""


def _kept_back(record: Any) -> str:
    """The method of the withheld request that a record describes; empty for other records."""
    if not _address(record) or record.rec_headers.get_header("Content-Type") != "application/warc-fields":
        return ""
    name, _, method = record.content_stream().read(200).decode("latin-1").partition("\r\n")[0].partition(":")
    return method.strip() if name == WITHHELD else ""


def _capture(record: Any, place: int) -> dict[str, Any] | None:
    headers, http = record.rec_headers, record.http_headers
    url = _address(record)
    if not url:
        return None
    if record.rec_type == "resource" or http is None:
        status, mime = 200, headers.get_header("Content-Type") or ""
        if record.rec_type == "revisit":
            return None
    else:
        code = http.get_statuscode()
        if not re.fullmatch("[1-9][0-9]{2}", code):
            return None
        status, mime = int(code), http.get_header("Content-Type") or ""
        if status < 200 or status in _NO_ANSWERS:
            return None
    is_duplicate = record.rec_type == "revisit"
    if is_duplicate and headers.get_header("WARC-Profile", "").endswith("server-not-modified"):
        return None  # the earlier response is in the archive already
    return {
        "url": url, "method": "GET", "body": "",
        "time": _time(headers.get_header("WARC-Date")), "status": status,
        "mime": mime.partition(";")[0].strip().lower(), "place": place,
        "digest": headers.get_header("WARC-Payload-Digest") or _computed_digest(record),
        "is_duplicate": is_duplicate, "is_truncated": not is_duplicate and _is_cut(record),
    }  # fmt: skip


def _computed_digest(record: Any) -> str:
    total = hashlib.sha1(usedforsecurity=False)
    while part := record.raw_stream.read(1 << 16):
        total.update(part)
    return f"sha1:{total.hexdigest()}"


def _is_cut(record: Any) -> bool:
    """Whether a record itself says that it does not contain the whole response."""
    http = record.http_headers
    if (record.rec_headers.get_header("WARC-Truncated") or "").strip():
        return True
    if http is None or http.get_header("Transfer-Encoding") or codings_of(http.headers, include_removed=True):
        return False  # tools that decode bodies may keep the original length
    length = (http.get_header("Content-Length") or "").strip()
    return length.isascii() and length.isdigit() and max(0, record.payload_length) < int(length[:18])


def _time(text: str | None) -> float:
    try:
        moment = datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def read_stored(place: WarcSource, capture: Capture) -> Stored:
    """The response that a capture refers to, without its transfer coding but with its content coding.

    `UsageError` when its bytes are missing, or are only the beginning of a response.
    """
    damage: tuple[type[Exception], ...] = (*_damage_errors(), StopIteration)
    try:
        with place.open() as file:
            file.seek(capture.offset)
            record = next(iter(_iterator(file)))
            http = record.http_headers
            data = record.raw_stream.read(_LONGEST + 1)
            if len(data) > _LONGEST:
                raise ValueError(f"more than {_LONGEST:,} bytes")
            if record.rec_type == "resource" or http is None:
                kind = record.rec_headers.get_header("Content-Type") or "application/octet-stream"
                return Stored(status=200, reason="OK", headers=(("Content-Type", kind),), data=data)
            if "chunked" in (http.get_header("Transfer-Encoding") or "").lower():
                data = unchunked(data)
            if is_incomplete(data, codings_of(http.headers)):
                raise ValueError("an answer that breaks off: the end of what is packed in it is not there")
            return Stored(
                status=capture.status,
                reason=" ".join(http.statusline.split(" ")[1:]),
                headers=tuple(http.headers),
                data=data,
            )
    except damage as error:
        raise UsageError(
            f"{place.name}: expected the record at byte {capture.offset}, found: {_reason(error)}"
        ) from None


def info_of(path: Path) -> dict[str, str]:
    """Fields of the archive's ``warcinfo`` record, with lower-case names; empty when the first record is of another
    kind."""
    places = warc_sources(path)
    try:
        with places[0].open() as file:
            record = next(iter(_iterator(file)), None)
            if record is None or record.rec_type != "warcinfo":
                return {}
            lines = record.content_stream().read(_LINES * 80).decode("utf-8", "replace").splitlines()
            pairs = (line.partition(":") for line in lines)
            return {name.strip().lower(): value.strip() for name, mark, value in pairs if mark}
    except _damage_errors() as error:
        raise UsageError(f"{places[0].name}: expected WARC records, found: {_reason(error)}") from None
    finally:
        for place in places:
            place.close()


def find_damage(paths: list[Path]) -> list[str]:
    """Records whose bytes do not match their digests, and differences from a package's list of contents, one sentence
    each."""
    found = [fault for path in paths for fault in package_faults(path)]
    for path in paths:
        for place in warc_sources(path):
            with place.open() as file:
                for record in _iterator(file, check_digests=True):
                    checker = record.digest_checker
                    while record.raw_stream.read(1 << 16):
                        pass
                    if checker.passed is False:
                        url = record.rec_headers.get_header("WARC-Target-URI") or "a record"
                        found.append(f"{place.name}: {url}: {'; '.join(map(str, checker.problems))}")
            place.close()
    return found
