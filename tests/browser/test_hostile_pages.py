"""More misbehaving pages, each visited and left: no call takes longer than a step, and each fault is reported."""

from __future__ import annotations

import contextlib
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Click,
    CloseTab,
    DismissDialog,
    Goto,
    Noop,
    Reload,
    Selector,
    Type,
    Wait,
)
from pytest_webarena.browser.observation import Observation
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserError

if TYPE_CHECKING:
    from tests.browser.conftest import Reply, Request, Web

OpenSession = Callable[..., Session]
LATEST = 3 * 12.0
"""Upper limit of a call's duration in seconds: the sessions' step deadline, plus a margin for a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The behaviour of a page when its button is clicked, or on load if the button does nothing."""

    click: str = ""
    load: str = ""
    body: str = ""
    says: str = "Alive"
    """In the observation, a note or the action's error afterwards; any of several with `` or `` between."""
    ends_browser: bool = False
    """Leaving it makes this Chromium crash. That is an error with a name, and the next session gets another browser."""


FAULTS = {
    "print dialog": Fault(click="print()"),
    "endless print dialogs": Fault(load="setInterval(print, 20)"),
    "script without end in microtasks": Fault(
        click="(function again() { Promise.resolve().then(again) })()", says="stopped responding"
    ),
    "recursion without end": Fault(click="(function again() { again() })()"),
    "endless confirms": Fault(click="while (!confirm('x')) {}; while (confirm('y')) {}", says="kept opening dialogs"),
    "dialogs of a frame": Fault(
        body="<iframe srcdoc='<script>setInterval(() => alert(1), 20)</script>'></iframe>", ends_browser=True
    ),
    "synchronous request to a server that never answers": Fault(
        click="const r = new XMLHttpRequest(); r.open('GET', '/never', false); r.send()", says="stopped responding"
    ),
    "a script file that never comes": Fault(body="<script src=/never></script>"),
    "a style sheet that never comes": Fault(body="<link rel=stylesheet href=/never><p>Late"),
    "a frame that never comes": Fault(body="<iframe src=/never></iframe>"),
    "endless redirects by script": Fault(
        click="location = '/ping'", says="Ping or Pong or http://a.test/p or did not answer or could not be read"
    ),
    "endless refreshing": Fault(
        click="location = '/refresh'", says="Refresh or http://a.test/refresh or could not be read"
    ),
    "redirects in a loop": Fault(click="location = '/loop'", says="ERR_TOO_MANY_REDIRECTS or http://a.test/loop"),
    "password prompt of the browser": Fault(click="location = '/secret'", says="Not for you"),
    "password prompt without a page": Fault(click="location = '/locked'", says="http://a.test/locked"),
    "empty answer": Fault(click="location = '/nothing'", says="Alive or http://a.test/nothing"),
    "a page that never ends": Fault(click="location = '/drip'", says="Drip"),
    "a page of 100 MB": Fault(click="location = '/huge'", says="Top"),
    "a line of 2 MB": Fault(
        click="document.querySelector('p').textContent = 'Long ' + 'x'.repeat(2e6)", says="Long or stopped responding"
    ),
    "a title of 1 MB": Fault(load="document.title = 'x'.repeat(1e6)"),
    "growing for ever": Fault(load="setInterval(() => d.insertAdjacentHTML('beforeend', '<i>x</i>'.repeat(50)), 10)"),
    "history flood": Fault(
        load="setInterval(() => { for (let i = 0; i < 5; i++) history.pushState(0, '', '#' + i) }, 20)"
    ),
    "address flood": Fault(load="let n = 0; setInterval(() => location.hash = n++, 30)"),
    "console flood": Fault(load="setInterval(() => { for (let i = 0; i < 20; i++) console.log('x'.repeat(99)) }, 20)"),
    "error flood": Fault(load="setInterval(() => { throw Error('x') }, 20)"),
    "request flood": Fault(load="setInterval(() => { for (let i = 0; i < 5; i++) fetch('/next?' + i) }, 50)"),
    "worker without end": Fault(load="new Worker(URL.createObjectURL(new Blob(['while (true) {}'])))"),
    "many frames": Fault(load="for (let i = 0; i < 40; i++) d.append(document.createElement('iframe'))"),
    "breakpoint": Fault(click="debugger; d.textContent = 'passed'", says="passed"),
    "document rewritten": Fault(click="document.write('<p>Written'); document.write('<p>twice')", says="Written"),
    "everything removed": Fault(click="document.documentElement.remove()", says="Tab 0"),
    "pop-up that closes its opener": Fault(click="const w = window.open('/ping2'); w.opener = window", says="Ping2"),
    "pop-up that closes itself at once": Fault(click="window.open('/closing')"),
    "pop-ups from a timer": Fault(load="setInterval(() => window.open('/more'), 60)", says="more than 4 tabs"),
    "full screen and pointer lock": Fault(click="d.requestFullscreen(); d.requestPointerLock()"),
    "questions for permission": Fault(
        click="Notification.requestPermission(); navigator.geolocation.getCurrentPosition(() => {});"
        "navigator.mediaDevices && navigator.mediaDevices.getUserMedia({audio: true}).catch(() => {})"
    ),
    "other programs' links": Fault(click="location = 'mailto:a@b.test'; location = 'tel:1'; location = 'app://x'"),
    "downloads in a row": Fault(click="for (let i = 0; i < 12; i++) get.click()", says="was downloaded"),
    "a picture as a page": Fault(click="location = '/picture'", says="http://a.test/picture"),
    "data as a page": Fault(click="location = '/data'", says="first"),
    "broken markup": Fault(body="<table><p><b><i><table></b><td><svg><script></svg><select><div>" * 50),
    "deeply nested": Fault(load="d.innerHTML = '<div>'.repeat(2000)"),
    "its own functions broken": Fault(
        load="JSON.stringify = Map.prototype.get = Array.prototype.map = document.querySelectorAll = null"
    ),
}
"""By name. All have `next` to go on to."""


def serve(web: Web, request_never: float = 60.0) -> None:
    """Serve the addresses that the faults lead to."""

    def drip(request: Request) -> Reply:
        def pieces() -> Iterator[bytes]:
            while not web.released.wait(0.05):
                yield b"<p>Drip</p>"

        return web.reply(pieces())

    web.put("/next", "<title>Next</title>")
    web.slow("/never", request_never, "")
    web.put("/ping", "<title>Ping</title><p>Ping<script>location = '/pong?' + Math.random()</script>")
    web.put("/pong", "<title>Pong</title><p>Pong<script>location = '/ping?' + Math.random()</script>")
    web.put("/ping2", "<title>Ping2</title><p>Ping2<script>if (opener) opener.close()</script>")
    web.put("/more", "<title>More</title><p>More")  # which does not affect its opener, however late the next one opens
    web.put("/closing", "<script>window.close()</script>")
    web.put("/refresh", "<title>Refresh</title><meta http-equiv=refresh content=0><p>Refresh")
    web.redirect("/loop", "/loop")
    web.put("/secret", web.reply("<p>Not for you", 401, WWW_Authenticate='Basic realm="x"'))
    web.put("/locked", web.reply("", 401, WWW_Authenticate='Basic realm="x"'))
    web.put("/nothing", lambda request: _reset())
    web.put("/drip", drip)
    web.put("/huge", web.reply(b"<title>Huge</title><p>Top</p><!--" + b"x" * 100_000_000 + b"--><p>End</p>"))
    web.file("/file", "x", "text/csv", Content_Disposition="attachment; filename=file.csv")
    web.file("/picture", "<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")
    web.file("/data", '{"first": 1}', "application/json")


def _reset() -> str:
    raise OSError


def all_text(observation: Observation, error: str) -> str:
    return "\n".join([observation.text, observation.url, observation.error, *observation.notes, error])


REPEATED = "endless redirects by script"
"""A costly fault that resembles ``test_constantly_reloading_page_can_be_observed_and_left``."""


@pytest.mark.matrix(5)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] if name == REPEATED else []) for name in FAULTS]
)
def test_session_survives_hostile_page(open_session: OpenSession, web: Web, name: str) -> None:
    fault = FAULTS[name]
    serve(web)
    session = open_session(max_tabs=4)
    page = (
        "<title>Main</title><p>Alive</p><button id=b>B</button><a id=get href=/file></a><div id=d></div>"
        f"{fault.body}<script>b.onclick = () => {{ {fault.click} }}; {fault.load}</script>"
    )
    session.open_tabs(["about:blank"])
    web.put("/", page)
    errors: list[str] = []

    def step(action: Action) -> str:
        began = time.monotonic()
        outcome = session.execute(action)
        acted = time.monotonic()
        errors.append(all_text(session.observe(), outcome.error))
        assert acted - began < LATEST, action
        assert time.monotonic() - acted < LATEST, action
        return outcome.error

    step(Goto("http://a.test/"))
    step(Click(Selector("css=#b")))
    step(Noop())

    def was_said() -> bool:
        return any(words in text for words in fault.says.split(" or ") for text in errors)

    until = time.monotonic() + LATEST
    while not was_said() and time.monotonic() < until:  # timers of a page may fire late on a busy machine
        step(Noop())
    assert was_said(), "\n\n".join(errors)
    if fault.ends_browser:
        with contextlib.suppress(BrowserError):
            step(Goto("http://a.test/next"))
            step(Goto("http://a.test/next"))
        session = open_session()
        session.open_tabs(["http://a.test/next"])
    for _ in range(4):  # repeated activity of a page may block leaving it once or twice
        if not step(Goto("http://a.test/next")) and session.observe().title == "Next":
            break
    assert "Next" in errors[-1]


# --- asking to stay


STAYS = "<title>Main</title><input><script>onbeforeunload = event => event.preventDefault()</script>"


@pytest.mark.matrix(1)
@pytest.mark.parametrize("leave", [Goto("/next"), Reload(), CloseTab()], ids=lambda action: action.kind)
def test_beforeunload_page_is_left_by_any_action(open_session: OpenSession, web: Web, leave: Action) -> None:
    web.put("/next", "<title>Next</title>")
    session = open_session()
    session.open_tabs([web.put("/", STAYS)])
    session.execute(Type(Selector("css=input"), "typed"))
    assert session.execute(leave).error == ""
    assert session.observe().title == {"goto": "Next", "reload": "Main", "close_tab": ""}[leave.kind]


def test_held_beforeunload_dialog_is_answered_by_agent(open_session: OpenSession, web: Web) -> None:
    web.put("/next", "<title>Next</title>")
    session = open_session(dialogs="hold")
    session.open_tabs([web.put("/", STAYS)])
    session.execute(Type(Selector("css=input"), "typed"))
    session.execute(Goto("/next"))
    assert (session.observe().dialog or "").startswith("beforeunload")
    session.execute(DismissDialog())
    assert session.observe().title == "Main"
    session.execute(Goto("/next"))
    session.execute(AcceptDialog())
    session.execute(Wait(2))
    assert session.observe().title == "Next"


# --- certificates


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[str]:
    """The address of a site with an untrusted certificate."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # browsers break off when they see the certificate

    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate; it is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    order = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([openssl, *order, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_untrusted_certificate_is_an_error(open_session: OpenSession, web: Web, secure: str) -> None:
    session = open_session(proxy_bypass="127.0.0.1")
    session.open_tabs([web.put("/", f"<title>Main</title><a href={secure}>Go</a>")])
    error = session.execute(Goto(secure)).error
    assert "could not be opened: the site's certificate is not trusted (ERR_CERT_AUTHORITY_INVALID)" in error
    assert session.execute(Goto("http://a.test/")).error == ""
    session.execute(Click(Selector("text=Go")))
    assert session.observe().url == secure
    assert session.execute(Goto("http://a.test/")).error == ""
    assert session.observe().title == "Main"
