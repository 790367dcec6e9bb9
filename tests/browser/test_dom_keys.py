"""Keys that type nothing are recorded as key signals; typed keys are recorded as the resulting field value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import (
    Click,
    Press,
    Selector,
    Type,
)
from pytest_webarena.signals import KeyPressed
from tests.browser.listening import Show, events, recorded_input, shared, show, web
from tests.cases import each_case
from tests.processes import wait_until

if TYPE_CHECKING:
    from pytest_webarena.browser.session import Session

__all__ = ["shared", "show", "web"]

KEYS = """<body><input id=line><input id=count type=number value=1><textarea id=note></textarea>
<p id=rich contenteditable>x</p><button id=save>Save</button><select id=sort><option>a<option>b</select>
<input type=checkbox id=box><a id=map href=#map>Map</a>"""


@pytest.fixture
def keys_page(show: Show) -> Session:
    return show(KEYS)


def keys(session: Session) -> list[tuple[str, str]]:
    return [(each.keys, each.target.selector) for each in session.signals.since() if isinstance(each, KeyPressed)]


@each_case(
    ("target", "pressed", "recorded"),
    [
        (
            None,
            ["j", "Escape", "Shift+G", "Control+k", "Control+Shift+R"],
            ["j", "Escape", "G", "Control+k", "Control+Shift+R"],
        ),
        ("#map", ["ArrowDown", "Shift+F10"], ["ArrowDown", "Shift+F10"]),
        ("#line", ["j", "ArrowDown", "Escape", "Control+a", "ArrowLeft"], ["ArrowDown", "Escape"]),
        ("#line", ["Enter", "Control+Enter"], ["Control+Enter"]),
        ("#note", ["ArrowDown", "Escape", "Control+Enter"], ["Escape", "Control+Enter"]),
        ("#rich", ["j", "ArrowDown", "Escape"], ["Escape"]),
        ("#count", ["ArrowUp", "Escape"], ["Escape"]),
        ("#sort", ["ArrowDown"], []),
        ("#box", ["Space"], []),
        ("#save", ["Space", "Enter"], []),
    ],
)
def test_non_typing_keys_are_recorded_as_key_signals(
    keys_page: Session, target: str | None, pressed: list[str], recorded: list[str]
) -> None:
    session = keys_page
    before = len(keys(session))
    for each in pressed:
        assert not session.execute(Press(each, Selector(f"css={target}") if target else None)).error
    assert [key for key, _ in keys(session)[before:]] == recorded
    assert {selector for _, selector in keys(session)[before:]} <= {target or "html > body"}
    assert "key" not in {event for event, _, _ in recorded_input(session)}


HIDDEN = """<body><x-login id=login></x-login><div id=box></div><div id=frame tabindex=0></div>
<x-list id=list tabindex=0>List</x-list><div id=grid tabindex=0>Grid</div><script>
for (const id of ['login', 'box', 'frame']) {
  const tree = document.getElementById(id).attachShadow({mode: 'closed', delegatesFocus: id === 'box'});
  tree.innerHTML = '<input type=password>';
  document.getElementById(id).enter = () => tree.firstChild.focus();
}
</script>"""


@pytest.mark.parametrize("host", ["login", "box", "frame"])
def test_letters_typed_in_closed_shadow_tree_are_not_recorded(show: Show, host: str) -> None:
    """Only the host element is visible, and its content may be a password field."""
    session = show(HIDDEN)
    session.read_page(open=None, locate=f"js=(() => {{ document.getElementById('{host}').enter(); return '' }})()")
    for key in ("s", "S", "7", " ", "Alt+s", "Escape", "Control+k"):
        assert not session.execute(Press(key)).error
    assert [key for key, _ in keys(session)] == ["Alt+s", "Escape", "Control+k"]


def test_letters_are_recorded_as_shortcuts_outside_fields(show: Show) -> None:
    session = show(HIDDEN)
    session.execute(Press("j", Selector("css=#grid")))
    session.execute(Press("j", Selector("css=#list")))  # may contain a field of its own
    assert keys(session) == [("j", "#grid")]


def test_letters_in_design_mode_are_not_shortcuts(show: Show) -> None:
    session = show("<body><p>Note</p><script>document.designMode = 'on'</script>")
    for key in ("s", "Escape"):
        session.execute(Press(key))
    assert [key for key, _ in keys(session)] == ["Escape"]


MASKED = """<body><input id=day placeholder=hh:mm><input id=other><button id=go>Go</button><script>
day.onkeydown = event => {
  if (!/^[0-9]$/.test(event.key)) return;
  event.preventDefault();
  const digits = (day.value.replace(/\\D/g, '') + event.key).slice(0, 4);
  day.value = digits.length > 2 ? digits.slice(0, 2) + ':' + digits.slice(2) : digits;
};
</script>"""


def test_value_of_masked_field_is_recorded_on_blur(show: Show) -> None:
    session = show(MASKED)
    session.execute(Type(Selector("css=#day"), "1230"))
    session.execute(Click(Selector("css=#go")))
    assert recorded_input(session) == [("click", "#day", ""), ("change", "#day", "12:30"), ("click", "#go", None)]


def test_value_of_masked_field_is_recorded_after_a_pause(show: Show) -> None:
    session = show(MASKED)
    session.execute(Type(Selector("css=#day"), "1230"))
    wait_until(lambda: ("change", "#day", "12:30") in recorded_input(session), seconds=30)


def test_script_changes_of_untouched_fields_are_not_recorded(show: Show) -> None:
    session = show(MASKED.replace("day.onkeydown", "other.onkeydown = () => { other.value = 'mine'; }; day.onkeydown"))
    session.execute(Press("a", Selector("css=#day")))
    session.execute(Click(Selector("css=#other")))
    session.execute(Click(Selector("css=#go")))
    assert [(event, value) for event, _, value in recorded_input(session) if event == "change"] == [("change", "a")]


@each_case(
    ("editor", "recorded"),
    [
        ("<p>one</p><p>two</p>", ("one\ntwo+", "")),
        ("one<div>two<br>three<br></div><div><br></div><div>four&nbsp;</div>\n", ("one\ntwo\nthree\n\nfour +", "")),
        ("<div style=white-space:pre>one\n  two</div>", ("one\n  two+", "")),
        ("<div>one  \n two <span>three</span></div>", ("one two three+", "")),
        ("<p>\u200bone</p><p>\ufeff<br></p><p>two</p>", ("one\n\ntwo+", "")),
        ("<p>one</p><style>p { color: red }</style><p hidden>lost</p><p>two</p>", ("one\ntwo+", "")),
        ("<p>one <b>two</b></p>", ("one two+", "formats")),
        ("<ul><li>one<li>two</ul>", ("one\ntwo+", "formats")),
        ("<p><span style='color: red'>one</span></p>", ("one+", "formats")),
        ("<p>to <span contenteditable=false>@Ada</span> one</p>", ("to @Ada one+", "formats")),
        ("<p>one</p>" * 600, (None, "rest")),
    ],
)
def test_input_of_an_editor_keeps_lines_and_reports_what_it_omits(
    show: Show, editor: str, recorded: tuple[str | None, str]
) -> None:
    session = show(f"<div id=edit contenteditable>{editor}</div>")
    session.execute(Type(Selector("#edit"), "+"))
    [event] = [each for each in events(session) if each.event == "input"]
    assert (event.value if recorded[0] is not None else None, event.omits) == recorded


@each_case(
    ("around", "omits"),
    [
        ("", ""),
        ("style='opacity: 0'", "lines"),
        ("style='overflow: hidden; position: relative; width: 3px; height: 0'", "lines"),
    ],
)
def test_field_that_only_receives_keys_omits_lines(show: Show, around: str, omits: str) -> None:
    session = show(f"<div {around}><textarea id=t style='position: absolute; width: 900px'></textarea></div>")
    session.execute(Press("a", Selector("#t")))
    session.execute(Press("b", Selector("#t")))
    [event] = [each for each in events(session) if each.event == "input"]
    assert (event.value, event.omits) == ("ab", omits)


def test_format_that_a_shortcut_of_an_editor_sets_is_recorded(show: Show) -> None:
    session = show(
        "<div id=edit contenteditable>one</div><button id=next>Next</button><script>edit.onkeydown = event => {"
        "if (event.ctrlKey && event.key === 'b') { event.preventDefault(); edit.innerHTML = '<b>one</b>' }}</script>"
    )
    session.execute(Press("Control+b", Selector("#edit")))
    session.execute(Click(Selector("#next")))
    first, *_ = events(session)
    assert (first.event, first.value, first.omits) == ("change", "one", "formats")


INVISIBLE = "<div style='opacity: 0'><textarea id=t></textarea></div><textarea id=seen></textarea>"


@each_case(
    ("target", "recorded"), [("#t", ["Control+/", "Control+z", "Alt+ArrowUp", "Delete", "Backspace"]), ("#seen", [])]
)
def test_shortcuts_in_invisible_fields_are_recorded(show: Show, target: str, recorded: list[str]) -> None:
    session = show(INVISIBLE)
    for each in ("Control+/", "Control+z", "Alt+ArrowUp", "Delete", "Backspace", "ArrowLeft"):
        session.execute(Press(each, Selector(target)))
    assert [key for key, _ in keys(session)] == recorded


TOOLBAR = """<div id=edit contenteditable><p><b>one</b></p><p id=word style="width: 30px">two</p></div>
<textarea id=area style="width: 30px">tea</textarea>
<button id=bold>Bold</button><button id=stars>Stars</button><button id=idle>Idle</button><script>
for (const each of document.querySelectorAll('button')) each.onmousedown = event => event.preventDefault();
bold.onclick = () => document.execCommand('bold');
stars.onclick = () => { area.value = `**${area.value}**` };
</script>"""


@each_case(
    ("field", "button", "recorded"),
    [
        ("#word", "#bold", [("#edit", "one\ntwo", "formats")]),
        ("#area", "#stars", [("#area", "**tea**", "")]),
        ("#word", "#idle", []),
    ],
)
def test_click_that_changes_a_selection_is_recorded_with_its_result(
    show: Show, field: str, button: str, recorded: list[tuple[str, str, str]]
) -> None:
    session = show(TOOLBAR)
    session.execute(Click(Selector(field), count=2))
    session.execute(Click(Selector(button)))
    session.execute(Click(Selector("#idle")))
    session.execute(Press("Tab"))
    changes = [each for each in events(session) if each.event == "change"]
    assert [(each.target.selector, each.value, each.omits) for each in changes] == recorded
