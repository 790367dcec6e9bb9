"""Fixtures overridden in a conftest.py, without canned parts: sites, sign-in, agent, replicas, sessions of tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.inner import SUM_TASK, run_pytest

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable"), pytest.mark.timeout(300)]

CONFTEST = """
from dataclasses import replace
import pytest
from pytest_webarena.agents import resolve_agent

@pytest.fixture(scope="session")
def webarena_catalogue(pytestconfig):
    return pytestconfig.rootpath / "mine.yaml"

@pytest.fixture(scope="session")
def webarena_broker_args():
    return {"max_replicas": 1, "spares": 0}

@pytest.fixture(scope="session")
def webarena_sign_in():
    def with_cookie(lease, users, state):
        state = dict(state or {"origins": []})
        cookie = {"name": "lang", "value": "eo", "domain": "homepage.test", "path": "/"}
        return state | {"cookies": [*state.get("cookies", ()), cookie]}
    return with_cookie

@pytest.fixture(scope="session")
def webarena_agent(webarena_agent):
    def choose(name, task):
        agent = webarena_agent(name, task)
        if task.id != "shout":
            return agent
        return replace(resolve_agent("echo"), id=agent.id)
    return choose

@pytest.fixture(scope="session")
def webarena_record():
    return lambda record: record.key.task == "sum"
"""
TASKS = (
    SUM_TASK
    + """\
  - id: shout
    intent: Say this.
    checks: [{answer: {exact: Say this.}}]
"""
)
PYTHON_TESTS = """
import pytest
from pytest_webarena.actions import Goto

@pytest.mark.webarena(sites=["homepage"], user="tobin.ashgrove")
def test_session(webarena, webarena_lease, webarena_session):
    assert webarena_lease is webarena.lease
    assert webarena_lease.sites["homepage"].url == webarena.sites["homepage"]
    assert webarena_session.observe().url.startswith("http://homepage.test")
    outcome = webarena_session.execute(Goto("/account"))
    assert not outcome.error
    assert "tobin.ashgrove" in webarena_session.observe().text
    cookies = {cookie["name"]: cookie["value"] for cookie in webarena_session.storage_state()["cookies"]}
    assert cookies["lang"] == "eo"
    assert any(cookie["name"] == "lang" for cookie in webarena.storage_state["cookies"])

@pytest.mark.webarena(sites=["homepage"])
def test_lease_without_a_browser(webarena_lease):
    assert webarena_lease.query("homepage", "select count(*) from notes").rows
"""


@pytest.mark.usefixtures("shared_engine")
def test_conftest_overrides_sites_sign_in_agent_and_records(
    pytester: pytest.Pytester, browser_executable: str | None
) -> None:
    tmp_path = pytester.path
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "mine.yaml").write_text("extends: embedded\napps: {}\n")
    (tmp_path / "demo.tasks.yaml").write_text(TASKS)
    (tmp_path / "test_sessions.py").write_text(PYTHON_TESTS)
    arguments = [f"--browser-executable={browser_executable}"] if browser_executable else []
    result = pytester.runpytest_inprocess("--run-dir=run", "-v", *arguments)
    result.assert_outcomes(passed=4)
    records = {
        record["key"]["task"]: (file.parent, record)
        for file in (tmp_path / "run" / "trials").glob("*/trial.json")
        for record in [json.loads(file.read_text())]
    }
    assert {task: record["key"]["agent"] for task, (_, record) in records.items()} == dict.fromkeys(
        ("sum", "shout"), "oracle"
    )
    assert list(records["sum"][0].rglob("*.webp")) + list(records["sum"][0].rglob("*.jpg"))
    assert not list(records["shout"][0].rglob("*.webp")) + list(records["shout"][0].rglob("*.jpg"))
    assert "mine.yaml" in (tmp_path / "run" / "broker.log").read_text()


CONTEXTS = """
import pytest

pytestmark = pytest.mark.webarena(sites=["homepage"])

def test_past_the_lease(webarena, browser):
    browser.new_context().new_page().goto(webarena.url("homepage"))

def test_requests_past_the_lease(webarena, playwright):
    playwright.request.new_context().get(webarena.url("homepage"))

def test_the_fixture(webarena, new_context):
    assert new_context().new_page().goto(webarena.url("homepage")).ok

def test_its_options(webarena, browser):
    assert browser.new_context(**webarena.context_options()).new_page().goto(webarena.url("homepage")).ok

def test_a_failure_of_another_kind(webarena):
    assert not webarena.url("homepage")
"""


@pytest.mark.exhaustive
def test_error_in_foreign_context_names_context_options(tmp_path: Path, browser_executable: str | None) -> None:
    (tmp_path / "test_contexts.py").write_text(CONTEXTS)
    arguments = [f"--browser-executable={browser_executable}"] if browser_executable else []
    result = run_pytest(tmp_path, "-p", "no:cacheprovider", *arguments)
    result.assert_outcomes(passed=2, failed=3)
    hints = [line for line in result.stdout.lines if "contexts of this lease only" in line]
    assert len(hints) == 2
    assert all(hint.startswith("homepage.test is known in") for hint in hints)
    assert "new_context(**webarena.context_options())" in hints[0]
