"""Processes that tests start, look for and wait for; one that ends meanwhile is no surprise, and a zombie has ended.

An ended process stays a zombie until its parent asks how it ended, which may be late or never, and psutil raises for
whatever it is asked about one that has just gone. So tests ask here, never psutil itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable

import psutil

__all__ = [
    "DEADLINE",
    "Process",
    "alive",
    "descendants",
    "everybody",
    "kill",
    "listening",
    "name_of",
    "of_command",
    "of_group",
    "of_pids",
    "parent_of",
    "still_running",
    "wait_until",
]

Process = psutil.Process
"""Equal to another of the same process, also when its number is given to a later one."""
DEADLINE = 60.0
"""Seconds within which anything must happen, on a busy machine too."""


def wait_until(condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Return when ``condition`` holds; fail when it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def alive(process: Process | int) -> bool:
    """Whether a process, or the one that has this number now, runs."""
    try:
        process = Process(process) if isinstance(process, int) else process
        return process.is_running() and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def of_pids(pids: Iterable[int]) -> list[Process]:
    """Those of them that run."""
    found = []
    for pid in pids:
        try:
            found.append(Process(pid))
        except psutil.NoSuchProcess:
            continue
    return [process for process in found if alive(process)]


def descendants(of: Process | int | None = None, *, but: Collection[Process] = ()) -> list[Process]:
    """What this process, or another, has started, and so on, as far as it runs; ``but``: without these."""
    try:
        found = (of if isinstance(of, Process) else Process(of)).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [process for process in found if process not in but and alive(process)]


def everybody(*, but: Collection[Process] = ()) -> list[Process]:
    """All processes of the machine that run."""
    return [process for process in psutil.process_iter() if process not in but and alive(process)]


def name_of(process: Process) -> str:
    """Its name; empty when it has gone."""
    try:
        return process.name()
    except psutil.Error:
        return ""


def of_command(word: str, processes: Iterable[Process]) -> list[Process]:
    """Those of them whose command line has ``word``, and that have not gone."""
    found = []
    for process in processes:
        try:
            command = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if word in command:
            found.append(process)
    return found


def of_group(leader: int) -> list[Process]:
    """The process group's members that run."""
    found = []
    for process in everybody():
        try:
            if os.getpgid(process.pid) == leader:
                found.append(process)
        except ProcessLookupError:
            continue
    return found


def parent_of(pid: int) -> int | None:
    """Number of the process's parent; None when it does not run."""
    try:
        return Process(pid).ppid() if alive(pid) else None
    except psutil.NoSuchProcess:
        return None


def listening(process: Process) -> list[str] | None:
    """Addresses it takes connections at; None when it has gone."""
    try:
        open_ones = process.net_connections()
    except psutil.Error:
        return None
    return [str(each.laddr) for each in open_ones if each.status == psutil.CONN_LISTEN]


def still_running(processes: Iterable[Process], seconds: float = DEADLINE) -> list[Process]:
    """Those that have not ended within that time. They are killed now: no test leaves one behind."""
    left = list(processes)
    deadline = time.monotonic() + seconds
    while (left := [process for process in left if alive(process)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    kill(left)
    return left


def kill(processes: Iterable[Process]) -> None:
    """Kill them, as far as they are still there: some go together."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
