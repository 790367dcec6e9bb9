"""Starts containers: creates, configures and waits for them."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker import containers, volumes
from pytest_webarena.sites.backends.docker.containers import Executed, Order, Place, Pod, Running
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, explain
from pytest_webarena.sites.backends.docker.labels import APP, REPLICA
from pytest_webarena.sites.backends.docker.own_address import HTTP_PORT
from pytest_webarena.sites.backends.docker.steps import output_text, run_steps
from pytest_webarena.sites.backends.ready import wait_ready
from pytest_webarena.sites.catalogues.manifest import PortReady

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker.access import EngineAccess
    from pytest_webarena.sites.catalogues.manifest import AppManifest, ContainerStep, DockerManifest, Readiness

__all__ = ["GRACE", "PROGRAM_SECONDS", "Image", "Starter", "margin", "section"]

_log = logging.getLogger(__name__)

PROGRAM_SECONDS = 30.0
"""Time limit in seconds that programs inside containers enforce themselves."""
GRACE = 10.0
"""Seconds after that limit at which the container counts as hung."""
_MOMENT = 1.0
_NONE: Mapping[str, Running] = MappingProxyType({})
_LISTENS_NOWHERE = "; if it has no port, such as a worker, name a program that checks it: 'ready: [{exec: [pgrep, …]}]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The image that an app's containers start from."""

    reference: str
    digest: str
    """Identity recorded with every trial: id of the image, and hash of its configuration. Logged-in users are not part
    of it, because they don't change what the app does."""
    snapshot: bool = False
    edition: int = 0
    """Number of times that a replica's state was kept in it."""


class Starter:
    """Starts containers. ``needed`` are the apps that those of other units call."""

    def __init__(self, access: EngineAccess, needed: frozenset[str]) -> None:
        self._access = access
        self._needed = needed

    async def container(
        self,
        app: AppManifest,
        image: Image,
        name: str,
        place: Place | None = None,
        earlier: Mapping[str, Running] = _NONE,
    ) -> Running:
        """Start a container and wait until it is ready; configure it unless it starts from a snapshot.

        A container of a unit runs on the network ``place``. ``earlier`` are those of the unit that run already, by app:
        the death of one ends the start, and the logs of all explain an error.
        """
        docker, client = section(app), self._access.client()
        deadline = time.monotonic() + app.start_timeout - margin(app.start_timeout)
        launch = self._access.submit(lambda: self._launch(client, app, image, name, place))
        try:
            running = await asyncio.shield(launch)
        except asyncio.CancelledError:
            launch.add_done_callback(self._access.discard)  # it can't be cancelled half-way, only undone
            raise
        except ENGINE_ERRORS as error:
            raise SiteError(f"the Docker engine did not do what was asked: {explain(error)}") from None
        try:
            configured = image.snapshot or not docker.post_start
            first = app.ready if configured else docker.booted or app.ready
            # The app always gets a moment, however long the engine took: its error message helps more than a time-out.
            await self.wait_until_ready(app, running, max(deadline - time.monotonic(), _MOMENT), first, earlier)
            if not configured:
                await self._steps(app, running, docker.post_start, "configured")
                # Configuring takes as long as its steps; afterwards the app has to become ready again.
                await self.wait_until_ready(app, running, app.start_timeout, earlier=earlier)
            if docker.port != HTTP_PORT and app.sites:
                await self._open_own_address(app, running)
        except BaseException:
            self._access.discard(launch)
            raise
        return running

    def _launch(self, client: DockerClient, app: AppManifest, image: Image, name: str, place: Place | None) -> Running:
        docker = section(app)
        labels = {**self._access.labels, APP: app.name, REPLICA: name}
        own = [volume for volume in docker.volumes if volume.source and volume.mutable and not app.read_only]
        copies: dict[str, str] = {}
        pod: Pod | None = None
        try:
            for volume in own:
                copies[volume.target] = volumes.copy_volume(client, volume, image.reference, labels)
            environment = {**docker.env, **(docker.snapshot_env if image.snapshot else {})}
            names = [app.name, *(site.host for site in app.sites), *docker.aliases]
            shared = app.name in self._needed
            order = Order(
                image=image.reference,
                manifest=docker,
                name=re.sub(r"[^A-Za-z0-9_.-]", "-", f"webarena-{self._access.run}-{name}"),
                labels=labels,
                network=place.network if place is not None else self._access.network,
                place=place,
                entrypoint=[app.fill(word) for word in docker.entrypoint],
                command=[app.fill(word) for word in docker.command],
                environment={key: app.fill(value) for key, value in environment.items()},
                mounts=volumes.mounts(docker, copies),
                volumes=list(copies.values()),
                own_hosts=[site.host for site in app.sites],
                aliases=names if place is not None else [],
                joint=self._access.joint_network() if shared or self._needed.intersection(app.depends_on) else "",
                joint_aliases=names if shared else [],
            )
            pod = self._access.pods.take(client, f"{place.network}/{app.name}" if place else app.name, order)
            return containers.launch(client, replace(order, pod=pod))
        except BaseException:
            if pod is not None:
                self._access.pods.give_up(client, pod)
            volumes.remove_volumes(client, list(copies.values()))
            raise

    async def _open_own_address(self, app: AppManifest, running: Running) -> None:
        """Let the app reach itself under its own address. A failure is only logged, because few apps need it."""
        namespace = running.pod.keeper if running.pod is not None else running.id
        target = (running.ip, section(app).port)
        if why := await self._access.own_addresses.open(self._access.client(), namespace, target):
            _log.warning("%s can't reach itself under its own address: %s", running.name, why)

    async def end_for_snapshot(self, app: AppManifest, running: Running) -> None:
        """End the app's programs inside its container. Raises `SiteError` as `container` does."""
        await self._steps(app, running, section(app).before_snapshot, "ended for a snapshot")

    async def _steps(self, app: AppManifest, running: Running, steps: Sequence[ContainerStep], what: str) -> None:
        """Run steps inside. Raises `SiteError` with the step's output and the container's last log lines."""
        client = self._access.client()
        try:
            await run_steps(steps, app.fill, partial(self._access.execute, running))
        except SiteError as error:
            logs = await self._access.call(lambda: containers.last_lines(client, running.id))
            raise SiteError("\n".join([f"it could not be {what}: {error}", *logs])) from None

    async def wait_until_ready(
        self,
        app: AppManifest,
        running: Running,
        seconds: float,
        checks: Sequence[Readiness] = (),
        earlier: Mapping[str, Running] = _NONE,
    ) -> None:
        """Wait until all ``checks`` pass, by default those of ``ready``. Raises `SiteError` with the last log lines of
        the container, and of ``earlier`` ones."""
        client = self._access.client()
        dead: list[Running] = []

        async def died() -> str:
            for name, each in {"": running, **earlier}.items():
                if why := await self._access.end_of(each):
                    dead.append(each)
                    return f"{name}, on which it may depend, has ended: {why}" if name else why
            return ""

        async def execute(arguments: Sequence[str]) -> str:
            done = await self.execute(running, *map(app.fill, arguments))
            return "" if done.code == 0 else f"{arguments[0]}: {output_text(done)}"

        try:
            await wait_ready(
                checks or app.ready,
                running.ip,
                section(app).port,
                server_name=app.sites[0].host if app.sites else running.ip,
                timeout=seconds,
                died=died,
                execute=execute,
                of=app.start_timeout,
            )
        except SiteError as error:
            lines = [str(error)]
            if not dead and (why := await died()) and why not in lines[0]:
                lines.append(why)
            if not dead and not app.sites and PortReady() in (checks or app.ready):
                lines[0] += _LISTENS_NOWHERE
            for name, each in {app.name: running, **earlier}.items():
                if each not in dead:  # the reason of its end has them
                    first, *rest = await self._access.call(partial(containers.last_lines, client, each.id))
                    lines += [f"{name}: {first}" if earlier else first, *rest]
            raise SiteError("\n".join(lines)) from None

    async def execute(self, running: Running, *arguments: str) -> Executed:
        """Run a program inside that enforces its own time limit."""
        return await self._access.execute(running, arguments, PROGRAM_SECONDS + GRACE)


def section(app: AppManifest) -> DockerManifest:
    """Returns the manifest's section for this backend."""
    if app.docker is None:
        raise SiteError(f"the app {app.name!r}: expected a 'docker' section in its manifest, found none")
    return app.docker


def margin(seconds: float) -> float:
    """Returns how much of ``seconds`` to reserve, so that this module's error with log lines comes before the caller's
    time-out."""
    return min(2.0, seconds / 10)
