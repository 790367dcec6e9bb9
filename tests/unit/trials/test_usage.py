"""Recorded usage of agents, and the checks of it for each kind of agent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Noop, Stop
from pytest_webarena.agents import AgentDefinition, resolve_agent
from pytest_webarena.agents.memory import MemoryKeys, Remembered
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.agents.worker import AgentCrashed, AgentTimeout
from pytest_webarena.browser.pageless import Pageless
from pytest_webarena.checks import Verdict, judge
from pytest_webarena.errors import TrialError
from pytest_webarena.evidence import Evidence, Usage
from pytest_webarena.gym import TasksEnv
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.results.memory import Memory, memory_folder
from pytest_webarena.testing import make_task
from pytest_webarena.trials.episode import EpisodeLimits, run_episode
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial
from pytest_webarena.trials.tryout import tryout
from tests.model_server import Answer, fail, model_server, say

from .test_pageless import Nothing

CHECKS = ("cost: {at_most: 0.15}", "tokens: {at_most: 2500}", "steps: {at_most: 3}", "seconds: {at_most: 60}")
TASK = make_task(
    "intent: How many?\nsites: []\nsolution: [{stop: '42'}]\nchecks:\n"
    + "".join(f"  - {check}\n" for check in ("answer: {number: 42}", *CHECKS)),
    id="t",
)
QUICK = {"retries": {"attempts": 2, "first": 0.01, "longest": 0.02, "patience": 1}, "timeout": 5, "key_env": None}
CALL = Usage(calls=1, input_tokens=900, output_tokens=100, cost=0.05)


def play(folder: Path, agent: AgentDefinition, **more: Any) -> tuple[TrialRecord, Evidence]:
    plan = TrialPlan(task=TASK, agent=agent, trial=1, limits=EpisodeLimits(steps=5, seconds=60), **more)
    place = RunDir(folder).folder(TrialKey("t", agent.id, 1))
    record = run_trial(plan, Nothing(), place)
    return record, read_evidence(place.path / f"attempt-{record.attempt}")


class ReportingAgent:
    """A third-party agent with the replies that the test gives."""

    def __init__(self, replies: Sequence[Any]) -> None:
        self._replies = list(replies)

    def act(self, observation: object) -> Any:
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply() if callable(reply) else reply


def reporting_agent(*replies: Any, **facts: Any) -> AgentDefinition:
    return AgentDefinition(**{"id": "a", "make": lambda assignment: ReportingAgent(replies), "digest": "d", **facts})


def scores(record: TrialRecord) -> list[float | None]:
    """Return the scores of the four checks."""
    assert record.verdict is not None
    return [each.score for each in Verdict.from_json(record.verdict).results[1:]]


def test_agents_without_a_model_have_zero_usage(tmp_path: Path) -> None:
    (tmp_path / "fixed.yaml").write_text("kind: scripted\ntasks: {t: [{stop: '42'}]}\n")
    for name in ("oracle", "fixed"):
        record, evidence = play(tmp_path, resolve_agent(name, [tmp_path]))
        assert (record.outcome, record.usage) == ("passed", None)  # not a cost of $0
        assert (evidence.usage, evidence.usage_gap) == (Usage(), "")
    (tmp_path / "again.yaml").write_text(f"kind: replay\nrun: {tmp_path}\nagent: fixed\n")
    assert play(tmp_path, resolve_agent("again", [tmp_path]))[0].outcome == "passed"


@pytest.mark.parametrize(
    ("replies", "expected", "gap"),
    [
        ((Reply(Noop(), usage=CALL), Reply(Stop("42"), usage=CALL)), [1.0, 1.0, 1.0, 1.0], ""),
        ((Reply(Noop(), usage=CALL),) * 3 + (Reply(Stop("42"), usage=CALL),), [0.0, 0.0, 0.0, 1.0], ""),
        ((Stop("42"),), [None, None, 1.0, 1.0], "the agent did not report the usage of step 0"),
        (
            (Reply(Noop(), usage=CALL), Stop("42")),
            [None, None, 1.0, 1.0],
            "the agent did not report the usage of step 1",
        ),
        ((Reply(Noop(), usage=CALL), Reply(Stop("42"), usage=Usage())), [1.0, 1.0, 1.0, 1.0], ""),
        ((Reply(Stop("42"), usage=replace(CALL, cost=None)),), [None, 1.0, 1.0, 1.0], ""),
        (
            (Reply(Noop(), usage=CALL), ValueError("oops")),
            [None, None, 1.0, 1.0],
            "the agent crashed before it reported",
        ),
    ],
    ids=["enough", "too much", "none reported", "partly reported", "zero reported", "no price", "crashed"],
)
def test_usage_checks_are_undecided_where_the_agent_reports_nothing(
    tmp_path: Path, replies: tuple[Any, ...], expected: list[float | None], gap: str
) -> None:
    record, evidence = play(tmp_path, reporting_agent(*replies))
    assert scores(record) == expected
    assert evidence.usage_gap.startswith(gap)
    assert bool(evidence.usage_gap) == bool(gap)
    assert record.total_usage is None or record.total_usage.complete is not bool(gap)
    decided = 0.0 in expected or "crashed" in gap
    assert record.outcome == ("failed" if decided or None in expected else "passed")
    assert record.undecided is (None in expected and not decided)
    assert judge(TASK, evidence).to_json()["results"] == (record.verdict or {})["results"]  # as a rescoring would


def test_step_ended_by_an_unexpected_exception_keeps_its_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Pageless, action: object) -> Any:
        raise KeyError("a bug of ours")

    monkeypatch.setattr(Pageless, "execute", broken)
    agent = reporting_agent(Reply(Noop(), usage=CALL))
    plan = TrialPlan(task=TASK, agent=agent, trial=1, limits=EpisodeLimits(steps=5, seconds=60))
    record = run_trial(plan, Nothing(), RunDir(tmp_path).folder(TrialKey("t", "a", 1)))
    assert (record.event, record.total_usage) == ("harness", CALL)


@pytest.mark.parametrize("error", [AgentTimeout(), AgentCrashed("oops")], ids=["cut off", "crashed"])
def test_cut_off_step_has_known_time_and_unknown_usage(error: Exception) -> None:
    now = [0.0]

    class Agent:
        """Takes five seconds a step and does not return from the second."""

        def __init__(self) -> None:
            self._replies: list[Any] = [Reply(Noop(), usage=CALL), error]

        def act(self, observation: object, timeout: float) -> Any:
            now[0] += 5
            reply = self._replies.pop(0)
            if isinstance(reply, Exception):
                raise reply
            return reply

    class Session(Pageless):
        def observe(self) -> Any:
            now[0] += 100  # the browser's time, not the agent's
            return super().observe()

    episode = run_episode(
        Session(),
        Agent(),  # type: ignore[arg-type]
        parse=lambda text: Noop(),
        limits=EpisodeLimits(),
        recorder=Nowhere(),
        clock=lambda: now[0],
    )
    assert (episode.usage, episode.agent_seconds, episode.seconds) == (CALL, 10.0, 210.0)
    assert "before it reported what step 1 used" in episode.usage_gap


class Nowhere:
    """A recorder that stores nothing."""

    def observed(self, index: int, observation: object) -> tuple[str, str]:
        return "", ""

    def stepped(self, step: object) -> None: ...


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        (Remembered(text="so", usage=CALL), [1.0, 1.0]),
        (Remembered(text="so", usage=replace(CALL, input_tokens=9000, cost=0.3)), [0.0, 0.0]),
        ("so", [None, None]),
        (ValueError("no pen"), [None, None]),
    ],
)
def test_usage_includes_the_memory_call(tmp_path: Path, notes: Any, expected: list[float | None]) -> None:
    class Noting(ReportingAgent):
        def remember(self, reason: str) -> Any:
            if isinstance(notes, Exception):
                raise notes
            return notes

    keys = MemoryKeys(scope="task")
    memory = Memory(memory_folder(tmp_path, agent="a", digest="d", of="t"))
    agent = reporting_agent(memory=keys, make=lambda assignment: Noting([Reply(Stop("42"), usage=CALL)]))
    record, _ = play(tmp_path, agent, memory=memory)
    assert scores(record)[:2] == expected


def model_agent(folder: Path, url: str, **keys: Any) -> AgentDefinition:
    data = {"kind": "model", "model": "priced", "endpoint": {"base_url": url, **QUICK}, **keys}
    (folder / "mine.yaml").write_text(json.dumps(data))
    return resolve_agent("mine", [folder])


@pytest.fixture
def models(tmp_path: Path) -> TrialOptions:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models: {priced: {input: 10, output: 100}, dear: {input: 100, output: 1000}}\n")
    return TrialOptions(models=ModelSettings(prices=prices, cache=tmp_path / "cache"))


def test_cost_check_counts_cached_model_calls(tmp_path: Path, models: TrialOptions) -> None:
    with model_server([say("```stop [42]```")]) as server:  # 1,000 + 100 tokens: two cents
        agent = model_agent(tmp_path, server.url)
        paid, known = play(tmp_path / "one", agent, options=models)
        cached, again = play(tmp_path / "two", agent, options=models)
        assert server.requests == 1
    assert (paid.outcome, scores(paid)) == ("passed", [1.0, 1.0, 1.0, 1.0])
    assert known.usage is not None
    assert known.usage.worth == pytest.approx(0.02)
    assert again.usage is not None
    assert (again.usage.cost, again.usage.worth) == (0.0, known.usage.worth)
    assert scores(cached) == [1.0, 1.0, 1.0, None]  # the uncached duration is unknown
    dear = make_task("intent: x\nsites: []\nchecks: [{cost: {at_most: 0.01}}]")
    assert [judge(dear, each).passed for each in (known, again)] == [False, False]


@pytest.mark.parametrize(
    ("fault", "known"),
    [
        (fail(429), True),  # refused requests are not billed
        (Answer(raw=b"certainly! {"), False),
        (Answer(text="", usage=None), False),
    ],
)
def test_usage_is_unknown_after_unreadable_model_replies(
    tmp_path: Path, models: TrialOptions, fault: Answer, known: bool
) -> None:
    with model_server([fault, say("```stop [42]```")]) as server:
        record, _ = play(tmp_path, model_agent(tmp_path, server.url), options=models)
    assert record.usage is not None
    assert (record.outcome, record.usage.untold_calls) == (("passed", 0) if known else ("error", 1))
    assert known or "1 request to its model, given up or answered without a count" in record.message


def test_endpoint_without_usage_leaves_tokens_and_cost_undecided(tmp_path: Path, models: TrialOptions) -> None:
    with model_server([replace(say("```stop [42]```"), usage=None)]) as server:
        record, _ = play(tmp_path, model_agent(tmp_path, server.url), options=models)
    assert (record.outcome, scores(record)) == ("error", [None, None, 1.0, 1.0])


def test_reward_model_usage_counts_as_the_agents(tmp_path: Path, models: TrialOptions) -> None:
    verdict = '{"reason": "so", "status": "doing", "score": 3, "description": "nothing"}'
    with model_server([say("```noop```"), say("```stop [42]```")]) as server, model_server([say(verdict)]) as watcher:
        reward = {"model": "dear", "endpoint": {"base_url": watcher.url, **QUICK}}
        record, evidence = play(tmp_path, model_agent(tmp_path, server.url, reward=reward), options=models)
        assert watcher.requests == 1
    assert evidence.usage is not None
    assert evidence.usage.worth == pytest.approx(0.02 + 0.2 + 0.02)
    assert scores(record)[:2] == [0.0, 0.0]


def test_gym_environment_uses_reported_usage_only(tmp_path: Path) -> None:
    file = tmp_path / "some.tasks.yaml"
    file.write_text(
        "tasks:\n"
        "  - {id: spent, intent: x, sites: [], checks: [{answer: x}, {cost: {at_most: 1}}, {steps: {at_most: 1}}]}\n"
        "  - {id: timed, intent: x, sites: [], checks: [{answer: x}, {seconds: {at_most: 1}}]}\n"
    )
    env = TasksEnv(file, browser_executable="/there/is/none")
    try:
        for task, action, why in (
            ("spent", "```stop [x]```", "the agent did not report the usage of step 0"),
            ("timed", "```stop [x]```", "how long the agent took was not measured"),
        ):
            env.reset(options={"task": task})
            with pytest.raises(TrialError, match=why):
                env.step(action)
        env.reset(options={"task": "spent"})
        assert env.step(Reply("```stop [x]```", usage=CALL))[1:3] == (1.0, True)
    finally:
        env.close()


def test_tryout_has_no_cost_or_time(tmp_path: Path) -> None:
    lines: list[str] = []
    with tryout(TASK, Nothing(), lines.append, tmp_path) as trying:
        assert trying.next_step()
        assert trying.verdict().passed


def test_unreported_usage_is_undecided(tmp_path: Path) -> None:
    silent = reporting_agent(Reply(action=Stop("42")))
    record, _ = play(tmp_path, silent)
    assert (record.outcome, record.undecided, record.event) == ("failed", True, "unreported_usage")


@pytest.mark.parametrize("part", [{"cached_input_tokens": 11}, {"reasoning_tokens": 6}])
def test_partial_token_counts_above_the_total_are_refused(part: Any) -> None:
    with pytest.raises(TypeError, match="to be among"):
        Usage(calls=1, input_tokens=10, output_tokens=5, **part)
