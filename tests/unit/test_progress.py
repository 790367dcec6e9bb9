"""The status of a long run."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.reporting.progress import Progress, status_text


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ((0, 0, 0, 0, 0.0), "0 trials"),
        ((10, 10, 5, 0, 60.0), "10/10 trials · 50.0 % passed"),
        ((1, 3, 0, 1, 10.0), "1/3 trials · 1 error · about 20 s left"),
        ((10, 812, 4, 2, 600.0), "10/812 trials · 50.0 % passed · 2 errors · about 13 h 22 min left"),
    ],
)
def test_status_text(figures: Any, text: str) -> None:
    assert status_text(*figures) == text


def report(outcome: str = "passed", when: str = "call") -> Any:
    return SimpleNamespace(when=when, user_properties=[("record", "x"), ("outcome", outcome)])


def test_only_trials_count_and_each_once() -> None:
    progress = Progress(io.StringIO(), fancy=False)
    for seen in (report(), report(when="setup"), report(when="teardown"), report("error"), report("failed")):
        progress.count(seen)
    progress.count(SimpleNamespace(when="call", user_properties=[]))  # type: ignore[arg-type]
    assert (progress.done, progress.passed, progress.errors) == (3, 1, 1)


def test_a_log_gets_a_line_a_minute() -> None:
    now = [0.0]
    stream = io.StringIO()
    progress = Progress(stream, fancy=False, clock=lambda: now[0])
    progress.total = 100
    for _ in range(12):
        now[0] += 15
        progress.count(report())
    assert stream.getvalue().count("webarena: ") == 3
    assert "4/100 trials" in stream.getvalue()


def test_a_terminal_gets_its_last_row_back() -> None:
    stream = io.StringIO()
    progress = Progress(stream, fancy=True)
    progress.count(report())
    assert "\033[r" not in stream.getvalue()
    progress.close()
    assert stream.getvalue().count("\033[r") == 1
    progress.close()
    assert stream.getvalue().count("\033[r") == 1
