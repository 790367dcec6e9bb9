"""Counts of a run: planned trials without a record, skipped and lost trials, and reruns."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from pytest_webarena.results import RunDir
from pytest_webarena.results.plan import cover, read_plan

MakeTasks = Callable[..., None]

pytestmark = pytest.mark.usefixtures("every_plugin")

GATE = ("--min-pass-rate=0.5", "--run-dir=run")


def gate_of(result: pytest.RunResult) -> str:
    """Return the gate's message on one line."""
    lines = iter(result.outlines)
    message = next(line for line in lines if line.startswith("gate: "))
    for line in lines:
        if line.startswith(("records: ", "=")):
            break
        message += " " + line
    return message


@pytest.fixture(params=[(), ("-n1",)], ids=["one process", "workers"])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    found: tuple[str, ...] = request.param
    return found


def test_gate_fails_when_planned_trials_were_not_run(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b", "wrong", "c", "d", "e")
    result = canned.runpytest("-x", *GATE)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["trials         6 planned, 3 run (3 judged), 3 not run"])
    assert gate_of(result) == "gate: oracle: 3 of 6 planned trials have no result (3 not run)"


@pytest.mark.exhaustive
def test_gate_fails_when_planned_trials_were_not_run_by_workers(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("wrong", *(f"t{number}" for number in range(30)))
    result = canned.runpytest("-n1", "--maxfail=1", *GATE)
    assert result.ret == 11  # xdist calls it an interruption, and so does --stepwise
    assert "planned trials have no result" in gate_of(result)
    assert len(read_plan(canned.path / "run")) == 31


def test_gate_fails_when_stepwise_stops_the_run(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "wrong", "c")
    assert canned.runpytest("--stepwise", *GATE).ret == 11
    assert canned.runpytest("--stepwise", "--run-dir=other").ret == 2  # pytest's own, without a threshold


def test_resuming_completes_the_plan(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("wrong", "one", "two")
    assert canned.runpytest("-x", *GATE).ret == 11
    result = canned.runpytest("--resume=run", "--min-pass-rate=0.5", "-k", "one")
    assert result.ret == 11  # the run is short of the other still
    result.stdout.fnmatch_lines(["trials         3 planned, 2 run (2 judged), 1 not run"])
    assert canned.runpytest("--resume=run", "--min-pass-rate=0.5").ret == 0


@pytest.mark.parametrize(
    "options", [("-k", "a or wrong"), ("--deselect=tasks/demo.yaml::b[chromium]",), ("--shard=1/1",)]
)
def test_deselected_trials_are_not_planned(
    canned: pytest.Pytester, make_tasks: MakeTasks, options: tuple[str, ...]
) -> None:
    make_tasks("a", "wrong", "b")
    result = canned.runpytest(*options, *GATE)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*not run*")


def test_last_failed_plans_only_failed_trials(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "wrong")
    canned.runpytest()
    result = canned.runpytest("--lf", *GATE)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["trials         1 planned, 1 run (1 judged)"])


SKIPPED = """
tasks:
  - {id: here, intent: Say it, sites: [], checks: [{answer: x}], solution: [{stop: x}]}
  - {id: map.one, intent: Say it, sites: [homepage], checks: [{answer: x}], solution: [{stop: x}]}
  - {id: map.two, intent: Say it, sites: [homepage], checks: [{answer: x}], solution: [{stop: x}]}
  - {id: later, intent: Say it, sites: [], skip: not yet, checks: [{answer: x}], solution: [{stop: x}]}
"""
MISSING_SITE = """

from pytest_webarena.errors import SiteMissing

_run = CannedRuntime.run

def run(self, task, agent, trial, *, browser, node_id):
    self.run_dir.describe(self.info.facts)
    if task.sites:
        raise SiteMissing("expected the image of homepage, found none.\\nGet it.")
    return _run(self, task, agent, trial, browser=browser, node_id=node_id)

CannedRuntime.run = run
"""


@pytest.mark.matrix(1)
def test_skipped_trials_fail_gate_unless_allow_skipped_names_them(
    canned: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    with (canned.path / "conftest.py").open("a") as conftest:
        conftest.write(MISSING_SITE)
    (canned.path / "a.tasks.yaml").write_text(SKIPPED)
    result = canned.runpytest(*workers, *GATE)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["trials         3 planned, 1 run (1 judged), 2 skipped"])
    assert gate_of(result) == (
        "gate: oracle: 2 of 3 planned trials have no result (2 skipped); --allow-skipped=homepage leaves those of "
        "homepage out of account"
    )
    assert {key.task: trial.skipped[:18] for key, trial in read_plan(canned.path / "run").items()} == {
        "here": "", "map.one": "expected the image", "map.two": "expected the image",
    }  # fmt: skip
    if workers:
        return
    assert canned.runpytest("--min-pass-rate=0.5", "--allow-skipped=homepage").ret == 0
    assert canned.runpytest("--min-pass-rate=0.5", "--allow-skipped=map.*").ret == 0
    assert canned.runpytest("--min-pass-rate=0.5", "--allow-skipped=map.one").ret == 11
    assert canned.runpytest("--max-errors=2").ret == 0
    assert canned.runpytest("--max-errors=1").ret == 11


@pytest.mark.matrix(1)
def test_gate_fails_when_all_planned_trials_are_skipped(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    with (canned.path / "conftest.py").open("a") as conftest:
        conftest.write("\n@pytest.fixture(autouse=True)\ndef no(): pytest.skip('not today')\n")
    make_tasks("a", "b")
    result = canned.runpytest(*workers, *GATE)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["trials         2 planned, 0 run (0 judged), 2 skipped"])
    assert "2 of 2 planned trials have no result (2 skipped)" in gate_of(result)
    if not workers:
        assert canned.runpytest("--min-pass-rate=0.5", "--allow-skipped=*").ret == 11  # nothing was judged


@pytest.mark.exhaustive
def test_trial_of_crashed_worker_counts_as_lost_once(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "dying", "b")
    result = canned.runpytest("-n1", *GATE)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["trials         3 planned, 3 run (2 judged, 1 lost)"])
    assert gate_of(result) == "gate: oracle: 1 of 3 planned trials have no result (1 lost)"


def test_unreadable_record_counts_as_lost(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b", "c")
    canned.runpytest("--run-dir=run")
    next((canned.path / "run" / "trials").glob("b*/trial.json")).write_text("{")
    run = RunDir(canned.path / "run")
    coverage = cover(read_plan(run.path), run.records(), begun=run.begun())["oracle"]
    assert (coverage.planned, coverage.judged, coverage.lost) == (3, 2, 1)


@pytest.mark.matrix(1)
def test_collection_error_fails_the_gate(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("a")
    (canned.path / "tasks" / "bad.tasks.yaml").write_text("tasks: [{id: x}]")
    result = canned.runpytest(*workers, "--continue-on-collection-errors", *GATE)
    assert result.ret == 11
    assert "1 collection error: the number of missing trials is unknown" in gate_of(result)


def test_interrupted_run_fails_the_gate(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b")
    with (canned.path / "conftest.py").open("a") as conftest:
        conftest.write("\ndef pytest_runtest_teardown(item):\n    pytest.exit('enough', returncode=0)\n")
    result = canned.runpytest(*GATE)
    assert result.ret == 11
    result.stdout.fnmatch_lines(["trials         2 planned, 1 run (1 judged), 1 not run"])


# --- run again


AGAIN = {
    "pytest-rerunfailures": "",
    "as pytest-retry does": """

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and report.failed and not hasattr(item, "tried"):
        item.tried = True
        again = pytest.CallInfo.from_call(lambda: item.ihook.pytest_runtest_call(item=item), when="call")
        report = item.ihook.pytest_runtest_makereport(item=item, call=again)
    return report
""",
    "as flaky does": """

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except AssertionError:
        item.runtest()
""",
}


@pytest.mark.parametrize("plugin", AGAIN)
def test_first_verdict_counts_after_rerun(canned: pytest.Pytester, make_tasks: MakeTasks, plugin: str) -> None:
    with (canned.path / "conftest.py").open("a") as conftest:
        conftest.write(AGAIN[plugin])
    make_tasks("flaky")
    options = () if AGAIN[plugin] else ("--reruns=1",)
    result = canned.runpytest(*options, *GATE, "--junitxml=junit.xml")
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        [
            "oracle: 0/1 passed*",
            "  rerun        1 trial after the verdict, which is kept,",
            "               1 failed and passed later",
            "trials         1 planned, 1 run (1 judged)",
        ]
    )
    assert gate_of(result).endswith("(first verdicts count: 1 failed and passed when run again)")
    (record,) = RunDir(canned.path / "run").records()
    assert (record.outcome, record.attempt, [each.outcome for each in record.reruns]) == ("failed", 1, ["passed"])
    (row,) = csv.DictReader((canned.path / "run" / "results.csv").read_text().splitlines())
    assert (row["outcome"], row["reruns"]) == ("failed", "passed")
    case = list(ET.parse(canned.path / "junit.xml").iter("testcase"))[-1]
    assert case.find("failure") is not None
    properties = [(entry.get("name"), entry.get("value")) for entry in case.iter("property")]
    assert ("outcome", "failed") in properties
    assert ("outcome", "passed") not in properties
    assert ("reruns", "passed") in properties
    (folder,) = (canned.path / "run" / "trials").iterdir()
    assert json.loads((folder / "attempt-2" / "trial.json").read_text())["outcome"] == "passed"


def test_passing_rerun_does_not_change_exit_code_without_gate(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("flaky")
    result = canned.runpytest("--reruns=1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "the first verdict counts, not those of later runs of the trial (passed)",
            "FAILED tasks/demo.yaml::flaky*chromium* - canned failed*",  # the reason, not the note on reruns
        ]
    )


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_two_items_for_one_trial_are_rejected(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("a", "b")
    make_tasks("b", name="more")
    result = canned.runpytest(*workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    output = result.stdout.str() + result.stderr.str()
    assert "expected each trial once, found tasks/demo.yaml::b[chromium] and tasks/more.yaml::b[chromium]" in output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output
    assert not (canned.path / "webarena-runs").exists()
    if not workers:
        assert canned.runpytest("-k", "not more").ret == 0


def test_dist_each_is_rejected(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a")
    result = canned.runpytest("--dist=each", "-n1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    output = result.stdout.str() + result.stderr.str()
    assert "--dist: expected each trial to go to one worker, found 'each'" in output
    assert "Traceback" not in output
    assert not (canned.path / "webarena-runs").exists()


def test_parametrized_repetition_of_trial_is_rejected(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    """pytest-repeat parametrizes tests in this way."""
    make_tasks("a")
    with (canned.path / "conftest.py").open("a") as conftest:
        conftest.write(
            "\ndef pytest_generate_tests(metafunc):\n"
            "    metafunc.fixturenames.append('again')\n"
            "    metafunc.parametrize('again', range(2), indirect=True)\n"
            "\n@pytest.fixture\ndef again(request): return request.param\n"
        )
    result = canned.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*expected each trial once, found *several trials of one task: --trials, not --count*"]
    )
