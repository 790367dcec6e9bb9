"""When ``make demo`` has shown what it should, and when it has not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_webarena.results.records import Outcome, TrialKey, TrialRecord
from pytest_webarena.tasks import validate
from scripts.demo import ABOUT, ALLURE, allure_fetched, next_step, summary, wrong
from tests.cases import each_case


def record(agent: str, outcome: Outcome) -> TrialRecord:
    return TrialRecord(
        key=TrialKey(f"task-{outcome}", agent, 1),
        outcome=outcome,
        cause="site" if outcome == "error" else None,
        message="the reason",
    )


PASSED, NULL = record("oracle", "passed"), record("null", "failed")


def test_failures_of_other_agents_are_expected() -> None:
    assert wrong([PASSED, NULL], status=1, unfinished=0) == []


@each_case(
    ("records", "status", "unfinished", "fault"),
    [
        ([], 4, 0, "The oracle finished no task."),
        ([NULL], 1, 0, "The oracle finished no task."),
        ([PASSED, record("oracle", "failed")], 1, 0, "oracle failed task-failed: the reason"),
        ([PASSED, record("null", "error")], 1, 0, "null on task-error: site error: the reason"),
        ([PASSED], 1, 2, "2 trials were begun and never finished."),
        ([PASSED], 3, 0, "pytest ended with status 3; its output is above."),
    ],
)
def test_unexpected_results_are_reported(records: list[TrialRecord], status: int, unfinished: int, fault: str) -> None:
    assert fault in wrong(records, status=status, unfinished=unfinished)


def test_one_line_per_agent() -> None:
    assert [line.strip() for line in summary([PASSED, NULL, record("null", "error")])] == [
        "null  0 passed, 1 failed, 1 errors",
        "oracle  1 passed, 0 failed, 0 errors (replays solutions: passes all)",
    ]


def test_what_is_to_be_expected_is_known_of_each_agent_of_the_demo() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    line = next(line for line in makefile.splitlines() if line.startswith("DEMO ?="))
    agents = re.findall(r"--agent=(\S+)", line)
    assert set(agents) == set(ABOUT)
    assert "webarena init" in next_step()[-1]


def test_allure_is_fetched_while_the_agents_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npx, request_file = tmp_path / "npx", tmp_path / "asked"
    npx.write_text(f'#!/bin/sh\necho "$@" >{request_file}\n')
    npx.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with allure_fetched():
        pass
    assert request_file.read_text().split()[:-1] == ALLURE[1:]  # the same package as later


def test_without_npm_the_demo_runs_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("scripts.demo.subprocess.Popen", lambda *_, **__: pytest.fail("npm was started"))
    shown = []
    with allure_fetched():
        shown.append("demo")
    assert shown == ["demo"]


def test_the_demo_has_a_task_of_each_kind_on_both_sites() -> None:
    root = Path(__file__).parents[2]
    text = (root / "Makefile").read_text()
    kinds, more = (re.search(rf"^{name} := (.*)$", text, re.MULTILINE) for name in ("DEMO_KINDS", "DEMO_MORE"))
    assert kinds
    assert more
    files = ("homepage/navigation", "shopping/content", "shopping/navigation", "shopping/products")
    ids = [task.id for task in validate([root / "tasks" / f"{name}.yaml" for name in files]).tasks]
    for kind in kinds[1].split(" or "):
        single = [id for id in ids if kind in id and not any(word in id for word in more[1].split(" or "))]
        assert 1 <= len(single) <= 2, kind
