"""The `Backend` that runs replicas as containers."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from textwrap import shorten
from typing import TYPE_CHECKING, TypeVar

from pytest_webarena.errors import HarnessError, SiteBusy, SiteError, TaskError, TooLarge
from pytest_webarena.sites.backends.activity import Activity
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.backends.docker import containers, disk_space
from pytest_webarena.sites.backends.docker.access import EngineAccess
from pytest_webarena.sites.backends.docker.containers import Executed, Running
from pytest_webarena.sites.backends.docker.conversation import Conversations
from pytest_webarena.sites.backends.docker.copied_databases import moment_inside, program_missing, query_a_copy
from pytest_webarena.sites.backends.docker.databases import query_argv, rows_from
from pytest_webarena.sites.backends.docker.inside import program
from pytest_webarena.sites.backends.docker.labels import RUN
from pytest_webarena.sites.backends.docker.starting import GRACE, PROGRAM_SECONDS, Starter, margin, section
from pytest_webarena.sites.backends.docker.steps import output_text, run_steps
from pytest_webarena.sites.backends.docker.stock import Stock
from pytest_webarena.sites.catalogues.units import Unit
from pytest_webarena.sites.ledger.snapshot import DATABASE_PARTS, Moment

if TYPE_CHECKING:
    from pytest_webarena.sites.backends.base import BackendContext
    from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["DockerBackend"]

T = TypeVar("T")

_log = logging.getLogger(__name__)
_SLOW = 4 * 3600.0
"""Seconds for requests that move whole images."""


class DockerBackend:
    """One container per replica, on a network of the run that has no way out; a reset is another container.

    Apps of a unit (`BackendContext.units`) are one replica with a container for each, on a network of their own.

    Nothing is published: the gateway connects to the containers' own addresses, which only this machine reaches.
    ``WEBARENA_BASE_IMAGE`` says what images built here start from (`images.ensure_image`).
    """

    def __init__(self, context: BackendContext) -> None:
        self._access = EngineAccess(context)
        self._starter = Starter(self._access, context.needed)
        self._stock = Stock(self._access, self._starter, context)
        self._units = context.units
        self._paused: set[str] = set()
        """Ids of containers that we paused."""
        self._pythonless: set[str] = set()
        """Apps whose images have no Python, as far as is known."""
        self._talks = Conversations(program("query"), timeout=PROGRAM_SECONDS + GRACE)
        """With the programs inside that answer queries."""
        self._watches = Conversations(program("digest"), timeout=PROGRAM_SECONDS + GRACE)
        """With the programs inside that tell what their container's data are and what runs there."""
        self._activities: dict[str, Activity] = {}
        """By container."""

    # --- images

    async def prepare(self, app: AppManifest) -> None:
        """Find the app's image, load, pull or build it, and make its snapshot, unless that is there from another run.

        Likewise for all that start as one with it. The first time: remove what dead runs left behind.
        """
        await self._stock.prepare(self._unit(app))

    def keeps(self, app: AppManifest) -> bool:
        """Whether all that signing in leaves behind is in the container, and a reset does not take it away again."""
        return self._stock.keeps(self._unit(app))

    async def keep(self, app: AppManifest, replica: Replica) -> int:
        """Commit the container, stopped in good order, as what later ones start from; the image goes with the run."""
        running = _parts(replica)
        self._hang_up(*running.values())
        return await self._stock.keep(self._unit(app), running)

    def _unit(self, app: AppManifest) -> Unit:
        return self._units.get(app.name) or Unit((app,))

    # --- replicas

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """A new container that answers. `SiteError`, at once when it exits, with its last log lines."""
        return await self._begin(app, Replica(id=replica_id, app=app.name, host="", port=0))

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Pristine again by the manifest's own programs, if it has any and they do; else another container."""
        if not await self._restored(app, replica):
            old = _parts(replica)
            self._hang_up(*old.values())
            self._stock.discard(old)
            replica = await self._begin(app, replica)
        replica.generation += 1
        return replica

    async def _restored(self, app: AppManifest, replica: Replica) -> bool:
        """Whether the reset programs of all parts did it, as far as fingerprints tell."""
        unit = self._unit(app)
        if not all(section(part).reset for part in unit.apps):
            return False
        done = [await self._restored_part(part, replica.of(part.name)) for part in unit.apps]
        return all(done)

    async def _restored_part(self, app: AppManifest, replica: Replica) -> bool:
        docker, running = section(app), _running(replica)
        deadline = time.monotonic() + app.start_timeout - margin(app.start_timeout)
        try:
            await run_steps(docker.reset, app.fill, partial(self._access.execute, running))
            await self._starter.wait_until_ready(app, running, deadline - time.monotonic())
            present = await self.fingerprint(app, replica)
        except SiteError as error:
            _log.warning("%s could not be reset in place, so it is replaced: %s", replica.id, error)
            return False
        if present != replica.fingerprint:
            _log.warning("%s is not as before after its reset, so it is replaced", replica.id)
        return present == replica.fingerprint

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """What the manifest's own program prints; of images built here, the digest of the data directory."""
        docker = section(app)
        if (app.reuse != "clean" and not docker.reset) or app.read_only or not (docker.fingerprint or docker.build):
            return None
        if docker.fingerprint:
            done = await self._starter.execute(_running(replica), *map(app.fill, docker.fingerprint))
        else:
            # Only of these is the directory known to be all there is.
            # Programs of a reset put contents back, hardly ever times.
            how = "contents" if docker.reset else "exact"
            done = await self._watch(_running(replica), docker.data_dir, how)
        if done.code != 0:
            raise SiteError(f"can't take the fingerprint of {replica.id}: {output_text(done)}")
        return done.stdout.strip()

    async def at_work(self, app: AppManifest, replica: Replica) -> str:
        """Threads of images built here that came after their start; servers of other images have their own ways."""
        activity = self._activities.get(_running(replica).id)
        return await activity.busy() if activity is not None else ""

    async def listing(self, app: AppManifest, replica: Replica) -> tuple[str, ...]:
        """Lines that tell what the fingerprint is the digest of; none of images whose files are not known."""
        docker = section(app)
        if not docker.build:
            return ()
        done = await self._watch(_running(replica), docker.data_dir, "list")
        return tuple(map(json.loads, done.stdout.splitlines()))

    async def _watch(self, running: Running, directory: str, what: str) -> Executed:
        """What the program ``digest`` says."""
        client = self._access.client()
        said = await self._access.call(lambda: self._watches.ask(client, running, (directory, what)))
        return said or await self._starter.execute(running, *program("digest"), directory, what)

    async def _threads(self, running: Running) -> frozenset[int]:
        done = await self._watch(running, "", "threads")
        if done.code != 0:
            raise SiteError(f"can't tell what runs in {running.name}: {output_text(done)}")
        return frozenset(json.loads(done.stdout))

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL with the container's own client, or its Python for SQLite. `TaskError` for a bad statement."""
        wanted, client, running = app.database(database), self._access.client(), _running(replica)
        if wanted.engine != "sqlite":
            argv = query_argv(wanted, sql, write=write, seconds=PROGRAM_SECONDS)
            done = await self._starter.execute(running, *argv)
            if argv[0] == "mysql" and program_missing(done):  # as newer images of MariaDB
                done = await self._starter.execute(running, "mariadb", *argv[1:])
            return rows_from(wanted, done, sql, replica.id)
        file = PurePosixPath(section(app).data_dir, wanted.path)
        mode, limit = "rw" if write else "ro", f"{PROGRAM_SECONDS:g}"
        arguments = str(file), mode, limit, sql
        # What has failed half-way can be asked again, but not written again.
        asked = not write and app.name not in self._pythonless
        answer = await self._access.call(lambda: self._talks.ask(client, running, arguments)) if asked else None
        done = answer or await self._starter.execute(running, *program("query"), *arguments)
        if program_missing(done):
            done = await self._without_python(app, running, file, sql, write=write)
        if done.code not in (0, 2, 3):
            raise SiteError(f"can't query {file} of {replica.id}: exit code {done.code}: {done.stderr or done.stdout}")
        result = json.loads(done.stdout)
        if done.code == 2:
            fault = TooLarge if "it gave more than" in result["error"] else TaskError
            raise fault(f"the SQL statement failed: {result['error']}: {shorten(sql, 200, placeholder='…')}")
        if done.code == 3:
            kind = SiteBusy if "is locked" in result["error"] else SiteError
            raise kind(f"the database {file} of {replica.id} can't be used: {result['error']}")
        return Rows(columns=tuple(result["columns"]), rows=tuple(tuple(row) for row in result["rows"]))

    def looks_cheaply(self, app: AppManifest) -> bool:
        """Databases have to be copied out of a container that is frozen meanwhile."""
        return False

    async def moment(self, app: AppManifest, replica: Replica) -> Moment:
        """Its SQLite files; other files where all of them are known to be in the data directory."""
        client, running = self._access.client(), _running(replica)
        self._paused.add(running.id)  # for a moment
        try:
            found = await self._access.call(lambda: moment_inside(client, running.id, app, section(app).data_dir))
        finally:
            self._paused.discard(running.id)
        beside = {database.path + ending for database in app.databases.values() for ending in DATABASE_PARTS}
        lines = (line.rpartition("\t") for line in await self.listing(app, replica))
        files = {path: state for state, _, path in lines if path not in beside and not state.startswith("d")}
        return replace(found, files=files if section(app).build else None)

    async def _without_python(
        self, app: AppManifest, running: Running, file: PurePosixPath, sql: str, *, write: bool
    ) -> Executed:
        if write:
            raise SiteError(
                f"expected python3 in the image of {app.name}, found none: no set-up step can write into {file}"
            )
        self._pythonless.add(app.name)
        client = self._access.client()
        self._paused.add(running.id)  # for a moment
        try:
            return await self._access.call(lambda: query_a_copy(client, running.id, file, PROGRAM_SECONDS, sql))
        finally:
            self._paused.discard(running.id)

    async def execute(self, app: AppManifest, replica: Replica, arguments: Sequence[str]) -> str:
        """Run a program inside: empty when it ends with 0."""
        done = await self._starter.execute(_running(replica), *map(app.fill, arguments))
        return "" if done.code == 0 else f"{arguments[0]}: {output_text(done)}"

    async def crowded(self, app: AppManifest, replica: Replica) -> str:
        """Which disks of the container are full, as its ``df`` tells; empty where there is none."""
        done = await self._starter.execute(_running(replica), *disk_space.PROGRAM)
        fixed = [volume.target for volume in section(app).volumes if not volume.mutable]
        return disk_space.full_disks(done.stdout, read_only=fixed)

    async def logs(self, app: AppManifest, replica: Replica, lines: int) -> str:
        """The end of what the container wrote."""
        running = _running(replica)
        client = self._access.client()
        return await self._access.call(lambda: containers.log_of(client, running.id, lines))

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Empty while the container runs; otherwise exit code, whether memory ran out, and its last log lines."""
        running = _running(replica)
        return await self._access.end_of(running, paused=running.id in self._paused)

    async def pause(self, app: AppManifest, replica: Replica) -> None:
        """Freeze the container, and those that are one with it."""
        client = self._access.client()
        for running in reversed(_parts(replica).values()):
            self._paused.add(running.id)
            await self._access.call(partial(containers.set_paused, client, running.id, True))

    async def resume(self, app: AppManifest, replica: Replica) -> None:
        """Let the container go on, and those that are one with it."""
        client = self._access.client()
        for running in _parts(replica).values():
            if running.id in self._paused:  # else it was never reached, for another one refused
                await self._access.call(partial(containers.set_paused, client, running.id, False))
                self._paused.discard(running.id)

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Remove the container. Whatever it would still like to do: its data are thrown away."""
        running = _parts(replica)
        self._hang_up(*running.values())
        await self._stock.remove(running)
        self._paused.difference_update(each.id for each in running.values())

    async def close(self) -> None:
        """Remove all containers and the network of the run."""
        self._talks.close()
        self._watches.close()
        await self._access.close()

    def leftovers(self) -> Mapping[str, str]:
        """The label of everything this backend makes."""
        return {RUN: self._access.run}

    # --- containers

    async def _begin(self, app: AppManifest, replica: Replica) -> Replica:
        """Fill ``replica`` in with a new container of its app, and with those that are one with it."""
        unit = self._unit(app)
        running = await self._stock.run(unit, replica.id)
        try:
            # All of them before any is told: should one fail, the replica is still the one it was.
            prints = {part.name: await self._first_look(part, replica, running[part.name]) for part in unit.apps}
        except BaseException:
            self._hang_up(*running.values())
            self._stock.discard(running)
            raise
        replica.parts = {
            part.name: Replica(id=f"{replica.id}-{part.name}", app=part.name, host="", port=0) for part in unit.others
        }
        for part in unit.apps:
            image, each, container = self._stock[part.name], replica.of(part.name), running[part.name]
            each.host, each.port, each.handle = container.ip, section(part).port, container
            each.digest, each.fingerprint, each.edition = image.digest, prints[part.name], image.edition
        return replica

    async def _first_look(self, app: AppManifest, replica: Replica, running: Running) -> str | None:
        """The fingerprint of a container that nobody has visited."""
        fingerprint = await self.fingerprint(app, replace(replica, handle=running))
        if app.reuse == "clean" and section(app).build:
            self._activities[running.id] = Activity(partial(self._threads, running))
            await self._activities[running.id].note()
        return fingerprint

    def _hang_up(self, *parts: Running) -> None:
        """They are about to end, and whoever talks with them."""
        for running in parts:
            self._talks.hang_up(running.id)
            self._watches.hang_up(running.id)
            self._activities.pop(running.id, None)


def _parts(replica: Replica) -> dict[str, Running]:
    """App to container, in the order in which they started."""
    return {each.app: _running(each) for each in (*replica.parts.values(), replica)}


def _running(replica: Replica) -> Running:
    if not isinstance(replica.handle, Running):
        raise HarnessError(f"replica {replica.id} was not started by the Docker backend")
    return replica.handle
