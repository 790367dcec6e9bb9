"""The check kind ``symbolic``: labelled pairs, its forms in task files, what is undecided, and hostile answers."""

from __future__ import annotations

import functools
import json
import re
import resource
from pathlib import Path
from typing import Any

import pytest
import sympy
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_webarena.checks import judge
from pytest_webarena.checks.computed import symbolic
from pytest_webarena.checks.computed.building import build
from pytest_webarena.checks.computed.confined_process import run_confined
from pytest_webarena.checks.computed.grammar import parse
from pytest_webarena.checks.computed.symbolic import SYMBOLIC, SymbolicSpec, decide, decide_alone
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.judge_protocol import Decision, Grade, JudgeOff, JudgeUnreadable, Question
from pytest_webarena.checks.verdict import CheckResult
from pytest_webarena.errors import JudgeError, TaskFileError
from tests.cases import each_case
from tests.unit.checks.helpers import evidence, result, task

PAIRS: list[dict[str, Any]] = yaml.load(
    Path(__file__).with_name("pairs.yaml").read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
)


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    assert SYMBOLIC.make_ready is not None
    SYMBOLIC.make_ready(SymbolicSpec(equals=("x",)))


def check_of(pair: dict[str, Any]) -> str:
    reference = pair["reference"]
    key = "one_of" if isinstance(reference, list) else "equals"
    return f"symbolic: {json.dumps({key: reference, **pair.get('options', {})})}"


@pytest.mark.matrix(15)
@pytest.mark.corpus
@pytest.mark.parametrize("start", range(0, len(PAIRS), 25))
def test_labelled_pairs(start: int) -> None:
    pairs = PAIRS[start : start + 25]
    specs: list[Any] = [task(f"- {check_of(pair)}").checks[0].spec for pair in pairs]

    def judge() -> list[tuple[str, str, bool]]:
        return [
            decide_alone(spec, str(pair["answer"]), pair.get("intent", ""))
            for spec, pair in zip(specs, pairs, strict=True)
        ]

    wrong = []
    for pair, found in zip(pairs, run_confined(judge, seconds=100), strict=True):
        met = bool(pair["equal"]) and not pair.get("undecided")
        if (found[0] == "equal") is not met or found[2] is not (pair["equal"] not in (True, False)):
            wrong.append((pair, found))
        elif pair["equal"] and found[0] == "unequal":
            wrong.append((pair, found))  # what is right may be undecided, but is never not met
    assert wrong == []


def test_the_pairs_are_many_and_of_both_kinds() -> None:
    labels = [pair["equal"] for pair in PAIRS]
    assert labels.count(True) >= 200
    assert labels.count(False) >= 90


@each_case(
    ("check", "answer", "score", "why"),
    [
        ('symbolic: "x^2 + 1"', "1 + x**2", 1.0, ""),
        ('symbolic: "x^2 + 1"', "We find\nANSWER: $1 + x^2$.", 1.0, ""),
        ('symbolic: "x^2 + 1"', r"\boxed{x^2 + 1}", 1.0, ""),
        ("symbolic: 4", "2^2", 1.0, ""),
        ('symbolic: "x^2 + 1"', "**Answer:** `x**2 + 1`", 1.0, ""),
        ('symbolic: "x^2 + 1"', "We get $\\boxed{x^2}$, so $\\boxed{x^2 + 1}$", None, "the formulas differ"),
        ("symbolic: {equals: x^2 + 1, marker: true}", "It is x^2.\nANSWER: $x^2 + 1$", 1.0, ""),
        ("symbolic: {equals: x^2 + 1, marker: true}", "x^2 + 1", 0.0, "no final answer"),
        ('symbolic: "x^2 + 1"', "x^2", 0.0, "the formulas differ"),
        ('symbolic: "x^2 + 1"', None, 0.0, "the agent gave no answer"),
        ('symbolic: "x^2 + 1"', "I am not sure?", 0.0, "no formula has"),
        ('symbolic: "x^2 + 1"', "N/A", 0.0, "said that the question can't be answered"),
        ("symbolic: {equals: x^2/2 + C, up_to: constant}", "x^2/2", 0.5, "right up to a constant"),
        ("symbolic: {equals: x^2/2 + C, up_to: constant, up_to_score: 1}", "x^2/2", 1.0, "right up to a constant"),
        ("symbolic: {equals: x^2/2 + C, up_to: constant}", "x^2/2 + C", 1.0, ""),
        ("symbolic: {one_of: [x, y]}", "y", 1.0, ""),
        ("symbolic: 1/2", "The answer is one half.", 1.0, ""),
        ("symbolic: 1/2", "Answer: two-thirds", 0.0, "the formulas differ"),
        ("symbolic: 1/2", "The square is one half", None, "the formulas differ"),
        ("symbolic: 1/2", "It is less than one half", None, "the formulas differ"),
        ("symbolic: a/(bc)", "a/bc", None, r"it is right if 'a/bc' in it means a/\(bc\)"),
        ("symbolic: e^{-t/RC}", "e^{-t/(RC)}", None, "it is right if 'a/bc' in the reference means"),
        ("symbolic: x", "x = y = 3", None, "the formulas differ, and it has other names: y"),
        ("symbolic: 3x", "y = 2x = 3x", 0.0, "several different things"),
    ],
)
def test_scores_and_reasons(check: str, answer: str | None, score: float | None, why: str) -> None:
    found = result(check, evidence(answer))
    assert found.score == score
    assert re.search(why, found.why) if why else not found.why


UNDECIDED = r"x + e^{-e^{20}}"
"""It differs from x by less than can be seen."""


def test_what_is_undecided_counts_neither_for_nor_against() -> None:
    found = result("symbolic: x", evidence(UNDECIDED))
    assert (found.score, found.judgeable) == (None, True)
    negated = result("not: {symbolic: x}", evidence(UNDECIDED))
    assert (negated.score, negated.judgeable) == (None, True)


class Model:
    """A judge model with one opinion."""

    def __init__(self, opinion: Decision | None) -> None:
        self.opinion = opinion
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Grade:
        self.asked.append(question)
        if self.opinion is None:
            raise JudgeOff("no judge is configured")
        return Grade(decision=self.opinion, replies=("so",), model="m", prompt="p@1", temperature=None)


def asked(model: Model, answer: str, check: str = "symbolic: {equals: x, ask: true}") -> CheckResult:
    [only] = judge(task(f"- {check}"), evidence(answer), asker=model).results
    return only


@each_case(
    ("opinion", "score", "why"),
    [
        ("correct", 1.0, "m (p@1): correct"),
        ("incorrect", 0.0, "m (p@1): incorrect"),
        ("partially_correct", 0.0, "m (p@1): partially correct"),
        (None, None, "neither equal nor different"),
    ],
)
def test_the_judge_model_decides_what_is_undecided(opinion: Decision | None, score: float | None, why: str) -> None:
    model = Model(opinion)
    found = asked(model, UNDECIDED)
    assert found.score == score
    assert why in found.why
    assert [(question.answer, question.kind) for question in model.asked] == [(UNDECIDED, "formula")]


@pytest.mark.parametrize(
    ("fault", "score", "cause"),
    [
        (JudgeError("it is down"), None, "judge"),
        (JudgeUnreadable("no grade", replies=("?",)), None, "agent"),
    ],
)
def test_a_judge_that_fails_where_it_is_to_decide_is_not_the_agents_fault(
    fault: JudgeError, score: float | None, cause: str
) -> None:
    class Failing(Model):
        def ask(self, question: Question) -> Grade:
            raise fault

    found = asked(Failing(None), UNDECIDED)
    assert (found.score, found.cause or "agent") == (score, cause)
    assert str(fault) in found.why


def test_the_judge_model_is_asked_about_nothing_else() -> None:
    model = Model("correct")
    assert asked(model, "x + 1").score == 0.0
    assert asked(model, "what?").score == 0.0
    assert model.asked == []
    assert asked(model, UNDECIDED, "symbolic: x").score == 1.0
    assert [question.kind for question in model.asked] == ["equivalent"]


def test_without_sympy_the_reason_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "missing_libraries", lambda: ("sympy",))
    found = result("symbolic: x", evidence("x"))
    assert (found.score, found.cause) == (None, "judge")
    assert "pip install 'pytest-webarena[math]'" in found.why


@each_case(
    ("check", "problem"),
    [
        ("symbolic: 'x +'", "expected a formula, found 'x \\+', where it breaks off"),
        ("symbolic: {equals: '\\foo'}", "the command \\\\foo is not understood"),
        ("symbolic: {one_of: [x, '(']}", "where it breaks off"),
        ("symbolic: {rename: true}", "either 'equals' or 'one_of', found neither"),
        ("symbolic: {equals: x, one_of: [y]}", "found both"),
        ("symbolic: {equals: x, positive: x+1}", "'x\\+1' is no name"),
        ("symbolic: {equals: x, domain: {x: [2, 1]}}", "the smaller one first"),
        ("symbolic: {equals: x, rel: 0.1, up_to: factor}", "'rel' or 'up_to', found both"),
        ("symbolic: {equals: x, rel: 2}", "a number from 0 to"),
    ],
)
def test_faults_of_the_task_file(check: str, problem: str) -> None:
    with pytest.raises(TaskFileError, match=problem):
        task(f"- {check}")


def test_a_reference_that_cannot_be_computed_is_the_tasks_fault() -> None:
    found = result("symbolic: 10^{10^{10}}", evidence("x"))
    assert found.score is None
    assert found.cause is None
    assert "the reference is no formula: '10^{10^{10}}': it has a power that is too large" in found.why


def test_sympy_reads_no_text_where_answers_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "decide_alone", lambda spec, text, intent: (str(sympy.sympify("1 + 1")), "", False))
    verdict, why, _ = decide(SymbolicSpec(equals=("x",)), "x")
    assert verdict == "undecided"
    assert "SympifyError" in why
    assert sympy.sympify("1 + 1") == 2  # here it still does


def test_answers_are_read_where_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr("pytest_webarena.checks.computed.comparing.parse", endless)
    monkeypatch.setattr(symbolic, "run_confined", functools.partial(run_confined, seconds=0.2))
    verdict, why, _ = decide(SymbolicSpec(equals=("x",)), "y")
    assert (verdict, "processor time" in why) == ("undecided", True)


HOSTILE = (
    "__import__('os').mkdir('TRACE')",
    "open('TRACE', 'w').write('x')",
    "exec(\"open('TRACE','w')\")",
    "10**10**10",
    "9^9^9^9^9^9",
    "(10^9)!",
    "((3!)!)!",
    "x**(10**9)",
    "x" * 100_000,
    "7" * 100_000,
    "(" * 50_000,
    "((((x+1)^{9999})^{9999})^{9999})^{9999}",
    "(a+b+c+d+f+g)^{5000} - (x-y)^{4000}",
    r"\sum_{k=1}^{10^9} k^k",
    r"\int_0^x \sin(\sin(t^t)) dt",
    r"e^{e^{e^{e^{e^{e^{x}}}}}}",
    r"\frac{d}{dx} " * 30 + r"\tan x",
    r"\binom{x}{1000}",
    r"\sqrt{" * 38 + "x" + "}" * 38,
)


@pytest.mark.matrix(4)
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:30])
def test_hostile_answers_are_not_met_and_end_in_time(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = result("symbolic: x^2 + 1", evidence(text))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert found.score != 1.0
    assert list(tmp_path.iterdir()) == []
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            ["x", "y", "2", "(x+1)", r"\sin x", r"\frac{1}{x}", "n!", "e^x", "=", "+", "-", "^", "/", ",", "!"]
        ),
        min_size=1,
        max_size=9,
    ).map(" ".join)
)
def test_any_answer_has_a_verdict(text: str) -> None:
    verdict, why, _ = decide(SymbolicSpec(equals=("x^2 + 1",)), text)
    assert verdict in ("equal", "unequal", "unreadable", "undecided")
    assert verdict == "equal" or why


def test_the_same_text_is_always_equal_to_itself() -> None:
    for pair in PAIRS[:60]:
        if isinstance(pair["reference"], str):
            spec = SymbolicSpec(equals=(pair["reference"],))
            assert decide_alone(spec, pair["reference"])[0] == "equal"


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("\\frac{dy}{dx} = ky", "f(x) = x^2+2x!!"),
        ("x!! - y = 0", "y = 2 x!!"),
    ],
)
def test_what_sympy_refuses_to_compute_is_no_breakdown(reference: str, answer: str) -> None:
    assert "given up" not in decide_alone(SymbolicSpec(equals=(reference,)), answer)[1]


@each_case("text", ["\\sum_i c", "\\sum_i (x_i + 1)", "1 + 2 + \\dots + n", "x_1 + \\dots"])
def test_sums_without_ends_have_names_that_they_count(text: str) -> None:
    with pytest.raises(Unreadable):
        build(parse(text).tree)
