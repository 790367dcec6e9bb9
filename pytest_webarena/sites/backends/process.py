"""Runs apps as processes of this machine: forked WSGI apps, or any command. A reset is a new process."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from pytest_webarena.errors import SiteError, TaskError, UsageError
from pytest_webarena.sites.backends.base import BackendContext, Replica, Rows
from pytest_webarena.sites.backends.files import files_digest, state_digest, state_listing
from pytest_webarena.sites.backends.forking import ForkedReplica, ForkServer
from pytest_webarena.sites.backends.forkserver import ForkOrder, LoadOrder
from pytest_webarena.sites.backends.processes import CommandReplica, log_tail, start_command
from pytest_webarena.sites.backends.ready import wait_ready
from pytest_webarena.sites.backends.spawning import Child, CommonParents
from pytest_webarena.sites.backends.sqlite_queries import query_sqlite
from pytest_webarena.sites.catalogues.data_folders import data_problem
from pytest_webarena.sites.catalogues.manifest import AppManifest, PortReady, ProcessManifest
from pytest_webarena.sites.ledger.snapshot import Moment, flipped, moment_below

__all__ = ["ProcessBackend"]


class ProcessBackend:
    """The ``process`` backend (see `ProcessManifest`).

    Every replica has its own process and its own copy of the data, and a reset replaces both, so that memory, files and
    clock changes are all discarded.
    """

    def __init__(self, context: BackendContext) -> None:
        self._context = context
        self._servers: dict[str, ForkServer] = {}
        self._seeds: dict[str, str] = {}
        """Digest of the data by app name."""
        self._kept: dict[str, tuple[int, Path]] = {}
        """By app name: the edition, and the directory with the data, that replicas start with since `keep`."""
        self._common_parents = CommonParents(context.directory)
        self._retired: list[ForkServer] = []
        """Fork servers of earlier editions, whose replicas still run."""
        self._locks: dict[str, asyncio.Lock] = {}
        self._commands: set[CommandReplica] = set()
        self._work: set[asyncio.Task[None]] = set()

    async def prepare(self, app: AppManifest) -> None:
        """Load a WSGI app into a fork server, or check a command's data."""
        process = _process(app)
        self._folder(app).mkdir(parents=True, exist_ok=True)
        if process.data and (problem := await asyncio.to_thread(data_problem, process.data)):
            raise UsageError(f"the app {app.name!r} can't start with the data in {process.data}: found {problem}")
        if process.factory:
            await self._server(app)
        elif process.data:
            digest = await asyncio.to_thread(files_digest, Path(process.data))
            self._seeds[app.name] = digest or process.data

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """Fork the app, or run its command."""
        return await self._launch(app, replica_id, generation=0)

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Start another process on fresh data under the same id; the old one is killed at the same time."""
        self._background(self.stop(app, replica))
        return await self._launch(app, replica.id, generation=replica.generation + 1)

    def keeps(self, app: AppManifest) -> bool:
        """Returns whether logging in can leave traces; what is not in the app's data ends with the process."""
        return not app.read_only

    async def keep(self, app: AppManifest, replica: Replica) -> int:
        """Kill the replica and start later ones with its data."""
        running = _running(replica)
        await running.stop()
        if problem := await asyncio.to_thread(data_problem, running.data_dir):
            raise SiteError(f"the data of {replica.id} can't be kept: found {problem}")
        async with self._locks.setdefault(app.name, asyncio.Lock()):
            edition = self._kept.get(app.name, (0, Path()))[0] + 1
            data = self._folder(app) / f"kept-{edition}"
            await asyncio.to_thread(shutil.copytree, running.data_dir, data, symlinks=True)
            if (server := self._servers.pop(app.name, None)) is not None:
                self._retired.append(server)
            self._kept[app.name] = edition, data
        return edition

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """Returns the digest of the replica's files."""
        return await asyncio.to_thread(state_digest, _running(replica).data_dir)

    async def extra_processes(self, app: AppManifest, replica: Replica) -> str:
        """Returns the threads and processes that were not there at its start."""
        return await _running(replica).activity.busy()

    async def listing(self, app: AppManifest, replica: Replica) -> tuple[str, ...]:
        """Returns the entries behind the fingerprint."""
        return await asyncio.to_thread(state_listing, _running(replica).data_dir)

    def reads_cheaply(self, app: AppManifest) -> bool:
        """Returns True, because the files are on this machine."""
        return True

    async def moment(self, app: AppManifest, replica: Replica) -> Moment:
        """Returns its SQLite files and its other files."""
        return await asyncio.to_thread(moment_below, _running(replica).data_dir, app)

    async def flip(self, app: AppManifest, replica: Replica, path: str) -> None:
        """Invert the last bit of a file in the replica's data folder."""
        folder = _running(replica).data_dir
        file = folder / path
        if not file.resolve().is_relative_to(folder.resolve()) or not file.is_file():
            raise TaskError(f"expected a file {path} of {replica.id}, found none")
        file.write_bytes(flipped(file.read_bytes(), path))

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL in one of the replica's SQLite files."""
        path = _running(replica).data_dir / app.database(database).path
        return await asyncio.to_thread(query_sqlite, path, sql, write=write)

    async def logs(self, app: AppManifest, replica: Replica, lines: int) -> str:
        """Returns the end of its process' log; for a forked one, preceded by the fork server's log."""
        files = sorted(self._folder(app).glob("*.log"), key=lambda path: (path.stem != "forkserver", path.name))
        shown = [path for path in files if path.stem in ("forkserver", f"{replica.id}.{replica.generation}")]
        texts = [await asyncio.to_thread(path.read_text, errors="replace") for path in shown]
        return "\n".join("\n".join(texts).splitlines()[-lines:])

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Returns how its process ended; empty while it runs."""
        return await _running(replica).died()

    async def signalled(self, app: AppManifest, replica: Replica) -> bool:
        """Returns whether a signal ended its process, or stopped one of its processes."""
        return await _running(replica).signalled()

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Kill the replica and remove its data."""
        running = _running(replica)
        await running.stop()
        if isinstance(running, CommandReplica):
            self._commands.discard(running)
        await asyncio.to_thread(shutil.rmtree, running.data_dir, ignore_errors=True)

    async def close(self) -> None:
        """End all fork servers and commands."""
        ends = [server.close() for server in (*self._servers.values(), *self._retired)]
        ends += [command.stop() for command in self._commands]
        results = await asyncio.gather(*ends, *self._work, return_exceptions=True)
        results += await asyncio.gather(self._common_parents.close(), return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    def leftovers(self) -> dict[str, str]:
        """Returns nothing: the reaper finds processes by their mark and files in our directory anyway."""
        return {}

    async def _launch(self, app: AppManifest, replica_id: str, *, generation: int) -> Replica:
        process = _process(app)
        name = f"{replica_id}.{generation}"
        folder = self._folder(app)
        data_dir, log = folder / name, folder / f"{name}.log"
        running: ForkedReplica | CommandReplica
        edition, kept = self._kept.get(app.name, (0, None))
        if process.factory:
            server = await self._server(app)
            order = ForkOrder(id=name, data_dir=str(data_dir), log=str(log), fingerprint=app.reuse == "clean")
            running = await server.fork(order)
            if any(not isinstance(strategy, PortReady) for strategy in app.ready):
                await self._until_ready(app, running)
            if app.reuse == "clean":
                await running.activity.note()
        else:
            environ = {**process.env, **self._context.environ}
            running = await start_command(
                app, process.command, environ, data=str(kept or process.data), data_dir=data_dir, log=log
            )
            self._commands.add(running)
            if app.reuse == "clean":
                await running.activity.note()
                running.fingerprint = await asyncio.to_thread(state_digest, data_dir)
        digest = hashlib.sha256(f"{app.digest} {self._seeds.get(app.name, '')}".encode()).hexdigest()[:16]
        return Replica(
            id=replica_id,
            app=app.name,
            host="127.0.0.1",
            port=running.port,
            generation=generation,
            digest=digest,
            fingerprint=running.fingerprint,
            edition=edition,
            ports=running.ports if isinstance(running, CommandReplica) else {},
            handle=running,
        )

    async def _until_ready(self, app: AppManifest, running: ForkedReplica) -> None:
        try:
            await wait_ready(
                app.ready, "127.0.0.1", running.port,
                server_name=app.sites[0].host, timeout=app.start_timeout, died=running.died,
            )  # fmt: skip
        except BaseException as error:
            alive = not await running.died()
            await running.stop()
            if isinstance(error, SiteError) and alive:
                raise SiteError(f"{error}{log_tail(running.log)}") from error
            raise

    async def _server(self, app: AppManifest) -> ForkServer:
        """Returns the app's fork server, and starts it if it does not run."""
        async with self._locks.setdefault(app.name, asyncio.Lock()):
            server = self._servers.get(app.name)
            if server is None or server.ended:
                process = _process(app)
                folder = self._folder(app)
                log = folder / "forkserver.log"
                server = ForkServer(app.name, start=partial(self._process_for, app, process, log), log=log)
                seed = await server.load(
                    LoadOrder(
                        app=app.name,
                        needs=process.needs,
                        install=process.install,
                        factory=process.factory,
                        seed=process.seed,
                        data=process.data,
                        on_fork=process.on_fork,
                        warm=process.warm,
                        host=app.sites[0].host,
                        threads=process.threads,
                        spares=not app.read_only,
                        seed_dir=str(self._kept.get(app.name, (0, folder / "seed"))[1]),
                    )
                )
                self._seeds.setdefault(app.name, seed)
                self._servers[app.name] = server
            return server

    async def _process_for(self, app: AppManifest, process: ProcessManifest, log: Path) -> Child:
        environ = {**process.env, **self._context.environ}
        return await self._common_parents.child(app.name, process, environ, (str(app.folder),), log)

    def _folder(self, app: AppManifest) -> Path:
        return self._context.directory / app.name

    def _background(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)


def _process(app: AppManifest) -> ProcessManifest:
    if app.process is None:
        raise UsageError(f"the app {app.name!r} has no `process` section to run it with")
    return app.process


def _running(replica: Replica) -> ForkedReplica | CommandReplica:
    if not isinstance(replica.handle, ForkedReplica | CommandReplica):
        raise SiteError(f"replica {replica.id} is not run by the process backend")
    return replica.handle
