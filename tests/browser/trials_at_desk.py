"""Whole trials on the test site `desk`, and the same as Gymnasium environments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Action, Click, Selector, Stop
from pytest_webarena.agents import AgentDefinition
from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.gym import TasksEnv
from pytest_webarena.gym.shared_runtime import RuntimeKey, enter
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.tasks import Task
from pytest_webarena.testing import ScriptedAgent, make_task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.run_info import RunInfo
from pytest_webarena.trials.runtime import FittedRuntime, Runtime, RuntimeConfig
from pytest_webarena.trials.trial import run_trial
from tests.browser.conftest import QUICK
from tests.browser.desk import write_catalogue

__all__ = [
    "BRISK",
    "SAVED",
    "Play",
    "Run",
    "agree",
    "catalogue",
    "hasty_runtime",
    "house",
    "patient_runtime",
    "play",
    "press",
    "run",
    "run_in",
    "run_patiently",
    "runtime",
    "task",
    "with_screenshots",
]


BRISK = replace(QUICK, settle=0.2, navigation=20.0, step=40.0, hang=10.0)
"""Deadlines of agents that do not wait for the effects of their actions."""


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_catalogue(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def runtime(
    catalogue: Path,
    shared_engine: BrowserEngine,
    browser_executable: str | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Runtime]:
    run_dir = tmp_path_factory.mktemp("run")
    with BrokerLauncher(BrokerConfig(catalogue=str(catalogue), run_dir=run_dir, max_replicas=2)) as launcher:
        temp = Path(launcher.address).parent / "temp"
        config = RuntimeConfig(
            worker="main",
            limits=EpisodeLimits(seconds=60),
            options=TrialOptions(env_retries=0),
            lease_timeout=60,
            agent_directories=(),
            engine=EngineConfig(executable=browser_executable, temp_dir=temp),
            session=SessionConfig(deadlines=BRISK),
        )
        with Runtime(RunInfo(run_dir=run_dir, broker=launcher.address, temp_dir=temp), config) as runtime:
            yield runtime


def with_deadlines(runtime: Runtime, **changes: float) -> FittedRuntime:
    """Return the runtime with other deadlines, on the same sites and browser."""
    config = runtime._config
    session = replace(config.session, deadlines=replace(config.session.deadlines, **changes))
    return runtime.with_config(replace(config, session=session))


def with_screenshots(runtime: Runtime) -> FittedRuntime:
    """Return the runtime with a screenshot of each step, on the same sites and browser."""
    config = runtime._config
    return runtime.with_config(replace(config, session=replace(config.session, record_screenshots=True)))


@pytest.fixture
def patient_runtime(runtime: Runtime) -> FittedRuntime:
    """For tests that wait for something that comes, however busy the machine."""
    return with_deadlines(runtime, settle=20.0)


@pytest.fixture
def hasty_runtime(runtime: Runtime) -> FittedRuntime:
    """For tests of pages that never respond."""
    return with_deadlines(runtime, hang=2.0, step=12.0)


Run = Callable[..., TrialRecord]


@pytest.fixture
def run(runtime: Runtime, tmp_path: Path) -> Run:
    """Run one trial of a task with these actions, or with a custom agent."""
    return run_in(runtime, tmp_path)


@pytest.fixture
def run_patiently(patient_runtime: FittedRuntime, tmp_path: Path) -> Run:
    """Like `run`, with `patient_runtime`: the effects of the last action are awaited."""
    return run_in(patient_runtime, tmp_path)


def run_in(runtime: Runtime | FittedRuntime, tmp_path: Path) -> Run:
    def run(
        task: Task,
        *actions: Action,
        make: Callable[[], Any] | None = None,
        write_timeout: float = 30.0,
        quiet_time: float = 1.0,
    ) -> TrialRecord:
        agent = AgentDefinition(
            id="a",
            make=lambda assignment: make() if make else ScriptedAgent(*actions),
            digest="d",
            self_driving=make is not None,
        )
        plan = TrialPlan(
            task=task,
            agent=agent,
            trial=1,
            limits=EpisodeLimits(seconds=60),
            options=TrialOptions(write_timeout=write_timeout, quiet_time=quiet_time, env_retries=0),
        )
        return run_trial(plan, runtime, RunDir(tmp_path).folder(TrialKey(task.id, "a", 1)))

    return run


@pytest.fixture(scope="module")
def house(catalogue: Path, shared_engine: BrowserEngine, browser_executable: str | None) -> Iterator[None]:
    """Keep the environments' broker and browser running between tests."""
    guest = enter(RuntimeKey(str(catalogue), browser_executable, False), SessionConfig())
    yield
    guest.leave()


Play = Callable[..., tuple[bool, float]]


@pytest.fixture
def play(house: None, catalogue: Path, browser_executable: str | None) -> Iterator[Play]:
    """Play one episode of a task with these actions, then stop; return whether it passed, and the reward."""
    envs = []

    def play(task: Task, *actions: Action, write_timeout: float = 30.0) -> tuple[bool, float]:
        session = SessionConfig(deadlines=BRISK)
        env = TasksEnv(
            task,
            sites=str(catalogue),
            browser_executable=browser_executable,
            session=session,
            write_timeout=write_timeout,
        )
        envs.append(env)
        env.reset()
        for action in actions:
            env.step(action)
        _, reward, terminated, _, info = env.step(Stop("done"))
        assert terminated
        return info["passed"], reward

    yield play
    for env in envs:
        env.close()


def task(checks: str) -> Task:
    return make_task(f"intent: Do it.\nsites: [desk]\nchecks: {checks}", id="t")


def press(name: str) -> Action:
    return Click(Selector(f"text={name}"))


def agree(run: Run, play: Play, checks: str, *actions: Action) -> TrialRecord:
    """Return the record of a trial, after checking that an episode gives the same outcome."""
    record = run(task(checks), *actions, Stop("done"))
    assert record.outcome in ("passed", "failed"), record.message
    assert play(task(checks), *actions) == (record.outcome == "passed", record.score)
    return record


SAVED = '[{state: {sql: "select count(*) from saves", equals: 1}}]'
