"""The ``fast`` extractor: stable ids, cross-site frames, hostile pages, a constant number of calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_webarena.actions import Click, Element, FocusTab, Goto, Hover, NewTab, Selector, Type
from pytest_webarena.browser.config import EngineConfig, ObservationConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.observation.fast.inpage import InPage
from pytest_webarena.browser.session import Session
from tests.browser.conftest import QUICK, Web

Show = Callable[[str], Session]
OpenSession = Callable[..., Session]

FAST = ObservationConfig(extractor="fast")
WHOLE = ObservationConfig(extractor="fast", current_viewport_only=False)


def lines(session: Session) -> list[str]:
    """Return the printed lines of the page, without indentation and ids."""
    return [re.sub(r"^\t*\[\d+\] ", "", line) for line in session.observe().text.split("\n")[2:]]


def element(session: Session, line: str) -> Element:
    """Return the element whose line starts with ``line``."""
    text = session.observe().text
    found = re.search(rf"\[(\d+)\] {re.escape(line)}", text)
    assert found, f"{line} is not in\n{text}"
    return Element(found[1])


def done(session: Session, action: Any) -> None:
    """Run an action that has to work."""
    assert session.execute(action).error == ""


@contextmanager
def messages(session: Session) -> Iterator[list[str]]:
    """Collect the methods called on Playwright's driver meanwhile, and the CDP methods passed through it."""
    connection: Any = session._tabs.current.page._impl_obj._connection
    # The one place that every message passes: its name has changed between releases of Playwright.
    owner, name = (connection, "onmessage") if hasattr(connection, "onmessage") else (connection._transport, "send")
    send = getattr(owner, name)
    sent: list[str] = []

    def listen(message: dict[str, Any]) -> Any:
        sent.append(f"{message['method']} {message['params'].get('method', '')}".strip())
        return send(message)

    setattr(owner, name, listen)
    try:
        yield sent
    finally:
        setattr(owner, name, send)


# --- ids


def test_element_keeps_id_when_other_parts_are_rerendered(show: Show) -> None:
    session = show(
        "<button>Keep</button><ul id=list></ul><button onclick=\"list.innerHTML='<li>Item '+(n++)+'</li>';"
        "document.body.prepend(document.createElement('hr'))\">Render</button><script>n=0</script>"
    )
    keep, render = element(session, "button 'Keep'"), element(session, "button 'Render'")
    items = set()
    for _ in range(3):
        done(session, Click(render))
        assert (element(session, "button 'Keep'"), element(session, "button 'Render'")) == (keep, render)
        items.add(element(session, "StaticText 'Item"))
    assert len(items) == 3


def test_ids_are_unique_within_a_session(session: Session, web: Web) -> None:
    page = "<title>{0}</title><button onclick=\"document.title='hit'\">{0}</button>"
    page += "<iframe srcdoc='<a href=#>in</a>'></iframe>"
    seen: set[str] = set()
    session.open_tabs([web.put("/", page.format("One"))])
    for action in (
        Goto(web.put("/two", page.format("Two"))),
        Goto(web.put("http://b.test/", page.format("B"))),
        NewTab(),
    ):
        ids = re.findall(r"^\t*\[(\d+)\]", session.observe().text, re.MULTILINE)
        assert len(ids) == len(set(ids)) == 4
        assert not seen & set(ids)
        seen |= set(ids)
        done(session, action)


def test_stale_id_error_says_why_and_clicks_nothing(session: Session, web: Web) -> None:
    session.open_tabs([
        web.put("/", "<title>One</title><button onclick=\"this.replaceWith(this.cloneNode(true))\">Old</button>"
                     "<iframe id=f srcdoc='<button>Inner</button>'></iframe><button onclick=f.remove()>Drop</button>"),
        web.put("/other", "<button onclick=\"document.title='hit'\">Other</button>"),
    ])  # fmt: skip
    old, inner = element(session, "button 'Old'"), element(session, "button 'Inner'")
    done(session, Click(old))
    message = "is no longer on the page. Use an id of the latest observation."
    assert session.execute(Click(old)).error == f"Element [{old.id}] (button 'Old') {message}"
    done(session, Click(element(session, "button 'Drop'")))
    assert session.execute(Click(inner)).error == f"Element [{inner.id}] (button 'Inner') {message}"
    done(session, FocusTab(1))
    other = element(session, "button 'Other'")
    done(session, FocusTab(0))
    assert session.execute(Click(other)).error == (
        f"Element [{other.id}] is on another tab, not on the page shown now. Use an id of the latest observation."
    )
    done(session, Goto("/other"))
    assert "is on an earlier page of this tab" in session.execute(Click(old)).error
    assert session.observe().title == ""


def test_text_and_list_markers_can_be_clicked(show: Show) -> None:
    session = show(
        "<p onclick=\"document.title='text'\">Some text</p><ul><li onclick=\"document.title='item'\">One</ul>"
    )
    record = session.execute(Click(element(session, "StaticText 'Some text'"))).target
    assert record is not None
    assert (session.observe().title, record.role, record.name) == ("text", "StaticText", "Some text")
    done(session, Click(element(session, "ListMarker '• '")))
    assert session.observe().title == "item"


# --- frames of other sites


def nested(web: Web) -> str:
    """Three nested sites, the inner ones in their own processes."""
    web.put("http://c.test/", "<button onclick=\"this.textContent='Done'\">Deep</button>")
    web.put(
        "http://b.test/",
        "<p>Inside</p><div style='height:900px'></div><input aria-label=Name>"
        "<button onclick='this.remove()'>Once</button>"
        "<iframe src='http://c.test/' title=Third width=200 height=60></iframe>",
    )
    return web.put(
        "/",
        "<h1>Top</h1><iframe src='http://b.test/' title=Second style='margin:40px;border:7px solid;padding:5px'"
        " width=500 height=300></iframe>"
        "<iframe sandbox=allow-scripts srcdoc='<button>Boxed</button>' title=Box></iframe>",
    )


@pytest.fixture(scope="module")
def isolating(browser_executable: str | None) -> Iterator[BrowserEngine]:
    """A browser with one process for each site, as Chromium has by default except in the headless shell."""
    config = EngineConfig(executable=browser_executable, launch_args={"args": ["--site-per-process"]})
    with BrowserEngine(config) as engine:
        yield engine


@pytest.fixture
def isolated_session(isolating: BrowserEngine, web: Web) -> Iterator[Session]:
    """A session in that browser; it observes whole pages."""
    config = SessionConfig(proxy=web.proxy, deadlines=QUICK, observation=WHOLE)
    with isolating.session(config) as session:
        yield session


@pytest.mark.matrix(1)
@pytest.mark.parametrize("processes", ["one", "several"])
@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "main-world"])
def test_cross_site_frames_can_be_read_and_used(
    request: pytest.FixtureRequest, web: Web, monkeypatch: pytest.MonkeyPatch, isolated: bool, processes: str
) -> None:
    monkeypatch.setattr(InPage, "isolated", isolated)  # other browsers than Chromium have the main world only
    if processes == "one":
        session = request.getfixturevalue("open_session")(observation=WHOLE)
    else:
        session = request.getfixturevalue("isolated_session")
    session.open_tabs([nested(web)])
    assert lines(session) == [
        "RootWebArea '' focused: True", "heading 'Top'", "Iframe 'Second' scroll: 2.4 screens below",
        "StaticText 'Inside'",
        "textbox 'Name' required: False", "button 'Once'", "Iframe 'Third'", "button 'Deep'", "Iframe 'Box'",
        "button 'Boxed'",
    ]  # fmt: skip
    once, deep = element(session, "button 'Once'"), element(session, "button 'Deep'")
    done(session, Type(element(session, "textbox 'Name'"), "Ada"))
    assert re.fullmatch(r"\[\d+\] textbox 'Name'", session.observe().focused)
    done(session, Click(deep))
    assert element(session, "button 'Done' focused: True") == deep
    done(session, Click(once))
    assert "is no longer on the page" in session.execute(Click(once)).error
    seen = lines(session)
    assert "textbox 'Name' required: False value: 'Ada'" in seen
    assert "button 'Once'" not in seen
    done(session, Click(element(session, "button 'Boxed'")))


def test_only_visible_part_of_frame_is_observed(session: Session, web: Web) -> None:
    session.open_tabs([nested(web)])
    assert "StaticText 'Inside'" in lines(session)
    assert "button 'Once'" not in lines(session)  # below the edge of its frame
    done(session, Goto(web.put("/below", "<div style='height:2000px'></div><iframe src='http://b.test/'></iframe>")))
    assert lines(session) == ["RootWebArea '' focused: True"]


def test_hanging_cross_site_frame_does_not_block_the_page(
    isolated_session: Session, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_webarena.browser.observation.fast.inpage._FRAME_SECONDS", 0.2)
    session = isolated_session
    web.put("http://b.test/", "<p>Inside</p><script>fetch('/go').finally(() => { while (true); })</script>")
    web.put("http://b.test/go", "")
    session.open_tabs([web.put("/", "<iframe src='http://b.test/' title=Busy></iframe><p>Own</p>")])
    limit = Deadline(60)
    seen = lines(session)
    while "StaticText 'Inside'" in seen and not limit.over:
        seen = lines(session)
    assert seen == ["RootWebArea '' focused: True", "Iframe 'Busy'", "StaticText 'Own'"]


def test_navigated_frame_is_read_again(isolated_session: Session, web: Web) -> None:
    session = isolated_session
    web.put("http://b.test/", "<a href=/next>Next</a>")
    web.put("http://b.test/next", "<p>Arrived</p>")
    session.open_tabs([web.put("/", "<iframe src='http://b.test/'></iframe>")])
    link = element(session, "link 'Next'")
    done(session, Click(link))
    assert "StaticText 'Arrived'" in lines(session)
    assert "no longer on the page" in session.execute(Click(link)).error


# --- number of calls to the browser


def test_observation_needs_at_most_four_calls_for_any_page_size(open_session: OpenSession, web: Web) -> None:
    rows = "".join(f"<tr><td>{n}<td><a href=#{n}>Row {n}</a><td><button>Edit</button>" for n in range(700))
    session = open_session(observation=WHOLE)
    session.open_tabs([web.put("/", f"<table>{rows}</table>")])
    with messages(session) as first:
        text = session.observe().text
    assert text.count("\n") > 2000
    assert 0 < len(first) <= 4, first
    with messages(session) as second:
        session.observe()
    assert 0 < len(second) <= 2, second


# --- a page that interferes


def test_page_can_neither_manipulate_nor_detect_the_extractor(show: Show) -> None:
    session = show(
        "<button aria-label=Real>x</button><p id=out></p><script>"
        "let noticed = [];"
        "for (const p of [Element.prototype, Node.prototype, Document.prototype, Range.prototype]) {"
        "  for (const name of ['getBoundingClientRect', 'getAttribute', 'hasAttribute', 'selectNodeContents']) {"
        "    if (p[name]) p[name] = () => { noticed.push(name); return 'Fake'; };"
        "} }"
        "Array.prototype.map = Array.prototype.join = () => 'Fake'; Map.prototype.get = () => 'Fake';"
        "new MutationObserver(list => noticed.push('change')).observe(document, {subtree: true, childList: true,"
        " attributes: true, characterData: true});"
        "const before = Object.getOwnPropertyNames(window).length;"
        "addEventListener('keydown', () => { document.title ="
        " `${noticed.length} ${Object.getOwnPropertyNames(window).length - before}`; });</script>"
    )
    assert lines(session)[:2] == ["RootWebArea '' focused: True", "button 'Real'"]
    session.observe()
    session._engine.run(session._tabs.current.page.keyboard.press("a"), timeout=20, what="a key")
    assert session.observe().title == "0 0"


def test_observation_reflects_current_state(show: Show) -> None:
    session = show(
        "<style>#late{display:none} a:hover{text-transform:uppercase}</style><input id=i><input type=checkbox id=c>"
        "<p id=late>Late</p><a href=#>over</a><div style='height:3000px'></div><script>"
        "addEventListener('message', () => { i.value = 'set'; c.checked = true;"
        "document.styleSheets[0].deleteRule(0); })</script>"
    )
    session.observe()
    page = session._tabs.current.page
    session._engine.run(
        page.evaluate("new Promise(r => { postMessage(1, '*'); setTimeout(r, 30); })"), timeout=20, what="js"
    )
    seen = lines(session)
    assert "textbox '' required: False value: 'set'" in seen
    assert "checkbox '' checked: true" in seen
    assert "StaticText 'Late'" in seen
    assert "link 'over'" in seen
    done(session, Hover(Selector("css=a")))
    assert "link 'OVER'" in lines(session)


def test_very_deep_pages_are_observed(show: Show) -> None:
    session = show(
        "<div id=top></div><script>let at = top.document.getElementById('top');"
        "for (let n = 0; n < 1200; n++) at = at.appendChild(document.createElement('span'));"
        "at.innerHTML = '<button>Deepest</button>';"
        "let link = document.body.appendChild(document.createElement('a')); link.href = '#';"
        "for (let n = 0; n < 600; n++) link = link.appendChild(document.createElement('b'));"
        "link.textContent = 'Deep name';</script>"
    )
    assert lines(session)[1:] == ["button 'Deepest'", "link 'Deep name'"]


# --- visibility


def test_modal_dialog_hides_the_rest_of_the_page(show: Show) -> None:
    session = show(
        "<button>Behind</button><dialog id=d><p>Sure?</p><button>Yes</button></dialog><script>d.showModal()</script>"
    )
    assert lines(session)[1:] == ["dialog '' modal: True", "StaticText 'Sure?'", "button 'Yes' focused: True"]


def test_aria_hidden_elements_are_excluded_unless_focused(show: Show) -> None:
    session = show("<div aria-hidden=true><button id=b>Inside</button></div><div inert><button>Inert</button></div>")
    assert lines(session)[1:] == []
    done(session, Click(Selector("css=#b")))
    assert lines(session)[1:] == ["button 'Inside' focused: True"]


def test_visible_children_of_out_of_view_elements_are_observed(show: Show) -> None:
    session = show(
        "<body style='margin:0'><div style='position:absolute;top:5000px;height:10px'>"
        "<p style='position:fixed;top:10px'>Fixed</p><p style='position:absolute;top:-4900px'>Pulled up</p></div>"
        "<div style='position:absolute;left:-500px;width:100px;white-space:nowrap'>"
        "Words that are much longer than their box and reach into the page from the left "
        "<a href=#>with a link</a></div>"
    )
    assert [line for line in lines(session)[1:] if "Words" not in line] == [
        "StaticText 'Fixed'", "StaticText 'Pulled up'", "link 'with a link'",
    ]  # fmt: skip


def test_link_urls_and_max_options_settings_apply(open_session: OpenSession, web: Web) -> None:
    options = "".join(f"<option {'selected' if n == 9 else ''}>O{n}</option>" for n in range(10))
    web.put("/", f"<a href=/x?y=1>Go</a><select aria-label=S>{options}</select>")
    session = open_session(observation=ObservationConfig(extractor="fast", link_urls=True, max_options=3))
    session.open_tabs(["http://a.test/"])
    seen = lines(session)
    assert seen[:2] == ["RootWebArea '' focused: True url: http://a.test/", "link 'Go' url: http://a.test/x?y=1"]
    select = element(session, "combobox 'S'")
    assert seen[-1].strip() == f"… 6 more options; to choose one of them, type its text into [{select.id}]"
    assert json.dumps(seen).count("option 'O") == 4


def test_ids_do_not_depend_on_navigation_during_observation(
    open_session: OpenSession, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.put("/first", "<a href=/x>One</a><a href=/y>Two</a><iframe src='http://b.test/'></iframe>")
    web.put("http://b.test/", "<button>Inner</button>")
    url = web.put("/second", "<button>Buy</button><iframe src='http://b.test/'></iframe>")
    read = InPage.read
    seen: list[str] = []

    async def read_and_leave(self: InPage, options: Any, *, seconds: float) -> Any:
        found = await read(self, options, seconds=seconds)
        seen.append(found.text)
        if len(seen) == 1:
            await self._tab.page.goto(url)
        return found

    session = open_session(observation=WHOLE)
    session.open_tabs(["http://a.test/first"])
    undisturbed = open_session(observation=WHOLE)
    undisturbed.open_tabs([url])
    expected = undisturbed.observe().text
    monkeypatch.setattr(InPage, "read", read_and_leave)
    assert session.observe().text == expected
    assert "Two" in seen[0]  # it was read, and thrown away
    monkeypatch.undo()
    done(session, Click(element(session, "button 'Buy'")))
    done(session, Click(element(session, "button 'Inner'")))
    assert session.observe().text.replace(" focused: True", "") == expected.replace(" focused: True", "")
