"""Guarantees of ``repaired`` for all tasks: loosening rules pass no wrong answer, and right answers stay right."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence

import pytest

from pytest_webarena.checks import ORIGINAL, REPAIRED, Grading, find_grading, judge
from pytest_webarena.checks.upstream.known_right import DIGESTS
from pytest_webarena.checks.upstream.rules import RULES
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks.model import Task
from scripts.known_right import digests, verified_tasks
from scripts.measure_gradings import tasks as webarena_tasks
from scripts.verified_answers import expected_response
from tests.cases import each_case

from .wrong_answers import string_spec, typed_answers, wrong_answers

pytestmark = pytest.mark.corpus

SITES = {
    name: f"http://{name.replace('_', '-')}.test" for name in ("shopping", "shopping_admin", "reddit", "gitlab", "map")
}
RULES_ALONE = find_grading("repaired", ["unsure"])
"""Without asking whether the rules can vouch for what they read, which makes more answers fail."""
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


@functools.cache
def failed_by_original(every: int) -> Sequence[tuple[Task, str]]:
    """Return wrong answers that the original fails, among every n-th one."""
    return [(task, answer) for task, answer in wrong()[::every] if passes(task, answer, ORIGINAL) is False]


def listed(found: Iterable[tuple[Task, str]]) -> list[str]:
    return [f"{task.id}: {answer!r}" for task, answer in found][:20]


_SOME_OR_ALL = pytest.mark.parametrize("every", [16, pytest.param(2, marks=pytest.mark.exhaustive)])
"""Out of how many wrong answers one is tried."""


@_SOME_OR_ALL
def test_no_single_repair_passes_a_wrong_answer(every: int) -> None:
    failed = failed_by_original(every)
    assert len(failed) * every > 1200
    for rule in LOOSENING:
        grading = Grading(name="repaired", rules=frozenset({rule}))
        assert listed((task, answer) for task, answer in failed if passes(task, answer, grading)) == [], rule


@_SOME_OR_ALL
def test_wrong_answers_fail_with_all_rules(every: int) -> None:
    """Includes answers that the original passes; the tightening rules must fail them."""
    tried = wrong()[:: every // 2]
    assert listed((task, answer) for task, answer in tried if passes(task, answer, RULES_ALONE)) == []


def test_typed_answers_that_the_original_passes_still_pass() -> None:
    verified = verified_tasks()
    right = [
        (task, answer)
        for number, task in answered().items()
        for answer in typed_answers(expected_response(verified[number].checks[0].spec.eval[0]))
        if passes(task, answer, ORIGINAL)
    ]
    assert len(right) > 500
    assert listed((task, answer) for task, answer in right if passes(task, answer, RULES_ALONE) is False) == []
    lost = [(task, answer) for task, answer in right if passes(task, answer, REPAIRED) is not True]
    assert listed(lost) == []  # and none is unsure


def test_digests_of_known_answers_equal_the_generated_ones() -> None:
    """Only of answers that the rules pass but are unsure about."""
    assert set(digests()) == set(DIGESTS)


@each_case(("answer", "holds"), [("$148.80", True), ("148.8", True), ("$148", False), ("$148.90", False)])
def test_total_of_task_291_requires_its_cents(answer: str, holds: bool) -> None:
    assert passes(answered()[291], answer, REPAIRED) is holds
    assert passes(answered()[291], "$148", ORIGINAL) is True
