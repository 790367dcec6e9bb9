"""The `Backend` that runs replicas as containers."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from textwrap import shorten
from typing import TYPE_CHECKING, TypeVar

from pytest_webarena.errors import HarnessError, SiteError, TaskError
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.backends.docker import containers, snapshots, volumes
from pytest_webarena.sites.backends.docker.containers import Executed, Order, Place, Running
from pytest_webarena.sites.backends.docker.conversation import Conversation
from pytest_webarena.sites.backends.docker.databases import query_argv, rows_from
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, connect
from pytest_webarena.sites.backends.docker.inside import program
from pytest_webarena.sites.backends.docker.labels import APP, REPLICA, RUN
from pytest_webarena.sites.backends.docker.obtain import find_image, obtain_image
from pytest_webarena.sites.backends.docker.room import EngineRoom
from pytest_webarena.sites.backends.docker.steps import run_steps, what_it_said
from pytest_webarena.sites.ready import wait_ready

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.base import BackendContext
    from pytest_webarena.sites.manifest import AppManifest, DockerManifest, Readiness

__all__ = ["DockerBackend"]

T = TypeVar("T")

_log = logging.getLogger(__name__)
_PROGRAM_SECONDS = 30.0
"""Limit that programs inside containers keep themselves."""
_GRACE = 10.0
"""Seconds beyond that limit until the container counts as hung."""
_MOMENT = 1.0
_SLOW = 4 * 3600.0
"""Seconds for requests that move whole images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Image:
    """What an app's containers start from."""

    reference: str
    digest: str
    """What it is, as recorded with every trial: id of the image, and hash of what was done to it since."""
    snapshot: bool = False


class DockerBackend:
    """One container per replica, on a network of the run that has no way out; a reset is another container.

    Nothing is published: the gateway connects to the containers' own addresses, which only this machine reaches.
    ``WEBARENA_BASE_IMAGE`` says what images built here start from (`images.ensure_image`).
    """

    def __init__(self, context: BackendContext) -> None:
        self._room = EngineRoom(context)
        self._needed = context.needed
        self._tell = context.note
        self._building = asyncio.Lock()
        self._built: dict[str, str] = {}
        """Recipe to reference of the image it made."""
        self._images: dict[str, _Image] = {}
        """By app name."""
        self._paused: set[str] = set()
        """Ids of containers that we paused."""
        self._talks: dict[str, Conversation] = {}
        """By container id: with the program inside that answers queries."""
        self._talking = threading.Lock()

    # --- images

    async def prepare(self, app: AppManifest) -> None:
        """Find the app's image, load, pull or build it, and make its snapshot, unless that is there from another run.

        The first time: remove what dead runs left behind.
        """
        docker = _section(app)
        client = await self._room.connect()
        try:
            if docker.build:
                reference = await self._build(client, app, docker.build)
                source = await self._room.call(lambda: find_image(client, reference)) or reference
            else:
                reference = docker.image
                source = await self._slowly(lambda slow: obtain_image(slow, docker, partial(self._note, app)))
            await self._room.call(lambda: volumes.require_volumes(client, docker))
            image = _Image(reference=reference, digest=source)
            if docker.post_start:
                image = replace(image, digest=f"{source}+{snapshots.config_hash(app)}")
            if docker.snapshot:
                made = await self._snapshot(app, image, source)
                image = replace(image, reference=made, snapshot=True)
            self._images[app.name] = image
        finally:
            self._tell(app.name, "")

    async def _build(self, client: DockerClient, app: AppManifest, recipe: str) -> str:
        from pytest_webarena.sites.images import ensure_image

        async with self._building:  # apps share images
            if recipe not in self._built:
                note = partial(self._note, app)
                self._built[recipe] = await self._room.call(lambda: ensure_image(client, recipe, note=note))
        return self._built[recipe]

    async def _snapshot(self, app: AppManifest, image: _Image, source: str) -> str:
        """Id of the image that replicas start from: configured once, and stopped in good order."""
        client, reference = self._room.client(), snapshots.reference_of(app, source)
        if (found := await self._room.call(lambda: find_image(client, reference))) is not None:
            return found
        for path in await self._room.call(lambda: snapshots.declared_volumes(client, source)):
            _log.warning(
                "%s: its image declares %s as a volume, so what is there is not in the snapshot", app.name, path
            )
        self._note(app, f"configuring {app.name} once, for a snapshot")
        running = await self._container(app, image, f"{app.name}-snapshot", time.monotonic() + app.start_timeout)
        try:
            self._note(app, f"committing the snapshot of {app.name}")
            made = await self._slowly(lambda slow: snapshots.commit(slow, running.id, app, source))
        finally:
            self._remove_soon(running)
        await self._room.call(lambda: snapshots.forget_older(client, app.name))
        return made

    async def _slowly(self, work: Callable[[DockerClient], T]) -> T:
        """The result of ``work``, which gets a client that waits for as long as moving an image may take."""

        def carry_out() -> T:
            with closing(connect(_SLOW)) as client:
                return work(client)

        return await self._room.call(carry_out)

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
        docker, running = _section(app), _running(replica)
        if not docker.reset:
            return False
        deadline = time.monotonic() + app.start_timeout - _margin(app.start_timeout)
        try:
            await run_steps(docker.reset, app.fill, partial(self._room.execute, running))
            await self._wait_until_ready(app, running, deadline - time.monotonic())
            present = await self.fingerprint(app, replica)
        except SiteError as error:
            _log.warning("%s could not be reset in place, so it is replaced: %s", replica.id, error)
            return False
        if present != replica.fingerprint:
            _log.warning("%s is not as before after its reset, so it is replaced", replica.id)
        return present == replica.fingerprint

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """What the manifest's own program prints; of images built here, the digest of the data directory."""
        docker = _section(app)
        if (app.reuse == "never" and not docker.reset) or app.read_only or not (docker.fingerprint or docker.build):
            return None
        if docker.fingerprint:
            done = await self._execute(_running(replica), *map(app.fill, docker.fingerprint))
        else:
            # Only of these is the directory known to be all there is.
            done = await self._execute(_running(replica), *program("digest"), docker.data_dir)
        if done.code != 0:
            raise SiteError(f"can't take the fingerprint of {replica.id}: {what_it_said(done)}")
        return done.stdout.strip()

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL with the container's own client, or its Python for SQLite. `TaskError` for a bad statement."""
        wanted = app.database(database)
        if wanted.engine != "sqlite":
            done = await self._execute(
                _running(replica), *query_argv(wanted, sql, write=write, seconds=_PROGRAM_SECONDS)
            )
            return rows_from(wanted, done, sql, replica.id)
        file = PurePosixPath(_section(app).data_dir, wanted.path)
        mode, limit = "rw" if write else "ro", f"{_PROGRAM_SECONDS:g}"
        arguments = str(file), mode, limit, sql
        # What has failed half-way can be asked again, but not written again.
        answer = None if write else await self._room.call(lambda: self._ask(_running(replica), arguments))
        done = answer or await self._execute(_running(replica), *program("query"), *arguments)
        if done.code not in (0, 2, 3):
            raise SiteError(f"can't query {file} of {replica.id}: exit code {done.code}: {done.stderr or done.stdout}")
        result = json.loads(done.stdout)
        if done.code == 2:
            raise TaskError(f"the SQL statement failed: {result['error']}: {shorten(sql, 200, placeholder='…')}")
        if done.code == 3:
            raise SiteError(f"the database {file} of {replica.id} can't be used: {result['error']}")
        return Rows(columns=tuple(result["columns"]), rows=tuple(tuple(row) for row in result["rows"]))

    async def logs(self, app: AppManifest, replica: Replica, lines: int) -> str:
        """The end of what the container wrote."""
        running = _running(replica)
        client = self._room.client()
        return await self._room.call(lambda: containers.log_of(client, running.id, lines))

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Empty while the container runs; otherwise exit code, whether memory ran out, and its last log lines."""
        running = _running(replica)
        return await self._room.end_of(running, paused=running.id in self._paused)

    async def pause(self, app: AppManifest, replica: Replica) -> None:
        """Freeze the container."""
        client, running = self._room.client(), _running(replica)
        self._paused.add(running.id)
        await self._room.call(lambda: containers.set_paused(client, running.id, True))

    async def resume(self, app: AppManifest, replica: Replica) -> None:
        """Let the container go on."""
        client, running = self._room.client(), _running(replica)
        await self._room.call(lambda: containers.set_paused(client, running.id, False))
        self._paused.discard(running.id)

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Remove the container. Whatever it would still like to do: its data are thrown away."""
        running = _running(replica)
        self._hang_up(running.id)
        await self._room.remove(running)
        self._paused.discard(running.id)

    async def close(self) -> None:
        """Remove all containers and the network of the run."""
        for container in list(self._talks):
            self._hang_up(container)
        await self._room.close()

    def leftovers(self) -> Mapping[str, str]:
        """The label of everything this backend makes."""
        return {RUN: self._room.run}

    # --- containers

    async def _begin(self, app: AppManifest, replica: Replica) -> Replica:
        """Fill ``replica`` in with a new container of its app."""
        image = self._images[app.name]
        deadline = time.monotonic() + app.start_timeout - _margin(app.start_timeout)
        running = await self._container(app, image, replica.id, deadline)
        try:
            fingerprint = await self.fingerprint(app, replace(replica, handle=running))
        except BaseException:
            self._remove_soon(running)
            raise
        replica.host, replica.port, replica.handle = running.ip, _section(app).port, running
        replica.digest, replica.fingerprint = image.digest, fingerprint
        return replica

    async def _container(self, app: AppManifest, image: _Image, name: str, deadline: float) -> Running:
        """A new container that is ready, and configured if it does not start from a snapshot."""
        docker, client = _section(app), self._room.client()
        launch = self._room.submit(lambda: self._launch(client, app, image, name))
        try:
            running = await asyncio.shield(launch)
        except asyncio.CancelledError:
            launch.add_done_callback(self._room.discard)  # it can't be stopped half-way, only undone
            raise
        try:
            configured = image.snapshot or not docker.post_start
            first = app.ready if configured else docker.booted or app.ready
            # However long the engine took, the app gets a moment: what it then says helps more than silence.
            await self._wait_until_ready(app, running, max(deadline - time.monotonic(), _MOMENT), first)
            if not configured:
                await self._steps(app, running)
                # Configuring takes as long as its steps may; then it has to come up again.
                await self._wait_until_ready(app, running, app.start_timeout)
        except BaseException:
            self._room.discard(launch)
            raise
        return running

    def _launch(self, client: DockerClient, app: AppManifest, image: _Image, name: str) -> Running:
        docker = _section(app)
        labels = {**self._room.labels, APP: app.name, REPLICA: name}
        own = [volume for volume in docker.volumes if volume.mutable and not app.read_only]
        copies: dict[str, str] = {}
        place: Place | None = None
        try:
            for volume in own:
                copies[volume.target] = volumes.copy_volume(client, volume, image.reference, labels)
            environment = {**docker.env, **(docker.snapshot_env if image.snapshot else {})}
            meets = app.name in self._needed or bool(app.depends_on)
            order = Order(
                image=image.reference,
                manifest=docker,
                name=re.sub(r"[^A-Za-z0-9_.-]", "-", f"webarena-{self._room.run}-{name}"),
                labels=labels,
                network=self._room.network,
                command=[app.fill(word) for word in docker.command],
                environment={key: app.fill(value) for key, value in environment.items()},
                mounts=volumes.mounts(docker, copies),
                volumes=list(copies.values()),
                own_hosts=[site.host for site in app.sites],
                joint=self._room.joint_network() if meets else "",
                aliases=[site.host for site in app.sites] if app.name in self._needed else [],
            )
            place = self._room.places.take(client, app.name, order)
            return containers.launch(client, replace(order, place=place))
        except BaseException:
            if place is not None:
                self._room.places.give_up(client, place)
            volumes.remove_volumes(client, list(copies.values()))
            raise

    async def _steps(self, app: AppManifest, running: Running) -> None:
        """Configure the app. `SiteError` with what the step said and the container's last log lines."""
        client = self._room.client()
        try:
            await run_steps(_section(app).post_start, app.fill, partial(self._room.execute, running))
        except SiteError as error:
            logs = await self._room.call(lambda: containers.last_lines(client, running.id))
            raise SiteError("\n".join([f"it could not be configured: {error}", *logs])) from None

    async def _wait_until_ready(
        self, app: AppManifest, running: Running, seconds: float, checks: Sequence[Readiness] = ()
    ) -> None:
        client = self._room.client()

        async def died() -> str:
            return await self._room.end_of(running)

        async def execute(arguments: Sequence[str]) -> str:
            done = await self._execute(running, *map(app.fill, arguments))
            return "" if done.code == 0 else f"{arguments[0]}: {what_it_said(done)}"

        try:
            await wait_ready(
                checks or app.ready,
                running.ip,
                _section(app).port,
                server_name=app.sites[0].host if app.sites else running.ip,
                timeout=seconds,
                died=died,
                execute=execute,
            )
        except SiteError as error:
            if await died():
                raise  # its text says all
            logs = await self._room.call(lambda: containers.last_lines(client, running.id))
            raise SiteError("\n".join([str(error), *logs])) from None

    def _remove_soon(self, running: Running) -> None:
        self._hang_up(running.id)
        done: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
        done.set_result(running)
        self._room.discard(done)

    def _ask(self, running: Running, arguments: Sequence[str]) -> Executed | None:
        """Ask the program that stays inside for queries, from a thread; None when it does not answer."""
        client = self._room.client()
        try:
            with self._talking:
                talk = self._talks.get(running.id)
                if talk is None:
                    limit = _PROGRAM_SECONDS + _GRACE
                    talk = self._talks[running.id] = Conversation(client, running.id, program("query"), timeout=limit)
            return talk.ask(*arguments)
        except (OSError, ValueError, *ENGINE_ERRORS) as error:
            _log.info("%s: queries are run one by one: %s", running.name, error)
            self._hang_up(running.id)
            return None

    def _hang_up(self, container: str) -> None:
        with self._talking:
            talk = self._talks.pop(container, None)
        if talk is not None:
            talk.close()

    async def _execute(self, running: Running, *arguments: str) -> Executed:
        return await self._room.execute(running, arguments, _PROGRAM_SECONDS + _GRACE)


def _section(app: AppManifest) -> DockerManifest:
    if app.docker is None:
        raise SiteError(f"the app {app.name!r} is to run as a container, but its manifest has no 'docker' section")
    return app.docker


def _running(replica: Replica) -> Running:
    if not isinstance(replica.handle, Running):
        raise HarnessError(f"replica {replica.id} was not started by the Docker backend")
    return replica.handle


def _margin(seconds: float) -> float:
    """Time kept back from ``seconds`` so that our own message, with log lines, comes before the caller's."""
    return min(2.0, seconds / 10)
