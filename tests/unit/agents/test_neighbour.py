"""The audit's neighbour agent, which acts on the element next to the right one."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.actions import Action, Check, Click, Goto, Hover, Press, Select, Selector, Stop, Type
from pytest_webarena.agents import Assignment, TaskView, resolve_agent
from pytest_webarena.agents.audit_trials import NEIGHBOUR, NO_NEIGHBOUR, neighbourly_steps
from pytest_webarena.agents.neighbour import step_on_neighbour
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


def page_with(**found: Any) -> Any:
    """Return a page whose elements have these neighbours, by the ids of their selectors."""
    known: Mapping[str, AdjacentControl] = {f"css=#{name}": each for name, each in found.items()}
    return known.get


def neighbour_of(options: tuple[ListOption, ...] = ()) -> AdjacentControl:
    return AdjacentControl(target=STAR, neighbour="role=button >> nth=3", neighbour_target=NEXT, options=options)


def actions_of(page: Any, task: Task, trial: int = 1, errors: Mapping[int, str] | None = None) -> list[Any]:
    """Return the agent's actions until it stops; ``errors`` are shown before steps, by number."""
    view = TaskView(intent="i", sites={"shop": "http://shop.test"})
    agent: Any = resolve_agent(NEIGHBOUR).make(Assignment(view=view, task=task, trial=trial, find_neighbour=page))
    done: list[Any] = []
    for number in range(20):
        seen = SimpleNamespace(text="", url="http://shop.test/", error=(errors or {}).get(number, ""))
        done.append(agent.act(seen))
        if isinstance(done[-1], Stop) or (isinstance(done[-1], Reply) and done[-1].ended):
            break
    return done


def test_neighbour_agent_changes_exactly_one_step() -> None:
    solution = list(task().solution or ())
    done = actions_of(page_with(save=neighbour_of()), task())
    assert done[0] == Goto("http://shop.test/new")
    assert done[1:3] + done[4:] == solution[1:3] + solution[4:]
    assert done[3].action == Click(Selector("role=button >> nth=3"))
    assert done[3].thought == ("in place of step 4: button 'Star' (#two > button), not button 'Star' (#one > button)")


def test_each_trial_changes_another_step_deterministically() -> None:
    page = page_with(pick=neighbour_of(), save=neighbour_of(), title=neighbour_of())

    def step(trial: int, id: str) -> int:
        return next(n for n, each in enumerate(actions_of(page, task(id=id), trial)) if isinstance(each, Reply))

    for id in ("a", "b", "c", "d"):
        assert {step(1, id), step(2, id)} == {2, 3}  # typing steps come last
        assert step(3, id) == 1
        assert step(1, id) == step(1, id)
    assert {step(1, id) for id in "abcdefgh"} == {2, 3}


def test_step_without_neighbour_is_replaced_by_the_next_with_one() -> None:
    for trial in (1, 2):
        done = actions_of(page_with(save=neighbour_of()), task(), trial)
        assert [n for n, each in enumerate(done) if isinstance(each, Reply)] == [3]


@pytest.mark.parametrize("trial", [1, 2])
def test_neighbour_agent_ends_invalid_when_no_step_has_a_neighbour(trial: int) -> None:
    *steps, last = actions_of(page_with(), task(), trial)
    assert steps[1:] == list(task().solution or ())[1:3]
    assert last.ended == ("invalid", NO_NEIGHBOUR)


def test_error_before_the_change_is_invalid_and_after_it_answers() -> None:
    page = page_with(save=neighbour_of(), pick=neighbour_of())
    early = actions_of(page, task(id="a"), errors={1: "no such page"})
    assert (len(early), early[-1].ended) == (2, ("invalid", NO_NEIGHBOUR))
    done = actions_of(page_with(title=neighbour_of()), task(), trial=3, errors={2: "no such element"})
    assert isinstance(done[1], Reply)
    assert done[2:] == [Stop("done")]


@each_case(
    ("step", "page", "other"),
    [
        (Goto("http://shop.test/issues/247?tab=1"), page_with(), Goto("http://shop.test/issues/248?tab=1")),
        (Goto("/orders/9/"), page_with(), Goto("/orders/10/")),
        (Goto("/orders"), page_with(), None),
        (
            Click(Selector("css=#a"), count=2),
            page_with(a=neighbour_of()),
            Click(Selector("role=button >> nth=3"), count=2),
        ),
        (Check(Selector("css=#a"), False), page_with(a=neighbour_of()), Check(Selector("role=button >> nth=3"), False)),
        (
            Press("Enter", Selector("css=#a")),
            page_with(a=neighbour_of()),
            Press("Enter", Selector("role=button >> nth=3")),
        ),
        (Press("Enter"), page_with(a=neighbour_of()), None),
        (Hover(Selector("css=#a")), page_with(a=neighbour_of()), None),
        (Type(Selector("css=#a"), "x"), page_with(a=AdjacentControl(target=STAR)), None),
        (
            Select(Selector("css=#a"), ("Small",)),
            page_with(a=neighbour_of(SIZES)),
            Select(Selector("css=#a"), ("Large",)),
        ),
        (Select(Selector("css=#a"), ("L",)), page_with(a=neighbour_of(SIZES)), Select(Selector("css=#a"), ("Small",))),
        (Select(Selector("css=#a"), ("Small",)), page_with(a=neighbour_of(SIZES[1:2])), None),
        (Select(Selector("css=#a"), ("Huge",)), page_with(a=neighbour_of(SIZES)), None),
    ],
)
def test_step_is_replaced_by_the_same_action_on_the_neighbour(step: Action, page: Any, other: Action | None) -> None:
    assert step_on_neighbour(step, page)[0] == other


def test_only_effective_steps_are_candidates() -> None:
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
