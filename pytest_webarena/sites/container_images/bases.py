"""Base images of the embedded apps, and how to obtain them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docker.errors import APIError, ImageNotFound
from requests.exceptions import RequestException

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.container_images.host_python import HostPython, host_python

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["HOST", "Base", "HostBase", "RegistryBase", "candidates"]

HOST = "host"
"""Value of ``WEBARENA_BASE_IMAGE`` that selects this machine's own Python."""

DEFAULT = f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryBase:
    """An image by name, e.g. ``python:3.11-slim``, which exists or can be pulled."""

    name: str
    offline = False

    def identity(self, client: DockerClient) -> str | None:
        """Returns the image's id; None while it is not on the engine."""
        try:
            return str(client.images.get(self.name).id)
        except ImageNotFound:
            return None

    def provide(self, client: DockerClient) -> str:
        """Pull the image when it is missing. Raises `SiteError` when that fails."""
        if self.identity(client) is None:
            try:
                client.images.pull(self.name)
            except (APIError, RequestException) as error:
                reason = f"the base image {self.name} is not on this engine and can't be pulled: {error}"
                raise SiteError(reason) from None
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBase:
    """An image made from the running Python."""

    python: HostPython
    offline = True

    @property
    def name(self) -> str:
        """Name ``localhost/…``, which no engine looks up in a registry."""
        return f"localhost/pytest-webarena-base:{self.python.digest}"

    def identity(self, client: DockerClient) -> str | None:
        """Returns the digest of its contents, even if it does not exist, because it can always be created."""
        return self.python.digest

    def provide(self, client: DockerClient) -> str:
        """Import the image when it is missing."""
        try:
            client.images.get(self.name)
        except ImageNotFound:
            repository, _, tag = self.name.rpartition(":")
            changes = list(self.python.config)
            try:
                client.api.import_image_from_data(self.python.tar(), repository=repository, tag=tag, changes=changes)
            except (APIError, RequestException) as error:
                raise SiteError(f"this machine's Python can't be made into the image {self.name}: {error}") from None
        return self.name


Base = RegistryBase | HostBase


def candidates(wanted: str, packages: Sequence[str], note: Callable[[str], None]) -> tuple[Base, ...]:
    """Returns bases to try, best first. ``wanted``: an image name, ``host``, or empty for any that works.

    A requested image is the only candidate. ``note`` receives the reason if this machine's Python can't be used.
    """
    if wanted and wanted != HOST:
        return (RegistryBase(name=wanted),)
    if wanted == HOST:
        return (HostBase(python=host_python(packages)),)
    try:
        return RegistryBase(name=DEFAULT), HostBase(python=host_python(packages))
    except SiteError as error:
        note(str(error))
        return (RegistryBase(name=DEFAULT),)
