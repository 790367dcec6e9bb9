"""Reports what apps need and lack on the engine, without starting, loading or pulling anything."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from docker import DockerClient

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker.engine import connect, require_local
from pytest_webarena.sites.backends.docker.image_sources import find_image, is_pulled, is_small, require_pinned
from pytest_webarena.sites.backends.docker.volumes import require_volumes
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["AppNeeds", "Engine", "survey"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Facts about the engine."""

    address: str
    version: str
    memory: int
    """Memory in bytes of the machine it runs on."""
    storage: str
    """Directory of images and containers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppNeeds:
    """What one app lacks."""

    app: str
    image: str
    size: int = 0
    """Size of the image in bytes; 0 when it is missing."""
    origin: str = ""
    """How a missing image is obtained automatically: ``is built``, ``is loaded from …``, ``is pulled``."""
    to_pull: int | None = 0
    """Approximate number of bytes to pull; None: unknown; 0: no pull is needed, or possible."""
    problem: str = ""
    """What is missing and not obtained automatically, with the commands that get it."""


def _built(client: DockerClient, recipe: str) -> str:
    """Returns the image of a recipe if it exists in the form that a run needs; else empty."""
    from pytest_webarena.sites.container_images import find_built

    try:
        return find_built(client, recipe)
    except SiteError:  # the missing parts are reported elsewhere
        return ""


def survey(apps: Iterable[AppManifest]) -> tuple[Engine, tuple[AppNeeds, ...]]:
    """Inspect the engine and what ``apps`` need there. Raises `SiteError` when no usable engine answers."""
    with closing(connect()) as client:
        require_local(client)
        info = client.info()
        engine = Engine(
            address=str(client.api.base_url).replace("http+docker://localhost", "the local socket"),
            version=str(info.get("ServerVersion", "?")),
            memory=int(info.get("MemTotal", 0)),
            storage=str(info.get("DockerRootDir", "")),
        )
        needs = []
        apps = tuple(apps)
        recipes = {app.docker.build for app in apps if app.docker is not None and app.docker.build}
        built = {recipe: _built(client, recipe) for recipe in recipes}
        for app in apps:
            docker = app.docker
            if docker is None:
                continue
            reference = built[docker.build] if docker.build else docker.image
            image = find_image(client, reference) if reference else None
            size = int(client.images.get(image).attrs.get("Size", 0)) if image else 0
            origin = problem = ""
            to_pull: int | None = 0
            if docker.build and image is None:
                origin = "is built when it is needed"
            elif image is None:
                if docker.tar and Path(docker.tar).is_file():
                    origin = f"is loaded from {docker.tar}"
                elif not is_pulled(docker):
                    problem = "\n".join([f"the image {docker.image} is not here", *docker.get.strip().splitlines()])
                else:
                    to_pull = docker.pull_bytes
                    weight = f"about {docker.pull_size}" if docker.pull_size else "of unknown size"
                    if is_small(docker):
                        origin = f"({weight}) is pulled when it is needed"
                    else:
                        problem = f"the image {docker.image}, {weight}, is not here, and is pulled only on request"
            try:
                if image:
                    require_pinned(client, docker)
                require_volumes(client, docker)
            except SiteError as error:
                problem = "\n".join(filter(None, [problem, str(error)]))
            needs.append(
                AppNeeds(
                    app=app.name,
                    image=reference or docker.image,
                    size=size,
                    origin=origin,
                    to_pull=to_pull,
                    problem=problem,
                )
            )
    return engine, tuple(needs)
