"""Starts, finds and waits for processes in tests; processes that end in the meantime cause no errors, and zombies have
ended.

An ended process stays a zombie until its parent waits for it, which may be late or never, and psutil raises errors for
a process that has just ended. Tests therefore use this module and never psutil itself.
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
"""A process; two objects are equal only for the same process, even if its pid was reused."""
DEADLINE = 60.0
"""Seconds within which anything must happen, even on a busy machine."""


def wait_until(condition: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Return when ``condition`` is true; fail when it never is."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def alive(process: Process | int) -> bool:
    """Whether a process, or the one with this pid now, runs."""
    try:
        process = Process(process) if isinstance(process, int) else process
        return process.is_running() and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def of_pids(pids: Iterable[int]) -> list[Process]:
    """Returns those of the pids' processes that run."""
    found = []
    for pid in pids:
        try:
            found.append(Process(pid))
        except psutil.NoSuchProcess:
            continue
    return [process for process in found if alive(process)]


def descendants(of: Process | int | None = None, *, but: Collection[Process] = ()) -> list[Process]:
    """Returns the running descendants of this process or of another one, except for ``but``."""
    try:
        found = (of if isinstance(of, Process) else Process(of)).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [process for process in found if process not in but and alive(process)]


def everybody(*, but: Collection[Process] = ()) -> list[Process]:
    """Returns all running processes of the machine."""
    return [process for process in psutil.process_iter() if process not in but and alive(process)]


def name_of(process: Process) -> str:
    """Returns the name of a process; empty when it has ended."""
    try:
        return process.name()
    except psutil.Error:
        return ""


def of_command(word: str, processes: Iterable[Process]) -> list[Process]:
    """Returns the running processes whose command line contains ``word``."""
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
    """Returns the running members of a process group."""
    found = []
    for process in everybody():
        try:
            if os.getpgid(process.pid) == leader:
                found.append(process)
        except ProcessLookupError:
            continue
    return found


def parent_of(pid: int) -> int | None:
    """Returns the pid of the process's parent; None when it does not run."""
    try:
        return Process(pid).ppid() if alive(pid) else None
    except psutil.NoSuchProcess:
        return None


def listening(process: Process) -> list[str] | None:
    """Returns the addresses at which the process accepts connections; None when it has ended."""
    try:
        open_ones = process.net_connections()
    except psutil.Error:
        return None
    return [str(each.laddr) for each in open_ones if each.status == psutil.CONN_LISTEN]


def still_running(processes: Iterable[Process], seconds: float = DEADLINE) -> list[Process]:
    """Returns the processes that have not ended within ``seconds``, after killing them, so that no test leaves one
    behind."""
    running = list(processes)
    deadline = time.monotonic() + seconds
    while (running := [process for process in running if alive(process)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    kill(running)
    return running


def kill(processes: Iterable[Process]) -> None:
    """Kill the processes that still exist; killing one may end others."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
