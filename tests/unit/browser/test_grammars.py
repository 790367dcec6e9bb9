"""All grammars: every action in each grammar that supports it, as docs/actions.md shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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
    NewTab,
    Noop,
    Note,
    Point,
    Press,
    Reload,
    Scroll,
    Search,
    Select,
    Selector,
    Stop,
    Type,
    Upload,
    Wait,
    infeasible,
)
from pytest_webarena.browser.grammars import grammar, grammars
from tests.cases import each_case

DOCS = Path(__file__).parents[3] / "docs" / "actions.md"
FENCED = ("webarena", "playwright", "set_of_marks", "coordinates")

E, P = Element("42"), Point(640, 360)
CART = Selector('internal:role=link[name="Cart"i]')
FIELD = Selector('internal:label="Name"i')
CART_CODE, FIELD_CODE = 'page.get_by_role("link", name="Cart")', 'page.get_by_label("Name")'

# Each action with its text in every grammar and the parsed result.
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
    "search the web": {
        "webcanvas": ('{"action": "search", "action_input": "kettle"}', Search("kettle")),
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
    """Return the example as an agent would write it."""
    if name in FENCED:
        return f"I think so. ```{example}``` That is it."
    if name == "tools":
        tool, _, arguments = example.partition(" ")
        return f'I think so. {{"name": "{tool}", "arguments": {arguments}}}'
    return f"I think so.\n```json\n{example}\n```"


@each_case(
    ("name", "example", "action"),
    [(name, *said) for row in EXAMPLES.values() for name, said in row.items()],
    ids=[f"{name}: {done}" for done, row in EXAMPLES.items() for name in row],
)
def test_every_grammar_parses_its_documented_actions(name: str, example: str, action: Action) -> None:
    assert grammar(name).parse(reply(name, example)) == action


def table() -> str:
    """Return the table of docs/actions.md."""
    lines = ["| | " + " | ".join(f"`{name}`" for name in grammars()) + " |", "|---" * (1 + len(grammars())) + "|"]
    for done, row in EXAMPLES.items():
        cells = [f"`{row[name][0]}`" if name in row else "" for name in grammars()]
        lines.append(f"| {done} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_documented_table_of_grammars_is_current() -> None:
    assert table() in DOCS.read_text("utf-8")


def test_grammar_description_names_every_action() -> None:
    for name in grammars():
        text = grammar(name).describe()
        examples = [example for row in EXAMPLES.values() for each, (example, _) in row.items() if each == name]
        assert examples, name
        for example in examples:
            if (name, example) == ("webarena", "noop"):
                continue  # parsed, but not described to agents, as upstream
            verb = example.split("(")[-2].split(".")[-1] if name == "playwright" else example.split()[0].split("[")[0]
            if name == "webcanvas":
                verb = json.loads(example)["action"]
            assert verb in text, (name, verb)


ARGUMENT = "Let x be in [a, b].\n\nThen [1] holds.\n```python\nx = [1,2]\n```\nSo `code`.\nANSWER: (c)"


@pytest.mark.parametrize("name", ["webarena", "set_of_marks", "coordinates"])
def test_answer_with_brackets_and_fences_is_parsed_whole(name: str) -> None:
    parse = grammar(name).parse
    for after in ("", " Done. ```go_back```", "\nThat is all."):
        assert parse(f"So.\n```stop [{ARGUMENT}]```{after}") == Stop(ARGUMENT)
