"""The broker's handle on a fork server: loads an app, forks replicas, and notices when they end."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from pytest_webarena.errors import SiteError, SiteUnready
from pytest_webarena.sites.backends.activity import Activity, stopped, threads_of
from pytest_webarena.sites.backends.forkserver import ForkOrder, LoadOrder
from pytest_webarena.sites.backends.processes import exit_text, is_signal, log_tail
from pytest_webarena.sites.backends.spawning import Child

__all__ = ["ForkServer", "ForkedReplica"]

_END = 3.0
"""Seconds that a fork server gets to end its replicas and itself."""


class ForkedReplica:
    """A running child of a fork server."""

    def __init__(self, server: ForkServer, name: str, data_dir: Path, log: Path, event: Mapping[str, Any]) -> None:
        self.port: int = event["port"]
        self.fingerprint: str | None = event["fingerprint"]
        self.activity = Activity(partial(threads_of, event["pid"]))
        self.data_dir = data_dir
        self.log = log
        self._server, self._name, self._pid = server, name, int(event["pid"])

    async def died(self) -> str:
        """Returns how it ended; empty while it runs."""
        if self._server.ended:
            return f"its fork server ended with {self._server.ended}{log_tail(self._server.log)}"
        code = self._server.exit_code(self._name)
        return "" if code is None else f"it ended with {exit_text(code)}{log_tail(self.log)}"

    async def signalled(self) -> bool:
        """Returns whether a signal ended it, or stopped one of its processes."""
        return is_signal(self._server.exit_code(self._name)) or await stopped(self._pid)

    async def stop(self) -> None:
        """Kill it and wait for its end."""
        await self._server.kill(self._name)


class ForkServer:
    """One fork server process. Call `load` first, and again after it `ended`."""

    def __init__(self, name: str, *, start: Callable[[], Awaitable[Child]], log: Path) -> None:
        self.ended = ""
        """How the process ended; empty while it runs."""
        self.log = log
        self._name, self._start = name, start
        self._process: Child | None = None
        self._reader: asyncio.Task[None] | None = None
        self._loaded: asyncio.Future[Mapping[str, Any]] | None = None
        self._starting: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._exits: dict[str, asyncio.Future[int]] = {}

    async def load(self, order: LoadOrder) -> str:
        """Start the process and load an app in it. Returns the digest of the app's seed; raises `SiteError` on
        failure."""
        self._process = await self._start()
        self.ended = ""
        self._loaded = asyncio.get_running_loop().create_future()
        self._reader = asyncio.get_running_loop().create_task(self._read(self._process))
        self._send("load", asdict(order))
        try:
            return str((await self._loaded)["seed"])
        except BaseException:
            await self.close()
            raise

    async def fork(self, order: ForkOrder) -> ForkedReplica:
        """Fork a replica and wait until it listens. Raises `SiteError` when it can't start; a cancelled fork is
        killed."""
        loop = asyncio.get_running_loop()
        started = self._starting[order.id] = loop.create_future()
        self._exits[order.id] = loop.create_future()
        log = Path(order.log)
        try:
            self._send("fork", asdict(order))
            event = await started
        except SiteError as error:
            await self.kill(order.id)
            raise SiteError(f"{error}{log_tail(log)}") from error
        except asyncio.CancelledError:
            self._send("kill", {"id": order.id})
            raise
        finally:
            self._starting.pop(order.id, None)
        return ForkedReplica(self, order.id, Path(order.data_dir), log, event)

    def exit_code(self, name: str) -> int | None:
        """Returns the exit code of a replica that has ended; None while it runs."""
        end = self._exits.get(name)
        return end.result() if end is not None and end.done() else None

    async def kill(self, name: str) -> None:
        """Kill a replica. Does nothing for one that has ended."""
        end = self._exits.get(name)
        if end is not None and not end.done() and not self.ended:
            self._send("kill", {"id": name})
            await end

    async def close(self) -> None:
        """End the process and all its replicas."""
        process = self._process
        if process is None:
            return
        process.close()
        try:
            async with asyncio.timeout(_END):
                await process.wait()
        except TimeoutError:
            process.kill()  # its replicas end with it
            await process.wait()
        if self._reader is not None:
            await self._reader

    def _send(self, operation: str, fields: Mapping[str, Any]) -> None:
        if self._process is None or self.ended:
            raise SiteError(f"the fork server of {self._name} is not running: {self.ended or 'not started'}")
        self._process.write(json.dumps({"op": operation, **fields}).encode() + b"\n")

    async def _read(self, process: Child) -> None:
        with contextlib.suppress(OSError):
            while text := await process.reader.readline():
                self._note(json.loads(text))
        self.ended = exit_text(await process.wait())
        problem = f"its fork server ended with {self.ended}{log_tail(self.log)}"
        for waiting in [self._loaded, *self._starting.values()]:
            if waiting is not None and not waiting.done():
                waiting.set_exception(SiteError(problem))
        for end in self._exits.values():
            if not end.done():
                end.set_result(-9)

    def _note(self, event: Mapping[str, Any]) -> None:
        kind, name = event["event"], event.get("id", "")
        starting = self._starting.get(name) if name else self._loaded
        if kind == "exit":
            if not self._exits[name].done():
                self._exits[name].set_result(event["code"])
            event = {"error": f"it ended with {exit_text(event['code'])} before it listened"}
            kind = "failed"
        if starting is None or starting.done():
            return
        if kind == "failed":
            if event.get("clear"):
                starting.set_exception(SiteUnready(event["error"]))
            else:
                starting.set_exception(SiteError(f"{event['error']}{'' if name else log_tail(self.log)}"))
        else:
            starting.set_result(event)
