"""What CI prints about the time that the suite took (``scripts/test_budget.py``)."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.test_budget import SHOWN, SINGLE, WALL, speed, summary


def report(folder: Path, *seconds: float, wall: float) -> Path:
    cases = "".join(
        f'<testcase classname="tests.unit.test_a" name="test_{number}" time="{took}"/>'
        for number, took in enumerate(seconds)
    )
    path = folder / "junit.xml"
    path.write_text(f'<testsuites><testsuite time="{wall}">{cases}</testsuite></testsuites>')
    return path


def test_the_slowest_tests_come_last_and_no_others_are_listed(tmp_path: Path) -> None:
    *slowest, verdict = summary(report(tmp_path, 3.0, *[0.1] * SHOWN, wall=9), load=0.5)
    assert len(slowest) == SHOWN
    assert slowest[-1].split() == ["3.0", "s", "unit.test_a::test_0"]
    assert verdict == (
        f"test_budget: within the budget: 9 s of {WALL} s; {SHOWN + 1} tests took 5 s in all workers, "
        f"0 of them more than {SINGLE} s; load 0.5"
    )


def test_a_long_run_and_a_long_test_are_over_the_budget(tmp_path: Path) -> None:
    assert "OVER THE BUDGET" in summary(report(tmp_path, 1.0, wall=WALL + 1), load=0.5)[-1]
    over = summary(report(tmp_path, SINGLE + 1, wall=SINGLE), load=0.5)[-1]
    assert "OVER THE BUDGET" in over
    assert "1 of them" in over


def test_a_missing_report_is_a_sentence(tmp_path: Path) -> None:
    assert "expected pytest's report" in summary(tmp_path / "none.xml", load=0.5)[0]


def test_speed_of_the_machine_is_a_line() -> None:
    assert re.match(
        r"test_budget: speed: 1,000 additions in Python take \d+\.\d\d CPU s; \d+ CPUs, Python 3", speed(1_000)
    )
