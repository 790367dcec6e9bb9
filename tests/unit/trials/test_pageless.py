"""Tasks without sites: run without lease, browser and browser context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_webarena.actions import Click, Element, Noop, Stop
from pytest_webarena.agents import AgentDefinition
from pytest_webarena.agents.builtin import Dump
from pytest_webarena.browser.pageless import NO_PAGE, Pageless
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.testing import ScriptedAgent, make_task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial
from pytest_webarena.trials.trial_environment import needs_browser
from tests.cases import each_case

QUESTION = "intent: How many?\nsites: []\nchecks: [{answer: {number: 42}}]"


class Nothing:
    """Resources of a worker that has none: every access fails."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nobody needs {name}")


def play(tmp_path: Path, agent: Any) -> tuple[TrialRecord, Path]:
    definition = AgentDefinition(id="a", make=lambda assignment: agent, digest="d")
    plan = TrialPlan(
        task=make_task(QUESTION, id="t"), agent=definition, trial=1, limits=EpisodeLimits(steps=5, seconds=60)
    )
    folder = RunDir(tmp_path).folder(TrialKey("t", "a", 1))
    return run_trial(plan, Nothing(), folder), folder.path / "attempt-1"


def test_task_without_sites_needs_neither_lease_nor_browser(tmp_path: Path) -> None:
    record, attempt = play(tmp_path, ScriptedAgent(Stop("42")))
    assert (record.outcome, record.browser, record.environment["browser"]) == ("passed", "", "none")
    evidence = read_evidence(attempt)
    assert (evidence.tabs, evidence.requests, evidence.signals, evidence.sites) == ((), (), (), {})
    assert (attempt / "observations" / "000.txt").read_text() == NO_PAGE
    assert not (attempt / "screenshots").exists()


def test_page_action_without_a_page_gets_an_error(tmp_path: Path) -> None:
    class Clicker:
        def __init__(self) -> None:
            self.errors: list[str] = []

        def act(self, observation: Any) -> Any:
            self.errors.append(observation.error)
            return (Click(Element("4")), "no action at all", Noop(), Stop("42"))[len(self.errors) - 1]

    clicker = Clicker()
    record, attempt = play(tmp_path, clicker)
    assert record.outcome == "passed"
    assert [bool(error) for error in clicker.errors] == [False, True, True, False]
    assert clicker.errors[1] == NO_PAGE
    assert read_evidence(attempt).steps[0].error == NO_PAGE


def test_observation_as_answer_fails(tmp_path: Path) -> None:
    assert play(tmp_path, Dump())[0].outcome == "failed"


@each_case(
    ("rest", "needed"),
    [
        ("sites: []\nchecks: [{answer: x}]", False),
        ("sites: []\nchecks: [{python: 'm:f'}]", False),
        ("sites: [shop]\nchecks: [{answer: x}]", True),
        ("sites: []\nstart: about:blank\nchecks: [{answer: x}]", True),
        ("sites: []\nimages: 'shop:/a.png'\nchecks: [{answer: x}]", True),
    ],
)
def test_needs_browser_depends_on_sites_and_checks(rest: str, needed: bool) -> None:
    assert needs_browser(make_task(f"intent: x\n{rest}")) is needed


def test_pageless_has_all_public_members_of_session() -> None:
    from pytest_webarena.browser.session import Session

    offered = {name for name in vars(Session) if not name.startswith("_")}
    offered -= {"config", "start", "remote_input", "call_concurrently"}  # used by the engine and by recording
    offered -= {
        "focused_element",
        "observe_without_page",
        "sweep_fields",
    }  # used by self-driving agents, which have pages
    assert offered <= {name for name in dir(Pageless()) if not name.startswith("_")}
