"""pytest's own features on task items: outcomes, reruns, selection by last failure, reports."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from tests.plugin.conftest import CANNED_RUNTIME

MakeTasks = Callable[..., None]

pytestmark = pytest.mark.usefixtures("every_plugin")


def records(pytester: pytest.Pytester, run: str = "run") -> dict[str, str]:
    files = (pytester.path / run / "trials").glob("*/trial.json")
    found = [json.loads(file.read_text()) for file in files]
    return {record["key"]["task"]: record["outcome"] for record in found}


def test_wrong_answer_fails_and_other_problems_are_errors(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right", "wrong", "odd")
    result = canned.runpytest("--run-dir=run")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*canned failed*", "oracle: 1/2 passed = 50.0%*1 error excluded*", "*errors by*site 1*"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    assert records(canned) == {"right": "passed", "wrong": "failed", "odd": "error"}


def test_last_failed_failed_first_and_stepwise_work_on_tasks(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right", "wrong", "right2")
    canned.runpytest().assert_outcomes(passed=2, failed=1)
    canned.runpytest("--lf").assert_outcomes(failed=1)
    canned.runpytest("--ff", "-v").stdout.fnmatch_lines(["*::wrong*FAILED*", "*::right*PASSED*"])
    canned.runpytest("-x").assert_outcomes(passed=1, failed=1)
    canned.runpytest("--sw").assert_outcomes(passed=1, failed=1)


def test_junit_contains_outcome_agent_and_steps(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right", "odd")
    canned.runpytest("--junitxml=junit.xml", "--run-dir=run")
    cases = {case.get("name"): case for case in ET.parse(canned.path / "junit.xml").iter("testcase")}
    properties = {entry.get("name"): entry.get("value") for entry in cases["right[chromium]"].iter("property")}
    assert (properties["outcome"], properties["agent"], properties["steps"]) == ("passed", "oracle", "3")


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_junit_separates_errors_from_failures(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("right", "odd", "wrong")
    canned.runpytest("--junitxml=junit.xml", "--run-dir=run", *workers)
    tree = ET.parse(canned.path / "junit.xml")
    found = {
        case.get("name"): [(each.tag, each.get("message")) for each in case if each.tag in ("failure", "error")]
        for case in tree.iter("testcase")
    }
    assert found == {
        "right[chromium]": [],
        "odd[chromium]": [("error", "error (site): canned error")],
        "wrong[chromium]": [("failure", "canned failed")],
    }
    (suite,) = tree.iter("testsuite")
    assert (suite.get("errors"), suite.get("failures"), suite.get("tests")) == ("1", "1", "3")


def keep_pages(project: pytest.Pytester) -> None:
    """Let each canned trial keep a picture of its last page."""
    record = "        record = TrialRecord("
    picture = "        writer.screenshot('final', bytes.fromhex('89504e470d0a1a0a'))\n"
    project.makeconftest(CANNED_RUNTIME.replace(record, picture + record))


@pytest.mark.matrix(1)
@pytest.mark.parametrize("logging", ["no", "log", "system-out"])
def test_junit_is_as_gitlab_jenkins_and_azure_read_it(
    canned: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch, logging: str
) -> None:
    monkeypatch.delenv("WORKSPACE", raising=False)
    monkeypatch.setenv("CI_PROJECT_DIR", str(canned.path))
    keep_pages(canned)
    make_tasks("right", "odd", "wrong")
    make_tasks("away", name="skips")
    file = canned.path / "tasks" / "skips.yaml"
    file.write_text(file.read_text().replace("id: away", "id: away\n    skip: not today"))
    family = ("-o", "junit_family=xunit1", "-o", f"junit_logging={logging}")
    canned.runpytest("--junitxml=junit.xml", "--run-dir=run", *family)
    (suite,) = ET.parse(canned.path / "junit.xml").iter("testsuite")
    cases = {str(case.get("name")): case for case in suite.iter("testcase")}
    assert len({(case.get("classname"), case.get("name")) for case in cases.values()}) == len(suite.findall("testcase"))
    for name, case in cases.items():
        assert case.get("classname") == case.get("file", "").replace("/", "."), name
        assert (canned.path / str(case.get("file"))).is_file()
        assert float(str(case.get("time"))) >= 0
        assert {each.tag for each in case} <= {"properties", "failure", "error", "skipped", "system-out"}
        assert len(case.findall("system-out")) <= 1 or case.find("skipped") is not None  # GitLab reads one of failures
        results = [each for each in case if each.tag in ("failure", "error", "skipped")]
        assert all(each.get("message") and each.get("type") for each in results), name
        assert len(results) == (name != "right[chromium]")
    types = {name: [each.get("type") for each in case if each.get("type")] for name, case in cases.items()}
    assert types["wrong[chromium]"] == ["failed"]
    assert types["odd[chromium]"] == ["error: site"]
    skipped = cases["away[chromium]"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "not today"
    counts = {tag: len(list(suite.iter(tag))) for tag in ("failure", "error", "skipped", "testcase")}
    assert counts == {
        "failure": int(suite.get("failures", 0)), "error": int(suite.get("errors", 0)),
        "skipped": int(suite.get("skipped", 0)), "testcase": int(suite.get("tests", 0)),
    }  # fmt: skip
    for name in ("wrong[chromium]", "odd[chromium]"):
        lines = str(cases[name].findtext("system-out")).splitlines()
        (line,) = [line for line in lines if "ATTACHMENT" in line]
        path = line.removeprefix("[[ATTACHMENT|").removesuffix("]]")
        assert line == f"[[ATTACHMENT|{path}]]"  # Jenkins wants a line of its own
        assert not path.startswith("/")  # GitLab wants a path in the project
        assert (canned.path / path).is_file()
    assert "ATTACHMENT" not in "".join(cases["right[chromium]"].itertext())


def test_pytest_html_reports_tasks(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right", "wrong")
    canned.runpytest("--html=report.html", "--self-contained-html").assert_outcomes(passed=1, failed=1)
    assert "wrong" in (canned.path / "report.html").read_text()


def test_unknown_agent_is_a_usage_error(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right")
    result = canned.runpytest("--agent=orakel")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*did you mean 'oracle'?*"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--trials=0", "*--trials: expected a whole number from 1 on, found '0'*"),
        ("--trials=x", "*--trials: expected a whole number from 1 on, found 'x'*"),
        ("--min-pass-rate=30", "*--min-pass-rate: expected a share from 0 to 1, as 0.3 or 30%, found '30'*"),
        (f"--run-dir={'x' * 300}", "*--run-dir: expected a directory that can be written, found none at *xxx…*"),
        ("--run-dir=conftest.py", "*--run-dir: expected a directory that can be written, found none at *conftest.py*"),
        ("--sites=nope", "*there is no catalogue 'nope'; known: *embedded, *"),
        ("--agent-option=depht=3", "*--agent-option depht: expected an agent with this key, found oracle without it*"),
        (
            "--agent=agent.py",
            "*--agent=agent.py: expected the class or function as well, as in --agent=agent.py:MyAgent",
        ),
        ("--agent=oracle,null", "*expected one agent each time: --agent=oracle --agent=null*"),
        ("--time-limit=-1", "*--time-limit*"),
        ("--browser-executable=/no/such/browser", "*expected an executable file*"),
        ("--stop-rule=other", "*paper*upstream*"),
    ],
)
def test_invalid_option_is_a_usage_error(canned: pytest.Pytester, option: str, message: str) -> None:
    result = canned.runpytest(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_agents_with_the_same_record_name_are_rejected(canned: pytest.Pytester) -> None:
    result = canned.runpytest("--agent=v1/my.py:Agent", "--agent=v2/my.py:Agent")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*found v1/my.py:Agent and v2/my.py:Agent, both called 'my.py-Agent' there*"])


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("kind: http\nurl: http://127.0.0.1:1/\nobservation: {compat: true}", "*expected --browser chromium*exact*"),
        ("kind: cdp\npython: people.py:solve", "*expected --browser chromium for an agent that drives*"),
    ],
)
def test_agents_that_need_chromium_are_rejected_in_firefox(canned: pytest.Pytester, agent: str, message: str) -> None:
    folder = canned.mkdir("agents")
    (folder / "people.py").write_text("def solve(trial): ...\n")
    (folder / "mine.yaml").write_text(agent)
    result = canned.runpytest("--agent=mine", "--browser=firefox")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_unknown_catalogue_in_ini_is_an_error_of_task_files_only(
    canned: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("right", sites="[homepage]")
    canned.makeini("[pytest]\nwebarena_sites = nope")
    canned.makepyfile(test_theirs="def test_a():\n    assert True\n")
    result = canned.runpytest("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*there is no catalogue 'nope'*"])
    result.stdout.no_fnmatch_line("*collection.py*")


def test_catalogue_path_in_ini_is_relative_to_the_ini_file(
    canned: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tasks("right", sites="[homepage]")
    canned.makeini("[pytest]\nwebarena_sites = own.yaml")
    (canned.path / "own.yaml").write_text("extends: embedded\n")
    monkeypatch.chdir(canned.path / "tasks")
    canned.runpytest("demo.yaml", "--run-dir=run").assert_outcomes(passed=1)


def test_run_dir_rejects_directory_of_an_earlier_run(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right")
    canned.runpytest("--run-dir=run").assert_outcomes(passed=1)
    result = canned.runpytest("--run-dir=run")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--run-dir: expected a new directory, found an earlier run in *--resume=*"])
    assert canned.runpytest("--run-dir=run", "--collect-only").ret == 0


def test_project_without_tasks_gets_no_plugin_output(canned: pytest.Pytester) -> None:
    canned.makepyfile(test_theirs="def test_a():\n    assert True\n")
    before = set(canned.path.iterdir())
    result = canned.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert [line for line in result.outlines if "webarena" in line and not line.startswith("plugins:")] == []
    assert {path.name for path in set(canned.path.iterdir()) - before} <= {"__pycache__"}


def test_latest_links_to_newest_run(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right")
    canned.runpytest()
    canned.runpytest()
    runs = canned.path / "webarena-runs"
    latest = (runs / "latest").resolve()
    assert (latest / "run.json").exists()
    assert len([path for path in runs.iterdir() if path.is_dir() and not path.is_symlink()]) == 2
    subprocess.run(["git", "init", "-q"], cwd=canned.path, check=True)
    result = subprocess.run(["git", "status", "--short"], cwd=canned.path, capture_output=True, text=True, check=True)
    assert "webarena-runs" not in result.stdout
