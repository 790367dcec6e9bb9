"""The `Backend` that runs replicas as containers."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from textwrap import shorten
from typing import TYPE_CHECKING, TypeVar

from pytest_webarena.errors import HarnessError, SiteBusy, SiteError, TaskError, TooLarge
from pytest_webarena.sites.backends.activity import Activity
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.backends.docker import containers, snapshots, volumes
from pytest_webarena.sites.backends.docker.access import EngineAccess
from pytest_webarena.sites.backends.docker.containers import Executed, Running
from pytest_webarena.sites.backends.docker.conversation import Conversations
from pytest_webarena.sites.backends.docker.databases import query_argv, rows_from
from pytest_webarena.sites.backends.docker.engine import connect
from pytest_webarena.sites.backends.docker.inside import program
from pytest_webarena.sites.backends.docker.labels import RUN
from pytest_webarena.sites.backends.docker.obtain import find_image, obtain_image
from pytest_webarena.sites.backends.docker.starting import GRACE, PROGRAM_SECONDS, Image, Starter, margin, section
from pytest_webarena.sites.backends.docker.steps import run_steps, what_it_said

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.base import BackendContext
    from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["DockerBackend"]

T = TypeVar("T")

_log = logging.getLogger(__name__)
_SLOW = 4 * 3600.0
"""Seconds for requests that move whole images."""


class DockerBackend:
    """One container per replica, on a network of the run that has no way out; a reset is another container.

    Nothing is published: the gateway connects to the containers' own addresses, which only this machine reaches.
    ``WEBARENA_BASE_IMAGE`` says what images built here start from (`images.ensure_image`).
    """

    def __init__(self, context: BackendContext) -> None:
        self._access = EngineAccess(context)
        self._starter = Starter(self._access, context.needed)
        self._context = context
        self._tell = context.note
        self._building = asyncio.Lock()
        self._built: dict[str, str] = {}
        """Recipe to reference of the image it made."""
        self._images: dict[str, Image] = {}
        """By app name."""
        self._paused: set[str] = set()
        """Ids of containers that we paused."""
        self._talks = Conversations(program("query"), timeout=PROGRAM_SECONDS + GRACE)
        """With the programs inside that answer queries."""
        self._watches = Conversations(program("digest"), timeout=PROGRAM_SECONDS + GRACE)
        """With the programs inside that tell what their container's data are and what runs there."""
        self._activities: dict[str, Activity] = {}
        """By container."""

    # --- images

    async def prepare(self, app: AppManifest) -> None:
        """Find the app's image, load, pull or build it, and make its snapshot, unless that is there from another run.

        The first time: remove what dead runs left behind.
        """
        docker = section(app)
        client = await self._access.connect()
        try:
            if docker.build:
                reference = await self._build(client, app, docker.build)
                source = await self._access.call(lambda: find_image(client, reference)) or reference
            else:
                reference = docker.image
                # First what costs nothing to look for: nobody wants to pull for hours what then lacks its data.
                await self._access.call(lambda: volumes.require_volumes(client, docker))
                sites = f"--sites={self._context.catalogue} {app.sites[0].name}" if app.sites else ""
                note = partial(self._note, app)
                source = await self._slowly(
                    lambda slow: obtain_image(slow, docker, note, pulls=self._context.pulls, sites=sites)
                )
            image = Image(reference=reference, digest=source)
            if docker.post_start:
                image = replace(image, digest=f"{source}+{snapshots.config_hash(app)}")
            if docker.snapshot:
                made = await self._snapshot(app, image, source)
                image = replace(image, reference=made, snapshot=True)
            self._images[app.name] = image
        finally:
            self._tell(app.name, "")

    async def _build(self, client: DockerClient, app: AppManifest, recipe: str) -> str:
        from pytest_webarena.sites.container_images import ensure_image

        async with self._building:  # apps share images
            if recipe not in self._built:
                note = partial(self._note, app)
                self._built[recipe] = await self._access.call(lambda: ensure_image(client, recipe, note=note))
        return self._built[recipe]

    async def _snapshot(self, app: AppManifest, image: Image, source: str) -> str:
        """Id of the image that replicas start from: configured once, and stopped in good order."""
        client, reference = self._access.client(), snapshots.reference_of(app, source)
        if (found := await self._access.call(lambda: find_image(client, reference))) is not None:
            return found
        for path in await self._access.call(lambda: snapshots.declared_volumes(client, source)):
            _log.warning(
                "%s: its image declares %s as a volume, so what is there is not in the snapshot", app.name, path
            )
        self._note(app, f"configuring {app.name} once, for a snapshot")
        running = await self._starter.container(
            app, image, f"{app.name}-snapshot", time.monotonic() + app.start_timeout
        )
        try:
            self._note(app, f"committing the snapshot of {app.name}")
            made = await self._slowly(lambda slow: snapshots.commit(slow, running.id, app, source))
        finally:
            self._remove_soon(running)
        await self._access.call(lambda: snapshots.forget_older(client, app.name))
        return made

    def keeps(self, app: AppManifest) -> bool:
        """Whether all that signing in leaves behind is in the container, and a reset does not take it away again."""
        docker = section(app)
        own = any(volume.mutable for volume in docker.volumes)
        return docker.snapshot and not docker.reset and not app.read_only and not own

    async def keep(self, app: AppManifest, replica: Replica) -> int:
        """Commit the container, stopped in good order, as what later ones start from; the image goes with the run."""
        running, before = _running(replica), self._images[app.name]
        self._hang_up(running)
        edition = before.edition + 1
        self._note(app, f"committing {app.name} with its users signed in")
        try:
            made = await self._slowly(
                lambda slow: snapshots.commit_for_run(slow, running.id, app, self._access.labels, edition)
            )
        finally:
            self._tell(app.name, "")
        self._images[app.name] = replace(before, reference=made, edition=edition)
        return edition

    async def _slowly(self, work: Callable[[DockerClient], T]) -> T:
        """The result of ``work``, which gets a client that waits for as long as moving an image may take."""

        def carry_out() -> T:
            with closing(connect(_SLOW)) as client:
                return work(client)

        return await self._access.call(carry_out)

    def _note(self, app: AppManifest, text: str) -> None:
        _log.info("%s: %s", app.name, text)
        self._tell(app.name, text)

    # --- replicas

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """A new container that answers. `SiteError`, at once when it exits, with its last log lines."""
        return await self._begin(app, Replica(id=replica_id, app=app.name, host="", port=0))

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Pristine again by the manifest's own programs, if it has any and they do; else another container."""
        old = _running(replica)
        if not await self._restored(app, replica):
            self._remove_soon(old)
            replica = await self._begin(app, replica)
        replica.generation += 1
        return replica

    async def _restored(self, app: AppManifest, replica: Replica) -> bool:
        """Whether the manifest's reset programs did it, as far as a fingerprint tells."""
        docker, running = section(app), _running(replica)
        if not docker.reset:
            return False
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
            raise SiteError(f"can't take the fingerprint of {replica.id}: {what_it_said(done)}")
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
            raise SiteError(f"can't tell what runs in {running.name}: {what_it_said(done)}")
        return frozenset(json.loads(done.stdout))

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL with the container's own client, or its Python for SQLite. `TaskError` for a bad statement."""
        wanted, client, running = app.database(database), self._access.client(), _running(replica)
        if wanted.engine != "sqlite":
            done = await self._starter.execute(running, *query_argv(wanted, sql, write=write, seconds=PROGRAM_SECONDS))
            return rows_from(wanted, done, sql, replica.id)
        file = PurePosixPath(section(app).data_dir, wanted.path)
        mode, limit = "rw" if write else "ro", f"{PROGRAM_SECONDS:g}"
        arguments = str(file), mode, limit, sql
        # What has failed half-way can be asked again, but not written again.
        answer = None if write else await self._access.call(lambda: self._talks.ask(client, running, arguments))
        done = answer or await self._starter.execute(running, *program("query"), *arguments)
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
        """Freeze the container."""
        client, running = self._access.client(), _running(replica)
        self._paused.add(running.id)
        await self._access.call(lambda: containers.set_paused(client, running.id, True))

    async def resume(self, app: AppManifest, replica: Replica) -> None:
        """Let the container go on."""
        client, running = self._access.client(), _running(replica)
        await self._access.call(lambda: containers.set_paused(client, running.id, False))
        self._paused.discard(running.id)

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Remove the container. Whatever it would still like to do: its data are thrown away."""
        running = _running(replica)
        self._hang_up(running)
        await self._access.remove(running)
        self._paused.discard(running.id)

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
        """Fill ``replica`` in with a new container of its app."""
        image = self._images[app.name]
        deadline = time.monotonic() + app.start_timeout - margin(app.start_timeout)
        running = await self._starter.container(app, image, replica.id, deadline)
        try:
            fingerprint = await self.fingerprint(app, replace(replica, handle=running))
            if app.reuse == "clean" and section(app).build:
                self._activities[running.id] = Activity(partial(self._threads, running))
                await self._activities[running.id].note()
        except BaseException:
            self._remove_soon(running)
            raise
        replica.host, replica.port, replica.handle = running.ip, section(app).port, running
        replica.digest, replica.fingerprint, replica.edition = image.digest, fingerprint, image.edition
        return replica

    def _hang_up(self, running: Running) -> None:
        """It is about to end, and whoever talks with it."""
        self._talks.hang_up(running.id)
        self._watches.hang_up(running.id)
        self._activities.pop(running.id, None)

    def _remove_soon(self, running: Running) -> None:
        self._hang_up(running)
        done: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
        done.set_result(running)
        self._access.discard(done)


def _running(replica: Replica) -> Running:
    if not isinstance(replica.handle, Running):
        raise HarnessError(f"replica {replica.id} was not started by the Docker backend")
    return replica.handle
