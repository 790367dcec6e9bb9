"""Runs apps as containers: one container per replica, on a network without access to the outside."""

from __future__ import annotations

from pytest_webarena.errors import SiteError

try:
    import docker  # noqa: F401
except ImportError as error:
    raise SiteError("sites that run as containers need the Python package 'docker'; run: pip install docker") from error

from pytest_webarena.sites.backends.docker.backend import DockerBackend
from pytest_webarena.sites.backends.docker.cleanup import Removed, remove_labelled, sweep
from pytest_webarena.sites.backends.docker.engine import connect

__all__ = ["DockerBackend", "Removed", "connect", "remove_labelled", "sweep"]
