"""Throttling of trial starts while the processors are busy."""

from __future__ import annotations

import math

import pytest

from pytest_webarena.trials.throttle import Throttle, processor_times


class Machine:
    """A machine that is idle for these shares of the time between measurements; the last one persists."""

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


def test_first_trials_are_never_delayed() -> None:
    machine = Machine(0.0)
    throttle = machine.throttle()
    assert [throttle.hold(lambda: 0), throttle.hold(lambda: 1)] == [0.0, 0.0]
    assert machine.slept == []


def test_later_trials_are_delayed_until_processors_are_idle() -> None:
    machine = Machine(0.0, 0.01, 0.5)
    assert machine.throttle().hold(lambda: 2) > 0.0
    assert len(machine.slept) == 3


@pytest.mark.parametrize(("idle", "passing"), [(1.0, 4), (0.5, 2), (0.06, 1)])
def test_one_measurement_admits_as_many_trials_as_are_idle(idle: float, passing: int) -> None:
    machine = Machine(idle)
    throttle = machine.throttle(free=4)
    for _ in range(passing):
        throttle.hold(lambda: 9)
    assert len(machine.slept) == 1
    throttle.hold(lambda: 9)
    assert len(machine.slept) == 2


def test_measurement_expires() -> None:
    machine = Machine(1.0, 0.0, 0.0, 0.5)
    throttle = machine.throttle(free=4)
    assert throttle.hold(lambda: 9) == pytest.approx(0.15)
    machine.pass_by(0.2)  # measured again: no idle time, although three more could have started
    assert throttle.hold(lambda: 9) == pytest.approx(0.30)


def test_time_since_last_measurement_is_a_measurement() -> None:
    machine = Machine(1.0)
    throttle = machine.throttle()
    throttle.hold(lambda: 9)
    machine.pass_by(0.5)
    assert throttle.hold(lambda: 9) == 0.0
    machine.pass_by(2.0)
    assert throttle.hold(lambda: 9) == pytest.approx(0.15)  # the last measurement is too old


def test_delay_ends_after_a_limit_or_when_the_run_is_aborted() -> None:
    machine = Machine(0.0)
    throttle = machine.throttle()
    assert 5.0 <= throttle.hold(lambda: 2) < 5.3
    machine.slept.clear()
    assert throttle.hold(lambda: 2, over=lambda: True) == 0.0
    assert machine.slept == []


def test_unlimited_concurrency_is_delayed_until_few_trials_run() -> None:
    machine = Machine(0.0)
    under_way = iter([9] * 100 + [1] * 100)
    assert 5.3 < machine.throttle(most=math.inf).hold(lambda: next(under_way)) < 20.0


def test_unknown_processor_times_delay_no_trial() -> None:
    assert Throttle(1, read=lambda: None, sleep=lambda seconds: None).hold(lambda: 9) < 1.0


def test_processor_times_of_this_machine() -> None:
    if (times := processor_times()) is None:
        pytest.skip("no /proc/stat here")
    assert 0 <= times[0] <= times[1]
