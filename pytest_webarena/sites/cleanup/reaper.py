"""A process that outlives its owner just long enough to remove what the owner left behind.

It runs as a script and loads only the standard library unless there are Docker objects to remove. It reads one JSON
object per line from stdin and acts when stdin ends, which happens however the owner dies::

    {"add": "dir",    "value": "/tmp/x"}              remove this tree
    {"add": "pid",    "value": "12/345/boot"}         kill this process and its group, if it is still the same process
    {"add": "wait",   "value": "12/345/boot"}         like pid, but first wait a while for the process to end
    {"add": "mark",   "value": "NAME=value"}          kill every process that has this in its environment (Linux)
    {"add": "docker", "value": "key=value"}           remove containers, networks, volumes and images with this label
    {"drop": …, "value": …}                           unregister an entry

A process is identified by pid, start time and boot id, so that a recycled pid is never killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["identity", "is_alive", "main", "reap", "remove_tree", "wait_until_ended"]

_PROC = Path("/proc")
_HAS_PROC = Path("/proc/self/stat").exists()
_GRACE = 8.0
"""Seconds that a process registered with ``wait`` gets to end."""
_PATIENCE = 10.0
"""Seconds for killing processes, and again for removing trees."""
_POLL = 0.02


def identity(pid: int | None = None) -> str:
    """Returns ``pid/start time/boot id`` of a process, by default this one; parts that the system does not report are
    empty."""
    pid = os.getpid() if pid is None else pid
    return f"{pid}/{_start_time(pid)}/{_boot_id()}"


def is_alive(process: str) -> bool:
    """Whether the process named by `identity` still runs. A zombie, or another process with its pid, does not count."""
    pid, _, rest = process.partition("/")
    start, _, boot = rest.partition("/")
    if boot != _boot_id() or not pid.isdigit():
        return False
    now = _start_time(int(pid))
    return bool(now) and now == start


def wait_until_ended(process: str, seconds: float) -> bool:
    """Wait at most ``seconds`` for the end of the process named by `identity`. Returns whether it has ended."""
    deadline = time.monotonic() + seconds
    if hasattr(os, "pidfd_open") and is_alive(process):
        with contextlib.suppress(OSError):  # it has just ended, or the kernel is too old
            handle = os.pidfd_open(int(process.partition("/")[0]))
            try:
                if is_alive(process):  # then the handle is not of another process with its pid
                    select.select([handle], [], [], seconds)
            finally:
                os.close(handle)
    while is_alive(process):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL)
    return True


def _start_time(pid: int) -> str:
    if _HAS_PROC:
        fields = _stat(pid)
        return fields[19] if fields and fields[0] not in ("Z", "X") else ""
    shown = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = shown.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else started.strip()


def _stat(pid: int) -> list[str]:
    """Returns the fields of /proc/PID/stat from the third (state) on; empty when there is no such process."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _pids() -> Iterator[int]:
    if _HAS_PROC:
        yield from (int(entry) for entry in os.listdir(_PROC) if entry.isdigit())


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _group(process: str) -> list[int]:
    """Returns the living processes of the group that ``process`` leads or led, itself included."""
    leader = int(process.partition("/")[0])
    alive = is_alive(process)
    if not alive and _start_time(leader):
        return []  # its pid is another process' now, and no pid is reused while its group has members
    members = [pid for pid in _pids() if (stat := _stat(pid)) and stat[0] not in ("Z", "X") and int(stat[2]) == leader]
    return members if members or not alive else [leader]


def _marked(mark: str) -> list[int]:
    """Returns the living processes, other than this one, that have ``mark`` in their environment."""
    wanted = mark.encode()
    found = []
    for pid in _pids():
        with contextlib.suppress(OSError):
            if pid != os.getpid() and wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


def _kill_all(groups: Iterable[str], marks: Iterable[str]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        found = {pid for process in groups for pid in _group(process)}
        found |= {pid for mark in marks for pid in _marked(mark)}
        if not found:
            return
        for pid in found:
            _kill(pid)
        time.sleep(_POLL)


def remove_tree(path: Path, *, patience: float = _PATIENCE) -> bool:
    """Remove a directory tree, repeatedly while another process still writes into it. Returns whether it is gone."""
    deadline = time.monotonic() + patience
    while True:
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL)


def reap(resources: Iterable[tuple[str, str]]) -> None:
    """Remove all of ``resources``, which are pairs of kind and value as in the module's docstring."""
    by_kind: dict[str, list[str]] = {}
    for kind, value in resources:
        by_kind.setdefault(kind, []).append(value)
    awaited = by_kind.get("wait", [])
    deadline = time.monotonic() + _GRACE
    for process in awaited:
        wait_until_ended(process, max(deadline - time.monotonic(), 0.0))
    _kill_all([*awaited, *by_kind.get("pid", [])], by_kind.get("mark", []))
    for label in by_kind.get("docker", []):
        try:
            # Only if the owner used Docker; PYTHONPATH from the owner finds the package.
            from pytest_webarena.sites.backends.docker import remove_labelled

            remove_labelled(label)
        except Exception as error:  # the trees below must be removed anyway
            print(f"pytest-webarena: could not remove Docker objects labelled {label}: {error}", file=sys.stderr)
    for path in by_kind.get("dir", []):
        remove_tree(Path(path))


def main() -> None:
    """Read orders from the owner on stdin; clean up when stdin ends."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    if os.fork():
        os._exit(0)  # so that the reaper is not the owner's child, and is not killed as one
    resources: dict[tuple[str, str], None] = {}
    for line in sys.stdin:
        with contextlib.suppress(ValueError):  # a line cut off by the owner's death
            order = json.loads(line)
            if "add" in order:
                resources[order["add"], order["value"]] = None
            else:
                resources.pop((order["drop"], order["value"]), None)
    reap(resources)


if __name__ == "__main__":
    main()
