"""Work in a process of its own: what comes back, and what becomes of work that takes too much."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from pytest_webarena.checks.computed.confined_process import Ended, run_confined


def test_what_is_found_comes_back() -> None:
    here = os.getpid()
    found, where = run_confined(lambda: ({"a": [1, 2]}, os.getpid()))
    assert found == {"a": [1, 2]}
    assert where != here


def test_a_large_result_comes_back() -> None:
    assert len(run_confined(lambda: "x" * 3_000_000)) == 3_000_000


def test_work_without_end_is_ended_even_inside_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pytest_webarena.checks.computed.confined_process.PATIENCE", 1000.0
    )  # the clock has no part in it
    with pytest.raises(Ended, match="processor time"):
        run_confined(lambda: 7 ** (10**8) % 11, seconds=0.2)


def test_sleeping_work_is_ended_by_the_clock() -> None:
    with pytest.raises(Ended, match="longer than"):
        run_confined(lambda: time.sleep(60), seconds=0.02)


def test_memory_is_limited() -> None:
    with pytest.raises(Ended, match="memory"):
        run_confined(lambda: len(bytearray(400_000_000)), megabytes=100)


def test_a_death_is_told() -> None:
    with pytest.raises(Ended, match="exit code 3"):
        run_confined(lambda: os._exit(3))


def test_what_it_raises_is_told() -> None:
    def fail() -> None:
        raise KeyError("no such thing")

    with pytest.raises(Ended, match="KeyError: 'no such thing'"):
        run_confined(fail)


def test_a_number_too_large_is_told() -> None:
    with pytest.raises(Ended, match="a number in it is too large"):
        run_confined(lambda: float(10**400))


def test_endless_recursion_is_told() -> None:
    def deeper(number: int) -> int:
        return deeper(number + 1) + 1

    with pytest.raises(Ended, match="nested too deeply"):
        run_confined(lambda: deeper(0))


def test_it_writes_no_file(tmp_path: Path) -> None:
    with pytest.raises(Ended):
        run_confined(lambda: (tmp_path / "a").write_text("hello"))
    assert not (tmp_path / "a").exists() or not (tmp_path / "a").read_text()


def test_nothing_is_left_behind() -> None:
    def held() -> tuple[int, set[int]]:
        return len(os.listdir("/proc/self/fd")), {child.pid for child in psutil.Process().children()}

    before = held()
    for _ in range(5):
        run_confined(lambda: 1)
    assert held() == before
