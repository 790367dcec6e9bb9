"""Trials whose verdict needs a judge model."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.actions import Stop
from pytest_webarena.agents import AgentDefinition
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.model_calls import calls_of, read_model_calls
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.results import RunDir, TrialKey, TrialRecord, summarise
from pytest_webarena.testing import ScriptedAgent, make_task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial
from tests.model_server import model_server, say
from tests.sealed import sealed
from tests.unit.llm.helpers import prices
from tests.unit.llm_judge.helpers import judge_at
from tests.unit.trials.test_trial import FakeResources

TASK = make_task(
    "intent: What do reviewers complain about?\nsites: []\nchecks: [{string_match: {fuzzy_match: [the zip breaks]}}]",
    id="t",
)


def run(folder: Path, judge: Judge) -> TrialRecord:
    agent = AgentDefinition(id="a", make=lambda assignment: ScriptedAgent(Stop("The zip is poor")), digest="d")
    plan = TrialPlan(
        task=TASK,
        agent=agent,
        trial=1,
        limits=EpisodeLimits(seconds=5),
        asker=judge.session("t.a.1"),
        options=TrialOptions(env_retries=0),
    )
    record = run_trial(plan, FakeResources(), RunDir(folder).folder(TrialKey("t", "a", 1)))
    (kept,) = RunDir(folder).records()
    assert kept.judge == record.judge
    return record


def test_judge_decides_verdict_and_its_cost_is_separate(tmp_path: Path) -> None:
    models = ModelSettings(calls=calls_of(tmp_path), prices=prices(tmp_path))
    with model_server([sealed("It is the zip.\nGRADE: correct")]) as server:
        record = run(tmp_path, judge_at(server, models=models))
        requests = server.requests
    assert (record.outcome, record.score) == ("passed", 1.0)
    assert record.judge is not None
    assert (record.judge.model, record.judge.temperature, record.judge.questions) == ("priced", 0.0, 1)
    assert record.judge.prompt.startswith("teacher@")
    assert requests == record.judge.usage.calls == 1  # shared by all gradings
    assert record.usage is None  # usage of the agent
    (line,) = read_model_calls(calls_of(tmp_path))
    assert line.purpose == "judge"
    summary = summarise([record])["a"]
    assert (summary.judged, summary.judge_questions, summary.unjudged, summary.usage) == (1, 1, {}, None)


def test_partially_correct_grade_fails(tmp_path: Path) -> None:
    with model_server([sealed("Only in part.\nGRADE: partially correct")]) as server:
        record = run(tmp_path, judge_at(server))
    assert (record.outcome, record.cause) == ("failed", None)


def test_unreadable_judge_reply_gives_no_verdict(tmp_path: Path) -> None:
    with model_server([say("That is not correct.")]) as server:
        record = run(tmp_path, judge_at(server))
        assert server.requests == 6  # the question, and the one with the reference as the answer
    assert (record.outcome, record.cause, record.score) == ("error", "judge", None)
    assert (record.event, record.control) == ("judge_unreadable", "fails")
    assert record.judge is not None
    assert record.judge.usage.calls == 6


def test_missing_judge_gives_no_verdict_and_is_counted(tmp_path: Path) -> None:
    record = run(tmp_path, Judge(JudgeSettings()))
    assert (record.outcome, record.cause, record.judge) == ("error", "judge", None)
    assert record.message.startswith("no verdict: it needs a judge, and there is none: --judge=MODEL")
    summary = summarise([record])["a"]
    assert ([*summary.unjudged.values()], summary.rate.errors, summary.rate.judged) == ([1], 1, 0)
    assert "it needs a judge" in next(iter(summary.unjudged))
