"""Time that a run's trials spent in each phase."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Noop, as_record
from pytest_webarena.commands.cli import main
from pytest_webarena.evidence import Evidence, StepRecord
from pytest_webarena.results import Attempt, RunDir, TrialRecord
from pytest_webarena.results.profile import PARTS, spent_by_agent
from pytest_webarena.results.records import TrialKey

SECONDS = {
    "lease": 1.0, "session": 2.0, "setup": 0.5, "episode": 10.0, "wait": 0.25, "late": 0.5, "collect": 1.0,
    "judge": 3.0, "total": 18.0,
}  # fmt: skip


def step(index: int, started: float, **seconds: float) -> StepRecord:
    return StepRecord(
        index=index, action=as_record(Noop()), raw="", url_before="", url_after="", observation="", screenshot="",
        started=started, seconds=seconds,
    )  # fmt: skip


STEPS = (step(0, 0.0, observe=1.0, act=2.0, execute=0.5), step(1, 4.0, observe=1.0, act=2.0, execute=0.0))
"""With half a second between them: 7 of the episode's 10 seconds. The rest is what its first pages took."""


def record(task: str = "t", agent: str = "a", **more: Any) -> TrialRecord:
    return TrialRecord(key=TrialKey(task, agent, 1), outcome="passed", **{"seconds": SECONDS, **more})


def test_phases_add_up_to_the_total_time() -> None:
    (spent,) = spent_by_agent([(record(), STEPS)]).values()
    assert dict(spent.seconds) == pytest.approx(
        {
            "earlier": 0, "lease": 1, "session": 2, "setup": 0.5, "first": 3, "observe": 2, "agent": 4, "execute": 0.5,
            "between": 0.5, "wait": 0.25, "late": 0.5, "collect": 0.25, "judge": 3, "rest": 0.5,
        }
    )  # fmt: skip
    assert spent.total == pytest.approx(SECONDS["total"])
    assert set(spent.seconds) == set(PARTS)


def test_time_between_commands_of_self_driving_agent_is_the_agents() -> None:
    steps = (step(0, 1.0, observe=0.5, execute=0.5), step(1, 8.0, observe=0.5, execute=0.5))
    (spent,) = spent_by_agent([(record(), steps)]).values()
    assert (spent.seconds["agent"], spent.seconds["between"], spent.seconds["first"]) == pytest.approx((8.0, 0.0, 0.0))


def test_earlier_attempts_are_a_phase_of_their_own() -> None:
    attempts = tuple(
        Attempt(number=number, outcome="error", cause="site", message="", started=0.0, seconds=seconds)
        for number, seconds in ((1, 40.0), (2, 18.0))
    )
    (spent,) = spent_by_agent([(record(attempt=2, attempts=attempts), STEPS)]).values()
    assert spent.seconds["earlier"] == 40.0
    assert spent.total == pytest.approx(58.0)


def test_runs_profile_sums_trials_per_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDir(tmp_path)
    run.describe({"agents": ["a", "b"], "trials": 1})
    for task, agent in (("t", "a"), ("u", "a"), ("t", "b")):
        folder = run.folder(TrialKey(task, agent, 1))
        writer = folder.begin(worker="main", node_id="")
        for each in STEPS:
            writer.stepped(each)
        writer.finish(Evidence(answer="", stop_reason="answered", steps=STEPS, sites={}))
        folder.finish(record(task, agent))
    assert main(["runs", "profile", str(tmp_path)]) == 0
    stdout = capsys.readouterr().out
    assert "a: 2 trials, 4 steps" in stdout
    assert "b: 1 trial, 2 steps" in stdout
    assert max(map(len, stdout.splitlines())) <= 80
    assert main(["runs", "profile", str(tmp_path), "--agent=a", "--format=json"]) == 0
    assert json.loads(capsys.readouterr().out)["a"]["total"] == pytest.approx(36.0)
    assert main(["runs", "profile", str(tmp_path), "--agent=c"]) == 2
    assert "expected one of a, b" in capsys.readouterr().err
