"""``kill -9`` of the controller process while its workers run trials."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from pytest_webarena.results import RunDir, TrialRecord
from tests.processes import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine")]

TASKS = """
defaults: {sites: [homepage], user: '', checks: [{answer: said}], solution: [{stop: said}]}
tasks:
""" + "".join(f"  - {{id: t{number}, intent: Say {number}}}\n" for number in range(3))
KILLING = """
import os
from pathlib import Path

import psutil

def kill_controller():
    controller = psutil.Process(os.getppid())
    # Whom the reaper was started by has ended, and may not have been waited for yet.
    children = [each for each in controller.children() if each.status() != psutil.STATUS_ZOMBIE]
    brokers = [each for each in children if "pytest_webarena.sites.broker" in " ".join(each.cmdline())]
    assert brokers
    workers = [each.pid for each in children if each not in brokers]
    Path("killed").write_text(" ".join(map(str, workers)))
    controller.kill()
    psutil.wait_procs(brokers, 60)
"""
AGENT = """
from pathlib import Path

from killing import kill_controller

class Agent:
    def __init__(self, task):
        self.killing = task.intent == "Say 1"

    def act(self, observation):
        if self.killing and not Path("killed").exists():
            kill_controller()
        return "```stop [said]```"
"""
CONFTEST = """
from pathlib import Path

from pytest_webarena.agents.builtin import Oracle

from killing import kill_controller

act = Oracle.act

def act_after_kill(self, observation):
    if self._task == "t1" and not Path("killed").exists():
        kill_controller()
    return act(self, observation)

Oracle.act = act_after_kill
"""


def resume_after_kill(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, agent: str, workers: int
) -> tuple[pytest.RunResult, dict[str, TrialRecord]]:
    """Run an agent during whose second trial the controller is killed, and resume the run.

    Returns the result of the second call, and the records after it.
    """
    tmp_path = pytester.path
    for name, text in {"tasks.yaml": TASKS, "killing.py": KILLING, "agent.py": AGENT}.items():
        (tmp_path / name).write_text(text)
    if agent == "oracle":
        (tmp_path / "conftest.py").write_text(CONFTEST)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.syspath_prepend(tmp_path)
    arguments = ("tasks.yaml", f"--agent={agent}", "--run-dir=run", "--record=minimal", f"-n{workers}")
    command = (sys.executable, "-m", "pytest", *arguments)
    with (tmp_path / "output").open("w") as output:
        assert subprocess.run(command, cwd=tmp_path, stdout=output, stderr=output, timeout=120).returncode == -9
    left = [int(pid) for pid in (tmp_path / "killed").read_text().split()]
    wait_until(lambda: not any(map(psutil.pid_exists, left)))
    before = {record.key.task: record.outcome for record in RunDir(tmp_path / "run").records()}
    assert "t1" not in before  # its broker ended under it
    assert set(before.values()) <= {"passed"}
    assert workers > 1 or before == {"t0": "passed"}

    (tmp_path / "conftest.py").unlink(missing_ok=True)
    resumed = pytester.runpytest_inprocess("--resume=run", "-n0")
    return resumed, {record.key.task: record for record in RunDir(tmp_path / "run").records()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_controller_loses_no_trial(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    resumed, _ = resume_after_kill(pytester, monkeypatch, "oracle", workers)
    resumed.stdout.fnmatch_lines(["trials         3 planned, 3 run (3 judged)"])
    assert resumed.ret == 0


@pytest.mark.exhaustive  # tests/plugin/test_killed_workers.py kills the worker
def test_agent_that_kills_the_controller_gets_no_second_attempt(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed, records = resume_after_kill(pytester, monkeypatch, "agent.py:Agent", 2)
    assert resumed.ret == 1
    assert len(records) == 3
    assert (records["t1"].outcome, records["t1"].stop_reason, records["t1"].attempt) == ("failed", "unattributed", 1)
    assert all(each.outcome == "passed" or each.undecided for each in records.values())
