"""Alignment of a failed trial with one that passed, and the choice of that trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.actions import Action, Click, Goto, Selector, Stop, Type, as_record
from pytest_webarena.commands.cli import main
from pytest_webarena.evidence import StepRecord, TargetRecord
from pytest_webarena.results.explaining import align, explain
from pytest_webarena.results.records import Outcome, TrialKey, TrialRecord
from tests.made_up import UNDECIDED, make_run, make_trial
from tests.recordings import Recorded, record_trial
from tests.rewritten import rewrite

HOME = "http://shop.test/"


def step(name: str, action: Action | None = None, *, url: str = HOME) -> StepRecord:
    """Return a step that acts on the element of this name."""
    done = action or Click(Selector(f"css=#{name}"))
    hit = TargetRecord(role="link", name=name, selector=f"#{name}")
    return StepRecord(index=0, action=as_record(done), raw="", target=hit, url_before=url, url_after=url)


def numbered(*steps: StepRecord) -> list[StepRecord]:
    return [replace(each, index=index) for index, each in enumerate(steps)]


def trial(agent: str, outcome: Outcome, *, number: int = 1, task: str = "buy", answer: str = "") -> TrialRecord:
    return TrialRecord(
        key=TrialKey(task, agent, number), outcome=outcome, answer=answer, message="expected 3, found 2\nand more"
    )


def test_align_pairs_common_steps_and_keeps_order_of_others() -> None:
    one = numbered(step("home"), step("wrong"), step("buy"))
    two = numbered(step("home"), step("basket"), step("buy"), step("pay"))
    pairs = [
        (pair.failed and pair.failed.index, pair.passed and pair.passed.index, pair.same) for pair in align(one, two)
    ]
    assert pairs == [(0, 0, True), (1, None, False), (None, 1, False), (2, 2, True), (None, 3, False)]


def test_steps_with_different_values_or_pages_are_not_the_same() -> None:
    text, other = step("name", Type(Selector("css=#name"), "Ada")), step("name", Type(Selector("css=#name"), "Bo"))
    assert not any(pair.same for pair in align([text], [other]))
    assert not any(pair.same for pair in align([step("a")], [step("a", url=f"{HOME}x")]))


def test_explain_chooses_passed_trial_with_most_common_steps() -> None:
    failed_steps = numbered(step("home"), step("wrong"), step("bag", Stop("")))
    near, far = numbered(step("home"), step("buy")), numbered(step("search"))
    failed = trial("mine", "failed", answer="2")
    found = explain(
        (failed, failed_steps),
        [
            (trial("far", "passed"), far),
            (trial("oracle", "passed", answer="3"), near),
            (trial("other", "failed"), failed_steps),
            (trial("mine", "passed", task="sell"), failed_steps),
        ],
    )
    assert found is not None
    assert (found.passed.agent, found.first, found.wanted) == ("oracle", 1, "expected 3, found 2")
    lines = list(found.lines())
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("=")
    assert lines[2].startswith("≠")
    assert lines[-3:] == ["answer of mine: '2'", "answer of oracle: '3'", "wanted: expected 3, found 2"]


def test_explain_prefers_own_agent_and_uses_solution_last() -> None:
    way = numbered(step("home"))
    names = ["oracle", "other", "mine"]
    for count in (1, 2, 3):
        passed = [(trial(name, "passed", number=2), way) for name in names[:count]]
        found = explain((trial("mine", "failed"), way), passed)
        assert found is not None
        assert found.passed.agent == names[count - 1]
        assert found.first is None
        assert "both took the same steps" in list(found.lines())


def test_explain_marks_an_undecided_trial() -> None:
    undecided = replace(trial("mine", "failed"), **UNDECIDED)
    found = explain((undecided, []), [(trial("oracle", "passed"), [])])
    assert found is not None
    assert next(found.lines()).split("  ")[3].strip() == "mine, which is undecided"
    assert found.to_json()["undecided"] is True


@pytest.mark.parametrize("passes", [True, False])
def test_runs_explain_says_why_a_trial_is_undecided(
    tmp_path: Path, passes: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", agents=["mine", "oracle"])
    make_trial(run, "t", "failed", agent="mine", **UNDECIDED, message="undecided: it says more than that\nmore")
    if passes:
        make_trial(run, "t", agent="oracle")
    assert main(["runs", "explain", str(run.path)]) == 0
    printed = capsys.readouterr().out
    assert "undecided: it says more than that; decide them: pytest --rescore RUN --judge MODEL\n" in printed
    assert "wanted:" not in printed


def test_explain_is_none_without_a_passed_trial() -> None:
    assert explain((trial("mine", "failed"), []), [(trial("other", "error"), [])]) is None


def test_runs_explain_reports_every_failed_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    observation = "[1] link 'Home'"
    went: list[Recorded] = [(observation, Goto(HOME), None), (observation, Stop("3"), None)]
    record_trial(tmp_path / "good", "buy", went, answer="3", agent="oracle")
    attempt = record_trial(tmp_path / "bad", "buy", [(observation, Stop("2"), None)], answer="2", agent="mine")
    rewrite(attempt.parent / "trial.json", outcome="failed")
    assert main(["runs", "explain", str(tmp_path / "bad")]) == 0
    assert "--against names a run with one" in capsys.readouterr().out
    assert main(["runs", "explain", str(tmp_path / "bad"), "--against", str(tmp_path / "good")]) == 0
    stdout = capsys.readouterr().out
    assert "buy (mine, trial 1)" in stdout
    assert "Go to http://shop.test/" in stdout
    assert main(["runs", "explain", str(tmp_path / "good")]) == 0
    assert "no trial failed" in capsys.readouterr().out
    assert main(["runs", "explain", str(tmp_path / "bad"), "--task", "sell"]) == 2
