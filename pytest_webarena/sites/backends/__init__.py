"""Registry of backends, which run apps: one module per kind, found by name and loaded on first use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_webarena import entry_points
from pytest_webarena.entry_points import load, offered
from pytest_webarena.errors import UsageError, closest

if TYPE_CHECKING:
    from pytest_webarena.sites.backends.base import Backend, BackendContext

__all__ = ["BACKENDS", "backend_names", "create_backend", "is_backend"]

BACKENDS: Mapping[str, str] = MappingProxyType(
    {
        "archive": "pytest_webarena.sites.backends.archive:ArchiveBackend",
        "docker": "pytest_webarena.sites.backends.docker:DockerBackend",
        "external": "pytest_webarena.sites.backends.external:ExternalBackend",
        "live": "pytest_webarena.sites.backends.live:LiveBackend",
        "process": "pytest_webarena.sites.backends.process:ProcessBackend",
    }
)
"""Built-in backends by name; others come from the entry point group ``webarena.backends``, or are ``module:class``."""


def backend_names() -> tuple[str, ...]:
    """Returns the names of all backends, built-in ones first."""
    return tuple(dict.fromkeys((*BACKENDS, *offered(entry_points.BACKENDS))))


def is_backend(name: str) -> bool:
    """Whether a manifest may use this name; a ``module:class`` is only validated when the backend is created."""
    return name in BACKENDS or ":" in name or name in backend_names()


def create_backend(name: str, context: BackendContext) -> Backend:
    """Create a backend: a built-in one, one of an installed package, or the class at ``module:class``.

    Raises `UsageError` when there is no such backend or something it needs is not installed.
    """
    target = BACKENDS.get(name) or (name if ":" in name else offered(entry_points.BACKENDS).get(name))
    if target is None:
        raise UsageError(f"there is no backend {name!r}; {closest(name, backend_names())}; or write module:class")
    make = load(target, f"the backend {name!r}")
    try:
        backend: Backend = make(context)
    except ImportError as error:  # a library that the backend imports
        raise UsageError(f"the backend {name!r} ({target}) can't be used: {error}") from error
    return backend
