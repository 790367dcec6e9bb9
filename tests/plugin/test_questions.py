"""Questions without sites: no browser is started, for task files and for files of ARB problems."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

TASKS = """
tasks:
  - id: metal
    sites: []
    intent: Which metal is liquid?
    source: {subject: chemistry}
    checks: [{choice: {options: [iron, mercury, lead, tin], is: B}}]
    solution: [{stop: B}]
  - id: sum
    sites: []
    intent: What is 12 times 34?
    checks: [{number: {is: 408, marker: true}}]
    solution: [{stop: "10 times and 2 times.\\nANSWER: 408"}]
"""
PROBLEM = {
    "_id": "1",
    "Problem_Statement": "A half?",
    "Final_Answer": "\\frac{1}{2}",
    "Problem_Type": "numerical",
    "Topic": "Sums",
}
NOWHERE = (f"--browser-executable={sys.executable}", "-p", "no:cacheprovider", "--run-dir=run")
"""Python is not a browser, so any attempt to start one fails."""


def records(pytester: pytest.Pytester) -> dict[str, dict[str, Any]]:
    found = [json.loads(file.read_text()) for file in (pytester.path / "run" / "trials").glob("*/trial.json")]
    return {f"{each['key']['task']} {each['key']['agent']} {each['key']['trial']}": each for each in found}


def test_questions_start_no_browser_and_no_broker(pytester: pytest.Pytester) -> None:
    (pytester.path / "a.tasks.yaml").write_text(TASKS)
    result = pytester.runpytest("--agent=oracle", "--agent=na", *NOWHERE)
    result.assert_outcomes(passed=2, failed=2)
    text = " ".join(result.stdout.str().split())
    assert "oracle: 2/2 passed" in text
    assert "guessing gets 25.0% on 1 of them" in text
    assert "no final answer: no line begins with 'ANSWER:'" in text
    found = records(pytester)
    assert {each["browser"] for each in found.values()} == {""}
    assert found["metal oracle 1"]["chance"] == 0.25
    assert found["sum oracle 1"]["chance"] is None
    assert not list((pytester.path / "run").glob("broker*.log"))
    again = pytester.runpytest("--rescore=run", "--agent=oracle", "-p", "no:cacheprovider")
    again.assert_outcomes(passed=2)


def test_audit_finds_questions_valid(pytester: pytest.Pytester) -> None:
    (pytester.path / "a.tasks.yaml").write_text(TASKS)
    pytester.runpytest("--audit", *NOWHERE)
    audit = json.loads((pytester.path / "run" / "audit.json").read_text())
    assert {task["task"]: task["finding"] for task in audit["tasks"]} == {"metal": "valid", "sum": "valid"}


@pytest.mark.parametrize("name", ["problems.jsonl", "problems.json"])
def test_arb_problems_run_from_their_file(pytester: pytest.Pytester, name: str) -> None:
    (pytester.path / name).write_text(json.dumps(PROBLEM) + "\n")
    result = pytester.runpytest(f"--suite=arb:{name}", "--agent=oracle", *NOWHERE)
    result.assert_outcomes(passed=1)
    assert records(pytester)["problems.1 oracle 1"]["source"]["subject"] == "Sums"


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        ("arb:problems.txt", "expected arb: and a file of problems, .json or .jsonl, found 'arb:problems.txt'"),
        ("arb:none.json", "expected a JSON file, found none at none.json"),
    ],
)
def test_invalid_arb_suite_file_is_reported(pytester: pytest.Pytester, suite: str, message: str) -> None:
    result = pytester.runpytest(f"--suite={suite}", "--agent=oracle", *NOWHERE)
    assert message in " ".join((result.stdout.str() + result.stderr.str()).split())
