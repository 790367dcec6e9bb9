"""Parent process of an agent's process; ends it and everything it started with the trial, or with the harness.

Run as a script with the standard library only: ``supervisor.py LIFELINE RELAY COMMAND…``. LIFELINE is a descriptor
whose end of file means that the trial has ended, even if the harness crashed. RELAY is empty or the settings of
`relay.OutsideProxy`. On Linux this process is a *subreaper*: everything that the command starts stays below it, also
daemons. Elsewhere only the command's process group is ended.

It ends after the command, with the same exit code or signal, and kills what the command left running.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["descendants", "end_tree", "main"]

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL."""
_PATIENCE = 10.0
"""Maximum time for ending processes, in seconds."""
_POLL = 0.02
"""Seconds between two rounds of signals."""
_PROC = Path("/proc")


def descendants(root: int) -> list[int]:
    """Ids of the living processes below ``root``; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir(_PROC) if (_PROC / "self/stat").exists() else ():
        if entry.isdigit():
            with contextlib.suppress(OSError):
                state, parent, *_ = (_PROC / entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if state not in ("Z", "X"):  # children of an ended process have another parent
                    children.setdefault(int(parent), []).append(int(entry))
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def end_tree(root: int) -> None:
    """Kill everything below ``root``, then ``root`` itself; for a supervisor that does not end on its own."""
    deadline = time.monotonic() + _PATIENCE
    while (below := descendants(root)) and time.monotonic() < deadline:
        _signal_all(below, signal.SIGKILL)
        time.sleep(_POLL)
    _signal_all([root], signal.SIGKILL)


def _signal_all(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


class _Supervisor:
    def __init__(self, lifeline: int) -> None:
        self._lifeline = lifeline
        self._wakeup, wakeup_writer = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(wakeup_writer, False)
        signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
        self._ending_requested = False
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._request_end)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # only wakes `select`
        self._program = 0
        self.status: int | None = None
        """Exit status of the command as in `os.waitpid`, once it has ended."""

    def start(self, command: list[str]) -> None:
        """Start the command as a child process."""
        own_pid = os.getpid()
        self._program = os.fork()
        if self._program:
            return
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            os.setsid()  # so that signals to its process group do not reach this process
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == own_pid:  # else it died before prctl, which then sends nothing
                os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]} could not be started: {error.strerror}\n".encode())
        finally:
            os._exit(127)

    def watch(self) -> None:
        """Wait until the command or the trial has ended, then end everything that the command started."""
        while self._reap() and self.status is None and not self._ending_requested:
            ready, _, _ = select.select([self._lifeline, self._wakeup], [], [])
            self._ending_requested |= self._lifeline in ready
        if self.status is None:
            self._signal(signal.SIGTERM)
            self._wait(time.monotonic() + _GRACE)
        deadline = time.monotonic() + _PATIENCE
        while self._reap() and time.monotonic() < deadline:
            self._signal(signal.SIGKILL)
            self._wait(min(deadline, time.monotonic() + _POLL))

    def _request_end(self, number: int, frame: object) -> None:
        self._ending_requested = True

    def _wait(self, deadline: float) -> None:
        """Wait until there are no children left, or until ``deadline``."""
        while self._reap() and (remaining := deadline - time.monotonic()) > 0:
            select.select([self._wakeup], [], [], remaining)

    def _reap(self) -> bool:
        """Collect ended children; return whether any are left. A subreaper has a child as long as a descendant
        exists."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wakeup, 4096):
                pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if pid == self._program:
                self.status = status

    def _signal(self, number: int) -> None:
        """Send a signal to all descendants; without /proc, to the command's process group."""
        if below := descendants(os.getpid()):
            _signal_all(below, number)
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._program, number)


def _end_like(status: int) -> None:
    """End this process in the way the command ended."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core dump is enough
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 127)


def _relay(settings: dict[str, Any]) -> Any:
    """Return the network relay of the command's sandbox. It listens, but does not serve before ``start``."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("relay", settings.pop("module"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["relay"] = module
    spec.loader.exec_module(module)
    return module.OutsideProxy(**settings)


def main() -> None:
    """Start the command, wait until it has ended, and end everything it started."""
    lifeline, relay_settings, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    os.set_inheritable(lifeline, False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    supervisor = _Supervisor(lifeline)
    relay = _relay(json.loads(relay_settings)) if relay_settings else None
    supervisor.start(command)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):  # an open copy would hide from the harness that the command closed its own
        os.dup2(null, descriptor)
    if relay is not None:
        relay.start()  # after the fork, because it starts threads
    supervisor.watch()
    _end_like(supervisor.status if supervisor.status is not None else 0)


if __name__ == "__main__":
    main()
