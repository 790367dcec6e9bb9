"""Answers that the rules can't decide are given to the judge model, and stay undecided without one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_webarena.checks import REPAIRED, Verdict, judge
from pytest_webarena.checks.judge_protocol import Decision, Grade, JudgeOff, JudgeUnreadable, Question
from pytest_webarena.errors import JudgeError
from tests.cases import each_case

from .helpers import evidence, task

INTENT = "How many lamps are there?"
UNDECIDED = "6 lamps, I guess"


class Judge:
    """A judge model with a fixed decision."""

    def __init__(self, decision: Decision = "correct", error: Exception | None = None) -> None:
        self.decision = decision
        self.error = error
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Grade:
        self.asked.append(question)
        if self.error is not None:
            raise self.error
        return Grade(decision=self.decision, replies=("so",), model="m", prompt="p@1", temperature=0.0)


def judged(check: str, answer: str, asker: Judge | None = None) -> Verdict:
    return judge(task(f"- {check}", intent=INTENT), evidence(answer), grading=REPAIRED, asker=asker)


def test_without_a_judge_the_verdict_is_undecided_and_judgeable() -> None:
    found = judged("answer: {number: 6}", UNDECIDED)
    assert found.passed is None
    assert found.judgeable
    assert 'it also says "guess"' in found.results[0].why


@each_case(("decision", "passed"), [("correct", True), ("incorrect", False), ("partially_correct", False)])
def test_a_judge_decides(decision: Decision, passed: bool) -> None:
    asker = Judge(decision)
    assert judged("answer: {number: 6, unit: km}", UNDECIDED, asker).passed is passed
    (question,) = asker.asked
    assert (question.kind, question.reference, question.answer) == ("equivalent", "the number 6 km", UNDECIDED)


def test_a_judge_is_asked_for_the_reason_of_an_impossible_task() -> None:
    asker = Judge()
    assert judged("answer: {unachievable: the shop sells no lamps}", "I could not find any.", asker).passed
    assert (asker.asked[0].kind, asker.asked[0].reference) == ("unachievable", "the shop sells no lamps")


@pytest.mark.parametrize("answer", ["6", "There are 6 lamps.", "7", "N/A"])
def test_no_judge_is_asked_about_decided_answers(answer: str) -> None:
    asker = Judge()
    judged("answer: {number: 6}", answer, asker)
    assert asker.asked == []


@each_case("error", [JudgeOff("not accurate enough"), JudgeUnreadable("no grade", replies=("?",))])
def test_a_judge_that_does_not_decide_leaves_it_undecided(error: Exception) -> None:
    found = judged("answer: {number: 6}", UNDECIDED, Judge(error=error))
    assert found.passed is None
    assert found.judgeable


@each_case("kind", [JudgeError, lambda text: JudgeUnreadable(text, replies=("?",))])
@each_case("negated", [False, True])
def test_an_answer_that_upsets_the_judge_is_not_met(kind: Callable[[str], JudgeError], negated: bool) -> None:
    error = kind("refused")
    error.cause = "agent"
    check = "not: {answer: {number: 6}}" if negated else "answer: {number: 6}"
    page = "http://shopping.test/"  # a task needs a check that refuses an empty answer, and `not` is none
    checks = f"- url: {{exact: '{page}'}}\n- {check}"
    found = judge(
        task(checks, intent=INTENT), evidence(UNDECIDED, url=page), grading=REPAIRED, asker=Judge(error=error)
    )
    assert [each.passed for each in found.results] == [True, False]
    assert found.passed is False


def test_an_unreachable_judge_is_an_error_and_no_undecided_answer() -> None:
    found = judged("answer: {number: 6}", UNDECIDED, Judge(error=JudgeError("connection refused")))
    assert found.passed is None
    assert not found.judgeable
    assert found.cause == "judge"


@each_case("check", ["answer: {name: Acme}", "string_match: {exact_match: Acme}"])
def test_both_kinds_ask_and_report_in_the_same_way(check: str) -> None:
    without = judged(check, "Acme, I guess")
    assert (without.passed, without.judgeable) == (None, True)
    assert without.results[0].why == 'it also says "guess"'
    assert judged(check, "Acme, I guess", Judge("correct")).passed is True
    assert judged(check, "Acme, I guess", Judge(error=JudgeOff("off"))).judgeable
    unreachable = judged(check, "Acme, I guess", Judge(error=JudgeError("connection refused")))
    assert (unreachable.passed, unreachable.judgeable, unreachable.cause) == (None, False, "judge")
