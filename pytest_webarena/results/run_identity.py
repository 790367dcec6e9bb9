"""A run directory as a whole: its id, whether it was imported, the lock on it, and its place among other runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

__all__ = [
    "IMPORTED",
    "PACKAGE",
    "PACKED_RUN",
    "PACKED_TRIAL",
    "claim",
    "ignore",
    "own_id",
    "package_manifest",
    "point_latest",
]

IMPORTED = "imported"
"""Fact of a run that `webarena runs import` made of records from an unknown source.

Such a run determines no options, no code, and no endpoint that gets a key of this machine.
"""
PACKAGE = "package"
"""Fact of an imported run: the name of the manifest that the import kept in its folder."""
PACKED_RUN, PACKED_TRIAL = "webarena-run.json", "webarena-trial.json"
"""Manifests of exported runs and trials. An import keeps the file, which marks the folder as imported."""


def claim(path: Path) -> int | None:
    """Lock a run's folder for this process until it ends; return a file descriptor to keep open.

    Raises `BlockingIOError` when another run has the folder. None where locks are not available.
    """
    import fcntl  # not on every system

    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise
    except OSError:  # a file system without locks
        os.close(held)
        return None
    return held


def own_id(run: Path) -> str:
    """Return the id of the run in a directory; empty where it has none, as in older versions."""
    try:
        return str(json.loads((run / "run.json").read_bytes()).get("id") or "")
    except (OSError, ValueError, AttributeError):
        return ""


def package_manifest(run: Path) -> Path | None:
    """Return the manifest of the package that was imported into a run's folder; None for other runs."""
    files = (run / name for name in (PACKED_RUN, PACKED_TRIAL))
    return next((file for file in files if file.is_file()), None)


def point_latest(run: Path) -> None:
    """Make the link ``latest`` next to a run's folder point to it. The link is optional, so errors are ignored."""
    link = run.parent / "latest"
    temporary = run.parent / f".latest.{os.getpid()}"
    try:
        temporary.symlink_to(run.name)
        temporary.replace(link)
        ignore(run.parent)  # otherwise git add would include the link
    except OSError:
        temporary.unlink(missing_ok=True)


def ignore(folder: Path) -> None:
    """Make git ignore everything in the folder."""
    if not (ignored := folder / ".gitignore").exists():
        ignored.write_text("# Written by pytest-webarena: runs are not meant to be committed.\n*\n", encoding="utf-8")
