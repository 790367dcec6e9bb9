"""Several ``--browser`` options: each browser has its own trials and success rates."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from pytest_webarena.results import RunDir, TrialKey
from pytest_webarena.results.gate import BELOW_THRESHOLD
from pytest_webarena.results.plan import read_plan
from tests.rewritten import forget_trial

MakeTasks = Callable[..., None]
BOTH = ("--browser=chromium", "--browser=firefox")


def keys(pytester: pytest.Pytester, run: str = "run") -> set[TrialKey]:
    return {record.key for record in RunDir(pytester.path / run).records()}


def test_each_browser_gets_its_own_items(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("one")
    found = canned.runpytest("--collect-only", "-q", *BOTH, "--trials=2", "--agent=oracle", "--agent=null").outlines
    assert sorted(line for line in found if "::" in line) == sorted(
        f"tasks/demo.yaml::one[{agent}-trial{trial}-{browser}]"
        for agent in ("oracle", "null")
        for trial in (1, 2)
        for browser in ("chromium", "firefox")
    )


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_each_browser_has_its_own_record_summary_row_and_threshold(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("right", "not-in-firefox", "right-too")
    reports = ("--alluredir=allure", "--junitxml=junit.xml", "--min-pass-rate=0.8")
    result = canned.runpytest(*BOTH, "--agent=oracle", "--run-dir=run", *reports, *workers)
    assert result.ret == BELOW_THRESHOLD  # of all six it would be 83 %
    result.stdout.fnmatch_lines(
        [
            "webarena: agent oracle · trials 1 · browsers chromium, firefox · sites embedded *",
            "oracle (chromium): 3/3 passed *",
            "oracle (firefox): 2/3 passed *",
            "trials * 6 planned, 6 run (6 judged)",
            "gate: oracle (firefox): 66.7% passed*",
        ]
    )
    run = RunDir(canned.path / "run")
    expected = {
        TrialKey(task, "oracle", 1, browser)
        for task in ("right", "not-in-firefox", "right-too")
        for browser in ("chromium", "firefox")
    }
    assert keys(canned) == set(read_plan(run.path)) == expected
    assert run.facts()["browsers"] == ["chromium", "firefox"]
    cases = {
        case.get("name"): {each.get("name"): each.get("value") for each in case.iter("property")}
        for case in ET.parse(canned.path / "junit.xml").iter("testcase")
    }
    assert {name: case["browser"] for name, case in cases.items()} == {
        f"{task}[{browser}]": browser
        for task in ("right", "not-in-firefox", "right-too")
        for browser in ("chromium", "firefox")
    }
    allure_results = [json.loads(file.read_text()) for file in (canned.path / "allure").glob("*-result.json")]
    assert len({each["historyId"] for each in allure_results}) == 6
    assert len({each["testCaseId"] for each in allure_results}) == 3
    parameters = [{each["name"]: each["value"] for each in result["parameters"]} for result in allure_results]
    suites = [
        next(each["value"] for each in result["labels"] if each["name"] == "parentSuite") for result in allure_results
    ]
    assert {(each["browser"], suite) for each, suite in zip(parameters, suites, strict=True)} == {
        ("chromium", "oracle"), ("firefox", "oracle (firefox)"),
    }  # fmt: skip


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_resume_uses_browsers_of_the_run(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("a", "b")
    canned.runpytest(*BOTH, "--run-dir=run", *workers).assert_outcomes(passed=4)
    before = keys(canned)
    forget_trial(canned.path / "run" / "trials" / TrialKey("b", "oracle", 1, "firefox").folder)
    canned.runpytest("--resume=run", *workers).assert_outcomes(passed=1)
    assert keys(canned) == before
    result = canned.runpytest("--resume=run", "--browser=firefox")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected the run's own --browser, chromium, firefox, found firefox*"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--browser=firefox", "--browser=firefox"), "--browser: expected each browser once, found firefox, firefox"),
        ((*BOTH, "--audit"), "--browser: expected one with --audit, found chromium, firefox; run them separately"),
        ((*BOTH, "--browser-executable=/bin/sh"), "--browser: expected one with --browser-executable"),
        ((*BOTH, "--browser-channel=chrome"), "--browser: expected one with --browser-channel"),
        ((*BOTH, "-o", "webarena_browser_executable=/bin/sh"), "one with webarena_browser_executable in the ini"),
    ],
)
def test_options_for_a_single_browser_are_rejected_with_several(
    canned: pytest.Pytester, make_tasks: MakeTasks, options: tuple[str, ...], message: str
) -> None:
    make_tasks("one")
    result = canned.runpytest("--agent=oracle" if "--audit" not in options else "-q", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])
    assert not (canned.path / "webarena-runs").exists()


def test_audit_runs_in_chosen_browser(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("one")
    result = canned.runpytest("--audit", "--browser=firefox", "--run-dir=run")
    result.stdout.no_fnmatch_line("*not run*")
    assert {key.browser for key in keys(canned)} == {"firefox"}
    assert all(each["outcome"] != "not run" for each in _trials(canned))


def _trials(pytester: pytest.Pytester) -> list[dict[str, str]]:
    (task,) = json.loads((pytester.path / "run" / "audit.json").read_text())["tasks"]
    trials: list[dict[str, str]] = task["trials"]
    return trials
