"""Trials don't begin while the processors have nothing to spare."""

from __future__ import annotations

import math

import pytest

from pytest_webarena.trials.throttle import Throttle, processor_times


class Machine:
    """One that is idle for ``idle`` of its time, from a look to the next one; the last of them stays."""

    def __init__(self, *idle: float) -> None:
        self.now = 100.0
        self.slept: list[float] = []
        self._idle = list(idle)
        self._spare = self._total = 0.0

    def read(self) -> tuple[float, float]:
        return self._spare, self._total

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_by(seconds)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self._total += 100 * seconds
        self._spare += 100 * seconds * self._idle[0]
        if len(self._idle) > 1:
            del self._idle[0]

    def throttle(self, free: int = 2, **more: float) -> Throttle:
        return Throttle(free, **more, read=self.read, sleep=self.sleep, clock=lambda: self.now)


def test_the_first_ones_are_never_held() -> None:
    machine = Machine(0.0)
    throttle = machine.throttle()
    assert [throttle.hold(lambda: 0), throttle.hold(lambda: 1)] == [0.0, 0.0]
    assert machine.slept == []


def test_others_are_held_until_there_is_something_to_spare() -> None:
    machine = Machine(0.0, 0.01, 0.5)
    assert machine.throttle().hold(lambda: 2) > 0.0
    assert len(machine.slept) == 3


@pytest.mark.parametrize(("idle", "passing"), [(1.0, 4), (0.5, 2), (0.06, 1)])
def test_as_many_pass_by_one_look_as_there_is_something_to_spare_for(idle: float, passing: int) -> None:
    machine = Machine(idle)
    throttle = machine.throttle(free=4)
    for _ in range(passing):
        throttle.hold(lambda: 9)
    assert len(machine.slept) == 1
    throttle.hold(lambda: 9)
    assert len(machine.slept) == 2


def test_a_look_is_not_believed_for_long() -> None:
    machine = Machine(1.0, 0.0, 0.0, 0.5)
    throttle = machine.throttle(free=4)
    assert throttle.hold(lambda: 9) == pytest.approx(0.15)
    machine.pass_by(0.2)  # with nothing to spare: three more could have passed
    assert throttle.hold(lambda: 9) == pytest.approx(0.30)


def test_the_time_since_the_last_look_is_one() -> None:
    machine = Machine(1.0)
    throttle = machine.throttle()
    throttle.hold(lambda: 9)
    machine.pass_by(0.5)
    assert throttle.hold(lambda: 9) == 0.0
    machine.pass_by(2.0)
    assert throttle.hold(lambda: 9) == pytest.approx(0.15)  # too long ago


def test_nobody_is_held_for_ever_and_nobody_once_the_run_is_broken_off() -> None:
    machine = Machine(0.0)
    throttle = machine.throttle()
    assert 5.0 <= throttle.hold(lambda: 2) < 5.3
    machine.slept.clear()
    assert throttle.hold(lambda: 2, over=lambda: True) == 0.0
    assert machine.slept == []


def test_who_has_no_other_measure_waits_until_few_are_under_way() -> None:
    machine = Machine(0.0)
    under_way = iter([9] * 100 + [1] * 100)
    assert 5.3 < machine.throttle(most=math.inf).hold(lambda: next(under_way)) < 20.0


def test_where_nobody_tells_nobody_is_held() -> None:
    assert Throttle(1, read=lambda: None, sleep=lambda seconds: None).hold(lambda: 9) < 1.0


def test_this_machine_tells() -> None:
    if (times := processor_times()) is None:
        pytest.skip("no /proc/stat here")
    assert 0 <= times[0] <= times[1]
