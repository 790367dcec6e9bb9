"""The broker's process: one per run and host, which owns replicas and gateways and cleans up after them.

`launcher` starts it when the first client connects (``python -P -m pytest_webarena.sites.broker.main FD``, where FD is
the listening socket). It reads one line of settings from stdin and ends when stdin does. Later lines on stdin ask
whether it still works. Clients use `protocol`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pytest_webarena.errors import HarnessError, TaskError, UsageError, WebArenaError
from pytest_webarena.sites.broker.service import LeaseService
from pytest_webarena.sites.broker.settings import BrokerSettings
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.cleanup import reaper
from pytest_webarena.sites.cleanup.private_directory import READY, REPORT, ReaperProcess, sweep
from pytest_webarena.sites.protocol import keys
from pytest_webarena.sites.protocol.messages import VERSION, LiveWishes, ReleaseReport, error_line, line
from pytest_webarena.sites.protocol.wire import decode, dumps

__all__ = ["main"]

_log = logging.getLogger(__name__)
_LINE_LIMIT = 64 * 1024 * 1024
_CLOSING = 9.0
"""Seconds for a graceful end; the reaper removes what is left then."""


class _Client:
    """One connection: reads requests, answers each when it is done, and releases its leases at the end."""

    def __init__(self, service: LeaseService, settings: BrokerSettings, key: str, writer: asyncio.StreamWriter) -> None:
        self._service = service
        self._settings = settings
        self._key = key
        self._writer = writer
        self._user = keys.peer_user(writer.get_extra_info("socket"))
        self._name = ""
        self._leases: set[str] = set()
        self._work: set[asyncio.Task[None]] = set()
        held = service.held
        self._operations: dict[str, Callable[..., Awaitable[Any]]] = {
            "answers": held.answers,
            "check": held.check,
            "ended": service.ended,
            "gateway": self._gateway,
            "headers": held.headers,
            "flip": held.flip,
            "hello": self._hello,
            "instance": held.instance_problem,
            "join": service.join,
            "keep": self._keep,
            "lease": self._lease,
            "logs": held.logs,
            "look": service.look,
            "own_answer": held.own_answer,
            "prepare": self._prepare,
            "mark": held.mark,
            "changes": held.changes,
            "query": held.query,
            "quiet": held.quiet,
            "refused": service.refused,
            "release": self._release,
            "reached": held.reached,
            "requests": held.requests,
            "status": self._status,
            "undisturbed": held.undisturbed,
            "unrecorded": held.unrecorded,
            "visited": held.visited,
            "writes": held.writes,
        }

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Serve requests until the client disconnects for any reason."""
        try:
            while text := await reader.readline():
                message = json.loads(text)
                task = asyncio.get_running_loop().create_task(self._answer(message))
                self._work.add(task)
                task.add_done_callback(self._work.discard)
        except (OSError, ValueError) as error:
            _log.warning("the connection of %s broke: %s", self._name or "a client", error)
        finally:
            for task in self._work:
                task.cancel()
            self._service.release_soon(self._leases)
            self._writer.close()

    def hang_up(self) -> None:
        """Close the connection."""
        self._writer.transport.abort()

    async def _answer(self, message: dict[str, Any]) -> None:
        number, operation = message.pop("id"), message.pop("op")
        try:
            if not self._name and operation != "hello":
                raise HarnessError(f"expected hello first, found {operation!r}")
            if operation not in self._operations:
                raise HarnessError(f"unknown operation {operation!r}; known: {', '.join(self._operations)}")
            if operation != "release":  # a repeated release is no error
                self._expect_own(message)
            answer = line({"id": number, "result": await self._operations[operation](**message)})
        except Exception as error:
            if not isinstance(error, WebArenaError):
                _log.exception("%s of %s failed", operation, self._name)
            answer = error_line(number, error)
        self._writer.write(answer)

    def _expect_own(self, message: dict[str, Any]) -> None:
        """Raise `TaskError` when a request is about a lease that was not made on this connection."""
        for each in (message.get("lease"), message.get("other")):
            if each is not None and each not in self._leases:
                raise TaskError(f"expected a lease of this connection, but {each} has been released, or is another's")

    async def _hello(self, version: int, name: str, key: str = "") -> dict[str, Any]:
        if version != VERSION:
            raise UsageError(f"the site broker speaks version {VERSION} of its protocol, this client {version}")
        if self._user is not None and self._user != os.geteuid():
            _log.warning("a process of the user %s was turned away", self._user)
            raise HarnessError(f"the site broker serves the user {os.geteuid()}, and not the user {self._user}")
        if not hmac.compare_digest(key.encode(), keys.client_key(self._key, name).encode()):
            _log.warning("refused a client named %r without the key", name)
            raise HarnessError(f"the site broker serves its run's own processes; {name!r} has not shown the key to it")
        self._name = name or "a client"
        return {"pid": os.getpid(), "log": str(self._settings.log)}

    async def _lease(
        self,
        sites: list[str],
        holder: str,
        timeout: float | None,
        ahead: Sequence[str] = (),
        reach: Sequence[str] = (),
        now: Sequence[str] = (),
        trusts: bool = True,
        live: Any = None,
        max_age: float | None = None,
    ) -> Any:
        return await self._service.lease(
            sites,
            holder=f"{self._name} ({holder})",
            timeout=timeout,
            register=self._leases.add,
            ahead=ahead,
            reach=reach,
            now=now,
            trusts=trusts,
            live=decode(LiveWishes, live) if live is not None else None,
            max_age=max_age,
        )

    async def _prepare(
        self, visits: dict[str, dict[str, int]], holder: str, timeout: float | None, trusts: bool = True
    ) -> Any:
        client_holder = f"{self._name} ({holder})"
        return await self._service.prepare(
            visits, holder=client_holder, timeout=timeout, register=self._leases.add, trusts=trusts
        )

    async def _keep(self, lease: str, made: Any, problems: Any) -> None:
        await self._service.keep(lease, made, problems)
        self._leases.discard(lease)

    async def _gateway(self) -> Any:
        return await self._service.gateway(register=self._leases.add)

    async def _release(self, lease: str) -> Any:
        if lease not in self._leases:
            return ReleaseReport(problem=f"{lease} is not held by this connection")
        self._leases.discard(lease)
        return await self._service.release(lease)

    async def _status(self) -> Any:
        return self._service.status(os.getpid())


async def _run(service: LeaseService, settings: BrokerSettings, key: str, listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    clients: dict[_Client, asyncio.Event] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Client(service, settings, key, writer)
        disconnected = clients[client] = asyncio.Event()
        try:
            await client.serve(reader)
        finally:
            disconnected.set()
            del clients[client]

    end = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, end.set)
    launcher = os.dup(1)
    os.set_blocking(launcher, False)
    await loop.connect_read_pipe(lambda: _Lifeline(end, launcher), sys.stdin)
    # From Python 3.13 on asyncio would remove the socket's file at the end; it is the launcher's, and a next broker
    # needs it.
    options: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
    server = await asyncio.start_unix_server(serve, sock=listener, limit=_LINE_LIMIT, **options)
    watcher = loop.create_task(service.watch())
    sweeping = loop.run_in_executor(None, sweep)
    os.write(1, READY)
    os.dup2(2, 1)  # from here on, prints go into the log
    await end.wait()
    signal.setitimer(signal.ITIMER_REAL, _CLOSING)
    server.close()
    watcher.cancel()
    for client in clients:
        client.hang_up()
    await asyncio.gather(watcher, *(disconnected.wait() for disconnected in clients.values()), return_exceptions=True)
    # Before anything is closed: a slow engine may use up the remaining time.
    unfinished = settings.directory.parent / f"{REPORT}.new"
    unfinished.write_text(dumps(service.report()))
    unfinished.replace(settings.directory.parent / REPORT)
    await service.close()
    await sweeping


class _Lifeline(asyncio.Protocol):
    """stdin: its end means that the launcher has ended; a line is answered with a line, which proves that the loop
    runs."""

    def __init__(self, end: asyncio.Event, launcher: int) -> None:
        self._end = end
        self._launcher = launcher

    def data_received(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self._launcher, b"\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end.set()


def _give_up(number: int, frame: object) -> None:
    _log.error("a graceful end took too long")
    os._exit(1)


def main() -> None:
    """Serve until stdin ends. Exits with 2 when the settings or the catalogue are invalid, with the reason on
    stdout."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    listener = socket.socket(fileno=int(sys.argv[1]))
    # Unbuffered, because what follows this line is for the event loop.
    text = b""
    while not text.endswith(b"\n"):
        if not (byte := os.read(0, 1)):
            return  # the launcher died or was stopped in the meantime
        text += byte
    data = json.loads(text)
    key = data.pop("key")
    settings = decode(BrokerSettings, data)
    os.environ.pop("PYTHONPATH", None)
    if settings.python_path is not None:
        os.environ["PYTHONPATH"] = settings.python_path
    try:
        catalogue = load_catalogue(settings.catalogue, site_urls=settings.site_urls)
    except WebArenaError as error:
        os.write(1, str(error).encode())
        sys.exit(2)
    guard = ReaperProcess(stderr=None)
    guard.add("dir", str(settings.directory))
    settings.directory.mkdir(exist_ok=True)
    try:
        service = LeaseService(catalogue, settings, guard, secrets.token_hex(8))
    except UsageError as error:  # an archive that can't be written
        os.write(1, str(error).encode())
        sys.exit(2)
    signal.signal(signal.SIGALRM, _give_up)
    _log.info("broker %s serves the catalogue %s", reaper.identity(), catalogue.path)
    try:
        asyncio.run(_run(service, settings, key, listener))
    finally:
        reaper.remove_tree(settings.directory, patience=1)
        with contextlib.suppress(OSError):
            guard.close()


if __name__ == "__main__":
    main()
