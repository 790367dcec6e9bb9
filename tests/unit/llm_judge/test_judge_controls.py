"""Controls of a judge's errors: whether it grades the reference, and then not the answer."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import ControlResult, JudgeError
from pytest_webarena.owners import EVENTS, outcome_of
from tests.model_server import Answer, Model, fail, model_server, say
from tests.sealed import sealed, with_seal
from tests.unit.llm_judge.helpers import judge_at, question


def graded(body: dict[str, Any]) -> Answer:
    """Grades every answer but the upsetting one, which it refuses."""
    upset = "upsetting" in str(body["messages"])
    return fail(400, "flagged", code="content_filter") if upset else say(with_seal("GRADE: correct", body))


def test_question_that_only_fails_with_the_answer_blames_the_agent() -> None:
    with model_server(graded) as server, pytest.raises(JudgeError, match="the answer is the cause") as raised:
        judge_at(server).session("t").ask(question("upsetting"))
    assert (raised.value.cause, raised.value.event) == ("agent", "judge_refuses")
    assert server.requests == 3  # the question, its control, the question again
    assert pickle.loads(pickle.dumps(raised.value)).cause == "agent"


def test_passing_failure_of_the_endpoint_costs_no_grade() -> None:
    with model_server([fail(500), sealed("GRADE: correct"), sealed("GRADE: incorrect")]) as server:
        grade = judge_at(server).session("t").ask(question())
        prompts = [server.prompt(number) for number in range(3)]
    assert grade.decision == "incorrect"
    assert ["five minutes" in prompt and "it takes 5 minutes" in prompt for prompt in prompts] == [True, False, True]


def test_control_of_a_judge_does_not_read_the_cache(tmp_path: Path) -> None:
    """A cached grade of the reference says nothing about the endpoint now."""
    reference = replace(question(), answer="five minutes")
    with model_server([sealed("GRADE: correct"), fail(500)]) as server:
        judge = judge_at(server, cache=tmp_path)
        judge.session("t").ask(reference)
        with pytest.raises(JudgeError) as raised:
            judge.session("t").ask(question())
    assert raised.value.cause == "judge"


@pytest.mark.parametrize("status", [401, 403])
def test_refusal_for_access_is_undecided_if_the_judge_grades_the_reference(status: int) -> None:
    cases: dict[str, list[Answer | Model]] = {
        "fails": [fail(status)],
        "works": [fail(status), sealed("GRADE: correct"), fail(status)],
    }
    for control, replies in cases.items():
        with model_server(replies) as server:
            session = judge_at(server).session("t")
            with pytest.raises(JudgeError) as raised:
                session.ask(question())
        assert (raised.value.cause, session.event, session.control) == ("judge", "judge_rejects", control)
    with model_server([fail(status), sealed("GRADE: incorrect"), sealed("GRADE: correct")]) as server:
        assert judge_at(server).session("t").ask(question()).decision == "correct"  # its own grade counts


@pytest.mark.parametrize("status", [402, 429])
def test_used_up_quota_or_rate_has_no_control(status: int) -> None:
    """The agent may use the same endpoint, so a refused reference shows nothing."""
    with model_server([fail(status)]) as server:
        session = judge_at(server).session("t")
        with pytest.raises(JudgeError, match="--rescore"):
            session.ask(question())
    assert (session.event, server.requests) == ("judge_spent", 1)


@pytest.mark.parametrize(
    ("replies", "control"),
    [
        ([fail(400), fail(429)], "impossible"),
        ([fail(400), sealed("GRADE: correct"), fail(429)], "works"),
    ],
)
def test_control_of_a_judge_that_uses_up_its_quota_shows_nothing(
    replies: list[Answer | Model], control: ControlResult
) -> None:
    with model_server(replies) as server:
        session = judge_at(server).session("t")
        with pytest.raises(JudgeError) as raised:
            session.ask(question())
    assert (raised.value.cause, session.control) == ("judge", control)
    assert outcome_of(EVENTS[session.event], control) == "undecided"
