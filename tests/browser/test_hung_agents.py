"""Python agents that block the whole interpreter, or end it, so that the process itself cannot react."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.results import RunDir
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


def outcomes(project: Path) -> dict[tuple[str, str], tuple[str, str | None, str | None]]:
    """Return outcome, stop reason and cause, by task and agent."""
    records = RunDir(project / "run").records()
    return {(each.key.task, each.key.agent): (each.outcome, each.stop_reason, each.cause) for each in records}


def test_hung_agent_without_workers_fails_and_run_can_be_resumed(project: Path) -> None:
    """A timer that an earlier agent set does not end the run."""
    result = play(project, "--agent=agent.py:Alarmed", "--agent=agent.py:Sleeps", "--time-limit=2")
    assert result.ret == -9
    result.stderr.fnmatch_lines([HELD % "Sleeps"])
    assert outcomes(project) == {
        ("bad", "agent.py-Alarmed"): ("passed", "answered", None),
        ("bad", "agent.py-Sleeps"): ("failed", "time", None),
    }
    resumed = run_pytest(project, "--resume=run", "--min-pass-rate=0.5")
    assert resumed.ret == 0
    resumed.stdout.fnmatch_lines(
        [
            "agent.py-Alarmed: 2/2 passed = 100.0% *",
            "agent.py-Sleeps: 1/2 passed = 50.0% *",
            "trials         4 planned, 4 run (4 judged)",
        ]
    )


@pytest.mark.exhaustive
def test_hung_agent_with_workers_fails_and_other_trials_run(project: Path) -> None:
    """This agent uses all of a CPU."""
    result = play(project, "--agent=agent.py:Holds", "--time-limit=2", "-n1", "--min-pass-rate=0.9", "--alluredir=a")
    assert result.ret == 10
    result.stderr.fnmatch_lines([HELD % "Holds"])
    result.stdout.fnmatch_lines(["*: 1/2 passed = 50.0% *", "trials         2 planned, 2 run (2 judged)"])
    results = [file.read_text() for file in (project / "a").glob("*-result.json")]
    assert any("the agent held the interpreter" in each for each in results)


def test_process_that_ends_during_a_trial_is_reported(project: Path) -> None:
    result = play(project, "--agent=agent.py:Dies")
    assert result.ret == -9
    assert {task for task, _ in outcomes(project)} <= {"good"}
    result.stderr.fnmatch_lines(["*ended in the middle of bad (agent.py-Dies, trial 1)*"])
