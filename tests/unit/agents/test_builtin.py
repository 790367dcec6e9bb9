"""Built-in agents."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.actions import (
    Action,
    Click,
    DismissDialog,
    Drag,
    Element,
    Goto,
    Point,
    Reload,
    Selector,
    Stop,
    Type,
    Upload,
    Wait,
)
from pytest_webarena.agents import Assignment, TaskView, resolve_agent
from pytest_webarena.agents.builtin import describe_step
from pytest_webarena.errors import BrowserError, TaskError
from pytest_webarena.tasks.model import Task
from tests.cases import each_case

SOLUTION = (Goto("/a"), Click(Selector("text=Buy")), Stop("done"))
TASK = Task(id="t", intent="Buy it", sites=("shop",), solution=SOLUTION)
VIEW = TaskView(intent="Buy it", sites={"shop": "http://shop.test"}, seed=7)
PAGE = "[1] RootWebArea 'Shop'\n\t[4] link 'Coffee'\n\t[5] textbox 'Search'\n\t[6] button 'Go'"


def seen(text: str = PAGE, error: str = "") -> Any:
    return SimpleNamespace(text=text, url="http://shop.test/", error=error)


def make(name: str, task: Task = TASK, view: TaskView = VIEW) -> Any:
    return resolve_agent(name).make(Assignment(view=view, task=task))


def test_the_oracle_replays_the_solution_then_stops() -> None:
    oracle = make("oracle")
    assert tuple(oracle.act(seen()) for _ in SOLUTION) == SOLUTION
    assert oracle.act(seen()) == Stop()


def test_oracle_error_names_the_step_that_failed() -> None:
    oracle = make("oracle")
    oracle.act(seen())
    oracle.act(seen())
    with pytest.raises(TaskError, match=r"solution of t, step 2 of 3 \(click text=Buy\) failed at .*: no such element"):
        oracle.act(seen(error="no such element"))


def test_unresponsive_page_is_a_browser_error_not_a_task_error() -> None:
    oracle = make("oracle")
    oracle.act(seen())
    oracle.act(seen())
    why = "The page stopped responding: it ran a script without end; its script was stopped."
    with pytest.raises(BrowserError, match=r"step 2 of 3 \(click text=Buy\) failed at .*: The page stopped responding"):
        oracle.act(seen(error=why))


def test_oracle_error_suggests_heal_for_repair_selectors() -> None:
    kept = Task(
        id="t", intent="i", sites=("shop",), solution=(Click(Selector("text=Buy", repair_selectors=("css=#buy",))),)
    )
    oracle = make("oracle", kept)
    oracle.act(seen())
    with pytest.raises(
        TaskError, match="no such element; 'webarena tasks heal' looks for it by the step's 'repair_selectors'"
    ):
        oracle.act(seen(error="no such element"))


@pytest.mark.parametrize(("shown", "error"), [("http://evil.test/", ""), ("http://shop.test/", "can't be reached")])
def test_oracle_fails_when_gateway_refuses_an_address(shown: str, error: str) -> None:
    steps = (Click(Selector("text=Out")), Goto("http://evil.test/"), Click(Selector("text=Buy")), Stop("done"))
    refusals = {"http://evil.test/": "evil.test is not one of this task's sites"}
    oracle: Any = resolve_agent("oracle").make(
        Assignment(view=VIEW, task=replace(TASK, solution=steps), refusal=lambda url: refusals.get(url, ""))
    )
    page = SimpleNamespace(text=PAGE, url=shown, error="")
    oracle.act(page)
    oracle.act(page)  # later steps deal with the page that a click opens
    with pytest.raises(TaskError) as caught:
        oracle.act(SimpleNamespace(text=PAGE, url=shown, error=error))
    assert str(caught.value) == (
        f"solution of t, step 2 of 4 (goto 'http://evil.test/') failed at {shown}: {error}{'; ' if error else ''}"
        "the gateway refused it, for evil.test is not one of this task's sites: name its site in the task's 'sites', "
        "its domain under 'live' if it is a live one, or correct the address"
    )


def test_the_oracle_needs_a_solution() -> None:
    with pytest.raises(TaskError, match="has no solution"):
        make("oracle", Task(id="t", intent="i", sites=()))


@each_case(("name", "answer"), [("null", ""), ("na", "N/A"), ("echo", "Buy it"), ("dump", PAGE)])
def test_fixed_answer_agents_stop_at_first_step(name: str, answer: str) -> None:
    assert make(name).act(seen()) == Stop(answer)


def test_random_agent_repeats_its_actions_for_the_same_seed_only() -> None:
    def walk(seed: int) -> list[Any]:
        agent: Any = resolve_agent("random").make(Assignment(view=TaskView(intent="i", seed=seed), task=TASK))
        return [agent.act(seen()) for _ in range(30)]

    assert walk(7) == walk(7)
    assert walk(7) != walk(8)


def test_random_agent_acts_on_an_empty_page() -> None:
    agent = make("random")
    assert all(agent.act(seen(text="")) is not None for _ in range(50))


def test_only_the_oracle_is_privileged() -> None:
    assert {name for name in ("oracle", "null", "na", "echo", "dump", "random") if resolve_agent(name).privileged} == {
        "oracle"
    }


@each_case(
    ("name", "status", "data"),
    [
        ("null", "SUCCESS", []),
        ("na", "NOT_FOUND_ERROR", None),
        ("echo", "SUCCESS", ["Buy it"]),
        ("dump", "SUCCESS", [PAGE]),
    ],
)
def test_answers_are_typed_when_the_task_asks_for_typed_answers(name: str, status: str, data: Any) -> None:
    action = make(name, view=replace(VIEW, answer_format="verified")).act(seen())
    response = json.loads(action.answer)
    assert (response["status"], response["retrieved_data"]) == (status, data)


def test_oracle_replays_typed_answers_and_steps_unchanged() -> None:
    typed = '{"task_type": "MUTATE", "status": "SUCCESS"}'
    steps = (Goto("/a"), Stop(typed))
    oracle = make("oracle", replace(TASK, solution=steps), replace(VIEW, answer_format="verified"))
    assert tuple(oracle.act(seen()) for _ in steps) == steps


@each_case(
    ("action", "words"),
    [
        (Type(Selector("css=#a"), "tea"), "type css=#a 'tea'"),
        (Upload(Selector("css=#f"), ("cv.pdf", "photo.png")), "upload css=#f 'cv.pdf', 'photo.png'"),
        (Drag(Selector("css=#a"), Selector("css=#b")), "drag css=#a to css=#b"),
        (Drag(Element("4"), Point(3, 5)), "drag 4 to 3, 5"),
        (Wait(2), "wait '2'"),
        (Reload(), "reload"),
    ],
)
def test_describe_step_summarises_an_action(action: Action, words: str) -> None:
    assert describe_step(action) == words


def test_dialogs_stay_open_when_the_solution_answers_them() -> None:
    answering = Task(id="t", intent="i", sites=(), solution=(Click(Selector("text=Delete")), DismissDialog(), Stop("")))
    assert [resolve_agent("oracle").dialogs(task, 1) for task in (TASK, answering)] == [None, "hold"]
