"""Playwright traces of trials: which trials keep one, and where it is stored."""

from __future__ import annotations

import html
import json
import zipfile
from pathlib import Path

import pytest

from pytest_webarena.browser.engine import BrowserEngine
from tests.browser.conftest import BROWSER
from tests.inner import SUM_TASK, run_pytest

pytestmark = pytest.mark.skipif(BROWSER != "chromium", reason="what a run does with traces is the same in all browsers")

DRIVER = "kind: cdp\ncommand: [python, -c, pass]\n"


MADE: list[Path] = []


@pytest.fixture
def project(shared_engine: BrowserEngine, pytester: pytest.Pytester, every_plugin: None) -> Path:
    """A run of two agents, one of which fails. The first test makes it, in this process; all tests read it."""
    if not MADE:
        (pytester.path / "sum.yaml").write_text(SUM_TASK)
        result = pytester.runpytest_inprocess(
            "sum.yaml", "--agent=oracle", "--agent=null", "--run-dir=run", "--tracing=retain-on-failure",
            "--screenshot=only-on-failure", "--output=out",
            "--alluredir=allure", "--html=report.html", "--self-contained-html", "-n0",
        )  # fmt: skip
        result.assert_outcomes(passed=1, failed=1)
        MADE.append(pytester.path)
    return MADE[0]


def test_retain_on_failure_keeps_trace_of_failed_trial_only(project: Path) -> None:
    (trace,) = (project / "run" / "trials").glob("*/attempt-*/trace.zip")
    assert ".null." in trace.parent.parent.name


def test_trace_contains_page_snapshots_and_requests(project: Path) -> None:
    (trace,) = (project / "run" / "trials").glob("*/attempt-*/trace.zip")
    with zipfile.ZipFile(trace) as archive:
        names = archive.namelist()
        events = [json.loads(line) for line in archive.read("trace.trace").splitlines()]
        requests = archive.read("trace.network").decode()
    assert {"context-options", "before", "after", "frame-snapshot"} <= {event["type"] for event in events}
    assert "http://homepage.test/" in requests
    assert any(name.endswith(".jpeg") for name in names)


def test_allure_attaches_trace(project: Path) -> None:
    results = [json.loads(path.read_text()) for path in (project / "allure").glob("*-result.json")]
    named = {
        result["status"]: [each for each in result["attachments"] if each["name"] == "Trace"] for result in results
    }
    assert [len(named["failed"]), len(named["passed"])] == [1, 0]
    assert (project / "allure" / named["failed"][0]["source"]).stat().st_size > 1000


def test_pytest_html_shows_final_screenshot_of_failed_trial(project: Path) -> None:
    page = html.unescape((project / "report.html").read_text())
    data = json.loads(page.partition('data-jsonblob="')[2].partition('"></div>')[0])
    pictures = {
        result["result"]: [extra["name"] for extra in result["extras"] if extra["content"].startswith("data:image/")]
        for (result,) in data["tests"].values()
    }
    assert pictures == {"Failed": ["Final page"], "Passed": []}


def test_trace_is_also_in_pytest_playwright_output_folder(project: Path) -> None:
    (folder,) = (project / "out").iterdir()
    assert ".null." in folder.name
    trace, picture = sorted(folder.iterdir(), reverse=True)
    assert (trace.name, picture.stem) == ("trace.zip", "test-failed-1")
    assert zipfile.is_zipfile(trace)
    assert (
        picture.read_bytes() == next((project / "run/trials" / folder.name).glob("*/screenshots/final.*")).read_bytes()
    )


@pytest.mark.exhaustive
def test_missing_ffmpeg_stops_trials_with_video(tmp_path: Path) -> None:
    (tmp_path / "sum.yaml").write_text(SUM_TASK)
    environ = {"PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "none")}
    result = run_pytest(tmp_path, "sum.yaml", "--video=on", "--env-retries=0", environ=environ)
    result.assert_outcomes(skipped=1)
    assert result.ret == 13
    result.stdout.fnmatch_lines(["not run*a prerequisite is missing (browser)*"])
    assert "playwright install ffmpeg" in " ".join(str(result.stdout).split())


def test_header_says_that_self_driving_agents_have_no_trace(pytester: pytest.Pytester) -> None:
    (pytester.path / "sum.yaml").write_text(SUM_TASK)
    (pytester.path / "driver.yaml").write_text(DRIVER)
    result = pytester.runpytest_inprocess("sum.yaml", "--agent=driver.yaml", "--tracing=on", "--collect-only")
    result.stdout.fnmatch_lines(["webarena: no traces or videos of driver.yaml, which drives its browser itself"])
