"""Which results of a task's checks are problems of its file."""

from __future__ import annotations

from typing import Any

from pytest_webarena.checks import Verdict
from pytest_webarena.checks.verdict import CheckResult
from pytest_webarena.validation.solutions import check_problems
from tests.unit.tasks.helpers import task

CHECKS = "[{all: [{url: /a}, {url: /b}]}, {answer: {number: 5}}]"
MET: dict[str, Any] = {"score": 1.0}
NOT_MET: dict[str, Any] = {"score": 0.0, "actual": "/x", "why": "the paths differ"}
IMPOSSIBLE: dict[str, Any] = {"score": None, "why": "there is no such table"}
UNDECIDED: dict[str, Any] = {"score": None, "judgeable": True, "why": "it has more words"}
BROKEN: dict[str, Any] = {"score": None, "cause": "site", "why": "the site failed"}


def _found(first: dict[str, Any], second: dict[str, Any], *, whole: bool = True, checks: str = CHECKS) -> list[str]:
    """The problems when the first part of ``all`` and the answer have these results."""

    def result(path: str, kind: str, given: dict[str, Any], *children: CheckResult) -> CheckResult:
        return CheckResult(path=path, kind=kind, expected="it", children=children, **given)

    parts = (result("checks[0].all[0]", "url", first), result("checks[0].all[1]", "url", MET))
    outer = {"score": first["score"]}
    results = (result("checks[0]", "all", outer, *parts), result("checks[1]", "answer", second))
    passed = None if None in (first["score"], second["score"]) else first["score"] == second["score"] == 1
    verdict = Verdict(score=None, passed=passed, results=results)
    return [f"{each.expected}; {each.found}" for each in check_problems(task("", checks=checks), verdict, whole=whole)]


def test_check_that_fails_after_the_solution_is_a_problem() -> None:
    assert _found(MET, MET) == []
    assert _found(NOT_MET, MET) == ["url after the solution: it; /x: the paths differ"]
    assert _found(BROKEN, MET) == ["url after the solution: it; the site failed"]
    assert _found(NOT_MET, MET, whole=False) == _found(BROKEN, MET, whole=False) == []


def test_check_that_nothing_can_meet_is_always_a_problem() -> None:
    expected = ["a check url that can be met; there is no such table"]
    assert _found(IMPOSSIBLE, MET) == _found(IMPOSSIBLE, NOT_MET, whole=False) == expected


def test_undecided_answer_is_a_problem_unless_the_task_needs_a_judge() -> None:
    assert _found(MET, UNDECIDED) == ["answer after the solution: it; it has more words"]
    asking = CHECKS.replace("{number: 5}}", "{number: 5}}, {rubric: {items: [{points: 1, what: Shows it.}]}}")
    assert _found(MET, UNDECIDED, checks=asking) == []
