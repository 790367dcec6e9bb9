"""Pods where containers run: network namespaces that stay while an app's containers come and go, as in a pod.

Each container with a network of its own gives the machine an interface, and that an address some time later. A browser
drops what it is asking for whenever an address comes or goes, so a reset for one trial would disturb another's pages.
A container that joins a pod changes nothing, keeps the address of the one before it, and starts sooner.
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
"""What keeps a pod open; longer, in seconds, than any run."""


class Pods:
    """The pods of a run, made when they are first needed. Threads share it; all calls block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: dict[str, list[Pod]] = {}
        self._tenancies: dict[str, int] = {}
        """Of the pods in use, by their keepers."""
        self._numbers = itertools.count(1)
        self._without: set[str] = set()
        """Images without a program to keep a pod open with."""

    def take(self, client: DockerClient, app: str, order: Order) -> Pod | None:
        """A pod for a container of ``app``, to itself; None when its image can't keep one open.

        The container then needs an address of its own. Pods of units are taken in the name of their place, too.
        """
        with self._lock:
            if order.image in self._without:
                return None
            if free := self._free.get(app):
                return self._let(free.pop())
        try:
            kept = containers.launch(client, _keeping(client, app, order))
        except containers.NoSuchProgram:
            with self._lock:
                self._without.add(order.image)
            return None
        with self._lock:
            return self._let(Pod(app=app, keeper=kept.id, ip=kept.ip))

    def give_back(self, pod: Pod) -> None:
        """The container for which it was taken is gone. To be told so again, perhaps late, changes nothing.

        Otherwise two containers would come to share the pod, and what is asked of the one be answered by the other.
        """
        with self._lock:
            if self._tenancies.get(pod.keeper) == pod.tenancy:
                del self._tenancies[pod.keeper]
                self._free.setdefault(pod.app, []).append(pod)

    def give_up(self, client: DockerClient, pod: Pod) -> None:
        """Nothing would start there, perhaps for want of its keeper: the next one gets another pod."""
        with suppress(SiteError, *ENGINE_ERRORS):
            containers.remove(client, pod.keeper)

    def _let(self, pod: Pod) -> Pod:
        number = self._tenancies[pod.keeper] = next(self._numbers)
        return replace(pod, tenancy=number)


def _keeping(client: DockerClient, app: str, order: Order) -> Order:
    """A container that keeps a pod open: the app's own image, which is there, with nothing of the app in it."""
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
        tmpfs=declared_volumes(client, order.image),  # else the engine would copy what the image holds there
    )
