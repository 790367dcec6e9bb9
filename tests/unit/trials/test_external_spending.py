"""The run's budget for agents that make their own model calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Action, Noop, Stop
from pytest_webarena.agents import AgentDefinition
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.evidence.usage import MOST, Usage
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.model_calls import ModelCalls, read_model_calls
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial

from .test_trial import TASK, FakeResources, FakeSession


class Session(FakeSession):
    def execute(self, action: Action) -> None: ...


class Resources(FakeResources):
    """Resources whose page accepts any action."""

    @contextmanager
    def session(self, config: Any) -> Iterator[FakeSession]:
        yield Session()


class Spender:
    """Spends ``cost`` dollars a step and never stops."""

    cost: float | None = 0.4

    def __init__(self, assignment: object) -> None: ...

    def act(self, observation: object) -> Reply:
        return Reply(Noop(), usage=Usage(calls=1, input_tokens=10, cost=self.cost))


class Frugal(Spender):
    """Uses no model."""

    def act(self, observation: object) -> Reply:
        return Reply(Stop("42"))


@pytest.fixture
def models(tmp_path: Path) -> ModelSettings:
    return ModelSettings(calls=tmp_path / "model-calls.sqlite", max_cost=1.0)


def run(tmp_path: Path, models: ModelSettings, trial: int, agent: str = "mine", make: Any = Spender) -> TrialRecord:
    definition = AgentDefinition(id=agent, make=make, digest="d", kind="process")
    plan = TrialPlan(
        task=TASK,
        agent=definition,
        trial=trial,
        limits=EpisodeLimits(steps=9),
        options=TrialOptions(models=models, env_retries=0),
    )
    return run_trial(plan, Resources(), RunDir(tmp_path / "run").folder(TrialKey("t", agent, trial)))


def test_exhausted_budget_ends_the_trial_and_blocks_later_ones(tmp_path: Path, models: ModelSettings) -> None:
    first, second = run(tmp_path, models, 1), run(tmp_path, models, 2)
    assert (first.outcome, first.stop_reason, first.steps) == ("failed", "cost", 3)
    assert first.stop_detail == "the run's budget for model calls: $1.2000 of the run's $1 are spent or reserved"
    assert (second.event, second.undecided, second.steps) == ("budget", True, 0)
    assert "raise --max-cost and --resume" in second.message
    assert models.calls is not None
    (line,) = read_model_calls(models.calls)
    assert (line.model, line.usage.input_tokens) == ("mine", 30)
    assert line.usage.cost == pytest.approx(1.2)


def test_agents_without_costs_run_after_budget_is_exhausted(tmp_path: Path, models: ModelSettings) -> None:
    run(tmp_path, models, 1)
    assert run(tmp_path, models, 1, agent="frugal", make=Frugal).outcome == "passed"


def test_unknown_reported_cost_is_booked_as_unknown(tmp_path: Path, models: ModelSettings) -> None:
    record = run(tmp_path, models, 1, make=type("Unpriced", (Spender,), {"cost": None}))
    assert record.stop_reason != "cost"
    assert models.calls is not None
    (line,) = read_model_calls(models.calls)
    assert (line.usage.cost, line.unknown > 0) == (None, True)


def test_reported_cost_above_the_whole_budget_fails_the_trial(tmp_path: Path, models: ModelSettings) -> None:
    class Inventive(Spender):
        def act(self, observation: object) -> Reply:
            return Reply(Stop("42"), usage=Usage(calls=1, cost=1e6))

    first, second = run(tmp_path, models, 1, make=Inventive), run(tmp_path, models, 2, make=Inventive)
    assert (first.outcome, first.stop_reason) == ("failed", "agent_crash")
    assert first.stop_detail == (
        "it reported a cost of $1,000,000.0000 at once, and the whole run may cost $1 (--max-cost)"
    )
    assert (second.event, second.undecided) == ("budget", True)  # --resume runs it


@pytest.mark.matrix(8)
@pytest.mark.parametrize("field", ["calls", "input_tokens", "output_tokens", "reasoning_tokens", "cost"])
@pytest.mark.parametrize(
    "number",
    [2**63, 10**4301, -1, True, float("nan"), float("inf"), 1e16],
    ids=lambda each: repr(each)[:9] if each != 10**4301 else "digits",
)
def test_invalid_usage_numbers_are_an_agent_crash(
    tmp_path: Path, models: ModelSettings, field: str, number: Any
) -> None:
    class Boaster(Spender):
        def act(self, observation: object) -> Reply:
            return Reply(Stop("42"), usage=Usage(**{field: number}))

    record = run(tmp_path, models, 1, make=Boaster)
    assert (record.outcome, record.stop_reason, record.cause) == ("failed", "agent_crash", None)
    assert "10**15" in record.stop_detail


def test_sum_of_largest_usage_numbers_does_not_overflow(tmp_path: Path) -> None:
    most = Usage(calls=MOST, input_tokens=MOST, output_tokens=MOST, cost=float(MOST), saved=float(MOST))
    assert most + most == most
    calls = ModelCalls(tmp_path / "l.sqlite", worker="w")
    with calls._transaction() as database:  # 10,000 rows: the sum exceeds 64 bits
        database.executemany(
            "insert into calls (at, worker, trial, purpose, model, state, reserved, cost, input_tokens) "
            "values (0, 'w', 't', 'agent', 'm', 'settled', 0, 1e15, ?)",
            [(MOST,)] * 10_000,
        )
    (line,) = calls.lines()
    assert (line.usage.input_tokens, line.usage.cost) == (MOST, float(MOST))


def test_reply_that_raises_when_used_is_an_agent_crash(tmp_path: Path, models: ModelSettings) -> None:
    class Odd(str):
        __slots__ = ()

        def __len__(self) -> int:
            raise OverflowError("mine")

    class Strange(Spender):
        def act(self, observation: object) -> Any:
            return Odd("stop [42]")

    record = run(tmp_path, models, 1, make=Strange)
    assert (record.outcome, record.stop_reason) == ("failed", "agent_crash")
    assert "its reply can't be worked with: OverflowError: mine" in record.stop_detail
