"""Detects activity in a replica: threads that were not there at its start, including those of its child processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Activity", "stopped", "threads_of"]

_PROC = Path("/proc")
_PATIENCE = 1.0
"""Seconds that threads of the last requests get to end."""
_POLL = 0.02
_ENDED_STATES, _STOPPED_STATES = frozenset("ZX"), frozenset("Tt")


class Activity:
    """The activity that ``look`` finds: ids of all threads of a replica. Tasks of an event loop are not detected,
    because they have no thread."""

    def __init__(self, look: Callable[[], Awaitable[frozenset[int]]]) -> None:
        self._look = look
        self._usual: frozenset[int] = frozenset()
        """Threads of the replica before its first request. A number would not be enough: one of these threads that ends
        later would hide a new one."""

    async def note(self) -> None:
        """Record the current threads as those that always run."""
        self._usual = await self._look()

    async def busy(self) -> str:
        """Returns how many threads run in addition to the recorded ones, after waiting for them to end; empty if
        none."""
        deadline = time.monotonic() + _PATIENCE
        while more := (await self._look()) - self._usual:
            if time.monotonic() >= deadline:
                return f"something is still at work in it: threads that came after its start ({len(more)})"
            await asyncio.sleep(_POLL)
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Process:
    pid: int
    state: str
    parent: int
    session: int
    started: int


async def threads_of(leader: int, mark: str = "") -> frozenset[int]:
    """Returns the ids of the threads of the process ``leader``, which leads a session, and of all processes it started.

    A process belongs to it if it is in its session, descends from it, or has ``mark`` in its environment. Without
    ``/proc`` the result is always empty.
    """
    return await asyncio.to_thread(_threads, leader, mark.encode())


async def stopped(leader: int, mark: str = "") -> bool:
    """Returns whether one of these processes is stopped by a signal or a debugger."""
    found = await asyncio.to_thread(_tree, leader, mark.encode())
    return any(each.state in _STOPPED_STATES for each in found)


def _threads(leader: int, mark: bytes) -> frozenset[int]:
    found: set[int] = set()
    for each in _tree(leader, mark):
        with contextlib.suppress(OSError):  # it has ended
            found.update(int(entry) for entry in os.listdir(_PROC / str(each.pid) / "task"))
    return frozenset(found)


def _tree(leader: int, mark: bytes) -> list[_Process]:
    everybody = list(_processes())
    own = {one.pid for one in everybody if leader in (one.pid, one.session)}
    if mark:
        since = next((one.started for one in everybody if one.pid == leader), 0)  # reading environments is slow
        own |= {one.pid for one in everybody if one.started >= since and one.pid not in own and _carries(one.pid, mark)}
    before = 0
    while len(own) > before:
        before = len(own)
        own |= {one.pid for one in everybody if one.parent in own}
    return [one for one in everybody if one.pid in own]


def _carries(pid: int, mark: bytes) -> bool:
    with contextlib.suppress(OSError):
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return False


def _processes() -> Iterator[_Process]:
    with contextlib.suppress(OSError):
        for entry in os.listdir(_PROC):
            if entry.isdigit():
                with contextlib.suppress(OSError):  # it has ended
                    fields = (_PROC / entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                    if fields[0] not in _ENDED_STATES:
                        yield _Process(
                            pid=int(entry),
                            state=fields[0],
                            parent=int(fields[1]),
                            session=int(fields[3]),
                            started=int(fields[19]),
                        )
