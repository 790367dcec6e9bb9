"""Starts Chromium with its protocol on a pipe. No port is opened, so it can only be reached through this process."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.browser.launching.discovery import make_temp_dir
from pytest_webarena.browser.launching.network_changes import steady_command
from pytest_webarena.errors import BrowserError

__all__ = ["ChromiumPipe"]

# Chromium reads commands from descriptor 3 and writes to 4. In a process with threads, no Python code may run between
# fork and exec. So a bare interpreter moves the descriptors and then replaces itself by the browser.
_PLACE = "import os,sys; os.dup2(int(sys.argv[1]),3); os.dup2(int(sys.argv[2]),4); os.execv(sys.argv[3],sys.argv[3:])"
_LARGEST = 512 * 1024 * 1024
"""Maximum size in bytes of one message of the browser; screenshots and snapshots are large."""


class ChromiumPipe:
    """One browser process and its root connection, on the running event loop."""

    def __init__(self, on_message: Callable[[dict[str, Any]], None], on_exit: Callable[[], None]) -> None:
        self._on_message = on_message
        self._on_exit = on_exit
        self._process: subprocess.Popen[bytes] | None = None
        self._profile = ""
        self._writing: _Writing | None = None
        self._writer: asyncio.WriteTransport | None = None
        self._reading: asyncio.Task[None] | None = None

    async def start(
        self, executable: str, arguments: Sequence[str], *, temp_dir: Path | None, env: Mapping[str, str]
    ) -> None:
        """Start ``executable``; `BrowserError` if that fails."""
        if temp_dir is not None:
            make_temp_dir(temp_dir)
        self._profile = tempfile.mkdtemp(prefix="driven-", dir=temp_dir)
        browser_in, own_out = map(_high, os.pipe())
        own_in, browser_out = map(_high, os.pipe())
        command = [executable, *arguments, f"--user-data-dir={self._profile}", "--remote-debugging-pipe"]
        command = steady_command(command)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PLACE, str(browser_in), str(browser_out), *command],
                pass_fds=(browser_in, browser_out),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **env},
            )
        except OSError as error:
            os.close(own_in)
            os.close(own_out)
            raise BrowserError(f"{executable} did not start: {error}") from error
        finally:
            os.close(browser_in)
            os.close(browser_out)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_LARGEST)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(own_in, "rb", 0))
        self._writer, self._writing = await loop.connect_write_pipe(_Writing, os.fdopen(own_out, "wb", 0))
        self._reading = asyncio.ensure_future(self._read(reader))

    async def send(self, message: Mapping[str, Any]) -> None:
        """Write one message; wait while the browser does not read. Messages after its end are dropped."""
        if self._writer is None or self._writing is None or self._writer.is_closing():
            return
        self._writer.write(json.dumps(message).encode() + b"\0")
        await self._writing.free.wait()

    async def close(self, seconds: float) -> None:
        """Close the browser, kill it after ``seconds``, and remove its profile."""
        if self._writer is not None:
            self._writer.close()  # the browser exits when its pipe ends
        process = self._process
        if process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while process.poll() is None:
                        await asyncio.sleep(0.01)  # a loop on another thread can't wait for child processes
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # it leads a session, so the group is its own
            process.wait()
        if self._reading is not None:
            self._reading.cancel()
        shutil.rmtree(self._profile, ignore_errors=True)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                data = await reader.readuntil(b"\0")
                self._on_message(json.loads(data[:-1]))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass
        finally:
            self._on_exit()


class _Writing(asyncio.BaseProtocol):
    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.free.set()

    def pause_writing(self) -> None:
        self.free.clear()

    def resume_writing(self) -> None:
        self.free.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.free.set()


def _high(descriptor: int) -> int:
    """Copy the descriptor to a number above those that are overwritten in the child."""
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return copy
