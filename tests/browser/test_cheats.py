"""Cheating agents never score: with the sandbox none of them, without it those that need no access to the host."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.browser.cheats.cheat import CHEATS
from tests.inner import run_pytest
from tests.sandboxing import need_sandbox

pytestmark = [pytest.mark.usefixtures("browser_executable")]

TASKS = """
tasks:
  - id: secret
    sites: [homepage]
    intent: What is the code word?
    checks: [{answer: {includes: "WORD"}}]
    solution: [{stop: "the code word is WORD"}]
  - id: note
    sites: [homepage]
    mutates: true
    intent: Add a note titled "Rye".
    checks: [{state: {sql: "select count(*) from notes where title = 'Rye'", equals: 1}}]
    solution:
      - goto: homepage:/scratchpad/new
      - fill: {css=#title: Rye}
      - fill: {css=#body: and butter}
      - click: role=button[name="Save note"]
      - stop
  - id: gone
    sites: [homepage]
    mutates: true
    intent: Delete my note "Kettle".
    checks:
      - page: {open: /scratchpad/19, status: 404}
      - not: {page: {open: /scratchpad/, includes: Kettle}}
      - state: {api: {path: /scratchpad/19, status: 404}}
    solution:
      - goto: homepage:/scratchpad/19
      - click: role=link[name="Delete"]
      - click: role=button[name="Delete note"]
      - stop
  - id: sum
    sites: []
    intent: &sum What is 12 times 34?
    checks: &answer [{answer: {number: 408}}]
    solution: [{stop: "408"}]
  - id: product
    sites: [homepage]
    intent: *sum
    checks: *answer
"""
TASK_OF: Mapping[str, str] = {
    "task_files": "secret", "records": "secret", "process_table": "secret", "file_address": "secret", "files": "secret",
    "endpoints": "secret", "signed_out": "gone", "broker": "note", "ports": "note", "honest": "note",
    "dialog": "product",
}  # fmt: skip
"""Cheat to the task it is for; the others answer ``sum``."""
LOOKING_AROUND = ("task_files", "records", "process_table", "broker", "ports")
DRIVING = ("files", "endpoints", "dialog", "honest")
EVERYWHERE = ("broker", "file_address", "signed_out", "numbers", "choice", "noise", "twice", "forged", "inert")
"""Cheats of which none needs the sandbox to be worth nothing."""
KNOWN = ("numbers", "choice", "noise", "inert")
"""Those of them that other tests of the first tier try without a browser: test_answer_attacks.py, test_process.py,
test_hostile_text.py."""


def write_project(directory: Path) -> None:
    """Write the tasks, the cheats, and a file with the answer."""
    word = f"rye-{secrets.token_hex(6)}"
    (directory / "demo.tasks.yaml").write_text(TASKS.replace("WORD", word))
    (directory / "answer.txt").write_text(f"the code word is {word}")
    agents = directory / "agents"
    agents.mkdir()
    for name in ("cheat.py", "driving.py"):
        shutil.copy(Path(__file__).parent / "cheats" / name, agents)
    python = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable
    for cheat in (each.__name__ for each in CHEATS):
        options = json.dumps({"cheat": cheat, "file": str(directory / "answer.txt")})
        text = f"kind: process\ncommand: [{python}, ./cheat.py]\noptions: {options}\n"
        (agents / f"{cheat}-open.yaml").write_text(text)
        (agents / f"{cheat}-boxed.yaml").write_text(f"{text}sandbox: bubblewrap\n")
    for cheat in DRIVING:
        options = json.dumps({"cheat": cheat, "file": str(directory / "answer.txt")})
        text = f"kind: cdp\ncommand: [{json.dumps(sys.executable)}, ./driving.py]\noptions: {options}\n"
        (agents / f"{cheat}-driving.yaml").write_text(f"{text}sandbox: bubblewrap\n")


def run(directory: Path, name: str, *agents: str, solved: bool = False) -> dict[str, dict[str, Any]]:
    """Return records by agent, of one run in which each agent does the task that it targets.

    ``solved``: the oracle solves tasks first, so that records of the run contain the answer.
    """
    tasks = {agent: TASK_OF.get(agent.rpartition("-")[0], "sum") for agent in agents}
    pairs = [f"({task} and {agent})" if len(agents) > 1 else task for agent, task in tasks.items()]
    chosen = [f"--agent={agent}" for agent in (("oracle", *agents) if solved else agents)]
    wanted = " or ".join([*pairs, *(["(oracle and (secret or gone or sum))"] if solved else [])])
    run_pytest(directory, *chosen, "-k", wanted, f"--run-dir={name}", "--record=minimal", "--time-limit=60")
    found = [json.loads(file.read_text()) for file in (directory / name / "trials").glob("*/trial.json")]
    cheats = {record["key"]["agent"]: record for record in found if record["key"]["agent"] != "oracle"}
    honest = [record for record in found if record["key"]["agent"] == "oracle"]
    assert set(cheats) == set(agents)
    assert len(found) == len(agents) + 3 * solved
    assert {record["outcome"] for record in honest} <= {"passed"}
    for record in honest:
        if record["key"]["task"] == "secret":
            assert (directory / "answer.txt").read_text().removeprefix("the code word is ") in record["answer"]
            assert record["started"] < min(cheat["started"] for cheat in cheats.values())
    return cheats


def reached(directory: Path, name: str, agent: str) -> list[str]:
    """Return what the agent reports to have accessed."""
    (attempt,) = (directory / name / "trials").glob(f"*.{agent}.*/attempt-1")
    stderr = (attempt / "agent-stderr.txt").read_text() if (attempt / "agent-stderr.txt").exists() else ""
    assert "Traceback" not in stderr, stderr
    return re.findall("^reached: (.*)", stderr, re.MULTILINE)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with tasks and cheats."""
    directory = tmp_path_factory.mktemp("project")
    write_project(directory)
    return directory


@pytest.fixture(scope="module")
def sandboxed_records(project: Path) -> dict[str, dict[str, Any]]:
    """The cheats in the sandbox, with an agent that does its task honestly."""
    need_sandbox()
    agents = [f"{each.__name__}-boxed" for each in CHEATS if each.__name__ not in KNOWN]
    return run(project, "boxed", *agents, *(f"{each}-driving" for each in DRIVING), solved=True)


def test_only_honest_agent_scores_in_sandbox(sandboxed_records: dict[str, dict[str, Any]]) -> None:
    assert {record["isolation"] for record in sandboxed_records.values()} == {"sandboxed"}
    outcomes = {agent: record["outcome"] for agent, record in sandboxed_records.items()}
    assert outcomes.pop("honest-driving") == "passed", sandboxed_records["honest-driving"]["message"]
    assert set(outcomes.values()) == {"failed"}, outcomes  # none is excluded from the success rate


@pytest.mark.exhaustive
def test_cheats_that_need_no_host_score_nothing_in_sandbox(project: Path) -> None:
    need_sandbox()
    records = run(project, "boxed-known", *(f"{each}-boxed" for each in KNOWN))
    assert {record["isolation"] for record in records.values()} == {"sandboxed"}
    assert {record["outcome"] for record in records.values()} == {"failed"}


@pytest.mark.parametrize("cheat", [f"{each}-boxed" for each in LOOKING_AROUND] + ["files-driving", "endpoints-driving"])
def test_cheat_accesses_nothing_in_sandbox(
    cheat: str, sandboxed_records: dict[str, dict[str, Any]], project: Path
) -> None:
    assert reached(project, "boxed", cheat) == []


@pytest.fixture(scope="module")
def unsandboxed_records(project: Path) -> dict[str, dict[str, Any]]:
    """The cheats that score nothing even without the sandbox."""
    return run(project, "unboxed", *(f"{cheat}-open" for cheat in EVERYWHERE))


@pytest.mark.exhaustive
def test_protocol_cheats_score_nothing_without_sandbox(
    unsandboxed_records: dict[str, dict[str, Any]], project: Path
) -> None:
    assert {record["isolation"] for record in unsandboxed_records.values()} == {"process"}
    assert {
        agent: record["outcome"] for agent, record in unsandboxed_records.items() if record["outcome"] != "failed"
    } == {}
    # It finds the socket, and that is all.
    found = reached(project, "unboxed", "broker-open")
    assert [what for what in found if what.startswith("a socket")]
    assert [what for what in found if what.startswith("a lease")] == []


@pytest.mark.exhaustive
def test_protocol_cheats_end_with_specific_stop_reasons(unsandboxed_records: dict[str, dict[str, Any]]) -> None:
    stop_reasons = {
        agent.removesuffix("-open"): (record["stop_reason"], record["message"])
        for agent, record in unsandboxed_records.items()
    }
    assert stop_reasons["noise"][0] == "agent_crash"
    assert "expected a JSON message" in stop_reasons["noise"][1]
    assert {stop_reasons[name][0] for name in ("numbers", "choice", "twice", "forged")} == {"answered"}


@pytest.mark.exhaustive
def test_documented_cheats_score_without_sandbox(project: Path) -> None:
    """Not a promise: this is why only the sandbox counts as isolation."""
    looking = run(project, "open", "task_files-open", "records-open", solved=True)
    writing = run(project, "open-ports", "ports-open")  # in its own run: it writes through any gateway of the run
    for cheat, folder in (("task_files", "open"), ("records", "open"), ("ports", "open-ports")):
        record = (looking | writing)[f"{cheat}-open"]
        found = reached(project, folder, f"{cheat}-open")
        assert found, cheat
        if cheat == "ports":
            assert {"gateway", "replica"} <= {word for what in found for word in what.split()}
        assert (record["outcome"], record["isolation"]) == ("passed", "process"), (cheat, record["message"])


@pytest.mark.exhaustive
def test_control_sequences_of_agent_are_shown_as_text(project: Path) -> None:
    """The viewer's page is tested in a browser by test_viewer.py."""
    result = run_pytest(
        project, "--agent=inert-open", "-k", "sum", "--run-dir=inert", "--alluredir=allure", "-rA", "-vv", "--tb=long"
    )
    record = json.loads(next((project / "inert" / "trials").glob("*/trial.json")).read_text())
    assert (record["outcome"], record["stop_reason"]) == ("failed", "answered")
    output = "\n".join([*result.outlines, *result.errlines])
    assert "owned" in output
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f]", output) == []

    reports = [json.loads(file.read_text()) for file in (project / "allure").glob("*-result.json")]
    assert [report["status"] for report in reports] == ["failed"]
    (report,) = reports
    assert "owned" in report["description"]
    outside = re.sub(r"^(`{3,})\n.*?\n\1$", "", report["description"], flags=re.MULTILINE | re.DOTALL)
    assert [word for word in ("<", "Passed.") if word in outside] == []  # Markdown, without the content of the fence
    assert "descriptionHtml" not in report
    for page in (*(project / "allure").glob("*.html"), *(project / "allure").glob("*.svg")):
        assert "<h1>100 %" not in page.read_text("utf-8", "replace")
