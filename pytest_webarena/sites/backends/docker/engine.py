"""Connects to the Docker engine, and reports what to do when there is none."""

from __future__ import annotations

import os
import socket
import sys

from docker import DockerClient
from docker.context import ContextAPI
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from pytest_webarena.errors import SiteMissing

__all__ = ["ENGINE_ERRORS", "connect", "explain", "require_local", "unreachable_containers"]

ENGINE_ERRORS = (DockerException, RequestException)
"""Errors of a call to the engine: refusals, and connections that fail or time out."""

_REMOTE = frozenset({"ssh", "tcp", "http", "https"})
"""Schemes of addresses that may lead to another machine, also those of a tunnel that ends here."""
_TIMEOUT = 60
"""Time limit in seconds of one request to the engine."""


def connect(timeout: float = _TIMEOUT) -> DockerClient:
    """Returns a client of the engine that ``DOCKER_HOST`` or the current Docker context names; the engine has answered.

    ``timeout`` is the time limit in seconds of one request. Raises `SiteMissing`, with what to do, when no engine
    answers. The caller closes the client.
    """
    address, client = os.environ.get("DOCKER_HOST", ""), None
    try:
        if address:
            _require_listener(address)
            client = DockerClient.from_env(timeout=int(timeout))
        else:
            context = ContextAPI.get_current_context()
            address = str(context.Host)
            _require_listener(address)
            client = DockerClient(base_url=address, tls=context.TLSConfig or False, timeout=int(timeout))
        client.ping()
    except SiteMissing:
        raise
    except Exception as error:  # docker-py raises OSError, ValueError and its own errors, depending on the address
        if client is not None:
            client.close()
        raise SiteMissing(_no_engine(address, error)) from None
    return client


def _require_listener(address: str) -> None:
    """Connect once, to fail early and clearly if nothing listens; docker-py would leave half-open sockets behind.

    Raises `SiteMissing` for an address by which an engine of another machine is reached, before anything is sent.
    """
    scheme, _, path = address.partition("://")
    if scheme in _REMOTE:
        raise unreachable_containers(address)
    if scheme == "unix":
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_TIMEOUT)
            probe.connect("/" + path.lstrip("/"))


def _no_engine(address: str, error: Exception) -> str:
    reason = str(error)
    if "Permission denied" in reason or "PermissionError" in reason:
        return (
            f"this user may not talk to the Docker engine at {address}.\n"
            "Join its group and log in again: sudo usermod -aG docker $USER"
        )
    return (
        f"expected a Docker engine at {address}, found none: {reason}\n"
        "Start it (sudo systemctl start docker, or Docker Desktop), install one "
        "(https://docs.docker.com/engine/install/), or name another one with DOCKER_HOST.\n"
        "The catalogue 'embedded' needs no Docker."
    )


def require_local(client: DockerClient) -> None:
    """Raise `SiteMissing` unless this machine can reach containers by address: Linux, with root's engine on this
    machine."""
    url, info = str(client.api.base_url), client.info()
    local = url.startswith("http+docker://") and not url.startswith("http+docker://ssh")
    system = str(info.get("OperatingSystem", ""))
    if "name=rootless" in info.get("SecurityOptions", ()):
        system = f"rootless, on {system}"
    elif sys.platform == "linux" and local and "Docker Desktop" not in system:
        return
    raise unreachable_containers(system or url)


def unreachable_containers(what: str) -> SiteMissing:
    """Return the error for an engine whose containers have no address here; ``what`` names it or says why."""
    return SiteMissing(
        f"containers of this Docker engine ({what}) can't be reached by their address from here, "
        "and sites are never published on the network.\nRun the tests on Linux, on the engine's own machine (or in its "
        "virtual machine), with the socket of root's engine; or use the catalogue 'embedded', which needs no Docker."
    )


def explain(error: Exception) -> str:
    """Returns the engine's own error message, without the client's wrapping."""
    return str(error.explanation or error) if isinstance(error, APIError) else str(error)
