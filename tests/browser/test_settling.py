"""When an action counts as finished: once the page is quiet, at the latest after a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import Click, CloseTab, Noop, Selector, Wait
from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.session import Session
from tests.browser.conftest import CALM
from tests.cases import each_case

if TYPE_CHECKING:
    from tests.browser.conftest import Web

Show = Callable[[str], Session]


@pytest.fixture
def session(open_session: Callable[..., Session], quick: Deadlines) -> Session:
    """A session with the default quiet time, which these tests are about."""
    return open_session(deadlines=replace(quick, quiet=Deadlines().quiet))


@pytest.fixture
def patient(open_session: Callable[..., Session], web: Web) -> Show:
    """Show HTML in a session whose limit is not reached on a busy machine."""
    session = open_session(deadlines=replace(CALM, quiet=Deadlines().quiet))

    def show(html: str) -> Session:
        session.open_tabs([web.put("/", html)])
        return session

    return show


BUTTON = Click(Selector("css=button"))


def text(session: Session) -> str:
    return session.read_page(open=None, locate="css=p").texts[0]


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    "reaction",
    [
        "p.textContent = 'done'",
        "fetch('/slow').then(() => p.textContent = 'done')",
        "setTimeout(() => p.textContent = 'done', 20)",
        "fetch('/slow').then(() => setTimeout(() => fetch('/slow?2').then(() => p.textContent = 'done'), 50))",
        "let n = 0; const t = setInterval(() => { p.textContent = ++n < 6 ? n : (clearInterval(t), 'done') }, 60)",
        "location = '/done'",
        "fetch('/slow').then(() => location = '/done')",
        "const s = document.createElement('script'); s.src = '/script'; document.head.append(s)",
        "f.submit()",
        "setTimeout(() => p.textContent = 'done', 600)",
        "setTimeout(() => fetch('/slow').then(() => p.textContent = 'done'), 400)",  # as search boxes do
        "setTimeout(() => setTimeout(() => p.textContent = 'done', 300), 300)",
        "setTimeout(\"p.textContent = 'done'\", 600)",
        "setTimeout('setTimeout(() => p.textContent = `done`, 300)', 300)",
        "const t = setInterval(() => { clearInterval(t); p.textContent = 'done' }, 600)",
        "window.t = setInterval('clearInterval(t); p.textContent = `done`', 600)",
        "const f = document.createElement('iframe'); f.src = '/frame'; document.body.append(f)",
        "document.body.animate([{opacity: .5}, {opacity: 1}], 500).onfinish = () => p.textContent = 'done'",
        "q.ontransitionend = () => setTimeout(() => p.textContent = 'done', 200); q.style.left = '50px'",
        "h.shadowRoot.textContent = ''; let n = 0; const t = setInterval(() => { h.shadowRoot.textContent = ++n;"
        " if (n > 6) { clearInterval(t); p.textContent = 'done' } }, 60)",
    ],
)
def test_action_waits_for_the_reactions_it_causes(patient: Show, web: Web, reaction: str) -> None:
    web.slow("/slow", 0.3, "x")
    web.slow("/done", 0.3, "<p>done</p>")
    web.slow("/frame", 0.2, "<script>setTimeout(() => parent.p.textContent = 'done', 200)</script>")
    web.file("/script", "p.textContent = 'done'", "text/javascript")
    session = patient(
        "<p id=p>-</p><button>B</button><form id=f method=post action=/done></form><div id=h></div>"
        "<b id=q style='position:relative; left:0; transition:left .4s'>Q</b>"
        "<script>h.attachShadow({mode: 'open'})</script>"
        f"<script>document.querySelector('button').onclick = () => {{ {reaction} }}</script>"
    )
    assert session.execute(BUTTON).error == ""
    assert text(session) == "done"


def test_action_waits_for_frames_of_other_sites(patient: Show, web: Web) -> None:
    late = "setTimeout(() => fetch('/slow').then(() => setTimeout(() => p.textContent = 'done', 250)), 300)"
    for outer, inner in (("b", "c"), ("c", "")):
        frame = f"<iframe src=http://{inner}.test/></iframe>" if inner else ""
        web.put(f"http://{outer}.test/", f'<p id=p>-</p><button onclick="{late}">B</button>{frame}')
        web.slow(f"http://{outer}.test/slow", 0.2, "x")
    session = patient("<iframe src=http://b.test/></iframe>")
    way = "css=iframe >> internal:control=enter-frame >> "
    for frame in (way, way * 2):
        assert session.execute(Click(Selector(f"{frame}css=button"))).error == ""
        assert session.read_page(open=None, locate=f"{frame}css=p").texts == ("done",)


def test_restless_frame_of_other_site_delays_one_action(patient: Show, web: Web) -> None:
    web.put("http://b.test/", "<p id=p>-</p><script>setInterval(() => p.textContent = Date.now(), 20)</script>")
    session = patient("<button>B</button><iframe src=http://b.test/></iframe>")
    session.execute(BUTTON)
    assert min(session.execute(BUTTON).seconds["settle"] for _ in range(5)) < 0.5  # less than the first one takes


@each_case(
    ("reaction", "shown"),
    [
        ("q.textContent = 'Saved'; setTimeout(() => q.textContent = '', 700)", "'Saved'"),
        ("setTimeout(() => { q.hidden = false; setTimeout(() => q.hidden = true, 500) }, 200)", "'Hidden'"),
        ("h.shadowRoot.innerHTML = '<i>One</i>'; setTimeout(() => h.shadowRoot.innerHTML = '', 700)", "'One'"),
        ("q.textContent = 'Saved'", ""),
        ("const old = p.innerHTML; p.innerHTML = ''; setTimeout(() => p.innerHTML = old, 200)", ""),
        ("p.remove()", ""),
        ("p.className = 'x'; setTimeout(() => p.remove(), 200)", ""),
    ],
)
def test_text_that_vanishes_during_a_step_is_reported(patient: Show, reaction: str, shown: str) -> None:
    hidden = str("Hidden" in shown).lower()
    session = patient(
        "<p id=p>Text</p><button>B</button><div id=h></div><output id=q hidden>Hidden</output>"
        "<script>h.attachShadow({mode: 'open'});"
        f"document.querySelector('button').onclick = () => {{ q.hidden = {hidden}; {reaction} }}"
        "</script>"
    )
    session.observe()
    outcome = session.execute(BUTTON)
    notes = (f"Shown for a moment: {shown}.",) if shown else ()
    assert tuple(event.text for event in outcome.events) == notes
    assert session.observe().notes == notes


def test_action_waits_for_slow_page_load(open_session: Callable[..., Session], web: Web) -> None:
    web.slow("/next", 1.8, "<p>done</p>")  # longer than the cap for a page that has arrived
    session = open_session(deadlines=replace(CALM, settle=1.0))
    session.open_tabs([web.put("/", "<a href=/next>Go</a>")])
    session.execute(Click(Selector("text=Go")))
    assert text(session) == "done"


def test_action_without_effect_does_not_wait(patient: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    session = patient("<button>B</button>")
    session.execute(BUTTON)
    waits = [session.execute(BUTTON).seconds["settle"] for _ in range(5)]
    assert min(waits) < CALM.settle / 4
    monkeypatch.setattr("pytest_webarena.browser.session_work.settle", None)
    assert session.execute(Noop()).error == ""  # the page is not queried


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    "unrest",
    [
        "setInterval(() => { p.style.left = Math.random() + 'px' }, 10)",
        "setInterval(() => fetch('/poll?' + Date.now()), 30)",
        "(async () => { while (true) await fetch('/long') })()",
        "new EventSource('/events')",
        "new WebSocket('ws://a.test/socket')",
        "document.body.append(Object.assign(new Image(), {src: '/image'}))",
        "(function tick() { setTimeout(tick, 70) })()",
        "window.tick = () => setTimeout('tick()', 70); tick()",
        "document.onclick = () => setInterval(() => 0, 300)",
        "let t; (function again() { clearInterval(t); t = setInterval(again, 70) })()",
        "try { setTimeout() } catch {} setTimeout('throw 1', 70)",
        "(async () => { while (true) await new Promise(done => setTimeout(done, 70)) })()",
        "setInterval(() => h.shadowRoot.append('x'), 20)",
        "setInterval(() => q.animate([{left: 0}, {left: '9px'}], 90), 60)",
        "q.animate([{color: 'red'}, {color: 'blue'}], {duration: 900, iterations: Infinity})",
        "document.onclick = () => setTimeout(() => p.remove(), 5000)",  # a message that disappears automatically
    ],
)
def test_constantly_active_pages_do_not_delay_actions(
    open_session: Callable[..., Session], web: Web, unrest: str
) -> None:
    web.slow("/long", 1.2, "x")
    web.slow("/image", 30.0, "x")
    web.slow("/events", 30.0, "x")
    page = f"<p id=p>-</p><b id=q>Q</b><div id=h></div><script>h.attachShadow({{mode: 'open'}});{unrest}</script>"
    session = open_session(deadlines=replace(CALM, settle=4.0, quiet=Deadlines().quiet))
    session.open_tabs([web.put("/", f"<button>B</button>{page}")])
    session.execute(BUTTON)  # once, to get to know it
    quick = 0
    for _ in range(20):  # a busy machine delays some of them, an active page would delay all
        began = time.monotonic()
        assert session.execute(BUTTON).error == ""
        quick += time.monotonic() - began < 2.0  # half the cap
        if quick == 3:
            break
    assert quick == 3


def test_timer_tracking_is_invisible_to_pages(show: Show) -> None:
    session = show(
        "<p id=p>-</p><script>const a = setTimeout(() => p.textContent = 'wrong', 10); clearTimeout(a);"
        "const b = setTimeout('p.textContent = `wrong`', 30); clearTimeout(b); setTimeout('const kept = 1', 5);"
        "setTimeout(function (x, y) { p.textContent = [this === window, x, y, setTimeout.name, setTimeout.length,"
        "String(setTimeout).includes('native'), typeof a, typeof setTimeout('1', 1),"
        "setInterval.name, typeof kept].join() }, 20, 1, 2)</script>"
    )
    session.execute(Wait(1.0))
    assert text(session) == "true,1,2,setTimeout,1,true,number,number,setInterval,number"


INERT = {
    "a table": "<table><tr><td title=on><a href='/x'>a</a><input name=on></table><img src='data:image/gif;base64,R0'>",
    "a form": "<form method=post action=/done><button>B</button></form><style>p {color: red}</style>",
}
LIVELY = {
    "a script": "<p>x<script>1</script>",
    "a script that has gone": "<p>x<script>document.currentScript.remove()</script>",
    "a handler": "<button onclick='1'>B</button>",
    "a handler of the body": "<body onload='document.body.removeAttribute(`onload`)'>",
    "an address that is code": "<a href=' JavaScript:1'>a</a>",
    "a frame": "<iframe src=/plain></iframe>",
    "a refresh": "<meta http-equiv=Refresh content='600'>",
    "a shadow root": "<div><template shadowrootmode=open><button onclick=1>B</button></template></div>",
    "a picture": "<svg><rect onclick='1'/></svg>",
}


def test_inert_pages_are_recognised(open_session: Callable[..., Session], web: Web) -> None:
    """Pages that another page could script are never inert."""
    session = open_session(deadlines=CALM)
    for name, html in {**INERT, **LIVELY}.items():
        session.open_tabs([web.put("/page", html)])
        assert session.wait_for_idle(0.2) == (name in LIVELY), name
    opener = f"<button onclick='window.open(`{web.put('/child', LIVELY['a handler'])}`)'>B</button>"
    session.open_tabs([web.put("/opener", opener)])
    session.execute(BUTTON)
    session.execute(CloseTab())  # the opener's tab or its own: the remaining one has code
    assert len(session.tabs()) == 1
    assert session.wait_for_idle(0.2)
    session.open_tabs([web.put("/page", INERT["a form"])])
    assert not session.wait_for_idle(0.2)
    session.note_external_action()
    assert session.wait_for_idle(0.2)
