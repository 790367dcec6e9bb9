"""Automatic number of concurrent trials and of replicas."""

from __future__ import annotations

import pytest

from pytest_webarena.trials import concurrency
from pytest_webarena.trials.concurrency import automatic_width, most_replicas
from tests.cases import each_case

GIB = 1 << 30


@pytest.mark.parametrize(
    ("memory", "cores", "driven", "workers", "expected"),
    [
        (64 * GIB, 2, False, 1, 32),  # limited by two processors
        (64 * GIB, 2, False, 4, 8),  # in each of the workers
        (4 * GIB, 8, False, 1, 26),  # half of the memory, less the fixed base, in parts of 50 MiB
        (4 * GIB, 8, True, 1, 5),  # a browser per trial takes 250 MiB
        (8 * GIB, 8, False, 2, 26),  # shared by the workers, each with the base
        (1 * GIB, 8, False, 1, 1),  # at least one
        (None, 2, False, 1, 32),  # free memory is unknown
    ],
)
def test_automatic_concurrency_depends_on_memory_and_processors(
    monkeypatch: pytest.MonkeyPatch, memory: int | None, cores: int, driven: bool, workers: int, expected: int
) -> None:
    monkeypatch.setattr(concurrency, "available_memory", lambda: memory)
    monkeypatch.setattr(concurrency, "cores", lambda: cores)
    assert automatic_width(driven=driven, workers=workers) == expected


@each_case(("workers", "wide", "expected"), [(1, 1, 5), (4, 1, 14), (1, 32, 38), (4, 8, 38), (1, 2, 5), (1, 100, 114)])
def test_replica_limit_is_concurrency_plus_spares(workers: int, wide: int, expected: int) -> None:
    assert most_replicas(workers, wide) == expected
