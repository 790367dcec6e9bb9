"""Starts fork servers for the broker: each in a process of its own, or as a child of a common parent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.common_parent import ORDER_LIMIT
from pytest_webarena.sites.backends.processes import exit_text, log_tail
from pytest_webarena.sites.catalogues.manifest import ProcessManifest
from pytest_webarena.sites.cleanup.private_directory import child_environment

__all__ = ["CommonParents"]

_log = logging.getLogger(__name__)

_END = 3.0
"""Seconds that a common parent gets to end its children and itself."""
_KILL_SECONDS = 30.0
"""Seconds that a common parent gets to kill a child. It only forks and kills; if it can't do that, it is useless."""


class Child(Protocol):
    """A fork server as a process."""

    @property
    def reader(self) -> asyncio.StreamReader:
        """Stream of its stdout."""

    def write(self, line: bytes) -> None:
        """Write to its stdin."""

    def close(self) -> None:
        """Close its stdin."""

    def kill(self) -> None:
        """Kill it."""

    async def wait(self) -> int:
        """Returns its exit code."""


class _Process:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.reader = process.stdout
        self._stdin, self._process = process.stdin, process

    def write(self, line: bytes) -> None:
        self._stdin.write(line)

    def close(self) -> None:
        self._stdin.close()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def wait(self) -> int:
        return await self._process.wait()


async def _own_process(environ: Mapping[str, str], log: Path) -> Child:
    """Start a fork server that shares nothing with others."""
    with log.open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "pytest_webarena.sites.backends.forkserver",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=stderr,
            start_new_session=True, env=environ,
        )  # fmt: skip
    return _Process(process)


class _SpawnedChild:
    def __init__(
        self, parent: CommonParent, name: str, reader: asyncio.StreamReader, stdin: asyncio.WriteTransport
    ) -> None:
        self.reader = reader
        self._common_parent, self._name, self._stdin = parent, name, stdin
        self.exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def write(self, line: bytes) -> None:
        self._stdin.write(line)

    def close(self) -> None:
        self._stdin.close()

    def kill(self) -> None:
        self._common_parent.kill(self._name)

    async def wait(self) -> int:
        code = await asyncio.shield(self.exit)
        self._stdin.close()
        return code


class CommonParents:
    """The fork servers' processes: children of a common parent if their apps agree in everything that a parent fixes.

    These are the preloaded modules, their search paths, and the environment: a child keeps what its parent read at
    start.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._parents: dict[tuple[Any, ...], CommonParent] = {}
        self._started = 0
        self._ending: set[asyncio.Task[None]] = set()

    async def child(
        self, name: str, process: ProcessManifest, environ: Mapping[str, str], paths: tuple[str, ...], log: Path
    ) -> Child:
        """Start the fork server's process for the app called ``name``; ``environ`` is the app's own environment."""
        own = _environment(paths, environ)
        if not process.preload or sys.platform != "linux":
            return await _own_process(own, log)
        after_preload = {
            variable: value for variable, value in environ.items() if variable in process.env_after_preload
        }
        before_preload = {variable: value for variable, value in environ.items() if variable not in after_preload}
        parent = self._common_parent(process.preload, paths, before_preload)
        if obstacle := await parent.obstacle():
            _log.warning("%s starts in a separate process without preloading: %s", name, obstacle)
            return await _own_process(own, log)
        return await parent.spawn(name, after_preload, log)

    async def close(self) -> None:
        """End all common parents and their children."""
        ends = [parent.close() for parent in self._parents.values()]
        for result in await asyncio.gather(*ends, *self._ending, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    def _common_parent(
        self, modules: tuple[str, ...], paths: tuple[str, ...], environ: Mapping[str, str]
    ) -> CommonParent:
        terms = modules, paths, tuple(sorted(environ.items()))
        parent = self._parents.get(terms)
        if parent is None or parent.ended:
            if parent is not None:
                task = asyncio.get_running_loop().create_task(parent.close())
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
            self._started += 1
            log = self._directory / f"forkservers-{self._started}.log"
            parent = self._parents[terms] = CommonParent(modules, _environment(paths, environ), log)
        return parent


class CommonParent:
    """The common parent of fork servers, as a process."""

    def __init__(self, modules: Sequence[str], environ: Mapping[str, str], log: Path) -> None:
        self.ended = ""
        """How it ended; empty while it runs, has not started, or has reported what `obstacle`."""
        self._modules, self._environ, self._log = modules, environ, log
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._orders: socket.socket | None = None
        self._reader: asyncio.Task[None] | None = None
        self._loaded: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        """What prevents forking, or an empty text; None: it ended before it could report."""
        self._waiting = 0
        self._children: dict[str, _SpawnedChild] = {}
        self._spawned = 0

    async def obstacle(self) -> str:
        """Wait until it has loaded its modules, and return what prevents forking from it; empty if nothing does.

        Raises `SiteError` if it has ended. It is killed when nobody waits for it any more, because it takes too long.
        """
        async with self._starting:
            if self._process is None:
                await self._start()
        self._waiting += 1
        try:
            obstacle = await asyncio.shield(self._loaded)
        finally:
            self._waiting -= 1
            if not self._waiting and not self._loaded.done():
                self._kill()
        if obstacle is None:
            raise self._parent_ended()
        return obstacle

    async def spawn(self, name: str, environ: Mapping[str, str], log: Path) -> Child:
        """Spawn a fork server with ``environ`` added to its environment. Raises `SiteError` if the parent has ended."""
        self._spawned += 1
        name = f"{name}-{self._spawned}"
        loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as failing, contextlib.ExitStack() as its_own:
            reading, its_stdout = _pipe(failing, its_own, reads=False)
            writing, its_stdin = _pipe(failing, its_own, reads=True)
            stderr = its_own.enter_context(log.open("ab"))
            stdout = asyncio.StreamReader()
            reader, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdout), reading)
            failing.callback(reader.close)
            stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, writing)
            failing.callback(stdin.close)
            self._send(
                {"op": "spawn", "name": name, "environ": dict(environ)}, [its_stdin, its_stdout, stderr.fileno()]
            )
            child = self._children[name] = _SpawnedChild(self, name, stdout, stdin)
            failing.pop_all()
        return child

    def kill(self, name: str) -> None:
        """Kill a child. Does nothing for one that has ended."""
        if name in self._children and not self.ended:
            with contextlib.suppress(SiteError):
                self._send({"op": "kill", "name": name}, [])
                asyncio.get_running_loop().call_later(_KILL_SECONDS, self._kill_if_running, name)

    async def close(self) -> None:
        """End it and all its children."""
        if self._process is None or self._orders is None:
            return
        self._orders.close()
        try:
            async with asyncio.timeout(_END):
                await self._process.wait()
        except TimeoutError:
            self._kill()
            await self._process.wait()
        if self._reader is not None:
            await self._reader

    async def _start(self) -> None:
        own_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with child_end, self._log.open("ab") as stderr:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, "-P", "-m", "pytest_webarena.sites.backends.common_parent", *self._modules,
                    stdin=child_end.fileno(), stdout=asyncio.subprocess.PIPE, stderr=stderr,
                    start_new_session=True, env=self._environ,
                )  # fmt: skip
        except BaseException:
            own_end.close()
            raise
        self._orders = own_end
        self._reader = asyncio.get_running_loop().create_task(self._read(self._process))

    def _kill_if_running(self, name: str) -> None:
        if name in self._children:
            self._kill()

    def _kill(self) -> None:
        """Kill it; its children end with it."""
        if self._process is not None and self._process.returncode is None:
            self.ended = self.ended or exit_text(-signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    def _send(self, order: Mapping[str, Any], files: Sequence[int]) -> None:
        text = json.dumps(order).encode()
        try:
            if self.ended or self._orders is None:
                raise BrokenPipeError
            if len(text) > ORDER_LIMIT:
                raise SiteError(f"the environment of a fork server has {len(text)} bytes; at most {ORDER_LIMIT} can go")
            socket.send_fds(self._orders, [text], list(files))
        except OSError:
            raise self._parent_ended() from None

    def _parent_ended(self) -> SiteError:
        return SiteError(f"the common parent of the fork servers ended{log_tail(self._log)}")

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            while text := await process.stdout.readline():
                event = json.loads(text)
                if event["event"] == "loaded":
                    self._loaded.set_result(event["obstacle"])
                else:
                    self._over(event["name"], event["code"])
        code = await process.wait()
        if not self._loaded.done():
            self._loaded.set_result(None)
        if not self._loaded.result():  # one that reported an obstacle has ended as expected
            self.ended = exit_text(code)
        for name in list(self._children):
            self._over(name, -9)

    def _over(self, name: str, code: int) -> None:
        child = self._children.pop(name, None)
        if child is not None and not child.exit.done():
            child.exit.set_result(code)


def _environment(paths: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of a process that also imports modules from ``paths``."""
    found = child_environment()
    found["PYTHONPATH"] = os.pathsep.join([found["PYTHONPATH"], *paths])
    found.setdefault("PYTHONHASHSEED", "0")  # an app's output must not depend on the order of sets
    return {**found, **environ}


def _pipe(failing: contextlib.ExitStack, its_own: contextlib.ExitStack, *, reads: bool) -> tuple[IO[bytes], int]:
    """Returns our end of a pipe, closed by ``failing``, and the child's end, closed by ``its_own``. The child ``reads``
    from it, or writes."""
    reading, writing = os.pipe()
    own_end, child_end = (writing, reading) if reads else (reading, writing)
    its_own.callback(os.close, child_end)
    return failing.enter_context(os.fdopen(own_end, "wb" if reads else "rb", 0)), child_end
