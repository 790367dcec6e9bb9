"""Archive files: WARC files, alone or packed in a WACZ, as seekable streams."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pytest_webarena.errors import UsageError
from pytest_webarena.text import shorten

__all__ = ["WarcSource", "identity", "is_archive", "package_faults", "warc_sources"]

_SUFFIXES = (".warc", ".warc.gz", ".wacz")
_WARC = (".warc", ".warc.gz")
_LOCAL_HEADER = 30
"""Length, in bytes, of the fixed part of a ZIP member's local header."""
_IDENTIFYING = 65536
"""Bytes at each end of a file that, with its size, identify it."""
_MAX_UNPACKED = 4 << 30
"""Maximum size, in bytes, of all compressed members after unpacking."""
_MAGIC = (b"WARC/", b"\x1f\x8b")
"""First bytes of a WARC file: of a record, or of gzip data."""
_MAX_CONTENTS = 16 << 20
"""Maximum size, in bytes, of a package's list of contents."""
_BAD_PACKAGE = (
    zipfile.BadZipFile, OSError, EOFError, struct.error, zlib.error, ValueError, RuntimeError, NotImplementedError
)  # fmt: skip
"""Exceptions raised while reading a ZIP file that is damaged, encrypted, or compressed in a way that Python does not
support."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarcSource:
    """One WARC file: a separate file, or a range of bytes in another file."""

    path: Path
    name: str
    """Name for messages; of a member, with the name of its package."""
    start: int = 0
    length: int
    file: IO[bytes] | None = None
    """Temporary file with the unpacked data of a compressed member."""

    def close(self) -> None:
        """Close the temporary file, if any."""
        if self.file is not None:
            self.file.close()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Yield a seekable stream of its bytes."""
        if self.file is not None:
            yield io.BufferedReader(_Window(self.file, 0, self.length))
            return
        with self.path.open("rb") as file:
            yield file if not self.start else io.BufferedReader(_Window(file, self.start, self.length))


class _Window(io.RawIOBase):
    """A range of a file as a stream with its own position, so that several can read one file at a time."""

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
        wanted = max(0, min(len(buffer), self._length - self._at))
        data = os.pread(self._file.fileno(), wanted, self._start + self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def is_archive(path: Path | str) -> bool:
    """Return whether the file name has an archive's suffix."""
    return str(path).lower().endswith(_SUFFIXES)


def identity(paths: list[Path]) -> str:
    """Return an identifier of archives, from their sizes, beginnings and ends.

    Raises `UsageError` when a file cannot be read.
    """
    total = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(0)
                total.update(b"%d" % size + file.read(_IDENTIFYING))
                file.seek(max(0, size - _IDENTIFYING))
                total.update(file.read(_IDENTIFYING))
        except OSError as error:
            raise UsageError(f"expected an archive at {path}, found: {error.strerror}") from None
    return total.hexdigest()[:16]


def warc_sources(path: Path) -> list[WarcSource]:
    """Return the WARC files that an archive file contains. Raises `UsageError` when it contains none."""
    if not path.is_file():
        raise UsageError(f"expected an archive (.warc, .warc.gz, .wacz) at {path}, found no file")
    if not path.name.lower().endswith(".wacz"):
        return [_checked(WarcSource(path=path, name=path.name, length=path.stat().st_size))]
    found: list[WarcSource] = []
    try:
        with zipfile.ZipFile(path) as package, path.open("rb") as raw:
            members = [
                each
                for each in package.infolist()
                if each.filename.startswith("archive/") and each.filename.lower().endswith(_WARC)
            ]
            if (
                size := sum(each.file_size for each in members if each.compress_type != zipfile.ZIP_STORED)
            ) > _MAX_UNPACKED:
                raise UsageError(
                    f"{path}: expected at most 4 GB of compressed members, found {size:,} bytes unpacked; "
                    "store the WARC files uncompressed in the package"
                )
            for member in members:
                found.append(_checked(_member(path, package, member, raw)))
    except (*_BAD_PACKAGE, UsageError) as error:
        for source in found:
            source.close()
        if isinstance(error, UsageError):
            raise
        raise UsageError(
            f"{path}: expected a WACZ (a ZIP file), found: {shorten(str(error)) or type(error).__name__}"
        ) from None
    if not found:
        raise UsageError(f"{path}: expected WARC files in its folder archive/, found none")
    return found


def _checked(source: WarcSource) -> WarcSource:
    """Return ``source``, or raise `UsageError` when its first bytes are not those of a WARC file."""
    with source.open() as file:
        start = file.read(20)
    if start and not start.startswith(_MAGIC):
        source.close()
        raise UsageError(f"{source.name}: expected WARC records, found a file that begins with {start!r}")
    return source


def _member(path: Path, package: zipfile.ZipFile, member: zipfile.ZipInfo, raw: IO[bytes]) -> WarcSource:
    """Return a member of a package: a range of its file (``raw``) if stored, else a temporary file with its data."""
    name = f"{path.name}/{member.filename}"
    if member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1:
        raw.seek(member.header_offset)
        header = raw.read(_LOCAL_HEADER)
        names, extra = struct.unpack("<HH", header[26:30])
        return WarcSource(
            path=path, name=name, start=member.header_offset + _LOCAL_HEADER + names + extra, length=member.file_size
        )
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the source; removed with the process
    try:
        with package.open(member) as packed:
            shutil.copyfileobj(packed, unpacked, 1 << 20)
        unpacked.flush()
    except BaseException:
        unpacked.close()
        raise
    return WarcSource(path=path, name=name, length=member.file_size, file=unpacked)


def package_faults(path: Path) -> list[str]:
    """Return the differences between a WACZ and its list of contents (WACZ 1.1.1, ``datapackage.json``), as sentences.

    Empty for other archives. A package without a list is checked only by the ZIP file's checksums.
    """
    if not path.name.lower().endswith(".wacz"):
        return []
    found = []
    try:
        with zipfile.ZipFile(path) as package:
            names, listed = set(package.namelist()), _listed(package)
            for name, kind, expected in listed:
                if name not in names:
                    found.append(f"{path.name}: {name}: expected the listed file, found none")
                elif kind in ("sha256", "md5") and (digest := _digest(package, name, kind)) != expected:
                    found.append(f"{path.name}: {name}: expected the {kind} {expected}, found {digest}")
            for name in sorted(each for each in names if each.startswith("archive/")):
                if name not in {path for path, _, _ in listed}:
                    _digest(package, name, "sha256")  # reading compares the ZIP file's own checksums
    except _BAD_PACKAGE as error:
        found.append(f"{path.name}: {shorten(str(error))}")
    return found


def _listed(package: zipfile.ZipFile) -> list[tuple[str, str, str]]:
    """Return path, kind of digest and digest of each file in the package's list of contents; empty without one."""
    try:
        with package.open("datapackage.json") as file:
            resources = json.loads(file.read(_MAX_CONTENTS))["resources"]
        return [(str(each["path"]), *str(each.get("hash", "")).partition(":")[::2]) for each in resources]
    except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError):
        return []


def _digest(package: zipfile.ZipFile, name: str, kind: str) -> str:
    total = hashlib.new(kind, usedforsecurity=False)
    with package.open(name) as file:
        while part := file.read(1 << 20):
            total.update(part)
    return total.hexdigest()
