"""Trials whose agents visit sites that their tasks do not list, with the real broker, gateway, sites and browser."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.inner import run_pytest

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine")]

TASKS = """
defaults: {sites: [map], checks: [{answer: {regex: 'done.*'}}]}
tasks:
  - id: wide
    intent: Look around.
    reach: environment
    checks: [{answer: {regex: 'done.*'}}, {changes: {homepage: {notes: {added: 1}}}}]
  - {id: narrow, intent: Look around.}
"""
AGENT = """
from pytest_webarena.actions import Click, Goto, Selector, Stop, Type

class Tourist:
    "Uses the wiki, the password page, the calculator and the scratchpad on its way."
    def __init__(self, task):
        self.told = sorted(task.reach)
        home = "http://homepage.test"
        self.steps = [
            Goto("http://wikipedia.test/"), Goto(home + "/password.html"), Goto(home + "/scratchpad/new"),
            Type(Selector("css=#title"), "Rye"), Type(Selector("css=#body"), "x"),
            Click(Selector('role=button[name="Save note"]')), Goto(home + "/calculator"),
            Type(Selector("css=#expression"), "1913 + 6", enter=True), Goto("http://nowhere.test/"),
        ]
        self.seen = []
    def act(self, observation):
        self.seen += [observation.title, *(["worked out: 1919"] if "1919" in observation.text else [])]
        words = ["done", ",".join(self.told), *self.seen]
        return self.steps.pop(0) if self.steps else Stop(" | ".join(words))
"""
SLOW = """
apps:
  map: {backend: process, sites: {map: {host: map.test}}, process: &run {factory: "pages:app"}}
  late: {backend: process, sites: {late: {host: late.test}}, process: {factory: "pages:late"}}
  gone: {backend: process, sites: {gone: {host: gone.test}}, process: {factory: "pages:gone"}}
"""
PAGES = """
import time
from pathlib import Path

def page(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/html")])
    host, path = environ["HTTP_HOST"], environ["PATH_INFO"]
    return [f"<title>{host}{path}</title><a href='http://late.test/there'>there</a>".encode()]

def app(data):
    return page

def late(data):
    while not Path("go").exists():
        time.sleep(0.05)
    return page

def gone(data):
    raise RuntimeError("no such site today")
"""
SLOW_TASKS = """
defaults: {sites: [map], reach: environment, checks: [{answer: {includes: late.test/there}}]}
tasks:
  - {id: slow, intent: Look around., limits: {seconds: 60}}
  - {id: gone, intent: Look around.}
"""
SLOW_AGENT = """
import threading, time
from pathlib import Path
from pytest_webarena.actions import Click, Goto, Selector, Stop

class Patient:
    "Follows a link to a site that comes late: later than the gateway keeps its first request waiting."
    def __init__(self, task):
        self.clicked = False
    def act(self, observation):
        if self.clicked:
            return Stop(observation.title)
        self.clicked = True
        threading.Timer(12, lambda: Path("go").touch()).start()
        return Click(Selector("text=there"))

class Lost:
    "Goes to a site that does not start."
    def __init__(self, task):
        self.steps = [Goto("http://gone.test/"), Stop("late.test/there")]
    def act(self, observation):
        return self.steps.pop(0)
"""


@dataclass(frozen=True, slots=True)
class Trip:
    """One run."""

    result: pytest.RunResult
    directory: Path

    def record(self, task: str) -> dict[str, Any]:
        (folder,) = (self.directory / "run" / "trials").glob(f"{task}.*")
        found: dict[str, Any] = json.loads((folder / "trial.json").read_text())
        return found

    def evidence(self, task: str) -> dict[str, Any]:
        (folder,) = (self.directory / "run" / "trials").glob(f"{task}.*")
        found: dict[str, Any] = json.loads((folder / "attempt-1" / "evidence.json").read_text())
        return found


MADE: list[Trip] = []


@pytest.fixture
def reach_run(pytester: pytest.Pytester) -> Trip:
    """Two tasks with the same intent: one with the whole environment reachable, one with only its own sites.

    The first test makes the run, in this process; all tests read it.
    """
    if not MADE:
        (pytester.path / "demo.tasks.yaml").write_text(TASKS)
        (pytester.path / "people.py").write_text(AGENT)
        result = pytester.runpytest_inprocess(
            "--agent=people.py:Tourist", "--run-dir=run", "--concurrency=2", "--record=minimal"
        )
        MADE.append(Trip(result, pytester.path))
    return MADE[0]


@pytest.mark.exhaustive
def test_task_can_reach_the_whole_environment(reach_run: Trip) -> None:
    reach_run.result.assert_outcomes(passed=2)
    answer = reach_run.record("wide")["answer"]
    assert "homepage" in answer.split(" | ")[1].split(",")
    assert "map" not in answer.split(" | ")[1].split(",")
    assert "Passwords" in answer
    assert "Rye" in answer
    assert "worked out: 1919" in answer
    assert "nowhere.test can't be reached" in answer


@pytest.mark.exhaustive
def test_other_task_reaches_only_its_own_sites(reach_run: Trip) -> None:
    record = reach_run.record("narrow")
    assert record["answer"].split(" | ")[1] == ""
    assert "wikipedia.test can't be reached" in record["answer"]
    assert "reach" not in record["environment"]
    assert reach_run.evidence("narrow")["reached"] == []


@pytest.mark.exhaustive
def test_visited_and_changed_sites_are_recorded(reach_run: Trip) -> None:
    reached = {site["site"]: site for site in reach_run.evidence("wide")["reached"]}
    assert reached.keys() == {"wikipedia", "homepage"}
    assert (reached["wikipedia"]["shared"], reached["wikipedia"]["changed"]) == (True, "")
    assert (reached["homepage"]["shared"], reached["homepage"]["changed"]) == (
        False, "POST http://homepage.test/scratchpad/new",
    )  # fmt: skip
    recorded = reach_run.record("wide")["environment"]["reach"]
    assert {site["site"] for site in recorded["visited"]} == reached.keys()
    assert "shopping" in recorded["sites"]
    assert reach_run.record("wide")["replicas"].keys() == reach_run.record("narrow")["replicas"].keys() == {"map"}


@pytest.mark.exhaustive
def test_first_visit_waits_for_site_start_without_costing_a_step(tmp_path: Path) -> None:
    (tmp_path / "sites.yaml").write_text(SLOW)
    (tmp_path / "pages.py").write_text(PAGES)
    (tmp_path / "demo.tasks.yaml").write_text(SLOW_TASKS)
    (tmp_path / "people.py").write_text(SLOW_AGENT)
    agents = ("--agent=people.py:Patient", "--agent=people.py:Lost")
    who = ("-k", "(slow and Patient) or (gone and Lost)")
    result = run_pytest(tmp_path, *agents, *who, "--run-dir=run", "--sites=sites.yaml", "--concurrency=2")
    reach_run = Trip(result, tmp_path)
    result.assert_outcomes(passed=1, errors=1)
    slow = reach_run.record("slow")
    assert (slow["answer"], slow["steps"], slow["outcome"]) == ("late.test/there", 2, "passed")
    assert slow["environment"]["reach"]["visited"][0]["waited"] > 5
    unavailable = reach_run.record("gone")
    assert (unavailable["outcome"], unavailable["cause"]) == ("error", "site")
    assert "gone" in unavailable["message"]
    assert "which is reachable" in unavailable["attempts"][0]["message"]
