"""A trial whose hosted instance stops answering, with a real pool and a real browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Goto, Stop
from pytest_webarena.agents import AgentDefinition
from pytest_webarena.browser.config import Deadlines, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient, Lease
from pytest_webarena.testing import ScriptedAgent, make_task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial
from tests.hosted_app import HostedApp, hosted_app
from tests.unit.sites.test_hosted import catalogue
from tests.unit.sites.test_hosted_proofs import PROVED


@pytest.fixture
def apps() -> Iterator[list[HostedApp]]:
    with hosted_app() as one, hosted_app() as two:
        yield [one, two]


class Resources:
    def __init__(self, client: BrokerClient, engine: BrowserEngine, quick: Deadlines) -> None:
        self._client, self._engine, self._quick = client, engine, quick

    def keeper(self, users: Mapping[str, str]) -> Any:
        return None

    def engine(self) -> BrowserEngine:
        return self._engine

    def session_config(self, lease: Lease | None, state: Mapping[str, Any] | None) -> SessionConfig:
        assert lease is not None
        return SessionConfig(proxy=lease.proxy, harness_proxy=lease.harness_proxy, deadlines=self._quick)

    def lease(self, sites: Sequence[str], *, users: Mapping[str, str], holder: str, **more: Any) -> Lease:
        return self._client.lease(sites, holder=holder, timeout=60)

    def login_state(self, lease: Lease, users: Mapping[str, str]) -> None:
        return None


def trial(folder: Path, apps: list[HostedApp], resources: Resources) -> TrialRecord:
    task = make_task("intent: Where?\nsites: [shop]\nmutates: false\nchecks: [{answer: {exact: done}}]", id="t")
    agent = AgentDefinition(
        id="a",
        make=lambda _: ScriptedAgent(Goto("http://shop.test/dies"), Goto("http://shop.test/account"), Stop("done")),
        digest="d",
        kind="scripted",
    )
    plan = TrialPlan(
        task=task, agent=agent, trial=1, limits=EpisodeLimits(steps=9, seconds=60), options=TrialOptions(env_retries=1)
    )
    return run_trial(plan, resources, RunDir(folder).folder(TrialKey("t", "a", 1)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("alone", [True, False])
def test_trial_on_an_instance_that_dies_is_retried_on_another_one(
    engine: BrowserEngine, quick: Deadlines, tmp_path: Path, apps: list[HostedApp], alone: bool
) -> None:
    for app in apps:
        app.dying = apps[:] if alone else []
    config = BrokerConfig(catalogue=catalogue(tmp_path, *apps, hook=PROVED).option, run_dir=tmp_path)
    with BrokerLauncher(config) as launcher, BrokerClient(launcher.address, name="main") as client:
        record = trial(tmp_path, apps, Resources(client, engine, quick))
    attempts = [(each.outcome, each.cause) for each in record.attempts]
    down = [app for app in apps if app.down]
    if not alone:
        assert (attempts, down) == ([("passed", None)], [])
        return
    assert attempts == [("error", "site"), ("passed", None)], record.message
    [dead] = down
    assert (
        f"without the agent, its instance still fails after a reset: shop at {dead.url}" in record.attempts[0].message
    )
    [problem] = launcher.stop().problems
    assert problem.startswith(f"shop at {dead.url} ")
    assert record.environment["external_sites"] == {"shop": next(app.url for app in apps if app is not dead)}
