"""Sites that queue their work: right agents pass, wrong agents fail, and agents that never let a site rest fail too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.queued_todo import QUIET, queued_project

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine"), pytest.mark.timeout(500)]

AGENTS = '''
from pytest_webarena.actions import Click, Selector, Stop, Type


def entered(field, text, button):
    return Type(Selector(f"role=textbox[name={field!r}]"), text), Click(Selector(f"role=button[name={button!r}]"))


ADD, FLOOD = entered("New entry", "Buy oat milk", "Add"), entered("New entry", "flood", "Add")


class Scripted:
    def __init__(self, task):
        self.actions = [*self.steps, Stop("1")]

    def act(self, observation):
        return self.actions.pop(0)


class Adds(Scripted):
    steps = ADD


class Undoes(Scripted):
    """What it was asked for appears late, and is gone a moment later."""
    steps = (*ADD, *entered("Title", "Buy oat milk", "Undo"))


class Removes(Scripted):
    """It does what it was asked for, and removes another entry; both happen late."""
    steps = (*ADD, *entered("Number", "1", "Remove"))


class Floods(Scripted):
    """It queues more work than anybody waits for."""
    steps = FLOOD


class AddsAndFloods(Scripted):
    steps = (*ADD, *FLOOD)
'''
PRESENT = """
  - id: todo-milk-after-set-up
    intent: Put "Buy oat milk" on my list.
    setup:
      - browser: [{fill: {'role=textbox[name="New entry"]': Salt}}, {click: 'role=button[name="Add"]'}]
    checks: [{changes: {todos: {added: 1, where: {title: Buy oat milk}}}}]

  - id: todo-present
    intent: Put "Buy oat milk" on my list.
    checks: [{any: [{state: {sql: select title from todos, includes: Buy oat milk}}, {answer: never}]}]
"""


MILK_STRAY = ("todo-milk", "audit-stray")


def run_late(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest on the project, in this process and with its browser; nobody looks at the pictures."""
    return pytester.runpytest_inprocess("--concurrency=4", "--record=minimal", *arguments)


def trials(run: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((run / "trials").glob("*/trial.json"))]


def check_damage(run: Path) -> None:
    """Check that the audit's damaging agent failed for its damage: what the solution queued was done first."""
    (found,) = [each for each in trials(run) if (each["key"]["task"], each["key"]["agent"]) == MILK_STRAY]
    assert [check["score"] for check in found["verdict"]["results"]] == [1, 0]
    assert "todos: expected 0 removed, found 1: removed id=" in found["message"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(10))
def test_audit_of_a_site_with_delayed_work_finds_nothing(pytester: pytest.Pytester, seed: int) -> None:
    """Each change is made up to 5 s after its response. The solutions pass and the wrong agents fail.

    The task that only reads is left out: nothing is queued by it.
    """
    queued_project(pytester.path, delays=(0, 5), seed=seed)
    result = run_late(pytester, "--audit", "--run-dir=run", "-k", "not count")
    audit = json.loads((pytester.path / "run" / "audit.json").read_text())
    assert audit["counts"]["valid"] == 2, result.stdout.str()
    assert audit["mutation"]["wrong"] == audit["mutation"]["caught"] == 7
    check_damage(pytester.path / "run")
    solved = [each for each in trials(pytester.path / "run") if each["key"]["agent"] == "oracle" and each["steps"] > 1]
    assert all(each["outcome"] == "passed" for each in solved)
    assert {each["attempt"] for each in trials(pytester.path / "run")} == {1}
    assert max(each["seconds"].get("late", 0) for each in solved) > 0.1
    assert all(each["environment"]["late_work"]["sites"]["todo"] for each in solved if "late" in each["seconds"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4))
def test_audit_with_checks_that_wait_finds_nothing(pytester: pytest.Pytester, seed: int) -> None:
    """The catalogue says nothing of queued work; the checks have ``within``."""
    queued_project(pytester.path, delays=(3, 5), seed=seed, quiet="", within="12s")
    result = run_late(pytester, "--audit", "--run-dir=run")
    audit = json.loads((pytester.path / "run" / "audit.json").read_text())
    assert audit["counts"]["valid"] == 2, result.stdout.str()
    assert audit["mutation"]["wrong"] == audit["mutation"]["caught"]
    check_damage(pytester.path / "run")
    solved = [each for each in trials(pytester.path / "run") if each["key"]["agent"] == "oracle" and each["steps"] > 1]
    first = solved[0]
    waits = first["environment"]["late_work"]["checks"]
    assert set(waits) == {"checks[0]", "checks[1]"}
    assert all(0 <= seconds < 12 for seconds in waits.values())  # a busy machine may be as late as the work
    assert [check["waited"] for check in first["verdict"]["results"]] == list(waits.values())


@pytest.mark.exhaustive
def test_delayed_work_fails_the_solution_without_these_keys(pytester: pytest.Pytester) -> None:
    queued_project(pytester.path, delays=(3, 4), quiet="")
    run_late(pytester, "--audit", "--run-dir=run")
    assert json.loads((pytester.path / "run" / "audit.json").read_text())["counts"]["unsolvable"] == 1


def outcomes_of(pytester: pytest.Pytester, *agents: str, tasks: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Run agents of `AGENTS` on a site whose work comes 1 to 2 s late; return their records by task and agent."""
    folder = pytester.path
    queued_project(folder, delays=(1, 2), quiet=QUIET.replace("30s", "4s"))
    (folder / "wrong.py").write_text(AGENTS)
    with (folder / "tasks" / "todo.yaml").open("a") as file:
        file.write(PRESENT)
    chosen = [f"--agent=wrong.py:{name}" for name in agents]
    run_late(pytester, *chosen, "-k", tasks, "--run-dir=run")
    return {(each["key"]["task"], each["key"]["agent"].partition("-")[2]): each for each in trials(folder / "run")}


@pytest.mark.parametrize("tasks", ["milk and (Adds or not set)", pytest.param("milk", marks=pytest.mark.exhaustive)])
def test_late_undoing_and_late_damage_are_seen(pytester: pytest.Pytester, tasks: str) -> None:
    found = outcomes_of(pytester, "Adds", "Undoes", "Removes", tasks=tasks)
    assert len(found) == (6 if tasks == "milk" else 4)
    assert {key: each["outcome"] for key, each in found.items()}.items() <= {
        ("todo-milk", "Adds"): "passed",
        ("todo-milk", "Undoes"): "failed",
        ("todo-milk", "Removes"): "failed",
        ("todo-milk-after-set-up", "Adds"): "passed",  # what the set-up queued is not the agent's
        ("todo-milk-after-set-up", "Undoes"): "failed",
        ("todo-milk-after-set-up", "Removes"): "failed",
    }.items()
    assert "todos: expected 0 removed, found 1: removed id=1" in found["todo-milk", "Removes"]["message"]


@pytest.mark.exhaustive
def test_agent_that_never_lets_a_site_rest_fails(pytester: pytest.Pytester) -> None:
    """What is there counts, whatever is still queued; all else fails in every attempt, and the site is no excuse."""
    found = outcomes_of(pytester, "Floods", "AddsAndFloods", tasks="(milk or present) and not set")
    assert {key: each["outcome"] for key, each in found.items()} == {
        ("todo-milk", "Floods"): "failed",
        ("todo-milk", "AddsAndFloods"): "failed",
        ("todo-present", "Floods"): "failed",
        ("todo-present", "AddsAndFloods"): "passed",
    }
    for agent in ("Floods", "AddsAndFloods"):
        flooded = found["todo-milk", agent]
        assert flooded["stop_reason"] == "broke_site"
        assert "todo still had work after 4" in flooded["message"]
        assert "select count(*) from jobs where done = 0 returned" in flooded["message"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("quiet", "cause", "message"),
    [
        ("quiet: {sql: select 1, deadline: 1s}", "site", "expected no queued work before the agent begins, found that "
         "todo still had work after 1 s: select 1 returned 1 (the key 'quiet' of todo in the catalogue)"),
        ("quiet: {sql: select count(*) from nothing}", "task", "'quiet' of the app todo: the SQL statement failed"),
        ("quiet: {http: {path: /login, includes: Nothing is queued}, deadline: 1s}", "site", "GET /login did not "
         "contain 'Nothing is queued'"),
    ],
)  # fmt: skip
def test_site_that_is_never_quiet_is_an_error_before_the_agent_begins(
    pytester: pytest.Pytester, quiet: str, cause: str, message: str
) -> None:
    queued_project(pytester.path, delays=(0, 0), quiet=quiet)
    run_late(pytester, "--agent=oracle", "-k", "milk", "--run-dir=run", "--env-retries=0")
    (record,) = trials(pytester.path / "run")
    assert (record["outcome"], record["cause"], record["steps"]) == ("error", cause, 0)
    assert message in record["message"]


@pytest.mark.exhaustive
def test_rescoring_judges_stored_evidence_without_waiting(pytester: pytest.Pytester) -> None:
    queued_project(pytester.path, delays=(1, 2), quiet="", within="10s")
    run_late(pytester, "--agent=oracle", "-k", "milk", "--run-dir=run")
    (before,) = trials(pytester.path / "run")
    assert before["outcome"] == "passed"
    pytester.runpytest_inprocess("--rescore=run", "-k", "milk")
    (after,) = trials(pytester.path / "run")
    assert after["verdict"] == before["verdict"]
