"""A process spoken to in lines: started apart from the project, its output bounded, ended with all it started."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pytest_webarena.agents import supervisor
from pytest_webarena.agents.hints import hint
from pytest_webarena.agents.sandbox import ARGUMENTS, BUBBLEWRAP, Destination, boxed
from pytest_webarena.agents.supervisor import end_tree
from pytest_webarena.agents.wire import clip
from pytest_webarena.browser.launching.discovery import make_temp_dir
from pytest_webarena.errors import AgentError, BrowserError, UsageError
from pytest_webarena.secrets import scrub
from pytest_webarena.sites.cleanup.private_directory import abandon_after_fork

if TYPE_CHECKING:
    from pytest_webarena.agents.process import ProcessKeys

__all__ = ["ENVIRONMENT", "LinePipe", "ProcessEnded"]

ENVIRONMENT = ("LANG", "LC_ALL", "LC_CTYPE", "PATH", "SYSTEMROOT", "TZ")
"""Variables of this process that every agent process sees; others only if its definition names them."""

_SUPERVISED = (sys.executable, "-I", "-S", supervisor.__file__)
_LAST_WORDS = 5
_GRACE = 1.0
"""Seconds for a process that was told that it is over; and for what comes at once unless the machine is busy."""
_OBITUARY = 5.0
"""Seconds from the end of a process's output to its own, while whatever it left behind is ended."""
_PATIENCE = 15.0
"""Seconds for a supervisor, which kills after one of them."""
_SIGNALLED = 128
"""Added by a shell, and by ``bwrap``, to the number of the signal that ended a command."""
_KEPT_AT_END = 64 * 1024


class ProcessEnded(Exception):
    """The process ended, flooded its output or broke the protocol; the text says which, with its last words."""


class LinePipe:
    """A process spoken to in lines, with everything about it bounded. Thread-safe where it says so."""

    def __init__(
        self,
        keys: ProcessKeys,
        base: Path,
        folder: Path | None,
        temp_dir: Path | None = None,
        *,
        reach: Sequence[Destination] = (),
        hidden: Sequence[Path] = (),
    ) -> None:
        """``reach`` is where it may connect to from our sandbox beside what ``keys`` say; ``hidden``: see `boxed`."""
        self._keys = keys
        self._directory = _make_directory(temp_dir)
        self._box: Path | None = None
        self._lines: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
        self._ending = threading.Lock()
        self._letting_go = threading.Lock()
        self._lifeline = -1
        self._closed = False
        self._stderr = _Stderr(folder / "agent-stderr.txt" if folder else None, keys.max_stderr)
        try:
            keys.check(base)
            _copy(keys.own_files, base, Path(self._directory))
            command = [*(part.replace("{directory}", self._directory) for part in keys.wrapper), *keys.command]
            environment, relay, handed = _environment(keys.env, self._directory), "", []
            if keys.sandbox == BUBBLEWRAP:
                box = boxed(
                    command,
                    Path(self._directory),
                    search=environment["PATH"],
                    places=[*reach, *keys.places],
                    readable=[os.path.expanduser(name) for name in keys.readable],
                    hidden=hidden,
                )
                self._box = box.folder
                handed.append(_in_memory("\0".join([*box.arguments, ""]).encode()))
                command = [str(handed[0]) if part == ARGUMENTS else part for part in box.command]
                environment, relay = {**environment, **box.environment}, box.relay
            lifeline, self._lifeline = os.pipe()
            abandon_after_fork(self)
            try:
                self._process = subprocess.Popen(
                    [*_SUPERVISED, str(lifeline), relay, *command],
                    cwd=self._directory,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=[lifeline, *handed],
                    start_new_session=True,
                )
            except OSError:
                self.abandon()
                raise
            finally:
                for descriptor in (lifeline, *handed):
                    os.close(descriptor)
        except (OSError, UsageError) as error:
            self._remove()
            raise ProcessEnded(f"the process could not be started: {error}") from None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._stderr.read, args=(self._process.stderr,), daemon=True),
        ]
        for reader in reversed(self._readers):  # the first one waits for the second when all is over
            reader.start()

    def send(self, line: bytes) -> None:
        """Write one message; `ProcessEnded` when nobody is there to read it."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._obituary() from None

    def ask(self, line: bytes) -> bytes:
        """Write one message and wait for the next line; `ProcessEnded` when there is none to come."""
        if not self._lines.empty():
            early = self.receive()
            raise ProcessEnded(f"the process wrote more than one message for one of ours: {clip(early)}")
        self.send(line)
        return self.receive()

    def receive(self) -> bytes:
        """The next line."""
        reply = self._lines.get()
        if isinstance(reply, Exception):
            self._lines.put(reply)  # whoever asks again is told again
            raise reply
        return reply

    def close(self, goodbye: bytes = b"") -> None:
        """End the process and its group; the second time nothing. From any thread."""
        with self._ending:
            if self._closed:
                return
            self._closed = True
            if goodbye and self._process.poll() is None:
                self._say_goodbye(goodbye)
            self._end()
            self._lines.put(ProcessEnded("the process was ended"))
            for reader, pipe in zip(self._readers, (self._process.stdout, self._process.stderr), strict=True):
                reader.join(_GRACE)
                if pipe is not None and not reader.is_alive():  # else somebody outside the group holds its other end
                    pipe.close()
            if self._process.stdin is not None:
                with contextlib.suppress(OSError):  # what was not read by anyone is still in its buffer
                    self._process.stdin.close()
            self._stderr.close()
            self._remove()

    def abandon(self) -> None:
        """Let go of it without waiting; its supervisor ends it. Also for a forked child, which must not keep it."""
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            with contextlib.suppress(OSError):
                os.close(lifeline)

    def _end(self) -> None:
        """Have the process and all it started ended."""
        with self._letting_go:
            self.abandon()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # whoever runs as the same user can stop it
            end_tree(self._process.pid)
            self._process.wait()

    def _remove(self) -> None:
        for directory in (self._directory, self._box):
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)

    def _say_goodbye(self, goodbye: bytes) -> None:
        """In a thread: a process that doesn't read must not keep us."""
        assert self._process.stdin is not None
        pipe = self._process.stdin

        def say() -> None:
            with contextlib.suppress(OSError, ValueError):
                pipe.write(goodbye)
                pipe.close()

        speaker = threading.Thread(target=say, daemon=True)
        speaker.start()
        speaker.join(_GRACE)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)

    def _read(self, stdout: IO[bytes]) -> None:
        """Hand on line after line until the end, or until it is too much."""
        total = 0
        while True:
            try:
                line = stdout.readline(self._keys.max_line + 1)
            except (OSError, ValueError):
                line = b""
            total += len(line)
            if not line:
                self._lines.put(self._obituary())
                return
            if len(line) > self._keys.max_line or total > self._keys.max_output:
                what, limit = (
                    ("one line", self._keys.max_line)
                    if len(line) > self._keys.max_line
                    else ("all", self._keys.max_output)
                )
                self._lines.put(ProcessEnded(f"the process wrote more than {limit} bytes in {what} to stdout"))
                self._end()
                return
            if line.strip():
                self._lines.put(line)

    def _obituary(self) -> ProcessEnded:
        """Why nothing more is to be had from it."""
        try:
            code = self._process.wait(_OBITUARY)
        except subprocess.TimeoutExpired:
            return ProcessEnded("the process closed its stdout or stdin and went on" + self._stderr.last_words())
        self._readers[1].join(_GRACE)
        if self._keys.sandbox == BUBBLEWRAP and code > _SIGNALLED:
            code = _SIGNALLED - code
        how = f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}"
        return ProcessEnded(f"the process ended with {how}{self._stderr.last_words()}")


class _Stderr:
    """Keeps the beginning of what a process says on the side in a file, and its end for messages."""

    def __init__(self, path: Path | None, limit: int) -> None:
        self._path = path
        self._left = limit
        self._file: IO[bytes] | None = None
        self._tail = b""
        self._lock = threading.Lock()
        self._closed = False

    def read(self, stderr: IO[bytes]) -> None:
        rest = b""
        while True:
            try:
                data = os.read(stderr.fileno(), 65536)
            except (OSError, ValueError):
                data = b""
            if not data:
                self._keep(rest)
                return
            # Whole lines, so that a secret is never split over two reads; but not for ever.
            lines, feed, rest = (rest + data).rpartition(b"\n")
            if len(rest) > _KEPT_AT_END:
                lines, feed, rest = lines + feed + rest, b"", b""
            self._keep(lines + feed)

    def last_words(self) -> str:
        said = self._tail.decode("utf-8", "replace").strip()
        lines = said.splitlines()[-_LAST_WORDS:]
        told = "; last on stderr:\n" + "\n".join(f"    {line[:500]}" for line in lines) if lines else ""
        return told + hint(said)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._file is not None:
                self._file.close()

    def _keep(self, data: bytes) -> None:
        data = scrub(data.decode("utf-8", "replace")).encode()
        with self._lock:
            self._tail = (self._tail + data)[-_KEPT_AT_END:]
            if not data or self._closed or self._path is None or self._left <= 0:
                return
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("wb", buffering=0)
            self._file.write(data[: self._left])
            self._left -= len(data)
            if self._left < 0:
                self._file.write(b"\n... the rest was dropped: more than max_stderr allows\n")


def _make_directory(parent: Path | None) -> str:
    """The process's working directory, among the run's temporary files: it goes with the run, however that ends."""
    if parent is not None:
        try:
            make_temp_dir(parent)
        except BrowserError as error:
            raise AgentError(str(error)) from error
    return tempfile.mkdtemp(prefix="agent-", dir=parent)


def _environment(names: Sequence[str], directory: str) -> dict[str, str]:
    """What the process may see of ours. Programs of the project itself (a virtual environment) are off its PATH."""
    passed = {name: os.environ[name] for name in (*ENVIRONMENT, *names) if name in os.environ}
    if "PATH" not in names:
        here = Path.cwd().resolve()
        places = passed.get("PATH", os.defpath).split(os.pathsep)
        passed["PATH"] = os.pathsep.join(
            place for place in places if place and not Path(place).resolve().is_relative_to(here)
        )
    return {**passed, "HOME": directory, "TMPDIR": directory}


def _in_memory(data: bytes) -> int:
    """A descriptor from which this can be read."""
    descriptor = os.memfd_create("arguments")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _copy(names: Sequence[str], base: Path, directory: Path) -> None:
    for name in names:
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (base / name).is_dir():
            shutil.copytree(base / name, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(base / name, target)  # with its mode: it may be a program


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
