"""How the broker gets a fork server: a process of its own, or a child of the common parent of several."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.nursery import ORDER_LIMIT
from pytest_webarena.sites.backends.processes import exit_text, log_tail
from pytest_webarena.sites.cleanup.private_directory import child_environment

__all__ = ["Child", "Nursery", "environment", "own_process", "shareable"]

_END = 3.0
"""Seconds a common parent gets to end its children and itself."""
_BEFORE_START = ("PYTHON", "LD_", "MALLOC_", "GLIBC_")
"""How variables begin that are read when a process starts, so that a child which is forked can't be given others."""


class Child(Protocol):
    """A fork server as a process."""

    @property
    def reader(self) -> asyncio.StreamReader:
        """What it writes to stdout."""

    def write(self, line: bytes) -> None:
        """To its stdin."""

    def close(self) -> None:
        """Its stdin."""

    def kill(self) -> None:
        """End it at once."""

    async def wait(self) -> int:
        """Its exit code."""


def environment(paths: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """What a process is started with that is to import modules from ``paths``, too."""
    found = child_environment()
    found["PYTHONPATH"] = os.pathsep.join([found["PYTHONPATH"], *paths])
    found.setdefault("PYTHONHASHSEED", "0")  # nothing an app shows may depend on the order of a set
    return {**found, **environ}


def shareable(environ: Mapping[str, str]) -> bool:
    """Whether a child that is forked can have these variables."""
    return sys.platform == "linux" and not any(name.startswith(_BEFORE_START) for name in environ)


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


async def own_process(environ: Mapping[str, str], log: Path) -> Child:
    """A fork server that shares nothing with others."""
    with log.open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "pytest_webarena.sites.backends.forkserver",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=stderr,
            start_new_session=True, env=environ,
        )  # fmt: skip
    return _Process(process)


class _Born:
    def __init__(
        self, nursery: Nursery, name: str, reader: asyncio.StreamReader, stdin: asyncio.WriteTransport
    ) -> None:
        self.reader = reader
        self._nursery, self._name, self._stdin = nursery, name, stdin
        self.exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def write(self, line: bytes) -> None:
        self._stdin.write(line)

    def close(self) -> None:
        self._stdin.close()

    def kill(self) -> None:
        self._nursery.kill(self._name)

    async def wait(self) -> int:
        code = await asyncio.shield(self.exit)
        self._stdin.close()
        return code


class Nursery:
    """The common parent of the fork servers whose apps name the same modules to preload, from the same folder."""

    def __init__(self, modules: Sequence[str], environ: Mapping[str, str], log: Path) -> None:
        self.ended = ""
        """How it ended; empty while it runs or has not begun."""
        self._modules, self._environ, self._log = modules, environ, log
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._orders: socket.socket | None = None
        self._reader: asyncio.Task[None] | None = None
        self._children: dict[str, _Born] = {}
        self._births = 0

    async def bear(self, name: str, environ: Mapping[str, str], log: Path) -> Child:
        """A fork server with ``environ`` added to its environment. `SiteError` where the parent has ended."""
        async with self._starting:
            if self._process is None:
                await self._start()
        self._births += 1
        name = f"{name}-{self._births}"
        reading, its_stdout = os.pipe()
        its_stdin, writing = os.pipe()
        try:
            loop = asyncio.get_running_loop()
            stdout = asyncio.StreamReader()
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdout), os.fdopen(reading, "rb", 0))
            stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(writing, "wb", 0))
            child = self._children[name] = _Born(self, name, stdout, stdin)
            with log.open("ab") as stderr:
                order = {"op": "bear", "name": name, "environ": dict(environ)}
                self._send(order, [its_stdin, its_stdout, stderr.fileno()])
        finally:
            os.close(its_stdin)
            os.close(its_stdout)
        return child

    def kill(self, name: str) -> None:
        """End a child. Fine for one that has ended, and where all have."""
        if name in self._children and not self.ended:
            with contextlib.suppress(SiteError):
                self._send({"op": "kill", "name": name}, [])

    async def close(self) -> None:
        """End it and all its children."""
        if self._process is None or self._orders is None:
            return
        self._orders.close()
        try:
            async with asyncio.timeout(_END):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()  # its children follow it
            await self._process.wait()
        if self._reader is not None:
            await self._reader

    async def _start(self) -> None:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its, self._log.open("ab") as stderr:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "pytest_webarena.sites.backends.nursery", *self._modules,
                stdin=its.fileno(), stdout=asyncio.subprocess.PIPE, stderr=stderr,
                start_new_session=True, env=self._environ,
            )  # fmt: skip
        self._orders = ours
        self._reader = asyncio.get_running_loop().create_task(self._read(self._process))

    def _send(self, order: Mapping[str, Any], files: Sequence[int]) -> None:
        text = json.dumps(order).encode()
        try:
            if self.ended or self._orders is None:
                raise BrokenPipeError
            if len(text) > ORDER_LIMIT:
                raise SiteError(f"the environment of a fork server has {len(text)} bytes; at most {ORDER_LIMIT} can go")
            socket.send_fds(self._orders, [text], list(files))
        except OSError:
            raise SiteError(f"the common parent of the fork servers ended{log_tail(self._log)}") from None

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            while text := await process.stdout.readline():
                event = json.loads(text)
                if event["event"] == "exit":
                    self._over(event["name"], event["code"])
        self.ended = exit_text(await process.wait())
        for name in list(self._children):
            self._over(name, -9)

    def _over(self, name: str, code: int) -> None:
        child = self._children.pop(name, None)
        if child is not None and not child.exit.done():
            child.exit.set_result(code)
