"""The progress status of a long run."""

from __future__ import annotations

import io
import os
import re
import time
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.plugin.reporting.progress import Progress, has_foot, status_text
from pytest_webarena.sites.protocol.waits import Waiting
from tests.cases import each_case


@each_case(
    ("figures", "text"),
    [
        ((0, 0, 0, 0, 0.0), "0 trials"),
        ((0, 5, 0, 0, 3.0), "0/5 trials"),
        ((10, 10, 5, 0, 60.0), "10/10 trials · 50.0% passed"),
        ((1, 3, 0, 1, 10.0), "1/3 trials · 1 error · about 20 s left"),
        ((10, 812, 4, 2, 600.0), "10/812 trials · 50.0% passed · 2 errors · about 13 h 22 min left"),
    ],
)
def test_status_text_shows_counts_rate_and_time_left(figures: Any, text: str) -> None:
    assert status_text(*figures) == text


def report(outcome: str = "passed", when: str = "call", message: str = "") -> Any:
    properties = [("record", "x"), ("outcome", outcome)]
    return SimpleNamespace(when=when, user_properties=properties, longrepr=message)


def test_each_trial_is_counted_once() -> None:
    progress = Progress(io.StringIO(), fancy=False)
    for each in (report(), report(when="setup"), report(when="teardown"), report("error"), report("failed")):
        progress.count(each)
    progress.count(SimpleNamespace(when="call", user_properties=[]))  # type: ignore[arg-type]
    assert (progress.done, progress.passed, progress.errors) == (3, 1, 1)


def test_log_gets_one_status_line_a_minute() -> None:
    now = [0.0]
    lines: list[str] = []
    progress = Progress(io.StringIO(), fancy=False, log=lines.append, clock=lambda: now[0])
    progress.total = 100
    progress.start()
    for _ in range(12):
        now[0] += 15
        progress.count(report())
    assert lines == [
        "webarena: 4/100 trials · 100.0% passed · about 24 min left",
        "webarena: 8/100 trials · 100.0% passed · about 23 min left",
        "webarena: 12/100 trials · 100.0% passed · about 22 min left",
    ]


def test_log_reports_each_new_error_immediately() -> None:
    lines: list[str] = []
    progress = Progress(io.StringIO(), fancy=False, log=lines.append, clock=lambda: 0.0)
    progress.total = 10
    for message in ("error (model): gave up after 6 s", "error (model): gave up after 7 s", "error (site): down"):
        progress.count(report("error", message=message))
    assert lines == [
        "webarena: 1/10 trials · 1 error · about 1 s left · latest error: model: gave up",
        "  after 6 s",
        "webarena: 3/10 trials · 3 errors · about 1 s left · latest error: site: down",
    ]
    progress.leave_out()
    assert progress.text == "3/10 trials · 3 errors · 1 not run · about 1 s left · latest error: site: down"


def test_log_reports_waits_every_ten_seconds() -> None:
    now = [1000.0]
    lines: list[str] = []
    waits = [Waiting(what="shop to start", since=time.time() - 9)]
    progress = Progress(io.StringIO(), fancy=False, log=lines.append, clock=lambda: now[0], waits=lambda: waits)
    for _ in range(4):
        now[0] += 4
        progress.look()
    assert len(lines) == 2
    assert all(re.fullmatch(r"webarena: waiting for shop to start \(\d+ s\)", line) for line in lines)
    waits[:] = [Waiting(what="shop to start", since=time.time())]  # too short to be reported
    now[0] += 60
    progress.look()
    assert len(lines) == 2


class Screen:
    """A minimal terminal: rows, a cursor and a scrolling region."""

    def __init__(self, rows: int = 6, columns: int = 40) -> None:
        self.rows = [""] * rows
        self.columns = columns
        self.scrolled: list[str] = []
        self._row = self._column = 0
        self._saved = (0, 0)
        self._region = (0, rows - 1)

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        pass

    def write(self, text: str) -> None:
        for plain, escape in re.findall(r"([^\033\n]+|\n)|\033(\[[\d;]*[A-Za-z]|[78DM])", text):
            if escape:
                self._escape(escape)
            elif plain == "\n":
                self._down()
                self._column = 0
            else:
                old = self.rows[self._row].ljust(self._column)
                self.rows[self._row] = old[: self._column] + plain + old[self._column + len(plain) :]
                self._column += len(plain)
                assert self._column < self.columns

    def _escape(self, code: str) -> None:
        numbers = [int(number) for number in re.findall(r"\d+", code)]
        match code[-1]:
            case "7":
                self._saved = (self._row, self._column)
            case "8":
                self._row, self._column = self._saved
            case "D":
                self._down()
            case "A":
                self._row -= numbers[0]
            case "H":
                self._row, self._column = numbers[0] - 1, numbers[1] - 1
            case "K":
                self.rows[self._row] = ""
            case "r":
                self._region = (numbers[0] - 1, numbers[1] - 1) if numbers else (0, len(self.rows) - 1)
                self._row = self._column = 0
            case other:
                raise AssertionError(other)

    def _down(self) -> None:
        top, bottom = self._region
        if self._row == bottom:
            self.scrolled.append(self.rows.pop(top))
            self.rows.insert(bottom, "")
        else:
            self._row = min(self._row + 1, len(self.rows) - 1)

    def resize(self, rows: int) -> None:
        """Add rows at the bottom. The scrolling region is lost, as in many terminals."""
        self.rows += [""] * (rows - len(self.rows))
        self._region = (0, rows - 1)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A fake terminal of six rows, visible only to the status line."""
    screen = Screen()
    size = lambda: os.terminal_size((screen.columns, len(screen.rows)))  # noqa: E731
    monkeypatch.setattr("pytest_webarena.plugin.reporting.progress.shutil", SimpleNamespace(get_terminal_size=size))
    return screen


@pytest.mark.parametrize("before", [0, 3, 20], ids=["at the top", "in the middle", "at the foot"])
def test_status_stays_in_the_last_row_below_pytests_output(screen: Screen, before: int) -> None:
    written = [f"line {number}" for number in range(before)]
    screen.write("".join(f"{line}\n" for line in written))
    screen.write("tests.yaml ")
    progress: Progress = Progress(screen, fancy=True)  # type: ignore[arg-type]
    progress.total = 9
    progress.start()
    for number in range(9):
        screen.write(".")
        progress.count(report())
        assert screen.rows[-1].startswith(f" {number + 1}/9 trials")
        if number == 4:
            screen.write("\nnext.yaml ")
    screen.write("\n")
    progress.close()
    assert screen.rows[-1] == ""
    shown = [row for row in (*screen.scrolled, *screen.rows) if row]
    assert shown == [*written, "tests.yaml .....", "next.yaml ...."]


def test_resized_terminal_shows_one_status(screen: Screen) -> None:
    progress: Progress = Progress(screen, fancy=True)  # type: ignore[arg-type]
    progress.total = 3
    progress.count(report())
    screen.resize(9)
    progress.count(report())
    assert [row for row in screen.rows if "trials" in row] == [screen.rows[-1]]
    assert "2/3 trials" in screen.rows[-1]


def test_closed_status_draws_nothing(screen: Screen) -> None:
    progress: Progress = Progress(screen, fancy=True)  # type: ignore[arg-type]
    progress.start()
    progress.close()
    progress.count(report())
    progress.start()
    progress.close()
    assert screen.rows == [""] * 6


def test_long_status_is_truncated_to_the_row(screen: Screen) -> None:
    progress: Progress = Progress(screen, fancy=True)  # type: ignore[arg-type]
    progress.total = 10**30
    progress.count(report())
    assert len(screen.rows[-1]) == screen.columns - 1


def test_status_uses_pytests_markup(screen: Screen) -> None:
    progress: Progress = Progress(screen, fancy=True, markup=lambda text: f"<{text}>")  # type: ignore[arg-type]
    progress.start()
    assert screen.rows[-1] == "< 0 trials >"


@pytest.mark.parametrize(("term", "rows", "expected"), [("xterm", 6, True), ("dumb", 6, False), ("xterm", 3, False)])
def test_status_line_needs_a_real_terminal(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, term: str, rows: int, expected: bool
) -> None:
    monkeypatch.setenv("TERM", term)
    screen.rows = [""] * rows
    assert has_foot(screen) is expected  # type: ignore[arg-type]
    assert not has_foot(io.StringIO())
