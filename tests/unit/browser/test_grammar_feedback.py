"""What is almost an action becomes feedback, never an exception; points, tool calls, sloppy models."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from pytest_webarena.actions import (
    Action,
    Back,
    Click,
    Drag,
    Element,
    Hover,
    Invalid,
    Noop,
    Point,
    Press,
    Scroll,
    Select,
    Selector,
    Stop,
    Type,
    Wait,
)
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.browser.grammars.tools import parse_call, tools
from tests.unit.browser.test_grammars import EXAMPLES


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("playwright", "```page.locator('a').explode()```", "an element has no action 'explode'"),
        ("playwright", "```page.explode()```", "page has no action 'explode'"),
        ("playwright", "```page.get_by_magic('a').click()```", "there is no locator 'get_by_magic'"),
        ("playwright", "```page.locator('a').click```", "parentheses are missing after 'click'"),
        ("playwright", "```page.goto(url)```", "arguments have to be texts in quotes"),
        ("playwright", "```page.goto(open('/etc/passwd').read())```", "there is no locator 'open'"),
        ("playwright", "```page.goto('a'); page.goto('b')```", "expected one call"),
        ("playwright", "```x = page.goto('a')```", "expected one call"),
        ("playwright", "```page.goto('a```", "can't be read as code"),
        ("playwright", "```browser.close()```", "begins with 'browser' instead of page"),
        ("playwright", "```(lambda: page)().goto('a')```", "a chain of calls that begins with page"),
        ("playwright", "```page.locator(**{'selector': 'a'}).click()```", "** is not understood"),
        ("playwright", "page.reload()", "No action found"),
        ("set_of_marks", "```click [4] [sideways]```", "click [id]"),
        ("set_of_marks", "```clik [4]```", "did you mean 'click'"),
        ("set_of_marks", "```drag [4]```", "drag [id] [id]"),
        ("set_of_marks", "```scroll [4] [down] [far]```", "scroll [id] [down]"),
        ("coordinates", "```click [4]```", "click [x] [y]"),
        ("coordinates", "```click [1e999] [1]```", "click [x] [y]"),
        ("tools", '{"name": "clik", "arguments": {}}', "did you mean 'click'"),
        ("tools", '{"name": "click", "arguments": {}}', "'element or x' is missing"),
        ("tools", '{"name": "click", "arguments": {"element": "4", "speed": 2}}', "no argument 'speed'"),
        ("tools", '{"name": "click", "arguments": {"x": 4}}', "both 'x' and 'y'"),
        ("tools", '{"name": "click", "arguments": {"element": "4", "button": "fourth"}}', "one of left, right, middle"),
        ("tools", '{"name": "focus_tab", "arguments": {"index": 1.5}}', "a whole number"),
        ("tools", '{"name": "wait", "arguments": {"seconds": NaN}}', "expected a number"),
        ("tools", '{"name": "click", "arguments": [4]}', "not a JSON object"),
        ("tools", "click(4)", "Reply with a JSON object"),
        ("webcanvas", '{"action": "jump"}', "'jump' is no action"),
        ("webcanvas", '{"action": "click", "element_id": "the button"}', "expected a number from the observation"),
        ("webcanvas", '{"action": "goto"}', "expected text as 'action_input'"),
        ("webcanvas", '{"action": "switch_tab", "action_input": "next"}', "makes no sense"),
    ],
)
def test_what_is_no_action_says_why(name: str, text: str, reason: str) -> None:
    action = grammar(name).parse(text)
    assert isinstance(action, Invalid)
    assert reason in action.reason
    assert action.text == text


@pytest.mark.parametrize(
    ("code", "action"),
    [
        ("await page.locator('#a').click()", Click(Selector("#a"))),
        ("python\npage.locator('#a').click()", Click(Selector("#a"))),
        ("page.click('#a')", Click(Selector("#a"))),
        ("page.fill('#a', 'x')", Type(Selector("#a"), "x", clear=True)),
        ("page.locator('li').first.click()", Click(Selector("li >> nth=0"))),
        ("page.locator('li').nth(2).last.click()", Click(Selector("li >> nth=2 >> nth=-1"))),
        (
            "page.get_by_role('row').filter(has_text='Ada', has_not=page.get_by_text('x'))"
            ".get_by_role('button').click()",
            Click(
                Selector(
                    'internal:role=row >> internal:has-text="Ada"i >> '
                    'internal:has-not="internal:text=\\"x\\"i" >> internal:role=button'
                )
            ),
        ),
        (
            "page.get_by_role('heading', name='A', exact=True, level=2).hover()",
            Hover(Selector('internal:role=heading[level=2][name="A"s]')),
        ),
        ("page.get_by_text(re.compile('^a/b$', re.I)).hover()", Hover(Selector("internal:text=/^a\\/b$/i"))),
        (
            "page.frame_locator('iframe').get_by_placeholder('q').hover()",
            Hover(Selector('iframe >> internal:control=enter-frame >> internal:attr=[placeholder="q"i]')),
        ),
        ("page.get_by_test_id('go').hover()", Hover(Selector('internal:testid=[data-testid="go"s]'))),
        ("page.mouse.dblclick(3, y=4)", Click(Point(3, 4), count=2)),
        ("page.mouse.wheel(-200, 0)", Scroll("left", pixels=200)),
        ("stop('x')", Stop("x")),
        ("page.stop()", Stop("")),
    ],
)
def test_playwright_calls_are_read_as_playwright_means_them(code: str, action: Action) -> None:
    assert grammar("playwright").parse(f"```{code}```") == action


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("click [0.5] [0.25]", Click(Point(0.5, 0.25, relative=True))),  # as WebArena's own coordinates
        ("click [1.0, 0]", Click(Point(1.0, 0.0, relative=True))),
        ("click [1] [1]", Click(Point(1, 1))),
        ("click [640.5, 2]", Click(Point(640.5, 2))),
        ("type [10] [20] [a] [b] [1]", Type(Point(10, 20), "a] [b", enter=True)),
        ("type [naïve “quotes”\n漢字 😀]", Type(None, "naïve “quotes”\n漢字 😀")),
        ("click [1] [2] [double] [ctrl]", Click(Point(1, 2), count=2, modifiers=("Control",))),
        ("scroll [1] [2] [up] [50]", Scroll("up", Point(1, 2), 50)),
        ("wait", Wait()),
        ("stop", Stop("")),
    ],
)
def test_points_and_their_like(text: str, action: Action) -> None:
    assert grammar("coordinates").parse(f"```{text}```") == action


# --- tools


def test_tools_are_valid_schemas_and_their_examples_fit() -> None:
    for targets, element in (("elements", True), ("points", False), ("both", True)):
        by_name = {tool["name"]: tool for tool in tools(targets=targets)}  # type: ignore[arg-type]
        for tool in by_name.values():
            assert set(tool) == {"name", "description", "parameters"}
            jsonschema.Draft202012Validator.check_schema(tool["parameters"])
        for row in EXAMPLES.values():
            if "tools" in row and element:
                name, _, arguments = row["tools"][0].partition(" ")
                jsonschema.validate(json.loads(arguments), by_name[name]["parameters"])


def test_calls_come_as_mappings_or_as_json_and_models_are_sloppy() -> None:
    assert parse_call("click", {"element": 4}) == Click(Element("4"))
    assert parse_call("click", '{"element": "[4]", "button": null}') == Click(Element("4"))
    assert parse_call("click", {"x": "10", "y": 20}) == Click(Point(10, 20))
    assert parse_call("drag", {"element": "1", "to_x": 5, "to_y": 6}) == Drag(Element("1"), Point(5, 6))
    assert parse_call("select", {"element": "4", "options": "Tea"}) == Select(Element("4"), ("Tea",))
    assert parse_call("press", {"keys": 4}) == Press("4")
    assert parse_call("scroll", {"direction": "DOWN"}) == Scroll("down")
    assert parse_call("go_back", "") == parse_call("go_back", None) == parse_call("go_back", {}) == Back()
    assert parse_call("stop") == Stop("")
    openai = {"tool_calls": [{"function": {"name": "noop", "arguments": "{}"}}]}
    assert grammar("tools").parse(json.dumps(openai)) == Noop()


@pytest.mark.parametrize("arguments", ["{", "[]", "[" * 100_000, 5, ["a"], {1: 2}, {"element": {}}, {"element": True}])
def test_calls_that_are_none(arguments: Any) -> None:
    assert isinstance(parse_call("click", arguments), Invalid)
