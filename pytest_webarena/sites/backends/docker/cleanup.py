"""Removes what a run left on the engine: by label, or everything whose owner is dead."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from docker import DockerClient
from docker.errors import APIError, NotFound

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker.engine import connect, explain
from pytest_webarena.sites.backends.docker.labels import RUN, is_orphan

__all__ = ["Removed", "remove_labelled", "sweep"]

_PATIENCE = 30.0
"""Seconds to retry removals that the engine refuses at first, e.g. because a container is just starting."""
_SWEEP_PATIENCE = 1.0
"""Seconds to retry removals of what dead runs left. The engine may have lost count of a network's endpoints and then
refuses permanently; no run should begin with a long wait for that."""
_POLL = 0.05
_AT_ONCE = 8
"""Number of parallel removals: one after the other, an application of three containers took longer than a run has to
end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """Names of the removed objects."""

    containers: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    images: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.containers or self.networks or self.volumes or self.images)


def remove_labelled(
    label: str, *, client: DockerClient | None = None, settle: float = 1.0, patience: float = _PATIENCE
) -> Removed:
    """Remove everything with the label ``key=value``: containers first, then networks, volumes and images.

    Keeps looking for ``settle`` seconds after the start, because the engine may still be executing a request of an
    owner that has just died. Raises `SiteError` when something can't be removed within ``patience`` seconds, or no
    engine answers.
    """
    if "=" not in label or label.endswith("="):
        raise ValueError(f"expected a label as key=value, found {label!r}")
    removed: dict[tuple[str, str], None] = {}
    begin = time.monotonic()
    with closing(connect()) if client is None else nullcontext(client) as engine:
        while True:
            failures: list[str] = []
            for kind, resources in _labelled(engine, label):
                with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="docker-removal") as threads:
                    for (name, _), why in zip(resources, threads.map(partial(_outcome, kind), resources), strict=True):
                        if why:
                            failures.append(f"{kind} {name}: {why}")
                        elif why is not None:
                            removed[kind, name] = None
            now = time.monotonic() - begin
            if not failures and now >= settle:
                break
            if now >= patience:
                raise SiteError(
                    "\n".join([f"can't remove from the Docker engine what is labelled {label}:", *failures])
                )
            time.sleep(_POLL)
    kinds = {kind: tuple(name for one, name in removed if one == kind) for kind in _KINDS}
    return Removed(**kinds)


def sweep(client: DockerClient | None = None) -> Removed:
    """Remove everything of runs whose owner is known to be dead."""
    total: dict[str, tuple[str, ...]] = dict.fromkeys(_KINDS, ())
    with closing(connect()) if client is None else nullcontext(client) as engine:
        found = [_labels(resource) for _, resources in _labelled(engine, RUN) for _, resource in resources]
        runs = {labels[RUN] for labels in found if is_orphan(labels)}
        for run in sorted(runs):
            with suppress(SiteError):  # another process may be sweeping at the same time
                removed = remove_labelled(f"{RUN}={run}", client=engine, settle=0, patience=_SWEEP_PATIENCE)
                total = {kind: total[kind] + getattr(removed, kind) for kind in _KINDS}
    return Removed(**total)


_KINDS = ("containers", "networks", "volumes", "images")


def _labelled(client: DockerClient, label: str) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Yields kind by kind, searched lazily, the objects by name."""
    chosen: dict[str, str | list[str] | bool] = {"label": label}
    containers = client.containers.list(all=True, filters=chosen, ignore_removed=True)
    yield "containers", [(str(container.name), container) for container in containers]
    yield "networks", [(str(network.name), network) for network in client.networks.list(filters=chosen)]
    yield "volumes", [(str(volume.name), volume) for volume in client.volumes.list(filters=chosen)]
    images = []
    for summary in client.api.images(filters=chosen):
        with suppress(NotFound):  # another process has just removed it
            images.append(client.images.get(summary["Id"]))
    yield "images", [(str(image.id), image) for image in images]


def _outcome(kind: str, named: tuple[str, Any]) -> str | None:
    """Remove an object. Returns an empty text if it was removed, None if it did not exist, else the reason of the
    failure."""
    try:
        _remove(kind, named[1])
    except NotFound:
        return None
    except APIError as error:
        return explain(error)
    return ""


def _remove(kind: str, resource: Any) -> None:
    if kind == "containers":
        resource.remove(force=True, v=True)
    elif kind == "images":
        resource.remove(force=True)
    else:
        resource.remove()


def _labels(resource: Any) -> dict[str, str]:
    config = resource.attrs.get("Config") or {}
    return dict(config.get("Labels") or resource.attrs.get("Labels") or {})
