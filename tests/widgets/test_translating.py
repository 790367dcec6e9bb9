"""Replies that the suite writes for an agent are read as the steps that they stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.actions import Element, Point, Selector
from pytest_webarena.browser.grammars import grammar
from tests.cases import each_case
from tests.widgets.cells import widgets
from tests.widgets.raw import Shown
from tests.widgets.translating import NoVerb, Unseen, id_of, reply

GRAMMARS = ("webarena", "playwright", "set_of_marks", "coordinates", "tools", "webcanvas")
AIMS = {"coordinates": "[10] [20]", "tools": "7", "webcanvas": "7"}
TARGETS = {"coordinates": Point(10, 20), "playwright": None}


@each_case("name", GRAMMARS)
def test_replies_are_read_as_the_steps_that_they_stand_for(name: str) -> None:
    steps: list[Any] = [step for widget in widgets() for task in widget.tasks for step in task.steps]
    for step in steps:
        try:
            action: Any = grammar(name).parse(reply(name, step, lambda target: AIMS.get(name, "[7]")))
        except NoVerb:
            continue
        aimed: dict[str, Any] = {
            key: TARGETS.get(name, Element("7")) for key in ("target", "to") if getattr(step, key, None)
        }
        if name == "playwright":  # its locators become selectors of their own
            aimed = {key: getattr(action, key) for key in aimed}
            assert all(isinstance(target, Selector) for target in aimed.values())
        assert action == replace(step, **aimed), name


OBSERVED = """Tab 0 (current): Shop
[1] RootWebArea 'Shop' focused: True
	[2] heading 'Tea'
	[3] StaticText 'City '
	[4] textbox 'City' required: True value: 'Rye'
	[5] link 'Tea and bread'
	[6] listitem ''
		[7] StaticText 'Jam'
	[8] slider '' value: '3'"""


@each_case(
    ("shown", "expected"),
    [
        (Shown("textbox", "City", "", None), "4"),
        (Shown("link", "Tea", "", None), "5"),
        (Shown("listitem", "", "Jam", None), "7"),
        (Shown("slider", "Volume", "", None), "8"),
    ],
)
def test_element_is_found_by_role_and_name_then_by_its_text(shown: Shown, expected: str) -> None:
    assert id_of(OBSERVED, shown) == expected


def test_element_without_a_line_is_reported() -> None:
    with pytest.raises(Unseen, match="no line for button 'Save'"):
        id_of(OBSERVED, Shown("button", "Save", "", None))
