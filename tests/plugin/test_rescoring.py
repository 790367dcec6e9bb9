"""``pytest --rescore``: stored trials are judged again, without sites, browser, agents or network."""

from __future__ import annotations

import json
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks import REPAIRED, judge_all
from pytest_webarena.evidence import Evidence
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.secrets import mark
from pytest_webarena.tasks import load_tasks
from pytest_webarena.trials.outcome import decide
from tests.model_server import model_server, say
from tests.sealed import sealed

TASKS = """
tasks:
  - id: capital
    sites: []
    intent: What is the capital of France?
    checks: [{answer: Paris}]
  - id: length
    sites: []
    intent: How long is the river?
    checks: [{answer: {number: 12}}]
  - id: colour
    sites: [homepage]
    intent: Which colour?
    checks: [{answer: red}]
"""

JUDGED = """
tasks:
  - id: why
    sites: []
    intent: What does the reviewer complain about?
    checks: [{string_match: {fuzzy_match: ["the zip breaks"]}}]
"""

COUNTED = """
tasks:
  - id: count
    sites: []
    intent: How many reviews are pending?
    checks: [{string_match: {must_include: ["5"]}}]
"""

Store = Callable[..., RunDir]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fail any test that starts sites or a browser."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("judging again needs neither sites nor a browser")

    monkeypatch.setattr("pytest_webarena.sites.client.launcher.BrokerLauncher.__init__", refuse)
    monkeypatch.setattr("pytest_webarena.browser.engine.BrowserEngine.__init__", refuse)
    monkeypatch.setenv("WEBARENA_CACHE_DIR", str(tmp_path))


@pytest.fixture
def store(pytester: pytest.Pytester) -> Store:
    """Write a task file and a run of its tasks with these answers; None stands for a failed site."""

    def write(
        text: str = TASKS,
        *,
        agents: tuple[str, ...] = ("gone",),
        trials: int = 1,
        browsers: tuple[str, ...] = ("chromium",),
        **answers: str | None,
    ) -> RunDir:
        file = pytester.path / "river.yaml"
        file.write_text(text)
        run = RunDir(pytester.path / "run")
        facts = {"started": 1.0, "agents": list(agents), "trials": trials, "catalogue": "embedded"}
        run.describe({**facts, "browsers": list(browsers)})
        for task in load_tasks(file):
            for agent in agents:
                for key in (TrialKey(task.id, agent, 1 + trial, each) for trial in range(trials) for each in browsers):
                    _store(run, task, key, answers[task.id])
        return run

    return write


def _store(run: RunDir, task: Any, key: TrialKey, answer: str | None) -> None:
    folder = run.folder(key)
    writer = folder.begin(worker="gw7", node_id=f"river.yaml::{task.id}")
    facts: dict[str, Any] = {
        "key": folder.key, "intent": task.intent, "category": task.category, "template": task.template,
        "task_digest": task.digest, "started": 1000.0, "seconds": {"total": 9.0}, "steps": 4,
        "node_id": f"river.yaml::{task.id}[{key.browser}]",
    }  # fmt: skip
    if answer is None:
        folder.finish(TrialRecord(outcome="error", cause="site", message="the site died", **facts))
        return
    evidence = Evidence(answer=answer, stop_reason="answered")
    writer.finish(evidence)
    verdicts = judge_all(task, evidence, headline=REPAIRED, asker=Judge(JudgeSettings()).session("none"))
    verdict = verdicts["repaired"]
    outcome, cause, message, _ = decide(verdict, stop_reason="answered", stop_detail="")
    facts |= {"outcome": outcome, "cause": cause, "message": message, "answer": answer, "stop_reason": "answered"}
    facts |= {"score": verdict.score, "verdict": verdict.to_json(), "grading": "repaired"}
    folder.finish(TrialRecord(verdicts={name: each.to_json() for name, each in verdicts.items()}, **facts))


@pytest.mark.parametrize("browsers", [("firefox",), ("chromium", "firefox")])
def test_rescore_uses_browsers_of_the_run(pytester: pytest.Pytester, store: Store, browsers: tuple[str, ...]) -> None:
    run = store(capital="Paris", length="11", colour=None, browsers=browsers)
    result = pytester.runpytest_inprocess("--rescore=run", "-v", "-p", "no:randomly")
    names = [f"gone ({browser})" for browser in browsers] if len(browsers) > 1 else ["gone"]
    result.stdout.fnmatch_lines([f"{name}: 1/2 passed*" for name in names])
    result.stdout.fnmatch_lines_random([f"river.yaml::capital[[]{browser}] PASSED*" for browser in browsers])
    assert len(run.records()) == 3 * len(browsers)


def test_rescore_can_be_limited_to_one_browser(pytester: pytest.Pytester, store: Store) -> None:
    store(capital="Paris", length="11", colour=None, browsers=("chromium", "firefox"))
    result = pytester.runpytest_inprocess("--rescore=run", "--browser=firefox")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["left out * 3 records kept as before*"])


def files(run: RunDir) -> dict[str, bytes]:
    return {path.name: (path / "trial.json").read_bytes() for path in run.trials.iterdir()}


def record_of(run: RunDir, task: str, agent: str = "gone") -> TrialRecord:
    record = run.folder(TrialKey(task, agent, 1)).record()
    assert record is not None
    return record


def test_rescore_with_unchanged_checks_writes_nothing(pytester: pytest.Pytester, store: Store) -> None:
    run = store(capital="Paris", length="11", colour=None)
    before = files(run)
    result = pytester.runpytest_inprocess("--rescore=run", "-v", "-p", "no:randomly")
    result.stdout.fnmatch_lines(
        [
            "webarena: judging run again*",
            "river.yaml::capital*PASSED*",
            "river.yaml::length*FAILED*",
            "river.yaml::colour*ERROR*",
            "gone: 1/2 passed = 50.0%*1 error excluded",
            "judged again   no outcome changed",
        ]
    )
    assert files(run) == before
    assert not (run.path / "broker.log").exists()
    assert not (pytester.path / "webarena-runs").exists()


def test_check_that_needs_a_masked_value_is_undecided(pytester: pytest.Pytester, store: Store) -> None:
    mark("opensesame")
    run = store(TASKS.replace("Paris", "opensesame"), capital="opensesame", length="12", colour=None)
    assert record_of(run, "capital").outcome == "passed"
    pytester.runpytest_inprocess("--rescore=run").stdout.fnmatch_lines(["*in place of a value that this check needs*"])
    again = record_of(run, "capital")
    assert (again.outcome, again.cause, again.score) == ("error", "harness", None)
    assert record_of(run, "length").outcome == "passed"


def test_rescore_writes_junit_and_allure_reports_of_the_run(pytester: pytest.Pytester, store: Store) -> None:
    store(capital="Paris", length="11", colour=None)
    pytester.runpytest_inprocess("--rescore=run", "--junitxml=junit.xml", "--alluredir=allure")
    cases = {case.get("name"): case for case in ET.parse(pytester.path / "junit.xml").iter("testcase")}
    assert {name.partition("[")[0] for name in cases if name} == {"capital", "length", "colour"}
    properties = {prop.get("name"): prop.get("value") for prop in next(iter(cases.values())).iter("property")}
    assert (properties["task"], properties["agent"], properties["steps"]) == ("capital", "gone", "4")
    results = [json.loads(file.read_text()) for file in (pytester.path / "allure").glob("*-result.json")]
    assert sorted(result["status"] for result in results) == ["broken", "failed", "passed"]
    assert {result["start"] for result in results} == {1_000_000}


def test_rescore_judges_edited_task_and_keeps_old_verdict_in_history(pytester: pytest.Pytester, store: Store) -> None:
    run = store(capital="Paris", length="11", colour="red")
    (pytester.path / "river.yaml").write_text(TASKS.replace("number: 12", "number: 11").replace("Paris", "Lyon"))
    before, began = record_of(run, "length"), time.time()
    result = pytester.runpytest_inprocess("--rescore=run")
    result.stdout.fnmatch_lines(
        [
            "judged again   1 * → *, 1 * → *",
            "edited         2 trials of tasks that were edited since*",
        ]
    )
    now = record_of(run, "length")
    assert (now.outcome, now.score, now.message) == ("passed", 1.0, "")
    (earlier,) = now.history
    assert (earlier["outcome"], earlier["score"], earlier["message"]) == ("failed", 0.0, before.message)
    assert earlier["verdict"] == before.verdict
    assert earlier["task_digest"] == before.task_digest != now.task_digest
    assert earlier["until"] >= began - 1
    assert (now.node_id, now.worker, now.started) == (before.node_id, before.worker, before.started)
    assert record_of(run, "capital").outcome == "failed"
    assert record_of(run, "colour").history == ()
    summary = json.loads((run.path / "summary.json").read_text())
    assert summary["agents"]["gone"]["rate"]["passed"] == 2


def test_rescore_is_undecided_when_evidence_was_not_collected(pytester: pytest.Pytester, store: Store) -> None:
    run = store(capital="Paris", length="11", colour="red")
    (pytester.path / "river.yaml").write_text(TASKS.replace("{answer: red}", "{page: {includes: red}}"))
    result = pytester.runpytest_inprocess("--rescore=run", "-k", "colour")
    result.stdout.fnmatch_lines(["*error (task): no verdict*", "left out       2 records kept as before*"])
    assert record_of(run, "colour").outcome == "error"
    assert [each["outcome"] for each in record_of(run, "colour").history] == ["passed"]


def test_rescore_turns_verdict_into_error_when_evidence_is_damaged(pytester: pytest.Pytester, store: Store) -> None:
    run = store(capital="Paris", length="12", colour=None)
    attempts = {name: run.folder(TrialKey(name, "gone", 1)).path / "attempt-1" for name in ("capital", "length")}
    whole = (attempts["capital"] / "evidence.json").read_text()
    (attempts["capital"] / "evidence.json").write_text(whole[: len(whole) // 2])
    (attempts["length"] / "network.jsonl").unlink()
    for judged_again in (True, False):  # the second time reports no change and restores nothing
        result = pytester.runpytest_inprocess("--rescore=run")
        result.assert_outcomes(errors=3)
        changed = "2 passed → error" if judged_again else "no outcome changed"
        result.stdout.fnmatch_lines([f"judged again   {changed}*"])
    assert f"{attempts['length'] / 'network.jsonl'}: expected a file" in record_of(run, "length").message
    record = record_of(run, "capital")
    assert f"{attempts['capital'] / 'evidence.json'}: expected the file as written" in record.message
    assert (record.cause, record.score, record.verdict, record.verdicts) == ("harness", None, None, {})
    assert [each["outcome"] for each in record.history] == ["passed"]
    (attempts["capital"] / "evidence.json").write_text(whole)
    result = pytester.runpytest_inprocess("--rescore=run", "-k", "capital")
    result.assert_outcomes(passed=1)


@pytest.mark.exhaustive
def test_rescore_with_workers_judges_trials_of_all_agents(pytester: pytest.Pytester, store: Store) -> None:
    run = store(agents=("one", "other"), trials=2, capital="Paris", length="11", colour="blue")
    (pytester.path / "river.yaml").write_text(TASKS.replace("number: 12", "number: 11"))
    result = pytester.runpytest_inprocess("--rescore=run", "-n2", "-v")
    result.assert_outcomes(passed=8, failed=4)
    result.stdout.fnmatch_lines(["*length?one-trial2-chromium?*", "judged again   4 failed → passed"])
    assert all(record.history for record in run.records() if record.key.task == "length")


def test_rescore_excludes_items_without_record(pytester: pytest.Pytester, store: Store) -> None:
    store(capital="Paris", length="12", colour="red")
    more = TASKS + "  - id: new\n    sites: []\n    intent: New?\n    checks: [{answer: x}]\n"
    (pytester.path / "river.yaml").write_text(more)
    pytester.makepyfile("def test_of_another_kind(): assert False")
    result = pytester.runpytest_inprocess("--rescore=run", ".")
    result.assert_outcomes(passed=3, deselected=2)
    result.stdout.fnmatch_lines(["left out       2 items that the run has no record of"])


def test_other_grading_does_not_change_tasks_without_gradings(pytester: pytest.Pytester, store: Store) -> None:
    run = store(capital="Paris", length="11", colour="red")
    before = files(run)
    pytester.runpytest_inprocess("--rescore=run", "--grading=original").assert_outcomes(passed=2, failed=1)
    assert files(run) == before


@pytest.mark.exhaustive
def test_other_grading_changes_verdict_of_published_suite(pytester: pytest.Pytester) -> None:
    suites = pytest.importorskip("pytest_webarena.suites.loading")
    pytest.importorskip("webarena_verified")
    (task,) = (task for task in suites.load_suite("webarena").tasks if task.id == "webarena.65")
    run = RunDir(pytester.path / "run")
    run.describe({"started": 1.0, "agents": ["gone"], "trials": 1, "catalogue": "webarena", "grading": None})
    _store(run, task, TrialKey(task.id, "gone", 1), "there is no such review")
    record = record_of(run, task.id)
    moved = replace(record, node_id=f"webarena::{task.id}[chromium]")
    run.folder(record.key).finish(moved)
    pytester.runpytest_inprocess("--rescore=run", "-v").stdout.fnmatch_lines(["webarena::webarena.65*"])
    assert record_of(run, task.id).history == ()
    result = pytester.runpytest_inprocess("--rescore=run", "--grading=original")
    result.stdout.fnmatch_lines(["judged again *"])
    now = record_of(run, task.id)
    assert (now.grading, record.grading) == ("original", "repaired")
    assert [earlier["grading"] for earlier in now.history] == ["repaired"]


def test_rescore_asks_judge_once_about_open_trials(pytester: pytest.Pytester, store: Store) -> None:
    run = store(JUDGED, why="poor zip")
    assert (record_of(run, "why").outcome, record_of(run, "why").cause) == ("error", "judge")
    with model_server([sealed("GRADE: correct")]) as server:
        judge = ("--judge=some-model", f"--judge-url={server.url}", "--judge-key-env=none")
        result = pytester.runpytest_inprocess("--rescore=run", *judge)
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(
            ["webarena: judge some-model, not measured*", "  judge *some-model*", "judged again   1 error → passed"]
        )
        requests_before = server.requests
        pytester.runpytest_inprocess("--rescore=run", *judge).assert_outcomes(passed=1)
        assert server.requests == requests_before > 0
    record = record_of(run, "why")
    assert record.judge is not None
    assert (record.judge.model, record.judge.cached) == ("some-model", 0)
    assert [each["outcome"] for each in record.history] == ["error"]
    assert list((run.path / "judge_replies").rglob("*.json"))


def test_rescore_keeps_last_grading_and_judge(pytester: pytest.Pytester, store: Store) -> None:
    run = store(JUDGED, why="poor zip")
    with model_server([sealed("GRADE: correct")]) as server:
        judge = ("--judge=some-model", f"--judge-url={server.url}", "--judge-key-env=none")
        pytester.runpytest_inprocess("--rescore=run", *judge).assert_outcomes(passed=1)
        pytester.runpytest_inprocess("--rescore=run", "--grading=original").assert_outcomes(passed=1)
        result = pytester.runpytest_inprocess("--rescore=run")
        assert server.requests == 1
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["webarena: judging run again · grading original", "webarena: judge some-model*"])
    assert record_of(run, "why").grading == "original"
    notes = json.loads((run.path / "rescored.json").read_text())
    assert [note["grading"]["name"] for note in notes] == ["repaired", "original", "original"]
    assert {note["judge"]["model"] for note in notes} == {"some-model"}
    pytester.runpytest_inprocess("--rescore=run", "--judge=none").assert_outcomes(errors=1)


def test_trial_stays_undecided_without_the_judge_it_needs(pytester: pytest.Pytester, store: Store) -> None:
    run = store(JUDGED, why="poor zip")
    result = pytester.runpytest_inprocess("--rescore=run")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["  not judged   1 of 1 trial: it needs a judge, and there is none:*"])
    assert record_of(run, "why").history == ()


def test_undecided_answer_fails_until_a_judge_decides(pytester: pytest.Pytester, store: Store) -> None:
    """Without a judge such answers count as not met, which is reported."""
    run = store(COUNTED, count="5 reviews are pending, says Ann, but Bob is away")
    result = pytester.runpytest_inprocess("--rescore=run")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['undecided: it also says "Ann but Bob away"*'])
    result.stdout.fnmatch_lines(
        ["*0/1 passed = 0.0%, 100.0% if 1 undecided is met*", "  undecided    1 trial; if met, the 95%*"]
    )
    result.stdout.fnmatch_lines(["FAILED *undecided: it also says *"])
    found = record_of(run, "count")
    assert (found.outcome, found.undecided, found.score) == ("failed", True, 0.0)
    with model_server([sealed("GRADE: correct")]) as server:
        judge = ("--judge=some-model", f"--judge-url={server.url}", "--judge-key-env=none")
        result = pytester.runpytest_inprocess("--rescore=run", *judge)
        assert server.requests == 1
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("  undecided *")
    without = ("--judge=none", "--without-repair=typed-references")
    pytester.runpytest_inprocess("--rescore=run", *without).assert_outcomes(passed=1)


def test_judge_below_minimum_kappa_is_not_asked(pytester: pytest.Pytester, store: Store, tmp_path: Path) -> None:
    run = store(JUDGED, why="poor zip")
    with model_server([sealed("GRADE: correct")]) as server:
        judge = ("--judge=lenient", f"--judge-url={server.url}", "--judge-key-env=none")
        from pytest_webarena.commands.cli import main

        assert main(["judge", "measure", "lenient", *judge[1:]]) == 1
        measured = server.requests
        result = pytester.runpytest_inprocess("--rescore=run", *judge)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["webarena: judge lenient, below the bar of 0.8: kappa*"])
        assert server.requests == measured
        assert record_of(run, "why").outcome == "error"
        pytester.runpytest_inprocess("--rescore=run", *judge, "--judge-min-kappa=0").assert_outcomes(passed=1)


def test_unparsable_judge_reply_is_an_error_with_cause_judge(pytester: pytest.Pytester, store: Store) -> None:
    run = store(JUDGED, why="poor zip")
    with model_server([say("Hard to say.")]) as server:
        judge = ("--judge=vague", f"--judge-url={server.url}", "--judge-key-env=none")
        result = pytester.runpytest_inprocess("--rescore=run", *judge)
    result.assert_outcomes(errors=1)
    record = record_of(run, "why")
    assert (record.outcome, record.cause, record.score) == ("error", "judge", None)
    assert record.judge is not None
    assert record.judge.usage.calls >= 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rescore=nowhere"], "expected a run directory"),
        (["--rescore=run", "--resume=run"], "--rescore: expected no --resume"),
        (["--rescore=run", "--run-dir=other"], "--rescore: expected no --run-dir"),
        (["--rescore=run", "--audit"], "--rescore: expected no --audit"),
    ],
)
def test_invalid_rescore_arguments_are_usage_errors(
    pytester: pytest.Pytester, store: Store, arguments: list[str], message: str
) -> None:
    store(capital="Paris", length="12", colour="red")
    result = pytester.runpytest_inprocess(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{message}*"])


def test_rescore_rejects_an_audit(pytester: pytest.Pytester) -> None:
    RunDir(pytester.path / "run").describe({"started": 1.0, "audit": True})
    result = pytester.runpytest_inprocess("--rescore=run")
    result.stderr.fnmatch_lines(["ERROR: --rescore: expected a run of agents, found an audit*"])


def test_check_timeout_does_not_block_other_checks(pytester: pytest.Pytester, store: Store) -> None:
    run = store(capital="a" * 60 + "!", length="12", colour=None)
    endless = TASKS.replace("{answer: Paris}", "{answer: {regex: '(a+)+b'}}")
    (pytester.path / "river.yaml").write_text(endless)
    result = pytester.runpytest_inprocess("--rescore=run", "--check-timeout=1", "-v", "-p", "no:randomly")
    result.stdout.fnmatch_lines(["river.yaml::capital*FAILED*", "river.yaml::length*PASSED*"])
    record = record_of(run, "capital")
    assert (record.outcome, record.cause) == ("failed", None)
    assert "longer than 1 s" in record.message
