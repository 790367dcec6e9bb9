"""Eligibility of a judge by its measured agreement."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.checks.judge_protocol import Decision
from pytest_webarena.evidence import Usage
from pytest_webarena.llm_judge.answers import read_answers
from pytest_webarena.llm_judge.config import JudgeSettings, placed
from pytest_webarena.llm_judge.judge_eligibility import judge_eligibility_of, judge_facts
from pytest_webarena.llm_judge.measuring import Graded, Measurement, store_measurement

SETTINGS = JudgeSettings(model="m")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path))


def remember(*, share: float) -> None:
    """Store a measurement of a judge that is right about this share of the answers."""
    cases = read_answers().answers
    right = round(share * len(cases))
    other: dict[Decision, Decision] = {"correct": "incorrect", "incorrect": "correct", "partially_correct": "correct"}
    graded = tuple(
        Graded(case=case, judge_grade=case.grade if number < right else other[case.grade], reply="")
        for number, case in enumerate(cases)
    )
    store_measurement(
        Measurement(judge=SETTINGS.identity(), answers="a", graded=graded, usage=Usage(), seconds=1.0, at=1.0)
    )


def test_missing_judge_is_not_eligible() -> None:
    state = judge_eligibility_of(JudgeSettings())
    assert state.off
    assert judge_facts(JudgeSettings()) is None


def test_unmeasured_judge_is_used_with_a_note() -> None:
    state = judge_eligibility_of(SETTINGS)
    assert (state.off, state.known) == ("", None)
    assert "not measured (webarena judge measure m)" in state.summary


def test_judge_with_high_kappa_is_used() -> None:
    remember(share=1.0)
    state = judge_eligibility_of(SETTINGS)
    assert state.off == ""
    assert state.summary.startswith("m, kappa 1.00 (0.9")
    assert judge_eligibility_of(replace(SETTINGS, temperature=0.7)).known is None  # another judge


@pytest.mark.parametrize(("share", "bar", "is_used"), [(0.8, 0.8, False), (0.8, 0.5, True), (0.2, 0.0, True)])
def test_judge_below_the_kappa_threshold_is_not_used(share: float, bar: float, is_used: bool) -> None:
    remember(share=share)
    state = judge_eligibility_of(replace(SETTINGS, bar=bar))
    assert (state.off == "") is is_used
    if not is_used:
        assert "is below the bar of 0.8 (--judge-min-kappa)" in state.off


def test_run_facts_describe_the_judge() -> None:
    remember(share=1.0)
    facts = judge_facts(SETTINGS)
    assert facts is not None
    assert (facts["model"], facts["temperature"], facts["fingerprint"]) == ("m", 0.0, SETTINGS.identity().fingerprint)
    assert facts["measured"]["kappa"] == 1
    assert placed(SETTINGS, Path("run")).cache == Path("run/judge_replies")
    assert placed(replace(SETTINGS, cache=Path("there")), Path("run")).cache == Path("there")
