"""Trials of agents with memory: passing it on, records, and errors that do not affect the verdict."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Stop
from pytest_webarena.agents import AgentDefinition
from pytest_webarena.agents.memory import MemoryKeys, Remembered
from pytest_webarena.agents.protocol import Assignment
from pytest_webarena.errors import BrowserError, ModelError
from pytest_webarena.evidence import Usage
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.memory import Memory, memory_folder
from pytest_webarena.results.records import MemoryUse
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial

from .test_trial import TASK, FakeResources


class Counter:
    """An agent that remembers its number of trials; the test sets its faults."""

    answer = "42"
    says: Any = None

    def __init__(self, assignment: Assignment) -> None:
        self.before = assignment.view.memory

    def act(self, observation: object) -> Stop:
        return Stop(self.answer)

    def remember(self, reason: str) -> Any:
        if isinstance(self.says, Exception):
            raise self.says
        return self.says if self.says is not None else f"{self.before}I"


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    return RunDir(tmp_path)


def run(run_dir: RunDir, trial: int, resources: Any = None, keys: MemoryKeys | None = None, **says: Any) -> TrialRecord:
    keys = keys or MemoryKeys(scope="task", max_chars=40, seconds=1)
    agent = AgentDefinition(id="a", make=type("Agent", (Counter,), says), digest="d", memory=keys)
    memory = Memory(memory_folder(run_dir.path, agent="a", digest="d", of=keys.name_for(TASK)))
    plan = TrialPlan(task=TASK, agent=agent, trial=trial, limits=EpisodeLimits(seconds=5), memory=memory)
    return run_trial(plan, resources or FakeResources(), run_dir.folder(TrialKey("t", "a", trial)))


def name(trial: int) -> str:
    return TrialKey("t", "a", trial).folder


def test_trial_gets_previous_memory_and_records_its_origin(run_dir: RunDir) -> None:
    first, second, third = (run(run_dir, trial, answer=answer) for trial, answer in ((1, "42"), (2, "43"), (3, "42")))
    assert [record.outcome for record in (first, second, third)] == ["passed", "failed", "passed"]  # both count
    assert first.memory == MemoryUse(scope="task", of="t", wrote=True)
    assert second.memory == MemoryUse(scope="task", of="t", trials=1, after=name(1), wrote=True)
    assert third.memory == MemoryUse(scope="task", of="t", trials=2, after=name(2), wrote=True)
    attempt = run_dir.folder(third.key).path / "attempt-1"
    assert (attempt / "memory-before.txt").read_text() == "II"
    assert (attempt / "memory-after.txt").read_text() == "III"
    assert {record.key.trial: record.memory for record in run_dir.records()}[3] == third.memory


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        (ValueError("lost my pen"), "ValueError: lost my pen"),
        (ModelError("overloaded"), "ModelError: overloaded"),
        (5, "expected text to remember or None, found int"),
    ],
)
def test_failing_remember_keeps_verdict_and_memory(run_dir: RunDir, says: Any, problem: str) -> None:
    run(run_dir, 1)
    failing = run(run_dir, 2, says=says)
    after = run(run_dir, 3)
    assert failing.outcome == "passed"
    assert failing.memory is not None
    assert failing.memory.problem.startswith(problem)
    reported = failing.memory.problem
    assert failing.memory == MemoryUse(scope="task", of="t", trials=1, after=name(1), problem=reported)
    assert after.memory == MemoryUse(scope="task", of="t", trials=1, after=name(1), wrote=True)


def test_slow_remember_is_cut_off(run_dir: RunDir) -> None:
    never = threading.Event()

    def remember(self: object, reason: str) -> str:
        never.wait(30)
        return "late"

    record = run(run_dir, 1, keys=MemoryKeys(scope="task", seconds=0.05), remember=remember)
    never.set()
    assert record.outcome == "passed"
    assert record.memory is not None
    assert record.memory.problem == "the agent did not answer within 0.05 s"
    assert not record.memory.wrote


def test_long_memory_is_truncated_and_its_usage_counts(run_dir: RunDir) -> None:
    record = run(run_dir, 1, says=Remembered(text="x" * 50, usage=Usage(calls=1, input_tokens=9, cost=0.5)))
    assert record.memory is not None
    assert (record.memory.wrote, record.memory.problem) == (True, "50 characters were cut to 40")
    assert record.usage is not None
    assert (record.usage.input_tokens, record.usage.cost) == (9, 0.5)
    assert (run_dir.folder(record.key).path / "attempt-1" / "memory-after.txt").read_text() == "x" * 40


def test_attempt_without_verdict_writes_no_memory(run_dir: RunDir) -> None:
    record = run(run_dir, 1, FakeResources(BrowserError("it crashed")))  # the second attempt succeeds
    assert record.memory == MemoryUse(scope="task", of="t", wrote=True)
    broken = run(run_dir, 2, FakeResources(*[BrowserError("it crashed")] * 2))
    assert broken.memory == MemoryUse(scope="task", of="t", trials=1, after=name(1))
    assert run(run_dir, 3).memory == MemoryUse(scope="task", of="t", trials=1, after=name(1), wrote=True)


def test_repeated_trial_starts_with_the_same_memory(run_dir: RunDir) -> None:
    run(run_dir, 1)
    once, again = run(run_dir, 2), run(run_dir, 2)
    assert once.memory == again.memory
