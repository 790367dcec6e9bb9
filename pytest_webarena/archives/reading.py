"""The records of WARC files, alone or packed in a WACZ, and the bytes of one."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_webarena.archives.matching import body_digest, canonical
from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from warcio.archiveiterator import ArchiveIterator

__all__ = [
    "Capture",
    "Place",
    "Stored",
    "damaged",
    "identity",
    "info_of",
    "is_archive",
    "places_of",
    "read_captures",
    "stored",
]

_SUFFIXES = (".warc", ".warc.gz", ".wacz")
_WARC = (".warc", ".warc.gz")
_LOCAL_HEADER = 30
_END = 65536
"""Bytes at each end of a file that, with its size, tell it from others."""
_MEMBER = 4 << 30
_NO_ANSWERS = frozenset((206, 304))
"""What answers a part, or what the asker had already: nobody else can be given that."""
_LONGEST = 512 << 20
"""Bytes of one answer; a record that unfolds to more is not served."""
_TRAIL = 8
"""Bytes that may follow the last record: line ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One WARC file: a file of its own, or a run of bytes in another."""

    path: Path
    name: str
    """For messages: of a member, with the name of its package."""
    start: int = 0
    length: int
    file: IO[bytes] | None = None
    """Of a member that was packed, unpacked."""

    def close(self) -> None:
        """Let go of what was unpacked."""
        if self.file is not None:
            self.file.close()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Its bytes, to be read and sought in."""
        if self.file is not None:
            yield io.BufferedReader(_Window(self.file, 0, self.length))
            return
        with self.path.open("rb") as file:
            yield file if not self.start else io.BufferedReader(_Window(file, self.start, self.length))


class _Window(io.RawIOBase):
    """A part of a file, as a file. Many may read one file at a time."""

    def __init__(self, file: IO[bytes], start: int, length: int) -> None:
        self._file, self._start, self._length, self._at = file, start, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._length)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        room = max(0, min(len(buffer), self._length - self._at))
        data = os.pread(self._file.fileno(), room, self._start + self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One exchange in an archive."""

    url: str
    """Canonical."""
    method: str
    body: str
    """`body_digest` of what was sent; empty when nothing was, or when nobody has kept it."""
    time: float
    """Unix time."""
    status: int
    mime: str
    digest: str
    """Of the payload, as the archive says or as it was reckoned; equal ones are equal."""
    place: int
    """Which of the archive's files."""
    offset: int
    """Where its record begins there."""
    again: bool = False
    """Whether its payload is that of another capture with the same digest, and is not stored twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a site answered."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    data: bytes
    """As it was sent, its content coding left on."""


def is_archive(path: Path | str) -> bool:
    """Whether a file's name says that it is one."""
    return str(path).lower().endswith(_SUFFIXES)


def identity(paths: list[Path]) -> str:
    """Tells archives apart by their sizes, beginnings and ends; `UsageError` where there is none."""
    total = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(0)
                total.update(b"%d" % size + file.read(_END))
                file.seek(max(0, size - _END))
                total.update(file.read(_END))
        except OSError as error:
            raise UsageError(f"expected an archive at {path}, found: {error.strerror}") from None
    return total.hexdigest()[:16]


def places_of(path: Path) -> list[Place]:
    """The WARC files that a file holds. `UsageError` when it holds none."""
    if not path.is_file():
        raise UsageError(f"expected an archive (.warc, .warc.gz, .wacz) at {path}, found no file")
    if not path.name.lower().endswith(".wacz"):
        return [Place(path=path, name=path.name, length=path.stat().st_size)]
    found = []
    try:
        with zipfile.ZipFile(path) as package, path.open("rb") as raw:
            for member in package.infolist():
                if not (member.filename.startswith("archive/") and member.filename.lower().endswith(_WARC)):
                    continue
                found.append(_member(path, package, member, raw))
    except (zipfile.BadZipFile, OSError, struct.error) as error:
        raise UsageError(f"{path}: expected a WACZ, which is a ZIP file, found: {error}") from None
    if not found:
        raise UsageError(f"{path}: expected WARC files in its folder archive/, found none")
    return found


def _member(path: Path, package: zipfile.ZipFile, member: zipfile.ZipInfo, raw: IO[bytes]) -> Place:
    name = f"{path.name}/{member.filename}"
    if member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1:
        raw.seek(member.header_offset)
        header = raw.read(_LOCAL_HEADER)
        names, extra = struct.unpack("<HH", header[26:30])
        return Place(
            path=path, name=name, start=member.header_offset + _LOCAL_HEADER + names + extra, length=member.file_size
        )
    if member.file_size > _MEMBER:
        raise UsageError(
            f"{name}: expected a member that is stored, or of at most 4 GB, found {member.file_size:,} bytes"
        )
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the place; gone with the process, however it ends
    with package.open(member) as packed:
        while part := packed.read(1 << 20):
            unpacked.write(part)
    unpacked.flush()
    return Place(path=path, name=name, length=member.file_size, file=unpacked)


def _iterator(file: IO[bytes], **options: Any) -> ArchiveIterator:
    try:
        from warcio.archiveiterator import ArchiveIterator
    except ImportError:
        raise UsageError(
            "archived sites need the package warcio, which is not installed: pip install 'pytest-webarena[archive]'"
        ) from None
    return ArchiveIterator(file, **options)


def _damage() -> tuple[type[Exception], ...]:
    """What reading a damaged file raises."""
    try:
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError:
        return (OSError,)
    return (ArchiveLoadFailed, OSError, EOFError, zlib.error, ValueError, AttributeError)


def read_captures(places: list[Place]) -> Iterator[Capture]:
    """Every exchange in these files, in their order. `UsageError` for a file that is damaged, with the place."""
    damage = _damage()
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
                        asked = (
                            record.http_headers.protocol.split(" ")[0].upper(),
                            body_digest(
                                record.content_stream().read(), record.http_headers.get_header("Content-Type") or ""
                            ),
                        )
                        # Either of the two may name the other, and come first.
                        for name in ("WARC-Concurrent-To", "WARC-Record-ID"):
                            if (mark := headers.get_header(name)) is None:
                                continue
                            requests[mark] = asked
                            if (found := waiting.pop(mark, None)) is not None:
                                yield Capture(**{**found, "method": asked[0], "body": asked[1]})
                                break
                        continue
                    if record.rec_type not in ("response", "revisit", "resource"):
                        continue
                    found = _capture(record, number)
                    if found is None:
                        continue
                    offset = found["offset"] = iterator.get_record_offset()  # which reads to the record's end
                    marks = [headers.get_header("WARC-Record-ID"), headers.get_header("WARC-Concurrent-To")]
                    if (asked_for := next((requests[m] for m in marks if m in requests), None)) is not None:
                        yield Capture(**{**found, "method": asked_for[0], "body": asked_for[1]})
                        continue
                    # Its request may follow at once.
                    for left in waiting.values():
                        yield Capture(**left)
                    waiting = {mark: found for mark in marks[:1] if mark} or {"": found}
        except damage as error:
            raise UsageError(
                f"{place.name}: expected a whole WARC record behind byte {offset}, found: {error}"
            ) from None
        for left in waiting.values():
            yield Capture(**left)


def _whole_records(iterator: ArchiveIterator, place: Place) -> Iterator[Any]:
    """The records. `EOFError` when the end of one is not in the file, or more follows that is none."""
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


def _capture(record: Any, place: int) -> dict[str, Any] | None:
    headers, http = record.rec_headers, record.http_headers
    url = (headers.get_header("WARC-Target-URI") or "").strip("<>")  # wget's older ones have them
    if not url.lower().startswith(("http://", "https://")):
        return None
    if record.rec_type == "resource" or http is None:
        status, mime = 200, headers.get_header("Content-Type") or ""
        if record.rec_type == "revisit":
            return None
    else:
        code = http.get_statuscode()
        if not code.isdigit():
            return None
        status, mime = int(code), http.get_header("Content-Type") or ""
        if status < 200 or status in _NO_ANSWERS:
            return None
    if record.rec_type == "revisit" and headers.get_header("WARC-Profile", "").endswith("server-not-modified"):
        return None  # what it was is in the archive already
    digest = headers.get_header("WARC-Payload-Digest") or ""
    if not digest:
        digest = f"sha1:{hashlib.sha1(record.raw_stream.read(), usedforsecurity=False).hexdigest()}"
    return {
        "url": canonical(url), "method": "GET", "body": "",
        "time": _time(headers.get_header("WARC-Date")), "status": status,
        "mime": mime.partition(";")[0].strip().lower(), "digest": digest, "place": place,
        "again": record.rec_type == "revisit",
    }  # fmt: skip


def _time(text: str | None) -> float:
    try:
        moment = datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def stored(place: Place, capture: Capture) -> Stored:
    """The answer that a capture holds. Its transfer coding is taken off, its content coding is not.

    `UsageError` when its bytes are not there any more.
    """
    try:
        with place.open() as file:
            file.seek(capture.offset)
            record = next(iter(_iterator(file)))
            http = record.http_headers
            if record.rec_type == "resource" or http is None:
                kind = record.rec_headers.get_header("Content-Type") or "application/octet-stream"
                return Stored(status=200, reason="OK", headers=(("Content-Type", kind),), data=record.raw_stream.read())
            chunked = "chunked" in (http.get_header("Transfer-Encoding") or "").lower()
            data = record.raw_stream.read(_LONGEST + 1)
            if len(data) > _LONGEST:
                raise ValueError(f"more than {_LONGEST:,} bytes")
            return Stored(
                status=capture.status,
                reason=" ".join(http.statusline.split(" ")[1:]),
                headers=tuple(http.headers),
                data=_whole(data) if chunked else data,
            )
    except (OSError, StopIteration, EOFError, zlib.error, ValueError) as error:
        raise UsageError(f"{place.name}: expected the record at byte {capture.offset}, found: {error}") from None


def _whole(data: bytes) -> bytes:
    """A chunked body put together; what is no such thing stays as it is: many tools store it so."""
    parts: list[bytes] = []
    at = 0
    while True:
        end = data.find(b"\r\n", at)
        size = data[at:end].partition(b";")[0].strip() if end >= 0 else b""
        try:
            length = int(size, 16)
        except ValueError:
            return data if not parts else b"".join(parts)
        if not length:
            return b"".join(parts)
        parts.append(data[end + 2 : end + 2 + length])
        at = end + 4 + length


def info_of(path: Path) -> dict[str, str]:
    """What the first record of an archive says of it, if it is one that does."""
    places = places_of(path)
    try:
        with places[0].open() as file:
            record = next(iter(_iterator(file)), None)
            if record is None or record.rec_type != "warcinfo":
                return {}
            lines = record.content_stream().read().decode("utf-8", "replace").splitlines()
            pairs = (line.partition(":") for line in lines)
            return {name.strip().lower(): value.strip() for name, mark, value in pairs if mark}
    except _damage() as error:
        raise UsageError(f"{places[0].name}: expected WARC records, found: {error}") from None
    finally:
        for place in places:
            place.close()


def damaged(paths: list[Path]) -> list[str]:
    """Records whose bytes are not those that their digests are of, a sentence each."""
    found = []
    for path in paths:
        for place in places_of(path):
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
