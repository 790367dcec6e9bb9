"""The `Backend` that runs replicas as containers."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import PurePosixPath
from textwrap import shorten
from typing import TYPE_CHECKING, TypeVar

from pytest_webarena.errors import HarnessError, SiteError, TaskError
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.backends.docker import containers
from pytest_webarena.sites.backends.docker.cleanup import remove_labelled, sweep
from pytest_webarena.sites.backends.docker.containers import Executed, Running
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, connect, explain, require_local
from pytest_webarena.sites.backends.docker.inside import program
from pytest_webarena.sites.backends.docker.labels import APP, REPLICA, RUN, owner_labels
from pytest_webarena.sites.ready import wait_ready

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.base import BackendContext
    from pytest_webarena.sites.manifest import AppManifest, DockerManifest

__all__ = ["DockerBackend"]

T = TypeVar("T")

_log = logging.getLogger(__name__)
_THREADS = 8
_PROGRAM_SECONDS = 30.0
"""Limit that programs inside containers keep themselves."""
_GRACE = 10.0
"""Seconds beyond that limit until the container counts as hung."""


class DockerBackend:
    """One container per replica, on a network of the run that has no way out; a reset is another container.

    Nothing is published: the gateway connects to the containers' own addresses, which only this machine reaches.
    ``WEBARENA_BASE_IMAGE`` says what images built here start from (`images.ensure_image`).
    """

    def __init__(self, context: BackendContext) -> None:
        self._run = context.run
        self._network = f"pytest-webarena-{context.run}"
        self._labels = owner_labels(context.run, context.owner)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="docker")
        self._client: DockerClient | None = None
        self._closing = False
        self._opening = threading.Lock()
        self._building = asyncio.Lock()
        self._built: dict[str, str] = {}
        """Recipe to reference of the image it made."""
        self._images: dict[str, tuple[str, str]] = {}
        """App name to reference and id of its image."""

    async def prepare(self, app: AppManifest) -> None:
        """Check that the app's image is there, or build it. The first time: remove what dead runs left behind."""
        docker = _section(app)
        client = await self._connect()
        reference = await self._image(client, docker.build) if docker.build else docker.image
        self._images[app.name] = reference, await self._call(lambda: containers.find_image(client, reference))

    async def _image(self, client: DockerClient, recipe: str) -> str:
        from pytest_webarena.sites.images import ensure_image

        async with self._building:  # apps share images
            if recipe not in self._built:
                self._built[recipe] = await self._call(lambda: ensure_image(client, recipe, note=_log.info))
        return self._built[recipe]

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """A new container that answers. `SiteError`, at once when it exits, with its last log lines."""
        return await self._begin(app, Replica(id=replica_id, app=app.name, host="", port=0))

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Another container under the same id."""
        await self._remove(_running(replica))
        replica = await self._begin(app, replica)
        replica.generation += 1
        return replica

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """Digest of the data directory, for images built here: only of those is it known to be all there is."""
        if not _section(app).build or app.reuse == "never" or app.read_only:
            return None
        directory = _section(app).data_dir
        done = await self._execute(_running(replica), *program("digest"), directory)
        if done.code != 0:
            raise SiteError(f"can't take the digest of {directory} in {replica.id}: {done.stderr}")
        return done.stdout.strip()

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL with the container's own Python. `TaskError` when the statement is at fault."""
        file = PurePosixPath(_section(app).data_dir, app.database(database).path)
        mode, limit = "rw" if write else "ro", f"{_PROGRAM_SECONDS:g}"
        done = await self._execute(_running(replica), *program("query"), str(file), mode, limit, sql)
        if done.code not in (0, 2, 3):
            raise SiteError(f"can't query {file} of {replica.id}: exit code {done.code}: {done.stderr or done.stdout}")
        result = json.loads(done.stdout)
        if done.code == 2:
            raise TaskError(f"the SQL statement failed: {result['error']}: {shorten(sql, 200, placeholder='…')}")
        if done.code == 3:
            raise SiteError(f"the database {file} of {replica.id} can't be used: {result['error']}")
        return Rows(columns=tuple(result["columns"]), rows=tuple(tuple(row) for row in result["rows"]))

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Empty while the container runs; otherwise exit code, whether memory ran out, and its last log lines."""
        client, running = self._connected(), _running(replica)
        return await self._call(lambda: containers.end_of(client, running.id))

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Remove the container. Whatever it would still like to do: its data are thrown away."""
        await self._remove(_running(replica))

    async def close(self) -> None:
        """Remove all containers and the network of the run."""
        self._closing = True
        # Twice: programs inside containers end with their containers, which frees our threads; and then whatever a
        # thread has made in the meantime.
        await self._remove_everything()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        await self._remove_everything()
        if self._client is not None:
            self._client.close()
            self._client = None

    def leftovers(self) -> Mapping[str, str]:
        """The label of everything this backend makes."""
        return {RUN: self._run}

    # --- containers

    async def _begin(self, app: AppManifest, replica: Replica) -> Replica:
        """Fill ``replica`` in with a new container of its app."""
        docker, client = _section(app), self._connected()
        reference, digest = self._images[app.name]
        deadline = time.monotonic() + app.start_timeout - _margin(app.start_timeout)
        name = re.sub(r"[^A-Za-z0-9_.-]", "-", f"webarena-{self._run}-{replica.id}")
        labels = {**self._labels, APP: app.name, REPLICA: replica.id}
        launch = self._submit(
            lambda: containers.launch(client, reference, docker, name=name, network=self._network, labels=labels)
        )
        try:
            running = await asyncio.shield(launch)
        except asyncio.CancelledError:
            launch.add_done_callback(self._discard)  # it can't be stopped half-way, only undone
            raise
        try:
            await self._wait_until_ready(app, running, deadline - time.monotonic())
            fingerprint = await self.fingerprint(app, replace(replica, handle=running))
        except BaseException:
            self._discard(launch)
            raise
        replica.host, replica.port, replica.handle = running.ip, docker.port, running
        replica.digest, replica.fingerprint = digest, fingerprint
        return replica

    async def _wait_until_ready(self, app: AppManifest, running: Running, seconds: float) -> None:
        client = self._connected()

        async def died() -> str:
            return await self._call(lambda: containers.end_of(client, running.id))

        try:
            await wait_ready(
                app.ready,
                running.ip,
                _section(app).port,
                server_name=app.sites[0].host if app.sites else running.ip,
                timeout=seconds,
                died=died,
            )
        except SiteError as error:
            if await died():
                raise  # its text says all
            logs = await self._call(lambda: containers.last_lines(client, running.id))
            raise SiteError("\n".join([str(error), *logs])) from None

    async def _remove(self, running: Running) -> None:
        client = self._connected()
        await self._call(lambda: containers.remove(client, running.id))

    def _discard(self, launch: asyncio.Future[Running]) -> None:
        """Remove what ``launch`` made, if anything, in the background."""
        if launch.cancelled() or launch.exception() is not None or self._client is None or self._closing:
            return  # there is nothing, or `close` removes it
        client, running = self._client, launch.result()
        removal = self._submit(lambda: containers.remove(client, running.id))
        removal.add_done_callback(_log_failure)

    async def _execute(self, running: Running, *arguments: str) -> Executed:
        client = self._connected()
        try:
            async with asyncio.timeout(_PROGRAM_SECONDS + _GRACE):
                return await self._call(lambda: containers.execute(client, running.id, arguments))
        except TimeoutError:
            raise SiteError(f"the container {running.name} hangs: a program inside did not end in time") from None

    async def _remove_everything(self) -> None:
        if self._client is not None:
            await asyncio.to_thread(remove_labelled, f"{RUN}={self._run}", client=self._client, settle=0)

    # --- the engine

    async def _connect(self) -> DockerClient:
        if self._client is None:
            await self._call(self._open)
        return self._connected()

    def _open(self) -> None:
        # State is kept here, in the thread: whoever waits may be called off, and `close` must know the client.
        with self._opening:
            if self._client is not None:
                return
            client = connect()
            try:
                require_local(client)
                self._sweep(client)
                containers.create_network(client, self._network, self._labels)
            except BaseException:
                client.close()
                raise
            self._client = client

    @staticmethod
    def _sweep(client: DockerClient) -> None:
        try:
            if removed := sweep(client):
                _log.info("removed what dead runs left on the Docker engine: %s", removed)
        except (SiteError, *ENGINE_ERRORS) as error:
            _log.warning("could not remove what dead runs left on the Docker engine: %s", error)

    def _connected(self) -> DockerClient:
        if self._client is None or self._closing:
            raise HarnessError("the Docker backend was asked for something before `prepare` or after `close`")
        return self._client

    def _submit(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _call(self, work: Callable[[], T]) -> T:
        try:
            return await self._submit(work)
        except ENGINE_ERRORS as error:
            raise SiteError(f"the Docker engine did not do what was asked: {explain(error)}") from error


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


def _log_failure(removal: asyncio.Future[None]) -> None:
    if not removal.cancelled() and (error := removal.exception()) is not None:
        _log.warning("%s; it is removed when the run ends", error)
