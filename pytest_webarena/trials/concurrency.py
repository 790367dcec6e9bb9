"""Default number of trials that a machine runs concurrently."""

from __future__ import annotations

from pytest_webarena.sites.broker.memory import available_memory
from pytest_webarena.trials.threaded_executor import cores

__all__ = ["automatic_width", "most_replicas", "most_workers"]

_BASE, _TRIAL, _DRIVEN = 700 << 20, 50 << 20, 250 << 20
"""Memory in bytes: for pytest, broker, driver and browser; for each further trial with its replica; for each trial with
a browser of its own."""
_PER_CORE = 16


def automatic_width(*, driven: bool, workers: int = 1) -> int:
    """The number of trials per worker that fit in half of the free memory, limited per processor core.

    Args:
        driven: Whether each trial has a browser of its own.
        workers: Number of worker processes that share the machine.
    """
    memory = available_memory()
    most = _PER_CORE * cores()
    if memory is not None:
        most = min(most, (memory // 2 - workers * _BASE) // (_DRIVEN if driven else _TRIAL))
    return max(1, most // workers)


def most_workers() -> int | None:
    """The number of worker processes, each with a browser, that fit in half of the free memory; None if unknown."""
    memory = available_memory()
    return None if memory is None else max(1, memory // 2 // _BASE)


def most_replicas(workers: int, concurrency: int) -> int:
    """The maximum number of replicas of each app: for the trials in flight, and a few that are being reset."""
    in_flight = workers * concurrency if concurrency > 1 else 0
    return max(3 * workers + 2, in_flight + in_flight // 8 + 2)
