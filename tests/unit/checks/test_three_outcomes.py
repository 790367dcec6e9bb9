"""Three outcomes of a condition: the truth tables of the task-format reference, and who can decide the third."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_webarena.checks import Judgement, Kind, Verdict, View, judge, register
from pytest_webarena.tasks import kinds
from pytest_webarena.tasks.reference_text import AFTER_CHECKS
from pytest_webarena.tasks.shapes import Json
from pytest_webarena.trials.outcome import decide

from .helpers import evidence, task


def judge_outcome(spec: str, view: View) -> Judgement:
    if spec == "undecided":
        return Judgement.undecided(expected="5", why="it may mean 6")
    if spec == "missing":
        return Judgement.unknown(expected="5", why="the page was not read", cause="site")
    return Judgement.of(spec == "met", expected="5")


@pytest.fixture(autouse=True)
def outcome_kind() -> Iterator[None]:
    form: Any = Json()
    register(Kind(name="outcome", doc="The given outcome.", form=form, judge=judge_outcome))
    yield
    kinds._registered.clear()


def verdict(checks: str, extra: str = "") -> Verdict:
    return judge(task(checks, extra=extra), evidence("x"))


def word(found: Verdict) -> str:
    return {True: "met", False: "not met", None: "undecided"}[found.passed]


def rows(columns: int) -> list[list[str]]:
    """Return the rows of the reference's truth table with this number of columns."""
    section = AFTER_CHECKS.partition("## Scores and verdicts")[2].partition("The task passes if")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line]
    return [each for each in cells if len(each) == columns and each[0] in ("met", "not met", "undecided")]


@pytest.mark.parametrize("row", rows(2), ids=" | ".join)
def test_truth_table_of_not(row: list[str]) -> None:
    found = verdict(f"- not: {{outcome: {row[0]}}}")
    assert word(found) == row[1]
    assert found.judgeable == (row[1] == "undecided")


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("row", rows(5), ids=" | ".join)
def test_truth_table_of_combinations(row: list[str], swapped: bool) -> None:
    first, second, every, some, mean = row
    one, other = (second, first) if swapped else (first, second)
    assert word(verdict(f"- outcome: {one}\n- outcome: {other}")) == every
    assert word(verdict(f"- all: [{{outcome: {one}}}, {{outcome: {other}}}]")) == every
    assert word(verdict(f"- any: [{{outcome: {one}}}, {{outcome: {other}}}]")) == some
    parts = [f"- outcome: {first}", f"- outcome: {second}\n  weight: 3"]
    averaged = verdict("\n".join(reversed(parts) if swapped else parts), "    score: mean\n")
    kind, _, bounds = mean.partition(", ")
    assert (averaged.score is None) == (kind == "undecided")
    assert averaged.known_score == float(bounds.split(" to ")[0] if bounds else kind)


def test_tables_have_all_rows() -> None:
    assert (len(rows(2)), len(rows(5))) == (3, 7)


@pytest.mark.parametrize(
    ("checks", "judgeable"),
    [
        ("- outcome: undecided\n- outcome: met", True),
        ("- outcome: undecided\n- outcome: missing", False),
        ("- any: [{outcome: undecided}, {outcome: missing}]", False),
        ("- not: {all: [{outcome: undecided}, {outcome: met}]}", True),
        ("- all: [{any: [{outcome: missing}, {outcome: met}]}, {outcome: undecided}]", True),
        ("- outcome: undecided\n- outcome: not met", False),
        ("- outcome: missing", False),
    ],
)
def test_verdict_is_judgeable_if_no_missing_evidence_keeps_it_open(checks: str, judgeable: bool) -> None:
    assert verdict(checks).judgeable is judgeable


@pytest.mark.parametrize(
    ("threshold", "first", "second", "passed", "headline"),
    [
        (0.25, "met", "undecided", True, "passed: 1 of 2 checks holds, score at least 0.25"),
        (0.26, "met", "undecided", None, "undecided: 1 of 2 checks could not be decided"),
        (0.75, "not met", "undecided", None, "undecided: 1 of 2 checks could not be decided"),
        (0.76, "not met", "undecided", False, "failed: 0 of 2 checks hold, score at least 0"),
        (0.25, "met", "missing", True, "passed: 1 of 2 checks holds, score at least 0.25"),
        (0.26, "met", "missing", None, "undecided: 1 of 2 checks could not be decided"),
    ],
)
def test_task_passes_or_fails_if_both_bounds_do(
    threshold: float, first: str, second: str, passed: bool | None, headline: str
) -> None:
    checks = f"- outcome: {first}\n- outcome: {second}\n  weight: 3"
    found = verdict(checks, f"    score: mean\n    threshold: {threshold}\n")
    assert (found.score, found.passed, found.undecided) == (None, passed, passed is None)
    assert found.lower_bound == (0.25 if first == "met" else 0.0)
    assert (found.known_score is None) is (passed is None and second == "missing")
    assert headline in found.render().splitlines()
    assert Verdict.from_json(found.to_json()) == found


def test_missing_evidence_gives_the_reason_first() -> None:
    found = verdict("- outcome: undecided\n- outcome: missing")
    assert (found.cause, found.open_because) == ("site", "the page was not read")
    assert decide(found, stop_reason="answered", stop_detail="").outcome == "error"


def test_undecided_trial_fails_with_reason_and_remedy() -> None:
    outcome, cause, message, _ = decide(verdict("- outcome: undecided"), stop_reason="answered", stop_detail="")
    assert (outcome, cause) == ("failed", None)
    first, remedy, *_ = message.splitlines()
    assert first == "undecided: it may mean 6"
    assert "--rescore RUN --judge MODEL" in remedy


def test_stored_verdict_keeps_the_third_outcome() -> None:
    for checks in ("- outcome: undecided", "- not: {outcome: undecided}", "- outcome: missing"):
        found = verdict(checks)
        assert Verdict.from_json(found.to_json()) == found


def stored(score: float, *results: dict[str, Any], threshold: float = 1.0) -> dict[str, Any]:
    """Return a verdict as version 2 stored it."""
    made = [
        {"path": "checks[0]", "kind": "string_match", "expected": "5", "weight": 1.0, "children": [], **result}
        for result in results
    ]
    passed = score >= threshold
    old_key = "incon" + "clusive"
    return {
        "schema_version": 2, "score": score, "passed": passed, "results": made, "threshold": threshold, old_key: False,
    }  # fmt: skip


UNSURE = {"score": 0.0, "why": "unsure: it says more"}
NEGATED = {**stored(1.0, UNSURE)["results"][0], "score": 1.0}


@pytest.mark.parametrize(
    ("data", "judgeable"),
    [
        (stored(0.0, UNSURE), True),
        (stored(0.0, UNSURE, {"score": 1.0}), True),
        (stored(0.0, UNSURE, {"score": 0.0}), False),
        (stored(0.5, UNSURE, {"score": 1.0}, threshold=0.8), True),
        (stored(0.0, {"score": 0.0, "kind": "not", "children": [NEGATED]}), True),
        (stored(1.0, {"score": 1.0}), False),
        (stored(0.0, {"score": 0.0, "why": "it is wrong"}), False),
    ],
)  # fmt: skip
def test_unsure_results_of_version_2_are_undecided(data: dict[str, Any], judgeable: bool) -> None:
    found = Verdict.from_json(data)
    assert found.judgeable is judgeable
    assert found.passed is (None if judgeable else data["passed"])
    assert found.known_score == data["score"]
    if judgeable:
        assert found.open_because == "it says more"
