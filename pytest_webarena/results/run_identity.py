"""A run directory as a whole: its id, the lock on it, and its place among other runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

__all__ = ["claim", "ignore", "own_id", "point_latest"]


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
