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
import itertools
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

__all__ = ["PATIENCE", "Guard", "Watched", "keep_stderr", "watched"]

PATIENCE = 15
"""Seconds, one after the other, without a sign of life: no machine is that busy."""
_BEAT = 0.5
_TICK = 1.0

_stderr: int | None = None
_here: Guard | None = None
_making = threading.Lock()


def keep_stderr() -> None:
    """Note what stderr is now; later pytest captures it."""
    global _stderr
    with contextlib.suppress(OSError):
        fresh = os.dup(2)
        if _stderr is not None:
            os.close(_stderr)
        _stderr = fresh


class Guard:
    """This process's end of the pipe."""

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
        threading.Thread(target=self._live, name="signs-of-life", daemon=True).start()

    @contextlib.contextmanager
    def trial(self, said: Mapping[str, Any]) -> Iterator[Watched]:
        """A trial: see `watched`."""
        number = next(self._numbers)
        self.tell({**said, "trial": number})
        try:
            yield Watched(self, number)
        finally:
            self.tell({"trial": number, "over": True})

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

    def tell(self, message: Mapping[str, Any]) -> None:
        """Have the child know."""
        if os.getpid() == self.pid:
            with contextlib.suppress(OSError):  # somebody ended it: trials go on without
                self._send(dumps(message).encode() + b"\n")

    def _send(self, data: bytes) -> None:
        with self._writing:
            while data:
                data = data[os.write(self._pipe, data) :]


class Watched:
    """One trial that is watched over."""

    def __init__(self, guard: Guard, number: int) -> None:
        self._guard = guard
        self._number = number

    @contextlib.contextmanager
    def call(self, seconds: float) -> Iterator[None]:
        """The agent is at work, and may be for so long."""
        self._guard.tell({"trial": self._number, "seconds": seconds})
        try:
            yield
        finally:
            self._guard.tell({"trial": self._number, "seconds": None})


@contextlib.contextmanager
def watched(
    file: Path, *, steps: Path, acting: Mapping[str, Any], idle: Mapping[str, Any], name: str
) -> Iterator[Watched]:
    """Watch over a trial, ``name`` to people, whose agent runs in this process.

    ``file`` is where its record is to be written if the process must be ended: ``acting`` if that was during a `call`,
    else ``idle``; ``steps`` has a line for each step. Of several trials in a process nobody knows whose agent it was,
    unless it alone was at work: then none of them gets a record.
    """
    global _here
    with _making:
        if _here is None or _here.pid != os.getpid():
            _here = Guard()
        guard = _here
    said = {"file": str(file), "steps": str(steps), "acting": acting, "idle": idle, "name": name}
    with guard.trial(said) as trial:
        yield trial


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
        self.trials: dict[int, dict[str, Any]] = {}
        """Those under way, by their numbers: what was said of each, and when it ``began``."""
        self.due: dict[int, float] = {}
        """When an agent's call is over at the latest, by the number of its trial; without a call there is none."""
        self.silent = 0

    def hear(self, line: bytes) -> None:
        """A line of its stdin."""
        if not line.strip():
            return
        said = loads(line)
        number = said["trial"]
        if "file" in said:
            self.trials[number] = {**said, "began": time.monotonic()}
        elif "over" in said:
            self.trials.pop(number, None)
            self.due.pop(number, None)
        elif said["seconds"] is None:
            self.due.pop(number, None)
        elif number in self.trials:
            self.due[number] = time.monotonic() + said["seconds"]

    def tick(self) -> bool:
        """A second without a sign of life: whether it was one too many."""
        self.silent += not _is_stopped(self.pid)
        late = time.monotonic() > max(self.due.values(), default=0.0)  # whoever it is may have time left
        return bool(self.trials) and self.silent >= PATIENCE and late

    def end(self) -> None:
        """Write the record of who did it, say so, end the process."""
        acting = list(self.due) or list(self.trials)
        if len(acting) == 1:
            trial = self.trials[acting[0]]
            _write(trial, trial["acting" if self.due else "idle"])
            _say(
                f"the agent held the interpreter of process {self.pid} beyond the limits of {trial['name']}; "
                "the process is ended, the trial's record says so. With -n another worker goes on, else --resume does"
            )
        else:
            names = ", ".join(self.trials[number]["name"] for number in acting)
            _say(
                f"an agent held the interpreter of process {self.pid} beyond the limits of its trial, and nobody knows "
                f"which of {names}; the process is ended, and none of them has a record. --resume goes on, and tells "
                "with --concurrency=1"
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
    with contextlib.suppress(OSError):  # without a record the trial counts as lost
        temporary.write_text(dumps(record, indent=1), encoding="utf-8")
        temporary.replace(file)


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
    if watch.trials:
        names = ", ".join(trial["name"] for trial in watch.trials.values())
        _say(
            f"process {pid} ended in the middle of {names}, and its exit status says nothing of the run; "
            "--resume goes on with what it leaves undone"
        )


if __name__ == "__main__":
    _main(int(sys.argv[1]))
