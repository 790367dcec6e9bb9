"""A browser driven by an external client: connected through the filter and watched by the harness."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, Playwright
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from pytest_webarena.actions import Action, Goto, PressFocused, Selector, TypeFocused
from pytest_webarena.browser.config import EngineConfig, Geolocation, ObservationConfig, SessionConfig
from pytest_webarena.browser.driven import open_driven
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserError
from tests.browser.conftest import CALM, QUICK, Web
from tests.browser.watched import Raw, Watched, client, driven_processes, page, playwright, raw, watched, web
from tests.cases import each_case
from tests.processes import descendants, kill, name_of, of_command, still_running, wait_until

__all__ = ["client", "page", "playwright", "raw", "watched", "web"]


def test_page_gets_configured_geolocation(page: Page, web: Web) -> None:
    web.put("http://localhost/", "<title>here</title>")  # pages of other hosts may not ask
    page.goto("http://localhost/")
    place = page.evaluate(
        "() => new Promise(done => navigator.geolocation.getCurrentPosition("
        "at => done([at.coords.latitude, at.coords.longitude]), failure => done(failure.message)))"
    )
    assert place == [50.5, 8.25]


def test_playwright_client_works_in_task_context_and_is_recorded(page: Page, watched: Watched) -> None:
    page.get_by_label("Name").press_sequentially("rye")
    page.get_by_role("link", name="Cart").click()
    page.wait_for_url("**/cart")
    page.go_back()
    page.mouse.wheel(0, 10)
    assert watched.actions == ["type", "click", "go_back", "scroll"]
    assert watched.steps[0].action["text"] == "rye"
    # The harness may receive events later than the client.
    wait_until(lambda: watched.navigations == ["http://a.test/cart", "http://a.test/"])
    wait_until(lambda: watched.session.observe().url == "http://a.test/")


def test_same_document_navigation_is_distinguished_from_page_load(page: Page, watched: Watched) -> None:
    def wait_for_navigations(number: int) -> None:  # a client's next command did not cause the navigation
        wait_until(lambda: len(watched.navigation_events) == number)

    page.evaluate("history.replaceState(0, '', '/?q=1')")
    wait_for_navigations(1)
    page.evaluate("setTimeout(() => history.pushState(0, '', '/there'), 300); history.replaceState(0, '', '/#a')")
    wait_for_navigations(3)
    page.goto("http://a.test/cart")
    wait_for_navigations(4)
    page.evaluate("location = '/'")
    wait_for_navigations(5)
    assert [(each.url, each.within, each.elsewhere, each.scripted) for each in watched.navigation_events] == [
        ("http://a.test/?q=1", True, False, True),
        ("http://a.test/#a", True, False, True),
        ("http://a.test/there", True, True, False),
        ("http://a.test/cart", False, True, False),
        ("http://a.test/", False, True, True),
    ]


def test_element_at_point_is_found_before_click(page: Page, watched: Watched) -> None:
    box = page.get_by_role("link", name="Cart").bounding_box()
    assert box is not None
    target = watched.session.element_at(box["x"] + 2, box["y"] + 2)
    assert target is not None
    assert (target.role, target.name) == ("link", "Cart")


def test_focused_element_is_found(page: Page, watched: Watched, web: Web) -> None:
    web.put("/order", "<input type=password id=secret>")
    page.goto("http://a.test/order")
    page.locator("#secret").fill("hush")
    focused = watched.session.focused_element()
    assert focused is not None
    assert focused.selector == "#secret"


def test_page_with_replaced_globals_can_be_read(page: Page, watched: Watched) -> None:
    page.evaluate("() => { document.title = 'Kept'; window.Map = document.querySelectorAll = null }")
    assert watched.session.read_page(open=None, locate="css=a").texts == ("Cart",)
    assert "Cart" in watched.session.read_page(open=None, locate=None).texts[0]


def test_tabs_opened_by_client_are_followed(page: Page, watched: Watched) -> None:
    other = page.context.new_page()
    other.goto("http://a.test/cart")
    wait_until(lambda: watched.session.observe().title == "cart")
    assert watched.session.follow(watched.steps[-1].target) == "http://a.test/cart"
    page.get_by_label("Name").fill("x")
    assert watched.session.follow(watched.steps[-1].target) == "http://a.test/"
    other.close()
    assert watched.actions == ["new_tab", "goto", "type", "close_tab"]


def test_client_answers_dialogs_and_the_answer_is_recorded(page: Page, watched: Watched) -> None:
    page.once("dialog", lambda dialog: dialog.accept("ada"))
    page.get_by_role("button", name="Ask").click()
    assert page.title() == "ada"
    wait_until(lambda: watched.session.observe().dialog is None)  # nothing is left hanging on the harness's side
    assert watched.session.observe().title == "ada"
    assert [step.action for step in watched.steps[1:]] == [{"kind": "accept_dialog", "text": "ada"}]


def test_page_under_open_dialog_is_not_queried(page: Page, watched: Watched) -> None:
    session = watched.session
    with page.expect_event("dialog") as opened:
        page.evaluate("setTimeout(() => document.title = prompt('who?', 'x'))")
    wait_until(lambda: session.observe_without_page().dialog is not None)
    seen, tab = session.observe_without_page(), session._tabs.current
    assert (seen.url, seen.dialog) == ("http://a.test/", "prompt 'who?' (proposed answer: 'x')")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            tab.dom_events, "sweep_fields", lambda seconds: pytest.fail("it would wait until its time is over")
        )
        session.sweep_fields()
    opened.value.accept()
    assert page.title() == ""  # accepted without a text, the answer is empty, whatever the default
    wait_until(lambda: session.observe_without_page().dialog is None)
    assert session.observe_without_page().text == session.observe().text.splitlines()[0]


def test_http_endpoint_lists_targets_for_clients(playwright: Playwright, client: Browser, watched: Watched) -> None:
    other = playwright.chromium.connect_over_cdp(watched.driven.http_url)
    assert other.contexts[0].pages[0].title() == "start"
    other.close()
    with urllib.request.urlopen(f"{watched.driven.http_url}/json/list", timeout=10) as response:
        (listed,) = json.load(response)
    assert listed["url"] == "http://a.test/"
    with connect(listed["webSocketDebuggerUrl"]) as socket:
        answer = Raw(socket)("Runtime.evaluate", expression="document.title")
    assert answer["result"]["result"]["value"] == "start"


def test_selenium_style_client_finds_endpoint_by_host_and_port(client: Browser, watched: Watched) -> None:
    """Selenium's driver sends the host without the port."""
    port = watched.driven.http_url.removeprefix("http://127.0.0.1:")
    assert port.isdigit()
    asked = urllib.request.Request(f"{watched.driven.http_url}/json/version", headers={"Host": "localhost"})
    with urllib.request.urlopen(asked, timeout=10) as response:
        version = json.load(response)
    assert version["WebKit-Version"].startswith("537.36 (@")
    with connect(version["webSocketDebuggerUrl"], max_size=None) as socket:
        assert "result" in Raw(socket)("Browser.getVersion")
        assert "error" in Raw(socket)("Browser.getBrowserCommandLine")  # the filter is there as well
    for headers in ({"Host": "evil.test"}, {"Host": f"127.0.0.1:{port}", "Origin": "http://evil.test"}):
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/json/version", headers=headers)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(asked, timeout=10)
    with pytest.raises(urllib.error.HTTPError, match="404"):  # the harness's own endpoint is not there, either
        urllib.request.urlopen(f"{watched.driven.http_url}/{watched.driven.cdp_url.split('/')[3]}/json", timeout=10)


def test_client_permissions_and_window_size_end_with_its_connection(
    engine: BrowserEngine, web: Web, playwright: Playwright
) -> None:
    place = Geolocation(latitude=50.5, longitude=8.25)
    config = SessionConfig(proxy=web.proxy, deadlines=CALM, geolocation=place)
    asked = "navigator.permissions.query({name: '%s'}).then(found => found.state)"
    with open_driven(engine, config) as (session, driven):
        watched = Watched(session, driven)
        session.open_tabs(["http://a.test/"])
        browser = playwright.chromium.connect_over_cdp(driven.cdp_url)
        context = browser.contexts[0]
        page = context.pages[0]
        before = page.evaluate("[innerWidth, innerHeight]")
        context.grant_permissions(["notifications"])
        assert page.evaluate(asked % "notifications") == "granted"
        assert page.evaluate(asked % "geolocation") == "denied"  # only the requested permissions
        protocol = context.new_cdp_session(page)
        window = protocol.send("Browser.getWindowForTarget")["windowId"]
        protocol.send("Browser.setContentsSize", {"windowId": window, "width": 640, "height": 480})
        wait_until(lambda: page.evaluate("[innerWidth, innerHeight]") == [640, 480])
        driven.shut("the trial is over")
        watched.close()
        seen = driven.context
        assert seen is not None
        look = engine.run(seen.pages[0].evaluate(asked % "geolocation"), timeout=10, what="looking")
        assert look == "granted"
        wait_until(
            lambda: engine.run(seen.pages[0].evaluate("[innerWidth, innerHeight]"), timeout=10, what="") == before
        )


@pytest.mark.parametrize("extractor", ["fast", "exact"])
def test_observation_reports_viewport_set_by_client(
    engine: BrowserEngine, web: Web, playwright: Playwright, extractor: str
) -> None:
    looks = ObservationConfig.from_plain({"extractor": extractor})
    config = SessionConfig(proxy=web.proxy, deadlines=CALM, viewport=(900, 700), observation=looks)
    with open_driven(engine, config) as (session, driven):
        watched = Watched(session, driven)
        session.open_tabs(["http://a.test/"])
        context = playwright.chromium.connect_over_cdp(driven.cdp_url).contexts[0]
        assert session.observe().viewport == (900, 700)
        sizes = {"width": 640, "height": 480, "deviceScaleFactor": 2, "mobile": False}
        context.new_cdp_session(context.pages[0]).send("Emulation.setDeviceMetricsOverride", sizes)
        assert session.observe().viewport == (640, 480)
        watched.close()


def test_access_of_client_ends_before_final_state_is_read(
    engine: BrowserEngine, web: Web, playwright: Playwright
) -> None:
    """The browser and its files are removed with the session."""
    others = set(of_command("driven-", descendants()))
    with open_driven(engine, SessionConfig(proxy=web.proxy, deadlines=QUICK)) as (session, driven):
        session.open_tabs(["http://a.test/"])
        browser = playwright.chromium.connect_over_cdp(driven.cdp_url)
        browser.contexts[0].pages[0].route("**/*", lambda route: route.fulfill(body="forged"))
        mine = set(driven_processes()) - others
        driven.shut("over")
        with pytest.raises(InvalidStatus, match="503"):
            connect(driven.cdp_url)
        assert session.read_page(open="http://a.test/cart", locate=None).texts == ("3 items",)
        assert session.read_page(open="http://a.test/cart", locate="css=html").texts == ("3 items",)
        browser.close()
    assert mine
    assert still_running(mine) == []


def test_crashed_driver_is_replaced_for_next_session(browser_executable: str | None, web: Web) -> None:
    config = SessionConfig(proxy=web.proxy, deadlines=QUICK)
    with BrowserEngine(EngineConfig(executable=browser_executable)) as engine:
        before = descendants()
        with open_driven(engine, config) as (session, _):
            session.open_tabs(["http://a.test/"])
            driver = next(each for each in descendants() if each not in before and "node" in name_of(each))
            kill([driver])
            with pytest.raises(BrowserError):
                session.observe()
        with open_driven(engine, config) as (session, _):
            session.open_tabs(["http://a.test/"])
            assert session.observe().title == "start"


def test_element_at_point_in_nested_frame_has_working_selector(show: Callable[[str], Session], web: Web) -> None:
    inner = web.put("/inner", "<p>Rows</p>" + "".join(f"<p><button>{name}</button></p>" for name in ("One", "Two")))
    outer = web.put("/outer", f"<h1>Outer</h1><iframe src='{inner}' style='border: 9px solid'></iframe>")
    session = show(f"<h1>All</h1><iframe src='{outer}' width=500 height=400></iframe>")
    x, y = str(session.read_page(open=None, locate=_MIDDLE_OF_TWO).value).split()
    found = session.element_at(float(x), float(y))
    assert found is not None
    assert (found.role, found.name) == ("button", "Two")
    assert found.selector.count(" >> internal:control=enter-frame >> css=") == 2
    again = session.element_of(f"css={found.selector}")
    assert again is not None
    assert (again.role, again.name) == ("button", "Two")
    outside = session.element_at(2, 2)
    assert outside is not None
    assert ">>" not in outside.selector


_MIDDLE_OF_TWO = """js=(() => {
  let doc = document, x = 0, y = 0;
  for (let frame = doc.querySelector('iframe'); frame; frame = doc.querySelector('iframe')) {
    const box = frame.getBoundingClientRect();
    x += box.left + frame.clientLeft;
    y += box.top + frame.clientTop;
    doc = frame.contentDocument;
  }
  const box = doc.querySelectorAll('button')[1].getBoundingClientRect();
  return `${x + box.left + box.width / 2} ${y + box.top + box.height / 2}`;
})()"""


KEYS = """<title>-</title><a href="/gone">Elsewhere</a><button onclick="document.title = 'deleted'">Delete</button>
<input aria-label=Name value=oats><div contenteditable role=textbox aria-label=Body>Old</div><p id=text>Text</p>
<script>let log = '';
for (const type of ['keydown', 'input', 'click'])
  document.addEventListener(type, ({target, key}) => {
    log += ` ${type}${key ? `:${key}` : type === 'input' ? `:${target.value ?? target.innerText}` : ''}`;
    document.title = log;
  });</script>"""
BODY, FIELD = Selector("css=div"), Selector("css=input")


@each_case(
    ("actions", "received", "url"),
    [
        ([PressFocused("Tab", Selector("css=button")), PressFocused("Tab", Selector("css=a"))],
         "keydown:Tab keydown:Tab", "/keys"),
        ([PressFocused("Control+a", BODY), TypeFocused(BODY, "ab")],
         "keydown:Control keydown:a keydown:a input:a keydown:b input:ab", "/keys"),
        ([TypeFocused(FIELD, "rye", clear=True, pieces=(("rye", True),))], "input:rye", "/keys"),
        ([TypeFocused(FIELD, "ab", clear=True)], "keydown:a input:a keydown:b input:ab", "/keys"),
        ([TypeFocused(FIELD, "ryex", True, False, (("rye", True), ("x", False)))],
         "input:rye keydown:x input:ryex", "/keys"),
        ([TypeFocused(FIELD, "oatsab", True, False, (("oats", None), ("ab", False)))],
         "keydown:a input:oatsa keydown:b input:oatsab", "/keys"),
        ([TypeFocused(FIELD, "oxs", True, False, (("o", None), ("x", True), ("s", None)))], "input:oxs", "/keys"),
        ([TypeFocused(FIELD, "ryeb", True, False, (("rye", None), ("b", False)))],
         "input:rye keydown:b input:ryeb", "/keys"),
        ([TypeFocused(FIELD, "", clear=True)], "keydown:Delete input:", "/keys"),
        ([PressFocused("Tab", FIELD), TypeFocused(None, "at", pieces=(("at", True),))],
         "keydown:Tab input:atOld", "/keys"),
        ([PressFocused("Enter", Selector("css=a"))], "", "/gone"),
    ],
)  # fmt: skip
def test_replayed_keys_go_to_focused_element_without_click(
    session: Session, web: Web, actions: list[Action], received: str, url: str
) -> None:
    web.put("/keys", KEYS)
    web.put("/gone", "<title></title>")
    assert [session.execute(action).error for action in (Goto("http://a.test/keys"), *actions)] == [""] * (
        1 + len(actions)
    )
    page = session.observe()
    assert (page.title.strip(), page.url) == (received, f"http://a.test{url}")


@each_case("action", [PressFocused("Enter", Selector("css=#text")), TypeFocused(Selector("css=p"), "a")])
def test_replayed_keys_on_unfocusable_element_are_an_error(session: Session, web: Web, action: Action) -> None:
    web.put("/keys", KEYS)
    session.open_tabs(["http://a.test/keys"])
    assert session.execute(action).error == "paragraph 'Text' can't have the keyboard focus."
    assert session.observe().title == "-"
