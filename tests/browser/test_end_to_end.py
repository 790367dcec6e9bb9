"""The whole path with nothing canned: task files, broker, gateway, sites, browser, verdicts, records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

TASKS = """
defaults: {sites: [homepage]}
tasks:
  - id: sum
    intent: What is 12 times 34?
    checks: [{answer: {number: 408}}]
    solution:
      - click: role=navigation[name="Main"] >> role=link[name="Calculator"]
      - fill: {css=#expression: 12*34}
      - press: Enter
      - stop: "408"
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
"""
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


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "demo.tasks.yaml").write_text(TASKS)
    (pytester.path / "people.py").write_text(AGENTS)
    return pytester


def run(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    return project.runpytest_subprocess("--run-dir=run", *args, timeout=110)


def records(project: pytest.Pytester) -> dict[tuple[str, str], dict[str, Any]]:
    found = [json.loads(file.read_text()) for file in (project.path / "run" / "trials").glob("*/trial.json")]
    return {(record["key"]["task"], record["key"]["agent"]): record for record in found}


def attempt(project: pytest.Pytester, task: str) -> Path:
    (folder,) = (project.path / "run" / "trials").glob(f"{task}.*")
    return folder / "attempt-1"


def test_the_oracle_passes_and_every_kind_of_evidence_is_kept(project: pytest.Pytester) -> None:
    result = run(project, "--agent=oracle", "--alluredir=allure")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["oracle: 3/3 passed = 100.0%*"])
    folder = attempt(project, "note")
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
    environment = records(project)["note", "oracle"]["environment"]
    assert environment["viewport"] == [1280, 720]
    assert environment["observation"]["kinds"] == ["accessibility_tree"]
    assert environment["os"]
    assert environment["browser"]
    run_facts = json.loads((project.path / "run" / "run.json").read_text())
    assert run_facts["agents"] == ["oracle"]
    assert run_facts["versions"]["pytest"]


def test_agents_that_do_nothing_fail(project: pytest.Pytester) -> None:
    result = run(project, "--agent=null", "--agent=na", "--agent=echo", "--agent=dump", "-n2")
    result.assert_outcomes(failed=12)
    result.stdout.no_fnmatch_line("*Traceback*")


def test_there_is_no_way_out_of_the_browser(project: pytest.Pytester) -> None:
    run(project, "--agent=people.py:Escaping", "-k", "sum").assert_outcomes(failed=1)
    ((_, record),) = records(project).items()
    assert record["stop_reason"] == "answered"
    answer = record["answer"]
    assert "root:" not in answer  # /etc/passwd
    assert "only http and https" in answer
    assert answer.count("homepage") >= 1
    requests = [json.loads(line) for line in (attempt(project, "sum") / "network.jsonl").read_text().splitlines()]
    foreign = [request for request in requests if "homepage.test" not in request["url"]]
    assert {request["status"] for request in foreign} == {403}
    assert len(foreign) >= 4


def test_a_crashing_agent_has_failed_and_leaves_no_trace_for_the_next(project: pytest.Pytester) -> None:
    result = run(project, "--agent=people.py:Vandal", "--agent=oracle", "-k", "note")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*the agent crashed: ZeroDivisionError*"])
    vandal = records(project)["note", "people.py-Vandal"]
    assert (vandal["outcome"], vandal["stop_reason"], vandal["score"]) == ("failed", "agent_crash", 1.0)
    assert records(project)["note", "oracle"]["outcome"] == "passed"  # one note titled Rye, not two


def test_a_hanging_agent_is_cut_off(project: pytest.Pytester) -> None:
    result = run(project, "--agent=people.py:hang", "--time-limit=2", "-k", "sum")
    result.assert_outcomes(failed=1)
    assert records(project)["sum", "people.py-hang"]["stop_reason"] == "time"


def test_python_tests_get_a_routed_and_signed_in_page(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
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
    )
    result = pytester.runpytest_subprocess("-q", timeout=110)
    result.assert_outcomes(passed=4, errors=1)
    result.stdout.fnmatch_lines(["*expected the sites to lease, found none; name the sites: @pytest.mark.webarena*"])


def test_the_browser_that_is_named_is_used(project: pytest.Pytester, tmp_path: Path) -> None:
    from pytest_webarena.browser.launch import find_browser

    real = find_browser().executable
    if real is None:
        pytest.skip("Playwright's own browser is in use; there is no path to wrap")
    wrapper = tmp_path / "my-browser"
    wrapper.write_text(f'#!/bin/sh\ntouch "{tmp_path}/used"\nexec "{real}" "$@"\n')
    wrapper.chmod(0o755)
    run(project, f"--browser-executable={wrapper}", "-k", "sum").assert_outcomes(passed=1)
    assert (tmp_path / "used").exists()
    assert "my-browser" in records(project)["sum", "oracle"]["browser"]
