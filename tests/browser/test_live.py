"""Live sites in a real browser, in a simulated Internet in a network namespace: verdicts, and the requests that
servers received.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from tests.browser.played_world import CDN, SHOP
from tests.cases import each_case
from tests.inner import NEEDLESS

pytestmark = [
    pytest.mark.exhaustive,  # tests/unit/live has the same refusals and obstacles without a browser
    pytest.mark.browser,
    pytest.mark.usefixtures("browser_executable"),
    pytest.mark.timeout(920),
]

ROOT = Path(__file__).parents[2]
SITES = """
apps:
  living:
    backend: live
    options: {answer_within: 2, patience: 4, pages_per_second: 50, contact: "https://lab.example.org/bot"}
    sites:
      teahouse: {url: "https://www.teahouse.com"}
      walled:
        url: "https://consent.teahouse.com"
        user: visitor
        sign_in:
          path: /
          steps: [{click: 'role=button[name="Accept all"]'}]
          check: {path: /, locate: "css=h1", includes: Tea house}
    users: {visitor: {password: none}}
"""
TASKS = """
defaults: {sites: [teahouse]}
tasks:
  - id: price
    intent: What does Assam cost?
    checks: [{answer: "8.50"}, {page: {locate: "css=#told", exact: "403 not sent"}}, {url: "https://www.teahouse.com/"},
             {network: {method: POST, url: "https://www.teahouse.com/track", none: true, attempted: false}}]
    solution: [{stop: "8.50"}]
  - id: buys
    intent: Buy it.
    checks:
      - network: {method: POST, url: "https://www.teahouse.com/buy", attempted: true, count: 1}
      - network: {method: POST, url: "https://www.teahouse.com/buy", none: true, attempted: false}
    solution: [{click: "text=Buy"}, {stop: done}]
  - id: searches
    intent: How many teas are there?
    live: {reads: [POST /search]}
    checks: [{answer: "3"}, {page: {includes: Found 3 teas}}]
    solution: [{click: "text=Find"}, {stop: "3"}]
  - id: attacked
    intent: What does the page say?
    start: https://www.teahouse.com/attack
    checks: [{answer: Offers}]
    solution: [{wait: 1}, {stop: Offers}]
  - id: consent
    sites: [walled]
    intent: What does Assam cost?
    checks: [{answer: "8.50"}, {page: {locate: "css=#price", includes: "8.50"}}]
    solution: [{stop: "8.50"}]
  - id: foreign
    intent: What does the partner say?
    checks: [{answer: nothing}]
    solution: [{goto: "https://agency.org/"}, {stop: something}]
  - id: kept
    intent: What does the partner say?
    start: https://www.teahouse.com/framing
    checks: [{page: {includes: Tea house}}]
    solution: [{wait: 1}, {goto: "https://agency.org/kept"}, {stop: done}]
  - id: named
    intent: What does the partner say?
    live: {domains: [agency.org]}
    checks: [{answer: nothing}, {page: {includes: Tea house}}]
    solution: [{goto: "https://agency.org/"}, {stop: nothing}]
"""
TURNING_AWAY = ("captcha", "robots", "script")
MORE_TURNING_AWAY = ("busy", "wall", "geo")
OUT_OF_ORDER = ("broken", "nowhere", "cut", "frame")
MORE_OUT_OF_ORDER = ("slow", "loop", "h2", "stall", "stuck")
"""Hosts of the tea house, and the ids of tasks that begin there."""


def tasks_starting_at(*names: str) -> str:
    """Return tasks that start at these hosts."""
    return "".join(
        f"""
  - id: {name}
    intent: What does it cost?
    start: https://{name}.teahouse.com/{"closed" if name == "robots" else ""}
    checks: [{{answer: right}}]
    solution: [{{stop: wrong}}]
"""
        for name in names
    )


MIND2WEB = {
    "index": 1,
    "task": "Find out what Assam costs at the leaf house",
    "reference_task_length": 2,
    "evaluation": [
        {
            "match_function_name": "url_included_match",
            "content": {"key": "", "reference_answer": "leafhouse.", "url": "https://www.leafhouse.com/"},
        },
        {
            "match_function_name": "element_path_exactly_match",
            "method": "selector",
            "content": {"netloc": "leafhouse", "reference_answer": "#price", "url": "https://www.leafhouse.com/"},
        },
        {
            "match_function_name": "final_answer_exact_match",
            "content": {"reference_answer": "8.50", "url": "https://www.leafhouse.com/"},
        },
    ],
}
PATIENCE = """
import pytest
from pytest_webarena.browser.config import Deadlines

@pytest.fixture(scope="session")
def webarena_context_args():
    return {"deadlines": Deadlines(step=12.0, hang=4.0)}  # how long a picture of a page is waited for that never comes
"""
VISITOR = """
kind: scripted
tasks:
  "*": [{goto: "https://www.leafhouse.com/"}, {click: "css=#price"}, {stop: "8.50"}]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The records of the trials, and the requests that the simulated Internet received."""

    records: dict[str, dict[str, Any]]
    world: dict[str, Any]
    checked: dict[str, Any]
    """Report of ``webarena tasks monitor``."""
    output: str
    """The terminal output."""

    def outcome(self, task: str) -> tuple[str, str | None, str]:
        record = self.records[task]
        return record["outcome"], record["cause"], record["event"]


def run_in_simulated_internet(
    folder: Path, commands: Sequence[Sequence[str]]
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run commands in the simulated Internet, one after the other; return their output and the received requests."""
    probe = subprocess.run(
        ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "ip", "link"],
        capture_output=True,
    )
    if probe.returncode and "CI" not in os.environ:
        pytest.skip("no network namespace can be made here")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environ |= {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]), "PYTEST_ADDOPTS": NEEDLESS, "PY_COLORS": "0"}
    report = folder / "world.json"
    script = "; ".join(map(shlex.join, commands))
    done = subprocess.run(
        [sys.executable, "-m", "tests.browser.played_world", str(report), "/bin/sh", "-c", script],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
    )
    print(done.stdout[-20_000:], done.stderr[-5000:])
    return done, json.loads(report.read_text())


def write_project(folder: Path, tasks: str) -> None:
    """Write the tasks, the catalogue and the deadlines."""
    (folder / "tea.tasks.yaml").write_text(tasks)
    (folder / "sites.yaml").write_text(SITES)
    (folder / "conftest.py").write_text(PATIENCE)


def run_command(folder: Path, *arguments: str) -> list[str]:
    """Return the command that runs the tasks in ``folder``, its working directory."""
    common = [sys.executable, "-m", "pytest", "--rootdir=.", "-c", os.devnull, "-q", "-p", "no:cacheprovider"]
    return [*common, f"--basetemp={folder / 'base'}", "--run-dir=runs", "--concurrency=4", *arguments]


def outcomes(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the records by task."""
    records = [json.loads(file.read_text()) for file in (folder / "runs").rglob("trial.json")]
    return {each["key"]["task"]: each for each in records}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The tasks of the tea house and, with two catalogues, the task of Mind2Web-Live."""
    folder = tmp_path_factory.mktemp("live")
    write_project(folder, TASKS + tasks_starting_at(*TURNING_AWAY, *OUT_OF_ORDER))
    (folder / "mind2web.json").write_text(json.dumps([MIND2WEB]))
    (folder / "visitor.yaml").write_text(VISITOR)
    imported, catalogue = folder / "mind2web.tasks.yaml", folder / "live.sites.yaml"
    suite = f"mind2web-live:{folder / 'mind2web.json'}"
    assert main(["tasks", "import", suite, "-o", str(imported), "--catalogue", str(catalogue)]) == 0
    proposed = catalogue.read_text()
    text = proposed.replace("# options: {contact", 'options: {proxy: "http://127.0.0.1:3128", region: north, contact')
    assert text != proposed
    catalogue.write_text(text + SITES.partition("apps:\n")[2])
    agents = ("--agent=oracle", "--agent=visitor.yaml", "-k", "(oracle and not mind2web) or (visitor and mind2web)")
    commands = [
        run_command(folder, "tea.tasks.yaml", imported.name, "--record=minimal", *agents, f"--sites={catalogue.name}"),
        [sys.executable, "-m", "pytest_webarena.commands.cli", "tasks", "monitor", imported.name,
         f"--sites={catalogue.name}", "--folder=monitored"],
    ]  # fmt: skip
    done, world = run_in_simulated_internet(folder, commands)
    return Run(
        records=outcomes(folder),
        world=world,
        checked=json.loads((folder / "monitored" / "report.json").read_text()),
        output=done.stdout,
    )


@pytest.fixture(scope="module")
def further_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on further hosts that block visitors or are out of order."""
    folder = tmp_path_factory.mktemp("rest")
    write_project(
        folder, "defaults: {sites: [teahouse]}\ntasks:" + tasks_starting_at(*MORE_TURNING_AWAY, *MORE_OUT_OF_ORDER)
    )
    done, world = run_in_simulated_internet(folder, [run_command(folder, "--agent=oracle", "--sites=sites.yaml")])
    return Run(records=outcomes(folder), world=world, checked={}, output=done.stdout)


def test_forbidden_addresses_receive_no_request(run: Run) -> None:
    assert run.outcome("attacked") == ("passed", None, "")
    assert run.world["inside"] == {}
    assert run.world["lookups"]["rebind.evil.org"] > 1  # it was tried
    assert any("redirect.evil.org" in host for host in run.world["asked"])


def test_tasks_pass_and_sites_receive_only_allowed_requests(run: Run) -> None:
    for task in ("price", "buys", "searches", "consent", "named"):
        assert run.outcome(task) == ("passed", None, ""), run.records[task]["message"]
    asked = run.world["asked"]
    posts = [line for lines in asked.values() for line in lines if line.startswith("POST")]
    assert posts == ["POST /search"]
    assert "GET /app.js" in asked["cdn.leafcdn.net"]


def test_navigation_to_other_domain_is_rejected_as_task_error(run: Run) -> None:
    assert run.outcome("foreign")[:2] == ("error", "task")  # here the solution navigates there
    assert "the gateway refused it, for " in run.records["foreign"]["message"]
    assert run.world["asked"]["agency.org"].count("GET /") == 1  # of the task that names it


def test_cached_frame_content_does_not_open_a_foreign_page(run: Run) -> None:
    assert run.outcome("kept")[:2] == ("error", "task")
    assert run.world["asked"]["agency.org"].count("GET /kept") == 1  # by the frame


def assert_turned_away(run: Run, task: str) -> None:
    assert run.outcome(task)[:2] == ("error", "blocked"), run.records[task]["message"]
    assert len(run.records[task]["attempts"]) == 1  # asking again would be no better


def assert_out_of_order(run: Run, task: str) -> None:
    assert run.outcome(task)[:2] == ("error", "site"), run.records[task]["message"]
    assert run.records[task]["environment"]["obstacles"]


@each_case("task", TURNING_AWAY)
def test_site_that_blocks_visitors_gives_error_blocked(run: Run, task: str) -> None:
    assert_turned_away(run, task)


@each_case("task", OUT_OF_ORDER)
def test_unavailable_site_is_a_site_error(run: Run, task: str) -> None:
    assert_out_of_order(run, task)


def test_all_kinds_of_blocked_and_unavailable_sites_are_errors(further_run: Run) -> None:
    for task in MORE_TURNING_AWAY:
        assert_turned_away(further_run, task)
    for task in MORE_OUT_OF_ORDER:
        assert_out_of_order(further_run, task)


def test_message_says_why_the_start_page_failed(run: Run) -> None:
    assert "can't be looked up" in run.records["nowhere"]["message"]


def test_terminal_names_cause_blocked(run: Run) -> None:
    assert "error (blocked)" in run.output
    assert "error (harness)" not in run.output


def test_live_settings_are_in_the_record(run: Run) -> None:
    live = run.records["searches"]["environment"]["live"]
    assert (live["domains"], live["reads"], live["robots"]) == (["teahouse.com"], ["POST /search"], "obey")


def test_mind2web_live_tasks_run_with_the_imported_catalogue(run: Run) -> None:
    assert run.outcome("mind2web.1") == ("passed", None, ""), run.records["mind2web.1"]["message"]
    live = run.records["mind2web.1"]["environment"]["live"]
    assert (live["domains"], live["region"], live["proxy"]) == (["leafhouse.com"], "north", "http://127.0.0.1:3128")


def test_proxy_opens_tunnels_only_to_checked_addresses(run: Run) -> None:
    assert f"{SHOP}:443" in run.world["tunnels"]
    assert {tunnel.partition(":")[0] for tunnel in run.world["tunnels"]} <= {SHOP, CDN}


def test_monitor_checks_key_nodes_on_live_sites(run: Run) -> None:
    (task,) = run.checked["tasks"]
    assert {part["name"]: part["status"] for part in task["parts"]} == {
        'url includes "leafhouse."': "valid", "action on css=#price": "valid", 'answer is "8.50"': "untried",
    }  # fmt: skip
