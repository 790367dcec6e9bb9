"""``--stop-when-settled``: a run stops once it is clear which agent is better."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pytest_webarena.results import RunDir
from pytest_webarena.results.plan import read_plan

MakeTasks = Callable[..., None]

BOTH = ("--agent=null", "--agent=echo", "--run-dir=run")

WORSE_ECHO = """
original_run = CannedRuntime.run
def run(self, task, agent, trial, *, browser, node_id):
    record = original_run(self, task, agent, trial, browser=browser, node_id=node_id)
    if record.key.agent != "echo":
        return record
    from dataclasses import replace
    folder = self.run_dir.folder(record.key)
    return folder.finish(replace(record, outcome="failed", score=0.0))
CannedRuntime.run = run
"""


@pytest.fixture
def project(canned: pytest.Pytester, make_tasks: MakeTasks) -> pytest.Pytester:
    """Forty tasks that one agent passes and the other fails."""
    conftest = canned.path / "conftest.py"
    conftest.write_text(conftest.read_text() + WORSE_ECHO)
    make_tasks(*(f"t{number:02d}" for number in range(40)))
    return canned


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one process", "workers"])
def test_run_stops_once_the_better_agent_is_known(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    result = project.runpytest(*workers, *BOTH, "--stop-when-settled", "--difference=20", "--min-pass-rate=0.0")
    output = " ".join(line.strip() for line in result.outlines)
    assert "echo is worse than null (95% at all times: −" in output
    assert result.ret == 0  # trials that were not needed do not count as missing
    records, plan = RunDir(project.path / "run").records(), read_plan(project.path / "run")
    assert len(plan) == 80
    assert 10 < len(records) < 80  # workers are given some ahead
    not_run = [trial for trial in plan.values() if trial.decided]
    assert len(not_run) == 80 - len(records)
    assert all(trial.decided.startswith("settled after ") for trial in not_run)
    assert f"{len(not_run)} not needed (--stop-when-settled)" in output


def test_agents_alternate_and_resume_runs_the_remaining_trials(project: pytest.Pytester) -> None:
    result = project.runpytest("-v", "-p", "no:randomly", *BOTH, "--stop-when-settled", "--difference=20")
    ran = [line.split("[")[0].split("::")[1] for line in result.outlines if "::t" in line and "%]" in line][:4]
    assert ran == ["t00", "t00", "t01", "t01"]
    some = len(RunDir(project.path / "run").records())
    assert some < 80
    project.runpytest("--resume=run")
    assert len(RunDir(project.path / "run").records()) == 80
    plan = json.loads((project.path / "run" / "plan.json").read_text())
    assert not any(trial["decided"] for trial in plan["trials"])


def test_equal_agents_stay_unsettled_after_all_trials(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b-wrong", "c", "d-odd")
    result = canned.runpytest(*BOTH, "--stop-when-settled")
    assert "not needed" not in "\n".join(result.outlines)
    assert "settled        no: unsettled at 5 points after all trials" in result.outlines
    assert len(RunDir(canned.path / "run").records()) == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--agent=null", "--stop-when-settled"),
            "--stop-when-settled: expected two agents to decide between, found null",
        ),
        (("--stop-when-settled",), "--stop-when-settled: expected two agents to decide between, found none named"),
        (("--difference=5",), "--difference: expected --stop-when-settled"),
        ((*BOTH, "--stop-when-settled", "--shard=1/2"), "--stop-when-settled: expected no --shard"),
        ((*BOTH, "--stop-when-settled", "--difference=0"), "expected percentage points above 0 and below 100"),
    ],
)
def test_stop_when_settled_is_rejected_without_two_agents_to_compare(
    canned: pytest.Pytester, make_tasks: MakeTasks, options: tuple[str, ...], message: str
) -> None:
    make_tasks("a")
    result = canned.runpytest(*options)
    assert result.ret == 4
    assert message in " ".join((*result.outlines, *result.errlines))
