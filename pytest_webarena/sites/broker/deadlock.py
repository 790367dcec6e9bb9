"""Finds deadlocks: requests that wait for replicas whose holders wait as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["WaitingRequest", "deadlocked"]


class WaitingRequest(Protocol):
    """A request that waits."""

    @property
    def owner(self) -> str:
        """Lease that is held while waiting; empty if the requester holds nothing."""

    @property
    def replica_sets(self) -> Sequence[Any]:
        """What is requested, all at once."""


R = TypeVar("R", bound=WaitingRequest)
F = TypeVar("F", bound=Hashable)


def deadlocked(waiting: Sequence[R], held: Mapping[str, Counter[F]], promised: Mapping[F, int]) -> list[R]:
    """Returns those of ``waiting``, in queue order, that hold something and would wait for ever.

    ``held`` is what each owner holds; ``promised`` is how many of each would be available without any release. An owner
    that does not wait releases everything at some time, and so does one whose request is granted. What can't be granted
    then, by the pool's own order, is deadlocked.
    """
    free: Counter[F] = Counter(promised)
    waiting_by_owner = Counter(request.owner for request in waiting if request.owner)
    for owner, resources in held.items():
        if not waiting_by_owner[owner]:
            free.update(resources)
    blocked = list(waiting)
    moved = True
    while moved:
        moved = False
        reserved: Counter[F] = Counter()
        for request in list(blocked):
            if not all(free[replica_set] > reserved[replica_set] for replica_set in request.replica_sets):
                reserved.update(request.replica_sets)
                continue
            blocked.remove(request)
            moved = True
            if request.owner:
                waiting_by_owner[request.owner] -= 1
                if not waiting_by_owner[request.owner]:
                    free.update(held.get(request.owner, Counter()))
    return [request for request in blocked if request.owner]
