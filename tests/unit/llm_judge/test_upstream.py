"""The judge with WebArena's own prompt: found in a checkout, parsed as literals, replies read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.llm_judge.upstream import UpstreamPrompt, read_upstream
from tests.cases import each_case
from tests.model_server import ModelServer, model_server, say
from tests.unit.llm_judge.helpers import judge_at, question

SOURCE = '''
import os
os.abort()  # nothing of it is run

def llm_fuzzy_match(pred: str, reference: str, question: str) -> float:
    """Says it in the form of the original, in other words."""
    messages: list = []
    message = "Grade a pupil.\\n"
    message += f"asked: {question}\\n"
    message += f"key: {reference}\\n" + f"said: {pred}\\n"
    message += "End with correct/incorrect/partially correct."
    messages = [{"role": "system", "content": "You help"}, {"role": "user", "content": message}]
    response = generate(model="m", messages=messages).lower()
    return 1.0

def llm_ua_match(pred: str, reference: str, question: str) -> float:
    message = ""
    message += f"task: {question}, why: {reference}, told: {pred}"
    messages = [{"role": "user", "content": message}]
    return 1.0
'''


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    file = tmp_path / "checkout" / "evaluation_harness" / "helper_functions.py"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE)
    return tmp_path / "checkout"


def judge(server: ModelServer, folder: Path, **more: Any) -> Judge:
    return Judge(replace(judge_at(server).settings, prompt=f"upstream:{folder}", **more))


def test_judge_uses_the_prompt_of_the_checkout(checkout: Path, tmp_path: Path) -> None:
    with model_server([say("It means the same, so it is CORRECT."), say("**Different**")]) as server:
        session = judge(server, checkout, cache=tmp_path / "judge_replies").session("t")
        grade = session.ask(question())
        other = session.ask(question("no button", "unachievable"))
        messages, second = server.bodies[0]["messages"], server.bodies[1]["messages"]
        kept = judge(server, checkout, cache=tmp_path / "judge_replies").session("t").ask(question())
    assert [(each["role"], each["content"]) for each in messages] == [
        ("system", "You help"),
        (
            "user",
            "Grade a pupil.\nasked: How long is the walk?\nkey: five minutes\nsaid: it takes 5 minutes\n"
            "End with correct/incorrect/partially correct.",
        ),
    ]
    assert [each["role"] for each in second] == ["user"]
    assert (grade.decision, other.decision, kept.cached) == ("correct", "incorrect", True)
    assert grade.prompt.startswith("upstream:llm_fuzzy_match@")
    assert session.use is not None
    assert " + upstream:llm_ua_match@" in session.use.prompt


def test_prompt_version_changes_with_its_words(checkout: Path) -> None:
    name = f"upstream:{checkout}"
    first = UpstreamPrompt.find(name, "equivalent").version
    file = checkout / "evaluation_harness" / "helper_functions.py"
    file.write_text(SOURCE.replace("os.abort()", "pass"))
    assert UpstreamPrompt.find(name, "equivalent").version == first  # the prompt text is the same
    file.write_text(SOURCE.replace("a pupil", "somebody"))
    assert UpstreamPrompt.find(name, "equivalent").version != first


def test_negated_grade_is_retried(checkout: Path) -> None:
    with model_server([say("That is not correct."), say("I mean: incorrect.")]) as server:
        grade = judge(server, checkout).session("t").ask(question())
        assert server.requests == 2
    assert grade.decision == "incorrect"


@each_case(
    ("reply", "expected"),
    [
        ("correct", "correct"),
        ("The student's answer is 'Correct'.", "correct"),
        ("partially correct", "partially_correct"),
        ("This is partially correct, not incorrect.", "partially_correct"),
        ("incorrect", "incorrect"),
        ("It isn\u2019t quite correct.", None),
        ("I cannot say that this is correct", None),
        ("corrected", None),
        ("", None),
    ],
)
def test_upstream_replies_are_read(reply: str, expected: str | None) -> None:
    assert read_upstream("equivalent", reply) == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def llm_fuzzy_match(:", "expected Python"),
        ("x = 1", "expected the function llm_fuzzy_match, found none"),
        (SOURCE.replace("Grade a pupil.\\n", "Grade\\n").replace("{pred}", "{pred.upper()}"), "found: pred.upper()"),
        (SOURCE.replace("asked: {question}", "asked"), "expected a question with intent in it, found none"),
        (SOURCE.replace('"role": "system"', '"role": who'), "expected messages with role and content"),
    ],
)
def test_prompt_source_of_another_form_is_a_usage_error(checkout: Path, source: str, message: str) -> None:
    (checkout / "evaluation_harness" / "helper_functions.py").write_text(source)
    with pytest.raises(UsageError) as caught:
        UpstreamPrompt.find(f"upstream:{checkout}", "equivalent")
    assert message in str(caught.value)


def test_missing_checkout_error_names_two_ways_to_set_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEBARENA_UPSTREAM", raising=False)
    with pytest.raises(UsageError, match=r"WEBARENA_UPSTREAM=FOLDER, or --judge-prompt=upstream:FOLDER"):
        UpstreamPrompt.find("upstream", "equivalent")
    monkeypatch.setenv("WEBARENA_UPSTREAM", str(tmp_path))
    with pytest.raises(UsageError, match=r"found no evaluation_harness/helper_functions.py"):
        UpstreamPrompt.find("upstream", "equivalent")
