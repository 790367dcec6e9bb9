"""Editors and controls that pages build themselves: their marks and words, and what becomes of text that is typed."""

from __future__ import annotations

import re

import pytest

from pytest_webarena.actions import Click, Point, Selector, Target, Type
from tests.browser.test_forms import See, see

__all__ = ["see"]

BOTH = pytest.mark.parametrize("extractor", ["exact", "fast"])
EDITORS = """<!doctype html><title>Editors</title><style>.gone { display: none }</style>
<div contenteditable tabindex=-1 aria-label=Body style="height: 40px"></div>
<my-field contenteditable aria-label=Formula style="display: block; height: 40px"></my-field>
<style>.glyph::before { content: '\\e900' }</style>
<button title="Next month"><span class=glyph role=img></span></button>
<button aria-labelledby=bold><span id=bold class=gone>Bold</span><svg width=9 height=9></svg></button>
<script>
const root = document.querySelector('my-field').attachShadow({mode: 'open', delegatesFocus: true});
root.innerHTML = '<i>f(x)</i>';</script>"""


@BOTH
def test_editors_have_marks_and_buttons_with_icons_have_words(see: See, extractor: str) -> None:
    session = see(EDITORS, kinds=("set_of_marks", "html"), extractor=extractor)
    marks, html = re.sub(r"\[\d+\]", "[#]", session.observe().text).split("\n\n")[1:]
    assert [re.sub(r"group|generic", "", line) for line in marks.split("\n")[1:]] == [
        "[#]  'Body' editable: richtext", "[#]  'Formula' editable: richtext",
        "[#] button 'Next month'", "[#] button 'Bold'",
    ]  # fmt: skip
    assert '[#] <button aria-label="Bold">' in html


CONTENTS = """<my-box style="display: contents"></my-box><script>
const root = document.querySelector('my-box').attachShadow({mode: 'open'});
root.innerHTML = '<b>Open</b>';
root.host.onclick = () => { document.title = 'Went' };
</script>"""


def test_host_without_a_box_is_clicked_on_its_parts(see: See) -> None:
    session = see(CONTENTS, kinds=("accessibility_tree",))
    assert session.execute(Click(Selector("css=my-box"))).error == ""
    assert session.observe().title == "Went"


IGNORED = """<title>Ignored</title><p id=clock></p>
<div id=editor contenteditable role=textbox aria-label=Note style="height: 40px"></div>
<input aria-label=Code><script>
editor.addEventListener('beforeinput', event => event.preventDefault());
document.querySelector('input').addEventListener('keydown', event => event.preventDefault());
editor.addEventListener('focus', () => setInterval(() => { clock.textContent = performance.now() }, 20));
</script>"""


def test_text_that_a_script_swallows_is_reported(see: See) -> None:
    session = see(IGNORED, kinds=("accessibility_tree",))
    reported = [
        event.text
        for name in ("Code", "Note")
        for event in session.execute(Type(Selector(f"role=textbox[name={name}]"), "tea")).events
        if event.kind == "field"
    ]
    assert reported == [
        "textbox 'Code' received the keys, but nothing on the page changed.",
        "textbox 'Note' received the keys, but no text was entered.",
    ]


DRAWN = """<title>Drawn</title><div id=editor contenteditable role=textbox aria-label=Note style="height: 40px"></div>
<script>editor.addEventListener('beforeinput', event => {
  event.preventDefault();
  setTimeout(() => { editor.textContent += event.data }, 100);
})</script>"""


def test_text_that_a_script_draws_later_is_not_reported(see: See) -> None:
    session = see(DRAWN, kinds=("accessibility_tree",))
    done = session.execute(Type(Selector("css=#editor"), "t"))
    assert (done.error, [event.text for event in done.events]) == ("", [])


FORMATS = """<title>Formats</title><div id=editor contenteditable style="height: 40px"></div>
<button onmousedown="event.preventDefault(); bold = true">Bold</button><script>
let bold = false;
editor.addEventListener('mousedown', () => { bold = false });
editor.addEventListener('input', () => { document.title = `${bold}: ${editor.textContent}` });
</script>"""


@pytest.mark.parametrize("target", [Selector("css=#editor"), Point(40, 20)], ids=["selector", "point"])
def test_format_that_was_chosen_for_an_empty_editor_is_kept(see: See, target: Target) -> None:
    session = see(FORMATS, kinds=("accessibility_tree",))
    for action in (Click(target), Click(Selector("text=Bold")), Type(target, "tea")):
        assert session.execute(action).error == ""
    assert session.observe().title == "true: tea"
    assert session.execute(Type(target, "!")).error == ""
    assert session.observe().title == "false: tea!"


TERMINAL = """<title>Terminal</title><style>
div { cursor: text; width: 300px; height: 100px; position: relative }
textarea { position: absolute; left: -9999em; opacity: 0 }
</style><div><textarea aria-label=Terminal aria-multiline=MULTILINE></textarea></div><script>
const field = document.querySelector('textarea'), keys = [];
const show = () => { document.title = keys.join() + '|' + field.value };
field.parentElement.onmousedown = event => { event.preventDefault(); field.focus() };
field.onkeydown = event => { if (event.key.length > 1) keys.push(event.key) };
field.oninput = show;</script>"""


@pytest.mark.parametrize(("multiline", "keys"), [("false", ""), ("true", "Control,End")])
def test_cursor_key_is_pressed_only_in_editors_of_several_lines(see: See, multiline: str, keys: str) -> None:
    session = see(TERMINAL.replace("MULTILINE", multiline), kinds=("accessibility_tree",))
    assert session.execute(Type(Selector("css=div"), "ls")).error == ""
    assert session.observe().title == f"{keys}|ls"
