"""What input does in documents is recorded: nothing that scripts make up, nothing lost, whoever gives the input."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright
from websockets.sync.client import connect

from pytest_webarena.actions import (
    Back,
    Click,
    CloseTab,
    Drag,
    Element,
    FocusTab,
    NewTab,
    Press,
    Select,
    Selector,
    Type,
)
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.driven import Begun, Ended, open_driven
from pytest_webarena.checks.key_nodes.chains import hits
from pytest_webarena.checks.key_nodes.selector_reading import parse_selector
from pytest_webarena.signals import AddressChanged, ControlRecord, DomEvent, KeyPressed, TabClosed
from tests.browser.conftest import CALM, Web
from tests.browser.test_driven import Watched
from tests.processes import wait_until

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session

SITE = "http://a.test"


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    web = Web()
    web.put("/over", "<title>Over</title>there")
    yield web
    web.close()


@pytest.fixture(scope="module")
def shared(engine: BrowserEngine, web: Web) -> Iterator[Session]:
    with engine.session(SessionConfig(proxy=web.proxy, deadlines=CALM)) as session:
        yield session


Show = Callable[[str], "Session"]


@pytest.fixture
def show(shared: Session, web: Web) -> Show:
    """Show a page in the one session of all tests here."""

    def show(html: str) -> Session:
        shared.open_tabs([web.put("/", html)])
        return shared

    return show


def events(session: Session) -> list[DomEvent]:
    return [each for each in session.signals.since() if isinstance(each, DomEvent)]


def said(session: Session) -> list[tuple[str, str, str | None]]:
    """Event, target and value of all."""
    return [(each.event, each.target.selector, each.value) for each in events(session)]


def _more_than(session: Session, before: int) -> bool:
    return len(events(session)) > before


def places(event: DomEvent) -> list[tuple[str, str]]:
    return [(element.tag, element.within) for element in event.chain]


FORM = """<form action="/over"><label for=name>Name</label><input id=name value=Ada>
<input id=pw type=password autocomplete=off><label id=label><input id=box type=checkbox>Agree</label>
<input type=radio name=r id=r1><select id=sort><option>Newest<option>  Cheapest
 first</select><input id=day type=date><textarea id=note></textarea><input id=count type=number value=1>
<button id=go><span id=word>Go</span></button></form>"""


def test_fields_are_told_with_what_they_hold_afterwards(show: Show) -> None:
    session = show(FORM)
    session.execute(Type(Selector("#name"), "Grace", clear=True))
    session.execute(Type(Selector("#note"), "a\nb"))
    session.execute(Click(Selector("#label")))
    session.execute(Click(Selector("#r1")))
    session.execute(Select(Selector("#sort"), ("Cheapest first",)))
    session.execute(Type(Selector("#day"), "2026-11-23"))
    session.execute(Press("ArrowUp", Selector("#count")))
    assert [each for each in said(session) if each[0] == "change"] == [
        ("change", "#name", "Grace"),
        ("change", "#note", "a\nb"),
        ("change", "#box", "on"),
        ("change", "#r1", "on"),
        ("change", "#sort", "Cheapest first"),
        ("change", "#day", "2026-11-23"),
        ("change", "#count", "2"),
    ]
    assert ("click", "#box", None) in said(session)  # it may yet be what it was
    first = next(each for each in events(session) if each.event == "change")
    assert (first.target.role, first.target.name, first.target.tag) == ("textbox", "Name", "input")
    assert first.target.x is not None
    assert dict(first.chain[0].attributes) == {"id": "name", "value": "Ada"}
    box = next(each for each in events(session) if each.target.selector == "#box").chain
    assert [(each.tag, each.nth, each.children, each.nth_of_type, each.of_type) for each in box] == [
        ("input", 1, 1, 1, 1),
        ("label", 4, 10, 2, 2),
        ("form", 1, 1, 1, 1),
        ("body", 2, 2, 1, 1),
        ("html", 1, 1, 1, 1),
    ]


def test_writing_letter_by_letter_is_one_signal(show: Show) -> None:
    session = show(FORM)
    session.execute(Click(Selector("#note")))
    for key in "abc":
        session.execute(Press(key))
    assert said(session) == [("click", "#note", ""), ("input", "#note", "abc")]
    session.execute(Press("d"))  # what was given out already stays as it was
    assert said(session)[1:] == [("input", "#note", "abc"), ("input", "#note", "abcd")]


def test_who_clicks_into_a_field_and_writes_is_told_of_in_one_go(show: Show) -> None:
    session = show(
        FORM + "<script>const go = document.getElementById('note');"
        "go.onfocus = () => { go.className = 'in use'; };</script>"
    )
    session.execute(Type(Selector("#note"), "abc"))
    session.observe()
    assert said(session) == [("click", "#note", ""), ("input", "#note", "abc")]
    click, written = events(session)
    assert written.target == click.target
    assert "class" in written.chain[0].attributes  # as it was when it was written in
    session.execute(Click(Selector("#note")))
    session.execute(Click(Selector("#name")))  # and what only was clicked is told with what comes next, or by itself
    session.observe()
    assert said(session)[2:] == [("click", "#note", "abc"), ("change", "#note", "abc"), ("click", "#name", "Ada")]


def test_passwords_are_told_nowhere(show: Show) -> None:
    session = show(
        FORM + "<script>const show = () => { pw.type = 'text' }; pw.oninput = () => pw.setAttribute('value', pw.value)"
        "</script><button id=show onclick=show()>Show</button>"
    )
    session.execute(Type(Selector("#pw"), "sesame-7"))
    session.execute(Click(Selector("#show")))
    session.execute(Type(Selector("#pw"), "sesame-8", enter=True))
    assert ("change", "#pw", None) in said(session)
    assert "sesame" not in repr(session.signals.since()).replace("/over?pw=", "")
    assert session.signals.lost == 0


def test_clicks_submits_and_keys_come_in_order_before_where_they_lead(show: Show) -> None:
    session = show(FORM)
    session.execute(Click(Selector("#word")))
    assert [(each[0], each[1]) for each in said(session)] == [
        ("click", "#word"),
        ("submit", "html > body > form"),
    ]
    assert [each.control for each in events(session)] == [ControlRecord(place=1, name="Go", text="Go"), None]
    assert isinstance(session.signals.since()[-1], AddressChanged)
    session.execute(Back())
    session.execute(Type(Selector("#name"), "!", enter=True))
    assert [each[0] for each in said(session)[2:]] == ["click", "input", "keydown", "change", "click", "submit"]
    assert isinstance(session.signals.since()[-1], AddressChanged)


def test_keys_click_and_clicks_come_in_several_kinds(show: Show) -> None:
    session = show("<button id=k autofocus>K</button><button id=b>B</button>")
    session.execute(Press("Enter"))
    session.execute(Press("Space"))
    session.execute(Click(Selector("#b"), count=2))
    session.execute(Click(Selector("#b"), button="right"))
    assert [each[:2] for each in said(session)] == [
        ("keydown", "#k"),
        ("click", "#k"),
        ("click", "#k"),
        ("click", "#b"),
        ("click", "#b"),
        ("dblclick", "#b"),
        ("contextmenu", "#b"),
    ]


def test_targets_are_seen_through_shadow_trees_and_frames(show: Show, web: Web) -> None:
    web.put("/inner", "<div><button id=same>Same</button></div>")
    web.put("http://b.test/", "<iframe src='http://c.test/'></iframe><button id=other>Other</button>")
    web.put("http://c.test/", "<button id=third>Third</button>")
    session = show(
        """<x-a id=host></x-a><iframe src=/inner></iframe><iframe src="http://b.test/" height=300></iframe><x-c></x-c>
        <script>
        const root = host.attachShadow({mode: 'open'});
        root.innerHTML = '<p><x-b></x-b></p>';
        root.querySelector('x-b').attachShadow({mode: 'open'}).innerHTML =
          '<form onsubmit="return false"><input id=deep type=checkbox><button id=send>Send</button></form>';
        document.querySelector('x-c').attachShadow({mode: 'closed'}).innerHTML = '<button>Closed</button>';
        </script>"""
    )

    def click(role: str, name: str, event: str = "click") -> DomEvent:
        line = next(each for each in session.observe().text.splitlines() if each.strip().endswith(f"{role} '{name}'"))
        before = len(events(session))
        assert session.execute(Click(Element(line.strip()[1:].partition("]")[0]))).error == ""
        wait_until(lambda: any(each.event == event for each in events(session)[before:]))
        return events(session)[-1]

    session.execute(Click(Selector("#deep")))
    wait_until(lambda: any(each.event == "change" for each in events(session)))
    assert said(session)[-1] == ("change", "#deep", "on")  # an event that does not leave its tree
    send = click("button", "Send", "submit")
    assert (send.event, send.whole, send.frame) == ("submit", True, "")
    assert places(send) == [
        ("form", "shadow"),
        ("x-b", "element"),
        ("p", "shadow"),
        ("x-a", "element"),
        ("body", "element"),
        ("html", "root"),
    ]
    same = click("button", "Same")
    assert places(same)[2:] == [
        ("body", "element"),
        ("html", "frame"),
        ("iframe", "element"),
        ("body", "element"),
        ("html", "root"),
    ]
    assert (same.whole, same.frame, same.chain[4].nth_of_type) == (True, f"{SITE}/inner", 1)
    for name, url in {"Other": "http://b.test/", "Third": "http://c.test/"}.items():
        event = click("button", name)
        assert (event.target.name, event.whole, event.frame, event.url) == (name, True, url, f"{SITE}/")
        assert places(event)[-3:] == [("iframe", "element"), ("body", "element"), ("html", "root")]
    assert [each.attributes.get("src") for each in event.chain if each.tag == "iframe"] == [
        "http://c.test/",
        "http://b.test/",
    ]
    meant = "body > iframe[height='300'] >> internal:control=enter-frame >> iframe:first-child"
    meant += " >> internal:control=enter-frame >> #third"
    assert hits(parse_selector(meant), event)
    assert hits(parse_selector(meant.replace("300", "301")), event) is False
    seen = len(events(session))
    session.execute(Click(Selector("x-c")))
    wait_until(lambda: len(events(session)) > seen)
    assert places(events(session)[-1])[0] == ("x-c", "element")  # of a closed tree the host is all there is to see
    assert (session.signals.lost, session.signals.unheard) == (0, 0)


def test_a_window_that_outlives_its_first_empty_document_is_listened_to(show: Show, web: Web) -> None:
    """Whoever reaches into a frame or a window that he has just opened gets the one that its page will have, too."""
    for name in ("frame", "foreign", "popup"):
        web.put(f"/{name}", f"<button>{name}</button><script>document.title = typeof touched</script>")
    touch = "const frame = document.createElement('iframe'); frame.%s; document.body.append(frame);"
    touch += "frame.contentWindow.touched = 1"
    web.put("http://b.test/around", "<body><script>" + touch % f"src = '{SITE}/foreign'" + "</script>")
    session = show(
        "<body><button onclick=\"window.open('/popup').touched = 1\">Open</button>"
        "<iframe src='http://b.test/around'></iframe><script>{"
        + touch % "src = '/frame'"
        + "}{"
        + touch % "srcdoc = '<button>text</button>'"
        + "}</script>"
    )

    def press(name: str) -> DomEvent:
        def line() -> str | None:
            lines = (each.strip() for each in session.observe().text.splitlines())
            return next((each for each in lines if each.endswith(f"button '{name}'")), None)

        wait_until(lambda: line() is not None)
        before = len(events(session))
        assert session.execute(Click(Element((line() or "")[1:].partition("]")[0]))).error == ""
        wait_until(lambda: len(events(session)) > before)
        return events(session)[-1]

    assert [press(name).target.name for name in ("frame", "text", "foreign")] == ["frame", "text", "foreign"]
    session.execute(Click(Selector("button")))
    popup = press("popup")
    assert (popup.target.name, popup.url) == ("popup", f"{SITE}/popup")
    assert (session.signals.lost, session.signals.unheard) == (0, 0)


def test_documents_say_that_they_are_listened_to(show: Show, web: Web) -> None:
    """Those that come and go, that show errors, that run no scripts: of each it is known, so of none it is unknown."""
    web.put("/inner", "<button>Inner</button>")
    web.put("/refusing", web.reply("x", X_Frame_Options="DENY"))
    web.put("/picture", web.reply("<svg xmlns='http://www.w3.org/2000/svg'/>", Content_Type="image/svg+xml"))
    session = show(
        "<body><iframe></iframe><iframe sandbox src=/inner></iframe><iframe src=/refusing></iframe>"
        "<iframe src=/picture></iframe><iframe src='http://b.test/'></iframe><object data=/inner></object>"
        "<iframe src='javascript:1'></iframe><script>for (let n = 0; n < 12; n++) {"
        " const frame = document.createElement('iframe'); if (n % 2) frame.src = '/inner?' + n;"
        " document.body.append(frame); if (n % 3) frame.contentWindow.touched = 1;"
        " let left = 3; if (n < 4) frame.remove();"
        " else frame.onload = () => n < 8 ? frame.remove() : left-- > 0 && (frame.src = '/inner?' + n);"
        "}</script>"
    )
    assert "button 'Inner'" in session.observe().text
    wait_until(lambda: session.signals.unheard == 0)
    assert session.signals.lost == 0


def test_what_is_around_a_frame_of_another_site_is_told_anew_when_it_changes(show: Show, web: Web) -> None:
    web.put("http://b.test/", "<button>Pay</button>")
    session = show(
        "<body><main><iframe src='http://b.test/'></iframe></main><button onclick=\"const frame = "
        "document.querySelector('iframe'); frame.id = 'pay'; frame.parentNode.className = 'open'; "
        "frame.before(document.createElement('i'))\">Open</button>"
    )

    def pay() -> DomEvent:
        before = len(events(session))
        line = next(each.strip() for each in session.observe().text.splitlines() if each.endswith("button 'Pay'"))
        session.execute(Click(Element(line[1:].partition("]")[0])))
        wait_until(lambda: len(events(session)) > before)
        return events(session)[-1]

    selector = parse_selector("main.open > #pay:nth-child(2) >> internal:control=enter-frame >> button")
    assert hits(selector, pay()) is False
    session.execute(Click(Selector("main + button")))
    assert hits(selector, pay()) is True
    assert session.signals.lost == 0


SUGGESTIONS = """<ul id=list style="margin: 0"><li data-v=one><b>One</b></li><li>Two</li></ul><button>B</button><p>P</p>
<script>list.addEventListener('KIND', event => {
  const at = event.target.closest('li').dataset.v;
  HOW;
  history.replaceState(null, '', '?at=' + at);
})</script>"""


@pytest.mark.parametrize("how", ["list.innerHTML = ''", "list.hidden = true", "list.innerHTML += ''"])
@pytest.mark.parametrize("kind", ["pointerdown", "mousedown", "mouseup", "click"])
def test_what_goes_when_it_is_pressed_was_clicked_all_the_same(show: Show, kind: str, how: str) -> None:
    session = show(SUGGESTIONS.replace("KIND", kind).replace("HOW", how))
    session.execute(Click(Selector("b")))
    wait_until(lambda: any(each.chain[1].attributes.get("data-v") for each in events(session)))
    (pressed,) = [each for each in events(session) if each.chain[0].tag == "b"]
    assert (pressed.event, pressed.target.name, places(pressed)[1][0]) == ("click", "One", "li")
    first = next(each for each in session.signals.since() if "?at=" in each.url or each is pressed)
    assert first is pressed  # before where it led to
    session.execute(Click(Selector("p")))
    assert [each.target.selector for each in events(session)].count("html > body > p") == 1


def test_who_lets_go_elsewhere_has_clicked_nothing(show: Show) -> None:
    session = show(SUGGESTIONS.replace("KIND", "mousedown").replace("HOW", "list.hidden = true; return"))
    session.execute(Drag(Selector("b"), Selector("p")))
    session.execute(Drag(Selector("button"), Selector("p")))
    assert [each for each in events(session) if each.chain[0].tag in ("b", "button")] == []


def test_middle_clicks_and_drops_are_told(show: Show) -> None:
    session = show(
        "<a href=/over>Over</a><div id=a draggable=true ondragstart=\"event.dataTransfer.setData('text', 'a')\">A</div>"
        "<div id=z ondragover='event.preventDefault()'>Z</div>"
    )
    session.execute(Drag(Selector("#a"), Selector("#z")))
    assert [each[:2] for each in said(session)] == [("dragstart", "#a"), ("drop", "#z")]
    session.execute(Click(Selector("#z"), button="right"))
    session.execute(Click(Selector("a"), button="middle"))
    assert [each[0] for each in said(session)[2:]] == ["contextmenu", "auxclick"]


def test_letters_are_told_before_the_address_that_they_lead_to(show: Show) -> None:
    session = show("<input oninput=\"history.replaceState(null, '', '?q=' + value)\">")
    session.execute(Type(Selector("input"), "rye"))
    order = [each.value if isinstance(each, DomEvent) else each.url for each in session.signals.since()]
    assert order[1:] == ["", "r", f"{SITE}/?q=r", "ry", f"{SITE}/?q=ry", "rye", f"{SITE}/?q=rye"]


def test_what_opens_a_dialog_that_stays_is_told_before_it(engine: BrowserEngine, web: Web) -> None:
    with engine.session(SessionConfig(proxy=web.proxy, deadlines=CALM, dialogs="hold")) as session:
        field = "<input id=day onclick='alert(1)' oninput='alert(value)'>"
        session.open_tabs([web.put("/", field)])
        session.execute(Click(Selector("#day")))
        session.execute(Press("Enter"))  # accepts
        session.execute(Press("7"))
        order = [each.value if isinstance(each, DomEvent) else each.kind for each in session.signals.since()[1:]]
        assert order == ["", "dialog_opened", "dialog_closed", "7", "dialog_opened"]


def test_of_documents_that_a_page_has_made_is_known_which(show: Show, web: Web) -> None:
    write = "const d = window.open('', '', '%s').document; d.write('<button>%s</button>'); d.close();"
    web.put("http://b.test/foreign", "<iframe srcdoc='<button>Within</button>'></iframe>")
    session = show(
        f'<button onclick="{write % ("popup", "Popup")}">Open</button><button onclick=build()>Build</button>'
        "<script>const build = () => { open('', 'built').document.body.innerHTML = '<button>Built</button>' }</script>"
        "<iframe srcdoc='<button>Text</button>'></iframe><iframe src='http://b.test/foreign'></iframe>"
        "<iframe sandbox srcdoc='<button>Sandbox</button>'></iframe>"
        "<iframe srcdoc=\"<iframe srcdoc='<button>Twice</button>'></iframe>\"></iframe>"
    )
    for name, maker in {
        "Text": f"{SITE}/", "Within": "http://b.test/foreign", "Sandbox": f"{SITE}/", "Twice": f"{SITE}/", "Open": None,
        "Popup": f"{SITE}/", "Build": None, "Built": SITE,
    }.items():  # fmt: skip
        if name == "Build":
            session.execute(FocusTab(0))
        before = len(events(session))
        line = next(each.strip() for each in session.observe().text.splitlines() if each.endswith(f"button '{name}'"))
        session.execute(Click(Element(line[1:].partition("]")[0])))
        wait_until(partial(_more_than, session, before))
        assert (name, events(session)[-1].maker) == (name, maker)


def test_windows_are_listened_to_from_their_first_document_on(show: Show) -> None:
    session = show(
        """<button onclick="const d = window.open('').document; d.write('<button id=a>A</button>'); d.close()">
        Open</button>"""
    )
    session.execute(Click(Selector("button")))
    session.execute(Click(Selector("#a")))
    session.execute(FocusTab(0))
    session.execute(Click(Selector("button")))
    first, second, third = events(session)
    assert (second.target.selector, second.url) == ("#a", "about:blank")
    assert second.tab != first.tab == third.tab


def test_documents_that_are_written_anew_are_still_listened_to(show: Show) -> None:
    session = show(
        """<button id=one onclick="document.open(); document.write('<button id=two>Two</button>'); document.close()">
        One</button>"""
    )
    session.execute(Click(Selector("#one")))
    session.execute(Click(Selector("#two")))
    assert [each[1] for each in said(session)] == ["#one", "#two"]


FORGERIES = {
    "events made up": "for (const type of ['click', 'input', 'change', 'dblclick', 'contextmenu', 'keydown'])"
    " name_.dispatchEvent(new Event(type, {bubbles: true, composed: true}))",
    "a click by script": "go.click()",
    "a box by script": "box.click()",
    "a box by its label": "label.click(); label.dispatchEvent(new MouseEvent('click', {bubbles: true}))",
    "a box within a shadow tree": "inside.dispatchEvent(new MouseEvent('click', {bubbles: true}))",
    "a form by script": "form.requestSubmit(go); form.requestSubmit()",
    "text by command": "name_.focus(); document.execCommand('insertText', false, 'x'); name_.blur();"
    " name_.focus(); document.execCommand('undo'); name_.blur()",
    "a binding that was guessed": "for (const key of Object.getOwnPropertyNames(window))"
    " if (/arena/i.test(key)) window[key]('{}')",
    "an announcement that was overheard": "for (const [type, detail] of [...window.heard])"
    " for (const el of [go, name_]) el.dispatchEvent(new CustomEvent(type, {detail, bubbles: true, composed: true}))",
}
FORGING = """<form id=form onsubmit="return false"><input id=name_>
<label id=label><input id=box type=checkbox>Box</label>
<select id=sort><option>One<option>Two</select><button id=go>Go</button></form><x-a></x-a><p id=plain>Plain</p><script>
const root = document.querySelector('x-a').attachShadow({mode: 'open'});
root.innerHTML = '<input type=checkbox>';
const inside = root.querySelector('input');
inside.addEventListener('click', event => event.preventDefault(), {once: true});
window.heard = [];
const dispatch = EventTarget.prototype.dispatchEvent;
EventTarget.prototype.dispatchEvent = function (event) {
  if (event instanceof CustomEvent && event.isTrusted === false) window.heard.push([event.type, event.detail]);
  return dispatch.call(this, event);
};
</script>"""


def test_scripts_can_make_up_no_event(show: Show) -> None:
    """Each right after real input, which also leaves something that they could use: focus, an open shadow tree."""
    session = show(FORGING)
    session.execute(Select(Selector("#sort"), ("Two",)))
    session.execute(Click(Selector("x-a input")))
    assert said(session) == [("change", "#sort", "Two"), ("click", "input", None)]
    for name, script in FORGERIES.items():
        page = session.read_page(
            open=None,
            locate="js=(() => { try { " + script + " } catch (error) { return String(error) } return 'ok' })()",
        )
        assert (page.value, page.error) == ("ok", ""), name
        session.execute(Click(Selector("#plain")))  # what was said until then is here by now
        assert said(session)[2:] == [("click", "#plain", None)] * (len(said(session)) - 2), name
    assert len(said(session)) == len(FORGERIES) + 2


def test_input_before_a_document_goes_is_not_lost(show: Show, web: Web) -> None:
    """Fifty times, half of them to another site's process."""
    session = show("<a href='http://b.test/back'>There</a>")
    web.put("http://b.test/back", f"<form action='{SITE}/'><button>Back</button></form>")
    for _ in range(25):
        session.execute(Click(Selector("a")))
        session.execute(Click(Selector("button")))
    order = [each.event if isinstance(each, DomEvent) else each.url for each in session.signals.since()]
    there, back = ["click", "http://b.test/back"], ["click", "submit", f"{SITE}/?"]
    assert order == [f"{SITE}/", *(there + back) * 25]
    times = [each.time for each in session.signals.since()]
    assert times == sorted(times)


def test_letters_before_a_document_goes_are_not_lost_either(show: Show, web: Web) -> None:
    session = show("<input id=code oninput=\"if (value == 'abcd') location = 'http://b.test/back'\">")
    web.put("http://b.test/back", f"<a href='{SITE}/'>Back</a>")
    for _ in range(10):
        session.execute(Type(Selector("#code"), "abcd"))
        session.execute(Click(Selector("a")))
    order = [each.value if isinstance(each, DomEvent) else each.url for each in session.signals.since()]
    assert order == [f"{SITE}/", *["", "abcd", "http://b.test/back", None, f"{SITE}/"] * 10]


HOSTILE = """<form id=form><input name=id><input name=tagName><input name=getAttribute><input name=parentNode>
<input name=attributes><input name=nodeType><input name=localName><input name=children><input name=ownerDocument>
<button id=go type=button>Go</button></form><script>
form.setAttribute('data-big', 'x'.repeat(1 << 20));
form.setAttribute('y'.repeat(1 << 20), '');
for (let n = 0; n < 100; n++) form.setAttribute('data-' + n, '\\ud800' + 'z'.repeat(1000));
let el = document.getElementById('go');
const parent = document.createElement('div');
form.append(parent);
let at = parent;
for (let n = 0; n < 400; n++) { const next = document.createElement('div'); at.append(next); at = next; }
at.append(el);
const crowd = document.createElement('section');
crowd.innerHTML = '<i></i>'.repeat(30000);
document.body.append(crowd);
const last = document.createElement('button');
last.id = 'last';
last.textContent = 'Last ' + 'w'.repeat(1 << 20);
last.style = 'position: fixed; top: 0; right: 0; width: 50px; height: 20px; overflow: hidden';
crowd.append(last);
for (const name of ['push', 'stringify', 'composedPath', 'toWellFormed', 'slice']) {
  for (const kind of [Array, JSON, Event, String]) if (kind.prototype) kind.prototype[name] = () => { throw 'no' };
}
JSON.stringify = Object.defineProperty = WeakMap.prototype.get = () => { throw 'no' };
</script>"""


def test_pages_that_make_it_hard_are_told_of_within_bounds(show: Show) -> None:
    session = show(HOSTILE)
    lines = [each.strip() for each in session.observe().text.splitlines()]
    ids = [each[1:].partition("]")[0] for each in lines if " button 'Go'" in each or " button 'Last" in each]
    assert [session.execute(Click(Element(each))).error for each in ids] == ["", ""]
    assert session.signals.lost == 0
    deep, last = events(session)
    assert (deep.target.name, len(deep.chain), deep.whole) == ("Go", 40, False)
    assert last.target.text.startswith("Last www")
    assert len(last.target.text) == 200
    assert (last.chain[0].nth, last.chain[0].children) == (0, 0)  # too many to count
    first = next(each[1:].partition("]")[0] for each in lines if " textbox '" in each)
    session.execute(Click(Element(first)))
    session.observe()  # somebody may write there at once, so it is told a moment later
    form = events(session)[-1].chain[1]
    assert (form.tag, form.attributes["id"], len(form.attributes)) == ("form", "form", 40)
    assert max(map(len, form.attributes.values())) == 300
    assert form.attributes["data-big"].endswith("…")
    json.dumps(form.attributes["data-0"]).encode()
    assert len(repr(events(session)[-1])) < 60_000


def test_whoever_drives_over_the_protocol_leaves_the_same_events_and_can_make_up_none(
    engine: BrowserEngine, web: Web
) -> None:
    config = SessionConfig(proxy=web.proxy, deadlines=CALM, dialogs="hold")
    web.put("/", FORGING + "<a href='/window' target=_blank>Window</a>")
    web.put("/window", "<button id=w>W</button>")
    with sync_playwright() as playwright, open_driven(engine, config) as (session, driven):
        session.open_tabs([f"{SITE}/"])
        watched = _Following(session, driven)
        client = playwright.chromium.connect_over_cdp(driven.cdp_url)
        page = client.contexts[0].pages[0]
        page.set_default_timeout(20_000)
        page.locator("#name_").press_sequentially("rye")
        page.locator("#box").check()
        with page.expect_popup() as opened:
            page.get_by_text("Window").click()
        opened.value.locator("#w").click()
        opened.value.close()
        wait_until(lambda: len(said(session)) >= 7)
        assert said(session) == [
            ("input", "#name_", "rye"),
            ("change", "#name_", "rye"),
            ("click", "#box", None),
            ("input", "#box", "on"),
            ("change", "#box", "on"),
            ("click", 'a[href="/window"]', None),
            ("click", "#w", None),
        ]
        for script in FORGERIES.values():
            page.evaluate("() => { " + script + " }")
        with connect(driven.cdp_url, max_size=None) as socket:
            _Intruder(socket).try_everything()
        page.locator("#plain").click()
        wait_until(lambda: len(said(session)) >= 9)
        assert said(session)[7:] == [("click", "#plain", None)] * 2  # the other one was the intruder's, and real
        assert session.signals.lost == 0
        client.close()
        watched.close()


class _Following(Watched):
    """As a trial does it: what is acted on is looked for before it is."""

    def _attend(self) -> None:
        while not isinstance(event := self.driven.events.get(), Ended):
            if isinstance(event, Begun):
                self.session.follow(event.target)
                event.go()


_CREATED = "Runtime.executionContextCreated"


class _Intruder:
    """Looks for the harness's scripts with the bare protocol."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._id = 0
        self._session = ""
        self.heard: list[dict[str, Any]] = []

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        number = self._id = self._id + 1
        message = {"id": number, "method": method, "params": params}
        self._socket.send(json.dumps(message | ({"sessionId": self._session} if self._session else {})))
        while True:
            answer: dict[str, Any] = json.loads(self._socket.recv(20))
            if answer.get("id") == number:
                return answer
            self.heard.append(answer)
            if answer.get("method") == "Debugger.paused":  # among scripts of the agent's other client
                self._id += 1
                resume = {"id": self._id, "method": "Debugger.resume", "sessionId": self._session}
                self._socket.send(json.dumps(resume))

    def try_everything(self) -> None:
        targets = self("Target.getTargets")["result"]["targetInfos"]
        target = next(each["targetId"] for each in targets if each["url"] == f"{SITE}/")
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["result"]["sessionId"]
        forge = (
            "for (const key of Object.getOwnPropertyNames(globalThis)) if (/^webarena/.test(key)) globalThis[key]('{}')"
        )
        reached = []
        for id in range(1, 40):  # numbers are guessed easily, and nothing has been told yet
            answer = self("Runtime.evaluate", expression=f"{forge}; 1", contextId=id)
            reached += ["result" in answer]
            self("Runtime.addBinding", name="mine", executionContextId=id)
            self("Runtime.callFunctionOn", functionDeclaration=f"() => {{ {forge} }}", executionContextId=id)
        assert not any(reached)
        self("Runtime.enable")
        self("Debugger.enable")
        contexts = [each["params"]["context"] for each in self.heard if each.get("method") == _CREATED]
        assert contexts
        assert not [each for each in contexts if each["name"].startswith("pytest-webarena")]
        for context in contexts:  # in those that it may use there is nothing to be found
            assert "result" in self("Runtime.evaluate", expression=forge, contextId=context["id"])
        known = {each["params"]["scriptId"] for each in self.heard if each.get("method") == "Debugger.scriptParsed"}
        for script in map(str, range(1, 60)):
            answer = self("Debugger.getScriptSource", scriptId=script)
            if script not in known:
                assert "error" in answer
                assert "error" in self("Debugger.setScriptSource", scriptId=script, scriptSource="")
                assert "error" in self("Debugger.setBreakpoint", location={"scriptId": script, "lineNumber": 0})
        assert "error" in self("HeapProfiler.getObjectByHeapObjectId", objectId="1")
        self("DOMDebugger.setEventListenerBreakpoint", eventName="click")
        where = self("Runtime.evaluate", expression="JSON.stringify(plain.getBoundingClientRect())", returnByValue=True)
        box = json.loads(where["result"]["result"]["value"])
        for type in ("mousePressed", "mouseReleased"):
            self(
                "Input.dispatchMouseEvent",
                type=type,
                x=box["left"] + 5,
                y=box["top"] + 5,
                button="left",
                clickCount=1,
            )
        paused = [each["params"]["callFrames"] for each in self.heard if each.get("method") == "Debugger.paused"]
        assert {call["location"]["scriptId"] for calls in paused for call in calls} <= known
        self("Debugger.disable")


def test_many_events_cost_no_more_than_they_may(show: Show) -> None:
    """A page that repeats a signature as often as it likes: what is not believed is counted, and nothing is kept."""
    session = show(FORGING)
    session.execute(Select(Selector("#sort"), ("Two",)))
    began = time.monotonic()
    session.read_page(
        open=None,
        locate="js=(() => { const [type, detail] = heard[0]; for (let n = 0; n < 2000; n++)"
        " go.dispatchEvent(new CustomEvent(type, {detail: 'x'.repeat(1000), bubbles: true})); return '' })()",
    )
    session.execute(Click(Selector("#plain")))
    assert time.monotonic() - began < 60
    assert [each[1] for each in said(session)] == ["#sort", "#plain"]


KEYS = """<body><input id=line><input id=count type=number value=1><textarea id=note></textarea>
<p id=rich contenteditable>x</p><button id=save>Save</button><select id=sort><option>a<option>b</select>
<input type=checkbox id=box><a id=map href=#map>Map</a>"""


def keys(session: Session) -> list[tuple[str, str]]:
    return [(each.keys, each.target.selector) for each in session.signals.since() if isinstance(each, KeyPressed)]


@pytest.mark.parametrize(
    ("target", "pressed", "told"),
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
def test_keys_that_write_nothing_are_told_apart_from_the_events_of_fields(
    show: Show, target: str | None, pressed: list[str], told: list[str]
) -> None:
    session = show(KEYS)
    for each in pressed:
        assert not session.execute(Press(each, Selector(f"css={target}") if target else None)).error
    assert [key for key, _ in keys(session)] == told
    assert {selector for _, selector in keys(session)} <= {target or "html > body"}
    assert "key" not in {event for event, _, _ in said(session)}


HIDDEN = """<body><x-login id=login></x-login><div id=box></div><div id=frame tabindex=0></div>
<x-list id=list tabindex=0>List</x-list><div id=grid tabindex=0>Grid</div><script>
for (const id of ['login', 'box', 'frame']) {
  const tree = document.getElementById(id).attachShadow({mode: 'closed', delegatesFocus: id === 'box'});
  tree.innerHTML = '<input type=password>';
  document.getElementById(id).enter = () => tree.firstChild.focus();
}
</script>"""


@pytest.mark.parametrize("host", ["login", "box", "frame"])
def test_what_is_written_in_a_closed_shadow_tree_is_told_nobody_letter_by_letter(show: Show, host: str) -> None:
    """Only the element around the tree is seen, and what is in it may be a field for a password."""
    session = show(HIDDEN)
    session.read_page(open=None, locate=f"js=(() => {{ document.getElementById('{host}').enter(); return '' }})()")
    for key in ("s", "S", "7", " ", "Alt+s", "Escape", "Control+k"):
        assert not session.execute(Press(key)).error
    assert [key for key, _ in keys(session)] == ["Alt+s", "Escape", "Control+k"]


def test_letters_are_shortcuts_where_no_field_can_be(show: Show) -> None:
    session = show(HIDDEN)
    session.execute(Press("j", Selector("css=#grid")))
    session.execute(Press("j", Selector("css=#list")))  # has its own field, for all that anybody knows
    assert keys(session) == [("j", "#grid")]


def test_what_is_written_into_a_document_that_is_edited_as_a_whole_is_no_shortcut(show: Show) -> None:
    session = show("<body><p>Note</p><script>document.designMode = 'on'</script>")
    for key in ("s", "Escape"):
        session.execute(Press(key))
    assert [key for key, _ in keys(session)] == ["Escape"]


def test_a_tab_that_is_closed_is_told_and_not_the_end_of_all(show: Show, web: Web) -> None:
    session = show("<a href=/over target=_blank id=open>Open</a>")
    session.execute(Click(Selector("css=#open")))
    session.execute(CloseTab())
    session.execute(NewTab())
    session.execute(CloseTab())
    closed = [each for each in session.signals.since() if isinstance(each, TabClosed)]
    assert [(each.cause, each.url) for each in closed] == [("browser", f"{SITE}/over"), ("browser", "about:blank")]
    session.open_tabs([web.put("/", "x")])
    assert not [each for each in session.signals.since() if isinstance(each, TabClosed)]


MASKED = """<body><input id=day placeholder=hh:mm><input id=other><button id=go>Go</button><script>
day.onkeydown = event => {
  if (!/^[0-9]$/.test(event.key)) return;
  event.preventDefault();
  const digits = (day.value.replace(/\\D/g, '') + event.key).slice(0, 4);
  day.value = digits.length > 2 ? digits.slice(0, 2) + ':' + digits.slice(2) : digits;
};
</script>"""


def test_what_a_masked_field_makes_of_keys_is_told_when_it_is_left(show: Show) -> None:
    session = show(MASKED)
    session.execute(Type(Selector("css=#day"), "1230"))
    session.execute(Click(Selector("css=#go")))
    assert said(session) == [("click", "#day", ""), ("change", "#day", "12:30"), ("click", "#go", None)]


def test_what_a_masked_field_makes_of_keys_is_told_when_nothing_more_comes(show: Show) -> None:
    session = show(MASKED)
    session.execute(Type(Selector("css=#day"), "1230"))
    wait_until(lambda: ("change", "#day", "12:30") in said(session), seconds=30)


def test_what_scripts_write_into_fields_in_which_nobody_struck_a_key_is_not_told(show: Show) -> None:
    session = show(MASKED.replace("day.onkeydown", "other.onkeydown = () => { other.value = 'mine'; }; day.onkeydown"))
    session.execute(Press("a", Selector("css=#day")))
    session.execute(Click(Selector("css=#other")))
    session.execute(Click(Selector("css=#go")))
    assert [(event, value) for event, _, value in said(session) if event == "change"] == [("change", "a")]
