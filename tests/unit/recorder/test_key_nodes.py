"""Proposed key nodes, by the paper's decision tree: use the URL if it shows the step."""

from __future__ import annotations

from typing import Any

from pytest_webarena.actions import Action, Check, Click, Goto, NewTab, Press, Select, Selector, Type
from pytest_webarena.recorder.key_nodes import VisitedStep, proposed_nodes
from pytest_webarena.suites.writing import yaml_lines
from pytest_webarena.tasks import parse_tasks
from tests.cases import each_case

SITES = {"shop": "http://shop.test", "map": "http://map.test"}
FIELD, BUTTON = Selector("css=#q"), Selector('role=button[name="Buy"s]')


def passed(*steps: tuple[Action, str]) -> list[VisitedStep]:
    """Return steps with their URLs; the first begins at the shop's start page."""
    found, before = [], "http://shop.test/"
    for action, after in steps:
        after = f"http://shop.test{after}" if after.startswith("/") else after
        found.append(VisitedStep(action=action, before=before, after=after, text="Buy"))
        before = after
    return found


def nodes(*steps: tuple[Action, str]) -> list[Any]:
    return [dict(each.node) for each in proposed_nodes(passed(*steps), SITES)]


def test_typed_text_shown_in_the_url_is_checked_by_url() -> None:
    assert nodes((Type(FIELD, "tent"), "/"), (Press("Enter", FIELD), "/search/?q=tent&page=1")) == [
        {"url": {"at": "/search/", "param": "q", "exact": "tent"}},
        {"url": {"includes": "/search/"}},
    ]


def test_typed_text_not_shown_in_the_url_is_checked_by_field() -> None:
    assert nodes((Type(FIELD, "2"), "/"), (Click(BUTTON), "/")) == [
        {"value": {"locate": "css=#q", "exact": "2"}},
        {"element": {"locate": 'role=button[name="Buy"s]', "event": "click"}},
    ]


def test_text_already_in_the_url_is_checked_by_field() -> None:
    steps = passed((Click(BUTTON), "/list?sort=price"), (Select(FIELD, ("price",)), "/list?sort=price"))
    found = [dict(each.node) for each in proposed_nodes(steps, SITES)]
    assert found[1] == {"value": {"locate": "css=#q", "exact": "price"}}


def test_text_in_a_carried_parameter_is_checked_by_field() -> None:
    steps = passed(
        (Click(BUTTON), "/list?sort=price"),
        (Type(FIELD, "price"), "/list?sort=price"),
        (Press("Enter", FIELD), "/found?sort=price"),
    )
    found = [dict(each.node) for each in proposed_nodes(steps, SITES)]
    assert found[1] == {"value": {"locate": "css=#q", "exact": "price"}}


@each_case(
    ("action", "after", "node"),
    [
        (Click(BUTTON), "/orders/7", {"url": {"exact": "/orders/7"}}),
        (Click(BUTTON), "/orders/7?from=list", {"url": {"exact": "/orders/7?from=list"}}),
        (Click(BUTTON), "/kettles/?page=2&from=list", {"url": {"includes": "/kettles/"}}),
        (Click(BUTTON), "/kettle?from=list", {"url": {"includes": "/kettle"}}),
        (Click(BUTTON), "/?page=2", {"url": {"at": "/", "param": "page", "exact": "2"}}),
        (Click(BUTTON), "http://map.test/way", {"url": {"site": "map", "exact": "/way"}}),
        (Click(BUTTON), "/", {"element": {"locate": 'role=button[name="Buy"s]', "event": "click"}}),
        (Check(FIELD, True), "/", {"value": {"locate": "css=#q", "exact": "on"}}),
        (Goto("/orders/"), "/orders/", {"url": {"includes": "/orders/"}}),
        (Goto("/"), "/", None),
        (NewTab(), "/", None),
        (Type(FIELD, ""), "/", None),
        (Click(Selector("xpath=//b")), "/", None),  # not decidable from the record
        (Click(Selector("css=iframe >> internal:control=enter-frame >> b")), "/", None),
    ],
)
def test_each_step_proposes_its_most_stable_node(action: Action, after: str, node: Any) -> None:
    assert nodes((action, after)) == ([node] if node is not None else [])


def test_node_names_its_step_and_is_proposed_once() -> None:
    steps = passed((Click(BUTTON), "/a"), (Click(BUTTON), "/b"), (Goto("/a"), "/a"), (Click(BUTTON), "/a"))
    found = proposed_nodes(steps, SITES)
    assert [(each.step, each.about) for each in found] == [
        (0, "the address is /a"),
        (1, "the address is /b"),
        (3, "'Buy' is clicked"),
    ]


def test_proposed_nodes_can_be_parsed_in_a_task() -> None:
    steps = passed(
        (Type(FIELD, "tent: two"), "/"), (Press("Enter", FIELD), "/search/?q=tent:+two"),
        (Click(BUTTON), "/search/?q=tent:+two"), (Select(FIELD, ("a", "b")), "http://map.test/x?y=1"), (Click(BUTTON), "http://map.test/x?y=2"),
    )  # fmt: skip
    found = [dict(each.node) for each in proposed_nodes(steps, SITES)]
    assert len(found) == 5
    lines = yaml_lines([{"key_nodes": found}])
    text = "tasks:\n  - id: a\n    intent: b\n    sites: [shop, map]\n    checks:\n" + "\n".join(
        f"      {line}" for line in lines
    )
    [task] = parse_tasks(text)
    assert task.checks[0].kind == "key_nodes"
