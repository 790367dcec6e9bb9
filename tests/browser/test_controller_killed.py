"""``kill -9`` of the controller process while its workers run trials."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

from pytest_webarena.results import RunDir

TASK = "  - {{id: t{0}, sites: [homepage], user: '', intent: Say {0}, checks: [{{answer: said}}]}}\n"
TASKS = "tasks:\n" + "".join(map(TASK.format, range(4)))
AGENT = """
import os, signal
from pathlib import Path

import psutil

class Agent:
    def __init__(self, task):
        self.first = task.intent == "Say 0"

    def act(self, observation):
        if self.first and not Path("killed").exists():
            controller = psutil.Process(os.getppid())
            # Whom the reaper was started by has ended, and may not have been waited for yet.
            children = [each for each in controller.children() if each.status() != psutil.STATUS_ZOMBIE]
            brokers = [each for each in children if "pytest_webarena.sites.broker" in " ".join(each.cmdline())]
            assert brokers
            workers = [each.pid for each in children if each not in brokers]
            Path("killed").write_text(" ".join(map(str, workers)))
            controller.kill()
            psutil.wait_procs(brokers, 60)
        return "```stop [said]```"
"""


def test_killed_controller_loses_no_trial(pytester: pytest.Pytester) -> None:
    tmp_path = pytester.path
    (tmp_path / "tasks.yaml").write_text(TASKS)
    (tmp_path / "agent.py").write_text(AGENT)
    command = (
        sys.executable,
        "-m",
        "pytest",
        "tasks.yaml",
        "--agent=agent.py:Agent",
        "--run-dir=run",
        "--record=minimal",
        "-n2",
    )
    with (tmp_path / "output").open("w") as output:
        assert subprocess.run(command, cwd=tmp_path, stdout=output, stderr=output, timeout=120).returncode == -9
    left = [int(pid) for pid in (tmp_path / "killed").read_text().split()]
    deadline = time.monotonic() + 60
    while any(map(psutil.pid_exists, left)) and time.monotonic() < deadline:
        time.sleep(0.1)
    before = {record.key.task: record.outcome for record in RunDir(tmp_path / "run").records()}
    assert "t0" not in before  # its broker ended under it
    assert set(before.values()) <= {"passed"}

    resumed = pytester.runpytest_inprocess("--resume=run", "-n0")
    resumed.stdout.fnmatch_lines(["trials         4 planned, 4 run (4 judged)"])
    assert resumed.ret == 0
