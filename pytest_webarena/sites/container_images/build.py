"""Builds the images of the embedded apps, only when their contents have changed."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from docker.errors import APIError, BuildError, ImageNotFound
from packaging.requirements import Requirement

from pytest_webarena.errors import SiteError, closest
from pytest_webarena.sites.catalogues.embedded_sites import image_contents
from pytest_webarena.sites.container_images.bases import Base, candidates
from pytest_webarena.sites.container_images.debian_images import DEBIAN_RECIPES, debian_reference, ensure_debian_image
from pytest_webarena.sites.container_images.host_python import required_packages

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["IMAGE_LABEL", "RECIPES", "Recipe", "ensure_image", "find_built"]

_DISTRIBUTION = "pytest-webarena"
_ALWAYS = ("flask", "pyyaml", "waitress")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The contents of one image."""

    apps: tuple[str, ...]
    """Names of its embedded apps."""
    extra: str = ""
    """Extra of this distribution that the apps need."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Requirements installed in addition to the apps. Raises `SiteError` when this installation has no such
        extra."""
        found = []
        for text in metadata.requires(_DISTRIBUTION) or ():
            marker = Requirement(text).marker
            if marker and marker.evaluate({"extra": self.extra}) and not marker.evaluate({"extra": ""}):
                found.append(text.partition(";")[0].strip())
        if self.extra and not found:
            raise SiteError(
                f"expected an extra {self.extra!r} of {_DISTRIBUTION}, which {', '.join(self.apps)} needs, found none; "
                "once it is in pyproject.toml, install the package again"
            )
        return (*_ALWAYS, *found)


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {name: Recipe(extra=extra, apps=apps) for name, (extra, apps) in image_contents().items()}
)
"""Recipes by image name: one for each extra that embedded apps need, and one for all apps that need none."""

IMAGE_LABEL = "pytest-webarena.image"
"""Label of every image built here; the value is the recipe."""

_DOCKERFILE = "pytest_webarena/sites/container_images/embedded.Dockerfile"
_PACKAGE = Path(__file__).parents[2]
_LOG_LINES = 20
_KEPT = 5
"""Number of images of one recipe that stay on the engine, for other checkouts and for switching back."""


def ensure_image(
    client: DockerClient, recipe: str, *, base: str | None = None, note: Callable[[str], None] = lambda _: None
) -> str:
    """Build an image unless it exists. Returns its reference ``localhost/pytest-webarena-<recipe>:<digest>``.

    ``base`` is an image name, ``host`` (this machine's Python, no registry needed) or empty; None reads
    ``WEBARENA_BASE_IMAGE``. Empty selects the first that works: an existing slim Python image, an image this package
    built before, the slim image after pulling, ``host``. ``note`` receives messages about long work and surprising
    choices. Raises `SiteError` with the end of the build log.
    """
    if recipe in DEBIAN_RECIPES:
        return ensure_debian_image(client, recipe, base=base, note=note)
    if recipe not in RECIPES:
        raise SiteError(f"no image recipe {recipe!r}; {closest(recipe, [*RECIPES, *DEBIAN_RECIPES])}")
    wanted = os.environ.get("WEBARENA_BASE_IMAGE", "") if base is None else base
    context = _Context(recipe)
    bases = candidates(wanted, RECIPES[recipe].packages, note)
    if found := _there(context, bases, client):
        return found
    for option in bases:
        try:
            name = option.provide(client)
        except SiteError as error:
            if option is bases[-1]:
                raise SiteError(
                    f"{error}\nTo build without a registry, from this machine's Python: WEBARENA_BASE_IMAGE=host"
                ) from None
            note(f"{error}\nBuilding {recipe} from this machine's Python instead (WEBARENA_BASE_IMAGE=host)")
            continue
        return context.build(option, name, client, note)
    raise AssertionError("candidates() is never empty")


def find_built(client: DockerClient, recipe: str) -> str:
    """Returns the reference of `ensure_image` if the image exists, without building or pulling; empty if it would have
    to be built. Raises `SiteError` when this installation lacks its contents."""
    if recipe in DEBIAN_RECIPES:
        found = debian_reference(recipe)
        return found if _present(client, found) else ""
    wanted = os.environ.get("WEBARENA_BASE_IMAGE", "")
    return _there(_Context(recipe), candidates(wanted, RECIPES[recipe].packages, lambda _: None), client)


def _there(context: _Context, bases: Sequence[Base], client: DockerClient) -> str:
    for option in bases:
        found = context.reference(option, client)
        if found is not None and _present(client, found):
            return found
        if found is not None and not option.offline:
            break  # the slim image is there, only the build is missing
    return ""


def _present(client: DockerClient, reference: str) -> bool:
    try:
        client.images.get(reference)
    except ImageNotFound:
        return False
    return True


class _Context:
    """The context of a build, and the digest that names its result."""

    def __init__(self, recipe: str) -> None:
        self._recipe = recipe
        names = required_packages(RECIPES[recipe].packages)
        self._pins = " ".join(f"{name}=={metadata.version(name)}" for name in names)
        self._files = tuple(_files(RECIPES[recipe].apps))

    def reference(self, base: Base, client: DockerClient) -> str | None:
        """Returns name and tag of the image on ``base``; None while the base is missing and its id therefore
        unknown."""
        identity = base.identity(client)
        if identity is None:
            return None
        digest = hashlib.sha256(f"{identity}\n{self._pins}\n".encode())
        for name, path in self._files:
            content = path.read_bytes()
            digest.update(f"{name} {len(content)}\n".encode() + content)
        return f"localhost/pytest-webarena-{self._recipe}:{digest.hexdigest()[:12]}"

    def build(self, base: Base, name: str, client: DockerClient, note: Callable[[str], None]) -> str:
        """Build on the base image ``name``, which must exist on the engine."""
        reference = self.reference(base, client)
        if reference is None:
            raise SiteError(f"the base image {name} vanished from the engine before {self._recipe} could be built")
        note(f"building {reference} on {name}")
        try:
            client.images.build(
                fileobj=self._tar(), custom_context=True, dockerfile=_DOCKERFILE, tag=reference,
                buildargs={"BASE": name, "PACKAGES": self._pins}, labels={IMAGE_LABEL: self._recipe},
                network_mode="none" if base.offline else "default", rm=True, forcerm=True,
            )  # fmt: skip
        except BuildError as error:
            lines = "".join(str(entry.get("stream", "")) for entry in error.build_log).splitlines()
            raise SiteError("\n".join([f"building {reference} failed: {error}", *lines[-_LOG_LINES:]])) from None
        except APIError as error:
            raise SiteError(f"building {reference} failed: {error}") from None
        self._forget_old_ones(client)
        return reference

    def _forget_old_ones(self, client: DockerClient) -> None:
        """Remove all but the latest images, because every change of the apps creates one. Without force, so that used
        ones stay."""
        images = client.images.list(name=f"localhost/pytest-webarena-{self._recipe}")
        for image in sorted(images, key=lambda image: str(image.attrs["Created"]), reverse=True)[_KEPT:]:
            for tag in image.tags:
                with suppress(APIError):
                    client.images.remove(tag)

    def _tar(self) -> io.BytesIO:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, path in self._files:
                info = archive.gettarinfo(str(path), name)
                info.uid = info.gid = 0
                info.uname = info.gname = "root"
                info.mode = 0o644
                with path.open("rb") as content:
                    archive.addfile(info, content)
        buffer.seek(0)
        return buffer


def _files(apps: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yields the package's files for ``apps``, without other apps, so that their changes don't cause a build."""
    yield _DOCKERFILE, _PACKAGE.parent / _DOCKERFILE
    yield "pytest_webarena/errors.py", _PACKAGE / "errors.py"
    folder = _PACKAGE / "embedded"
    others = {path.parent for path in folder.glob("*/site.yaml") if path.parent.name not in apps}
    shared = [path for path in folder.iterdir() if path.is_dir() and path not in others]
    for path in sorted([*folder.glob("*.py"), *(path for part in shared for path in part.rglob("*"))]):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"pytest_webarena/{path.relative_to(_PACKAGE).as_posix()}", path
