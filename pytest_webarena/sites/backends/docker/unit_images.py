"""The images from which a run's containers start: found or built, configured once, committed with logged-in users."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker import containers, snapshots, volumes
from pytest_webarena.sites.backends.docker.engine import connect
from pytest_webarena.sites.backends.docker.image_sources import find_image, obtain_image
from pytest_webarena.sites.backends.docker.starting import Image, Starter, section
from pytest_webarena.sites.catalogues.units import Unit

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.base import BackendContext
    from pytest_webarena.sites.backends.docker.access import EngineAccess
    from pytest_webarena.sites.backends.docker.containers import Place, Running
    from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["UnitImages"]

T = TypeVar("T")

_log = logging.getLogger(__name__)
_SLOW = 4 * 3600.0
"""Time limit in seconds of requests that move whole images."""


class UnitImages:
    """Images by app. Those of a unit are configured and committed together, because they share one state."""

    def __init__(self, access: EngineAccess, starter: Starter, context: BackendContext) -> None:
        self._access, self._starter, self._context = access, starter, context
        self._building = asyncio.Lock()
        self._built: dict[str, str] = {}
        """Image reference by recipe."""
        self._images: dict[str, Image] = {}
        """Image by app."""

    def __getitem__(self, app: str) -> Image:
        return self._images[app]

    async def prepare(self, unit: Unit) -> None:
        """Find, load, pull or build the images of a unit, and make missing snapshots of them."""
        client = await self._access.connect()
        try:
            # By id: somebody may give an image's name to another one during the run.
            sources = {app.name: await self._obtain(client, app) for app in unit.apps}
            unit_hash = _unit_hash(unit, sources)
            images = {}
            for app in unit.apps:
                source = sources[app.name]
                configured = f"{source}+{snapshots.config_hash(app, unit_hash)}" if section(app).post_start else source
                images[app.name] = Image(reference=source, digest=configured)
            if any(section(app).snapshot for app in unit.apps):
                made = await self._snapshots(unit, images, sources, unit_hash)
                images = {name: replace(image, reference=made[name], snapshot=True) for name, image in images.items()}
            self._images.update(images)
        finally:
            for app in unit.apps:
                self._context.note(app.name, "")

    async def _obtain(self, client: DockerClient, app: AppManifest) -> str:
        """Returns the id of an app's own image."""
        docker = section(app)
        if docker.build:
            reference = await self._build(client, app, docker.build)
            return await self._access.call(lambda: find_image(client, reference)) or reference
        # Check first what is cheap to check, because pulling the image may take hours.
        await self._access.call(lambda: volumes.require_volumes(client, docker))
        arguments = f"--sites={self._context.catalogue} {app.sites[0].name}" if app.sites else ""
        note = partial(self._note, app)
        return await self._with_long_timeout(
            lambda slow: obtain_image(slow, docker, note, pulls=self._context.pulls, sites=arguments)
        )

    async def _build(self, client: DockerClient, app: AppManifest, recipe: str) -> str:
        from pytest_webarena.sites.container_images import ensure_image

        async with self._building:  # apps share images
            if recipe not in self._built:
                note = partial(self._note, app)
                self._built[recipe] = await self._access.call(lambda: ensure_image(client, recipe, note=note))
        return self._built[recipe]

    async def _snapshots(
        self, unit: Unit, images: Mapping[str, Image], sources: Mapping[str, str], unit_hash: str
    ) -> Mapping[str, str]:
        """Returns image ids by app, for images that were configured once and stopped cleanly."""
        client = self._access.client()
        names = {app.name: snapshots.reference_of(app, sources[app.name], unit_hash) for app in unit.apps}
        found = {name: await self._access.call(partial(find_image, client, names[name])) for name in names}
        if all(found.values()):
            return {name: image for name, image in found.items() if image is not None}
        for app in unit.apps:
            self._note(app, f"configuring {app.name} once, for a snapshot")
        running = await self.run(unit, f"{unit.lead.name}-snapshot", images)
        made = {}
        try:
            for app in reversed(unit.apps):  # an app may need its dependencies to end cleanly
                self._note(app, f"committing the snapshot of {app.name}")
                await self._starter.end_for_snapshot(app, running[app.name])
                container, source = running[app.name].id, sources[app.name]
                commit = partial(snapshots.commit, container=container, app=app, source=source, unit=unit_hash)
                made[app.name] = await self._with_long_timeout(commit)
        finally:
            self.discard(running)
        for app in unit.apps:
            await self._access.call(partial(snapshots.forget_older, client, app.name))
        return made

    async def run(self, unit: Unit, name: str, images: Mapping[str, Image] | None = None) -> dict[str, Running]:
        """Start the containers of a unit one after the other, each ready before the next. Returns containers by app.

        ``name`` is the name of the lead's container. Raises `SiteError` after scheduling the removal of what was
        started.
        """
        client = self._access.client()
        place = None
        if unit.others:
            take = partial(self._access.places.take, client, unit.lead.name, len(unit.apps))
            place = await self._access.call(take)
        running: dict[str, Running] = {}
        try:
            for app in unit.apps:
                image = (images or self._images)[app.name]
                container = name if app is unit.lead else f"{name}-{app.name}"
                earlier = dict(running)
                running[app.name] = await self._starter.container(app, image, container, place, earlier)
        except BaseException as error:
            # Its network is not reused: a cancelled container may still be there.
            self._access.remove_soon(*running.values())
            if isinstance(error, SiteError) and unit.others:
                failed = next(app.name for app in unit.apps if app.name not in running)
                unit_words = "" if failed == unit.lead.name else f", in one unit with {unit.lead.name}"
                raise type(error)(f"{failed}{unit_words}: {error}") from None
            raise
        try:
            await self._require_alive(unit, running)
        except BaseException:  # also a cancellation, or an unreachable engine
            self._access.remove_soon(*running.values())
            raise
        return running

    async def _require_alive(self, unit: Unit, running: Mapping[str, Running]) -> None:
        """Raise `SiteError` when a container has died since it was ready, e.g. a worker whose database accepts queries
        but no connections while it sets itself up."""
        client = self._access.client()
        for app in unit.others:
            if why := await self._access.call(partial(containers.end_of, client, running[app.name].id)):
                raise SiteError(f"{app.name}, in one unit with {unit.lead.name}, died after it had become ready: {why}")

    def discard(self, running: Mapping[str, Running]) -> None:
        """Remove a unit's containers in the background; their network is then free for the next ones."""
        self._access.remove_soon(*running.values(), place=_place(running.values()))

    async def remove(self, running: Mapping[str, Running]) -> None:
        """Remove a unit's containers."""
        await self._access.remove(*running.values(), place=_place(running.values()))

    def keeps(self, unit: Unit) -> bool:
        """Return whether the containers store all data of logins, and a reset does not remove them."""
        parts = [section(app) for app in unit.apps]
        mutable = any(volume.mutable for docker in parts for volume in docker.volumes)
        resets = any(docker.reset for docker in parts)
        return any(docker.snapshot for docker in parts) and not (mutable or resets or unit.lead.read_only)

    async def keep(self, unit: Unit, running: Mapping[str, Running]) -> int:
        """Stop the containers cleanly and commit them as images of later ones; return the number of this edition.

        The images are removed with the run.
        """
        edition = self._images[unit.lead.name].edition + 1
        self._note(unit.lead, f"committing {unit.lead.name} with signed-in users")
        made = {}
        try:
            for app in reversed(unit.apps):
                container, labels = running[app.name].id, self._access.labels
                commit = partial(snapshots.commit_for_run, container=container, app=app, labels=labels, edition=edition)
                made[app.name] = await self._with_long_timeout(commit)
        finally:
            self._context.note(unit.lead.name, "")
        for name, image in made.items():
            self._images[name] = replace(self._images[name], reference=image, edition=edition, snapshot=True)
        return edition

    async def _with_long_timeout(self, work: Callable[[DockerClient], T]) -> T:
        """Returns the result of ``work``, which gets a client with a time limit long enough for moving an image."""

        def call() -> T:
            with closing(connect(_SLOW)) as client:
                return work(client)

        return await self._access.call(call)

    def _note(self, app: AppManifest, text: str) -> None:
        _log.info("%s: %s", app.name, text)
        self._context.note(app.name, text)


def _place(running: Iterable[Running]) -> Place | None:
    """Returns the network of a unit's containers; None for a single app."""
    return next((each.place for each in running), None)


def _unit_hash(unit: Unit, sources: Mapping[str, str]) -> str:
    """Returns a hash of a unit's apps; empty for a single app."""
    if not unit.others:
        return ""
    parts = [f"{app.name} {sources[app.name]} {snapshots.config_hash(app)}" for app in unit.apps]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
