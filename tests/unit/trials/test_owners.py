"""Owners of errors: each event of `owners.EVENTS`, with each result of its control."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args
from unittest.mock import patch

import pytest

from pytest_webarena.actions import Goto, Stop
from pytest_webarena.agents import AgentDefinition
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.faults import PageCrashed
from pytest_webarena.browser.reports import Outcome
from pytest_webarena.checks import judge_bounded
from pytest_webarena.errors import (
    AgentAbsent,
    BrowserError,
    BrowserLost,
    ControlResult,
    DeclaredError,
    PageUnusable,
    SiteError,
    TaskError,
)
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.owners import EVENTS, UNATTRIBUTED, outcome_of, table
from pytest_webarena.owners import Outcome as Owned
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.wording import REPEAT, STOP_WORDS, why_undecided
from pytest_webarena.tasks import Task
from pytest_webarena.testing import ScriptedAgent, make_task
from pytest_webarena.trials import fault_attribution
from pytest_webarena.trials import trial as trials
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.fault_attribution import Attribution, Ended
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.rescoring import Rescorer
from tests.processes import wait_until

from .owner_events import (
    ATTACKS,
    CASES,
    PAGE,
    PRICED,
    RECURS,
    SCENARIOS,
    FaultySession,
    FaultySite,
    StoppedSite,
    run,
    without_usage,
)
from .test_fault_attribution import (
    TASK,
    HalfDownSite,
    Resources,
    Site,
    VisitingSession,
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_leaves_the_success_rate(attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = ATTACKS[attack](tmp_path, monkeypatch, None)
    assert (record.outcome, record.score) == ("failed", 0.0)
    assert record.undecided is (attack != "coin, twice"), record.message


def outcome(record: TrialRecord) -> str:
    """Return the outcome in the words of `owners.Event`."""
    if record.outcome == "error":
        return "error"
    assert record.outcome == "failed"
    return "undecided" if record.undecided else record.stop_reason if record.event and record.stop_reason else "not met"


def test_every_event_has_a_scenario() -> None:
    assert list(SCENARIOS) == list(EVENTS)


@pytest.mark.parametrize(("name", "result"), CASES)
def test_error_has_the_owner_that_its_control_shows(
    name: str, result: ControlResult | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = EVENTS[name]
    record = SCENARIOS[name](tmp_path, monkeypatch, result)
    assert outcome(record) == outcome_of(event, result), record.message
    if record.outcome == "error":
        assert record.cause == event.cause or event.cause is None
    if record.undecided:
        assert (record.score, record.stop_reason, record.cause) == (0.0, UNATTRIBUTED, None)
        assert why_undecided(record).endswith(REPEAT)
    if record.event:
        expected = "works" if name == "judge_rejects" and result == "recurs" else result
        assert (record.event, record.control) == (name, expected or {"impossible": "impossible"}.get(event.control))


@pytest.mark.parametrize("result", get_args(ControlResult))
def test_only_a_control_that_shows_the_error_without_the_agent_excludes_a_trial(result: ControlResult) -> None:
    excluded = {event.name for event in EVENTS.values() if outcome_of(event, result) == "error"}
    examined = {event.name for event in EVENTS.values() if event.control != "none"}
    if result == "fails":
        assert examined <= excluded
    else:  # of a shared browser, another trial may be the cause
        assert excluded & examined == ({"shared_browser"} if result in ("works", "impossible") else set())


@pytest.mark.parametrize("error", [PageCrashed, PageUnusable, BrowserError, SiteError, TaskError])
def test_error_that_does_not_recur_with_the_same_actions_is_undecided(tmp_path: Path, error: type[Exception]) -> None:
    site = FaultySite(lambda: error("by chance"), 1)
    record = run(tmp_path, site)
    assert (record.outcome, record.undecided, record.control) == ("failed", True, "works")
    assert site.leases == 3


def test_page_that_breaks_without_damage_is_not_blamed_on_its_visitor(tmp_path: Path) -> None:
    """The agent's address may contain the damage, or be a page that breaks for everybody."""
    site = FaultySite(lambda: PageCrashed("out of memory"), 1, 2, 3)
    record = run(tmp_path, site)
    assert (record.undecided, record.control, site.leases) == (True, "address", 2)


def test_error_that_the_tasks_own_solution_causes_is_the_environments(tmp_path: Path) -> None:
    solved = make_task(
        "intent: How many?\nsites: [shop]\nchecks: [{answer: {number: 42}}]\n"
        "solution: [goto: 'shop:/stock', stop: '42']",
        id="t",
    )
    assert run(tmp_path / "broken", FaultySite(lambda: PageCrashed("x"), 1, 3, 4), task=solved).control == "fails"
    record = run(tmp_path / "damaged", FaultySite(lambda: PageCrashed("x"), 1, 3), task=solved)
    assert (record.stop_reason, record.control) == ("broke_browser", "recurs")


@pytest.mark.parametrize("error", [DeclaredError, AgentAbsent])
def test_what_only_the_agent_reports_needs_no_action(tmp_path: Path, error: type[Exception]) -> None:
    """An agent may look at the task first."""

    class Loser:
        def act(self, observation: object) -> Stop:
            raise error("no model today")

    record = run(tmp_path, HalfDownSite(), make=lambda assignment: Loser(), raises=(error,))
    assert (record.outcome, record.undecided) == ("failed", True)


def test_rescoring_keeps_the_owner_of_an_error_unless_the_checks_change(tmp_path: Path) -> None:
    record = without_usage(tmp_path)
    rescorer = Rescorer(RunDir(tmp_path), options=TrialOptions(), judge=Judge(JudgeSettings()), agents={"a": "a"})

    def rescored(task: Task) -> TrialRecord:
        return rescorer.run(task, "a", 1, browser="chromium", node_id="")

    again = rescored(PRICED)
    assert (again.outcome, again.undecided, again.event) == (record.outcome, True, "unreported_usage")
    edited = rescored(TASK)
    assert (edited.outcome, edited.stop_reason, edited.event, edited.control) == ("passed", "answered", "", None)


def test_actions_of_an_agent_that_drives_the_browser_are_not_repeated(tmp_path: Path) -> None:
    """The recorded steps are not all that it did."""
    ended = Ended(event=EVENTS["renderer"], folder=tmp_path)
    definition = AgentDefinition(id="a", make=lambda assignment: ScriptedAgent(), digest="d", self_driving=True)
    plan = TrialPlan(task=TASK, agent=definition, trial=1, limits=EpisodeLimits())
    attribution = Attribution(plan, Resources(HalfDownSite()))
    with (
        patch.object(Attribution, "_without_agent", return_value=None),
        patch.object(Attribution, "_recurs") as recurs,
    ):
        record = TrialRecord(key=TrialKey("t", "a", 1), outcome="error", cause="browser", message="x")
        assert attribution.owned(record, ended, seconds=0.0).stop_reason == "broke_browser"
    assert not recurs.called


def test_controls_share_no_browser_with_other_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own: list[bool] = []
    site = FaultySite(lambda: BrowserLost("killed"), *RECURS)
    engine = Resources(site).engine().session

    @contextmanager
    def session(config: SessionConfig) -> Iterator[Any]:
        own.append(config.own_browser)
        with engine(config) as opened:
            yield opened

    monkeypatch.setattr(Resources, "engine", lambda self: SimpleNamespace(version="fake 1", session=session))
    assert run(tmp_path, site).stop_reason == "broke_browser"
    assert own[:3] == [False, True, True]


AGENTS: list[tuple[dict[str, Any], bool]] = [
    ({"kind": "process", "tier": "process"}, True),
    ({"kind": "process", "tier": "wrapped"}, True),
    ({"kind": "python", "tier": "in-process"}, True),
    ({"kind": "process", "tier": "sandboxed"}, False),
    ({"kind": "model", "tier": "in-process"}, False),
]
"""Agents, and whether their code can send signals to the harness's processes."""


@pytest.mark.parametrize(("agent", "undecided"), AGENTS)
@pytest.mark.parametrize("error", [BrowserLost, SiteError])
def test_killed_browser_or_site_is_undecided_if_the_agents_code_could_do_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: dict[str, Any], undecided: bool, error: type[Exception]
) -> None:
    """The fault does not occur again, with or without the agent's actions."""
    monkeypatch.setattr(trials, "_SHARED_LOSSES", 0)
    record = run(tmp_path, FaultySite(lambda: error("killed"), 1), **agent)
    assert record.undecided == (undecided or error is SiteError)
    assert (record.outcome == "error") != record.undecided


@pytest.mark.parametrize("result", ["started before the agent's end", "never starts again"])
@pytest.mark.parametrize(("agent", "undecided"), AGENTS)
def test_control_shows_nothing_if_the_agents_code_could_disturb_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: dict[str, Any], undecided: bool, result: str
) -> None:
    """An agent may stop every copy of a site, or what starts them."""
    site, lease = Site(1) if result.startswith("never") else StoppedSite(1, 2), Resources.lease

    def once(resources: Resources, *args: Any, **more: Any) -> Any:
        if site.leases and result.startswith("never"):
            raise SiteError("could not be reset")
        return lease(resources, *args, **more)

    monkeypatch.setattr(Resources, "lease", once)
    record = run(tmp_path, site, **agent)
    assert (record.outcome, record.undecided) == (("failed", True) if undecided else ("error", False)), record.message
    assert site.fresh[1:] in ([], [undecided])


def test_controls_judge_with_the_time_limit_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def judged(*args: Any, seconds: float, **more: Any) -> Any:
        limits.append(seconds)
        return judge_bounded(*args, seconds=seconds, **more)

    monkeypatch.setattr(fault_attribution, "judge_bounded", judged)
    run(tmp_path, Site(1), options=TrialOptions(env_retries=0, check_timeout=7.0))
    assert set(limits) == {7.0}


def test_late_effect_of_an_action_is_waited_for(tmp_path: Path) -> None:
    """A repetition is faster than the agent was."""

    class LateSite(Site):
        @property
        def broken(self) -> bool:
            return self.leases in self.breaks and time.monotonic() - self.leased > 0.3

    site = LateSite(*RECURS)

    class Patient:
        def act(self, observation: object) -> Stop:
            wait_until(lambda: site.broken)
            return Stop("42")

    record = run(tmp_path, site, make=lambda assignment: Patient())
    assert record.stop_reason == "broke_site", record.message


def test_action_that_the_error_interrupted_is_repeated(tmp_path: Path) -> None:
    visited: list[tuple[int, str]] = []

    class Interrupted(FaultySession):
        seconds_since_first_action = 1.0

        def execute(self, action: Goto) -> Outcome:
            visited.append((self.site.leases, action.url))
            if self.site.leases in RECURS:
                raise PageCrashed("while it loads")
            return super().execute(action)

    class Crashing(FaultySite):
        def session(self) -> VisitingSession:
            super().session()
            return Interrupted(self)

    record = run(tmp_path, Crashing(lambda: PageCrashed("x")))
    assert (record.stop_reason, record.steps) == ("broke_browser", 0), record.message
    assert [url for lease, url in visited if lease == 3] == [PAGE]


def test_documented_table_has_the_rows_of_the_events() -> None:
    page = Path("docs/results.md").read_text(encoding="utf-8")
    section = page.partition("| event | control | outcome |")[2].partition("\n#")[0]
    rows = re.findall(r"^\|.*\|$", section, re.MULTILINE)
    assert rows[1:] == table()
    assert set(STOP_WORDS) >= {event.outcome for event in EVENTS.values()} - set(get_args(Owned)[:3])
