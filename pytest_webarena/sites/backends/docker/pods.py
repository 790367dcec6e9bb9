"""Pods: network namespaces that stay while an app's containers are replaced.

Each container with a network of its own gives the machine an interface, which gets an address some time later. A
browser aborts its requests whenever an address appears or disappears, so a reset for one trial would disturb the pages
of others. A container that joins a pod changes nothing, keeps its predecessor's address, and starts faster.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker import containers
from pytest_webarena.sites.backends.docker.containers import Pod
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS
from pytest_webarena.sites.backends.docker.labels import APP, POD, REPLICA
from pytest_webarena.sites.backends.docker.snapshots import declared_volumes

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker.containers import Order

__all__ = ["Pods"]

_SLEEP = ("sleep", "2147483647")
"""Command that keeps a pod open; longer, in seconds, than any run."""


class Pods:
    """The pods of a run, created when they are first needed. Threads share it; all calls block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: dict[str, list[Pod]] = {}
        self._tenancies: dict[str, int] = {}
        """Numbers of the uses of the pods in use, by keeper."""
        self._numbers = itertools.count(1)
        self._without: set[str] = set()
        """Images without a program that can keep a pod open."""

    def take(self, client: DockerClient, app: str, order: Order) -> Pod | None:
        """Returns a pod for the exclusive use of a container of ``app``; None when its image can't keep one open.

        The container then needs an address of its own. Pods of units are also identified by their network.
        """
        with self._lock:
            if order.image in self._without:
                return None
        while (pod := self._free_pod(app)) is not None:
            if not containers.end_of(client, pod.keeper):
                with self._lock:
                    return self._with_new_tenancy(pod)
            self.give_up(client, pod)  # the engine was restarted, for example
        try:
            kept = containers.launch(client, _keeper_order(client, app, order))
        except containers.NoSuchProgram:
            with self._lock:
                self._without.add(order.image)
            return None
        with self._lock:
            return self._with_new_tenancy(Pod(app=app, keeper=kept.id, ip=kept.ip))

    def _free_pod(self, app: str) -> Pod | None:
        with self._lock:
            free = self._free.get(app)
            return free.pop() if free else None

    def give_back(self, pod: Pod) -> None:
        """Mark the pod as free, after the container of this use is gone. Repeated or late calls have no effect.

        Otherwise two containers could share the pod, and one would answer requests to the other.
        """
        with self._lock:
            if self._tenancies.get(pod.keeper) == pod.tenancy:
                del self._tenancies[pod.keeper]
                self._free.setdefault(pod.app, []).append(pod)

    def give_up(self, client: DockerClient, pod: Pod) -> None:
        """Remove a pod in which nothing starts, perhaps because its keeper is gone, so that the next container gets
        another one."""
        with suppress(SiteError, *ENGINE_ERRORS):
            containers.remove(client, pod.keeper)

    def _with_new_tenancy(self, pod: Pod) -> Pod:
        number = self._tenancies[pod.keeper] = next(self._numbers)
        return replace(pod, tenancy=number)


def _keeper_order(client: DockerClient, app: str, order: Order) -> Order:
    """Returns the parameters of a container that keeps a pod open: the app's own image, but with nothing of the app
    running."""
    labels = {key: value for key, value in order.labels.items() if key not in (APP, REPLICA)}
    return replace(
        order,
        name=f"{order.name}-pod",
        entrypoint=_SLEEP[:1],
        command=_SLEEP[1:],
        labels={**labels, POD: app},
        manifest=replace(order.manifest, init=False, memory="", shm_size="", cpus=None),
        environment={},
        mounts=(),
        volumes=(),
        tmpfs=declared_volumes(client, order.image),  # else the engine would copy the image's content there
    )
