"""Guarantees of ``repaired`` for all tasks of WebArena: no generated wrong answer is met, no typed right one fails."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence

import pytest

from pytest_webarena.checks import ORIGINAL, REPAIRED, Grading, judge
from pytest_webarena.checks.upstream.rules import RULES
from pytest_webarena.evidence import Evidence
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.tasks.model import Task
from scripts.measure_gradings import tasks as webarena_tasks
from scripts.verified_answers import expected_response
from tests.cases import each_case

from .wrong_answers import string_spec, typed_answers, wrong_answers

pytestmark = pytest.mark.corpus

SITES = {
    name: f"http://{name.replace('_', '-')}.test" for name in ("shopping", "shopping_admin", "reddit", "gitlab", "map")
}
LOOSENING = tuple(rule.name for rule in RULES.values() if rule.effect == "loosens" and rule.part == "string_match")


@functools.cache
def answered() -> Mapping[int, Task]:
    """Return WebArena's tasks that check only an answer."""
    found = {}
    for number, task in webarena_tasks().items():
        checks = tuple(check for check in task.checks if check.kind == "string_match")
        if checks:
            only = Task(id=task.id, intent=task.intent, sites=task.sites, checks=checks, template=task.template)
            found[number] = only
    return found


def passes(task: Task, answer: str, grading: Grading) -> bool | None:
    return judge(task, Evidence(answer=answer, stop_reason="answered", sites=SITES), grading=grading).passed


@functools.cache
def wrong() -> Sequence[tuple[Task, str]]:
    """Wrong answers: the tasks of one template are wrong in the same ways, and share them among up to four of them.

    So each way is tried on each template. ``WEBARENA_WHOLE=1`` tries all ways on all tasks.
    """
    templates: dict[str, list[Task]] = {}
    for task in answered().values():
        templates.setdefault(task.template or task.id, []).append(task)
    found = []
    for tasks in templates.values():
        shared = 1 if os.environ.get("WEBARENA_WHOLE") == "1" else min(len(tasks), 4)
        for number, task in enumerate(tasks):
            if (spec := string_spec(task)) is not None:
                ways = [*dict.fromkeys(wrong_answers(spec))][number % shared :: shared]
                found += [(task, answer) for answer in ways]
    return found


def listed(found: Iterable[tuple[Task, str]]) -> list[str]:
    return [f"{task.id}: {answer!r}" for task, answer in found][:20]


_SOME_OR_ALL = pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.exhaustive)])
"""Out of how many wrong answers one is tried."""


@_SOME_OR_ALL
def test_no_generated_wrong_answer_is_met(every: int) -> None:
    """Includes answers that the original passes."""
    tried = wrong()[::every]
    assert len(tried) * every > 4000
    assert listed((task, answer) for task, answer in tried if passes(task, answer, REPAIRED)) == []


@_SOME_OR_ALL
def test_no_loosening_rule_alone_passes_a_wrong_answer(every: int) -> None:
    failed = [(task, answer) for task, answer in wrong()[::every] if passes(task, answer, ORIGINAL) is False]
    for rule in LOOSENING:
        grading = Grading(name="repaired", rules=frozenset({rule}))
        assert listed((task, answer) for task, answer in failed if passes(task, answer, grading)) == [], rule


def test_typed_answers_that_the_original_passes_do_not_fail() -> None:
    verified = {int(str(task.source["task_id"])): task for task in load_suite("webarena-verified").tasks}
    right = [
        (task, answer)
        for number, task in answered().items()
        for answer in typed_answers(expected_response(verified[number].checks[0].spec.eval[0]))
        if passes(task, answer, ORIGINAL)
    ]
    outcomes = [passes(task, answer, REPAIRED) for task, answer in right]
    assert len(right) > 500
    assert listed(each for each, passed in zip(right, outcomes, strict=True) if passed is False) == []
    assert outcomes.count(True) > 0.9 * len(right)


@each_case(("answer", "holds"), [("$148.80", True), ("148.8", True), ("$148", False), ("$148.90", False)])
def test_total_of_task_291_requires_its_cents(answer: str, holds: bool) -> None:
    assert passes(answered()[291], answer, REPAIRED) is holds
    assert passes(answered()[291], "$148", ORIGINAL) is True
