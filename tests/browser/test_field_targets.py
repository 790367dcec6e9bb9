"""Typing into fields that a click does not reach, or that are named by their label, in every grammar."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import Check, Element, Point, Press, Select, Selector, Type
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.browser.session import Session
from tests.browser.acting import LOG, done, logged, value_of
from tests.cases import each_case

if TYPE_CHECKING:
    from tests.browser.conftest import Web

Show = Callable[[str], Session]

RECEIVER = """<div id=editor style="position:relative; width:300px; height:60px; border:1px solid">
<textarea aria-label=Code style="position:absolute; width:1px; height:1em; padding:0; opacity:0"></textarea>
<pre id=code style="position:absolute; inset:0; margin:0">old</pre></div><script>
const receiver = document.querySelector('textarea'), code = document.getElementById('code');
let all = false;
code.onmousedown = event => { event.preventDefault(); receiver.focus() };
receiver.oninput = () => {
  code.textContent = (all ? '' : code.textContent) + receiver.value;
  all = receiver.value = '';
};
receiver.onkeydown = event => {
  if (event.ctrlKey && event.key === 'a') all = true;
  if (event.key === 'Delete' && all) code.textContent = '';
};
</script>"""
"""As in Ace and Monaco: the field that receives the keys is transparent, and the text is drawn over it."""
OVERLAID = """<div style="position:relative; width:200px"><label for=city>City</label> <input id=city value=old>
<span style="position:absolute; inset:0; background:white" onclick="city.focus()">City</span></div>"""
FIELDS = {
    "textbox 'Code'": (RECEIVER, "css=#code", 'page.get_by_label("Code")', "new"),
    "textbox 'City'": (OVERLAID, "css=#city", 'page.get_by_label("City")', "new"),
    "Date 'Day'": (
        "<label>Day <input type=date></label>",
        "css=input",
        'page.get_by_text("Day")',
        "2026-02-01",
    ),
    "ColorWell 'Tint'": (
        "<label for=c>Tint</label> <input type=color id=c>",
        "css=input",
        'page.locator("label")',
        "#ff8800",
    ),
}
REPLIES = {
    "webarena": "```press [Control+a]```",
    "playwright": "```{locator}.fill('{text}')```",
    "set_of_marks": "```fill [{id}] [{text}]```",
    "coordinates": "```fill [{x}] [{y}] [{text}]```",
    "tools": '{{"name": "type", "arguments": {{"element": "{id}", "text": "{text}", "clear": true}}}}',
    "webcanvas": '{{"thought": "", "action": "fill_form", "element_id": {id}, "action_input": "{text}"}}',
}


@each_case("name", REPLIES)
def test_every_grammar_fills_fields_that_no_click_reaches(show: Show, name: str) -> None:
    for line, (html, holder, locator, text) in FIELDS.items():
        session = show(html)
        found = re.search(rf"\[(\d+)\] {re.escape(line)}", session.observe().text)
        assert found, session.observe().text
        box = "(el => { const b = el.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] })"
        label = "document.querySelector('label, pre')"
        point = session.read_page(open=None, locate=f"js={box}({label})").value
        assert isinstance(point, list)
        x, y = point
        reply = REPLIES[name].format(locator=locator, text=text, id=found[1], x=x, y=y)
        if name == "webarena":  # it has no verb that replaces text
            done(session, Press("Control+a", Element(found[1])))
            reply = f"```type [{found[1]}] [{text}] [0]```"
        outcome = session.execute(grammar(name).parse(reply))
        assert (outcome.error, outcome.events) == ("", ()), line
        assert value_of(session, holder) == text, line


def test_choosing_and_checking_by_label_text_acts_on_its_control(show: Show) -> None:
    session = show(
        "<label><b>Size</b> <select><option>S</option><option>L</option></select></label>"
        "<label><i>Gift</i> <input type=checkbox></label>"
    )
    done(session, Select(Selector("css=b"), ("L",)))
    done(session, Type(Selector("css=b"), "L"))
    assert value_of(session, "css=select") == "L"
    for checked in (True, True, False):
        done(session, Check(Selector("css=i"), checked))
        assert value_of(session, "css=input") == str(checked).lower()
    assert "takes no text" in session.execute(Type(Selector("css=i"), "yes")).error
    assert value_of(session, "css=input") == "false"


@each_case(
    ("html", "error", "note"),
    [
        ("<p id=t>Plain text</p>", "Nothing was typed: after a click on it", ""),
        ("<button id=t>B</button>", "Nothing was typed: button 'B' has the keyboard focus", ""),
        ("<input id=t maxlength=1 value=x aria-label=F>", "Nothing was typed: textbox 'F' has the keyboard focus", ""),
        ("<div id=t tabindex=0>Board</div>", "", "generic 'Board' received the keys, but no text was entered."),
        ("<div id=t tabindex=0>Grid</div><script>t.onkeydown = e => e.preventDefault()</script>", "", ""),
        ("<p id=t>Sheet</p><script>onkeydown = e => e.preventDefault()</script>", "", ""),
        ("<p id=t onclick='setTimeout(() => late.focus(), 150)'>Cell</p><input id=late>", "", ""),
        ("<input id=t onmousedown='event.preventDefault()'>", "", ""),
        ("<iframe id=t srcdoc='<body contenteditable>old</body>'></iframe>", "", ""),
        ("<iframe id=t src=http://b.test/></iframe>", "", ""),
        ("<iframe id=t src=http://b.test/text></iframe>", "Nothing was typed: after a click on it", ""),
    ],
)
def test_typing_reports_that_nothing_took_the_text(show: Show, web: Web, html: str, error: str, note: str) -> None:
    web.put("http://b.test/", "<body style='margin:0'><input style='width:300px; height:150px'>")
    web.put("http://b.test/text", "<p>Text</p>")
    session = show(f"{html}{LOG}<script>document.oninput = e => log(e.type)</script>")
    outcome = session.execute(Type(Selector("css=#t"), "xy"))
    assert (outcome.error == "") == (error == "")
    assert outcome.error.startswith(error)
    assert [event.text for event in outcome.events] == ([note] if note else [])
    assert bool(logged(session)) == ("<input" in html and not error)


def test_error_of_typing_keeps_enter_unpressed(show: Show) -> None:
    session = show(f"<p id=t>Text</p>{LOG}<script>onkeydown = e => log(e.key)</script>")
    assert session.execute(Type(Point(20, 20), "x", enter=True)).error.startswith("Nothing was typed")
    assert "Enter" not in logged(session)


@each_case(
    ("html", "text"),
    [
        ("<input id=t value=old size=3>", "oldnew"),
        ("<textarea id=t rows=4>one\ntwo\nthree\nold</textarea>", "one\ntwo\nthree\noldnew"),
        ("<div id=t contenteditable><p>one</p><p>two</p><p>old</p>\n</div>", "one\n\ntwo\n\noldnew"),
        ("<div id=t contenteditable><p>old <b>bold</b></p><p><br></p></div>", "old bold\n\nnew"),
        ("<div id=t contenteditable style='white-space:pre-wrap'>one\nold </div>", "one\nold new"),
        ("<div id=t contenteditable>old&nbsp;\n</div>", "old new"),
        ("<label id=t>Name <input value=old></label>", "oldnew"),
        ("<div contenteditable><p id=t>one</p><p>old</p></div>", "one\n\noldnew"),
    ],
)
@pytest.mark.parametrize("by_point", [False, True])
def test_type_adds_to_the_end_of_the_content(show: Show, html: str, text: str, by_point: bool) -> None:
    session = show(html)
    done(session, Type(Point(20, 18) if by_point else Selector("css=#t"), "new"))
    content = "(el => el.value ?? el.innerText)(t.control ?? t.closest('[contenteditable]') ?? t)"
    assert str(session.read_page(open=None, locate=f"js={content}").value).rstrip("\n") == text


LINES = """<div id=editor style="position:relative; width:300px; height:90px; cursor:POINTER">
<textarea aria-label=Code style="position:absolute; width:1px; height:1em; padding:0; opacity:0"></textarea>
<p id=t>one</p><p>two</p></div><script>
const receiver = document.querySelector('textarea'), lines = document.querySelectorAll('p');
let line = 0;
lines.forEach((each, index) => each.onmousedown = event => { event.preventDefault(); line = index; receiver.focus() });
receiver.onkeydown = event => { if (event.ctrlKey && event.key === 'End') line = 1 };
receiver.oninput = () => { lines[line].textContent += receiver.value; receiver.value = '' };
</script>"""
"""As in CodeMirror 5, or in a table: an unseen field receives the keys, and the script knows where they go."""


@each_case(
    ("pointer", "target", "texts"),
    [
        ("text", "css=#t", ("one", "two!")),
        ("text", "css=#editor", ("one", "two!")),
        ("text", "css=textarea", ("one", "two!")),
        ("default", "css=#t", ("one!", "two")),  # a cell, from which the key would move to the last one
    ],
)
def test_type_adds_to_the_end_of_a_text_that_a_script_draws(
    show: Show, pointer: str, target: str, texts: tuple[str, ...]
) -> None:
    session = show(LINES.replace("POINTER", pointer))
    done(session, Type(Selector(target), "!"))
    assert session.read_page(open=None, locate="css=p").texts == texts


def test_editor_draws_a_line_before_the_next_one_is_typed(show: Show) -> None:
    """As Trix: until it has drawn, it takes letters as if there had been no line break."""
    session = show(
        "<div id=t contenteditable style='white-space:pre'></div><script>let drawn = true, text = '';"
        "const draw = () => { t.textContent = text; getSelection().selectAllChildren(t); drawn = true };"
        "t.onbeforeinput = event => { event.preventDefault();"
        "  if (event.inputType === 'insertParagraph') { text += '/'; drawn = false; requestAnimationFrame(draw) }"
        "  else { text = drawn ? text + event.data : event.data + text; t.textContent = text } }</script>"
    )
    done(session, Type(Selector("css=#t"), "one\ntwo\n\nthree"))
    assert session.read_page(open=None, locate="js=text").value == "one/two//three"


@each_case(
    ("value", "cursor", "text"),
    [
        ("+1 (___) ___-____", "4, 4", "+1 (new___) ___-____"),
        ("old", "0, 3", "new"),  # selected
        ("a b c d e f g h i j k l m n o p q r s t u v w x y z", "length, length", None),
    ],
)
def test_type_keeps_the_cursor_that_a_field_sets_when_clicked(
    show: Show, value: str, cursor: str, text: str | None
) -> None:
    places = cursor.replace("length", "value.length")
    session = show(f"<input id=t size=9 value='{value}' onclick='with (this) setSelectionRange({places})'>")
    done(session, Type(Selector("css=#t"), "new"))
    assert session.read_page(open=None, locate="js=t.value").value == (text or f"{value}new")


def test_type_replaces_what_an_editor_selects_when_clicked(show: Show) -> None:
    session = show("<h1 id=t contenteditable onclick='getSelection().selectAllChildren(this)'>Untitled</h1>")
    done(session, Type(Selector("css=#t"), "Tea"))
    assert value_of(session, "css=#t") == "Tea"


def test_options_are_filtered_before_enter_is_pressed(show: Show) -> None:
    session = show(
        "<input id=t role=combobox aria-label=Tea><p id=chosen></p><script>let first = 'Assam';"
        "t.oninput = () => setTimeout(() => first = 'Sencha', 300);"
        "t.onkeydown = e => { if (e.key === 'Enter') chosen.textContent = first }</script>"
    )
    done(session, Type(Selector("css=#t"), "Sen", enter=True))
    assert session.read_page(open=None, locate="js=chosen.textContent").value == "Sencha"


@each_case(
    ("content", "editor"),
    [
        ("<p><b>&#xfeff;</b></p>", "<p><b>|\ufeff</b></p>"),
        ("<p><b>\u200b</b><br></p>\n", "<p><b>|\u200b</b><br></p>"),
        ("<p><b>&nbsp;</b><span contenteditable=false>Write here</span></p>", "<p><b>|\xa0</b>"),
        ("<p><b>&#xfeff;</b></p><p><img width=9></p>", '<img width="9">|'),
        ("<p><b>&#xfeff;</b></p><p>old</p>", "<p>old|</p>"),
    ],
)
def test_empty_editor_keeps_a_cursor_in_a_format(show: Show, content: str, editor: str) -> None:
    session = show(
        f"<div id=t contenteditable>{content}</div>"
        "<script>onmouseup = () => getSelection().collapse(t.querySelector('b').firstChild, 0)</script>"
    )
    done(session, Type(Selector("css=#t"), "|"))
    assert editor in str(session.read_page(open=None, locate="js=t.innerHTML").value).replace("&nbsp;", "\xa0")


def test_empty_editor_is_filled_as_it_is(show: Show) -> None:
    """Select-all and delete would lose what its script knows of the cursor, such as a chosen format."""
    session = show(f"<div id=t contenteditable onkeydown='log(event.key)'><b>&#xfeff;</b></div>{LOG}")
    done(session, Type(Selector("css=#t"), "ab", clear=True))
    assert (value_of(session, "css=#t").strip("\ufeff"), logged(session)) == ("ab", ("a", "b"))
