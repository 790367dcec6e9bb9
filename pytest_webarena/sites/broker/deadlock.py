"""Finds requests that wait for each other: each for a replica that somebody holds who waits as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["Asked", "in_circles"]


class Asked(Protocol):
    """A request that waits."""

    @property
    def owner(self) -> str:
        """Who holds something while waiting; empty: whoever asks holds nothing."""

    @property
    def replica_sets(self) -> Sequence[Any]:
        """What is asked for, all at once."""


R = TypeVar("R", bound=Asked)
F = TypeVar("F", bound=Hashable)


def in_circles(waiting: Sequence[R], held: Mapping[str, Counter[F]], promised: Mapping[F, int]) -> list[R]:
    """Those of ``waiting``, in line, that hold something and would wait for ever.

    ``held`` is what each owner holds, ``promised`` how many of each can be had without anybody's giving one back.
    Whoever does not wait gives all of it back some day, and so does whoever gets what he waits for: what then is
    still not granted, by the pool's own rule of who comes first, never will be.
    """
    free: Counter[F] = Counter(promised)
    waits = Counter(request.owner for request in waiting if request.owner)
    for owner, things in held.items():
        if not waits[owner]:
            free.update(things)
    left = list(waiting)
    moved = True
    while moved:
        moved = False
        reserved: Counter[F] = Counter()
        for request in list(left):
            if not all(free[replica_set] > reserved[replica_set] for replica_set in request.replica_sets):
                reserved.update(request.replica_sets)
                continue
            left.remove(request)
            moved = True
            if request.owner:
                waits[request.owner] -= 1
                if not waits[request.owner]:
                    free.update(held.get(request.owner, Counter()))
    return [request for request in left if request.owner]
