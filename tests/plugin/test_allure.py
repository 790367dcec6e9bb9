"""Allure results of a run: written by allure-pytest, completed by the plugin and by the controller process."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main

MakeTasks = Callable[..., None]
Result = dict[str, Any]

pytestmark = pytest.mark.usefixtures("every_plugin")

RECORDING = '''
import time
from dataclasses import replace
from pytest_webarena.checks.verdict import CheckResult, Verdict
from pytest_webarena.evidence import Evidence, StepRecord, TabState
from pytest_webarena.results import Attempt, AttemptWriter


def retried():
    """Fields of a record whose first attempt ended in an error."""
    now = time.time()
    error = Attempt(number=1, outcome="error", cause="site", message="gone", started=now)
    return {"attempt": 2, "attempts": (error, Attempt(number=2, outcome="passed", started=now + 1)), "started": now + 1}


class RecordingRuntime(CannedRuntime):
    """Canned trials that leave steps, pages and verdicts."""

    def run(self, task, agent, trial, *, browser, node_id):
        canned = super().run(task, agent, trial, browser=browser, node_id=node_id)
        folder = self.run_dir.folder(canned.key)
        writer = AttemptWriter(folder.path / f"attempt-{canned.attempt}", canned.attempt)
        answer = "an \\ud800 odd </script> answer" if "hostile" in task.id else "oats"
        action = {"kind": "stop", "answer": answer}
        step = StepRecord(index=0, action=action, raw=f"stop [{answer}]", url_before="http://s.test/")
        writer.stepped(step)
        tab = TabState(url="http://s.test/", title="t", html="<p>", active=True)
        writer.finish(Evidence(answer=answer, stop_reason="answered", tabs=(tab,), steps=(step,)))
        passed, is_open = canned.outcome == "passed", "open" in task.id
        texts = {"expected": "'rye'", "actual": repr(answer), "why": "the texts differ"}
        judged = {"score": None, "judgeable": True} if is_open else {"score": float(passed)}
        result = CheckResult(path="checks[0]", kind="answer", **judged, **texts)
        met = None if is_open else passed
        verdict = Verdict(score=judged["score"], passed=met, results=(result,), task=task.id, intent=task.intent)
        message = canned.message if canned.outcome == "error" else "" if passed else f"{verdict.render()} {answer}"
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        record = replace(
            canned, verdict=verdict.to_json(), message=message, answer=answer, worker=worker, node_id=node_id,
            **(retried() if "retried" in task.id else {}),
        )
        folder.finish(record)
        return record


@pytest.fixture(scope="session")
def webarena_runtime(pytestconfig, webarena_run):
    from pytest_webarena.plugin.stash import SETTINGS
    return RecordingRuntime(webarena_run, pytestconfig.stash[SETTINGS])
'''


@pytest.fixture
def recording(canned: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project outside any CI whose canned trials write complete records."""
    for name in ("GITHUB_ACTIONS", "GITHUB_REPOSITORY", "GITLAB_CI", "CI_PROJECT_URL", "JENKINS_URL"):
        monkeypatch.delenv(name, raising=False)
    with (canned.path / "conftest.py").open("a") as file:
        file.write(RECORDING)
    return canned


def results(pytester: pytest.Pytester, folder: str = "allure") -> list[Result]:
    files = (pytester.path / folder).glob("*-result.json")
    return sorted((json.loads(file.read_text(encoding="utf-8")) for file in files), key=lambda result: result["start"])


def named(found: list[Result], task: str) -> Result:
    (result,) = [result for result in found if result["fullName"].endswith(f"#{task}")]
    return result


def parameters(result: Result) -> dict[str, str]:
    return {parameter["name"]: parameter["value"] for parameter in result["parameters"]}


WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
"""The inner pytest runs in this process, so it uses the same worker id."""


def labels(result: Result) -> dict[str, str]:
    return {label["name"]: label["value"] for label in result["labels"]}


def test_allure_result_has_name_parameters_and_labels_of_trial(
    recording: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("right", "wrong", "odd")
    recording.runpytest("--alluredir=allure").assert_outcomes(passed=1, failed=1, errors=1)
    found = results(recording)
    right, wrong, odd = (named(found, task) for task in ("right", "wrong", "odd"))
    assert [result["status"] for result in (right, wrong, odd)] == ["passed", "failed", "broken"]
    assert right["name"] == "Say right"
    assert right["fullName"] == "tasks/demo.yaml#right"
    assert parameters(right) == {"agent": "oracle", "trial": "1", "browser": "chromium"}
    assert (
        labels(right).items()
        >= {"epic": "web-agent tasks", "feature": "no site", "story": "right", "thread": WORKER}.items()
    )
    assert not {"package", "framework", "language"} & labels(right).keys()
    assert "`tasks/demo.yaml:2`" in right["description"]
    assert [step["name"] for step in wrong["steps"]] == ["Answer “oats”", "Answer: oats", "Checks: 0 of 1 pass"]
    assert wrong["statusDetails"]["message"] == "failed: answer: the texts differ\nexpected 'rye'\nfound    'oats'"
    assert wrong["statusDetails"]["trace"].startswith("answer: expected")
    assert odd["statusDetails"] == {"message": "error (site): canned error"}


def test_allure_separates_undecided_and_retried_trials(recording: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("wrong-open", "retried")
    recording.runpytest("--alluredir=allure", "--junitxml=junit.xml").assert_outcomes(passed=1, failed=1)
    found = results(recording)
    undecided = named(found, "wrong-open")
    earlier, retried = (result for result in found if result["name"] == "Say retried")  # Allure counts the later one
    assert (earlier["status"], earlier["historyId"]) == ("broken", retried["historyId"])
    assert earlier["start"] < retried["start"]
    assert (undecided["status"], labels(undecided)["outcome"]) == ("unknown", "undecided: rules")
    assert undecided["statusDetails"]["message"].startswith("undecided: ")
    assert undecided["steps"][-1]["status"] == undecided["steps"][-1]["steps"][0]["status"] == "unknown"
    assert (retried["status"], labels(retried)["outcome"]) == ("passed", "passed: attempt 2")
    assert retried["statusDetails"] == {"message": "passed on attempt 2"}
    xml = (recording.path / "junit.xml").read_text()
    assert '<property name="outcome" value="undecided"/>' in xml.replace('" />', '"/>')
    assert '<property name="attempt" value="2"/>' in xml.replace('" />', '"/>')


def test_allure_has_figures_of_the_run_for_its_first_page(recording: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "wrong", "odd")
    recording.runpytest("--alluredir=allure", "--agent=null", "--agent=reader")
    (file,) = (recording.path / "allure").glob("*-globals.json")
    figures = json.loads(file.read_text())["figures"]
    assert (figures["null"], figures["95% of null"][-4:]) == ("50.0% 1/2", "–91%")
    assert figures["all of null, errors as failures"] == "33.3% 1/3"
    assert figures["errors of null"] == "site 1"
    assert figures["reader compared with null"].startswith("Unsettled whether reader is better than null: ")


def test_allure_omits_plugin_fixtures_from_setup(recording: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right")
    recording.makepyfile(test_theirs="def test_a(tmp_path): pass")
    recording.runpytest("--alluredir=allure").assert_outcomes(passed=2)
    found = results(recording)
    containers = (json.loads(file.read_text()) for file in (recording.path / "allure").glob("*-container.json"))
    with_fixtures = {child for container in containers if container.get("befores") for child in container["children"]}
    plain_test = next(result for result in found if result["name"] == "test_a")
    assert named(found, "right")["uuid"] not in with_fixtures
    assert plain_test["uuid"] in with_fixtures


def test_allure_history_id_depends_on_agent_not_on_other_agents(
    recording: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("right")
    recording.runpytest("--alluredir=one", "--agent=null")
    recording.runpytest("--alluredir=two", "--agent=null", "--agent=oracle", "--trials=2")
    (alone,) = results(recording, "one")
    together = results(recording, "two")
    assert len({result["historyId"] for result in together}) == 4
    assert {result["testCaseId"] for result in together} == {alone["testCaseId"]}
    assert alone["historyId"] in {result["historyId"] for result in together}
    assert all(set(parameters(result)) == {"agent", "trial", "browser"} for result in together)


def test_allure_reports_reruns_as_retries_of_one_trial(recording: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("flaky")
    recording.runpytest("--reruns=1", "--alluredir=allure").assert_outcomes(failed=1)  # the first verdict counts
    first, second = results(recording)
    assert [first["status"], second["status"]] == ["failed", "failed"]
    for key in ("historyId", "testCaseId", "parameters", "name"):
        assert first[key] == second[key]
    assert first["statusDetails"]["message"].startswith("failed: answer")


def test_allure_history_id_is_kept_when_trial_does_not_start(recording: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right")
    (recording.path / "more.tasks.yaml").write_text(
        "tasks: [{id: later, intent: Wait, sites: [], checks: [{answer: x}], skip: not yet}]\n"
    )
    recording.runpytest("--alluredir=whole").assert_outcomes(passed=1, skipped=1)
    with (recording.path / "conftest.py").open("a") as file:
        file.write("\n@pytest.fixture(autouse=True)\ndef broken(): raise OSError('disk full')\n")
    recording.runpytest("--alluredir=broken").assert_outcomes(errors=1, skipped=1)
    whole, broken = results(recording, "whole"), results(recording, "broken")
    assert named(broken, "right")["status"] == "broken"
    assert "disk full" in named(broken, "right")["statusDetails"]["message"]
    for task in ("right", "later"):
        assert named(whole, task)["historyId"] == named(broken, task)["historyId"]
    assert named(whole, "later")["name"] == "Wait"
    later = named(whole, "later")
    assert (later["status"], labels(later)["outcome"]) == ("skipped", "skipped")
    assert later["statusDetails"] == {"message": "skipped: not yet"}


def test_allure_reports_xfail_with_reason(recording: pytest.Pytester) -> None:
    (recording.path / "a.tasks.yaml").write_text(
        "tasks: [{id: wrong, intent: Try, sites: [], checks: [{answer: x}], xfail: known gap}]\n"
    )
    recording.runpytest("--alluredir=allure").assert_outcomes(xfailed=1)
    (result,) = results(recording)
    assert result["status"] == "skipped"
    assert result["statusDetails"]["message"].startswith("XFAIL known gap\n\nfailed: answer: the texts differ")


@pytest.mark.exhaustive
def test_allure_reports_trial_of_crashed_worker_as_broken(recording: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "dying", "b")
    recording.runpytest("-n1", "--run-dir=run", "--alluredir=allure").assert_outcomes(passed=2, failed=1)
    found = results(recording)
    assert len(found) == 3
    dead = named(found, "dying")
    assert dead["status"] == "broken"
    assert "died during this trial" in dead["statusDetails"]["message"]
    assert labels(dead)["outcome"] == "error: harness"
    conftest = recording.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace("os._exit(9)", "pass"))
    recording.runpytest("-n1", "--alluredir=alive").assert_outcomes(passed=3)
    alive = named(results(recording, "alive"), "dying")
    for key in ("historyId", "testCaseId", "parameters"):
        assert alive[key] == dead[key]


def test_only_controller_writes_run_facts_and_workers_write_hostile_texts(
    recording: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("a", "wrong-hostile")
    run = recording.runpytest("-n1", "--run-dir=run", "--alluredir=allure", "--junitxml=junit.xml")
    run.assert_outcomes(passed=1, failed=1)
    assert "odd </script> answer" in named(results(recording), "wrong-hostile")["description"]
    assert (recording.path / "junit.xml").read_text(encoding="utf-8").count("<testcase") == 2
    folder = recording.path / "allure"
    assert "agents=oracle\n" in (folder / "environment.properties").read_text()
    assert json.loads((folder / "executor.json").read_text())["type"] == "local"
    assert any("site" in category["name"] for category in json.loads((folder / "categories.json").read_text()))
    (globals_file,) = [json.loads(file.read_text()) for file in folder.glob("*-globals.json")]
    assert {"results.csv", "summary.json", "run.json"} <= {
        attachment["name"] for attachment in globals_file["attachments"]
    }
    assert {labels(result)["thread"] for result in results(recording)} == {"gw0"}


def test_allure_directories_of_shards_can_be_merged_by_copying(
    recording: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("a", "b", "c", "d", "wrong")
    for shard in ("1/2", "2/2"):
        recording.runpytest(f"--shard={shard}", f"--alluredir=allure{shard[0]}", f"--run-dir=run{shard[0]}")
    (recording.path / "joined").mkdir()
    for part in ("allure1", "allure2"):
        assert results(recording, part)
        for file in (recording.path / part).iterdir():
            shutil.copy(file, recording.path / "joined")
    joined = results(recording, "joined")
    assert sorted(result["fullName"] for result in joined) == [
        f"tasks/demo.yaml#{task}" for task in ("a", "b", "c", "d", "wrong")
    ]
    recording.runpytest("--alluredir=whole")
    identities = [
        {result["fullName"]: (result["historyId"], result["testCaseId"]) for result in found}
        for found in (joined, results(recording, "whole"))
    ]
    assert identities[0] == identities[1]
    assert len({history for history, _ in identities[0].values()}) == 5
    sources = {attachment["source"] for result in joined for attachment in _attachments(result)}
    assert sources
    assert all((recording.path / "joined" / source).is_file() for source in sources)


def _comparable(result: Result, folder: Path) -> Result:
    """Return a result without names of files and what pytest knows beyond the record, with texts of its files."""
    texts = {
        each["source"]: (folder / each["source"]).read_bytes().decode("utf-8", "replace")
        for each in _attachments(result)
    }
    own = {key: value for key, value in result.items() if key not in ("uuid", "start", "stop", "description")}
    own["labels"] = sorted((each["name"], each["value"]) for each in result["labels"] if each["name"] != "tag")
    text = json.dumps(own, sort_keys=True)
    for source, content in texts.items():
        text = text.replace(source, str(hash(content)))
    return dict(json.loads(text))


def test_stored_run_has_the_results_of_the_live_run(recording: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right", "wrong", "odd", "wrong-open", "retried", "later")
    with (recording.path / "conftest.py").open("a") as file:
        file.write("def pytest_runtest_setup(item):\n    if 'later' in item.name: pytest.skip('not yet')\n")
    recording.runpytest("--alluredir=live", "--run-dir=run")
    assert main(["runs", "allure", str(recording.path / "run"), "-o", str(recording.path / "stored")]) == 0
    live, stored = (
        {result["fullName"]: _comparable(result, recording.path / name) for result in results(recording, name)}
        for name in ("live", "stored")
    )
    skipped = [each.pop("tasks/demo.yaml#later") for each in (live, stored)]
    for name in ("historyId", "testCaseId", "parameters", "status", "statusDetails"):
        assert skipped[0][name] == skipped[1][name]
    assert skipped[1]["statusDetails"] == {"message": "skipped: not yet"}
    assert len(live) == 5
    assert live == stored


def test_runs_allure_refuses_a_directory_with_other_results(
    recording: pytest.Pytester, make_tasks: MakeTasks, capsys: pytest.CaptureFixture[str]
) -> None:
    make_tasks("right")
    recording.runpytest("--run-dir=run")
    arguments = ["runs", "allure", str(recording.path / "run"), "-o", str(recording.path / "stored")]
    assert [main(arguments), main(arguments)] == [0, 2]
    assert "expected a new or empty directory" in capsys.readouterr().err


def _attachments(item: Result) -> list[Result]:
    return [*item.get("attachments", ()), *(found for step in item.get("steps", ()) for found in _attachments(step))]


def test_hostile_agent_text_is_written_to_allure_and_junit(recording: pytest.Pytester, make_tasks: MakeTasks) -> None:
    """Without workers; a test above covers workers."""
    make_tasks("right", "wrong-hostile")
    run = recording.runpytest("--alluredir=allure", "--junitxml=junit.xml")
    run.assert_outcomes(passed=1, failed=1)
    assert "odd </script> answer" in named(results(recording), "wrong-hostile")["description"]
    assert (recording.path / "junit.xml").read_text(encoding="utf-8").count("<testcase") == 2


def test_playwright_trace_of_python_test_is_attached(recording: pytest.Pytester) -> None:
    recording.makepyfile(test_theirs="def test_a(): pass")
    (recording.path / "trace.zip").write_bytes(b"PK trace")
    with (recording.path / "conftest.py").open("a") as file:
        file.write(
            "\n@pytest.hookimpl(wrapper=True)\n"
            "def pytest_runtest_makereport(item, call):\n"
            "    report = yield\n"
            "    if call.when == 'teardown':\n"
            "        report.user_properties.append(('playwright_trace', 'trace.zip'))\n"
            "    return report\n"
        )
    recording.runpytest("--alluredir=allure").assert_outcomes(passed=1)
    (result,) = results(recording)
    (trace,) = result["attachments"]
    assert trace["type"] == "application/vnd.allure.playwright-trace"
    assert (recording.path / "allure" / trace["source"]).read_bytes() == b"PK trace"


def test_project_without_tasks_gets_no_plugin_files_in_allure(recording: pytest.Pytester) -> None:
    recording.makepyfile(test_theirs="def test_a(): pass")
    recording.runpytest("--alluredir=allure").assert_outcomes(passed=1)
    assert {path.name.rpartition("-")[2] for path in Path(recording.path / "allure").iterdir()} <= {
        "result.json",
        "container.json",
    }


def test_severity_and_owner_tags_select_tasks_and_become_labels(recording: pytest.Pytester) -> None:
    (recording.path / "a.tasks.yaml").write_text(
        "defaults: {sites: [], checks: [{answer: x}]}\n"
        "tasks:\n"
        "  - {id: vital, intent: Pay, tags: ['severity:critical', 'owner:ana', smoke, 'issue:https://git.test/issues/7']}\n"
        "  - {id: other, intent: Look, tags: ['severity:minor']}\n"
    )
    recording.runpytest("--alluredir=allure", "--allure-severities=critical").assert_outcomes(passed=1, deselected=1)
    (result,) = results(recording)
    found = [(label["name"], label["value"]) for label in result["labels"]]
    assert [value for name, value in found if name == "severity"] == ["critical"]
    assert [value for name, value in found if name == "owner"] == ["ana"]
    assert "smoke" in [value for name, value in found if name == "tag"]
    assert result["links"] == [{"type": "issue", "url": "https://git.test/issues/7", "name": "7"}]
    assert len(found) == len(set(found))
