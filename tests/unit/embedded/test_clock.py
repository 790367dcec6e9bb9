"""The world's clock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date, timedelta

import pytest

from pytest_webarena.embedded import clock
from pytest_webarena.embedded.world import EPOCH


class _Time:
    def __init__(self) -> None:
        self.value = 5000.25

    def __call__(self) -> float:
        return self.value


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Time]:
    source = _Time()
    monkeypatch.setattr("time.monotonic", source)
    clock.restart()
    yield source
    monkeypatch.undo()
    clock.restart()


def test_starts_with_the_first_reading_and_ticks_in_seconds(ticking: _Time) -> None:
    ticking.value += 600  # a waiting spare
    assert clock.now() == EPOCH
    ticking.value += 61.9
    assert clock.now() == EPOCH + timedelta(seconds=61)
    assert clock.today() == date(2025, 5, 14)
    ticking.value += 15 * 3600
    assert clock.today() == date(2025, 5, 15)


def test_restart_resets_the_clock_to_the_epoch(ticking: _Time) -> None:
    clock.now()
    ticking.value += 100
    clock.restart()
    assert clock.now() == EPOCH


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_forked_child_restarts_the_clock_with_the_lock_held(ticking: _Time) -> None:
    clock.now()
    ticking.value += 100
    with clock._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if clock.now() == EPOCH else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert clock.now() == EPOCH + timedelta(seconds=100)
