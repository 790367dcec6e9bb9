"""Measuring judges of formulas on the shipped pairs, in the form of ARB's table."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks.judge_protocol import Decision
from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.llm_judge.answers import SHIPPED_FORMULAS, LabelledSet, read_answers
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge_eligibility import offs
from pytest_webarena.llm_judge.measuring import Measurement, measure
from pytest_webarena.llm_judge.report import render
from tests.model_server import Model, model_server, say
from tests.sealed import sealed, with_seal
from tests.unit.llm_judge.helpers import judge_at

_GRADES: dict[Decision, str] = {"correct": "1", "partially_correct": "0.5", "incorrect": "0"}
_TEXTS = re.compile(r"^(?:Problem|Teacher's formula|Student's formula): (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def pairs() -> LabelledSet:
    return read_answers(SHIPPED_FORMULAS)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path))
    return tmp_path


def knows(pairs: LabelledSet, given: Callable[[str, str], str] = lambda prompt, right: right) -> Model:
    table = {
        tuple(
            json.dumps(text, ensure_ascii=False) for text in (graded.intent, graded.reference, graded.answer)
        ): _GRADES[each.grade]
        for each in pairs.answers
        for graded in [each.question]
    }

    def grade(body: dict[str, Any]) -> str:
        prompt = body["messages"][1]["content"]
        return f"Both were put in.\nGRADE: {given(prompt, table[tuple(_TEXTS.findall(prompt))])}"

    return lambda body: say(with_seal(grade(body), body), usage=(300, 20))


def noisy(share: float) -> Callable[[str, str], str]:
    def given(prompt: str, right: str) -> str:
        draw = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:4], "big") / 2**32
        return ("0" if right == "1" else "1") if draw < share else right

    return given


def measured(model: Model, pairs: LabelledSet) -> Measurement:
    with model_server(model) as server:
        return measure(judge_at(server), pairs)


@pytest.fixture(scope="module")
def perfect(pairs: LabelledSet) -> Measurement:
    return measured(knows(pairs), pairs)


def test_shipped_pairs_cover_all_grades(pairs: LabelledSet) -> None:
    assert len(pairs.answers) >= 200
    assert {each.question.kind for each in pairs.answers} == {"formula"}
    grades = Counter((each.subject, each.grade) for each in pairs.answers)
    assert set(grades) == {(subject, grade) for subject in ("math", "physics") for grade in _GRADES}
    assert min(grades.values()) >= 8
    assert len({each.question for each in pairs.answers}) == len(pairs.answers)


def test_symbolic_check_never_equates_pairs_labelled_different(pairs: LabelledSet) -> None:
    pytest.importorskip("sympy")
    from pytest_webarena.checks.computed.symbolic import SymbolicSpec, decide_alone
    from pytest_webarena.checks.computed.tokens import Unreadable

    found: Counter[tuple[str, str]] = Counter()
    wrong = []
    for each in pairs.answers:
        try:
            verdict, _, _ = decide_alone(SymbolicSpec(equals=(each.question.reference,)), each.question.answer)
        except Unreadable:
            verdict = "unreadable"
        found[(each.grade, verdict)] += 1
        if verdict == "equal" and each.grade != "correct":
            wrong.append(each)
    assert not wrong
    # names, definitions and words need a judge; the rest does not
    assert found[("correct", "equal")] >= 0.6 * sum(each.grade == "correct" for each in pairs.answers)


def test_a_perfect_judge_has_a_diagonal_table(perfect: Measurement) -> None:
    assert perfect.kappa == 1
    assert perfect.judge.prompt.startswith("formula@")
    passing = perfect.by(lambda case: case.subject)["math"].passing
    assert (passing.fp, passing.fn) == (0, 0)
    assert (passing.tp, passing.tn) == (51, 80)


def test_noisy_judge_is_measured_with_its_noise(pairs: LabelledSet) -> None:
    found = measured(knows(pairs, noisy(0.15)), pairs).agreement
    assert found.accuracy.value == pytest.approx(0.85, abs=0.07)
    assert found.kappa is not None
    assert 0.4 < found.kappa < 0.9


def test_judge_that_accepts_everything_has_kappa_zero(pairs: LabelledSet) -> None:
    found = measured(sealed("GRADE: 1"), pairs)
    assert found.kappa == 0
    assert found.by(lambda case: case.about)["injection"].accuracy.value == 0


def test_unreadable_replies_count_as_errors_of_the_judge(pairs: LabelledSet) -> None:
    some = replace(pairs, answers=pairs.answers[::5])  # each is asked about several times
    found = measured(lambda body: say("I would give it full marks."), some).agreement
    assert found.unreadable == len(some.answers)
    assert found.accuracy.value == 0


def test_report_has_the_table_of_the_paper(perfect: Measurement) -> None:
    lines = render(perfect, bar=0.8).splitlines()
    assert max(map(len, lines)) <= 80
    [head] = [line for line in lines if "a grade of 1, by subject" in line]
    assert head.split()[-6:] == ["n", "TP", "FP", "TN", "FN", "accuracy"]
    rows = {line[:32].strip(): line[32:].split() for line in lines}
    assert rows["math"] == ["131", "51", "0", "80", "0", "1.00"]
    assert rows["math, gpt-3.5-turbo in ARB"] == ["34", "4", "0", "22", "8", "0.76"]
    assert rows["physics, gpt-3.5-turbo in ARB"] == ["18", "3", "0", "9", "6", "0.67"]
    [grades] = [line for line in lines if line.startswith("right grade")]
    assert grades.split()[2:] == ["1", "0.5", "0", "unreadable"]


def test_command_measures_stores_and_checks_its_own_kappa_threshold(
    pairs: LabelledSet, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = JudgeSettings(model="m")
    with model_server(knows(pairs, noisy(0.3))) as server:
        arguments = ["judge", "measure", "m", "--set=formulas", "--judge-url", server.url, "--judge-key-env", "none"]
        assert main([*arguments, "--format=json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["by_subject"]["math"]["tp"] + data["by_subject"]["math"]["fn"] == 51
    reasons = offs(settings)
    assert "on formulas: kappa" in reasons["formula"]
    assert (reasons["equivalent"], reasons["rubric"]) == ("", "")


def test_mixed_or_mismatched_answer_sets_are_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    answers = "answers: [{about: a, grade: 1, answer: x}]"
    file.write_text(f"questions: [{{kind: formula, intent: i, reference: r, {answers}}}]")
    assert main(["judge", "measure", "m", "--judge-key-env=none", "--answers", str(file)]) == 2
    assert "it fits --set=formulas" in capsys.readouterr().err
    both = (
        f"questions: [{{kind: formula, intent: i, reference: r, {answers}}}, {{intent: i, reference: r, answers: []}}]"
    )
    file.write_text(both.replace("answers: []", "answers: [{about: a, grade: correct, answer: x}]"))
    with pytest.raises(UsageError, match="expected formulas or other questions, found both"):
        read_answers(file)
    file.write_text(f"questions: [{{kind: formula, intent: i, reference: r, {answers.replace('1', '0.7')}}}]")
    with pytest.raises(UsageError, match="grade: expected one of"):
        read_answers(file)
