"""Which base image the embedded apps are built on, and how it comes to be there."""

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
"""The value of ``WEBARENA_BASE_IMAGE`` that asks for this machine's own Python."""

DEFAULT = f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryBase:
    """An image by name, e.g. ``python:3.11-slim``: one that is there, or can be pulled."""

    name: str
    offline = False

    def identity(self, client: DockerClient) -> str | None:
        """The image's id, None while it is not on the engine."""
        try:
            return str(client.images.get(self.name).id)
        except ImageNotFound:
            return None

    def provide(self, client: DockerClient) -> str:
        """Pull it when it is not there. `SiteError` when that fails."""
        if self.identity(client) is None:
            try:
                client.images.pull(self.name)
            except (APIError, RequestException) as error:
                reason = f"the base image {self.name} is not on this engine and can't be pulled: {error}"
                raise SiteError(reason) from None
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBase:
    """An image made of the Python that runs this."""

    python: HostPython
    offline = True

    @property
    def name(self) -> str:
        """Named ``localhost/…`` so that no engine looks for it in a registry."""
        return f"localhost/pytest-webarena-base:{self.python.digest}"

    def identity(self, client: DockerClient) -> str | None:
        """The digest of what it is made of, whether it is there or not: it can always be made."""
        return self.python.digest

    def provide(self, client: DockerClient) -> str:
        """Import it when it is not there."""
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
    """Bases to try, best first. ``wanted``: an image name, ``host``, or empty for whatever works.

    An image that was asked for is the only candidate. ``note`` hears why this machine's Python can't be one.
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
