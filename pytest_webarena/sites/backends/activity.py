"""What runs in a replica that is processes of this machine: threads and processes beyond those of its start."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Activity"]

_PROC = Path("/proc")
_PATIENCE = 1.0
"""Seconds for what served the last requests to end by itself."""
_POLL = 0.02
_GONE = frozenset("ZX")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Process:
    pid: int
    parent: int
    session: int
    threads: int


class Activity:
    """Threads of the process ``leader``, which leads a session, and of all that it started.

    Those belong to it that are of its session, descend from it, or carry ``mark`` in their environment. Where there is
    no ``/proc``, nothing is ever seen. What waits in an event loop, without a thread, is not seen either.
    """

    def __init__(self, leader: int, *, mark: str = "") -> None:
        self._leader, self._mark = leader, mark.encode()
        self._usual: int | None = None
        """How many there were when nobody had asked it for anything, or fewer that were seen later."""

    async def note(self) -> None:
        """What runs now is what always runs."""
        self._usual = await asyncio.to_thread(self._count)

    async def busy(self) -> str:
        """Empty when no more runs than at first, or soon does; otherwise how much more."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            now = await asyncio.to_thread(self._count)
            if self._usual is None or now <= self._usual:
                self._usual = now
                return ""
            if time.monotonic() >= deadline:
                return f"something is still at work in it: {now} threads, {self._usual} at its start"
            await asyncio.sleep(_POLL)

    def _count(self) -> int:
        everybody = list(_processes())
        own = {one.pid for one in everybody if one.pid == self._leader or one.session == self._leader}
        if self._mark:
            own |= {one.pid for one in everybody if self._carries_mark(one.pid)}
        before = 0
        while len(own) > before:
            before = len(own)
            own |= {one.pid for one in everybody if one.parent in own}
        return sum(one.threads for one in everybody if one.pid in own)

    def _carries_mark(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            return self._mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
        return False


def _processes() -> Iterator[_Process]:
    with contextlib.suppress(OSError):
        for entry in os.listdir(_PROC):
            if entry.isdigit():
                with contextlib.suppress(OSError):  # it has ended
                    fields = (_PROC / entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                    if fields[0] not in _GONE:
                        yield _Process(
                            pid=int(entry), parent=int(fields[1]), session=int(fields[3]), threads=int(fields[17])
                        )
