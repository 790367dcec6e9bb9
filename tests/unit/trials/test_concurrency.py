"""How many trials at once a machine has room for, and how many replicas these need."""

from __future__ import annotations

import pytest

from pytest_webarena.trials import concurrency
from pytest_webarena.trials.concurrency import automatic_width, most_replicas
from tests.cases import each_case

GIB = 1 << 30


@pytest.mark.parametrize(
    ("memory", "cores", "driven", "workers", "expected"),
    [
        (64 * GIB, 2, False, 1, 32),  # as many as two processors have room for
        (64 * GIB, 2, False, 4, 8),  # in each of the workers
        (4 * GIB, 8, False, 1, 26),  # half of it, less what there is once, in parts of 50 MiB
        (4 * GIB, 8, True, 1, 5),  # browsers of their own take 250
        (8 * GIB, 8, False, 2, 26),  # of which each worker takes its share, and the base once more
        (1 * GIB, 8, False, 1, 1),  # never none
        (None, 2, False, 1, 32),  # nobody says how much is free
    ],
)
def test_the_machine_says_how_many(
    monkeypatch: pytest.MonkeyPatch, memory: int | None, cores: int, driven: bool, workers: int, expected: int
) -> None:
    monkeypatch.setattr(concurrency, "available_memory", lambda: memory)
    monkeypatch.setattr(concurrency, "cores", lambda: cores)
    assert automatic_width(driven=driven, workers=workers) == expected


@each_case(("workers", "wide", "expected"), [(1, 1, 5), (4, 1, 14), (1, 32, 38), (4, 8, 38), (1, 2, 5), (1, 100, 114)])
def test_there_are_replicas_for_what_is_in_flight_and_a_few_more(workers: int, wide: int, expected: int) -> None:
    assert most_replicas(workers, wide) == expected
