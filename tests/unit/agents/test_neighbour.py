"""The audit's agent that takes what is next to what is meant."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.actions import Action, Check, Click, Goto, Hover, Press, Select, Selector, Stop, Type
from pytest_webarena.agents import Assignment, TaskView, resolve_agent
from pytest_webarena.agents.audit_trials import NEIGHBOUR, NO_NEIGHBOUR, neighbourly_steps
from pytest_webarena.agents.neighbour import otherwise
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.browser.reports import AdjacentControl, ListOption
from pytest_webarena.evidence import TargetRecord
from pytest_webarena.tasks import Task
from pytest_webarena.testing import make_task
from tests.cases import each_case

STAR = TargetRecord(role="button", name="Star", selector="#one > button")
NEXT = TargetRecord(role="button", name="Star", selector="#two > button")
SIZES = tuple(ListOption(label=each, value=each and each[0]) for each in ("", "Small", "Large"))
STEPS = "[{goto: /new}, {fill: {css=#title: Rye}}, {click: css=#pick}, {click: css=#save}, {stop: done}]"
TASK = "id: %s\nintent: i\nsites: [shop]\nmutates: true\nchecks: [{state: {sql: select 1, equals: 1}}]\nsolution: %s"


def task(steps: str = STEPS, id: str = "t") -> Task:
    return make_task(TASK % (id, steps))


def beside(**found: Any) -> Any:
    """A page whose elements have these neighbours, by the ids of their selectors."""
    known: Mapping[str, AdjacentControl] = {f"css=#{name}": each for name, each in found.items()}
    return known.get


def stands(options: tuple[ListOption, ...] = ()) -> AdjacentControl:
    return AdjacentControl(target=STAR, neighbour="role=button >> nth=3", neighbour_target=NEXT, options=options)


def played(page: Any, task: Task, trial: int = 1, errors: Mapping[int, str] | None = None) -> list[Any]:
    """What the agent does until it stops; the error that it sees before each step, by number."""
    view = TaskView(intent="i", sites={"shop": "http://shop.test"})
    agent: Any = resolve_agent(NEIGHBOUR).make(Assignment(view=view, task=task, trial=trial, beside=page))
    done: list[Any] = []
    for number in range(20):
        seen = SimpleNamespace(text="", url="http://shop.test/", error=(errors or {}).get(number, ""))
        done.append(agent.act(seen))
        if isinstance(done[-1], Stop) or (isinstance(done[-1], Reply) and done[-1].ended):
            break
    return done


def test_one_step_is_done_to_the_neighbour_and_the_others_as_they_are() -> None:
    solution = list(task().solution or ())
    done = played(beside(save=stands()), task())
    assert done[0] == Goto("http://shop.test/new")
    assert done[1:3] + done[4:] == solution[1:3] + solution[4:]
    assert done[3].action == Click(Selector("role=button >> nth=3"))
    assert done[3].thought == ("in place of step 4: button 'Star' (#two > button), not button 'Star' (#one > button)")


def test_trials_take_different_steps_and_each_always_the_same() -> None:
    page = beside(pick=stands(), save=stands(), title=stands())

    def step(trial: int, id: str) -> int:
        return next(n for n, each in enumerate(played(page, task(id=id), trial)) if isinstance(each, Reply))

    for id in ("a", "b", "c", "d"):
        assert {step(1, id), step(2, id)} == {2, 3}  # what is typed comes last
        assert step(3, id) == 1
        assert step(1, id) == step(1, id)
    assert {step(1, id) for id in "abcdefgh"} == {2, 3}


def test_where_the_step_has_no_neighbour_the_next_one_that_has_is_taken() -> None:
    for trial in (1, 2):
        done = played(beside(save=stands()), task(), trial)
        assert [n for n, each in enumerate(done) if isinstance(each, Reply)] == [3]


@pytest.mark.parametrize("trial", [1, 2])
def test_without_any_neighbour_it_ends_before_the_last_step_that_might_have_one(trial: int) -> None:
    *steps, last = played(beside(), task(), trial)
    assert steps[1:] == list(task().solution or ())[1:3]
    assert last.ended == ("invalid", NO_NEIGHBOUR)


def test_a_solution_that_breaks_before_proves_nothing_and_after_goes_to_its_answer() -> None:
    page = beside(save=stands(), pick=stands())
    early = played(page, task(id="a"), errors={1: "no such page"})
    assert (len(early), early[-1].ended) == (2, ("invalid", NO_NEIGHBOUR))
    done = played(beside(title=stands()), task(), trial=3, errors={2: "no such element"})
    assert isinstance(done[1], Reply)
    assert done[2:] == [Stop("done")]


@each_case(
    ("step", "page", "other"),
    [
        (Goto("http://shop.test/issues/247?tab=1"), beside(), Goto("http://shop.test/issues/248?tab=1")),
        (Goto("/orders/9/"), beside(), Goto("/orders/10/")),
        (Goto("/orders"), beside(), None),
        (Click(Selector("css=#a"), count=2), beside(a=stands()), Click(Selector("role=button >> nth=3"), count=2)),
        (Check(Selector("css=#a"), False), beside(a=stands()), Check(Selector("role=button >> nth=3"), False)),
        (Press("Enter", Selector("css=#a")), beside(a=stands()), Press("Enter", Selector("role=button >> nth=3"))),
        (Press("Enter"), beside(a=stands()), None),
        (Hover(Selector("css=#a")), beside(a=stands()), None),
        (Type(Selector("css=#a"), "x"), beside(a=AdjacentControl(target=STAR)), None),
        (Select(Selector("css=#a"), ("Small",)), beside(a=stands(SIZES)), Select(Selector("css=#a"), ("Large",))),
        (Select(Selector("css=#a"), ("L",)), beside(a=stands(SIZES)), Select(Selector("css=#a"), ("Small",))),
        (Select(Selector("css=#a"), ("Small",)), beside(a=stands(SIZES[1:2])), None),
        (Select(Selector("css=#a"), ("Huge",)), beside(a=stands(SIZES)), None),
    ],
)
def test_what_is_done_in_place_of_a_step(step: Action, page: Any, other: Action | None) -> None:
    assert otherwise(step, page)[0] == other


def test_only_steps_that_bring_something_about_are_tried() -> None:
    assert neighbourly_steps(task()) == [1, 2, 3]
    assert neighbourly_steps(task("[{goto: /issues/7}, {scroll: down}, {press: Enter}, {click: css=b}]")) == [0, 3]
    assert neighbourly_steps(task("[{click: css=#save}, {click: 'role=link[name=Home]'}, {click: css=#b}]")) == [
        0,
        1,
        2,
    ]
    lookup = TASK.replace("mutates: true", "mutates: false").replace(
        "{state: {sql: select 1, equals: 1}}", "{answer: x}"
    )
    assert neighbourly_steps(make_task(lookup % ("t", STEPS))) == []
