"""What all containers of a run share: the engine, threads for calls to it, networks, labels, and container events."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from pytest_webarena.errors import HarnessError, SiteError
from pytest_webarena.sites.backends.docker import containers
from pytest_webarena.sites.backends.docker.cleanup import remove_labelled, sweep
from pytest_webarena.sites.backends.docker.container_events import Watch
from pytest_webarena.sites.backends.docker.containers import Executed, Place, Running
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, connect, explain, require_local
from pytest_webarena.sites.backends.docker.labels import RUN, owner_labels
from pytest_webarena.sites.backends.docker.networks import DockerNetworks
from pytest_webarena.sites.backends.docker.own_address import OwnAddresses
from pytest_webarena.sites.backends.docker.pods import Pods
from pytest_webarena.sites.backends.docker.volumes import remove_volumes

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.base import BackendContext

__all__ = ["EngineAccess"]

T = TypeVar("T")

_log = logging.getLogger(__name__)
_THREADS = 16
_RETURN = 60.0
"""Maximum seconds to wait for an engine that is being restarted."""
_PAUSE = 0.5


class EngineAccess:
    """The engine as one run uses it. Connects on first use, and then first removes what dead runs left behind."""

    def __init__(self, context: BackendContext) -> None:
        self.run = context.run
        self.labels = owner_labels(context.run, context.owner)
        self.network = f"pytest-webarena-{context.run}"
        """Network of all containers that belong to no unit; on it they reach only this machine."""
        self.pods = Pods()
        self.places = DockerNetworks(self.network, self.labels)
        self.own_addresses = OwnAddresses()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="docker")
        self._client: DockerClient | None = None
        self._watch: Watch | None = None
        self._closing = False
        self._opening = threading.Lock()
        self._joining = threading.Lock()
        self._shared_network = ""

    async def connect(self) -> DockerClient:
        """Returns the engine's client. Raises `SiteMissing` when there is no usable engine."""
        if self._client is None:
            await self.call(self._open)
        return self.client()

    def client(self) -> DockerClient:
        """Returns the engine's client; `connect` must have been called before."""
        if self._client is None or self._closing:
            raise HarnessError("the Docker backend was used before `prepare` or after `close`")
        return self._client

    @property
    def working(self) -> bool:
        """Whether there is an engine, and the run has not been closed."""
        return self._client is not None and not self._closing

    def joint_network(self) -> str:
        """Returns the name of the network on which apps meet those that all share. Blocks."""
        with self._joining:
            if not self._shared_network:
                name = f"{self.network}-joint"
                containers.create_network(self.client(), name, self.labels, joint=True)
                self._shared_network = name
        return self._shared_network

    def submit(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run ``work`` in a thread."""
        return asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def call(self, work: Callable[[], T]) -> T:
        """Returns the result of ``work``, which may block. Errors of the engine become `SiteError`."""
        try:
            return await self.submit(work)
        except ENGINE_ERRORS as error:
            raise SiteError(f"the Docker engine did not do what was asked: {explain(error)}") from error

    async def wait_for_engine(self) -> None:
        """Wait until the engine answers, as while it is restarted; at most `_RETURN` seconds."""
        client, ends = self.client(), time.monotonic() + _RETURN
        while self.working and time.monotonic() < ends:
            try:
                await self.submit(client.ping)
            except ENGINE_ERRORS:
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def execute(self, running: Running, arguments: Sequence[str], seconds: float) -> Executed:
        """Run a program inside a container. Raises `SiteError` when it does not end within ``seconds``, or can't be
        run."""
        client = self.client()
        try:
            async with asyncio.timeout(seconds):
                return await self.call(lambda: containers.execute(client, running.id, arguments))
        except TimeoutError:
            what = f"{arguments[0]} inside did not end within {seconds:g} s"
            raise SiteError(f"the container {running.name} hangs: {what}") from None

    async def end_of(self, running: Running, *, paused: bool = False) -> str:
        """Returns why a container does not run; empty if it runs. Costs no request while the engine reports events."""
        client = self.client()
        event = self._watch.last_event(running.id) if self._watch is not None else None
        if event == "":
            return ""
        why = await self.call(lambda: containers.end_of(client, running.id, paused=paused))
        if not why and event == "oom":
            lines = await self.call(lambda: containers.last_lines(client, running.id))
            why = f"the container {running.id[:12]} ran out of memory: one of its programs was killed for that"
            why = "\n".join([why, *lines])
        return why

    async def remove(self, *parts: Running, place: Place | None = None) -> None:
        """Remove containers and the volumes made for them; then ``place``, their network, is free for others."""
        client = self.client()
        self._close_doors(parts)
        await self.call(lambda: self._remove(client, *parts, place=place))

    def remove_soon(self, *parts: Running, place: Place | None = None) -> None:
        """Like `remove`, in the background, and only if the run has not been closed."""
        if self.working:
            client = self.client()
            self._close_doors(parts)
            self.submit(lambda: self._remove(client, *parts, place=place)).add_done_callback(_log_failure)

    def discard(self, launch: asyncio.Future[Running]) -> None:
        """Remove the container that ``launch`` made, if it made one, in the background."""
        if not launch.cancelled() and launch.exception() is None:
            self.remove_soon(launch.result())

    async def close(self) -> None:
        """Remove everything that has the run's label."""
        self._closing = True
        self.own_addresses.close()
        if self._watch is not None:
            self._watch.close()
        # Twice: programs inside containers end with their containers, which frees our threads; and a thread may have
        # created more in the meantime.
        await self._remove_everything()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        await self._remove_everything()
        if self._client is not None:
            self._client.close()
            self._client = None

    def _close_doors(self, parts: Sequence[Running]) -> None:
        for running in parts:
            if running.pod is None:  # a pod stays, and its own address with it
                self.own_addresses.close(running.id)

    def _remove(self, client: DockerClient, *parts: Running, place: Place | None) -> None:
        for running in parts:
            containers.remove(client, running.id)
            if running.pod is not None:
                self.pods.give_back(running.pod)
            remove_volumes(client, list(running.volumes))
        if place is not None:
            self.places.give_back(place)

    async def _remove_everything(self) -> None:
        if self._client is not None:
            await asyncio.to_thread(remove_labelled, f"{RUN}={self.run}", client=self._client, settle=0)

    def _open(self) -> None:
        # State is set here, in the thread: the caller may be cancelled, and `close` must know the client.
        with self._opening:
            if self._client is not None:
                return
            client = connect()
            try:
                require_local(client)
                _sweep(client)
                containers.create_network(client, self.network, self.labels)
            except BaseException:
                client.close()
                raise
            self._watch = Watch(connect, f"{RUN}={self.run}")
            self._client = client


def _sweep(client: DockerClient) -> None:
    try:
        if removed := sweep(client):
            _log.info("removed what dead runs left on the Docker engine: %s", removed)
    except (SiteError, *ENGINE_ERRORS) as error:
        _log.warning("could not remove what dead runs left on the Docker engine: %s", error)


def _log_failure(removal: asyncio.Future[None]) -> None:
    if not removal.cancelled() and (error := removal.exception()) is not None:
        _log.warning("%s; it is removed when the run ends", error)
