"""What runs apps: one module per kind, found by name and loaded on first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_webarena.errors import UsageError, closest

if TYPE_CHECKING:
    from pytest_webarena.sites.backends.base import Backend, BackendContext

__all__ = ["BACKENDS", "create_backend"]

BACKENDS: Mapping[str, str] = MappingProxyType(
    {
        "docker": "pytest_webarena.sites.backends.docker:DockerBackend",
        "external": "pytest_webarena.sites.backends.external:ExternalBackend",
        "process": "pytest_webarena.sites.backends.process:ProcessBackend",
    }
)
"""Short names; a manifest may also say ``module:class``."""


def create_backend(name: str, context: BackendContext) -> Backend:
    """Make the backend called ``name``, or the class at ``module:class``.

    Raises `UsageError` when there is no such backend or something it needs is not installed.
    """
    target = BACKENDS.get(name, name)
    module, colon, attribute = target.partition(":")
    if not colon:
        raise UsageError(f"there is no backend {name!r}; {closest(name, BACKENDS)}; or write module:class")
    try:
        backend: Backend = getattr(import_module(module), attribute)(context)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"the backend {name!r} can't be loaded: {error}") from error
    return backend
