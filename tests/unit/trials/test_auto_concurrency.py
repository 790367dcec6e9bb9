"""``--concurrency auto``: the number of concurrent trials depends on how long their agents wait."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_webarena.actions import Noop, as_record
from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.evidence import StepRecord
from pytest_webarena.results import TrialRecord
from pytest_webarena.results.trial_folder import TrialFolder
from pytest_webarena.testing import make_task
from pytest_webarena.trials import runtime as runtimes
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.run_info import RunInfo
from pytest_webarena.trials.runtime import Runtime, RuntimeConfig
from pytest_webarena.trials.threaded_executor import ThreadedExecutor
from pytest_webarena.trials.throttle import MOST

TASK = make_task("intent: x\nsites: []\nchecks: [{answer: x}]", id="t")


def made(path: Path, *, by_load: bool = False) -> Runtime:
    config = RuntimeConfig(
        worker="main", limits=EpisodeLimits(), lease_timeout=1, agent_directories=(), engine=EngineConfig(),
        session=SessionConfig(), in_flight=8, by_load=by_load,
    )  # fmt: skip
    return Runtime(RunInfo(run_dir=path, broker="", temp_dir=path), config)


@pytest.mark.parametrize(
    ("by_load", "waited", "held"),
    [(True, 9.0, MOST), (True, 1.0, math.inf), (False, 1.0, MOST)],
    ids=["agents that wait", "agents that compute", "a number was given"],
)
def test_compute_bound_agents_are_throttled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_load: bool, waited: float, held: float
) -> None:
    def run_trial(plan: TrialPlan, resources: object, folder: TrialFolder) -> TrialRecord:
        writer = folder.begin(worker="main", node_id="")
        writer.stepped(
            StepRecord(
                index=0,
                action=as_record(Noop()),
                raw="",
                url_before="",
                url_after="",
                observation="",
                screenshot="",
                seconds={"observe": 0.0, "act": waited, "execute": 0.0},
            )
        )
        return TrialRecord(key=plan.key, outcome="passed", seconds={"episode": waited, "total": 10.0})

    monkeypatch.setattr(runtimes, "run_trial", run_trial)
    with made(tmp_path, by_load=by_load) as runtime:
        assert runtime._throttle.most == MOST
        runtime.run(TASK, "null", 1, browser="chromium", node_id="")
        assert runtime._throttle.most == held


def test_trial_run_between_others_counts_as_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_flight: list[int] = []

    def run_trial(plan: TrialPlan, resources: object, folder: TrialFolder) -> TrialRecord:
        in_flight.append(plan.in_flight)
        with plan.start():
            if len(in_flight) == 2:  # like a rerun while others are running
                runtime.run(TASK, "null", 3, browser="chromium", node_id="")
        return TrialRecord(key=plan.key, outcome="passed")

    monkeypatch.setattr(runtimes, "run_trial", run_trial)
    with made(tmp_path) as runtime, ThreadedExecutor(runtime, 8) as executor:
        runtime.run(TASK, "null", 1, browser="chromium", node_id="")
        executor.submit(TASK, "null", 2).result()
    assert in_flight == [1, 8, 8]


def test_retried_trial_counts_once_among_running_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []

    def run_trial(plan: TrialPlan, resources: object, folder: TrialFolder) -> TrialRecord:
        for _ in range(3):
            with plan.start():
                assert runtime._begun == 1
        return TrialRecord(key=plan.key, outcome="passed")

    monkeypatch.setattr(runtimes, "run_trial", run_trial)
    with made(tmp_path) as runtime:
        monkeypatch.setattr(runtime._throttle, "hold", lambda under_way, over: held.append(under_way()))
        for trial in (1, 2):
            runtime.run(TASK, "null", trial, browser="chromium", node_id="")
    assert held == [0, 0]  # only first attempts; the earlier one had ended
