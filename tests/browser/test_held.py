"""Python agents that hold the whole interpreter, or end it: nothing inside the process could do anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.results import RunDir, TrialRecord
from tests.inner import run_pytest

TASKS = "tasks:\n" + "".join(
    f"  - {{id: {id}, sites: [], intent: Say {id}, checks: [{{answer: said}}]}}\n" for id in ("bad", "good")
)
AGENT = """
import ctypes, os, re, signal

class Agent:
    def __init__(self, task):
        self.bad = task.intent == "Say bad"

    def act(self, observation):
        if self.bad:
            self.misbehave()
        return "```stop [said]```"

class Holds(Agent):
    def misbehave(self):
        re.match(r"(a+)+b", "a" * 60)

class Sleeps(Agent):
    def misbehave(self):
        ctypes.PyDLL(None).sleep(600)  # in a library that does not let go of the interpreter; it takes no processor

class Dies(Agent):
    def misbehave(self):
        os.kill(os.getpid(), signal.SIGKILL)

class Alarmed(Agent):
    def __init__(self, task):
        super().__init__(task)
        assert not any(signal.getitimer(timer)[0] for timer in TIMERS)

    def misbehave(self):
        for timer in TIMERS:
            signal.setitimer(timer, 0.05)
            while signal.getitimer(timer)[0]:
                pass
            signal.setitimer(timer, 1000)

TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
"""
HELD = "*webarena: the agent held the interpreter of process * beyond the limits of bad (agent.py-%s, trial 1)*"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tasks.yaml").write_text(TASKS)
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def play(project: Path, *options: str) -> pytest.RunResult:
    return run_pytest(project, "tasks.yaml", "--run-dir=run", *options)


def records(project: Path) -> dict[str, TrialRecord]:
    return {record.key.task: record for record in RunDir(project / "run").records()}


def test_without_workers_the_trial_has_failed_and_the_run_can_go_on(project: Path) -> None:
    result = play(project, "--agent=agent.py:Holds", "--time-limit=2")
    assert result.ret == -9
    result.stderr.fnmatch_lines([HELD % "Holds"])
    record = records(project)["bad"]
    assert (record.outcome, record.stop_reason, record.cause) == ("failed", "time", None)
    resumed = run_pytest(project, "--resume=run", "--min-pass-rate=0.5")
    assert resumed.ret == 0
    resumed.stdout.fnmatch_lines(["*: 1/2 passed = 50.0% *", "trials         2 planned, 2 run (2 judged)"])


@pytest.mark.exhaustive
def test_with_workers_the_others_go_on(project: Path) -> None:
    result = play(project, "--agent=agent.py:Sleeps", "--time-limit=2", "-n1", "--min-pass-rate=0.9", "--alluredir=a")
    assert result.ret == 10
    result.stderr.fnmatch_lines([HELD % "Sleeps"])
    result.stdout.fnmatch_lines(["*: 1/2 passed = 50.0% *", "trials         2 planned, 2 run (2 judged)"])
    told = [file.read_text() for file in (project / "a").glob("*-result.json")]
    assert any("the agent held the interpreter" in each for each in told)


def test_a_process_that_ends_in_the_middle_does_not_do_so_in_silence(project: Path) -> None:
    result = play(project, "--agent=agent.py:Dies")
    assert result.ret == -9
    assert set(records(project)) <= {"good"}
    result.stderr.fnmatch_lines(["*ended in the middle of bad (agent.py-Dies, trial 1)*"])


def test_timers_of_an_agent_end_nothing(project: Path) -> None:
    result = play(project, "--agent=agent.py:Alarmed")
    assert result.ret == 0
    assert [record.outcome for record in records(project).values()] == ["passed", "passed"]
