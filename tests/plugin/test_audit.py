"""``--audit`` under pytest: its items, what counts as passed, the summary table and the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

CANNED = '''
import time
import pytest
from pytest_webarena.agents import resolve_agent
from pytest_webarena.results import RunDir, TrialKey, TrialRecord


class CannedRuntime:
    """The oracle passes and all others fail, but for what the task's tags say: ``dump-passes``, ``oracle2-fails``."""

    def __init__(self, info, settings):
        self.info, self.settings, self.run_dir = info, settings, RunDir(info.run_dir)

    def run(self, task, agent, trial, *, browser, node_id):
        definition = resolve_agent(agent, self.settings.agent_directories)
        self.run_dir.describe(self.info.facts)
        folder = self.run_dir.folder(TrialKey(task.id, definition.id, trial, browser))
        writer = folder.begin(worker="w", node_id=node_id, task={"task_digest": task.digest})
        outcome = "passed" if agent == "oracle" else "failed"
        for name in (agent, f"{agent}{trial}"):
            for word, tagged in (("passes", "passed"), ("fails", "failed"), ("errs", "error")):
                if f"{name}-{word}" in task.tags:
                    outcome = tagged
        record = TrialRecord(
            key=folder.key, outcome=outcome, cause="site" if outcome == "error" else None,
            score=float(outcome == "passed"), message="" if outcome == "passed" else f"canned {outcome}",
            task_digest=task.digest, agent_digest=definition.digest, privileged=definition.privileged,
            attempt=writer.number, started=time.time(), steps=3, stop_reason="answered", node_id=node_id,
            seconds={"total": 0.01},
        )
        folder.finish(record)
        return record

    def prune(self, record):
        pass

    def folder(self, record):
        return self.run_dir.folder(record.key).path


@pytest.fixture(scope="session")
def webarena_runtime(pytestconfig, webarena_run):
    from pytest_webarena.plugin.stash import SETTINGS
    return CannedRuntime(webarena_run, pytestconfig.stash[SETTINGS])
'''

AGENTS = {"oracle", "null", "na", "echo", "dump"}


def task(id: str, tags: str = "", more: str = "") -> str:
    return (
        f"  - id: {id}\n    sites: []\n    intent: Say {id}\n    tags: [{tags}]\n    checks: [{{answer: x}}]\n"
        f"    solution: [{{stop: x}}]\n{more}"
    )


TEMPLATE = """  - id: pair
    sites: []
    intent: Say {{ word }}
    each: {a: {word: red}, b: {word: blue}}
    checks: [{answer: "{{ word }}"}]
    solution: [{stop: "{{ word }}"}]
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Any:
    """Run ``--audit`` over the given tasks, with canned trials."""
    pytester.makeconftest(CANNED)

    def run(tasks: str, *args: str, audit: bool = True) -> pytest.RunResult:
        (pytester.path / "demo.tasks.yaml").write_text("tasks:\n" + tasks)
        options = ["--audit", *args] if audit else list(args)
        if not any(option.startswith("--r") for option in args):
            options.append("--run-dir=run")
        return pytester.runpytest(*options)

    return run


def findings(pytester: pytest.Pytester) -> dict[str, str]:
    data = json.loads((pytester.path / "run" / "audit.json").read_text())
    return {each["task"]: each["finding"] for each in data["tasks"]}


def records(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((pytester.path / "run" / "trials").glob("*/trial.json"))]


def test_audit_passes_when_wrong_agents_fail(pytester: pytest.Pytester, project: Any) -> None:
    result = project(task("fine"))
    result.assert_outcomes(passed=6)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*webarena audit*", "valid * 1 *", "wrong agents were caught in 4 of 4 trials (100.0%)"]
    )
    result.stdout.fnmatch_lines(["audit: all tasks are valid", "records: run*"])
    result.stdout.no_fnmatch_line("oracle: *passed*")  # an audit shows no success rates
    assert findings(pytester) == {"fine": "valid"}
    assert {record["key"]["agent"] for record in records(pytester)} == AGENTS
    assert json.loads((pytester.path / "run" / "run.json").read_text())["audit"] is True


def test_audit_item_ids_contain_agent_names(project: Any) -> None:
    result = project(TEMPLATE, "--collect-only", "-q")
    names = {line.split("[")[1].rstrip("]").replace("-chromium", "") for line in result.outlines if "::pair.a[" in line}
    assert names == {"oracle-trial1", "null", "na", "echo", "dump", "audit-sibling", "oracle-trial2"}
    assert result.ret == 0


def test_audit_reports_findings_with_location_and_exit_code_12(pytester: pytest.Pytester, project: Any) -> None:
    result = project(
        task("fine")
        + task("unsolvable", "oracle-fails")
        + task("easy", "dump-passes")
        + task("flaky", "oracle2-fails")
        + task("odd", "oracle-errs")
        + TEMPLATE.replace("sites: []", "sites: []\n    tags: [audit-sibling-passes]")
    )
    assert result.ret == 12
    assert "exit code 12: a task is not valid" in result.outlines
    result.assert_outcomes(passed=36, failed=6, errors=2)
    assert findings(pytester) == {
        "fine": "valid", "unsolvable": "unsolvable", "easy": "too easy", "flaky": "flaky", "odd": "error",
        "pair.a": "weak check", "pair.b": "weak check",
    }  # fmt: skip
    result.stdout.fnmatch_lines(
        [
            "*too easy: passed by doing nothing and answering with the whole page",  # the failed item's own words
            "unsolvable: unsolvable (demo.tasks.yaml:8)",
            "  canned failed",
            "too easy: easy (demo.tasks.yaml:14)",
            "  passed by doing nothing and answering with the whole page",
            "  to do: ask for the answer `exact`, as a `number`, or with `excludes` for what",
            "flaky: flaky (demo.tasks.yaml:20)",
            "error: odd (demo.tasks.yaml:26)",
            "  oracle, trial 1: site: canned error*",
            "weak check: pair.a (demo.tasks.yaml:*)",
            "  passed by replaying the solution of pair.b",
            "audit: 5 of 7 tasks are not valid, 1 not judged; what to do about it: https://*/audit.html#what-to-do-about-it",
        ]
    )


@pytest.mark.exhaustive
def test_audit_finds_the_same_with_xdist_workers(pytester: pytest.Pytester, project: Any) -> None:
    result = project(task("fine") + task("easy", "null-passes"), "-n1")
    assert result.ret == 12
    result.assert_outcomes(passed=11, failed=1)
    assert findings(pytester) == {"fine": "valid", "easy": "too easy"}


def test_xfail_task_does_not_fail_audit(pytester: pytest.Pytester, project: Any) -> None:
    xfail = "    xfail: the site forgets\n"
    result = project(task("broken", "oracle-fails", xfail) + task("fixed", "", xfail), "--strict-markers")
    result.assert_outcomes(passed=10, xfailed=2)
    assert result.ret == 0
    assert findings(pytester) == {"broken": "unsolvable", "fixed": "valid"}
    result.stdout.fnmatch_lines(
        ["*doesn't count, the task is marked xfail: the site forgets", "audit: all tasks are valid*"]
    )


def test_audit_counts_skipped_task(pytester: pytest.Pytester, project: Any) -> None:
    result = project(task("fine") + task("later", more="    skip: not yet\n"))
    result.assert_outcomes(passed=6, skipped=1)
    assert result.ret == 0
    assert findings(pytester) == {"fine": "valid", "later": "skipped"}


def test_partial_audit_judges_no_task_until_resumed(pytester: pytest.Pytester, project: Any) -> None:
    tasks = task("fine") + TEMPLATE
    result = project(tasks, "-k", "oracle or sibling")
    assert result.ret == 12
    result.stdout.fnmatch_lines(
        [
            "3 tasks lack trials that were not run, e.g. fine; see --resume",
            "audit: 3 of 3 tasks are not judged",
        ]
    )
    result = project(tasks, "--resume=run")
    result.assert_outcomes(passed=12, deselected=8)
    assert result.ret == 0
    assert set(findings(pytester).values()) == {"valid"}
    result = project(tasks, "--resume=run")
    result.assert_outcomes(deselected=20)
    assert result.ret == 0
    assert set(findings(pytester).values()) == {"valid"}


def test_resumed_audit_repeats_trials_after_sibling_task_changed(pytester: pytest.Pytester, project: Any) -> None:
    project(TEMPLATE)
    result = project(TEMPLATE.replace("blue", "green"), "--resume=run")
    result.assert_outcomes(passed=8, deselected=6)  # all of pair.b, and pair.a with the answer of the new pair.b
    assert result.ret == 0


def test_trials_option_repeats_the_solution_in_audit(pytester: pytest.Pytester, project: Any) -> None:
    project(task("fine"), "--trials=4").assert_outcomes(passed=8)


@pytest.mark.parametrize("option", ["--agent=null", "--min-pass-rate=0.5", "--max-errors=0"])
def test_audit_rejects_options_for_agents_and_gates(project: Any, option: str) -> None:
    result = project(task("fine"), option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--audit: expected no {option.split('=')[0]}*"])


def test_audit_rejects_agent_file_named_like_built_in_agent(pytester: pytest.Pytester, project: Any) -> None:
    (pytester.path / "agents").mkdir()
    (pytester.path / "agents" / "echo.yaml").write_text("python: mine.py:Mine\n")
    (pytester.path / "agents" / "mine.py").write_text("class Mine:\n    def act(self, observation): ...\n")
    result = project(task("fine"))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected the built-in agent echo, found *echo.yaml*"])


def test_failing_python_test_keeps_exit_code_1_in_audit(pytester: pytest.Pytester, project: Any) -> None:
    pytester.makepyfile(test_other="def test_other():\n    assert False\n")
    assert project(task("easy", "null-passes")).ret == 1


def test_run_without_audit_option_writes_no_audit_file(pytester: pytest.Pytester, project: Any) -> None:
    result = project(task("fine", more="    xfail: the site forgets\n"), audit=False)
    result.assert_outcomes(xpassed=1)
    assert not (pytester.path / "run" / "audit.json").exists()
