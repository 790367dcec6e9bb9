"""What an app holds at one moment, as far as a ledger of side effects needs it; taken by backends, compared here."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_webarena.errors import SiteBusy, SiteError
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["CHEAP", "DATABASE_PARTS", "Moment", "database_file", "files_below", "moment_below"]

CHEAP = 64 * 1024 * 1024
"""Bytes of a database up to which a copy of it is kept for comparing."""
_MOST_FILES = 20_000
_BUSY_SECONDS = 5.0
DATABASE_PARTS = ("", "-wal", "-shm", "-journal")
"""Endings of a database's path: itself, and what SQLite keeps beside it."""
_WAL = slice(18, 20)
"""Where a database's header says which format readers and writers need: 1 is the plain one, 2 has a log beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Databases and files of one app."""

    databases: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Name to content, as one SQLite file."""
    files: Mapping[str, str] | None = None
    """Path, relative to the data folder, to a text that is another one when the file is. None: nobody can tell."""
    unknown: str = ""
    """Why something else is not known."""


def moment_below(directory: Path, app: AppManifest) -> Moment:
    """What ``app`` holds, with its data folder here. Raises `SiteBusy` as `database_file` does."""
    unknown, databases = [], {}
    for name, database in app.databases.items():
        if database.engine != "sqlite":
            unknown.append(f"the database {name} is no SQLite file, which alone can be compared")
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
    """Content of the SQLite database at ``path``, its log included, while nobody writes.

    Raises `SiteBusy` when somebody writes for long, `SiteError` when it can't be read or is larger than `CHEAP`.
    """
    try:
        if (size := path.stat().st_size) > CHEAP:
            raise SiteError(f"the database {path.name} has {size >> 20} MiB, more than can be compared ({CHEAP >> 20})")
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    except (OSError, sqlite3.Error) as error:
        raise SiteError(f"the database {path.name} can't be read: {error}") from error
    try:
        connection.execute("begin")
        connection.execute("select count(*) from sqlite_master").fetchone()  # from here on nobody writes into the file
        log = path.with_name(f"{path.name}-wal")
        content = connection.serialize() if log.exists() and log.stat().st_size else path.read_bytes()
    except (OSError, sqlite3.Error) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        kind = SiteBusy if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) else SiteError
        raise kind(f"the database {path.name} can't be read: {error}") from error
    finally:
        connection.close()
    if content[_WAL] == b"\2\2":  # what has no log beside it must not ask for one
        content = content[: _WAL.start] + b"\1\1" + content[_WAL.stop :]
    return content


def files_below(directory: Path, databases: Collection[str]) -> Mapping[str, str] | None:
    """Everything below ``directory`` but ``databases`` (paths in it) and what SQLite keeps beside them.

    Told by size and time of change: what was written again with the same content counts as changed. None when there
    is too much to look at.
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
                seen = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(seen.st_mode):
                    pending.append(Path(entry.path))
                    continue
                found[name] = f"{seen.st_mode:o} {seen.st_size} {seen.st_mtime_ns}"
                if len(found) > _MOST_FILES:
                    return None
    return found
