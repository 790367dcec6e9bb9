"""The whole path without canned parts: task files, broker, gateway, sites, browser, verdicts, records.

All tests read one run, because starting pytest, a broker and browsers takes most of the time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.inner import SUM_TASK, run_pytest

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

TASKS = (
    SUM_TASK
    + """\
  - id: note
    intent: Add a note titled "Rye".
    mutates: true
    checks:
      - state: {sql: "select count(*) from notes where title = 'Rye'", equals: 1}
      - page: {open: /scratchpad/, includes: Rye}
      - network: {method: POST, url: /scratchpad/new}
    solution:
      - goto: homepage:/scratchpad/new
      - fill: {css=#title: Rye}
      - fill: {css=#body: and butter}
      - click: role=button[name="Save note"]
  - id: prepared
    intent: Open the note about tea.
    setup:
      - browser:
          steps:
            - goto: /scratchpad/new
            - fill: {css=#title: Tea}
            - fill: {css=#body: green}
            - click: role=button[name="Save note"]
    checks: [{page: {includes: green}}]
    solution:
      - click: role=navigation[name="Main"] >> role=link[name="Scratchpad"]
      - click: text=Tea
  - id: brief
    intent: Answer at once.
    limits: {seconds: 2}
    checks: [{answer: yes}]
"""
)
AGENTS = """
import os, signal, time
from pytest_webarena.actions import Click, Goto, Selector, Stop, Type

class Escaping:
    "Tries every way out."
    def __init__(self, task):
        self.ways = ["http://127.0.0.1:8099/", "https://example.com/", "http://example.com/", "file:///etc/passwd", "http://shopping.test/"]
        self.seen = []
    def act(self, observation):
        self.seen.append(f"{observation.url} {observation.error} {observation.text[:200]}")
        return Goto(self.ways.pop(0)) if self.ways else Stop(" | ".join(self.seen))

class Vandal:
    "Fills the scratchpad, then crashes."
    def __init__(self, task):
        typing = [Type(Selector("css=#title"), "Rye"), Type(Selector("css=#body"), "x")]
        self.steps = [Goto("/scratchpad/new"), *typing, Click(Selector('role=button[name="Save note"]'))]
    def act(self, observation):
        return self.steps.pop(0) if self.steps else 1 / 0

def hang(observation):
    time.sleep(600)
"""
PYTHON_TESTS = """
import pytest

@pytest.mark.webarena(sites=["homepage"], user="tobin.ashgrove")
def test_page(webarena, page):
    page.goto(webarena.url("homepage", "/account"))
    assert "tobin.ashgrove" in page.inner_text("body")
    before = webarena.query("homepage", "select count(*) from notes").rows[0][0]
    page.goto(webarena.url("homepage", "/scratchpad/new"))
    page.fill("#title", "from Python")
    page.fill("#body", "x")
    page.get_by_role("button", name="Save note").click()
    assert webarena.query("homepage", "select count(*) from notes").rows[0][0] == before + 1
    assert any(request.method == "POST" for request in webarena.requests())

@pytest.mark.webarena(sites="homepage")
def test_the_next_test_has_a_fresh_copy(webarena, page):
    assert webarena.query("homepage", "select count(*) from notes where title = 'from Python'").rows == ((0,),)

@pytest.mark.webarena(sites=["homepage"])
def test_the_mark_alone_routes_the_page(page):
    assert page.goto("http://homepage.test/").ok

def test_an_ordinary_page_is_left_alone(page):
    page.set_content("<h1>plain</h1>")
    assert page.inner_text("h1") == "plain"

def test_sites_must_be_named(webarena):
    pass
"""
WHO_DOES_WHAT = (
    "(Vandal and note) or (Escaping and sum) or (hang and brief) or test_pages"
    " or (null and (sum or note)) or (oracle and not brief)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """The run of everything."""

    directory: Path
    result: pytest.RunResult
    records: dict[tuple[str, str], dict[str, Any]]
    """By task and agent."""
    browser_marker: Path | None
    """Is there once the browser that was named has been started. None: Playwright's own was used."""

    def attempt(self, task: str, agent: str) -> Path:
        (folder,) = (self.directory / "run" / "trials").glob(f"{task}.{agent}.*")
        return folder / "attempt-1"


@pytest.fixture(scope="module")
def full_run(tmp_path_factory: pytest.TempPathFactory, browser_executable: str | None) -> Whole:
    """Tasks for capable, incapable and malicious agents, together with Python tests."""
    directory = tmp_path_factory.mktemp("whole")
    (directory / "demo.tasks.yaml").write_text(TASKS)
    (directory / "people.py").write_text(AGENTS)
    (directory / "test_pages.py").write_text(PYTHON_TESTS)
    agents = ["people.py:Vandal", "oracle", "people.py:Escaping", "people.py:hang", "null"]
    arguments = [*(f"--agent={agent}" for agent in agents), "-k", WHO_DOES_WHAT, "--run-dir=run", "-v"]
    marker = None
    if browser_executable:
        marker = directory / "used"
        wrapper = directory / "my-browser"
        wrapper.write_text(f'#!/bin/sh\ntouch "{marker}"\nexec "{browser_executable}" "$@"\n')
        wrapper.chmod(0o755)
        arguments.append(f"--browser-executable={wrapper}")
    result = run_pytest(directory, *arguments)
    found = [json.loads(file.read_text()) for file in (directory / "run" / "trials").glob("*/trial.json")]
    records = {(record["key"]["task"], record["key"]["agent"]): record for record in found}
    return Whole(directory=directory, result=result, records=records, browser_marker=marker)


def test_every_trial_has_a_record(full_run: Whole) -> None:
    full_run.result.assert_outcomes(passed=3 + 4, failed=2 + 3, errors=1)
    idle = {("sum", "null"), ("note", "null")}
    others = {("note", "people.py-Vandal"), ("sum", "people.py-Escaping"), ("brief", "people.py-hang")}
    assert set(full_run.records) == idle | others | {(task, "oracle") for task in ("sum", "note", "prepared")}


def test_oracle_passes_and_all_evidence_is_stored(full_run: Whole) -> None:
    full_run.result.stdout.fnmatch_lines(["oracle: 3/3 passed = 100.0%*"])
    assert {record["outcome"] for (_, agent), record in full_run.records.items() if agent == "oracle"} == {"passed"}
    folder = full_run.attempt("note", "oracle")
    steps = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    assert [step["action"]["kind"] for step in steps] == ["goto", "type", "type", "click", "stop"]
    assert steps[3]["target"]["role"] == "button"
    assert steps[3]["url_before"].endswith("/scratchpad/new") != steps[3]["url_after"].endswith("/scratchpad/new")
    assert all((folder / step["observation"]).read_text() for step in steps)
    assert all((folder / step["screenshot"]).stat().st_size > 1000 for step in steps)
    requests = [json.loads(line) for line in (folder / "network.jsonl").read_text().splitlines()]
    assert any(request["method"] == "POST" and "title=Rye" in request["request_body"] for request in requests)
    evidence = json.loads((folder / "evidence.json").read_text())
    assert [probe["check"] for probe in evidence["probes"]] == ["checks[0]", "checks[1]"]
    assert "Rye" in (folder / evidence["tabs"][0]["html"]).read_text()
    environment = full_run.records["note", "oracle"]["environment"]
    assert environment["viewport"] == [1280, 720]
    assert environment["observation"]["kinds"] == ["accessibility_tree"]
    assert environment["os"]
    assert environment["browser"]
    run_facts = json.loads((full_run.directory / "run" / "run.json").read_text())
    assert run_facts["agents"][:2] == ["people.py:Vandal", "oracle"]
    assert run_facts["versions"]["pytest"]


def test_agent_that_does_nothing_fails(full_run: Whole) -> None:
    idle = {key: record for key, record in full_run.records.items() if key[1] == "null"}
    assert len(idle) == 2
    assert {record["outcome"] for record in idle.values()} == {"failed"}
    assert not any("Traceback" in record["message"] for record in idle.values())
    full_run.result.stdout.no_fnmatch_line("*Traceback*")


def test_agent_cannot_leave_the_tasks_sites(full_run: Whole) -> None:
    record = full_run.records["sum", "people.py-Escaping"]
    assert (record["outcome"], record["stop_reason"]) == ("failed", "answered")
    answer = record["answer"]
    assert "root:" not in answer  # /etc/passwd
    assert "only http and https" in answer
    assert answer.count("homepage") >= 1
    log = full_run.attempt("sum", "people.py-Escaping") / "network.jsonl"
    requests = [json.loads(line) for line in log.read_text().splitlines()]
    foreign = [request for request in requests if "homepage.test" not in request["url"]]
    assert {request["status"] for request in foreign} == {403}
    assert len(foreign) >= 4


def test_crashing_agent_fails_and_does_not_affect_next_trial(full_run: Whole) -> None:
    full_run.result.stdout.fnmatch_lines(["*the agent crashed: ZeroDivisionError*"])
    vandal, oracle = full_run.records["note", "people.py-Vandal"], full_run.records["note", "oracle"]
    assert (vandal["outcome"], vandal["stop_reason"], vandal["score"]) == ("failed", "agent_crash", 1.0)
    assert vandal["started"] < oracle["started"]
    assert oracle["outcome"] == "passed"  # one note titled Rye, not two


def test_hanging_agent_fails_at_the_time_limit(full_run: Whole) -> None:
    record = full_run.records["brief", "people.py-hang"]
    assert (record["outcome"], record["stop_reason"]) == ("failed", "time")


@pytest.mark.parametrize(
    "name",
    [
        "test_page[[]*",
        "test_the_next_test_has_a_fresh_copy",
        "test_the_mark_alone_routes_the_page",
        "test_an_ordinary_page_is_left_alone",
    ],
)
def test_python_tests_get_a_signed_in_page_of_the_sites(full_run: Whole, name: str) -> None:
    full_run.result.stdout.fnmatch_lines([f"test_pages.py::{name}* PASSED*"])


def test_python_test_without_sites_is_an_error_with_advice(full_run: Whole) -> None:
    full_run.result.stdout.fnmatch_lines(
        [
            "test_pages.py::test_sites_must_be_named* ERROR*",
            "*expected the sites to lease, found none; name the sites: @pytest.mark.webarena*",
        ]
    )


def test_browser_executable_option_is_used(full_run: Whole) -> None:
    if full_run.browser_marker is None:
        pytest.skip("Playwright's own browser is in use; there is no path to wrap")
    assert full_run.browser_marker.exists()
    assert "my-browser" in full_run.records["sum", "oracle"]["browser"]
