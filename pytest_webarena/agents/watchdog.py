"""Ends this process when an agent in it holds the interpreter, which nothing inside could end, and tells what it was.

An endless match of a pattern, a loop in a C library: while the interpreter's lock is held no thread of Python's runs,
neither the one that counts the seconds nor the one that hears Ctrl-C. So a small child process listens for a sign of
life twice a second. Signs that stay away do no harm while the agent has time left, nor when the process is stopped.

Run as a script, with the standard library alone: ``watchdog.py PID``. Its stdin has a line of JSON whenever something
begins, and empty lines as signs of life; the end of file is the end of PID, however it came.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from json import dumps, loads  # by name: what an agent puts in their places is its own affair
from pathlib import Path
from typing import Any

__all__ = ["PATIENCE", "Guard", "keep_stderr", "watched"]

PATIENCE = 15
"""Seconds, one after the other, without a sign of life: no machine is that busy."""
_BEAT = 0.5
_TICK = 1.0

_stderr: int | None = None
_here: Guard | None = None


def keep_stderr() -> None:
    """Note what stderr is now; later pytest captures it."""
    global _stderr
    with contextlib.suppress(OSError):
        fresh = os.dup(2)
        if _stderr is not None:
            os.close(_stderr)
        _stderr = fresh


class Guard:
    """This process's end of the pipe. One trial at a time."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._writing = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(self.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=_stderr,
            bufsize=0,
        )
        assert self._process.stdin is not None
        self._pipe = self._process.stdin.fileno()
        threading.Thread(target=self._live, name="signs-of-life", daemon=True).start()

    @contextlib.contextmanager
    def trial(self, said: Mapping[str, Any]) -> Iterator[None]:
        """A trial: see `watched`."""
        self._tell(said)
        try:
            yield
        finally:
            self._tell({"over": True})

    @contextlib.contextmanager
    def call(self, seconds: float) -> Iterator[None]:
        """The agent is at work, and may be for so long."""
        self._tell({"seconds": seconds})
        try:
            yield
        finally:
            self._tell({"seconds": None})

    def close(self) -> None:
        """No further signs; the child ends."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.wait(5)

    def let_go(self) -> None:
        """In a forked child: it is not the one that is watched, and its life is no sign."""
        with contextlib.suppress(OSError):  # its number stays taken: whoever closes it later closes nothing else
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, self._pipe, inheritable=False)
            os.close(nowhere)

    def _live(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                self._send(b"\n")
                time.sleep(_BEAT)

    def _tell(self, message: Mapping[str, Any]) -> None:
        if os.getpid() == self.pid:
            with contextlib.suppress(OSError):  # somebody ended it: trials go on without
                self._send(dumps(message).encode() + b"\n")

    def _send(self, data: bytes) -> None:
        with self._writing:
            while data:
                data = data[os.write(self._pipe, data) :]


@contextlib.contextmanager
def watched(
    file: Path, *, steps: Path, acting: Mapping[str, Any], idle: Mapping[str, Any], name: str
) -> Iterator[Guard]:
    """Watch over a trial, ``name`` to people, whose agent runs in this process.

    ``file`` is where its record is to be written if the process must be ended: ``acting`` if that was during a `call`,
    else ``idle``; ``steps`` has a line for each step.
    """
    global _here
    if _here is None or _here.pid != os.getpid():
        _here = Guard()
    said = {"file": str(file), "steps": str(steps), "acting": acting, "idle": idle, "name": name}
    with _here.trial(said):
        yield _here


@atexit.register
def _close() -> None:
    if _here is not None and _here.pid == os.getpid():
        _here.close()


def _forked() -> None:
    if _here is not None:
        _here.let_go()


os.register_at_fork(after_in_child=_forked)


# --- the child ------------------------------------------------------------------------------------------------------


class _Watch:
    """What the child knows."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.trial: dict[str, Any] | None = None
        self.began = 0.0
        self.due: float | None = None
        """When the agent's call is over at the latest; None: it has no call."""
        self.silent = 0

    def hear(self, line: bytes) -> None:
        """A line of its stdin."""
        if not line.strip():
            return
        said = loads(line)
        if "file" in said:
            self.trial, self.began, self.due = said, time.monotonic(), None
        elif "over" in said:
            self.trial = None
        else:
            self.due = None if said["seconds"] is None else time.monotonic() + said["seconds"]

    def tick(self) -> bool:
        """A second without a sign of life: whether it was one too many."""
        self.silent += not _is_stopped(self.pid)
        late = self.due is None or time.monotonic() > self.due
        return self.trial is not None and self.silent >= PATIENCE and late

    def end(self) -> None:
        """Write the record, say so, end the process."""
        assert self.trial is not None
        record = self.trial["idle" if self.due is None else "acting"]
        seconds = round(time.monotonic() - self.began, 4)
        record["seconds"] = {**record["seconds"], "episode": seconds, "total": seconds}
        with contextlib.suppress(OSError):
            record["steps"] = Path(self.trial["steps"]).read_bytes().count(b"\n")
        for attempt in record["attempts"]:
            attempt["seconds"] = seconds
        file = Path(self.trial["file"])
        temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
        with contextlib.suppress(OSError):  # without a record the trial counts as lost
            temporary.write_text(dumps(record, indent=1), encoding="utf-8")
            temporary.replace(file)
        _say(
            f"the agent held the interpreter of process {self.pid} beyond the limits of {self.trial['name']}; "
            "the process is ended, the trial's record says so. With -n another worker goes on, else --resume does"
        )
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def _is_stopped(pid: int) -> bool:
    """Whether somebody has stopped it (Ctrl-Z, a debugger); False where there is no /proc."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in ("T", "t")
    except (OSError, IndexError):
        return False


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"\nwebarena: {text}\n".encode("utf-8", "replace"))


def _main(pid: int) -> None:
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # what ends the other ends its pipe
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
            watch.hear(line)
    if watch.trial is not None:
        _say(
            f"process {pid} ended in the middle of {watch.trial['name']}, and its exit status says nothing of the run; "
            "--resume goes on with what it leaves undone"
        )


if __name__ == "__main__":
    _main(int(sys.argv[1]))
