"""Agents that kill their own process: it buys no second attempt."""

from __future__ import annotations

import sys

import pytest

from pytest_webarena.results import RunDir, TrialRecord

TASKS = """
tasks:
  - {id: first, sites: [], intent: "Say x first.", checks: [{answer: x}], solution: [{stop: x}]}
  - {id: second, sites: [], intent: "Say x.", checks: [{answer: x}], solution: [{stop: x}]}
"""
KILLER = """
import os, signal
from pathlib import Path

from pytest_webarena.actions import Stop, Wait


class Killer:
    def __init__(self, task):
        self.losing = "first" in task.intent and not Path("killed").exists()
        self.steps = 0

    def act(self, observation):
        self.steps += 1
        if self.losing and self.steps == 1:
            return Wait(seconds=0)
        if self.losing:
            Path("killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Stop("x")
"""


def records(pytester: pytest.Pytester) -> dict[str, TrialRecord]:
    return {record.key.task: record for record in RunDir(pytester.path / "run").records()}


@pytest.mark.parametrize(
    "workers",
    [
        pytest.param((), marks=pytest.mark.exhaustive),
        ("-n1",),
        pytest.param(("-n1", "--concurrency=2"), marks=pytest.mark.exhaustive),
    ],
)
def test_trial_whose_agent_kills_its_process_is_undecided_and_not_run_again(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    (pytester.path / "a.tasks.yaml").write_text(TASKS)
    (pytester.path / "killer.py").write_text(KILLER)
    options = (f"--browser-executable={sys.executable}", "-p", "no:cacheprovider", "-p", "no:randomly")
    pytester.runpytest_subprocess("--agent=killer:Killer", "--run-dir=run", *options, *workers)
    assert (pytester.path / "killed").exists()
    resumed = pytester.runpytest_subprocess("--resume=run", *options, *workers)
    found = records(pytester)
    lost = [record for record in found.values() if record.outcome != "passed"]
    assert len(found) == 2
    assert "first" in [record.key.task for record in lost]
    for record in lost:  # several trials were in the process, and any of their agents may have killed it
        assert (record.outcome, record.undecided, record.stop_reason) == ("failed", True, "unattributed")
        assert "the worker's process died while the agent ran" in record.message
        assert (record.attempt, record.steps) == (1, 1 if record.key.task == "first" else record.steps)
        resumed.stdout.fnmatch_lines([f"  to repeat them: *mv *run/trials/{record.key.folder} *"])
    assert len(lost) == 1 or "--concurrency=2" in workers
    assert not list((pytester.path / "run" / "trials").rglob("if-lost.json"))
