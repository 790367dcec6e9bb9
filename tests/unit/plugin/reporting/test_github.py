"""GitHub Actions output of a run: annotations and the job summary."""

from __future__ import annotations

import html
import re
from typing import Any

from pytest_webarena.plugin.reporting.github import TaskPlace, notes, summary
from pytest_webarena.results import TrialKey, TrialRecord, summarise
from pytest_webarena.results.gate import Ruling
from tests.cases import each_case
from tests.made_up import UNDECIDED

HOLDS, FAILS = Ruling(exit_code=0, message="the thresholds are met"), Ruling(exit_code=10, message="mine: 50.0% passed")


def record(task: str, outcome: Any = "failed", **more: Any) -> TrialRecord:
    cause: Any = "site" if outcome == "error" else None
    return TrialRecord(key=TrialKey(task, "mine", 1), outcome=outcome, cause=cause, **more)


def at(*records: TrialRecord, failure: str = "answer: expected 4, found 5") -> dict[str, TaskPlace]:
    return {each.key.folder: TaskPlace("tasks/shop.yaml", line, failure) for line, each in enumerate(records, start=3)}


def page(*records: TrialRecord, ruling: Ruling | None = None, repository: str = "", failure: str = "found 5") -> str:
    return summary(
        summarise(records),
        records,
        at(*records, failure=failure),
        coverages={},
        ruling=ruling,
        repository=repository,
        folder="web",
    )


def test_failed_trial_is_an_error_annotation_at_its_task() -> None:
    failed = record("cart")
    assert list(notes([failed, record("ok", "passed")], at(failed), folder="web", gated=False)) == [
        "::error file=web/tasks/shop.yaml,line=3,title=mine%3A cart failed::answer: expected 4, found 5"
    ]


def test_errors_and_gated_failures_are_warning_annotations() -> None:
    broken, failed = record("cart", "error"), record("pay")
    found = list(notes([broken, failed], at(broken, failed), folder="", gated=True, ruling=FAILS))
    assert [line.split(" ")[0] for line in found] == ["::error", "::warning", "::warning"]
    assert "gate" in found[0]
    assert "title=mine%3A cart error (site)::" in found[1]


def test_trials_of_an_earlier_session_are_not_annotated_again() -> None:
    assert list(notes([record("cart")], {}, folder="", gated=False)) == []


def test_annotations_are_limited_to_the_number_shown() -> None:
    records = [record(f"t{number}") for number in range(14)]
    found = list(notes(records, at(*records), folder="", gated=False))
    assert len(found) == 11
    assert "4 more trials did not pass" in found[-1]


def test_agent_text_cannot_end_an_annotation_line() -> None:
    failed = record("cart")
    (line,) = notes([failed], at(failed, failure="found 100%\n::error::me\x1b[2J"), folder="", gated=False)
    assert "\n" not in line
    assert r"100%25 \::error::me" in line
    assert "\x1b" not in line


def test_summary_has_rates_gate_and_trials_that_did_not_pass() -> None:
    text = page(record("cart"), record("ok", "passed"), ruling=FAILS, repository="https://github.com/a/b/blob/abc")
    assert "| **mine** | 1/2 | 50.0% | 9.5% to 90.5% |  |  |  |" in text
    assert "❌ gate: mine: 50.0% passed" in text
    link = '<a href="https://github.com/a/b/blob/abc/web/tasks/shop.yaml#L3">cart</a>'
    assert f"| {link} | mine | failed | found 5 |" in text
    assert "ok" not in text.partition("</summary>")[2]


def test_summary_marks_undecided_trials_and_shows_both_rates() -> None:
    text = page(record("cart", **UNDECIDED), record("ok", "passed"))
    assert "| **mine** | 1–2/2 | 50.0%, 100.0% if 1 undecided is met |" in text
    assert "| cart | mine | undecided | found 5 |" in text


def test_summary_lists_failures_before_errors_and_counts_the_rest() -> None:
    text = page(record("broken", "error"), *(record(f"t{number}") for number in range(120)), ruling=HOLDS)
    assert text.index("| t0 |") < text.index("and 21 more")
    assert "| broken |" not in text
    assert "✅" in text


@each_case(
    "failure",
    [
        "a | b",
        "<img src=x onerror=y>",
        "[x](http://evil.test)",
        "**b**",
        "@everyone",
        "`code`",
        "a\n| b",
        "see #7",
        "!12",
        "at www.evil.test",
        "GH-7",
        "$x$",
        ":tada:",
    ],
)
def test_agent_text_is_escaped_in_the_summary(failure: str) -> None:
    row = next(line for line in page(record("cart"), failure=failure).splitlines() if "cart" in line)
    assert row.count("|") == 5
    cell = row.split("failed | ")[1].removesuffix(" |")
    assert not set(cell) & set("<[*@`!$")
    shown = html.unescape(cell)
    assert not re.search(r"[@#!]\w|www\.|GH-", shown), shown  # a host would link or notify
    assert ":t" not in cell
