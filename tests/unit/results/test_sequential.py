"""Sequential tests that stop a comparison early at a controlled error rate."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from pytest_webarena.results.comparing.sequential import Watch


def first_settled(watch: Watch, source: random.Random, *, gain: float, loss: float, most: int) -> tuple[str, int]:
    for number in range(1, most + 1):
        size = source.choice((1, 2, 5))
        found = watch.add([1.0 if (draw := source.random()) < gain else -float(draw > 1 - loss) for _ in range(size)])
        if found:
            return found, number
    return "", most


def test_equal_agents_are_rarely_settled_as_different() -> None:
    source = random.Random(1)
    found = [first_settled(Watch(difference=0.1), source, gain=0.2, loss=0.2, most=80)[0] for _ in range(400)]
    assert found.count("better") + found.count("worse") <= 0.05 * 400


@pytest.mark.parametrize(("gain", "loss", "name"), [(0.35, 0.1, "better"), (0.1, 0.35, "worse")])
def test_real_difference_is_settled_in_its_direction(gain: float, loss: float, name: str) -> None:
    source = random.Random(2)
    found = [first_settled(Watch(difference=0.15), source, gain=gain, loss=loss, most=200) for _ in range(60)]
    assert sum(each == name for each, _ in found) >= 58
    assert np.mean([number for _, number in found]) < 60


def test_equal_agents_are_settled_as_alike() -> None:
    source = random.Random(3)
    found = [first_settled(Watch(difference=0.2), source, gain=0.1, loss=0.1, most=400) for _ in range(30)]
    assert sum(each == "alike" for each, _ in found) >= 27


def test_alike_requires_interval_within_the_difference() -> None:
    source = random.Random(4)
    for _ in range(20):
        watch = Watch(difference=0.2)
        while not watch.add([float(source.randint(-1, 1)) * (source.random() < 0.3)]):
            pass
        low, high = watch.interval()
        assert watch.decided != "alike" or max(-low, high) <= 0.2 + 1e-9


def test_expected_wealth_is_one_without_a_difference() -> None:
    """The expected wealth is one, by enumeration of all outcomes of two templates."""
    outcomes = [(-2.0, 0.1), (-1.0, 0.2), (0.0, 0.4), (1.0, 0.2), (2.0, 0.1)]
    mean = 0.0
    for first, p in outcomes:
        for second, q in outcomes:
            watch = Watch(difference=0.3)
            watch.add([first / 2] * 2)
            watch.add([second / 2] * 2)
            mean += p * q * sum(map(math.exp, watch._better.logs)) / 2
    assert mean == pytest.approx(1.0)


def test_once_settled_it_stays_settled() -> None:
    watch = Watch(difference=0.2)
    for _ in range(60):
        watch.add([1.0])
    assert watch.decided == "better"
    for _ in range(60):
        watch.add([-1.0])
    assert watch.decided == "better"


def test_interval_agrees_with_decision_and_contains_the_truth() -> None:
    source = random.Random(5)
    held = 0
    for _ in range(60):
        watch = Watch(difference=0.1)
        first_settled(watch, source, gain=0.3, loss=0.15, most=60)
        low, high = watch.interval()
        held += low <= 0.15 <= high
        assert (low > 0) == (watch.decided == "better")
    assert held >= 55
    assert Watch(difference=0.1).interval() == (-1.0, 1.0)


def test_templates_without_tasks_are_ignored() -> None:
    watch = Watch(difference=0.1)
    assert watch.add([]) == ""
    assert watch.templates == []


def test_difference_must_be_between_zero_and_one() -> None:
    with pytest.raises(ValueError, match="expected a difference above 0 and below 1, found 0"):
        Watch(difference=0)
