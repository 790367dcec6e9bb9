"""Gradings: names, active repairs, and other checks for the same task."""

from __future__ import annotations

import pytest

from pytest_webarena.checks import ORIGINAL, REPAIRED, VERIFIED, find_grading, judge, judge_all, needs
from pytest_webarena.checks.grading import gradings_of, headline_of
from pytest_webarena.checks.upstream.rules import RULES
from pytest_webarena.errors import TaskError, TaskFileError, UsageError
from pytest_webarena.tasks import digest

from .helpers import evidence, task


def test_repairs_can_be_switched_off() -> None:
    grading = find_grading("repaired", ["typed-references", "url-base"])
    assert grading.left_out == ("typed-references", "url-base")
    assert str(grading) == "repaired without typed-references, url-base"
    assert not grading.repairs("typed-references")
    assert grading.repairs("url-slash")
    assert find_grading("repaired") == REPAIRED
    assert not any(ORIGINAL.repairs(rule) for rule in RULES)
    assert str(VERIFIED) == "verified"


def test_unknown_gradings_and_repairs_suggest_known_names() -> None:
    with pytest.raises(UsageError, match=r"--without-repair: .* found 'url-bass'; did you mean 'url-base'"):
        find_grading("repaired", ["url-bass"])
    known = "original, repaired, verified, webcanvas-paper, webcanvas-code"
    with pytest.raises(UsageError, match=f"--grading: expected one of {known}, found 'other'"):
        find_grading("other")
    with pytest.raises(UsageError, match="with --grading=repaired, found it with original"):
        find_grading("original", ["url-base"])


def test_yaml_tasks_have_no_gradings() -> None:
    own = task("- answer: 5")
    assert gradings_of(own) == ()
    assert headline_of(own, "verified") == "verified"
    verdicts = judge_all(own, evidence("5"), headline=ORIGINAL)
    assert list(verdicts) == ["original"]
    assert (verdicts["original"].passed, verdicts["original"].grading) == (True, "")


def test_task_can_have_other_checks_per_grading() -> None:
    made = task("- answer: 5", extra="    gradings:\n      verified: [{answer: 6}, {page: {open: /x, includes: y}}]\n")
    assert [check.path for check in made.every_check] == ["checks[0]", "gradings.verified[0]", "gradings.verified[1]"]
    assert [check.path for check in needs(made.every_check).end] == ["gradings.verified[1]"]
    assert gradings_of(made) == ("verified",)
    assert digest(made) != digest(task("- answer: 5"))


def test_task_with_one_grading_is_judged_by_it() -> None:
    made = task("- answer: 5", extra="    gradings:\n      verified: [{answer: 6}]\n")
    verdict = judge(made, evidence("6"), grading=REPAIRED)
    assert (verdict.passed, verdict.grading, verdict.results[0].path) == (True, "verified", "gradings.verified[0]")


def test_missing_headline_grading_is_a_task_error() -> None:
    made = task("- answer: 5", extra="    gradings:\n      verified: [{answer: 6}]\n      original: [{answer: 7}]\n")
    assert set(judge_all(made, evidence("7"), headline=ORIGINAL)) == {"original", "verified"}
    with pytest.raises(TaskError, match="expected checks of the grading 'repaired', found original, verified"):
        judge(made, evidence("7"), grading=REPAIRED)


def test_malformed_gradings_are_refused() -> None:
    with pytest.raises(TaskFileError, match=r"expected a key of 'gradings'.*'verfied'"):
        task("- answer: 5", extra="    gradings:\n      verfied: [{answer: 6}]\n")
    with pytest.raises(TaskFileError, match="expected a list of checks"):
        task("- answer: 5", extra="    gradings:\n      verified: 5\n")
