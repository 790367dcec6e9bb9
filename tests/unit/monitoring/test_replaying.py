"""Replay by the monitoring agent: the written selector first, then repair selectors, without guessing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Action, Click, Goto, Hover, Selector, Stop
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.monitoring.alternatives import step_variants
from pytest_webarena.monitoring.replaying import Replayer, read_tried_actions, script_of
from pytest_webarena.signals import TargetRecord
from pytest_webarena.testing import make_observation, make_task

from .checks import BUTTON, buy, known

SITES = {"shopping": "http://shopping.test"}


def selectors(step: Action, before: TargetRecord | None = None) -> list[str]:
    return [way.action.target.selector for way in step_variants(step, before)]  # type: ignore[union-attr]


def test_most_reliable_selectors_are_tried_first() -> None:
    assert selectors(Click(Selector("css=#buy")), BUTTON) == [
        "css=#buy",
        'role=button[name="Buy now"s]',
        'text="Buy now"',
        "css=main > button",
    ]
    assert selectors(Click(Selector("css=#buy"))) == ["css=#buy"]


def test_selector_with_a_name_is_also_tried_outside_its_container() -> None:
    assert selectors(Click(Selector('css=#gone >> role=button[name="Buy now"]'))) == [
        'css=#gone >> role=button[name="Buy now"]',
        'role=button[name="Buy now"]',
        'text="Buy now"',
    ]
    assert selectors(Click(Selector("css=#gone >> css=button"))) == ["css=#gone >> css=button"]


def test_repair_selectors_are_tried_before_derived_ones() -> None:
    others = ('role=button[name="Order"s]', "css=#order", "css=main > button")
    ways = step_variants(Click(Selector("css=#gone", repair_selectors=others)), BUTTON)
    assert [way.action.target.selector for way in ways] == [  # type: ignore[union-attr]
        "css=#gone",
        'role=button[name="Order"s]',
        "css=#order",
        "css=main > button",
        'role=button[name="Buy now"s]',
        'text="Buy now"',
    ]
    assert [(way.how, way.role, way.name) for way in ways[1:3]] == [
        ('its repair selector role=button[name="Order"s]', "button", "Order"),
        ("its repair selector css=#order", "", ""),
    ]


def test_step_without_a_selector_has_one_way() -> None:
    assert [way.action for way in step_variants(Goto("/x"), BUTTON)] == [Goto("/x")]


def play(folder: Path, errors: dict[str, str], *, text: str = "", steps: Any = None) -> tuple[list[str], Reply]:
    """Replay `buy` with errors for some selectors; return the tried selectors and the last reply."""
    task = buy()
    task = task if steps is None else replace(task, solution=steps)
    agent = Replayer(script_of(task, known(buy()), SITES), folder)
    tried: list[str] = []
    error = ""
    while True:
        reply = agent.act(make_observation(text, url="http://shopping.test/", error=error))
        action = reply.action
        if isinstance(action, Stop):
            return tried, reply
        selector = action.target.selector  # type: ignore[union-attr]
        tried.append(selector)
        error = errors.get(selector, "")


def test_working_solution_is_replayed_as_written(tmp_path: Path) -> None:
    tried, last = play(tmp_path, {})
    assert tried == ["css=a.kettle", "css=#buy"]
    assert last.ended is None
    assert [(each.found, each.how, each.error) for each in read_tried_actions(tmp_path)] == [(True, "", "")] * 3


def test_moved_element_is_found_and_recorded(tmp_path: Path) -> None:
    tried, last = play(tmp_path, {"css=#buy": "No element matches."})
    assert tried == ["css=a.kettle", "css=#buy", 'role=button[name="Buy now"s]']
    assert last.ended is None
    noted = read_tried_actions(tmp_path)[1]
    assert (noted.found, noted.how, noted.error, noted.step) == (True, "role and name", "No element matches.", 2)


def test_missing_element_ends_the_replay(tmp_path: Path) -> None:
    errors = dict.fromkeys(["css=#buy", 'role=button[name="Buy now"s]', 'text="Buy now"', "css=main > button"], "Gone.")
    _, last = play(tmp_path, errors)
    assert last.ended is not None
    assert last.ended[1] == "step 2 (click css=#buy) can't be done at http://shopping.test/: Gone."
    assert [each.found for each in read_tried_actions(tmp_path)] == [True, False]


def test_ambiguous_name_is_not_used(tmp_path: Path) -> None:
    text = "[1] button 'Buy now'\n[2] button 'Buy now'"
    tried, last = play(tmp_path, {"css=#buy": "Gone.", "css=main > button": "Gone."}, text=text)
    assert tried == ["css=a.kettle", "css=#buy", "css=main > button"]
    assert last.ended is not None


LIVE = """
intent: Buy it
sites: [shopping]
checks: [{key_nodes: [{url: {includes: /kettle}}, {element: "#buy"}, {text: {includes: ok}}]}]
source:
  suite: mind2web-live
  hosts: {shopping: www.shop.example}
  recorded: ["https://www.shop.example/kettle?a=1", "https://www.shop.example/kettle", "https://other.example/"]
"""


def test_recorded_urls_are_opened_on_the_site_of_their_host() -> None:
    turns = script_of(make_task(LIVE), None, SITES)
    assert [(turn.kind, turn.number, turn.variants[0].action) for turn in turns] == [
        ("open", 0, Goto("http://shopping.test/kettle?a=1")),
        ("open", 1, Goto("http://shopping.test/kettle")),
        ("find", 1, Hover(Selector("#buy"))),
    ]
    assert script_of(make_task(LIVE), None, {"elsewhere": "http://elsewhere.test"}) == ()


@pytest.mark.parametrize("error", ["", "Gone."])
def test_missing_key_node_element_does_not_end_the_replay(tmp_path: Path, error: str) -> None:
    agent = Replayer(script_of(make_task(LIVE), None, SITES), tmp_path)
    for _ in range(3):
        assert not isinstance(agent.act(make_observation("", url="http://shopping.test/")).action, Stop)
    last = agent.act(make_observation("", url="http://shopping.test/", error=error))
    assert isinstance(last.action, Stop)
    assert last.ended is None
    assert [each.found for each in read_tried_actions(tmp_path)] == [True, True, not error]
