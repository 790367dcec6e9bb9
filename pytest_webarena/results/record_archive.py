"""ZIP archives of records: written reproducibly, and read as files of an unknown sender.

An archive contains record files (`record_files`), some files of the run, task files, and a manifest. Other files are
neither packed nor unpacked, because pytest executes files with certain names.
"""

from __future__ import annotations

import json
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.record_files import is_record
from pytest_webarena.text import clip

__all__ = ["Layout", "has_manifest", "is_task_file", "is_trial_record", "read_archive", "task_entry", "write_archive"]

_UNRATED_BYTES = 100_000_000
_MAX_RATIO = 100
"""Limit of an archive: bytes for each packed byte beyond the first 100 MB.

Traces and pictures are hardly compressible, and pages shrink to about a tenth.
"""
_FOLDER = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,120}")
_TASK_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,100}\.ya?ml")
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of all entries, so that the same records give the same file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What an archive contains."""

    what: str
    """With its article: ``a trial``."""
    manifest: str
    """Name of its manifest, a JSON object with a ``schema_version``."""
    version: int
    """Newest schema version that can be read."""
    allowed: Callable[[str], bool]
    """Whether such archives contain a file of this name; ``run.json`` is always one."""
    place: Callable[[str], str] = str.lower
    """The place that a file takes, which one file can take: names that differ only in case are the same file."""
    max_files: int = 100_000
    max_bytes: int = 4_000_000_000


def write_archive(target: Path, layout: Layout, manifest: bytes, files: Iterable[tuple[str, bytes]]) -> None:
    """Write ``target`` atomically. Raises `UsageError` if it exists or would exceed the limits of `read_archive`."""
    if target.exists():
        raise UsageError(f"{target}: expected a new file, found an existing one; remove it, or name another with -o")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / "made.zip"
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, layout.manifest, manifest)
            for name, data in files:
                _add(archive, name, data)
            sizes = [entry.file_size for entry in archive.infolist()]
        if fault := _excess(sizes, made.stat().st_size, layout):
            raise UsageError(f"{target}: expected {layout.what} within the limits of an export, found {fault}")
        made.replace(target)


def has_manifest(path: Path, name: str) -> bool:
    """Return whether the file is an archive with this manifest."""
    try:
        with zipfile.ZipFile(path) as archive:
            return name in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


@contextmanager
def read_archive(source: Path, layout: Layout, made: Path) -> Iterator[dict[str, Any]]:
    """Unpack ``source``, which may be hostile, to the folder ``made``, and yield its manifest.

    Raises `UsageError` for a file with anything that does not belong to ``layout``, and for a damaged one; `KeyError`,
    `TypeError` and `ValueError` of the block, which reads the manifest, mean the same.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            entries = _validated_entries(archive, source, layout)
            manifest = json.loads(archive.read(entries.pop(layout.manifest)))
            if manifest["schema_version"] > layout.version:
                raise UsageError(
                    f"{source}: expected {layout.what} of schema version {layout.version} or older, found "
                    f"{manifest['schema_version']}; update pytest-webarena"
                )
            for name, entry in entries.items():
                file = made / name
                file.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as packed, file.open("xb") as unpacked:
                    shutil.copyfileobj(packed, unpacked)
            yield manifest
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
        raise UsageError(
            f"{source}: expected a file of 'webarena runs export', found an unreadable one: {clip(str(error), 200)}"
        ) from None


def _validated_entries(archive: zipfile.ZipFile, source: Path, layout: Layout) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by name, including the manifest and ``run.json``.

    Raises `UsageError` for anything that such archives do not contain.
    """
    always = {layout.manifest, "run.json"}
    found: dict[str, zipfile.ZipInfo] = {}
    taken: set[str] = set()
    for entry in archive.infolist():
        name = entry.filename
        if entry.is_dir() and not entry.file_size:  # other programs write them; no folder is made of one
            continue
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):  # 0: the program wrote no kind
            raise UsageError(f"{source}: expected only plain files, found a link or device {clip(name)!r}")
        if not (name in always or layout.allowed(name)):
            raise UsageError(f"{source}: expected only files of {layout.what}, found {clip(name)!r}")
        if (place := layout.place(name)) in taken:
            raise UsageError(f"{source}: expected each file of {layout.what} once, found {clip(name)!r} again")
        taken.add(place)
        found[name] = entry
    if missing := sorted(always - set(found)):
        raise UsageError(f"{source}: expected a file of 'webarena runs export', found one without {missing[0]}")
    if fault := _excess([entry.file_size for entry in found.values()], source.stat().st_size, layout):
        raise UsageError(f"{source}: expected {layout.what} within the limits of an export, found {fault}")
    return found


def is_trial_record(name: str) -> bool:
    """Return whether the entry ``name`` is a record of a trial.

    >>> [is_trial_record(name) for name in ("trials/a/trial.json", "trials/a/attempt-1/conftest.py", "run.json")]
    [True, False, False]
    """
    above, _, rest = name.partition("/")
    folder, _, record = rest.partition("/")
    return above == "trials" and _FOLDER.fullmatch(folder) is not None and is_record(record)


def is_task_file(name: str) -> bool:
    """Return whether the entry ``name`` is a task file."""
    above, _, rest = name.partition("/")
    return above == "tasks" and _TASK_FILE.fullmatch(rest) is not None


def task_entry(file: Path) -> str:
    """Return a name for the copy of a task file that is valid on every system and has no other meaning for pytest."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).lstrip(".-")[:100] or "tasks"
    return f"tasks/{stem}{file.suffix if _TASK_FILE.fullmatch(f'{stem}{file.suffix}') else '.yaml'}"


def _excess(sizes: Collection[int], packed: int, layout: Layout) -> str:
    """Return the limit that files of these sizes exceed in an archive of ``packed`` bytes, as text; empty if none."""
    total = sum(sizes)
    if len(sizes) > layout.max_files:
        return f"{len(sizes):,} files, above {layout.max_files:,}"
    limit = min(layout.max_bytes, max(_UNRATED_BYTES, _MAX_RATIO * packed))
    return f"{total:,} bytes, above {limit:,} for an archive of {packed:,}" if total > limit else ""


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    archive.writestr(entry, data)
