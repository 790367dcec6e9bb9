"""Parsing of single solution steps typed as text."""

from __future__ import annotations

import pytest

from pytest_webarena.actions import Action, Back, Click, Goto, Press, Selector, Stop, Type
from pytest_webarena.tasks.step_text import parse_step
from tests.cases import each_case


@each_case(
    ("text", "actions"),
    [
        ('click: role=button[name="Save"]', [Click(Selector('role=button[name="Save"]'))]),
        ("- click: css=#save", [Click(Selector("css=#save"))]),
        ("fill: {css=#a: x, css=#b: 'y: z'}",
         [Type(Selector("css=#a"), "x", clear=True), Type(Selector("css=#b"), "y: z", clear=True)]),
        ("goto: /cart", [Goto("shop:/cart")]),
        ('goto: "/cart"', [Goto("shop:/cart")]),
        ("goto: map:/x", [Goto("map:/x")]),
        ("press: Enter", [Press("Enter")]),
        ("back", [Back()]),
        ('stop: "84.97"', [Stop("84.97")]),
    ],
)  # fmt: skip
def test_typed_steps_become_actions(text: str, actions: list[Action]) -> None:
    assert parse_step(text, "shop") == tuple(actions)


@each_case("text", ["", "s", "stop", "click [42]", "type [7] [a: b] [1]", "stop [goto: x]", "clicks: a"])
def test_agent_action_texts_are_no_steps(text: str) -> None:
    assert parse_step(text, "shop") is None


@each_case(
    ("text", "message"),
    [
        ("click: css=a[", "expected a Playwright selector, found no ] in 'css=a['"),
        ("fill: css=#a", "expected a mapping from a selector to text"),
        ("wait", "write 'wait: …'"),
        ("click: [", "expected valid YAML"),
        ("goto: x", "expected an address"),
    ],
)
def test_invalid_typed_steps_are_reported(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="expected") as raised:
        parse_step(text, "shop")
    assert message in str(raised.value)
