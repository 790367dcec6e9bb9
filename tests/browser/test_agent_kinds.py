"""Agents of every kind solve a real task on a real site; misbehaving agents are stopped and recorded."""

from __future__ import annotations

import json
import os
import pty
import select
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.inner import run_pytest

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine")]

TASKS = """
defaults:
  sites: [homepage]
  mutates: true
  checks:
    - state: {sql: "select count(*) from notes where title = 'Rye'", equals: 1}
    - answer: {name: Rye, aliases: Rye · Tarnmark Start}
tasks:
  - id: note
    intent: &intent Add a note titled "Rye" and say what its page is called.
  - id: brief
    intent: *intent
    limits: {steps: 4, seconds: 30}
  - id: short
    intent: *intent
    limits: {seconds: 2}
"""
STEPS = """
STEPS = [
    {"kind": "goto", "url": "/scratchpad/new"},
    {"kind": "type", "target": {"selector": "css=#title"}, "text": "Rye"},
    {"kind": "type", "target": {"selector": "css=#body"}, "text": "and butter"},
    {"kind": "click", "target": {"selector": "role=button[name='Save note']"}},
]
"""
PROCESS = (
    STEPS
    + """
import json, sys
steps = list(STEPS)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "observation":
        if steps:
            print(json.dumps({"type": "action", "action": steps.pop(0), "thought": "next"}), flush=True)
        else:
            print(json.dumps({"type": "answer", "answer": message["title"], "usage": {"calls": 2}}), flush=True)
    elif message["type"] == "end":
        print("goodbye", file=sys.stderr)
"""
)
SERVER = (
    STEPS
    + """
import json
from http.server import BaseHTTPRequestHandler

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = {}
        if message["type"] == "observation":
            step = message["step"]
            reply = ({"type": "action", "action": STEPS[step]} if step < len(STEPS)
                     else {"type": "answer", "answer": message["title"]})
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass
"""
)
DRIVER = """
from playwright.async_api import async_playwright

async def solve(task, cdp_url):
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(cdp_url)
        page = browser.contexts[0].pages[0]
        await page.goto(task.sites["homepage"] + "/scratchpad/new")
        await page.fill("#title", "Rye")
        await page.fill("#body", "and butter")
        await page.click("role=button[name='Save note']")
        await page.wait_for_url("**/scratchpad/**")
        return await page.title()
"""
DRIVING_PROCESS = """
import json, sys
from playwright.sync_api import sync_playwright

task = json.loads(sys.stdin.readline())
with sync_playwright() as playwright:
    page = playwright.chromium.connect_over_cdp(task["cdp_url"]).contexts[0].pages[0]
    page.goto(task["sites"]["homepage"] + "/scratchpad/new")
    page.locator("#title").press_sequentially("Rye")
    page.fill("#body", "and butter")
    page.click("role=button[name='Save note']")
    page.wait_for_url("**/scratchpad/**")
    print(json.dumps({"type": "answer", "answer": page.title()}), flush=True)
    sys.stdin.readline()
"""
BY_SCRIPT = """
from playwright.async_api import async_playwright

async def solve(task, cdp_url):
    "All in one script: no command tells of it, and the page is gone at once."
    async with async_playwright() as playwright:
        page = (await playwright.chromium.connect_over_cdp(cdp_url)).contexts[0].pages[0]
        await page.goto(task.sites["homepage"] + "/scratchpad/new")
        await page.evaluate("document.querySelector('#title').value = 'Rye';"
                            "document.querySelector('#body').value = 'and butter';"
                            "document.querySelector('#title').form.submit()")
        await page.wait_for_url(lambda url: not url.endswith("/new"))
        return await page.title()
"""
SCRIPT = """
kind: scripted
tasks:
  note:
    - goto: homepage:/scratchpad/new
    - fill: {css=#title: Rye}
    - {kind: type, target: {selector: css=#body}, text: and butter}
    - click: role=button[name="Save note"]
    - stop: Rye
"""
BAD = """
import asyncio
from playwright.async_api import async_playwright

async def _page(playwright, url):
    return (await playwright.chromium.connect_over_cdp(url)).contexts[0].pages[0]

async def crash(task, cdp_url):
    raise RuntimeError("no idea")

async def endless(task, cdp_url):
    "Ignores whatever it is told."
    async with async_playwright() as playwright:
        page = await _page(playwright, cdp_url)
        while True:
            try:
                await page.goto(task.sites["homepage"] + "/manuals/")
            except Exception:
                await asyncio.sleep(0.01)

def number(task, cdp_url):
    return 7
"""


SOLVING = ("spoken", "posted", "script", "driving")
DRIVING = ("driver", "driving", "by_script")
FAILING = ("crash", "endless", "number", "dead", "gone", "mute")
WHO_DOES_WHAT = (
    f"(note and ({' or '.join(SOLVING)})) or (brief and ({' or '.join(FAILING[:-1])})) or (short and {FAILING[-1]})"
)


def write_project(directory: Path) -> None:
    """Write the tasks and the agents."""
    (directory / "demo.tasks.yaml").write_text(TASKS)
    agents = directory / "agents"
    agents.mkdir()
    python = json.dumps(sys.executable)
    for name, text in {
        "spoken.py": PROCESS,
        "spoken.yaml": f"kind: process\ncommand: [{python}, ./spoken.py]\n",
        "driver.py": DRIVER,
        "driver.yaml": "kind: cdp\npython: driver.py:solve\n",
        "driving.py": DRIVING_PROCESS,
        "driving.yaml": f"kind: cdp\ncommand: [{python}, ./driving.py]\n",
        "by_script.py": BY_SCRIPT,
        "by_script.yaml": "kind: cdp\npython: by_script.py:solve\n",
        "script.yaml": SCRIPT,
        "again.yaml": "kind: replay\nrun: driven\nagent: driver\n",
        "again-by-script.yaml": "kind: replay\nrun: driven\nagent: by_script\n",
        "bad.py": BAD,
        **{f"{name}.yaml": f"kind: cdp\npython: bad.py:{name}\n" for name in ("crash", "endless", "number")},
        "mute.yaml": f"kind: process\ncommand: [{python}, -c, 'import time; time.sleep(600)']\n",
        "dead.yaml": f"kind: process\ncommand: [{python}, -c, 'raise SystemExit(\"no model\")']\n",
        "gone.yaml": "kind: http\nurl: http://127.0.0.1:1/\nretries: 0\n",
        "person.yaml": "kind: human\n",
    }.items():
        (agents / name).write_text(text)


def records(directory: Path, run: str = "run") -> dict[str, dict[str, Any]]:
    found = [json.loads(file.read_text()) for file in (directory / run / "trials").glob("*/trial.json")]
    return {record["key"]["agent"]: record for record in found}


def attempt(directory: Path, agent: str, run: str = "run") -> Path:
    (folder,) = (directory / run / "trials").glob(f"*.{agent}.*")
    return folder / "attempt-1"


def steps(directory: Path, agent: str, run: str = "run") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (attempt(directory, agent, run) / "steps.jsonl").read_text().splitlines()]


MADE: list[Path] = []


@pytest.fixture
def all_agents(pytester: pytest.Pytester) -> Path:
    """The directory of one run of all agents. The first test makes the run, in this process; all tests read it."""
    if MADE:
        return MADE[0]
    write_project(directory := pytester.path)
    scope: dict[str, Any] = {}
    exec(SERVER, scope)
    server = ThreadingHTTPServer(("127.0.0.1", 0), scope["Handler"])
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/"
        (directory / "agents" / "posted.yaml").write_text(f"kind: http\nurl: {url}\n")
        agents = [f"--agent={name}" for name in (*SOLVING, *FAILING)]
        result = pytester.runpytest_inprocess(*agents, "-k", WHO_DOES_WHAT, "--run-dir=run")
        result.assert_outcomes(passed=len(SOLVING), failed=len(FAILING))
    finally:
        server.shutdown()
        server.server_close()
    MADE.append(directory)
    return directory


def test_external_process_agents_solve_a_task(all_agents: Path) -> None:
    found = records(all_agents)
    names = {"spoken": "process", "posted": "process", "script": "in-process"}
    assert {name: (found[name]["outcome"], found[name]["isolation"]) for name in names} == {
        name: ("passed", isolation) for name, isolation in names.items()
    }
    assert found["spoken"]["usage"]["calls"] == 2
    assert steps(all_agents, "spoken")[0]["thought"] == "next"
    assert (attempt(all_agents, "spoken") / "agent-stderr.txt").read_text() == "goodbye\n"


@pytest.fixture
def replayed_run(all_agents: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same directory, after a run of all self-driving agents, and one that repeats the trials of two.

    The first test makes the runs, in this process; all tests read them.
    """
    if not (all_agents / "again").exists():
        monkeypatch.chdir(all_agents)
        driving = [f"--agent={name}" for name in DRIVING]
        pytester.runpytest_inprocess(*driving, "-k", "note", "--run-dir=driven").assert_outcomes(passed=len(DRIVING))
        agents = ("--agent=again", "--agent=again-by-script")
        pytester.runpytest_inprocess(*agents, "-k", "note", "--run-dir=again").assert_outcomes(passed=2)
    return all_agents


@pytest.mark.exhaustive
def test_self_driving_agents_solve_a_task_and_can_be_replayed(replayed_run: Path) -> None:
    found = records(replayed_run, "driven")
    names = {"driver": "in-process", "driving": "process"}
    assert {name: (found[name]["outcome"], found[name]["isolation"]) for name in names} == {
        name: ("passed", isolation) for name, isolation in names.items()
    }
    for name in names:
        recorded = steps(replayed_run, name, "driven")
        assert [step["action"]["kind"] for step in recorded] == ["goto", "type", "type", "click", "stop"]
        assert [step["action"]["text"] for step in recorded[1:3]] == ["Rye", "and butter"]
        assert [step["at_once"] for step in recorded[1:3]] == [[[0, 3]] if name == "driver" else [], [[0, 10]]]
        assert (recorded[3]["target"]["role"], recorded[3]["target"]["name"]) == ("button", "Save note")
        assert recorded[3]["url_before"] != recorded[3]["url_after"]
        assert all(
            (attempt(replayed_run, name, "driven") / step["screenshot"]).stat().st_size > 1000 for step in recorded
        )

    assert records(replayed_run, "again")["again"]["outcome"] == "passed"  # step by step, without a model
    repeated = steps(replayed_run, "again", "again")
    assert [step["action"]["kind"] for step in repeated] == ["goto", "type", "type", "click", "stop"]
    assert "no divergence" in repeated[-1]["thought"]
    log = (attempt(replayed_run, "again", "again") / "replay.txt").read_text().splitlines()
    assert log[3] == "step 3 of 5 (click button 'Save note'): as recorded"
    assert log[-1] == "the replay's verdict is the recorded one: passed"


@pytest.mark.exhaustive
def test_script_actions_of_agent_can_be_replayed(replayed_run: Path) -> None:
    recorded = steps(replayed_run, "by_script", "driven")
    assert [step["action"]["kind"] for step in recorded] == ["goto", "goto", "stop"]
    acts = [(act["event"], act["target"]["selector"], act["value"]) for act in recorded[1]["by_script"]]
    assert acts[:2] == [("set", "#title", "Rye"), ("set", "#body", "and butter")]
    assert acts[2][0] == "sent"

    log = (attempt(replayed_run, "again-by-script", "again") / "replay.txt").read_text().splitlines()
    by_itself = "as recorded, the page went there without an action"
    assert [line.rpartition(": ")[2] for line in log[:-2]] == [*["as recorded"] * 4, by_itself]
    assert log[-1] == "the replay's verdict is the recorded one: passed"


@pytest.mark.exhaustive
def test_failing_replay_reports_that_recorded_trial_passed(replayed_run: Path) -> None:
    other = replayed_run / "other.tasks.yaml"
    other.write_text(TASKS.replace("equals: 1", "equals: 2"))
    try:
        run_pytest(replayed_run, "other.tasks.yaml", "--agent=again", "-k", "note", "--run-dir=other").assert_outcomes(
            failed=1
        )
    finally:
        other.unlink()
    message = records(replayed_run, "other")["again"]["message"]
    assert message.splitlines()[-1] == (
        "the replay failed, and the recorded trial had passed: "
        "the same was sent, and checks[0] (state) fails now: "
        "expected 2 from homepage: select count(*) from notes where title = 'Rye', found 1"
    )


def test_misbehaving_agents_are_stopped_with_reason(all_agents: Path) -> None:
    found = records(all_agents)
    assert {name: (found[name]["outcome"], found[name]["stop_reason"], found[name]["cause"]) for name in FAILING} == {
        "crash": ("failed", "agent_crash", None),
        "endless": ("failed", "max_steps", None),
        "number": ("failed", "agent_crash", None),
        "mute": ("failed", "time", None),
        "dead": ("failed", "agent_crash", None),
        "gone": ("failed", "unattributed", None),
    }
    assert {name: found[name]["event"] for name in FAILING if found[name].get("event")} == {"gone": "absent"}
    assert len(steps(all_agents, "endless")) == 4
    assert found["endless"]["verdict"] is not None  # still judged
    assert "no idea" in found["crash"]["message"]
    assert "exit code 1; last on stderr:\n    no model" in found["dead"]["message"]
    assert "did not take the task" in found["gone"]["message"]


LEARNER = """
class Learner:
    "Knows the answer once somebody has been there before."
    def __init__(self, task):
        self.before = task.memory
    def act(self, observation):
        return "```stop [%s]```" % ("408" if self.before else "?")
    def remember(self, reason):
        return self.before + "I"
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", ["-n1", "-n2"])
def test_agent_memory_persists_across_processes_and_resumed_runs(pytester: pytest.Pytester, workers: str) -> None:
    (pytester.path / "demo.tasks.yaml").write_text(
        "tasks: [{id: sum, sites: [], intent: What is 12 times 34?, checks: [{answer: {number: 408}}]}]"
    )
    (pytester.path / "agents").mkdir()
    (pytester.path / "agents" / "learner.py").write_text(LEARNER)
    (pytester.path / "agents" / "learner.yaml").write_text("python: learner.py:Learner\nmemory: task\n")

    def finished() -> dict[str, Any]:
        trials = (pytester.path / "run" / "trials").glob("*/trial.json")
        return {file.parent.name: json.loads(file.read_text()) for file in trials}

    def memories() -> list[tuple[int, str, bool]]:
        """For each trial: the number of memories before it, its outcome, and whether its memory names the previous
        trial.
        """
        found = finished()
        before = {"": -1} | {name: record["memory"]["trials"] for name, record in found.items()}
        uses = [(record["memory"], record["outcome"]) for record in found.values()]
        return sorted((use["trials"], outcome, before[use["after"]] == use["trials"] - 1) for use, outcome in uses)

    first = pytester.runpytest_inprocess("--agent=learner", "--trials=3", workers, "--run-dir=run")
    first.assert_outcomes(passed=2, failed=1)
    assert memories() == [(0, "failed", True), (1, "passed", True), (2, "passed", True)]
    more = pytester.runpytest_inprocess("--agent=learner", "--trials=4", "-n0", "--resume=run", "--allow-mixed")
    more.assert_outcomes(passed=1)
    assert memories()[3:] == [(3, "passed", True)]


class Terminal:
    """A terminal that runs pytest."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self._pid, self._master = pty.fork()
        if not self._pid:
            os.chdir(directory)
            alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
            os.execve(sys.executable, [sys.executable, "-m", "pytest", *arguments], alone)
        self.text = ""

    def until(self, *words: str) -> str:
        """Read new output until one of these appears."""
        begin = len(self.text)
        end = time.monotonic() + 100
        while not any(word in self.text[begin:] for word in words):
            ready, _, _ = select.select([self._master], [], [], max(0.0, end - time.monotonic()))
            try:
                data = os.read(self._master, 65536) if ready else b""
            except OSError:  # the other end is closed
                data = b""
            if not data:
                raise AssertionError(f"expected one of {words}, found the end of:\n{self.text[-3000:]}")
            self.text += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return self.text[begin:]

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def wait(self) -> int:
        self.until("records:")
        while True:
            try:
                if not os.read(self._master, 65536):
                    break
            except OSError:
                break
        os.close(self._master)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


@pytest.mark.exhaustive
def test_human_agent_reads_typed_actions(tmp_path: Path) -> None:
    write_project(tmp_path)
    terminal = Terminal(tmp_path, "--agent=person", "--run-dir=run", "demo.tasks.yaml::note")
    shown = terminal.until("> ")
    assert 'Add a note titled "Rye"' in shown
    assert "[step 1 of 30]" in shown
    terminal.type("goto [http://homepage.test/scratchpad/new]")
    page = terminal.until("\n> ")
    for label, text in (("Title", "Rye"), ("Text", "and butter")):
        id = next(line.split("]")[0].split("[")[1] for line in page.splitlines() if "] textbox '" + label in line)
        terminal.type(f"type [{id}] [{text}] [0]")
        page = terminal.until("\n> ")
    id = next(line.split("]")[0].split("[")[1] for line in page.splitlines() if "] button 'Save note'" in line)
    terminal.type("dance")
    terminal.until("\n> ")
    terminal.type(f"click [{id}]")
    terminal.until("\n> ")
    terminal.type("stop [Rye]")
    assert terminal.wait() == 0
    assert [step["action"]["kind"] for step in steps(tmp_path, "person")] == [
        "goto", "type", "type", "invalid", "click", "stop",
    ]  # fmt: skip


def test_human_agent_needs_a_terminal(pytester: pytest.Pytester) -> None:
    if os.isatty(0):
        pytest.skip("there is a terminal here")
    write_project(pytester.path)
    result = pytester.runpytest_inprocess("--agent=person", "--run-dir=run")
    assert result.ret != 0
    assert "expected a terminal to type at" in result.stderr.str() + result.stdout.str()
