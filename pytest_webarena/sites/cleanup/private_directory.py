"""Private run-time directories, and the reaper process that removes them when their owner ends for any reason."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path
from typing import Literal, Protocol

from pytest_webarena.sites.cleanup import reaper

__all__ = ["READY", "REPORT", "ReaperProcess", "abandon_after_fork", "child_environment", "make_directory", "sweep"]

READY = b"ready\n"
"""Line that a broker writes to stdout once it serves clients; any other output is the reason why it does not."""
REPORT = "report.json"
"""File that a broker writes into the launcher's directory at a graceful end."""
_PREFIX = "pytest-webarena-"
_OWNER_FILE = "owner"
_SOCKET_LIMIT = 90
"""Paths of Unix sockets may have about 104 bytes, including the names inside the directory."""
_ADOPTION = 300.0
"""Seconds after which a directory without an owner's name counts as abandoned."""

Kind = Literal["dir", "pid", "wait", "mark", "docker"]


class Abandonable(Protocol):
    """Has file descriptors whose closing shows others that this process has ended."""

    def abandon(self) -> None:
        """Close them without waiting."""


_abandonables: weakref.WeakSet[Abandonable] = weakref.WeakSet()


def abandon_after_fork(holder: Abandonable) -> None:
    """Make forked (not exec'ed) children close the descriptors of ``holder``, so that the end of this process is
    noticed."""
    _abandonables.add(holder)


def _in_child() -> None:
    for holder in list(_abandonables):
        holder.abandon()


os.register_at_fork(after_in_child=_in_child)


class ReaperProcess:
    """A reaper process that works for this process and survives it; see `reaper` for what can be registered.

    It is not a child process, because Ray and other programs end a process together with all its children.
    """

    def __init__(self, *, stderr: int | None = subprocess.DEVNULL) -> None:
        self._over, its_own = os.pipe()
        """Pipe that closes when the reaper has ended, because the reaper can't be waited for."""
        try:
            # -P: the script's own folder has modules whose names others may use. A new session: Ctrl-C and hang-ups are
            # not for it.
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(reaper.__file__))],
                stdin=subprocess.PIPE,
                stdout=its_own,
                stderr=stderr,
                start_new_session=True,
                env=child_environment(),
            )
        finally:
            os.close(its_own)
        abandon_after_fork(self)

    def add(self, kind: Kind, value: str) -> None:
        """Register something to be removed when this process dies."""
        self._process.poll()  # reaps the process that started the reaper and has ended
        self._send({"add": kind, "value": value})

    def drop(self, kind: Kind, value: str) -> None:
        """Unregister something that this process has removed itself."""
        self._send({"drop": kind, "value": value})

    def close(self, timeout: float = 20.0) -> None:
        """Let the reaper remove what is still registered, and end."""
        self.abandon()
        if self._over < 0:
            return
        select.select([self._over], [], [], timeout)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        os.close(self._over)
        self._over = -1

    def abandon(self) -> None:
        """Close the connection without waiting, also in a forked child, which must not keep the pipe open."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]

    def _send(self, order: dict[str, str]) -> None:
        with contextlib.suppress(OSError, ValueError):  # the reaper was killed; the sweep at the next start remains
            os.write(self._process.stdin.fileno(), json.dumps(order).encode() + b"\n")  # type: ignore[union-attr]


def child_environment() -> dict[str, str]:
    """Returns the environment with this process's import path, so that a child with ``-P`` finds the same modules."""
    path = os.pathsep.join(str(Path(entry or ".").absolute()) for entry in sys.path)
    return {**os.environ, "PYTHONPATH": path}


def make_directory() -> Path:
    """Create a private directory with our prefix, with a path short enough for a Unix socket."""
    parent = tempfile.gettempdir()
    if len(parent) + len(_PREFIX) > _SOCKET_LIMIT - 30 and Path("/tmp").is_dir():
        parent = "/tmp"
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    unfinished = directory / f"{_OWNER_FILE}.new"
    unfinished.write_text(reaper.identity())
    unfinished.replace(directory / _OWNER_FILE)  # another process' sweep must never read a partial name
    return directory


def sweep(parent: Path | None = None) -> list[Path]:
    """Remove directories whose owners died together with their reapers. Returns what was removed."""
    swept = []
    for directory in Path(parent or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            is_own = directory.stat().st_uid == os.getuid()
            if is_own and _abandoned(directory) and reaper.remove_tree(directory, patience=1):
                swept.append(directory)
    return swept


def _abandoned(directory: Path) -> bool:
    try:
        return not reaper.is_alive((directory / _OWNER_FILE).read_text())
    except FileNotFoundError:  # just being created, or half removed
        return time.time() - directory.stat().st_mtime > _ADOPTION
