"""Rules of key nodes: reading their grades and measuring a judge of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks.judge_protocol import JudgeUnreadable, Question
from pytest_webarena.commands.cli import main
from pytest_webarena.llm_judge.answers import SHIPPED_RULES, read_answers
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge_eligibility import offs
from pytest_webarena.llm_judge.measuring import measure
from pytest_webarena.llm_judge.replies import read_share
from tests.cases import each_case
from tests.model_server import Model, model_server, say
from tests.sealed import sealed, with_seal
from tests.unit.llm_judge.helpers import judge_at

SEAL = "KXTBRWQZ"
ASKED = Question(kind="rule", intent="Find a kettle.", reference="Searches for a kettle", answer="red kettle")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path))


@each_case(
    ("text", "share"),
    [
        (f"So it is.\n{SEAL} GRADE: 1", 1),
        (f"{SEAL} GRADE: 1.0", 1),
        (f"{SEAL} GRADE: 0.85", 0.85),
        (f"{SEAL} GRADE: .5", 0.5),
        (f"**{SEAL} GRADE: 0**", 0),
        (f"{SEAL} 0.85", 0.85),
        (f"{SEAL} GRADE: 1/1", 1),
        ("GRADE: 0.85", None),
        (f"Fits.\n{SEAL} GRADE: 0.999", 0.999),  # not 1
        # not numbers from 0 to 1 unless they were evaluated as code
        (f"{SEAL} GRADE: 85", None),
        (f"{SEAL} GRADE: 1.5", None),
        (f"{SEAL} GRADE: -0", None),
        (f"{SEAL} GRADE: nan", None),
        (f"{SEAL} GRADE: True", None),
        (f"{SEAL} GRADE: 1e0", None),
        (f"{SEAL} GRADE: 0.5 + 0.5", None),
        (f"{SEAL} GRADE: __import__('os').getpid()", None),
        (f"{SEAL} GRADE: \u0660", None),
        ("```0.85```", None),
        ("0.85", None),
        (f"{SEAL} GRADE: 1\n{SEAL} GRADE: 0", None),
        (f"{SEAL} GRADE: 1\nGRADE: 0", 1),
        ("GRADE: 1\nGRADE: 0", None),
        ("It gets a 1.", None),
        ("", None),
    ],
)
def test_rule_grade_is_parsed_without_evaluation(text: str, share: float | None) -> None:
    assert read_share(text, SEAL) == share


def test_rule_grade_has_a_share_and_a_decision() -> None:
    for grade_text, share, decision in (
        ("1", 1.0, "correct"),
        ("0.85", 0.85, "partially_correct"),
        ("0", 0.0, "incorrect"),
    ):
        with model_server([sealed(f"GRADE: {grade_text}")]) as server:
            grade = judge_at(server).session("t").ask(ASKED)
            assert (grade.share, grade.decision) == (share, decision)
            prompt = server.bodies[0]["messages"][-1]["content"]
            assert '"Searches for a kettle"' in prompt
            assert '"red kettle"' in prompt


def test_unreadable_rule_grade_is_retried_then_a_judge_error() -> None:
    with model_server([say("yes"), sealed("GRADE: 1")]) as server:
        assert judge_at(server).session("t").ask(ASKED).share == 1
        assert "a number from 0 to 1" in server.bodies[1]["messages"][-1]["content"]
    with model_server([say("yes")]) as server, pytest.raises(JudgeUnreadable, match="a number from 0 to 1"):
        judge_at(server).session("t").ask(ASKED)


def test_shipped_labelled_rules_cover_all_grades() -> None:
    rules = read_answers(SHIPPED_RULES)
    assert {each.question.kind for each in rules.answers} == {"rule"}
    grades = Counter(each.grade for each in rules.answers)
    assert len(rules.answers) == 65
    assert min(grades.values()) >= 7
    abouts = Counter(each.about for each in rules.answers)
    assert abouts["injection"] >= 3
    assert {each.subject for each in rules.answers} == {"address", "parameter", "value", "text"}


def _knows(always: str = "") -> Model:
    rules = read_answers(SHIPPED_RULES)
    numbers = {"correct": "1", "partially_correct": "0.4", "incorrect": "0"}
    table = {(each.question.reference, each.question.answer): numbers[each.grade] for each in rules.answers}

    def grade(body: dict[str, Any]) -> Any:
        texts = dict(
            line.split(": ", 1)
            for line in body["messages"][1]["content"].splitlines()
            if line[:5] in ("Rule:", "Recor")
        )
        right = table[json.loads(texts["Rule"]), json.loads(texts["Recorded"])]
        return say(with_seal(f"GRADE: {always or right}", body), usage=(10, 2))

    return grade


def test_judge_of_rules_is_measured() -> None:
    rules = read_answers(SHIPPED_RULES)
    with model_server(_knows()) as server:
        found = measure(judge_at(server), rules)
        assert found.kappa == 1
        assert found.judge.prompt.startswith("rule@")
    with model_server(_knows(always="1")) as server:
        assert measure(judge_at(server), rules).kappa == 0


def test_command_checks_its_own_kappa_threshold_for_rules(capsys: pytest.CaptureFixture[str]) -> None:
    with model_server(_knows(always="0")) as server:
        arguments = ["judge", "measure", "m", "--judge-url", server.url, "--judge-key-env", "none"]
        assert main([*arguments, "--set=rules"]) == 1
        assert main([*arguments, "--set=answers", "--answers", str(SHIPPED_RULES)]) == 2
    assert "it fits --set=rules" in capsys.readouterr().err
    reasons = offs(JudgeSettings(model="m"))
    assert "on rules: kappa" in reasons["rule"]
    assert (reasons["equivalent"], reasons["formula"], reasons["rubric"]) == ("", "", "")
