"""Measuring judges of rubrics: a perfect, a noisy, a generous and an unreadable one on the shipped answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge_eligibility import judge_eligibility_of, offs
from pytest_webarena.llm_judge.measuring import find_measurement
from pytest_webarena.llm_judge.rubric_answers import GradedAnswers, read_marked
from pytest_webarena.llm_judge.rubric_measuring import RubricMeasurement, measure_rubrics
from pytest_webarena.llm_judge.rubric_report import render_rubrics
from tests.model_server import Model, model_server, say
from tests.unit.llm_judge.helpers import judge_at
from tests.unit.llm_judge.rubric_judges import generous, knows, noisy_points


@pytest.fixture(scope="module")
def answers() -> GradedAnswers:
    return read_marked()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path))
    return tmp_path


def measured(model: Model, answers: GradedAnswers) -> RubricMeasurement:
    with model_server(model) as server:
        return measure_rubrics(judge_at(server), answers)


def test_shipped_answers_cover_known_judge_weaknesses(answers: GradedAnswers) -> None:
    assert len(answers.answers) >= 30
    assert sum(len(each.points) for each in answers.answers) >= 100
    abouts = Counter(each.about for each in answers.answers)
    assert {"complete", "injection", "another way", "unfinished", "keyword"} <= set(abouts)
    assert len({each.subject for each in answers.answers}) >= 4
    for each in answers.answers:
        assert sum(item.points for item in each.question.items) == 10
        assert each.question.answer != each.question.reference
    shares = [sum(each.points) / 10 for each in answers.answers]
    assert min(shares.count(0), shares.count(1), sum(0 < share < 1 for share in shares)) >= 5


def test_perfect_judge_agrees_on_all_points(answers: GradedAnswers) -> None:
    found = measured(knows(answers), answers)
    assert (found.marks.pearson, found.marks.spearman) == (1, 1)
    assert found.kappa == pytest.approx(1)
    assert found.marks.exact == len(found.marks.marks)
    assert (found.unfounded, found.unreadable) == (0, ())
    assert found.usage.calls == len(answers.answers)


def test_generous_judge_has_kappa_zero(answers: GradedAnswers) -> None:
    found = measured(generous(answers), answers)
    assert found.kappa == pytest.approx(0)
    assert found.marks.pearson is None
    assert found.marks.under == []
    assert found.marks.bias == pytest.approx(
        1 - sum(sum(each.points) for each in answers.answers) / (10 * len(answers.answers))
    )


def test_noisy_judge_is_measured_with_its_noise(answers: GradedAnswers) -> None:
    found = measured(noisy_points(answers, share=0.15), answers)
    assert found.kappa is not None
    low, high = found.marks.kappa_interval
    assert 0.4 < low < found.kappa < high < 1
    assert found.marks.exact / len(found.marks.marks) == pytest.approx(0.85, abs=0.1)


def test_points_without_valid_quotes_count_as_zero(answers: GradedAnswers) -> None:
    def grade(text: str) -> str:
        return re.sub(r"QUOTE .*", "QUOTE I made it up", text)

    model = knows(answers)
    found = measured(lambda body: say(grade(model(body).text or "")), answers)
    assert found.unfounded == sum(point > 0 for each in answers.answers for point in each.points)
    assert found.marks.over == []
    assert found.kappa is not None
    assert found.kappa <= 0


def test_unreadable_replies_count_as_the_largest_error(answers: GradedAnswers) -> None:
    found = measured(lambda body: say("8 of 10, well done."), answers)
    assert len(found.unreadable) == len(answers.answers)
    assert found.kappa is not None
    assert found.kappa < -0.5


def test_command_measures_stores_and_checks_the_kappa_threshold(
    answers: GradedAnswers, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with model_server(noisy_points(answers, share=0.1)) as server:
        arguments = [
            "judge",
            "measure",
            "some-model",
            "--set=rubrics",
            "--judge-url",
            server.url,
            "--judge-key-env",
            "none",
        ]
        assert main([*arguments, "--judge-min-kappa", "0.3"]) == 0
        text = capsys.readouterr().out
        assert main([*arguments, "--judge-min-kappa", "0.99", "--format", "json"]) == 1
    assert max(map(len, text.splitlines())) <= 80
    assert "bar 0.3: reached" in text
    assert "n = 35" in text
    data = json.loads(capsys.readouterr().out)
    assert data["judge"]["prompt"].startswith("rubric@")
    assert [file.name for file in (cache / "judges").iterdir()] == [f"{data['fingerprint']}.json"]


def test_kappa_threshold_applies_per_question_kind(answers: GradedAnswers) -> None:
    settings = JudgeSettings(model="some-model")
    assert not any(offs(settings).values())
    with model_server(generous(answers)) as server:
        assert (
            main(
                [
                    "judge",
                    "measure",
                    "some-model",
                    "--set=rubrics",
                    "--judge-url",
                    server.url,
                    "--judge-key-env",
                    "none",
                ]
            )
            == 1
        )
    reasons = offs(settings)
    assert "on rubrics: kappa 0.00" in reasons["rubric"]
    assert "below the bar of 0.8" in reasons["rubric"]
    assert (reasons["equivalent"], reasons["unachievable"], reasons["formula"]) == ("", "", "")
    assert find_measurement(settings.identity()) is None
    assert "--set=formulas" in judge_eligibility_of(settings, "formula").summary


def test_report_lists_the_largest_differences_first(answers: GradedAnswers) -> None:
    text = render_rubrics(measured(generous(answers), answers), bar=0.8)
    assert max(map(len, text.splitlines())) <= 80
    assert "NOT reached" in text
    listed = text.partition("furthest off")[2]
    assert "3 of 3, people 0" in " ".join(listed.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected a mapping with a list 'rubrics'"),
        ("rubrics: []", "expected at least one answer"),
        ("rubrics: [1]", "rubric 1: expected a mapping"),
        ("{rubrics: [], schema_version: 2}", "expected schema_version 1"),
        ("rubrics: [{intnt: x}]", "did you mean 'intent'"),
        ("rubrics: [{items: [], answers: []}]", "expected a list of 1 to 40"),
        ("rubrics: [{items: [{points: 1, what: w}]}]", "answers: expected a list, found no such key"),
        (
            "rubrics: [{items: [{points: 1, what: w}], answers: [{points: [2], answer: a, about: b}]}]",
            "rubric 1, answer 1: points: expected one number per item",
        ),
        (
            "rubrics: [{items: [{points: 1, what: w}], answers: [{points: [1], answer: a, about: b}]}]",
            "rubric 1: intent: expected a text",
        ),
    ],
)
def test_invalid_labelled_rubrics_are_usage_errors(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(UsageError) as raised:
        read_marked(tmp_path / "own.yaml")
    assert message in str(raised.value)
