"""The check kinds ``cost``, ``tokens``, ``steps`` and ``seconds``: within limits, above them, or unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.agents.audit_trials import audit_trials
from pytest_webarena.checks import judge
from pytest_webarena.errors import TaskFileError
from pytest_webarena.evidence import Evidence, StepRecord, Usage
from pytest_webarena.testing import make_task
from tests.cases import each_case

from .helpers import evidence, result, task


def step(index: int, used: Usage | None = None) -> StepRecord:
    return StepRecord(index=index, action={"kind": "noop"}, raw="", usage=used)


def told(*parts: Usage | None, gap: str = "", seconds: float | None = 10.0, **facts: Any) -> Evidence:
    """Return evidence of a trial with a step for each of ``parts``, after a JSON round trip."""
    known = [part for part in parts if part is not None]
    facts = {"usage": sum(known, Usage()) if known else None, "usage_gap": gap, "agent_seconds": seconds, **facts}
    made = evidence("x", steps=tuple(step(index, part) for index, part in enumerate(parts)), **facts)
    return Evidence.from_json(made.to_json())


def call(cost: float | None = 0.05, tokens: int = 100, **more: Any) -> Usage:
    return Usage(calls=1, input_tokens=tokens - 10, output_tokens=10, cost=cost, **more)


@each_case(
    ("check", "recorded", "score", "said"),
    [
        ("cost: {at_most: 0.15}", told(call(), call()), 1.0, "$0.1000"),
        ("cost: {at_most: 0.15}", told(call(), call(), call()), 1.0, "$0.1500"),  # 0.05 + 0.05 + 0.05 > 0.15 in floats
        ("cost: {at_most: 0.15}", told(call(), call(0.1001)), 0.0, "$0.1501"),
        ("cost: {at_most: 0}", told(usage=Usage()), 1.0, "$0"),
        ("cost: {at_most: 0}", told(call(0.0)), 1.0, "$0"),  # a self-hosted model
        ("tokens: {at_most: 200}", told(call(None), call(None)), 1.0, "200 tokens"),
        ("tokens: {at_most: 199}", told(call(), call()), 0.0, "200 tokens"),
        ("steps: {at_most: 2}", told(None, None), 1.0, "2 steps"),
        ("steps: {at_most: 1}", told(None, None), 0.0, "2 steps"),
        ("seconds: {at_most: 10}", told(call()), 1.0, "10 s"),
        ("seconds: {at_most: 9.5}", told(call()), 0.0, "10 s"),
    ],
)
def test_known_usage_is_compared_with_the_limit(check: str, recorded: Evidence, score: float, said: str) -> None:
    found = result(check, recorded)
    assert (found.score, found.actual) == (score, said)


@each_case(
    ("check", "recorded", "why"),
    [
        ("cost: {at_most: 9}", told(None), "what the agent used was not recorded"),
        ("tokens: {at_most: 9}", told(None, gap="the agent did not tell"), "the agent did not tell"),
        ("cost: {at_most: 9}", told(call(), gap="cut off"), "cut off"),
        ("tokens: {at_most: 900}", told(call(), gap="cut off"), "cut off"),
        ("cost: {at_most: 9}", told(call(), call(None)), "--prices makes it known"),
        ("cost: {at_most: 9}", told(call(), Usage(untold_calls=1)), "1 request to its model, given up"),
        ("tokens: {at_most: 900}", told(call(), Usage(calls=2, untold_calls=2, cost=None)), "2 requests to its model"),
        ("tokens: {at_most: 900}", told(call(), Usage(cost=0.01)), "dollars without their tokens"),
        ("tokens: {at_most: 900}", told(Usage(calls=1)), "without their tokens"),
        ("seconds: {at_most: 90}", told(call(), seconds=None), "was not measured"),
        ("seconds: {at_most: 90}", told(replace(call(0.0), cached_calls=1, saved=0.1)), "1 of its 1 replies came from"),
    ],
)
def test_unknown_usage_is_undecided_also_in_not(check: str, recorded: Evidence, why: str) -> None:
    for wrapped in (check, f"not: {{{check}}}"):
        found = judge(task(f"- {wrapped}"), recorded)
        assert (found.passed, found.cause) == (None, "task")
        assert why in found.open_because


@each_case(
    ("check", "recorded", "said"),
    [
        ("cost: {at_most: 0.04}", told(call(), call(None)), "at least $0.0500"),  # the sum of both is not known
        ("cost: {at_most: 0.04}", told(call(), None, gap="step 1"), "at least $0.0500"),
        ("tokens: {at_most: 99}", told(call(), gap="cut off"), "at least 100 tokens"),
        ("seconds: {at_most: 9}", told(replace(call(0.0), cached_calls=1, saved=0.1)), "at least 10 s"),
    ],
)
def test_partial_usage_above_the_limit_fails(check: str, recorded: Evidence, said: str) -> None:
    found = result(check, recorded)
    assert (found.score, found.actual) == (0.0, said)
    assert result(f"not: {{{check}}}", recorded).score == 1.0


def test_cached_calls_cost_the_same_as_paid_ones() -> None:
    paid, cached = call(0.2), replace(call(0.0), cached_calls=1, saved=0.2)
    for check, score in (("cost: {at_most: 0.15}", 0.0), ("cost: {at_most: 0.2}", 1.0)):
        assert [result(check, told(used)).score for used in (paid, cached)] == [score, score]


def test_usage_checks_combine_with_other_checks() -> None:
    unknown, fine = told(None), told(call())
    enough = "[{answer: x}, {cost: {at_most: 1}}]"
    assert [result(f"{kind}: {enough}", unknown).score for kind in ("any", "all")] == [1.0, None]
    assert result("all: [{answer: y}, {cost: {at_most: 1}}]", unknown).score == 0.0  # decided by the other check
    assert result(f"all: {enough}", fine).score == 1.0
    mean = task("- {answer: x, weight: 3}\n- cost: {at_most: 0.01}", extra="    score: mean\n")
    assert judge(mean, fine).score == 0.75


def test_older_evidence_knows_only_steps() -> None:
    data = told(call()).to_json() | {"schema_version": 7}
    for name in ("usage", "usage_gap", "agent_seconds"):
        del data[name]
    old = Evidence.from_json(data)
    found = [result(f"{kind}: {{at_most: 10}}", old).score for kind in ("cost", "seconds", "steps")]
    assert found == [None, None, 1.0]
    assert result("cost: {at_most: 0.01}", old).score == 0.0  # the sum of its steps is a lower bound


@each_case(
    ("check", "expected"),
    [
        ("cost: 0.15", "expected a mapping (cost check), found the number 0.15"),
        ("cost: {}", "expected the key 'at_most' in a cost check"),
        ("cost: {at_least: 1}", "found 'at_least' (did you mean 'at_most'?)"),
        ("cost: {at_most: -0.1}", "expected US dollars, 0 or more, found the number -0.1"),
        ("cost: {at_most: .nan}", "expected US dollars, 0 or more"),
        ("tokens: {at_most: 1.5}", "expected a number of tokens, 0 or more, found the number 1.5"),
        ("steps: {at_most: 0}", "expected a number of steps, 1 or more, found the number 0"),
        ("seconds: {at_most: 0}", "expected a number of seconds above 0, found the number 0"),
        ("{cost: {at_most: 1}, when: any_step}", "expected 'when' on url, page or state, found it on 'cost'"),
    ],
)
def test_impossible_limits_are_refused_on_reading(check: str, expected: str) -> None:
    with pytest.raises(TaskFileError) as error:
        make_task(f"intent: x\nsites: []\nchecks:\n  - {check}")
    assert expected in str(error.value)


def test_usage_checks_do_not_change_the_audit_trials() -> None:
    text = "intent: x\nsites: []\nsolution: [stop: '42']\nchecks: [{answer: {number: 42}}%s]"
    plain, limited = (make_task(text % more) for more in ("", ", {cost: {at_most: 1}}, {steps: {at_most: 3}}"))
    tried = [[each.agent for each in audit_trials(each, [each])] for each in (plain, limited)]
    assert tried[0] == tried[1]
