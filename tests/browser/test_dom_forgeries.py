"""Scripts cannot forge DOM events, whatever drives the browser; events of hostile pages stay within size limits."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright
from websockets.sync.client import connect

from pytest_webarena.actions import (
    Click,
    Element,
    Select,
    Selector,
)
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.driven import Ended, StartedStep, open_driven
from tests.browser.conftest import CALM, Web
from tests.browser.listening import SITE, Show, events, recorded_input, shared, show, web
from tests.browser.watched import Watched
from tests.processes import wait_until

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session

__all__ = ["shared", "show", "web"]

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


def test_scripts_cannot_forge_events(show: Show) -> None:
    """Each attempt follows real input, which leaves something to exploit: focus, an open shadow tree."""
    session = show(FORGING)
    session.execute(Select(Selector("#sort"), ("Two",)))
    session.execute(Click(Selector("x-a input")))
    assert recorded_input(session) == [("change", "#sort", "Two"), ("click", "input", None)]
    for name, script in FORGERIES.items():
        page = session.read_page(
            open=None,
            locate="js=(() => { try { " + script + " } catch (error) { return String(error) } return 'ok' })()",
        )
        assert (page.value, page.error) == ("ok", ""), name
        session.execute(Click(Selector("#plain")))  # earlier events have arrived by now
        assert recorded_input(session)[2:] == [("click", "#plain", None)] * (len(recorded_input(session)) - 2), name
    assert len(recorded_input(session)) == len(FORGERIES) + 2


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


def test_events_of_hostile_pages_are_truncated(show: Show) -> None:
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
    wait_until(lambda: len(events(session)) == 3)  # the user may type there at once, so it is recorded a moment later
    form = events(session)[-1].chain[1]
    assert (form.tag, form.attributes["id"], len(form.attributes)) == ("form", "form", 40)
    assert max(map(len, form.attributes.values())) == 300
    assert form.attributes["data-big"].endswith("…")
    json.dumps(form.attributes["data-0"]).encode()
    assert len(repr(events(session)[-1])) < 60_000


def test_cdp_clients_leave_the_same_events_and_cannot_forge_any(engine: BrowserEngine, web: Web) -> None:
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
        wait_until(lambda: len(recorded_input(session)) >= 7)
        assert recorded_input(session) == [
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
        wait_until(lambda: len(by_input(session)) >= 9)
        assert by_input(session)[7:] == [("click", "#plain", None)] * 2  # the other one was the intruder's, and real
        made_up = {(each.event, each.target.selector, each.value) for each in events(session) if each.by_script}
        values = {each for each in made_up if each[0] in ("input", "change")}
        assert values == {("change", "#name_", "rye")}, "announced by script: told as that, with what the field holds"
        assert {("click", "#go", None), ("submit", "#form", None)} <= made_up
        assert session.signals.lost == 0
        client.close()
        watched.close()


def by_input(session: Session) -> list[tuple[str, str, str | None]]:
    return [(each.event, each.target.selector, each.value) for each in events(session) if not each.by_script]


class _Following(Watched):
    """Looks up each target before the action on it, as a trial does."""

    def _attend(self) -> None:
        while not isinstance(event := self.driven.events.get(), Ended):
            if isinstance(event, StartedStep):
                self.session.follow(event.target)
                event.go()


_CREATED = "Runtime.executionContextCreated"


class _Intruder:
    """Searches for the harness's scripts over the bare protocol."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._id = 0
        self._session = ""
        self.received: list[dict[str, Any]] = []

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        number = self._id = self._id + 1
        message = {"id": number, "method": method, "params": params}
        self._socket.send(json.dumps(message | ({"sessionId": self._session} if self._session else {})))
        while True:
            answer: dict[str, Any] = json.loads(self._socket.recv(20))
            if answer.get("id") == number:
                return answer
            self.received.append(answer)
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
        for id in range(1, 40):  # numbers are easy to guess, and no event has been recorded yet
            answer = self("Runtime.evaluate", expression=f"{forge}; 1", contextId=id)
            reached += ["result" in answer]
            self("Runtime.addBinding", name="mine", executionContextId=id)
            self("Runtime.callFunctionOn", functionDeclaration=f"() => {{ {forge} }}", executionContextId=id)
        assert not any(reached)
        self("Runtime.enable")
        self("Debugger.enable")
        contexts = [each["params"]["context"] for each in self.received if each.get("method") == _CREATED]
        assert contexts
        assert not [each for each in contexts if each["name"].startswith("pytest-webarena")]
        for context in contexts:  # in those that it may use there is nothing to be found
            assert "result" in self("Runtime.evaluate", expression=forge, contextId=context["id"])
        known = {each["params"]["scriptId"] for each in self.received if each.get("method") == "Debugger.scriptParsed"}
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
        paused = [each["params"]["callFrames"] for each in self.received if each.get("method") == "Debugger.paused"]
        assert {call["location"]["scriptId"] for calls in paused for call in calls} <= known
        self("Debugger.disable")


def test_flood_of_forged_events_is_counted_and_not_kept(show: Show) -> None:
    """The page repeats a valid signature many times."""
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
    assert [each[1] for each in recorded_input(session)] == ["#sort", "#plain"]
