"""How many trials a machine can have in flight at a time, when nobody says so."""

from __future__ import annotations

from pytest_webarena.sites.broker.memory import available_memory
from pytest_webarena.trials.threaded_executor import cores

__all__ = ["automatic_width", "most_replicas"]

_BASE, _TRIAL, _DRIVEN = 700 << 20, 50 << 20, 250 << 20
"""Bytes: pytest, broker, driver and browser; a trial more, its replica included; one that has a browser of its own."""
_PER_CORE = 16


def automatic_width(*, driven: bool, workers: int = 1) -> int:
    """As many trials as half of the free memory holds, at most so many per processor; in each of ``workers``.

    ``driven``: with browsers of their own.
    """
    memory = available_memory()
    most = _PER_CORE * cores()
    if memory is not None:
        most = min(most, (memory // 2 - workers * _BASE) // (_DRIVEN if driven else _TRIAL))
    return max(1, most // workers)


def most_replicas(workers: int, wide: int) -> int:
    """Of each app: for what is in flight, and a few that are being reset meanwhile."""
    in_flight = workers * wide if wide > 1 else 0
    return max(3 * workers + 2, in_flight + in_flight // 8 + 2)
