"""The data of an app at one moment, as needed for the ledger of side effects. Backends create it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_webarena.errors import SiteBusy, SiteError, TaskError
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["CHEAP", "DATABASE_PARTS", "Moment", "database_file", "files_below", "flipped", "moment_below"]

CHEAP = 64 * 1024 * 1024
"""Maximum size in bytes of a database of which a copy is kept for comparing."""
_MOST_FILES = 20_000
_BUSY_SECONDS = 5.0
DATABASE_PARTS = ("", "-wal", "-shm", "-journal")
"""Suffixes of a database's path: the file itself, and SQLite's additional files."""
_WAL = slice(18, 20)
"""Header bytes with the format that readers and writers need: 1 is the plain format, 2 has a write-ahead log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Databases and files of one app."""

    databases: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Content by name, as one SQLite file; of servers, a copy of their tables (`server_content`)."""
    files: Mapping[str, str] | None = None
    """Fingerprint of each file by path relative to the data folder. None: unknown."""
    unknown: str = ""
    """Why something else is unknown."""


def moment_below(directory: Path, app: AppManifest) -> Moment:
    """Returns the files of ``app`` in its data folder: SQLite databases, and others. Raises `SiteBusy`, as
    `database_file` does."""
    unknown, databases = [], {}
    for name, database in app.databases.items():
        if database.engine != "sqlite":
            continue
        try:
            databases[name] = database_file(directory / database.path)
        except SiteBusy:
            raise
        except SiteError as error:
            unknown.append(str(error))
    files = files_below(directory, [each.path for each in app.databases.values() if each.path])
    return Moment(databases=databases, files=files, unknown="; ".join(unknown))


def database_file(path: Path) -> bytes:
    """Returns the content of the SQLite database at ``path``, including its log, while nobody writes.

    Raises `SiteBusy` when a writer blocks it for long, `SiteError` when it can't be read or is larger than `CHEAP`.
    """
    try:
        if (size := path.stat().st_size) > CHEAP:
            raise SiteError(f"the database {path.name} has {size >> 20} MiB, more than can be compared ({CHEAP >> 20})")
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    except (OSError, sqlite3.Error) as error:
        raise SiteError(f"the database {path.name} can't be read: {error}") from error
    try:
        connection.execute("begin")
        connection.execute("select count(*) from sqlite_master").fetchone()  # from here on nobody can write to it
        log = path.with_name(f"{path.name}-wal")
        content = connection.serialize() if log.exists() and log.stat().st_size else path.read_bytes()
    except (OSError, sqlite3.Error) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        kind = SiteBusy if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) else SiteError
        raise kind(f"the database {path.name} can't be read: {error}") from error
    finally:
        connection.close()
    if content[_WAL] == b"\2\2":  # a copy without a log must not require one
        content = content[: _WAL.start] + b"\1\1" + content[_WAL.stop :]
    return content


def flipped(content: bytes, path: str) -> bytes:
    """Returns a file's content with its last bit inverted. Raises `TaskError` for an empty file."""
    if not content:
        raise TaskError(f"the file {path} is empty")
    return content[:-1] + bytes([content[-1] ^ 1])


def files_below(directory: Path, databases: Collection[str]) -> Mapping[str, str] | None:
    """Returns everything below ``directory`` except ``databases`` (relative paths) and SQLite's additional files.

    Files are compared by size and modification time, so that rewriting the same content counts as a change. None when
    there are too many files.
    """
    left_out = {name + ending for name in databases for ending in DATABASE_PARTS}
    found: dict[str, str] = {}
    pending = [directory]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                name = os.path.relpath(entry.path, directory)
                if name in left_out:
                    continue
                stat_result = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(stat_result.st_mode):
                    pending.append(Path(entry.path))
                    continue
                found[name] = f"{stat_result.st_mode:o} {stat_result.st_size} {stat_result.st_mtime_ns}"
                if len(found) > _MOST_FILES:
                    return None
    return found
