"""Filling a field: its old value is replaced, or the step reports the actual value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_webarena.actions import Click, Point, Selector, Type
from pytest_webarena.browser.session import Session
from tests.browser.acting import LOG, done, logged, value_of
from tests.cases import each_case

if TYPE_CHECKING:
    from tests.browser.conftest import Web

Show = Callable[[str], Session]

EDITOR = """<div id=editor style="position:relative; height:80px; border:1px solid">
<div style="position:absolute; overflow:hidden; width:3px; height:0">
<textarea id=receiver style="position:absolute; bottom:-1em; width:1000px; height:1em"></textarea></div>
<span aria-hidden=true>1</span><pre id=lines>old text</pre></div><p id=sent></p><script>
let all = false;
editor.onmousedown = event => { event.preventDefault(); receiver.focus(); };
receiver.oninput = () => {
  lines.textContent = all ? receiver.value : lines.textContent + receiver.value;
  receiver.value = '';
  all = false;
};
receiver.onkeydown = event => {
  if (event.key === 'Enter') sent.textContent = lines.textContent;
  if (event.key === 'Delete' && all) { lines.textContent = ''; all = false; }
  if (event.ctrlKey && event.key === 'a') { event.preventDefault(); all = %s; }
};
</script>"""
"""As CodeMirror 5: the field in the document only receives keys, and is emptied; its script keeps the content."""


def test_script_based_editor_is_filled(show: Show) -> None:
    session = show(EDITOR % "true")
    for text in ("new text", "", "newer"):
        outcome = session.execute(Type(Selector("css=#editor"), text, clear=True))
        assert (outcome.error, outcome.events) == ("", ())
        assert value_of(session, "css=#lines") == text


def test_text_appended_instead_of_replacing_is_an_error(show: Show) -> None:
    session = show(EDITOR % "false")
    outcome = session.execute(Type(Selector("css=#editor"), "er", clear=True, enter=True))
    assert outcome.error == "The text was added to what the field held: it shows 'old texter' now, not 'er' alone."
    assert value_of(session, "css=#sent") == ""


@each_case(
    ("field", "holds"),
    [
        ("<input value=old oninput='value = value.toUpperCase()'>", "'NEW TEXT' now, not 'new text'"),
        ("<input value=old maxlength=3 type=password>", "a secret now, not the one that was typed"),
        ("<div contenteditable onkeyup='innerText = `held`'>old</div>", "'held' now, not 'new text'"),
        ("<input value=old oninput='setTimeout(() => { document.title = value = `new text` }); value = ``'>", ""),
    ],
    ids=["upper-case", "password", "editor", "late"],
)
def test_field_value_that_differs_from_text_is_reported(show: Show, field: str, holds: str) -> None:
    session = show(field)
    outcome = session.execute(Type(Selector("css=[value], [contenteditable]"), "new text", clear=True))
    assert outcome.error == ""
    assert [event.text for event in outcome.events] == ([f"The field holds {holds}."] if holds else [])
    assert session.observe().notes == tuple(event.text for event in outcome.events)


def test_field_that_blocks_keys_is_cleared_by_script(show: Show) -> None:
    deaf = "onkeydown='event.ctrlKey && event.preventDefault()'"
    session = show(f"<input {deaf} value=old><div contenteditable {deaf}><p>old</p><p>text</p></div>")
    for selector in ("css=input", "css=div"):
        done(session, Type(Selector(selector), "new", clear=True))
        assert value_of(session, selector) == "new"


def test_empty_field_gets_no_delete_key(show: Show) -> None:
    """Fields for several values would delete the last one."""
    session = show(f"<div>Tea <input onkeydown='log(event.key)'></div>{LOG}")
    done(session, Type(Selector("css=input"), "x", clear=True))
    assert "Delete" not in logged(session)


def test_field_in_frame_is_cleared_for_any_kind_of_target(show: Show, web: Web) -> None:
    web.put("http://b.test/", "<body style='margin:0'><input value=old>")
    session = show(
        "<body style='margin:0'><iframe style='border:0' srcdoc=\"<body style='margin:0'><input value=old>\"></iframe>"
        "<br><iframe style='border:0' src=http://b.test/></iframe>"
    )
    for number, y in enumerate((10, 170)):
        field = f"css=iframe >> nth={number} >> internal:control=enter-frame >> css=input"
        done(session, Type(Point(20, y), "new", clear=True))
        assert value_of(session, field) == "new"
        done(session, Click(Selector(field)))
        done(session, Type(None, "newer", clear=True))
        assert value_of(session, field) == "newer"


def test_typing_without_focused_field_is_an_error(show: Show) -> None:
    session = show("<button onkeydown='log(event.key)'>B</button>" + LOG)
    outcome = session.execute(Type(Selector("css=button"), "x", clear=True, enter=True))
    assert outcome.error.startswith("Nothing was typed: after a click on it, nothing that takes text has the keyboard")
    assert logged(session) == ()
    (event,) = session.execute(Type(None, "x", clear=True)).events
    assert event.text == "The text was typed, but what the field holds now can't be read."
    assert logged(session) == ("x",)


@each_case("inner", ["<input value=old>", '<iframe srcdoc="<input value=old>"></iframe>'])
def test_field_opened_by_click_is_filled(show: Show, inner: str) -> None:
    late = "setTimeout(() => (this.firstChild.contentDocument || document).querySelector('input').focus(), 150)"
    session = show(
        f"<div id=name tabindex=0>old</div>{LOG}<script>"
        f"name_ = document.getElementById('name'); name_.onclick = function () {{"
        f"if (!this.firstElementChild) {{ this.innerHTML = `{inner}`; {late} }} }};"
        "onkeydown = event => { if (!event.target.matches('input')) log(event.key) }</script>"
    )
    done(session, Type(Selector("css=#name"), "new", clear=True))
    field = "css=iframe >> internal:control=enter-frame >> css=input" if "iframe" in inner else "css=#name input"
    assert (value_of(session, field), logged(session)) == ("new", ())


HELPER = """<div style="position:relative; height:60px"><pre id=shown style="font-size:20px"></pre>
<input style="position:absolute; left:0; top:0; %s"></div><script>
const field = document.querySelector('input'), [before, after] = %s;
const draw = () => { shown.innerHTML = [...content].map(c => `<span>${c}</span>`).join('') };
let content = before + after;
field.oninput = () => { content = before + (typed += field.value) + after; field.value = ''; draw() };
let typed = '';
draw();
</script>"""


@each_case(
    ("style", "parts", "shows"),
    [("opacity:.01", "['old ', 'text']", "old newtext"), ("color:transparent", "['', 'old text']", "newold text")],
)
def test_remaining_old_text_of_editor_is_an_error(show: Show, style: str, parts: str, shows: str) -> None:
    outcome = show(HELPER % (style, parts)).execute(Type(Selector("css=input"), "new", clear=True))
    assert outcome.error == f"The text was added to what the field held: it shows {shows!r} now, not 'new' alone."


def test_editor_that_cannot_be_cleared_is_an_error(show: Show) -> None:
    session = show("<div contenteditable onkeyup='innerHTML = `<p>old</p>`'><p>old</p></div>")
    outcome = session.execute(Type(Selector("css=div"), "", clear=True))
    assert outcome.error == "The field was not emptied: it shows 'old' now."
