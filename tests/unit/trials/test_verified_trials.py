"""Tasks of published suites: typed answers are asked for and judged, and intents name the trial's sites."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pytest_webarena.actions import Stop
from pytest_webarena.agents import AgentDefinition, TaskView, resolve_agent
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.suites.loading import read_suite_file
from pytest_webarena.testing import ScriptedAgent
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial
from tests.unit.suites.made import raw, verified, write

from .test_fault_attribution import HalfDownSite, Resources, Site

RIGHT = json.dumps({"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": ["4.50"]})


class ShoppingSite(HalfDownSite):
    sites: ClassVar = {"shopping": replace(Site.sites["shop"], name="shopping")}


def trial(tmp_path: Path, row: dict[str, Any], agent: AgentDefinition, **changes: Any) -> TrialRecord:
    tmp_path.mkdir(parents=True, exist_ok=True)
    (task,) = read_suite_file(write(tmp_path, row))
    options = TrialOptions(env_retries=0, **changes)
    plan = TrialPlan(task=task, agent=agent, trial=1, limits=EpisodeLimits(seconds=60), options=options)
    folder = RunDir(tmp_path / "run").folder(TrialKey(task.id, agent.id, 1))
    return run_trial(plan, Resources(ShoppingSite()), folder)


def answering(answer: str, views: list[TaskView] | None = None) -> AgentDefinition:
    """Return an agent that stops with this answer, and adds what it is given to ``views``."""

    def make(assignment: Any) -> ScriptedAgent:
        if views is not None:
            views.append(assignment.view)
        return ScriptedAgent(Stop(answer))

    return AgentDefinition(id="a", make=make, digest="d")


def test_verified_tasks_ask_for_typed_answers_and_judge_them(tmp_path: Path) -> None:
    views: list[TaskView] = []
    right = trial(tmp_path / "right", verified(), answering(RIGHT, views))
    assert (right.outcome, right.grading, right.answer_format) == ("passed", "verified", "verified")
    assert [view.answer_format for view in views] == ["verified"]
    assert trial(tmp_path / "untyped", verified(), answering("4.50")).outcome == "failed"
    text = trial(tmp_path / "text", verified(), answering("4.50"), answers="text")
    assert (text.outcome, text.answer_format) == ("error", "text")
    assert "the answer is not in the response format" in text.message


def test_built_in_agent_gives_typed_answers_to_verified_tasks(tmp_path: Path) -> None:
    absent = verified()
    absent["eval"][0]["expected"] = {"task_type": "retrieve", "status": "NOT_FOUND_ERROR", "retrieved_data": None}
    record = trial(tmp_path / "absent", absent, resolve_agent("na"))
    assert record.outcome == "passed"
    assert json.loads(record.answer or "")["status"] == "NOT_FOUND_ERROR"
    assert trial(tmp_path / "there", verified(), resolve_agent("na")).outcome == "failed"


def test_intent_names_the_addresses_of_the_trials_sites(tmp_path: Path) -> None:
    views: list[TaskView] = []
    record = trial(tmp_path, raw(intent="How much is tea at __SHOPPING__/tea?"), answering("4.50", views))
    assert record.outcome == "passed"
    assert [view.intent for view in views] == ["How much is tea at http://shop.test/tea?"]
    assert record.intent == "How much is tea at http://shop.test/tea?"
