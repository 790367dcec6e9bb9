"""``--max-consecutive-errors``: agents and sites that are stopped after repeated identical errors."""

from __future__ import annotations

import csv
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_webarena.results.gate import STOPPED_EARLY

MakeTasks = Callable[..., None]

MODEL = "kind: model\nmodel: m\nendpoint: {base_url: 'http://127.0.0.1:%s/v1', key_env: null}\n"


def fix_site(canned: pytest.Pytester) -> None:
    """Stop injecting errors from now on."""
    conftest = canned.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace('"odd" in', '"never" in'))


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_repeated_errors_stop_a_site_and_resume_runs_missing_trials(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    make_tasks(*(f"odd-{n}" for n in range(12)), sites="[homepage]")
    make_tasks("right", "wrong", name="other")
    result = canned.runpytest("--run-dir=run", *workers)
    counts = result.parseoutcomes()
    assert (counts["passed"], counts["failed"], counts["errors"] + counts["skipped"]) == (1, 1, 12)
    assert 5 <= counts["errors"] <= (6 if workers else 5)  # running trials still end
    assert result.ret == STOPPED_EARLY
    missing = counts["skipped"]
    result.stdout.fnmatch_lines(
        [
            "webarena: *1 error * latest error: site: canned*",
            f"The same error in {counts['errors'] - 1} more trials: odd-*",
            f"trials         14 planned, * run (2 judged, {counts['errors']} errors), {missing} not run",
            f"not run        {missing} trials; every agent on homepage: stopped after 5 errors *",
            "  resume with: pytest --resume=run",
            "ERROR tasks/demo.yaml::odd-* - [[]* times] error (site)*",
        ]
    )
    assert len([line for line in result.outlines if "ERROR at call" in line]) == 1
    assert max(map(len, result.outlines[result.outlines.index("") :])) <= 100

    fix_site(canned)
    again = canned.runpytest("--resume=run", *workers)
    again.assert_outcomes(passed=12, **({} if workers else {"deselected": 2}))
    assert again.ret == 1  # the trial that failed before
    rows = list(csv.DictReader((canned.path / "run" / "results.csv").read_text().splitlines()))
    assert [row["outcome"] for row in rows].count("passed") == 13


def test_stopped_agent_counts_unrun_trials_as_not_passed(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right", *(f"odd-{n}" for n in range(9)))
    gate = ("--min-pass-rate=0.3", "--max-errors=9", "--allow-skipped=odd*", "--max-consecutive-errors=2")
    result = canned.runpytest(*gate)
    result.stdout.fnmatch_lines(["gate: oracle: 12.5% passed*", "passed: 7 not run after errors in a row*"])
    assert result.ret == STOPPED_EARLY
    result = canned.runpytest("--min-pass-rate=0.1", "--max-errors=9", "--max-consecutive-errors=2")
    result.stdout.fnmatch_lines(["gate: the thresholds are met*"])
    assert result.ret == STOPPED_EARLY  # the run has not come to its end
    assert canned.runpytest("--min-pass-rate=0.1", "--max-errors=9", "--max-consecutive-errors=0").ret == 0


def test_verbose_run_reports_each_repeated_error(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("odd-1", "odd-2", "odd-3")
    assert len([line for line in canned.runpytest("-vv").outlines if "ERROR at call" in line]) == 3
    result = canned.runpytest()
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(["The same error in 2 more trials: odd-2[[]chromium], odd-3[[]chromium]"])


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_unreachable_model_endpoint_stops_agent_before_first_trial(
    pytester: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("a", "b", "c", "d")
    agents = pytester.mkdir("agents")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening
        agents.joinpath("dead.yaml").write_text(MODEL % unused.getsockname()[1])
        result = pytester.runpytest("--agent=dead", "--agent=oracle", "--run-dir=run", *workers)
    result.assert_outcomes(passed=4, skipped=4)
    assert result.ret == STOPPED_EARLY
    result.stdout.fnmatch_lines(
        [
            "oracle: 4/4 passed*",
            "not run        4 trials; dead: a prerequisite is missing (model): model m at",
            "*Connection refused*",
        ]
    )
    agents.joinpath("mine.py").write_text("class Agent:\n    def act(self, seen):\n        return '```stop [x]```'\n")
    agents.joinpath("dead.yaml").write_text("python: mine.py:Agent\n")
    again = pytester.runpytest("--resume=run", "--allow-mixed")
    again.assert_outcomes(passed=4, deselected=4)
    assert again.ret == 0


def test_missing_browser_stops_trials_with_one_message(
    pytester: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_tasks("a", "b", "c", sites="[homepage]")
    make_tasks("question", name="other")
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    result = pytester.runpytest("--browser=webkit")
    result.assert_outcomes(skipped=3, passed=1)
    assert result.ret == STOPPED_EARLY
    result.stdout.fnmatch_lines(["not run        3 trials; oracle: a prerequisite is missing (browser):*"])


@pytest.mark.parametrize("how", ["option", "ini"])
def test_missing_price_table_is_a_usage_error(canned: pytest.Pytester, make_tasks: MakeTasks, how: str) -> None:
    make_tasks("right")
    if how == "ini":
        canned.makeini("[pytest]\nwebarena_prices = none.yaml\n")
    result = canned.runpytest(*(["--prices=none.yaml"] if how == "option" else []), "tasks")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: price table *none.yaml: expected a readable file, found no such file*"])


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "xdist"])
def test_trial_ended_by_test_timeout_is_an_error(
    canned: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    make_tasks("right", "dying")
    conftest = canned.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace("os._exit(9)", "pytest.fail('Timeout >1.0s')"))
    result = canned.runpytest("--run-dir=run", *workers)  # as pytest-timeout does
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["oracle: 1/1 passed*1 error excluded", "*Timeout >1.0s"])
