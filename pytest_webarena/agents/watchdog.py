"""Ends this process when an agent in it blocks the interpreter, which nothing inside could do, and reports the agent.

While the interpreter's lock is held (an endless regular expression, a loop in a C library), no Python thread runs,
neither the one that enforces time limits nor the one that handles Ctrl-C. So a small child process expects a heartbeat
twice a second. Missing heartbeats are tolerated while the agent has time left, and while the process is stopped.

Run as a script with the standard library only: ``watchdog.py PID``. Its stdin has a line of JSON for each event and an
empty line for each heartbeat; the end of file means that PID has ended.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import runpy
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from json import dumps, loads  # imported by name, because an agent may replace the attributes of ``json``
from pathlib import Path
from typing import Any

__all__ = ["PATIENCE", "Guard", "Watched", "keep_stderr", "watched"]

PATIENCE = 15
"""Seconds without a heartbeat, not counting stopped time, that no load of a machine explains."""
_PACKAGE = Path(__file__).parents[1]
_BEAT = 0.5
_TICK = 1.0

_stderr: int | None = None
_guard_of_process: Guard | None = None
_guard_lock = threading.Lock()


def keep_stderr() -> None:
    """Remember the current stderr, before pytest captures it."""
    global _stderr
    with contextlib.suppress(OSError):
        fresh = os.dup(2)
        if _stderr is not None:
            os.close(_stderr)
        _stderr = fresh


class Guard:
    """This process's end of the pipe to the watchdog."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._writing = threading.Lock()
        self._numbers = itertools.count(1)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(self.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=_stderr,
            bufsize=0,
        )
        assert self._process.stdin is not None
        self._pipe = self._process.stdin.fileno()
        threading.Thread(target=self._send_heartbeats, name="signs-of-life", daemon=True).start()

    @contextlib.contextmanager
    def trial(self, announcement: Mapping[str, Any]) -> Iterator[Watched]:
        """Watch a trial; see `watched`."""
        number = next(self._numbers)
        self.send_message({**announcement, "trial": number})
        try:
            yield Watched(self, number)
        finally:
            self.send_message({"trial": number, "over": True})

    def close(self) -> None:
        """Send no further heartbeats and wait for the child to end."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.wait(5)

    def detach(self) -> None:
        """Detach a forked child, which is not watched and must not send heartbeats."""
        with contextlib.suppress(OSError):  # keeps the descriptor in use, so that a later close affects no other
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, self._pipe, inheritable=False)
            os.close(nowhere)

    def _send_heartbeats(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                self._send(b"\n")
                time.sleep(_BEAT)

    def send_message(self, message: Mapping[str, Any]) -> None:
        """Send a message to the child."""
        if os.getpid() == self.pid:
            with contextlib.suppress(OSError):  # the child was ended: trials continue without it
                self._send(dumps(message).encode() + b"\n")

    def _send(self, data: bytes) -> None:
        with self._writing:
            while data:
                data = data[os.write(self._pipe, data) :]


class Watched:
    """One watched trial."""

    def __init__(self, guard: Guard, number: int) -> None:
        self._guard = guard
        self._number = number

    @contextlib.contextmanager
    def call(self, seconds: float) -> Iterator[None]:
        """Within the block the agent runs, for at most ``seconds``."""
        self._guard.send_message({"trial": self._number, "seconds": seconds})
        try:
            yield
        finally:
            self._guard.send_message({"trial": self._number, "seconds": None})


@contextlib.contextmanager
def watched(
    file: Path, *, steps: Path, acting: Mapping[str, Any], idle: Mapping[str, Any], name: str
) -> Iterator[Watched]:
    """Watch a trial whose agent runs in this process; ``name`` is for messages.

    If the process must be ended, the trial's record is written to ``file``: ``acting`` if that happens during a `call`,
    otherwise ``idle``. ``steps`` is a file with a line for each step. If several trials run in the process, the agent
    at fault is known only if it alone was in a call; otherwise none of them gets a record.
    """
    global _guard_of_process
    with _guard_lock:
        if _guard_of_process is None or _guard_of_process.pid != os.getpid():
            _guard_of_process = Guard()
        guard = _guard_of_process
    announcement = {"file": str(file), "steps": str(steps), "acting": acting, "idle": idle, "name": name}
    with guard.trial(announcement) as trial:
        yield trial


@atexit.register
def _close() -> None:
    if _guard_of_process is not None and _guard_of_process.pid == os.getpid():
        _guard_of_process.close()


def _detach_after_fork() -> None:
    if _guard_of_process is not None:
        _guard_of_process.detach()


os.register_at_fork(after_in_child=_detach_after_fork)


# --- the child ------------------------------------------------------------------------------------------------------


class _Watch:
    """The child's state."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.trials: dict[int, dict[str, Any]] = {}
        """Running trials by number: the message that announced each, and its start time ``began``."""
        self.deadlines: dict[int, float] = {}
        """The latest end of each running agent call, by number of the trial; without a call there is no entry."""
        self.silent = 0

    def receive(self, line: bytes) -> None:
        """Process a line of stdin."""
        if not line.strip():
            return
        message = loads(line)
        number = message["trial"]
        if "file" in message:
            self.trials[number] = {**message, "began": time.monotonic()}
        elif "over" in message:
            self.trials.pop(number, None)
            self.deadlines.pop(number, None)
        elif message["seconds"] is None:
            self.deadlines.pop(number, None)
        elif number in self.trials:
            self.deadlines[number] = time.monotonic() + message["seconds"]

    def tick(self) -> bool:
        """Count a second without a heartbeat; return whether the process has to be ended."""
        self.silent += not _is_stopped(self.pid)
        is_late = time.monotonic() > max(self.deadlines.values(), default=0.0)  # any of the agents may have time left
        return bool(self.trials) and self.silent >= PATIENCE and is_late

    def end(self) -> None:
        """Write the record of the trial at fault, print a message, and end the process."""
        acting = list(self.deadlines) or list(self.trials)
        if len(acting) == 1:
            trial = self.trials[acting[0]]
            _write(trial, trial["acting" if self.deadlines else "idle"])
            _print(
                f"the agent held the interpreter of process {self.pid} beyond the limits of {trial['name']}; "
                "the process was killed, and the trial's record reports it. With -n another worker continues, else "
                "use --resume"
            )
        else:
            names = ", ".join(self.trials[number]["name"] for number in acting)
            _print(
                f"an agent held the interpreter of process {self.pid} beyond the limits of its trial; it is one of "
                f"{names}. The process was killed, and none of them has a record. --resume runs them again; with "
                "--concurrency=1 it names the agent"
            )
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def _write(trial: dict[str, Any], record: dict[str, Any]) -> None:
    """Write the record of a trial that ends now."""
    seconds = round(time.monotonic() - trial["began"], 4)
    record["seconds"] = {**record["seconds"], "episode": seconds, "total": seconds}
    with contextlib.suppress(OSError):
        record["steps"] = Path(trial["steps"]).read_bytes().count(b"\n")
    for attempt in record["attempts"]:
        attempt["seconds"] = seconds
    file = Path(trial["file"])
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    names, digests = (runpy.run_path(str(_PACKAGE / f"{name}.py")) for name in ("record_files", "file_digests"))
    attempt = Path(trial["steps"]).parent
    with contextlib.suppress(OSError):  # without a record the trial counts as lost
        record["manifests"] = {attempt.name: digests["write_manifest"](attempt, wanted=names["is_attempt_file"])}
        temporary.write_text(digests["seal"](record), encoding="utf-8")
        temporary.replace(file)


def _is_stopped(pid: int) -> bool:
    """Whether a process is stopped (Ctrl-Z, a debugger); False where there is no /proc."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in ("T", "t")
    except (OSError, IndexError):
        return False


def _print(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"\nwebarena: {text}\n".encode("utf-8", "replace"))


def _main(pid: int) -> None:
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the child ends when the other process closes the pipe
    watch, rest = _Watch(pid), b""
    while True:
        readable, _, _ = select.select([0], [], [], _TICK)
        if not readable:
            if watch.tick():
                watch.end()
                return
            continue
        data = os.read(0, 1 << 16)
        if not data:
            break
        watch.silent = 0
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            watch.receive(line)
    if watch.trials:
        names = ", ".join(trial["name"] for trial in watch.trials.values())
        _print(
            f"process {pid} ended in the middle of {names}, so its exit status is not the run's; "
            "--resume runs the remaining trials"
        )


if __name__ == "__main__":
    _main(int(sys.argv[1]))
