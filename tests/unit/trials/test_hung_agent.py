"""Records of agents that block the interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.agents import AgentDefinition
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.lost_trials import lost_record
from pytest_webarena.testing import ScriptedAgent
from pytest_webarena.trials import hung_agent
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.plan import TrialPlan

from .test_trial import TASK

KEY = TrialKey("t", "a", 1)


@pytest.mark.parametrize("counting", [None, TrialRecord(key=KEY, outcome="failed", stop_reason="broke_site")])
def test_agent_that_hangs_in_a_later_attempt_keeps_the_record_that_counts(
    counting: TrialRecord | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[dict[str, Any]] = []

    @contextmanager
    def watched(file: Path, *, acting: Any, idle: Any, **more: Any) -> Iterator[None]:
        written.extend((acting, idle))
        yield

    monkeypatch.setattr(hung_agent, "watched", watched)
    agent = AgentDefinition(id="a", make=lambda assignment: ScriptedAgent(), digest="d", tier="in-process")
    plan = TrialPlan(task=TASK, agent=agent, trial=1, limits=EpisodeLimits(), counting=counting)
    with hung_agent.guarded(
        plan, TrialRecord(key=KEY, outcome="failed"), RunDir(tmp_path).folder(KEY).begin(worker="", node_id="")
    ):
        pass
    reasons = [(each["outcome"], each["stop_reason"]) for each in written]
    assert reasons == ([("failed", "broke_site")] * 2 if counting else [("failed", "time"), ("failed", "unattributed")])


@pytest.mark.parametrize(("kind", "stored"), [("model", False), ("python", True)])
def test_record_for_a_killed_process_is_stored_only_for_agents_that_can_kill_it(
    kind: str, stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hung_agent, "watched", lambda *args, **more: nullcontext())
    agent = AgentDefinition(id="a", make=lambda assignment: ScriptedAgent(), digest="d", kind=kind)
    writer = RunDir(tmp_path).folder(KEY).begin(worker="", node_id="")
    plan = TrialPlan(task=TASK, agent=agent, trial=1, limits=EpisodeLimits())
    with hung_agent.guarded(plan, TrialRecord(key=KEY, outcome="failed"), writer):
        assert (lost_record(writer.path.parent, writer.number) is not None) == stored


LATE = """
import signal, threading
from pytest_webarena.trials.hung_agent import _TIMERS, without_alarms

def late():
    for timer in _TIMERS:
        signal.setitimer(timer, 0.01)
        while signal.getitimer(timer)[0]:
            pass
        signal.setitimer(timer, 1000)

with without_alarms():
    pass
thread = threading.Thread(target=late)
thread.start()
thread.join()
with without_alarms():
    assert not any(signal.getitimer(timer)[0] for timer in _TIMERS)
"""


def test_timer_of_a_thread_that_outlives_its_trial_does_not_end_the_process() -> None:
    subprocess.run([sys.executable, "-c", LATE], check=True, timeout=60)
