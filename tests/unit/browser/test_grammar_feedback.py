"""Malformed actions become feedback, never an exception; points, tool calls and lenient parsing."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from pytest_webarena.actions import (
    Action,
    Back,
    Check,
    Click,
    CloseTab,
    Drag,
    Element,
    FocusTab,
    Forward,
    Goto,
    Hover,
    Invalid,
    NewTab,
    Noop,
    Point,
    Press,
    Scroll,
    Select,
    Selector,
    Stop,
    Type,
    Upload,
    Wait,
)
from pytest_webarena.browser.acting.equivalence import equivalent
from pytest_webarena.browser.acting.keys import playwright_keys
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.browser.grammars.tools import parse_call, tools
from tests.cases import each_case
from tests.unit.browser.test_grammars import EXAMPLES


@each_case(
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
        ("playwright", "```click('a51')```", "expects the number in brackets that the latest observation shows"),
        ("playwright", "click('a51')", "'a51' is an id of BrowserGym's own tree"),
        ("playwright", "fill('b12', 'tea')", "fill() expects the number in brackets"),
        ("playwright", "press('cA7', 'Enter')", "press() expects the number in brackets"),
        ("playwright", "drag_and_drop('5', 'a6')", "'a6' is an id of BrowserGym's own tree"),
        ("playwright", "I would click('51')", "No action found"),
        ("playwright", "```click([4, 5])```", "click() expects a text in quotes"),
        ("playwright", "```fill(value='tea')```", "page has no action 'fill'"),
        ("playwright", "```stop(str(total))```", "arguments have to be texts in quotes"),
        ("playwright", "```scroll(0, 0)```", "scroll() expects how far to scroll"),
        ("playwright", '```page.stop("a")\npage.click("b")```', "expected one call"),
        ("playwright", '```page.stop("a"); page.click("b")```', "expected one call"),
        ("playwright", '```page.stop("a "b" c")\npage.click("b")```', "can't be read as code"),
        ("playwright", '```page.stop("a").then("b")```', "an element has no action 'then'"),
        ("playwright", "```answer = 4\npage.stop(answer)```", "expected one call"),
        ("webarena", "```click('a51')```", "written as a call; expected a verb and its arguments in brackets"),
        ("webarena", "```click [a51]```", "id is the number in brackets before an element of the latest observation"),
        ("webarena", "```fill('51', 'x')```", "'fill' is no action"),
        ("set_of_marks", "```fill('a51', 'x')```", "expected a verb and its arguments in brackets, e.g. click [42]."),
        ("set_of_marks", "```fill [a51] [x]```", "id is the number in brackets before an element"),
        ("coordinates", "```click('a51')```", "e.g. click [640] [360]"),
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
def test_malformed_action_is_invalid_with_a_reason(name: str, text: str, reason: str) -> None:
    action = grammar(name).parse(text)
    assert isinstance(action, Invalid)
    assert reason in action.reason
    assert action.text == text


@each_case(
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
def test_playwright_calls_are_parsed(code: str, action: Action) -> None:
    assert grammar("playwright").parse(f"```{code}```") == action


@each_case(
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
def test_coordinate_actions_are_parsed(text: str, action: Action) -> None:
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


def test_tool_calls_are_parsed_leniently() -> None:
    assert parse_call("click", {"element": 4}) == Click(Element("4"))
    assert parse_call("click", '{"element": "[4]", "button": null}') == Click(Element("4"))
    assert parse_call("click", {"x": "10", "y": 20}) == Click(Point(10, 20))
    assert parse_call("drag", {"element": "1", "to_x": 5, "to_y": 6}) == Drag(Element("1"), Point(5, 6))
    assert parse_call("select", {"element": "4", "options": "Tea"}) == Select(Element("4"), ("Tea",))
    assert parse_call("press", {"keys": 4}) == Press("4")
    assert parse_call("scroll", {"direction": "DOWN"}) == Scroll("down")
    assert parse_call("go_back", "") == parse_call("go_back", None) == parse_call("go_back", {}) == Back()
    assert parse_call("stop") == Stop("")
    assert parse_call("stop", '{"answer": 54.35194}') == Stop("54.35194")
    assert parse_call("stop", {"answer": ["Ann Lee", 3]}) == Stop("Ann Lee\n3")
    assert parse_call("stop", {"answer": False}) == Stop("no")
    assert parse_call("stop", {"answer": {"a": 1}}) == Stop('{"a": 1}')
    openai = {"tool_calls": [{"function": {"name": "noop", "arguments": "{}"}}]}
    assert grammar("tools").parse(json.dumps(openai)) == Noop()


@each_case("arguments", ["{", "[]", "[" * 100_000, 5, ["a"], {1: 2}, {"element": {}}, {"element": True}])
def test_malformed_tool_calls_are_invalid(arguments: Any) -> None:
    assert isinstance(parse_call("click", arguments), Invalid)


@each_case(
    ("code", "action"),
    [
        ("click('51')", Click(Element("51"))),
        ("click(51)", Click(Element("51"))),
        ("click('[51]')", Click(Element("51"))),
        ("click(bid='51', button='right')", Click(Element("51"), "right")),
        ("click('51', 'middle', ['Shift'])", Click(Element("51"), "middle", 1, ("Shift",))),
        ("click('h1')", Click(Selector("h1"))),
        ("page.click('#a51')", Click(Selector("#a51"))),
        ("dblclick('51')", Click(Element("51"), count=2)),
        ("hover('51')", Hover(Element("51"))),
        ("fill('51', 'x')", Type(Element("51"), "x", clear=True)),
        ("fill(bid='51', value='x')", Type(Element("51"), "x", clear=True)),
        ("clear('51')", Type(Element("51"), "", clear=True)),
        ("press('51', 'Enter')", Press("Enter", Element("51"))),
        ("press(bid='51', key_comb='ctrl+a')", Press("ctrl+a", Element("51"))),
        ("check('51')", Check(Element("51"))),
        ("uncheck('51')", Check(Element("51"), checked=False)),
        ("select_option('51', ['a', 'b'])", Select(Element("51"), ("a", "b"))),
        ("select_option('51', options='a')", Select(Element("51"), ("a",))),
        ("drag_and_drop('5', '6')", Drag(Element("5"), Element("6"))),
        ("upload_file('51', 'cv.pdf')", Upload(Element("51"), ("cv.pdf",))),
        ("scroll(0, 200)", Scroll("down", pixels=200)),
        ("scroll(-50.5, 10)", Scroll("left", pixels=50.5)),
        ("scroll(delta_x=0, delta_y=-9)", Scroll("up", pixels=9)),
        ("mouse_click(5, 6, 'right')", Click(Point(5, 6), "right")),
        ("mouse_dblclick(5, 6)", Click(Point(5, 6), count=2)),
        ("mouse_move(5, 6)", Hover(Point(5, 6))),
        ("mouse_drag_and_drop(1, 2, 3, 4)", Drag(Point(1, 2), Point(3, 4))),
        ("keyboard_press('Enter')", Press("Enter")),
        ("keyboard_type('tea')", Type(None, "tea")),
        ("keyboard_insert_text('tea')", Type(None, "tea")),
        ("send_msg_to_user('it\\'s 3')", Stop("it's 3")),
        ("report_infeasible('no shop')", Stop("N/A", "no shop")),
        ("noop()", Noop()),
        ("noop(500)", Wait(0.5)),
        ("goto('http://a.test')", Goto("http://a.test")),
        ("go_back()", Back()),
        ("go_forward()", Forward()),
        ("new_tab()", NewTab()),
        ("tab_focus(1)", FocusTab(1)),
        ("tab_focus(index=1)", FocusTab(1)),
        ("tab_close()", CloseTab()),
    ],
)
def test_browsergym_calls_act_on_element_ids(code: str, action: Action) -> None:
    assert grammar("playwright").parse(f"I think so. ```{code}```") == action
    if not code.startswith("page."):
        assert grammar("playwright").parse(code) == action  # the form that its agents pass on


@each_case(
    ("code", "action"),
    [
        ("browser.new_tab()", NewTab()),
        ("browser.page_focus(1)", FocusTab(1)),
        ("page_focus(1)", FocusTab(1)),
        ("page.stop(answer)", Stop("")),
        ("page.stop()", Stop("")),
        ("page.stop(42)", Stop("42")),
        ('page.stop("a "b" c")', Stop('a "b" c')),
        ('stop("a "b" c")', Stop('a "b" c')),
        ('page.stop("3.5 (about "four")")', Stop('3.5 (about "four")')),
        ('page.stop("one\ntwo")', Stop("one\ntwo")),
        ("page.stop('it's there')", Stop("it's there")),
    ],
)
def test_webarena_playwright_forms_are_parsed(code: str, action: Action) -> None:
    assert grammar("playwright").parse(f"```{code}```") == action


@each_case("written", ["ctrl", "Ctrl", "CONTROL", "Control"])
def test_modifier_names_match_key_names(written: str) -> None:
    held = Click(Element("4"), modifiers=("Control",))
    assert parse_call("click", {"element": "4", "modifiers": [written]}) == held
    assert grammar("set_of_marks").parse(f"```click [4] [{written}]```") == held
    pressed = (
        grammar("webarena").parse(f"```press [{written}+a]```"),
        grammar("playwright").parse(f'```page.press("{written}+a")```'),
        grammar("set_of_marks").parse(f"```press [{written}+a]```"),
        grammar("coordinates").parse(f"```press [{written}+a]```"),
        parse_call("press", {"keys": f"{written}+a"}),
    )
    assert all(equivalent(press, Press("Control+a")) for press in pressed)
    assert all(isinstance(press, Press) and playwright_keys(press.keys) == "Control+a" for press in pressed)
