"""Steps read from the browser events of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest

from pytest_webarena.recorder.steps import steps_of
from pytest_webarena.recorder.writing import as_step
from pytest_webarena.signals import (
    AddressChanged,
    ControlRecord,
    DialogClosed,
    DialogOpened,
    DomEvent,
    ElementRecord,
    KeyPressed,
    Signal,
    TabClosed,
    TargetRecord,
)
from tests.cases import each_case

FIELD = {"id": "title"}
LABEL = ControlRecord(place=1, name="Size", text="Size")
ROLES = {"input": "textbox", "textarea": "textbox", "select": "combobox", "button": "button", "a": "link"}


class Browser:
    """Makes browser events with a fake clock."""

    def __init__(self) -> None:
        self.clock = (each / 100 for each in count(100_000))
        self.signals: list[Signal] = []
        self.url = "http://a.test/"

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds * 100)):
            next(self.clock)

    def dom(self, event: str, tag: str, value: str | None = None, **more: Any) -> None:
        """``tab``, ``role``, ``name``, ``around`` and ``control`` of the event, and the element's attributes."""
        name, around = more.pop("name", ""), more.pop("around", ())
        role, tab, control = more.pop("role", ""), more.pop("tab", 0), more.pop("control", None)
        selects, omits = more.pop("selects", False), more.pop("omits", "")
        attributes: dict[str, str] = more
        selector = f"#{attributes['id']}" if "id" in attributes else tag
        target = TargetRecord(selector=selector, role=role or ROLES.get(tag, "generic"), name=name, tag=tag, text=name)
        chain = (ElementRecord(tag=tag, attributes=attributes, nth=1, nth_of_type=1, of_type=1), *around)
        self.signals.append(
            DomEvent(
                time=next(self.clock), tab=tab, url=self.url, event=event, target=target, value=value,
                chain=chain, control=control, selects=selects, omits=omits,
            )
        )  # fmt: skip

    def shows(self, url: str, cause: Any = "page", tab: int = 0) -> None:
        self.signals.append(AddressChanged(time=next(self.clock), tab=tab, url=url, cause=cause))

    def dialog(self, kind: str, *, accepted: bool, text: str = "", proposed: str = "") -> None:
        at: Mapping[str, Any] = {"tab": 0, "url": "http://a.test/"}
        opened = DialogOpened(time=next(self.clock), dialog=kind, message="?", proposed=proposed, **at)
        self.signals += [opened, DialogClosed(time=next(self.clock), accepted=accepted, text=text, **at)]

    def key(self, keys: str, tag: str = "body", **attributes: str) -> None:
        role, name = ROLES.get(tag, "generic"), attributes.pop("name", "")
        target = TargetRecord(selector=tag, role=role, name=name, tag=tag)
        chain = (ElementRecord(tag=tag, attributes=attributes, nth=1, nth_of_type=1, of_type=1),)
        self.signals.append(
            KeyPressed(time=next(self.clock), tab=0, url="http://a.test/", keys=keys, target=target, chain=chain)
        )

    def closes(self, tab: int, cause: Any = "browser") -> None:
        self.signals.append(TabClosed(time=next(self.clock), tab=tab, url="http://a.test/", cause=cause))

    def steps(self, before: int = 0) -> list[Any]:
        return [as_step(step.action) for step in steps_of(self.signals, before=before)]


@pytest.fixture
def browser() -> Browser:
    return Browser()


def test_typed_text_is_one_fill_without_a_click(browser: Browser) -> None:
    browser.dom("click", "input", "", **FIELD)
    for text in ("R", "Ry", "Rye"):
        browser.dom("input", "input", text, **FIELD)
    browser.dom("change", "input", "Rye", **FIELD)
    assert browser.steps() == [{"fill": {"css=#title": "Rye"}}]


def test_selecting_text_is_a_step_only_if_the_page_navigates(browser: Browser) -> None:
    browser.dom("click", "p", selects=True)
    browser.dom("click", "button", selects=True, name="Save")
    browser.dom("click", "b", selects=True, control=LABEL, around=[ElementRecord(tag="label")])
    browser.dom("click", "div", selects=True, id="text", contenteditable="")
    browser.dom("click", "td", selects=True, id="row")
    browser.shows("http://a.test/over")
    browser.dom("click", "p", selects=True)
    browser.wait(6)
    browser.shows("http://a.test/later")
    assert browser.steps() == [{"click": step} for step in ('role=button[name="Save"s]', "css=#text", "css=#row")]


def test_returning_to_a_field_is_another_fill(browser: Browser) -> None:
    for id, text in (("a", "x"), ("b", "y"), ("a", "z")):
        browser.dom("input", "input", text, id=id)
    assert browser.steps() == [{"fill": {"css=#a": "x"}}, {"fill": {"css=#b": "y"}}, {"fill": {"css=#a": "z"}}]


def test_enter_that_submits_a_form_is_no_button_click(browser: Browser) -> None:
    browser.dom("input", "input", "Rye", **FIELD)
    browser.wait(1)
    browser.dom("click", "input", "Rye", **FIELD)
    browser.dom("keydown", "input", "Rye", **FIELD)
    browser.dom("change", "input", "Rye", **FIELD)
    browser.dom("click", "button", type="submit", name="Find")
    browser.dom("submit", "form")
    browser.shows("http://a.test/found?q=Rye")
    assert browser.steps() == [{"fill": {"css=#title": "Rye"}}, {"press": {"css=#title": "Enter"}}]


def test_button_clicked_after_enter_is_a_step(browser: Browser) -> None:
    browser.dom("keydown", "input", "", **FIELD)
    browser.wait(2)
    browser.dom("click", "button", type="submit", name="Find")
    assert browser.steps() == [{"press": {"css=#title": "Enter"}}, {"click": 'role=button[name="Find"s]'}]


def test_enter_on_a_link_is_a_click(browser: Browser) -> None:
    browser.dom("keydown", "a", href="/map", name="Map")
    browser.dom("click", "a", href="/map", name="Map")
    assert browser.steps() == [{"click": 'role=link[name="Map"s]'}]


def test_enter_in_a_textarea_is_part_of_its_text(browser: Browser) -> None:
    browser.dom("input", "textarea", "one", **FIELD)
    browser.dom("keydown", "textarea", "one", **FIELD)
    browser.dom("input", "textarea", "one\n", **FIELD)
    browser.dom("input", "textarea", "one\ntwo", **FIELD)
    assert browser.steps() == [{"fill": {"css=#title": "one\ntwo"}}]


def test_checkbox_becomes_check_and_uncheck(browser: Browser) -> None:
    for value in ("on", "off"):
        for event in ("click", "input", "change"):
            browser.dom(
                event, "input", None if event == "click" else value, type="checkbox", id="terms", role="checkbox"
            )
        browser.wait(1)
    assert browser.steps() == [{"uncheck": "css=#terms"}]  # the final state; both events are one step


def test_clicked_label_becomes_a_click(browser: Browser) -> None:
    label = ElementRecord(tag="label")
    browser.dom(
        "click", "span", name="I agree", around=[label], control=ControlRecord(place=1, name="I agree", text="I agree")
    )
    browser.dom("click", "input", type="checkbox", id="terms", role="checkbox", around=[label])
    browser.dom("input", "input", "on", type="checkbox", id="terms", role="checkbox", around=[label])
    browser.dom("change", "input", "on", type="checkbox", id="terms", role="checkbox", around=[label])
    assert browser.steps() == [{"click": 'text="I agree"'}]


def test_selects_and_uploads_record_their_values(browser: Browser) -> None:
    browser.dom("click", "select", "A", id="sort")
    browser.dom("change", "select", "A\nB", id="sort")
    browser.dom("click", "input", "", type="file", id="file")
    browser.dom("change", "input", "a.csv", type="file", id="file")
    assert browser.steps() == [{"select": {"css=#sort": ["A", "B"]}}, {"upload": {"css=#file": "a.csv"}}]


def test_password_is_reported_as_missing(browser: Browser) -> None:
    browser.dom("input", "input", None, type="password", id="pass")
    [step] = steps_of(browser.signals)
    assert as_step(step.action) == {"fill": {"css=#pass": ""}}
    assert "password" in step.problem


@each_case(("omits", "problem"), [("", ""), ("formats", "lists"), ("lines", "shortcuts"), ("rest", "too long")])
def test_omitted_content_of_an_editor_is_a_problem(omits: str, problem: str) -> None:
    browser = Browser()
    browser.dom("input", "div", "one", contenteditable="", id="body")
    browser.dom("change", "div", "one", contenteditable="", id="body", omits=omits)
    [step] = steps_of(browser.signals)
    assert (as_step(step.action), bool(step.problem)) == ({"fill": {"css=#body": "one"}}, bool(omits))
    assert problem in step.problem


@each_case(
    ("keys", "tag", "step"),
    [
        ("Control+/", "textarea", {"press": {"css=#f": "Control+/"}}),
        ("Control+z", "textarea", {"press": {"css=#f": "Control+z"}}),
        ("Delete", "input", {"press": {"css=#f": "Delete"}}),
        ("Control+c", "textarea", None),
        ("Control+z", "div", None),
    ],
)
def test_shortcut_in_the_invisible_field_of_an_editor_has_a_problem(
    keys: str, tag: str, step: dict[str, Any] | None
) -> None:
    browser = Browser()
    browser.key(keys, tag, id="f")
    assert browser.steps() == ([] if step is None else [step])
    assert all("invisible field" in each.problem for each in steps_of(browser.signals))


def test_double_right_and_middle_clicks_are_recorded(browser: Browser) -> None:
    for event in ("click", "click", "dblclick"):
        browser.dom(event, "td", id="cell")
    browser.dom("contextmenu", "td", id="cell")
    browser.dom("auxclick", "a", id="link")
    assert browser.steps() == [
        {"click": {"selector": "css=#cell", "count": 2}},
        {"click": {"selector": "css=#cell", "button": "right"}},
        {"click": {"selector": "css=#link", "button": "middle"}},
    ]


def test_drag_records_its_drop_target(browser: Browser) -> None:
    browser.dom("dragstart", "li", id="card")
    browser.dom("drop", "ul", id="done")
    assert browser.steps() == [{"drag": {"css=#card": "css=#done"}}]


def test_only_typed_urls_become_goto_steps(browser: Browser) -> None:
    browser.shows("http://a.test/")
    browser.dom("click", "a", href="/x", name="X")
    browser.shows("http://a.test/x")
    browser.shows("http://a.test/typed", "browser")
    assert browser.steps(before=1) == [{"click": 'role=link[name="X"s]'}, {"goto": "http://a.test/typed"}]


def test_history_navigation_by_the_user_is_a_step_and_by_script_not(browser: Browser) -> None:
    browser.shows("http://a.test/x", "history")
    assert browser.steps() == [{"goto": "http://a.test/x"}]
    browser.dom("click", "button", name="Back")
    browser.shows("http://a.test/", "history")
    assert browser.steps()[1:] == [{"click": 'role=button[name="Back"s]'}]


def test_quick_back_and_forward_are_steps(browser: Browser) -> None:
    browser.shows("http://a.test/")
    browser.dom("click", "a", href="/x", name="X")
    browser.shows("http://a.test/x")
    browser.shows("http://a.test/", "history")
    browser.shows("http://a.test/x", "history")
    browser.shows("http://a.test/elsewhere", "history")  # two at once, or a page that was replaced
    browser.shows("http://a.test/", "history")
    assert browser.steps(before=1) == [
        {"click": 'role=link[name="X"s]'}, "back", "forward", {"goto": "http://a.test/elsewhere"},
        {"goto": "http://a.test/"},
    ]  # fmt: skip


def test_tabs_opened_by_user_and_page_are_distinguished(browser: Browser) -> None:
    browser.shows("http://a.test/")
    browser.dom("click", "a", href="/x", name="X", target="_blank")
    browser.shows("http://a.test/x", "page", tab=1)
    browser.dom("click", "button", name="Yes", tab=1)
    browser.dom("click", "button", name="No", tab=0)
    browser.shows("http://b.test/", "browser", tab=2)
    assert browser.steps(before=1) == [
        {"click": 'role=link[name="X"s]'},
        {"click": 'role=button[name="Yes"s]'},
        {"tab": 0},
        {"click": 'role=button[name="No"s]'},
        "new_tab",
        {"goto": "http://b.test/"},
    ]


def test_dialog_answers_become_steps(browser: Browser) -> None:
    browser.dialog("confirm", accepted=False)
    browser.dialog("prompt", accepted=True, text="Rye", proposed="Oat")
    browser.dialog("prompt", accepted=True, text="Oat", proposed="Oat")
    assert browser.steps() == ["dismiss_dialog", {"accept_dialog": "Rye"}, "accept_dialog"]


def test_selectors_are_ordered_by_stability(browser: Browser) -> None:
    browser.dom("click", "button", name="Save", id="save-4711", **{"data-testid": "save"})
    [step] = steps_of(browser.signals)
    assert step.selectors == ('role=button[name="Save"s]', 'text="Save"', "data-testid=save", "css=#save-4711")


def test_text_of_a_paragraph_is_no_name_for_its_role(browser: Browser) -> None:
    browser.dom("click", "p", name="Write", role="paragraph")
    [step] = steps_of(browser.signals)
    assert step.selectors == ('text="Write"', "css=p")


def test_text_written_into_an_editor_is_no_selector_of_it(browser: Browser) -> None:
    browser.dom("input", "div", "one two", name="one two", role="textbox", contenteditable="true")
    [step] = steps_of(browser.signals)
    assert not [selector for selector in step.selectors if "one two" in selector]


def test_editor_whose_classes_change_with_its_text_is_filled_once(browser: Browser) -> None:
    for text, classes in (("t", "editor blank"), ("te", "editor"), ("tea", "editor")):
        browser.dom("input", "div", text, name=text, role="textbox", contenteditable="true", **{"class": classes})
    assert browser.steps() == [{"fill": {"css=div.editor": "tea"}}]


def test_field_selectors_include_label_and_surroundings(browser: Browser) -> None:
    form = ElementRecord(tag="form", attributes={"action": "/notes", "class": "panel"}, of_type=1)
    around = [ElementRecord(tag="div", nth_of_type=2, of_type=3), form, ElementRecord(tag="html", within="root")]
    browser.dom("input", "input", "Rye", name="Title", around=around, id="title", type="text", **{"class": "wide"})
    [step] = steps_of(browser.signals)
    assert step.selectors == (
        'role=textbox[name="Title"s]',
        'internal:label="Title"s',
        'text="Title"',
        "css=input.wide",
        'css=form[action="/notes"] input[type="text"]',
        "css=html > form > div:nth-of-type(2) > input",
        "css=#title",
    )


def test_button_with_formaction_has_no_plain_form_selector(browser: Browser) -> None:
    around = [ElementRecord(tag="form", attributes={"action": "/notes"}), ElementRecord(tag="html", within="root")]
    for where in ({}, {"formaction": "/draft"}):
        browser.dom("click", "button", name="Keep", around=around, **where)
    plain, elsewhere = steps_of(browser.signals)
    assert 'css=form[action="/notes"] button' in plain.selectors
    assert 'css=button[formaction="/draft"]' in elsewhere.selectors
    assert 'css=form[action="/notes"] button[formaction="/draft"]' in elsewhere.selectors
    assert 'css=form[action="/notes"] button' not in elsewhere.selectors


def test_menu_link_selectors_include_url_and_menu(browser: Browser) -> None:
    around = [ElementRecord(tag="li", nth_of_type=2, of_type=3), ElementRecord(tag="nav", attributes={"class": "top"})]
    browser.dom("click", "a", name="Notes", href="/notes/", around=[*around, ElementRecord(tag="html", within="root")])
    [step] = steps_of(browser.signals)
    assert step.selectors == (
        'role=link[name="Notes"s]',
        'text="Notes"',
        'css=a[href="/notes/"]',
        'css=nav.top a[href="/notes/"]',
        "css=nav.top a",
        "css=a",
    )


def test_aria_label_is_not_used_as_label_selector(browser: Browser) -> None:
    browser.dom("input", "input", "Rye", name="Search", **{"aria-label": "Search"})
    [step] = steps_of(browser.signals)
    assert step.selectors[:2] == ('role=textbox[name="Search"s]', 'text="Search"')


def test_place_is_the_last_selector_even_if_it_is_an_id(browser: Browser) -> None:
    browser.dom("change", "select", "Owner", id="role", name="Role of Ann", **{"data-test": "role"})
    [step] = steps_of(browser.signals)
    named = ('role=combobox[name="Role of Ann"s]', 'internal:label="Role of Ann"s', 'text="Role of Ann"')
    assert step.selectors == (*named, "data-test=role", "css=#role")


def test_frame_selector_comes_first(browser: Browser) -> None:
    around = [
        ElementRecord(tag="html", within="frame"), ElementRecord(tag="iframe", attributes={"id": "pay"}),
        ElementRecord(tag="html", within="root"),
    ]  # fmt: skip
    browser.dom("click", "button", name="Pay", around=around)
    [step] = steps_of(browser.signals)
    assert step.selectors[0] == 'css=#pay >> internal:control=enter-frame >> role=button[name="Pay"s]'


def test_keys_outside_fields_are_pressed_at_the_focus(browser: Browser) -> None:
    browser.key("j")
    browser.key("Control+Shift+Escape")
    browser.key("ArrowDown", "a", href="/map", name="Map")
    browser.key("Escape", "input", **FIELD)
    assert browser.steps() == [
        {"press": "j"},
        {"press": "Control+Shift+Escape"},
        {"press": {'role=link[name="Map"s]': "ArrowDown"}},
        {"press": {"css=#title": "Escape"}},
    ]


def test_scroll_and_browser_keys_are_not_steps(browser: Browser) -> None:
    for keys in (
        "ArrowDown",
        "PageUp",
        "Space",
        "Control+c",
        "Meta+v",
        "Control+l",
        "F12",
        "Alt+ArrowLeft",
        "Control++",
    ):
        browser.key(keys)
    assert browser.steps() == []
    browser.key("F5")
    browser.key("Control+Shift+R")
    assert browser.steps() == ["reload", "reload"]


def test_enter_with_a_modifier_is_one_key_press(browser: Browser) -> None:
    browser.dom("input", "textarea", "Rye", **FIELD)
    browser.dom("keydown", "textarea", "Rye", **FIELD)
    browser.key("Control+Enter", "textarea", **FIELD)
    assert browser.steps() == [{"fill": {"css=#title": "Rye"}}, {"press": {"css=#title": "Control+Enter"}}]


def test_tab_closed_by_the_user_is_a_step(browser: Browser) -> None:
    browser.shows("http://a.test/", cause="browser", tab=0)
    browser.dom("click", "a", href="/map", name="Map")
    browser.shows("http://a.test/map", tab=1)
    browser.wait(1)
    browser.dom("click", "button", name="Zoom", tab=1)
    browser.wait(6)
    browser.closes(1, cause="")
    browser.dom("click", "button", name="Save")
    assert browser.steps(before=1) == [
        {"click": 'role=link[name="Map"s]'},
        {"click": 'role=button[name="Zoom"s]'},
        "close_tab",
        {"click": 'role=button[name="Save"s]'},
    ]


def test_tab_that_closes_itself_is_not_a_step(browser: Browser) -> None:
    browser.shows("http://a.test/", cause="browser", tab=0)
    browser.dom("click", "a", href="/pick", name="Pick")
    browser.shows("http://a.test/pick", tab=1)
    browser.dom("click", "button", name="This one", tab=1)
    browser.closes(1, cause="")
    browser.dom("click", "button", name="Save")
    assert browser.steps(before=1) == [
        {"click": 'role=link[name="Pick"s]'},
        {"click": 'role=button[name="This one"s]'},
        {"click": 'role=button[name="Save"s]'},
    ]


def test_tab_numbers_skip_closed_tabs(browser: Browser) -> None:
    for tab in range(3):
        browser.shows(f"http://a.test/{tab}", cause="browser", tab=tab)
    browser.closes(0)
    browser.dom("click", "button", name="Save", tab=1)
    assert browser.steps(before=3) == ["close_tab", {"tab": 0}, {"click": 'role=button[name="Save"s]'}]


def test_closing_the_last_tab_opens_a_new_one(browser: Browser) -> None:
    browser.shows("http://a.test/", cause="browser", tab=0)
    browser.closes(0)
    browser.shows("http://a.test/map", cause="browser", tab=1)
    assert browser.steps(before=1) == ["close_tab", {"goto": "http://a.test/map"}]


def test_closing_the_browser_is_not_a_step(browser: Browser) -> None:
    for tab in range(2):
        browser.shows(f"http://a.test/{tab}", cause="browser", tab=tab)
    browser.dom("click", "button", name="Save")
    browser.closes(1)
    browser.closes(0)
    assert browser.steps(before=2) == [{"click": 'role=button[name="Save"s]'}]
