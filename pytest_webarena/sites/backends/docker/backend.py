"""The `Backend` that runs replicas as containers."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
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
from pytest_webarena.sites.backends.docker.copied_databases import (
    flip_inside,
    moment_inside,
    program_missing,
    query_a_copy,
)
from pytest_webarena.sites.backends.docker.databases import query_argv, rows_from
from pytest_webarena.sites.backends.docker.inside import program
from pytest_webarena.sites.backends.docker.labels import RUN
from pytest_webarena.sites.backends.docker.starting import GRACE, PROGRAM_SECONDS, Starter, margin, section
from pytest_webarena.sites.backends.docker.steps import output_text, run_steps
from pytest_webarena.sites.backends.docker.unit_images import UnitImages
from pytest_webarena.sites.catalogues.units import Unit
from pytest_webarena.sites.ledger.server_content import server_content
from pytest_webarena.sites.ledger.snapshot import DATABASE_PARTS, Moment

if TYPE_CHECKING:
    from pytest_webarena.evidence import JsonValue
    from pytest_webarena.sites.backends.base import BackendContext
    from pytest_webarena.sites.catalogues.manifest import AppManifest, DatabaseManifest

__all__ = ["DockerBackend"]

T = TypeVar("T")

_log = logging.getLogger(__name__)
_SLOW = 4 * 3600.0
"""Time limit in seconds of requests that move whole images."""


class DockerBackend:
    """One container per replica, on the run's network without access to the outside; a reset is a new container.

    Apps of a unit (`BackendContext.units`) are one replica with a container for each, on a network of their own.

    No port is published: the gateway connects to the containers' own addresses, which only this machine reaches.
    ``WEBARENA_BASE_IMAGE`` is the base of images that are built here (`images.ensure_image`).
    """

    def __init__(self, context: BackendContext) -> None:
        self._access = EngineAccess(context)
        self._starter = Starter(self._access, context.needed)
        self._unit_images = UnitImages(self._access, self._starter, context)
        self._units = context.units
        self._paused: set[str] = set()
        """Ids of containers that this backend has paused."""
        self._without_interpreter: set[str] = set()
        """Apps whose images are known to have no Python."""
        self._talks = Conversations(program("query"), timeout=PROGRAM_SECONDS + GRACE)
        """Connections to the programs inside containers that answer queries."""
        self._watches = Conversations(program("digest"), timeout=PROGRAM_SECONDS + GRACE)
        """Connections to the programs inside containers that report data digests and threads."""
        self._activities: dict[str, Activity] = {}
        """Activity by container id."""

    # --- images

    async def prepare(self, app: AppManifest) -> None:
        """Find, load, pull or build the app's image, and make its snapshot unless another run has made it.

        The same is done for all apps of its unit. The first call removes what dead runs left behind.
        """
        await self._unit_images.prepare(self._unit(app))

    def keeps(self, app: AppManifest) -> bool:
        """Returns whether the container has everything that logging in leaves behind, and a reset does not remove
        it."""
        return self._unit_images.keeps(self._unit(app))

    async def keep(self, app: AppManifest, replica: Replica) -> int:
        """Stop the container cleanly and commit it as the image of later ones; the image is removed with the run."""
        running = _parts(replica)
        self._hang_up(*running.values())
        return await self._unit_images.keep(self._unit(app), running)

    def _unit(self, app: AppManifest) -> Unit:
        return self._units.get(app.name) or Unit((app,))

    # --- replicas

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """Start a new container and wait until it answers. Raises `SiteError` with the last log lines, at once when it
        exits."""
        return await self._begin(app, Replica(id=replica_id, app=app.name, host="", port=0))

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Make the replica pristine: by the manifest's reset programs, if there are any and they succeed, else by a new
        container."""
        if not await self._restored(app, replica):
            old = _parts(replica)
            self._hang_up(*old.values())
            self._unit_images.discard(old)
            replica = await self._begin(app, replica)
        replica.generation += 1
        return replica

    async def _restored(self, app: AppManifest, replica: Replica) -> bool:
        """Returns whether the reset programs of all parts succeeded, as far as fingerprints show."""
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
        """Returns the output of the manifest's own program; for images built here, the digest of the data directory."""
        docker = section(app)
        if (app.reuse != "clean" and not docker.reset) or app.read_only or not (docker.fingerprint or docker.build):
            return None
        if docker.fingerprint:
            done = await self._starter.execute(_running(replica), *map(app.fill, docker.fingerprint))
        else:
            # Only for images built here is the directory known to have all data. Reset programs restore contents, but
            # hardly ever times.
            mode = "contents" if docker.reset else "exact"
            done = await self._watch(_running(replica), docker.data_dir, mode)
        if done.code != 0:
            raise SiteError(f"can't take the fingerprint of {replica.id}: {output_text(done)}")
        return done.stdout.strip()

    async def extra_processes(self, app: AppManifest, replica: Replica) -> str:
        """Returns the threads of an image built here that started later; servers of other images create threads in
        other ways."""
        activity = self._activities.get(_running(replica).id)
        return await activity.busy() if activity is not None else ""

    async def listing(self, app: AppManifest, replica: Replica) -> tuple[str, ...]:
        """Returns the lines behind the fingerprint's digest; empty for images whose data files are unknown."""
        docker = section(app)
        if not docker.build:
            return ()
        done = await self._watch(_running(replica), docker.data_dir, "list")
        return tuple(map(json.loads, done.stdout.splitlines()))

    async def _watch(self, running: Running, directory: str, what: str) -> Executed:
        """Returns the output of the program ``digest``."""
        client = self._access.client()
        output = await self._access.call(lambda: self._watches.ask(client, running, (directory, what)))
        return output or await self._starter.execute(running, *program("digest"), directory, what)

    async def _threads(self, running: Running) -> frozenset[int]:
        done = await self._watch(running, "", "threads")
        if done.code != 0:
            raise SiteError(f"can't tell what runs in {running.name}: {output_text(done)}")
        return frozenset(json.loads(done.stdout))

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL with the container's own client, or its Python for SQLite. Raises `TaskError` for a bad statement."""
        wanted, client, running = app.database(database), self._access.client(), _running(replica)
        if wanted.engine != "sqlite":
            return rows_from(wanted, await self._ask_server(wanted, running, sql, write=write), sql, replica.id)
        file = PurePosixPath(section(app).data_dir, wanted.path)
        mode, limit = "rw" if write else "ro", f"{PROGRAM_SECONDS:g}"
        arguments = str(file), mode, limit, sql
        # A read that failed half-way can be repeated, a write can't.
        uses_python = not write and app.name not in self._without_interpreter
        answer = await self._access.call(lambda: self._talks.ask(client, running, arguments)) if uses_python else None
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

    async def _ask_server(
        self, database: DatabaseManifest, running: Running, sql: str, *, write: bool = False
    ) -> Executed:
        argv = query_argv(database, sql, write=write, seconds=PROGRAM_SECONDS)
        done = await self._starter.execute(running, *argv)
        if argv[0] == "mysql" and program_missing(done):  # newer images of MariaDB have no mysql
            done = await self._starter.execute(running, "mariadb", *argv[1:])
        return done

    def reads_cheaply(self, app: AppManifest) -> bool:
        """Returns False: databases must be copied out of the container, whose files are frozen meanwhile."""
        return False

    async def moment(self, app: AppManifest, replica: Replica) -> Moment:
        """Returns the databases, and other files if all of them are known to be in the data directory."""
        client, running = self._access.client(), _running(replica)
        self._paused.add(running.id)  # until the copy is complete
        try:
            found = await self._access.call(lambda: moment_inside(client, running.id, app, section(app).data_dir))
        finally:
            self._paused.discard(running.id)
        database_files = {database.path + ending for database in app.databases.values() for ending in DATABASE_PARTS}
        lines = (line.rpartition("\t") for line in await self.listing(app, replica))
        files: Mapping[str, str] | None = {
            path: state for state, _, path in lines if path not in database_files and not state.startswith("d")
        }
        databases, unknown = dict(found.databases), [found.unknown] if found.unknown else []
        for name, database in app.databases.items():
            if database.engine == "sqlite":
                continue

            async def ask(sql: str, database: DatabaseManifest = database) -> Sequence[Sequence[JsonValue]]:
                return rows_from(
                    database, await self._ask_server(database, running, sql), sql, replica.id, most=inf
                ).rows

            try:
                databases[name] = await server_content(database, ask)
            except (SiteError, TaskError) as error:
                unknown.append(str(error))
        files = files if section(app).build else None
        return Moment(databases=databases, files=files, unknown="; ".join(unknown))

    async def flip(self, app: AppManifest, replica: Replica, path: str) -> None:
        """Invert the last bit of a file in the data directory."""
        client, running = self._access.client(), _running(replica)
        await self._access.call(lambda: flip_inside(client, running.id, section(app).data_dir, path))

    async def _without_python(
        self, app: AppManifest, running: Running, file: PurePosixPath, sql: str, *, write: bool
    ) -> Executed:
        if write:
            raise SiteError(
                f"expected python3 in the image of {app.name}, found none: no set-up step can write into {file}"
            )
        self._without_interpreter.add(app.name)
        client = self._access.client()
        self._paused.add(running.id)  # until the copy is complete
        try:
            return await self._access.call(lambda: query_a_copy(client, running.id, file, PROGRAM_SECONDS, sql))
        finally:
            self._paused.discard(running.id)

    async def execute(self, app: AppManifest, replica: Replica, arguments: Sequence[str]) -> str:
        """Run a program inside the container; returns an empty text when its exit code is 0."""
        done = await self._starter.execute(_running(replica), *map(app.fill, arguments))
        return "" if done.code == 0 else f"{arguments[0]}: {output_text(done)}"

    async def full_disks(self, app: AppManifest, replica: Replica) -> str:
        """Returns which disks of the container are full or became read-only; empty if none, or it is unknown."""
        running = _running(replica)
        disks = disk_space.disks_of_process(running.process, running.id)
        if disks is None:
            done = await self._starter.execute(running, *disk_space.PROGRAM)
            disks = disk_space.disks_of_program(done.stdout)
        # A volume without a source is the container's own, and written to.
        fixed = [volume.target for volume in section(app).volumes if volume.source and not volume.mutable]
        return disk_space.full_disks(disks, read_only=fixed)

    async def logs(self, app: AppManifest, replica: Replica, lines: int) -> str:
        """Returns the end of the container's log."""
        running = _running(replica)
        client = self._access.client()
        return await self._access.call(lambda: containers.log_of(client, running.id, lines))

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Returns why the container does not run: exit code, out of memory, last log lines; empty while it runs."""
        running = _running(replica)
        return await self._access.end_of(running, paused=running.id in self._paused)

    async def signalled(self, app: AppManifest, replica: Replica) -> bool:
        """Returns whether a signal ended the container, or another program paused or removed it."""
        client, running = self._access.client(), _running(replica)
        paused = running.id in self._paused
        return await self._access.call(lambda: containers.signalled(client, running.id, paused=paused))

    async def pause(self, app: AppManifest, replica: Replica) -> None:
        """Pause the container, and those of its unit."""
        client = self._access.client()
        for running in reversed(_parts(replica).values()):
            self._paused.add(running.id)
            await self._access.call(partial(containers.set_paused, client, running.id, True))

    async def resume(self, app: AppManifest, replica: Replica) -> None:
        """Unpause the container, and those of its unit."""
        client = self._access.client()
        for running in _parts(replica).values():
            if running.id in self._paused:  # else pausing another one failed before
                await self._access.call(partial(containers.set_paused, client, running.id, False))
                self._paused.discard(running.id)

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Remove the container at once, because its data are discarded anyway."""
        running = _parts(replica)
        self._hang_up(*running.values())
        await self._unit_images.remove(running)
        self._paused.difference_update(each.id for each in running.values())

    async def close(self) -> None:
        """Remove all containers and the network of the run."""
        self._talks.close()
        self._watches.close()
        await self._access.close()

    def leftovers(self) -> Mapping[str, str]:
        """Returns the label of everything this backend creates."""
        return {RUN: self._access.run}

    # --- containers

    async def _begin(self, app: AppManifest, replica: Replica) -> Replica:
        """Fill ``replica`` in with a new container of its app, and those of its unit."""
        unit = self._unit(app)
        try:
            running = await self._unit_images.run(unit, replica.id)
        except SiteError:
            await self._access.wait_for_engine()  # else all attempts would fail within a second of its restart
            raise
        try:
            # All of them before the replica is changed, so that it stays as it was if one fails.
            prints = {part.name: await self._first_look(part, replica, running[part.name]) for part in unit.apps}
        except BaseException:
            self._hang_up(*running.values())
            self._unit_images.discard(running)
            raise
        replica.parts = {
            part.name: Replica(id=f"{replica.id}-{part.name}", app=part.name, host="", port=0) for part in unit.others
        }
        for part in unit.apps:
            image, each, container = self._unit_images[part.name], replica.of(part.name), running[part.name]
            each.host, each.port, each.handle = container.ip, section(part).port, container
            each.digest, each.fingerprint, each.edition = image.digest, prints[part.name], image.edition
        return replica

    async def _first_look(self, app: AppManifest, replica: Replica, running: Running) -> str | None:
        """Returns the fingerprint of a container that nobody has visited."""
        fingerprint = await self.fingerprint(app, replace(replica, handle=running))
        if app.reuse == "clean" and section(app).build:
            self._activities[running.id] = Activity(partial(self._threads, running))
            await self._activities[running.id].note()
        return fingerprint

    def _hang_up(self, *parts: Running) -> None:
        """Close the connections to containers that are about to end."""
        for running in parts:
            self._talks.hang_up(running.id)
            self._watches.hang_up(running.id)
            self._activities.pop(running.id, None)


def _parts(replica: Replica) -> dict[str, Running]:
    """Returns containers by app, in the order in which they started."""
    return {each.app: _running(each) for each in (*replica.parts.values(), replica)}


def _running(replica: Replica) -> Running:
    if not isinstance(replica.handle, Running):
        raise HarnessError(f"replica {replica.id} was not started by the Docker backend")
    return replica.handle
