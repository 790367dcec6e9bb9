"""All grammars: every action in each that can say it, as docs/actions.md shows; nothing makes a parser raise."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Back,
    Check,
    Click,
    CloseTab,
    DismissDialog,
    Drag,
    Element,
    FocusTab,
    Forward,
    Goto,
    Hover,
    Invalid,
    NewTab,
    Noop,
    Note,
    Point,
    Press,
    Reload,
    Scroll,
    Select,
    Selector,
    Stop,
    Type,
    Upload,
    Wait,
    as_record,
    infeasible,
)
from pytest_webarena.browser.grammars import grammar, grammars
from pytest_webarena.browser.grammars.tools import parse_call, tools

FUZZ = int(os.environ.get("WEBARENA_FUZZ", "60"))
"""Examples of each fuzzed property; more of them for a longer campaign."""
DOCS = Path(__file__).parents[3] / "docs" / "actions.md"
FENCED = ("webarena", "playwright", "set_of_marks", "coordinates")

E, P = Element("42"), Point(640, 360)
CART = Selector('internal:role=link[name="Cart"i]')
FIELD = Selector('internal:label="Name"i')
CART_CODE, FIELD_CODE = 'page.get_by_role("link", name="Cart")', 'page.get_by_label("Name")'

# What is done, then how each grammar says it and what that is read as.
EXAMPLES: dict[str, dict[str, tuple[str, Action]]] = {
    "click": {
        "webarena": ("click [42]", Click(E)),
        "playwright": (f"{CART_CODE}.click()", Click(CART)),
        "set_of_marks": ("click [42]", Click(E)),
        "coordinates": ("click [640] [360]", Click(P)),
        "tools": ('click {"element": "42"}', Click(E)),
        "webcanvas": ('{"action": "click", "element_id": 42}', Click(E)),
    },
    "double click": {
        "playwright": (f"{CART_CODE}.dblclick()", Click(CART, count=2)),
        "set_of_marks": ("double_click [42]", Click(E, count=2)),
        "coordinates": ("double_click [640] [360]", Click(P, count=2)),
        "tools": ('click {"element": "42", "count": 2}', Click(E, count=2)),
    },
    "right click": {
        "playwright": (f'{CART_CODE}.click(button="right")', Click(CART, "right")),
        "set_of_marks": ("right_click [42]", Click(E, "right")),
        "coordinates": ("click [640] [360] [right]", Click(P, "right")),
        "tools": ('click {"element": "42", "button": "right"}', Click(E, "right")),
    },
    "click with keys held": {
        "playwright": (f'{CART_CODE}.click(modifiers=["Shift"])', Click(CART, modifiers=("Shift",))),
        "set_of_marks": ("click [42] [Shift]", Click(E, modifiers=("Shift",))),
        "coordinates": ("click [640] [360] [Shift]", Click(P, modifiers=("Shift",))),
        "tools": ('click {"element": "42", "modifiers": ["Shift"]}', Click(E, modifiers=("Shift",))),
    },
    "hover": {
        "webarena": ("hover [42]", Hover(E)),
        "playwright": (f"{CART_CODE}.hover()", Hover(CART)),
        "set_of_marks": ("hover [42]", Hover(E)),
        "coordinates": ("hover [640] [360]", Hover(P)),
        "tools": ('hover {"element": "42"}', Hover(E)),
        "webcanvas": ('{"action": "hover", "element_id": 42}', Hover(E)),
    },
    "type": {
        "webarena": ("type [42] [tea] [0]", Type(E, "tea")),
        "playwright": (f'{FIELD_CODE}.type("tea")', Type(FIELD, "tea")),
        "set_of_marks": ("type [42] [tea]", Type(E, "tea")),
        "coordinates": ("type [640] [360] [tea]", Type(P, "tea")),
        "tools": ('type {"element": "42", "text": "tea"}', Type(E, "tea")),
    },
    "type and press Enter": {
        "webarena": ("type [42] [tea] [1]", Type(E, "tea", enter=True)),
        "set_of_marks": ("type [42] [tea] [1]", Type(E, "tea", enter=True)),
        "coordinates": ("type [640] [360] [tea] [1]", Type(P, "tea", enter=True)),
        "tools": ('type {"element": "42", "text": "tea", "enter": true}', Type(E, "tea", enter=True)),
    },
    "type where the cursor is": {
        "playwright": ('page.keyboard.type("tea")', Type(None, "tea")),
        "set_of_marks": ("type [tea]", Type(None, "tea")),
        "coordinates": ("type [tea]", Type(None, "tea")),
        "tools": ('type {"text": "tea"}', Type(None, "tea")),
    },
    "fill: type in place of what is there": {
        "playwright": (f'{FIELD_CODE}.fill("tea")', Type(FIELD, "tea", clear=True)),
        "set_of_marks": ("fill [42] [tea]", Type(E, "tea", clear=True)),
        "coordinates": ("fill [640] [360] [tea]", Type(P, "tea", clear=True)),
        "tools": ('type {"element": "42", "text": "tea", "clear": true}', Type(E, "tea", clear=True)),
        "webcanvas": ('{"action": "fill_form", "element_id": 42, "action_input": "tea"}', Type(E, "tea", clear=True)),
    },
    "fill and press Enter": {
        "set_of_marks": ("fill [42] [tea] [1]", Type(E, "tea", clear=True, enter=True)),
        "coordinates": ("fill [640] [360] [tea] [1]", Type(P, "tea", clear=True, enter=True)),
        "tools": (
            'type {"element": "42", "text": "tea", "clear": true, "enter": true}',
            Type(E, "tea", clear=True, enter=True),
        ),
        "webcanvas": (
            '{"action": "fill_search", "element_id": 42, "action_input": "tea"}',
            Type(E, "tea", clear=True, enter=True),
        ),
    },
    "clear a field": {
        "playwright": (f"{FIELD_CODE}.clear()", Type(FIELD, "", clear=True)),
        "set_of_marks": ("clear [42]", Type(E, "", clear=True)),
        "coordinates": ("clear [640] [360]", Type(P, "", clear=True)),
        "tools": ('type {"element": "42", "text": "", "clear": true}', Type(E, "", clear=True)),
    },
    "press keys": {
        "webarena": ("press [Control+a]", Press("Control+a")),
        "playwright": ('page.press("Control+a")', Press("Control+a")),
        "set_of_marks": ("press [Control+a]", Press("Control+a")),
        "coordinates": ("press [Control+a]", Press("Control+a")),
        "tools": ('press {"keys": "Control+a"}', Press("Control+a")),
    },
    "press keys in an element": {
        "playwright": (f'{FIELD_CODE}.press("Enter")', Press("Enter", FIELD)),
        "set_of_marks": ("press [42] [Enter]", Press("Enter", E)),
        "coordinates": ("press [640] [360] [Enter]", Press("Enter", P)),
        "tools": ('press {"keys": "Enter", "element": "42"}', Press("Enter", E)),
    },
    "scroll the page": {
        "webarena": ("scroll [down]", Scroll("down")),
        "playwright": ('page.scroll("down")', Scroll("down")),
        "set_of_marks": ("scroll [down]", Scroll("down")),
        "coordinates": ("scroll [down]", Scroll("down")),
        "tools": ('scroll {"direction": "down"}', Scroll("down")),
        "webcanvas": ('{"action": "scroll_down"}', Scroll("down")),
    },
    "scroll by pixels": {
        "playwright": ("page.mouse.wheel(0, 300)", Scroll("down", pixels=300)),
        "set_of_marks": ("scroll [down] [300]", Scroll("down", pixels=300)),
        "coordinates": ("scroll [down] [300]", Scroll("down", pixels=300)),
        "tools": ('scroll {"direction": "down", "pixels": 300}', Scroll("down", pixels=300)),
    },
    "scroll inside an element": {
        "set_of_marks": ("scroll [42] [down]", Scroll("down", E)),
        "coordinates": ("scroll [640] [360] [down]", Scroll("down", P)),
        "tools": ('scroll {"direction": "down", "element": "42"}', Scroll("down", E)),
    },
    "select options": {
        "playwright": (f'{FIELD_CODE}.select_option("Tea")', Select(FIELD, ("Tea",))),
        "set_of_marks": ("select [42] [Tea]", Select(E, ("Tea",))),
        "coordinates": ("select [640] [360] [Tea]", Select(P, ("Tea",))),
        "tools": ('select {"element": "42", "options": ["Tea"]}', Select(E, ("Tea",))),
        "webcanvas": (
            '{"action": "select_option", "element_id": 42, "action_input": "Tea"}',
            Select(E, ("Tea",)),
        ),
    },
    "check": {
        "playwright": (f"{FIELD_CODE}.check()", Check(FIELD)),
        "set_of_marks": ("check [42]", Check(E)),
        "coordinates": ("check [640] [360]", Check(P)),
        "tools": ('check {"element": "42"}', Check(E)),
    },
    "uncheck": {
        "playwright": (f"{FIELD_CODE}.uncheck()", Check(FIELD, checked=False)),
        "set_of_marks": ("uncheck [42]", Check(E, checked=False)),
        "coordinates": ("uncheck [640] [360]", Check(P, checked=False)),
        "tools": ('check {"element": "42", "checked": false}', Check(E, checked=False)),
    },
    "drag": {
        "playwright": (f"{CART_CODE}.drag_to({FIELD_CODE})", Drag(CART, FIELD)),
        "set_of_marks": ("drag [42] [7]", Drag(E, Element("7"))),
        "coordinates": ("drag [640] [360] [10] [20]", Drag(P, Point(10, 20))),
        "tools": ('drag {"element": "42", "to": "7"}', Drag(E, Element("7"))),
    },
    "upload a file": {
        "playwright": (f'{FIELD_CODE}.set_input_files("cv.pdf")', Upload(FIELD, ("cv.pdf",))),
        "set_of_marks": ("upload [42] [cv.pdf]", Upload(E, ("cv.pdf",))),
        "coordinates": ("upload [640] [360] [cv.pdf]", Upload(P, ("cv.pdf",))),
        "tools": ('upload {"element": "42", "files": ["cv.pdf"]}', Upload(E, ("cv.pdf",))),
    },
    "accept a dialog": {
        "playwright": ("dialog.accept()", AcceptDialog()),
        "set_of_marks": ("accept", AcceptDialog()),
        "coordinates": ("accept", AcceptDialog()),
        "tools": ("accept_dialog {}", AcceptDialog()),
    },
    "answer a prompt": {
        "playwright": ('dialog.accept("Ada")', AcceptDialog("Ada")),
        "set_of_marks": ("accept [Ada]", AcceptDialog("Ada")),
        "coordinates": ("accept [Ada]", AcceptDialog("Ada")),
        "tools": ('accept_dialog {"text": "Ada"}', AcceptDialog("Ada")),
    },
    "dismiss a dialog": {
        "playwright": ("dialog.dismiss()", DismissDialog()),
        "set_of_marks": ("dismiss", DismissDialog()),
        "coordinates": ("dismiss", DismissDialog()),
        "tools": ("dismiss_dialog {}", DismissDialog()),
    },
    "open an address": {
        "webarena": ("goto [http://shop.test/]", Goto("http://shop.test/")),
        "playwright": ('page.goto("http://shop.test/")', Goto("http://shop.test/")),
        "set_of_marks": ("goto [http://shop.test/]", Goto("http://shop.test/")),
        "coordinates": ("goto [http://shop.test/]", Goto("http://shop.test/")),
        "tools": ('goto {"url": "http://shop.test/"}', Goto("http://shop.test/")),
        "webcanvas": ('{"action": "goto", "action_input": "http://shop.test/"}', Goto("http://shop.test/")),
    },
    "go back": {
        "webarena": ("go_back", Back()),
        "playwright": ("page.go_back()", Back()),
        "set_of_marks": ("go_back", Back()),
        "coordinates": ("go_back", Back()),
        "tools": ("go_back {}", Back()),
        "webcanvas": ('{"action": "go_back"}', Back()),
    },
    "go forward": {
        "webarena": ("go_forward", Forward()),
        "playwright": ("page.go_forward()", Forward()),
        "set_of_marks": ("go_forward", Forward()),
        "coordinates": ("go_forward", Forward()),
        "tools": ("go_forward {}", Forward()),
    },
    "reload": {
        "playwright": ("page.reload()", Reload()),
        "set_of_marks": ("reload", Reload()),
        "coordinates": ("reload", Reload()),
        "tools": ("reload {}", Reload()),
    },
    "open a tab": {
        "webarena": ("new_tab", NewTab()),
        "playwright": ("page.new_tab()", NewTab()),
        "set_of_marks": ("new_tab", NewTab()),
        "coordinates": ("new_tab", NewTab()),
        "tools": ("new_tab {}", NewTab()),
    },
    "close the tab": {
        "webarena": ("close_tab", CloseTab()),
        "playwright": ("page.page_close()", CloseTab()),
        "set_of_marks": ("close_tab", CloseTab()),
        "coordinates": ("close_tab", CloseTab()),
        "tools": ("close_tab {}", CloseTab()),
    },
    "change to a tab": {
        "webarena": ("tab_focus [1]", FocusTab(1)),
        "playwright": ("page.page_focus(1)", FocusTab(1)),
        "set_of_marks": ("tab_focus [1]", FocusTab(1)),
        "coordinates": ("tab_focus [1]", FocusTab(1)),
        "tools": ('focus_tab {"index": 1}', FocusTab(1)),
        "webcanvas": ('{"action": "switch_tab", "action_input": "1"}', FocusTab(1)),
    },
    "wait": {
        "playwright": ("page.wait_for_timeout(3000)", Wait(3.0)),
        "set_of_marks": ("wait [3]", Wait(3.0)),
        "coordinates": ("wait [3]", Wait(3.0)),
        "tools": ('wait {"seconds": 3}', Wait(3.0)),
    },
    "do nothing": {
        "webarena": ("noop", Noop()),
        "playwright": ("page.noop()", Noop()),
        "set_of_marks": ("noop", Noop()),
        "coordinates": ("noop", Noop()),
        "tools": ("noop {}", Noop()),
        "webcanvas": ('{"action": "none"}', Noop()),
    },
    "keep a finding": {
        "playwright": ('page.note("12 in stock")', Note("12 in stock")),
        "set_of_marks": ("note [12 in stock]", Note("12 in stock")),
        "coordinates": ("note [12 in stock]", Note("12 in stock")),
        "tools": ('note {"text": "12 in stock"}', Note("12 in stock")),
        "webcanvas": ('{"action": "cache_data", "action_input": "12 in stock"}', Note("12 in stock")),
    },
    "answer and stop": {
        "webarena": ("stop [84.97]", Stop("84.97")),
        "playwright": ('page.stop("84.97")', Stop("84.97")),
        "set_of_marks": ("stop [84.97]", Stop("84.97")),
        "coordinates": ("stop [84.97]", Stop("84.97")),
        "tools": ('stop {"answer": "84.97"}', Stop("84.97")),
        "webcanvas": ('{"action": "get_final_answer", "action_input": "84.97"}', Stop("84.97")),
    },
    "say that it can't be done": {
        "webarena": ("stop [N/A]", Stop("N/A")),
        "playwright": ('page.report_infeasible("no such shop")', infeasible("no such shop")),
        "set_of_marks": ("infeasible [no such shop]", infeasible("no such shop")),
        "coordinates": ("infeasible [no such shop]", infeasible("no such shop")),
        "tools": ('report_infeasible {"reason": "no such shop"}', infeasible("no such shop")),
        "webcanvas": ('{"action": "get_final_answer", "action_input": "N/A"}', Stop("N/A")),
    },
}


def reply(name: str, example: str) -> str:
    """The example as an agent would write it."""
    if name in FENCED:
        return f"I think so. ```{example}``` That is it."
    if name == "tools":
        tool, _, arguments = example.partition(" ")
        return f'I think so. {{"name": "{tool}", "arguments": {arguments}}}'
    return f"I think so.\n```json\n{example}\n```"


@pytest.mark.parametrize(
    ("name", "example", "action"),
    [(name, *said) for row in EXAMPLES.values() for name, said in row.items()],
    ids=[f"{name}: {done}" for done, row in EXAMPLES.items() for name in row],
)
def test_every_action_in_every_grammar_that_can_say_it(name: str, example: str, action: Action) -> None:
    assert grammar(name).parse(reply(name, example)) == action


def table() -> str:
    """The table of docs/actions.md."""
    lines = ["| | " + " | ".join(f"`{name}`" for name in grammars()) + " |", "|---" * (1 + len(grammars())) + "|"]
    for done, row in EXAMPLES.items():
        cells = [f"`{row[name][0]}`" if name in row else "" for name in grammars()]
        lines.append(f"| {done} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_the_documented_table_is_this_one() -> None:
    assert table() in DOCS.read_text("utf-8")


def test_a_grammar_explains_what_it_accepts() -> None:
    for name in grammars():
        text = grammar(name).describe()
        said = [example for row in EXAMPLES.values() for each, (example, _) in row.items() if each == name]
        for example in said:
            if (name, example) == ("webarena", "noop"):
                continue  # understood, but upstream's agents are not told of it
            verb = example.split("(")[-2].split(".")[-1] if name == "playwright" else example.split()[0].split("[")[0]
            if name == "webcanvas":
                verb = json.loads(example)["action"]
            assert verb in text, (name, verb)


# --- near misses become feedback


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


# --- nothing makes a parser raise

_WORDS = sorted(
    {
        piece
        for row in EXAMPLES.values()
        for example, _ in row.values()
        for piece in example.replace("(", " ( ").replace(")", " ) ").replace('"', ' " ').split()
    }
    | {
        "```",
        "[",
        "]",
        "{",
        "}",
        "()",
        ".",
        ",",
        "\\",
        "'",
        "re.compile",
        "nan",
        "1e999",
        "-1",
        "\x00",
        "\ud800",
        "9" * 5000,
    }
)
_ALMOST = st.lists(st.sampled_from(_WORDS) | st.text(max_size=5), max_size=12).map(" ".join)
_MANGLED = st.builds(
    lambda example, at, extra, cut: (
        example[: at % (len(example) + 1)] + extra + example[(at + cut) % (len(example) + 1) :]
    ),
    st.sampled_from([example for row in EXAMPLES.values() for example, _ in row.values()]),
    st.integers(0, 200),
    st.text(max_size=4) | st.sampled_from(_WORDS),
    st.integers(0, 8),
)
_TEXTS = st.text(max_size=60) | _ALMOST | _MANGLED
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(_WORDS[:80]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_KEYS = sorted({name for tool in tools(targets="both") for name in tool["parameters"]["properties"]})


def check(action: object) -> None:
    """It is an action, and its record is JSON."""
    assert isinstance(action, Action)
    json.dumps(as_record(action))
    assert asdict(action) is not None


@pytest.mark.parametrize("name", grammars())
@settings(max_examples=FUZZ, deadline=None)
@given(text=_TEXTS, fenced=st.booleans())
def test_any_text_is_read(name: str, text: str, fenced: bool) -> None:
    check(grammar(name).parse(f"```{text}```" if fenced else text))


@settings(max_examples=2 * FUZZ, deadline=None)
@given(
    name=st.sampled_from([tool["name"] for tool in tools()]) | st.text(max_size=8),
    arguments=st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=8), _JSON, max_size=4) | _JSON,
)
def test_any_call_is_read(name: str, arguments: Any) -> None:
    check(parse_call(name, arguments))


@settings(max_examples=FUZZ, deadline=None)
@given(
    found=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("action", "action_input", "element_id", "name", "arguments", "function"), _JSON)
    ),
    name=st.sampled_from(["tools", "webcanvas"]),
    verb=st.sampled_from(["click", "goto", "switch_tab", "fill_form", "focus_tab"]),
)
def test_any_object_is_read(found: dict[str, Any], name: str, verb: str) -> None:
    check(grammar(name).parse(json.dumps(found)))
    check(grammar(name).parse(json.dumps({**found, "action": verb, "name": verb})))


@pytest.mark.parametrize("name", grammars())
@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "page" + ".first" * 5000 + ".click()",
        "page.goto(" + "[" * 5000,
        "{" * 5000,
        "[" * 20_000,
        "type [1] " + "[x] " * 20_000,
    ],
)
def test_deep_and_long_replies_end(name: str, text: str) -> None:
    check(grammar(name).parse(text))
    check(grammar(name).parse(f"```{text}```"))
