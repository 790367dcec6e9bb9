"""The files of archives: WARC files, alone or packed in a WACZ, as runs of bytes that can be read and sought in."""

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

__all__ = ["WarcSource", "identity", "is_archive", "package_faults", "places_of"]

_SUFFIXES = (".warc", ".warc.gz", ".wacz")
_WARC = (".warc", ".warc.gz")
_LOCAL_HEADER = 30
_END = 65536
"""Bytes at each end of a file that, with its size, tell it from others."""
_MEMBER = 4 << 30
"""Bytes of all packed members, unpacked."""
_BEGINNINGS = (b"WARC/", b"\x1f\x8b")
_LIST = 16 << 20
"""Bytes of a package's list of what is in it."""
_BAD_PACKAGE = (
    zipfile.BadZipFile, OSError, EOFError, struct.error, zlib.error, ValueError, RuntimeError, NotImplementedError
)  # fmt: skip
"""What reading a ZIP file raises that is damaged, encrypted, or packed in ways that Python does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarcSource:
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


def places_of(path: Path) -> list[WarcSource]:
    """The WARC files that a file holds. `UsageError` when it holds none."""
    if not path.is_file():
        raise UsageError(f"expected an archive (.warc, .warc.gz, .wacz) at {path}, found no file")
    if not path.name.lower().endswith(".wacz"):
        return [_begun(WarcSource(path=path, name=path.name, length=path.stat().st_size))]
    found: list[WarcSource] = []
    try:
        with zipfile.ZipFile(path) as package, path.open("rb") as raw:
            members = [
                each
                for each in package.infolist()
                if each.filename.startswith("archive/") and each.filename.lower().endswith(_WARC)
            ]
            if (size := sum(each.file_size for each in members if each.compress_type != zipfile.ZIP_STORED)) > _MEMBER:
                raise UsageError(
                    f"{path}: expected members that are stored, or of at most 4 GB in all, found {size:,} bytes"
                )
            for member in members:
                found.append(_begun(_member(path, package, member, raw)))
    except (*_BAD_PACKAGE, UsageError) as error:
        for place in found:
            place.close()
        if isinstance(error, UsageError):
            raise
        raise UsageError(
            f"{path}: expected a WACZ, which is a ZIP file, found: {shorten(str(error)) or type(error).__name__}"
        ) from None
    if not found:
        raise UsageError(f"{path}: expected WARC files in its folder archive/, found none")
    return found


def _begun(place: WarcSource) -> WarcSource:
    """The same. `UsageError` when it begins with something else than a record, which is not looked for behind that."""
    with place.open() as file:
        start = file.read(20)
    if start and not start.startswith(_BEGINNINGS):
        place.close()
        raise UsageError(f"{place.name}: expected WARC records, found a file that begins with {start!r}")
    return place


def _member(path: Path, package: zipfile.ZipFile, member: zipfile.ZipInfo, raw: IO[bytes]) -> WarcSource:
    name = f"{path.name}/{member.filename}"
    if member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1:
        raw.seek(member.header_offset)
        header = raw.read(_LOCAL_HEADER)
        names, extra = struct.unpack("<HH", header[26:30])
        return WarcSource(
            path=path, name=name, start=member.header_offset + _LOCAL_HEADER + names + extra, length=member.file_size
        )
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the place; gone with the process, however it ends
    try:
        with package.open(member) as packed:
            shutil.copyfileobj(packed, unpacked, 1 << 20)
        unpacked.flush()
    except BaseException:
        unpacked.close()
        raise
    return WarcSource(path=path, name=name, length=member.file_size, file=unpacked)


def package_faults(path: Path) -> list[str]:
    """What in a WACZ is not what its list of contents says it is (WACZ 1.1.1, ``datapackage.json``), a sentence each;
    none of another archive, and of a package without a list."""
    if not path.name.lower().endswith(".wacz"):
        return []
    found = []
    try:
        with zipfile.ZipFile(path) as package:
            names, listed = set(package.namelist()), _listed(package)
            for name, kind, told in listed:
                if name not in names:
                    found.append(f"{path.name}: {name}: it is listed, and is not there")
                elif kind in ("sha256", "md5") and (digest := _digest(package, name, kind)) != told:
                    found.append(f"{path.name}: {name}: expected the {kind} {told}, found {digest}")
            for name in sorted(each for each in names if each.startswith("archive/")):
                if name not in {path for path, _, _ in listed}:
                    _digest(package, name, "sha256")  # which compares the ZIP file's own sums
    except _BAD_PACKAGE as error:
        found.append(f"{path.name}: {shorten(str(error))}")
    return found


def _listed(package: zipfile.ZipFile) -> list[tuple[str, str, str]]:
    """Name, kind of digest and digest of what a package says is in it."""
    try:
        with package.open("datapackage.json") as file:
            resources = json.loads(file.read(_LIST))["resources"]
        return [(str(each["path"]), *str(each.get("hash", "")).partition(":")[::2]) for each in resources]
    except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError):
        return []


def _digest(package: zipfile.ZipFile, name: str, kind: str) -> str:
    total = hashlib.new(kind, usedforsecurity=False)
    with package.open(name) as file:
        while part := file.read(1 << 20):
            total.update(part)
    return total.hexdigest()
