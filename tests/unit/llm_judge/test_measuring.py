"""Measuring judges: a perfect, a lenient, a noisy and an unreadable one on the shipped answers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.checks.judge_protocol import Decision
from pytest_webarena.commands.cli import main
from pytest_webarena.errors import JudgeError, UsageError
from pytest_webarena.llm_judge.agreement import Agreement
from pytest_webarena.llm_judge.answers import LabelledSet, read_answers
from pytest_webarena.llm_judge.config import JudgeIdentity
from pytest_webarena.llm_judge.measuring import Measurement, find_measurement, measure, store_measurement
from pytest_webarena.llm_judge.report import render
from pytest_webarena.results.records import JudgeErrors
from tests.cases import each_case
from tests.model_server import Model, fail, model_server, say
from tests.unit.llm_judge.helpers import judge_at
from tests.unit.llm_judge.scripted import always, noisy, perfect


@pytest.fixture(scope="module")
def answers() -> LabelledSet:
    return read_answers()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path))
    return tmp_path


def measured(model: Model, answers: LabelledSet) -> Measurement:
    with model_server(model) as server:
        return measure(judge_at(server), answers)


@pytest.fixture(scope="module")
def by_perfect(answers: LabelledSet) -> Measurement:
    return measured(perfect(answers), answers)


@pytest.fixture(scope="module")
def by_lenient(answers: LabelledSet) -> Measurement:
    return measured(always("correct"), answers)


def test_shipped_answers_cover_known_judge_weaknesses(answers: LabelledSet) -> None:
    kinds = Counter(each.about for each in answers.answers)
    assert len(answers.answers) >= 120
    assert {"near miss", "partial", "negation", "injection", "number", "unit", "date", "language"} <= set(kinds)
    grades = Counter((each.question.kind, each.grade) for each in answers.answers)
    assert min(grades.values()) >= 10  # each grade of each kind of question is there, more than once
    assert len({each.question for each in answers.answers}) == len(answers.answers)


def test_perfect_judge_has_kappa_one_with_an_interval(by_perfect: Measurement) -> None:
    agreement = by_perfect.agreement
    assert agreement.kappa == 1
    assert (agreement.precision.value, agreement.recall.value) == (1, 1)
    assert 0.9 < agreement.kappa_interval[0] < 1 == agreement.kappa_interval[1]


def test_judge_that_passes_everything_has_kappa_zero(by_lenient: Measurement) -> None:
    agreement = by_lenient.agreement
    assert agreement.kappa == 0
    assert agreement.recall.value == 1
    assert agreement.precision.value == agreement.accuracy.value
    assert by_lenient.by(lambda case: case.about)["injection"].accuracy.value == 0


def test_noisy_judge_is_measured_with_its_noise(answers: LabelledSet) -> None:
    agreement = measured(noisy(answers, share=0.15), answers).agreement
    assert agreement.kappa is not None
    low, high = agreement.kappa_interval
    assert low < agreement.kappa < high < 1
    assert agreement.accuracy.value == pytest.approx(0.85, abs=0.08)


def test_unreadable_replies_count_as_errors_of_the_judge(answers: LabelledSet) -> None:
    some = replace(answers, answers=answers.answers[::5])  # each is asked about several times
    agreement = measured(lambda body: say("I think that it is correct."), some).agreement
    assert agreement.unreadable == len(some.answers)
    assert agreement.accuracy.value == 0
    assert agreement.kappa == 0
    assert agreement.precision.value is None


def test_failing_endpoint_ends_the_measurement(answers: LabelledSet) -> None:
    with model_server([fail(401)]) as server, pytest.raises(JudgeError):
        measure(judge_at(server), answers, workers=2)
    assert server.requests < len(answers.answers)


def test_usage_of_a_measurement_is_summed(answers: LabelledSet, by_perfect: Measurement) -> None:
    assert by_perfect.usage.calls == len(answers.answers)
    assert by_perfect.usage.input_tokens == 300 * len(answers.answers)


@each_case(
    ("pairs", "kappa"),
    [
        # By hand: observed 0.7, chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
        (45 * ["cc"] + 5 * ["ci"] + 15 * ["ic"] + 35 * ["ii"], 0.6),
        (20 * ["cc"] + 5 * ["ci"] + 10 * ["ic"] + 15 * ["ii"], 0.4),
        (10 * ["cc"], None),
        ([], None),
        (10 * ["cp"] + 10 * ["pi"], 0.0),
        (10 * ["cc"] + 10 * ["pi"], 1.0),
    ],
)
def test_kappa_matches_hand_computed_values(pairs: list[str], kappa: float | None) -> None:
    names: dict[str, Decision] = {"c": "correct", "i": "incorrect", "p": "partially_correct"}
    agreement = Agreement((names[pair[0]], names[pair[1]]) for pair in pairs)
    assert agreement.kappa == (None if kappa is None else pytest.approx(kappa))


def test_measurement_is_found_by_the_fingerprint_of_the_judge(answers: LabelledSet) -> None:
    measurement = measured(noisy(answers, share=0.3), answers)
    assert find_measurement(measurement.judge) is None
    file = store_measurement(measurement)
    known = find_measurement(measurement.judge)
    assert known is not None
    assert known.kappa == measurement.agreement.kappa
    assert known.cases == len(answers.answers)
    passing = measurement.agreement.passing
    assert known.errors == JudgeErrors(
        right_accepted=passing.tp,
        right=passing.tp + passing.fn,
        wrong_refused=passing.tn,
        wrong=passing.tn + passing.fp,
    )
    data = json.loads(file.read_text())
    del data["errors"]  # older versions stored only the confusion matrix
    file.write_text(json.dumps(data))
    assert find_measurement(measurement.judge) == known
    other = JudgeIdentity(model="priced", prompt=measurement.judge.prompt, temperature=0.7)
    assert find_measurement(other) is None
    file.write_text("{}")
    assert find_measurement(measurement.judge) is None


def test_report_fits_80_columns_and_lists_wrong_grades(by_lenient: Measurement) -> None:
    text = render(by_lenient, bar=0.8)
    assert max(map(len, text.splitlines())) <= 80
    assert "bar 0.8: NOT reached" in text
    listed = text.partition("wrong grades")[2]
    assert "incorrect, graded correct" in " ".join(listed.split())


def test_command_measures_stores_and_checks_the_kappa_threshold(
    answers: LabelledSet, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with model_server(noisy(answers, share=0.1)) as server:
        arguments = ["judge", "measure", "some-model", "--judge-url", server.url, "--judge-key-env", "none"]
        assert main([*arguments, "--judge-min-kappa", "0.6"]) == 0
        assert main([*arguments, "--judge-min-kappa", "0.99", "--format", "json"]) == 1
    out = capsys.readouterr().out
    assert "kappa" in out
    data = json.loads(out[out.index("{") :])
    assert data["judge"]["model"] == "some-model"
    assert data["disagreements"]
    assert [file.name for file in (cache / "judges").iterdir()] == [f"{data['fingerprint']}.json"]


def test_custom_answers_are_measured_but_not_stored(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "questions: [{intent: i, reference: r, answers: [{about: a, grade: correct, answer: x}, "
        "{about: a, grade: incorrect, answer: y}]}]"
    )
    with model_server(always("correct")) as server:
        code = main(
            ["judge", "measure", "m", "--judge-url", server.url, "--judge-key-env", "none", "--answers", str(file)]
        )
    assert code == 1
    assert "2 labelled answers (mine@" in capsys.readouterr().out
    assert not (cache / "judges").exists()


def test_command_reports_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "measure", "m", "--judge-key-env", "none", "--judge-temperature", "hot"]) == 2
    assert "--judge-temperature: expected a number" in capsys.readouterr().err
    with model_server([fail(404, "no such model")]) as server:
        assert main(["judge", "measure", "m", "--judge-url", server.url, "--judge-key-env", "none"]) == 2
    assert "no such model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "expected YAML"),
        ("[]", "expected a mapping with a list 'questions'"),
        ("questions: []", "expected at least one answer"),
        ("{questions: [], schema_version: 9}", "expected schema_version 1"),
        ("questions: [1]", r"questions\[0\]: expected a mapping"),
        ("questions: [{intnt: x}]", "did you mean 'intent'"),
        ("questions: [{intent: x}]", "answers: expected a list, found no such key"),
        ("questions: [{kind: odd, answers: []}]", "kind: known"),
        (
            "questions: [{intent: i, reference: 5, answers: [{about: a, grade: correct, answer: x}]}]",
            "reference: expected",
        ),
        (
            "questions: [{intent: i, reference: r, answers: [{about: a, grade: good, answer: x}]}]",
            "grade: expected one of",
        ),
        (
            "questions: [{kind: unachievable, intent: i, reference: r, "
            "answers: [{about: a, grade: partially_correct, answer: x}]}]",
            "grade: expected one of correct, incorrect",
        ),
    ],
)
def test_invalid_answer_files_are_usage_errors(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "answers.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_answers(file)


def test_missing_answer_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a readable file"):
        read_answers(tmp_path / "none.yaml")
