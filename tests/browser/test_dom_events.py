"""Real input in documents is recorded as DOM events, from every source of input; none is lost or made up by scripts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

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
from pytest_webarena.checks.key_nodes.chains import hits
from pytest_webarena.checks.key_nodes.selector_reading import parse_selector
from pytest_webarena.signals import AddressChanged, ControlRecord, DomEvent, TabClosed
from tests.browser.conftest import CALM, Web
from tests.browser.listening import SITE, Show, events, has_more_events, places, recorded_input, shared, show, web
from tests.processes import wait_until

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine

__all__ = ["shared", "show", "web"]

FORM = """<form action="/over"><label for=name>Name</label><input id=name value=Ada>
<input id=pw type=password autocomplete=off><label id=label><input id=box type=checkbox>Agree</label>
<input type=radio name=r id=r1><select id=sort><option>Newest<option>  Cheapest
 first</select><input id=day type=date><textarea id=note></textarea><input id=count type=number value=1>
<button id=go><span id=word>Go</span></button></form>"""


def test_field_events_contain_the_resulting_value(show: Show) -> None:
    session = show(FORM)
    session.execute(Type(Selector("#name"), "Grace", clear=True))
    session.execute(Type(Selector("#note"), "a\nb"))
    session.execute(Click(Selector("#label")))
    session.execute(Click(Selector("#r1")))
    session.execute(Select(Selector("#sort"), ("Cheapest first",)))
    session.execute(Type(Selector("#day"), "2026-11-23"))
    session.execute(Press("ArrowUp", Selector("#count")))
    assert [each for each in recorded_input(session) if each[0] == "change"] == [
        ("change", "#name", "Grace"),
        ("change", "#note", "a\nb"),
        ("change", "#box", "on"),
        ("change", "#r1", "on"),
        ("change", "#sort", "Cheapest first"),
        ("change", "#day", "2026-11-23"),
        ("change", "#count", "2"),
    ]
    assert ("click", "#box", None) in recorded_input(session)  # the value may still change back
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


def test_typing_letter_by_letter_is_one_input_event(show: Show) -> None:
    session = show(FORM)
    session.execute(Click(Selector("#note")))
    for key in "abc":
        session.execute(Press(key))
    assert recorded_input(session) == [("click", "#note", ""), ("input", "#note", "abc")]
    session.execute(Press("d"))  # signals already returned do not change
    assert recorded_input(session)[1:] == [("input", "#note", "abc"), ("input", "#note", "abcd")]


def test_click_into_field_and_typing_are_click_and_input_events(show: Show) -> None:
    session = show(
        FORM + "<script>const go = document.getElementById('note');"
        "go.onfocus = () => { go.className = 'in use'; };</script>"
    )
    session.execute(Type(Selector("#note"), "abc"))
    session.observe()
    assert recorded_input(session) == [("click", "#note", ""), ("input", "#note", "abc")]
    click, written = events(session)
    assert written.target == click.target
    assert "class" in written.chain[0].attributes  # as it was when it was written in
    session.execute(Click(Selector("#note")))
    session.execute(Click(Selector("#name")))  # a click alone is recorded with the next event, or after a pause
    session.observe()
    assert recorded_input(session)[2:] == [
        ("click", "#note", "abc"),
        ("change", "#note", "abc"),
        ("click", "#name", "Ada"),
    ]


def test_passwords_are_never_recorded(show: Show) -> None:
    session = show(
        FORM + "<script>const show = () => { pw.type = 'text' }; pw.oninput = () => pw.setAttribute('value', pw.value)"
        "</script><button id=show onclick=show()>Show</button>"
    )
    session.execute(Type(Selector("#pw"), "sesame-7"))
    session.execute(Click(Selector("#show")))
    session.execute(Type(Selector("#pw"), "sesame-8", enter=True))
    assert ("change", "#pw", None) in recorded_input(session)
    assert "sesame" not in repr(session.signals.since()).replace("/over?pw=", "")
    assert session.signals.lost == 0


def test_clicks_submits_and_keys_precede_the_navigation_they_cause(show: Show) -> None:
    session = show(FORM)
    session.execute(Click(Selector("#word")))
    assert [(each[0], each[1]) for each in recorded_input(session)] == [
        ("click", "#word"),
        ("submit", "html > body > form"),
    ]
    assert [each.control for each in events(session)] == [ControlRecord(place=1, name="Go", text="Go"), None]
    assert isinstance(session.signals.since()[-1], AddressChanged)
    session.execute(Back())
    session.execute(Type(Selector("#name"), "!", enter=True))
    assert [each[0] for each in recorded_input(session)[2:]] == [
        "click",
        "input",
        "keydown",
        "change",
        "click",
        "submit",
    ]
    assert isinstance(session.signals.since()[-1], AddressChanged)


def test_key_clicks_double_clicks_and_right_clicks_are_recorded(show: Show) -> None:
    session = show("<button id=k autofocus>K</button><button id=b>B</button>")
    session.execute(Press("Enter"))
    session.execute(Press("Space"))
    session.execute(Click(Selector("#b"), count=2))
    session.execute(Click(Selector("#b"), button="right"))
    assert [each[:2] for each in recorded_input(session)] == [
        ("keydown", "#k"),
        ("click", "#k"),
        ("click", "#k"),
        ("click", "#b"),
        ("click", "#b"),
        ("dblclick", "#b"),
        ("contextmenu", "#b"),
    ]


def test_event_targets_are_found_in_shadow_trees_and_frames(show: Show, web: Web) -> None:
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
    assert recorded_input(session)[-1] == ("change", "#deep", "on")  # an event that does not leave its tree
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
    expected = "body > iframe[height='300'] >> internal:control=enter-frame >> iframe:first-child"
    expected += " >> internal:control=enter-frame >> #third"
    assert hits(parse_selector(expected), event)
    assert hits(parse_selector(expected.replace("300", "301")), event) is False
    seen = len(events(session))
    session.execute(Click(Selector("x-c")))
    wait_until(lambda: len(events(session)) > seen)
    assert places(events(session)[-1])[0] == ("x-c", "element")  # of a closed tree the host is all there is to see
    assert (session.signals.lost, session.signals.unlistened_documents) == (0, 0)


def test_window_reused_by_its_first_document_is_observed(show: Show, web: Web) -> None:
    """A script that accesses a new frame or window gets the window object that its page will have, too."""
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
    assert (session.signals.lost, session.signals.unlistened_documents) == (0, 0)


def test_every_document_reports_that_it_is_observed(show: Show, web: Web) -> None:
    """Also documents that are removed, that show errors, or that run no scripts."""
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
    wait_until(lambda: session.signals.unlistened_documents == 0)
    assert session.signals.lost == 0


def test_surroundings_of_cross_site_frame_are_updated(show: Show, web: Web) -> None:
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


@pytest.mark.matrix(2)
@pytest.mark.parametrize("how", ["list.innerHTML = ''", "list.hidden = true", "list.innerHTML += ''"])
@pytest.mark.parametrize("kind", ["pointerdown", "mousedown", "mouseup", "click"])
def test_element_removed_on_press_counts_as_clicked(show: Show, kind: str, how: str) -> None:
    session = show(SUGGESTIONS.replace("KIND", kind).replace("HOW", how))
    session.execute(Click(Selector("b")))
    wait_until(lambda: any(each.chain[1].attributes.get("data-v") for each in events(session)))
    (pressed,) = [each for each in events(session) if each.chain[0].tag == "b"]
    assert (pressed.event, pressed.target.name, places(pressed)[1][0]) == ("click", "One", "li")
    first = next(each for each in session.signals.since() if "?at=" in each.url or each is pressed)
    assert first is pressed  # before where it led to
    session.execute(Click(Selector("p")))
    assert [each.target.selector for each in events(session)].count("html > body > p") == 1


def test_release_on_another_element_is_no_click(show: Show) -> None:
    session = show(SUGGESTIONS.replace("KIND", "mousedown").replace("HOW", "list.hidden = true; return"))
    session.execute(Drag(Selector("b"), Selector("p")))
    session.execute(Drag(Selector("button"), Selector("p")))
    assert [each.event for each in events(session) if each.chain[0].tag in ("b", "button")] == ["pointerdown"] * 2


def test_click_events_say_whether_text_was_selected_by_dragging(show: Show) -> None:
    session = show(
        "<div><p id=a>First</p><p id=b>Second</p></div><p id=held onmousedown='event.preventDefault()'>Held "
        "<i id=end>back</i></p><p id=c>Third</p>"
    )
    session.execute(Drag(Selector("#a"), Selector("#b")))
    session.execute(Drag(Selector("#held"), Selector("#end")))  # the earlier selection remains unchanged
    session.execute(Click(Selector("#c")))
    session.execute(Click(Selector("#c"), count=2))  # a word, with a pointer that did not move
    recorded = [(each.target.selector, each.selects) for each in events(session)]
    assert recorded == [("html > body > div", True), ("#held", False), *[("#c", False)] * 4]


def test_drags_that_a_script_makes_of_pointer_events_are_recorded(show: Show) -> None:
    session = show(
        "<style>body { user-select: none }</style><p id=c>C</p><input type=range id=r><div id=z>Z</div>"
        "<div id=a onpointermove='this.style.translate = `0 ${event.y - this.offsetTop - 9}px`'>A</div>"
    )
    session.execute(Drag(Selector("#a"), Selector("#z")))
    assert [each[:2] for each in recorded_input(session)] == [("pointerdown", "#a"), ("pointerup", "#z")]
    session.execute(Drag(Selector("#r"), Selector("#c")))
    assert ("pointerdown", "#r") not in [each[:2] for each in recorded_input(session)]


def test_click_on_what_is_covered_when_it_is_pressed_is_recorded(show: Show) -> None:
    session = show(
        "<input id=day readonly onmousedown='over.hidden = false'>"
        "<div id=over hidden style='position: absolute; inset: 0'>May</div>"
    )
    session.execute(Click(Selector("#day")))
    assert [each[:2] for each in recorded_input(session)] == [("click", "#day")]


def test_middle_clicks_and_drops_are_recorded(show: Show) -> None:
    session = show(
        "<a href=/over>Over</a><div id=a draggable=true ondragstart=\"event.dataTransfer.setData('text', 'a')\">A</div>"
        "<div id=z ondragover='event.preventDefault()'>Z</div>"
    )
    session.execute(Drag(Selector("#a"), Selector("#z")))
    assert [each[:2] for each in recorded_input(session)] == [("dragstart", "#a"), ("drop", "#z")]
    session.execute(Click(Selector("#z"), button="right"))
    session.execute(Click(Selector("a"), button="middle"))
    assert [each[0] for each in recorded_input(session)[2:]] == ["contextmenu", "auxclick"]


def test_input_events_precede_the_address_changes_they_cause(show: Show) -> None:
    session = show("<input oninput=\"history.replaceState(null, '', '?q=' + value)\">")
    session.execute(Type(Selector("input"), "rye"))
    order = [each.value if isinstance(each, DomEvent) else each.url for each in session.signals.since()]
    assert order[1:] == ["", "r", f"{SITE}/?q=r", "ry", f"{SITE}/?q=ry", "rye", f"{SITE}/?q=rye"]


def test_input_event_precedes_the_held_dialog_it_opens(engine: BrowserEngine, web: Web) -> None:
    with engine.session(SessionConfig(proxy=web.proxy, deadlines=CALM, dialogs="hold")) as session:
        field = "<input id=day onclick='alert(1)' oninput='alert(value)'>"
        session.open_tabs([web.put("/", field)])
        session.execute(Click(Selector("#day")))
        session.execute(Press("Enter"))  # accepts
        session.execute(Press("7"))
        order = [each.value if isinstance(each, DomEvent) else each.kind for each in session.signals.since()[1:]]
        assert order == ["", "dialog_opened", "dialog_closed", "7", "dialog_opened"]


def test_script_made_documents_are_attributed_to_their_maker(show: Show, web: Web) -> None:
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
        wait_until(partial(has_more_events, session, before))
        assert (name, events(session)[-1].maker) == (name, maker)


def test_new_window_is_observed_from_its_first_document(show: Show) -> None:
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


def test_rewritten_document_is_still_observed(show: Show) -> None:
    session = show(
        """<button id=one onclick="document.open(); document.write('<button id=two>Two</button>'); document.close()">
        One</button>"""
    )
    session.execute(Click(Selector("#one")))
    session.execute(Click(Selector("#two")))
    assert [each[1] for each in recorded_input(session)] == ["#one", "#two"]


@pytest.mark.exhaustive
def test_click_before_navigation_is_not_lost(show: Show, web: Web) -> None:
    """Fifty navigations, half of them to another site's process."""
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


def test_typing_before_navigation_is_not_lost(show: Show, web: Web) -> None:
    session = show("<input id=code oninput=\"if (value == 'abcd') location = 'http://b.test/back'\">")
    web.put("http://b.test/back", f"<a href='{SITE}/'>Back</a>")
    for _ in range(10):
        session.execute(Type(Selector("#code"), "abcd"))
        session.execute(Click(Selector("a")))
    order = [each.value if isinstance(each, DomEvent) else each.url for each in session.signals.since()]
    assert order == [f"{SITE}/", *["", "abcd", "http://b.test/back", None, f"{SITE}/"] * 10]


def test_closed_tabs_are_recorded_until_the_session_restarts_tabs(show: Show, web: Web) -> None:
    session = show("<a href=/over target=_blank id=open>Open</a>")
    session.execute(Click(Selector("css=#open")))
    session.execute(CloseTab())
    session.execute(NewTab())
    session.execute(CloseTab())
    closed = [each for each in session.signals.since() if isinstance(each, TabClosed)]
    assert [(each.cause, each.url) for each in closed] == [("browser", f"{SITE}/over"), ("browser", "about:blank")]
    session.open_tabs([web.put("/", "x")])
    assert not [each for each in session.signals.since() if isinstance(each, TabClosed)]
