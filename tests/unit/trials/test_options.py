from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.checks.grading import ORIGINAL
from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.settings import Settings
from pytest_webarena.results import TrialRecord
from pytest_webarena.testing import make_task
from pytest_webarena.trials import runtime as runtimes
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.run_info import RunInfo
from pytest_webarena.trials.runtime import Runtime, RuntimeConfig

TASK = make_task("intent: x\nsites: []\nchecks: [{answer: x}]", id="t")


@pytest.mark.parametrize("holder", [Settings, RuntimeConfig, TrialPlan])
def test_trial_options_are_declared_in_one_class_only(holder: type) -> None:
    names = {each.name for each in fields(holder)}
    assert "options" in names
    assert not names & {each.name for each in fields(TrialOptions)}


def test_trial_plan_has_the_options_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[TrialPlan] = []

    def run_trial(plan: TrialPlan, *more: object) -> TrialRecord:
        plans.append(plan)
        return TrialRecord(key=plan.key, outcome="passed")

    monkeypatch.setattr(runtimes, "run_trial", run_trial)
    options = TrialOptions(grading=ORIGINAL, fetch_images=True, env_retries=7)
    config = RuntimeConfig(
        worker="main", limits=EpisodeLimits(), options=options, lease_timeout=1, agent_directories=(),
        engine=EngineConfig(), session=SessionConfig(),
    )  # fmt: skip
    with Runtime(RunInfo(run_dir=tmp_path, broker="", temp_dir=tmp_path), config) as runtime:
        runtime.run(TASK, "null", 1, browser="chromium", node_id="")
        with pytest.raises(UsageError, match=r"fixture browser_name: expected firefox, .* found chromium"):
            runtime.run(TASK, "null", 1, browser="firefox", node_id="")  # its record would name another browser
    (plan,) = plans
    assert plan.options is options
