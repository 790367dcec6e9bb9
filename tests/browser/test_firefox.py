"""The system's Firefox: observations and actions match Chromium, except for known differences."""

from __future__ import annotations

import difflib
import os
import re
import socketserver
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_webarena.actions import (
    Action,
    Back,
    Check,
    Click,
    Drag,
    Element,
    Forward,
    Goto,
    Press,
    Select,
    Selector,
    Type,
    Upload,
    Wait,
)
from pytest_webarena.archives.writing import WarcFile
from pytest_webarena.browser.config import Deadlines, EngineConfig, ObservationConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.launching.discovery import find_browser
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserError
from pytest_webarena.results import RunDir
from tests.browser.conftest import Web
from tests.inner import SUM_TASK
from tests.processes import descendants, kill, of_command, still_running

PAGES = sorted(Path(__file__).with_name("agreement").glob("*.html"))
PATIENT = Deadlines()

# Firefox has no fields for months and weeks: they are text fields there.
KNOWN: dict[str, list[str]] = {
    "controls": ["- DateTime ''"] * 2 + ["+ textbox '' required: False"] * 2,
    "trees": [
        "- DateTime ''",
        "- DateTime '' value: '2026-03'",
        "+ textbox '' required: False",
        "+ textbox '' required: False value: '2026-03'",
    ],
}
"""Lines of the corpus that only Chromium (-) or only Firefox (+) leads to."""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserEngine]:
    """A Firefox that can be started. Without one the tests are skipped, or fail where one is required."""
    try:
        find_browser(browser_name="firefox")
    except BrowserError as error:
        if os.environ.get("WEBARENA_REQUIRE_FIREFOX") == "1":
            raise
        pytest.skip(str(error))
    with BrowserEngine(EngineConfig(browser_name="firefox", temp_dir=tmp_path_factory.mktemp("firefox"))) as engine:
        yield engine


@pytest.fixture
def session(firefox: BrowserEngine, web: Web, tmp_path: Path) -> Iterator[Session]:
    """A fresh context of Firefox."""
    (tmp_path / "cv.pdf").write_text("this is cv.pdf")
    config = SessionConfig(
        proxy=web.proxy,
        deadlines=PATIENT,
        dialogs="hold",
        uploads={"cv.pdf": tmp_path / "cv.pdf"},
        observation=ObservationConfig(current_viewport_only=False),
    )
    with firefox.session(config) as session:
        yield session


Show = Callable[[str], Session]


@pytest.fixture
def show(session: Session, web: Web) -> Show:
    """Show HTML at ``http://a.test/``."""

    def show(html: str) -> Session:
        session.open_tabs([web.put("/", html)])
        return session

    return show


def done(session: Session, action: Action) -> None:
    assert session.execute(action).error == ""


def element(session: Session, line: str) -> Element:
    text = session.observe().text
    found = re.search(rf"\[(\d+)\] {re.escape(line)}", text)
    assert found, f"{line} is not in\n{text}"
    return Element(found[1])


def js(session: Session, expression: str) -> object:
    return session.read_page(open=None, locate=f"js={expression}").value


# --- observations


@pytest.fixture(scope="module")
def sessions(engine: BrowserEngine, firefox: BrowserEngine) -> Iterator[tuple[Web, dict[str, Session]]]:
    """One session of each browser. They observe whole pages, since the viewport's edge depends on fonts."""
    web = Web()
    with ExitStack() as stack:
        stack.callback(web.close)
        observation = ObservationConfig(current_viewport_only=False)
        config = SessionConfig(proxy=web.proxy, deadlines=PATIENT, observation=observation)
        browsers = {"chromium": engine, "firefox": firefox}
        yield web, {name: stack.enter_context(browser.session(config)) for name, browser in browsers.items()}


@pytest.mark.matrix(1)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_both_browsers_give_the_same_observation(sessions: tuple[Web, dict[str, Session]], page: Path) -> None:
    web, of = sessions
    url = web.put(f"/{page.name}", page.read_text("utf-8"))
    chromium, firefox = (lines(of[name], url) for name in ("chromium", "firefox"))
    assert len(firefox) > 60
    found = [
        line[0] + " " + line[1:].strip()
        for line in difflib.unified_diff(chromium, firefox, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    assert sorted(found) == sorted(KNOWN.get(page.stem, []))


def lines(session: Session, url: str) -> list[str]:
    """Return the lines below the tab line, without ids."""
    session.open_tabs([url])
    return [re.sub(r"^(\t*)\[\d+\] ", r"\1", line) for line in session.observe().text.split("\n")[2:]]


@pytest.mark.exhaustive
def test_all_observation_forms_have_the_same_ids(firefox: BrowserEngine, web: Web) -> None:
    observation = ObservationConfig(kinds=("accessibility_tree", "html", "screenshot", "set_of_marks"))
    url = web.put("/", "<h1>Hi</h1><input aria-label=Name><button>Save</button>")
    with firefox.session(SessionConfig(proxy=web.proxy, deadlines=PATIENT, observation=observation)) as session:
        session.open_tabs([url])
        seen = session.observe()
    assert seen.screenshot is not None
    assert seen.screenshot.startswith(b"\xff\xd8\xff")
    assert seen.marked is not None
    assert len(set(re.findall(r"\[(\d+)\] (?:button 'Save'|<button> Save)", seen.text))) == 1
    assert len(set(re.findall(r"\[(\d+)\] (?:textbox 'Name'|<input )", seen.text))) == 1


@pytest.mark.exhaustive
def test_cross_site_frames_can_be_read_and_used(show: Show, web: Web) -> None:
    web.put("http://c.test/", "<button onclick=\"this.textContent='Done'\">Deep</button>")
    web.put("http://b.test/", "<input aria-label=Name><iframe src='http://c.test/' title=Third height=60></iframe>")
    session = show(
        "<h1>Top</h1><iframe src='http://b.test/' title=Second style='margin:40px;border:7px solid'></iframe>"
    )
    done(session, Type(element(session, "textbox 'Name'"), "Ada Ł"))
    deep = element(session, "button 'Deep'")
    done(session, Click(deep))
    assert element(session, "button 'Done' focused: True") == deep
    assert element(session, "textbox 'Name' required: False value: 'Ada Ł'")


# --- actions

FORM = """<title>Form</title><input aria-label=Name value=old oninput="noted.textContent += event.inputType + ';'">
<textarea aria-label=Text></textarea><select aria-label=Size><option>S<option>M<option>L</select>
<label><input type=checkbox> Agree</label><div id=rich contenteditable role=textbox aria-label=Rich></div>
<p id=noted></p>"""


@pytest.mark.exhaustive
def test_form_fields_are_filled(show: Show) -> None:
    session = show(FORM)
    name = element(session, "textbox 'Name'")
    done(session, Type(name, "Zoë 日本", clear=True))
    assert (js(session, "document.querySelector('input').value"), js(session, "noted.textContent.length > 40")) == (
        "Zoë 日本",
        True,  # each character was noticed, those without a key as well
    )
    done(session, Press("cmd+a"))
    done(session, Press("Delete"))
    assert js(session, "document.querySelector('input').value") == ""
    done(session, Type(element(session, "textbox 'Text'"), "one\ntwo " + "x" * 300))
    assert js(session, "document.querySelector('textarea').value") == "one\ntwo " + "x" * 300
    done(session, Type(element(session, "textbox 'Rich'"), "Łódź!"))
    assert js(session, "rich.textContent") == "Łódź!"
    done(session, Select(element(session, "combobox 'Size'"), ("L",)))
    done(session, Check(element(session, "checkbox 'Agree'"), True))
    assert "checkbox 'Agree' focused: True checked: true" in session.observe().text
    assert element(session, "textbox 'Name'") == name


def test_click_drag_and_upload_work(show: Show) -> None:
    session = show(
        """<button ondblclick="log.textContent += ' twice'"
        onclick="if (event.shiftKey) log.textContent += ' shift'">Hit</button>
        <p id=log></p><p style="user-select: none" onmousedown="on = true" onmouseup="on = false"
        onmousemove="if (on) log.textContent += ' moved'; on = false">Slide</p><p id=z>Here</p>
        <p draggable=true>Drag</p><input type=file id=one><script>on = false</script>"""
    )
    hit = element(session, "button 'Hit'")
    done(session, Click(hit, count=2))
    done(session, Click(hit, modifiers=("Shift",)))
    done(session, Drag(Selector("text=Slide"), Selector("css=#z")))
    assert js(session, "log.textContent") == " twice shift moved"
    assert "needs --browser chromium" in session.execute(Drag(Selector("text=Drag"), Selector("css=#z"))).error
    done(session, Upload(Selector("css=#one"), ("cv.pdf",)))
    assert js(session, "one.files[0].name + one.files[0].size") == "cv.pdf14"


@pytest.mark.exhaustive
def test_held_dialog_is_answered(show: Show) -> None:
    session = show(
        "<title>T</title><button onclick=\"out.textContent = prompt('Name?', 'Ada')\">Ask</button><p id=out>"
    )
    session.observe()
    done(session, Click(Selector("text=Ask")))
    seen = session.observe()
    assert (seen.dialog, seen.title) == ("prompt 'Name?' (proposed answer: 'Ada')", "T")
    done(session, Press("Enter"))
    assert js(session, "out.textContent") == "Ada"


@pytest.mark.exhaustive
def test_tabs_and_history_work(show: Show, web: Web) -> None:
    web.put("/two", "<title>Two</title><a href='#there'>There</a><h2 id=there>Two</h2>")
    session = show("<title>One</title><a href=/two>Go</a><a href=/two target=_blank>Open</a>")
    go = element(session, "link 'Go'")
    done(session, Click(go))
    there = element(session, "link 'There'")
    assert "is on an earlier page" in session.execute(Click(go)).error
    done(session, Click(there))
    assert session.observe().url == "http://a.test/two#there"
    assert element(session, "link 'There'") == there  # the same document
    for action, url in ((Back(), "/two"), (Back(), "/"), (Forward(), "/two")):
        assert session.execute(action).url_after == f"http://a.test{url}"
    done(session, Back())
    assert session.execute(Back()).error == "There is no earlier page in this tab."
    done(session, Click(element(session, "link 'Open'")))
    assert session.observe().text.startswith("Tab 0: One | Tab 1 (current): Two")


@pytest.mark.exhaustive
def test_action_waits_for_its_effects(show: Show, web: Web) -> None:
    web.slow("/slow", 0.7, "<title>Slow</title>Arrived")
    web.slow("/data", 0.5, "late")
    session = show(
        "<button onclick=\"fetch('/data').then(r => r.text()).then(t => out.textContent = t)\">Fetch</button>"
        "<p id=out></p><a href=/slow>Away</a>"
    )
    done(session, Click(Selector("text=Fetch")))
    assert "StaticText 'late'" in session.observe().text
    done(session, Click(Selector("text=Away")))
    assert session.observe().title == "Slow"


# --- errors and isolation


@pytest.mark.exhaustive
def test_hung_page_is_closed(firefox: BrowserEngine, web: Web) -> None:
    config = SessionConfig(proxy=web.proxy, deadlines=Deadlines(hang=2.0, context=30.0, step=60.0))
    with firefox.session(config) as session:
        session.open_tabs([web.put("/", "<title>H</title><button onclick='while (true);'>Hang</button>")])
        error = session.execute(Click(Selector("text=Hang"))).error
        assert error == "The page http://a.test/ stopped responding and was closed; the tab is empty."
        assert session.observe().url == "about:blank"


def test_browser_connects_only_to_the_proxy(session: Session, web: Web) -> None:
    session.open_tabs([web.put("/", "<title>T</title>")])
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        server.timeout = 0
        server.handle_timeout = lambda: reached.append("nobody")  # type: ignore[method-assign]
        reached: list[str] = []
        port = server.server_address[1]
        assert "can't be reached from here" in session.execute(Goto(f"https://127.0.0.1:{port}/")).error
        for host in ("127.0.0.1", "localhost"):
            done(session, Goto(f"http://{host}:{port}/"))
            assert web.requests[-1].url == f"http://{host}:{port}/"  # requested from the proxy
        script = f"new WebSocket('ws://127.0.0.1:{port}/'); fetch('https://localhost:{port}/').catch(() => {{}}); 1"
        assert js(session, script) == 1
        done(session, Wait(0.3))
        server.handle_request()
        assert reached == ["nobody"]


def test_exact_extractor_is_rejected(firefox: BrowserEngine, web: Web) -> None:
    config = SessionConfig(proxy=web.proxy, deadlines=PATIENT, observation=ObservationConfig(extractor="exact"))
    with firefox.session(config) as session, pytest.raises(BrowserError, match="exact extractor needs Chromium"):
        session.observe()  # agents that need it are rejected earlier: `settings.check_agents`


@pytest.mark.exhaustive
def test_storage_state_signs_in_another_session(firefox: BrowserEngine, web: Web) -> None:
    web.put("/", lambda request: web.reply("<p>" + request.headers.get("Cookie", "nobody"), Set_Cookie="who=me"))
    with firefox.session(SessionConfig(proxy=web.proxy, deadlines=PATIENT)) as session:
        session.open_tabs(["http://a.test/"])
        js(session, "localStorage.setItem('seen', 'yes')")
        state = session.storage_state()
    config = SessionConfig(proxy=web.proxy, deadlines=PATIENT, storage_state=state)
    with firefox.session(config) as session:
        session.open_tabs(["http://a.test/"])
        assert "who=me" in session.observe().text
        assert js(session, "localStorage.getItem('seen')") == "yes"


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a killed bridge leaves the browser behind")
def test_no_process_remains_after_closing(firefox: BrowserEngine, tmp_path: Path) -> None:
    before = descendants()
    with BrowserEngine(EngineConfig(browser_name="firefox", temp_dir=tmp_path / "own")) as engine:
        assert engine.choice.name.startswith("firefox")
        (bridge,) = of_command("bidi_bridge.py", descendants(but=before))
        started = [bridge, *descendants(bridge)]
        assert len(started) > 1
        kill([bridge])
        assert still_running(started) == []
        with engine.session(SessionConfig()) as session:  # in another one
            session.open_tabs(["about:blank"])
            (other,) = of_command("bidi_bridge.py", descendants(but=before))
            started = [other, *descendants(other)]
            assert len(started) > 1
    assert still_running(started) == []
    assert list((tmp_path / "own").iterdir()) == []


NOTE_TASK = """
  - id: note
    intent: Add a note titled "Rye".
    mutates: true
    checks: [{state: {sql: "select count(*) from notes where title = 'Rye'", equals: 1}}]
    solution:
      - goto: homepage:/scratchpad/new
      - fill: {css=#title: Rye}
      - fill: {css=#body: and butter}
      - click: role=button[name="Save note"]
"""
LAUNCHES = """
from pytest_webarena.browser.engine import BrowserEngine

class Counted(BrowserEngine):
    def __init__(self, config):
        print("launch of", config.browser_name)
        super().__init__(config)

def pytest_configure():
    import pytest_webarena.trials.runtime as runtime
    runtime.BrowserEngine = Counted
"""


@pytest.mark.exhaustive
@pytest.mark.usefixtures("firefox")
def test_one_run_solves_tasks_in_both_browsers(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(LAUNCHES)
    (pytester.path / "x.tasks.yaml").write_text(SUM_TASK + NOTE_TASK)
    both = ("--browser=firefox", "--browser=chromium")
    result = pytester.runpytest_subprocess(*both, "--agent=oracle", "--run-dir=run", "-s", timeout=250)
    result.assert_outcomes(passed=4)
    found = {(each.key.task, each.key.browser): each.browser for each in RunDir(pytester.path / "run").records()}
    assert {key: version.partition(" ")[0].partition("-")[0] for key, version in found.items()} == {
        (task, browser): browser for task in ("sum", "note") for browser in ("chromium", "firefox")
    }
    assert sorted(re.findall("launch of [a-z]+", result.stdout.str())) == ["launch of chromium", "launch of firefox"]
    result.stdout.fnmatch_lines(["oracle (chromium): 2/2 passed*", "oracle (firefox): 2/2 passed*"])


@pytest.mark.exhaustive
@pytest.mark.usefixtures("firefox")
def test_https_archive_is_a_named_error_in_firefox(pytester: pytest.Pytester) -> None:
    """Firefox cannot trust the run's certificate authority. It is no failure of the agent, and the message says what
    to do.
    """
    shop = {"url": "https://shop.example"}
    with WarcFile(pytester.path / "shop.warc", sites={"shop": shop}) as archive:
        archive.add(
            method="GET", url="https://shop.example/", request_head="GET / HTTP/1.1\r\n", request_body=b"",
            response_head="HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", response_body=b"<h1>Shop</h1>", time=1,
        )  # fmt: skip
    task = "{id: a, sites: [shop], intent: What?, checks: [{answer: Shop}], solution: [{stop: Shop}]}"
    (pytester.path / "x.tasks.yaml").write_text(f"tasks: [{task}]\n")
    both = ("--browser=firefox", "--browser=chromium")
    result = pytester.runpytest_subprocess(
        *both, "--agent=oracle", "--sites=archive:shop.warc", "--run-dir=run", timeout=250
    )
    result.assert_outcomes(passed=1, errors=1)
    (error,) = (each for each in RunDir(pytester.path / "run").records() if each.outcome == "error")
    assert (error.key.browser, error.cause) == ("firefox", "browser")
    assert error.message == (
        "shop: expected Chromium, for the site comes by https with a certificate of this run alone, found a browser "
        "that can't trust it for one run; run without --browser, or with --browser=chromium"
    )
