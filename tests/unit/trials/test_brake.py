"""Trials don't begin while the processors have nothing to spare."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from pytest_webarena.trials.brake import Brake, processor_times


def machine(*idle: float) -> tuple[Brake, list[float]]:
    """A brake on a machine that is idle for these shares of the times between looks; and how long was slept."""
    slept: list[float] = []

    def readings() -> Iterator[tuple[float, float]]:
        total = spare = 0.0
        for share in itertools.chain(idle, itertools.repeat(idle[-1])):
            yield spare, total
            total, spare = total + 100, spare + 100 * share
            yield spare, total

    told = readings()
    return Brake(2, read=lambda: next(told), sleep=slept.append), slept


def test_the_first_ones_are_never_held() -> None:
    brake, slept = machine(0.0)
    assert [brake.hold(0), brake.hold(1)] == [0.0, 0.0]
    assert slept == []


def test_others_are_held_until_there_is_something_to_spare() -> None:
    brake, slept = machine(0.0, 0.01, 0.5)
    assert brake.hold(2) > 0.0
    assert len(slept) == 3


def test_nobody_is_held_for_ever_and_nobody_once_the_run_is_broken_off() -> None:
    brake, slept = machine(0.0)
    assert 5.0 <= brake.hold(2) < 5.3
    slept.clear()
    assert brake.hold(2, over=lambda: True) == 0.0
    assert slept == []


def test_where_nobody_tells_nobody_is_held() -> None:
    assert Brake(0, read=lambda: None, sleep=lambda seconds: None).hold(9) == 0.0


def test_this_machine_tells() -> None:
    if (times := processor_times()) is None:
        pytest.skip("no /proc/stat here")
    assert 0 <= times[0] <= times[1]
