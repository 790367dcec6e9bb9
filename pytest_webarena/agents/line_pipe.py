"""A process that exchanges lines: it runs in a directory of its own, has limited output, and ends with all its
children."""

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
from pytest_webarena.agents.sandbox import ARGUMENTS, BUBBLEWRAP, Destination, sandboxed
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
"""Environment variables that every agent process gets; others only if its definition names them."""

_SUPERVISED = (sys.executable, "-I", "-S", supervisor.__file__)
_STDERR_TAIL = 5
_GRACE = 1.0
"""Seconds that a process gets to end after the end message, and for steps that are immediate on an idle machine."""
_EXIT_DELAY = 5.0
"""Seconds between the end of a process's output and its own end, while its children are being ended."""
_PATIENCE = 15.0
"""Seconds to wait for a supervisor, which kills its processes after one second."""
_SIGNALLED = 128
"""Shells and ``bwrap`` add this to the number of the signal that ended a command."""
_KEPT_AT_END = 64 * 1024


class ProcessEnded(Exception):
    """The process ended, exceeded its output limit or violated the protocol; the text says which, with its last
    output."""


class LinePipe:
    """A process that exchanges lines, with limits on time and output. `close` may be called from any thread."""

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
        """Start the process.

        ``reach`` are destinations that it may connect to from the built-in sandbox in addition to those of ``keys``;
        for ``hidden`` see `sandboxed`.
        """
        self._keys = keys
        self._directory = _make_directory(temp_dir)
        self._box: Path | None = None
        self._lines: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
        self._ending = threading.Lock()
        self._detaching = threading.Lock()
        self._lifeline = -1
        self._closed = False
        self._stderr = _Stderr(folder / "agent-stderr.txt" if folder else None, keys.max_stderr)
        try:
            keys.check(base)
            _copy(keys.own_files, base, Path(self._directory))
            command = [*(part.replace("{directory}", self._directory) for part in keys.wrapper), *keys.command]
            environment, relay, handed = _environment(keys.env, self._directory), "", []
            if keys.sandbox == BUBBLEWRAP:
                box = sandboxed(
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
        for reader in reversed(self._readers):  # the first thread waits for the second at the end
            reader.start()

    def send(self, line: bytes) -> None:
        """Write one message; `ProcessEnded` when the process cannot receive it."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._end_reason() from None

    def ask(self, line: bytes) -> bytes:
        """Write one message and wait for the next line; `ProcessEnded` when none will come."""
        if not self._lines.empty():
            reply = self.receive()
            raise ProcessEnded(f"the process wrote more than one message for one of ours: {clip(reply)}")
        self.send(line)
        return self.receive()

    def receive(self) -> bytes:
        """The next line. `ProcessEnded` when the output has ended."""
        reply = self._lines.get()
        if isinstance(reply, Exception):
            self._lines.put(reply)  # for later calls
            raise reply
        return reply

    def close(self, goodbye: bytes = b"") -> None:
        """End the process and its children. May be called from any thread; calling it again does nothing."""
        with self._ending:
            if self._closed:
                return
            self._closed = True
            if goodbye and self._process.poll() is None:
                self._send_end_message(goodbye)
            self._end()
            self._lines.put(ProcessEnded("the process was ended"))
            for reader, pipe in zip(self._readers, (self._process.stdout, self._process.stderr), strict=True):
                reader.join(_GRACE)
                if pipe is not None and not reader.is_alive():  # else a process outside the group has it open
                    pipe.close()
            if self._process.stdin is not None:
                with contextlib.suppress(OSError):  # unread data is still in the buffer
                    self._process.stdin.close()
            self._stderr.close()
            self._remove()

    def abandon(self) -> None:
        """Release the process without waiting; its supervisor ends it. Also used by a forked child, which must not keep
        it alive."""
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            with contextlib.suppress(OSError):
                os.close(lifeline)

    def _end(self) -> None:
        """End the process and everything it started."""
        with self._detaching:
            self.abandon()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # a program of the same user may have stopped the supervisor
            end_tree(self._process.pid)
            self._process.wait()

    def _remove(self) -> None:
        for directory in (self._directory, self._box):
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)

    def _send_end_message(self, goodbye: bytes) -> None:
        """Send the end message in a thread, because a process that does not read would block."""
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
        """Queue line after line until the end of output or until a limit is exceeded."""
        total = 0
        while True:
            try:
                line = stdout.readline(self._keys.max_line + 1)
            except (OSError, ValueError):
                line = b""
            total += len(line)
            if not line:
                self._lines.put(self._end_reason())
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

    def _end_reason(self) -> ProcessEnded:
        """The exception that says why no more output will come."""
        try:
            code = self._process.wait(_EXIT_DELAY)
        except subprocess.TimeoutExpired:
            return ProcessEnded("the process closed its stdout or stdin and kept running" + self._stderr.tail())
        self._readers[1].join(_GRACE)
        if self._keys.sandbox == BUBBLEWRAP and code > _SIGNALLED:
            code = _SIGNALLED - code
        exit_text = f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}"
        return ProcessEnded(f"the process ended with {exit_text}{self._stderr.tail()}")


class _Stderr:
    """Stores the beginning of a process's stderr in a file, and keeps its end for messages."""

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
            # Whole lines up to a limit, so that a secret is not split over two reads.
            lines, feed, rest = (rest + data).rpartition(b"\n")
            if len(rest) > _KEPT_AT_END:
                lines, feed, rest = lines + feed + rest, b"", b""
            self._keep(lines + feed)

    def tail(self) -> str:
        text = self._tail.decode("utf-8", "replace").strip()
        lines = text.splitlines()[-_STDERR_TAIL:]
        message = "; last on stderr:\n" + "\n".join(f"    {line[:500]}" for line in lines) if lines else ""
        return message + hint(text)

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
    """A working directory for the process, below the run's temporary directory, so that it is removed with the run."""
    if parent is not None:
        try:
            make_temp_dir(parent)
        except BrowserError as error:
            raise AgentError(str(error)) from error
    return tempfile.mkdtemp(prefix="agent-", dir=parent)


def _environment(names: Sequence[str], directory: str) -> dict[str, str]:
    """The process's environment. Programs of the project itself (a virtual environment) are removed from its PATH."""
    passed = {name: os.environ[name] for name in (*ENVIRONMENT, *names) if name in os.environ}
    if "PATH" not in names:
        project = Path.cwd().resolve()
        places = passed.get("PATH", os.defpath).split(os.pathsep)
        passed["PATH"] = os.pathsep.join(
            place for place in places if place and not Path(place).resolve().is_relative_to(project)
        )
    return {**passed, "HOME": directory, "TMPDIR": directory}


def _in_memory(data: bytes) -> int:
    """A descriptor from which ``data`` can be read."""
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
            shutil.copy(base / name, target)  # with its mode, because it may be executable


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
