"""Pages that checks open: they share the state of the agent's context, and changes do not leak in either direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import BrowserContext, StorageState

from pytest_webarena.actions import Goto, Press
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session
from tests.browser.conftest import BROWSER, CALM, QUICK, OpenSession, Web

if TYPE_CHECKING:
    from tests.browser.conftest import Reply, Request

SECURE = "http://shop.localhost"
"""Browsers take it for secure, so that workers may be registered."""
STORE = """<title>in</title><script>
document.cookie = 'who=ada'
localStorage.token = 'abc'
sessionStorage.draft = 'mine'
const opening = indexedDB.open('db', 1)
opening.onupgradeneeded = () => opening.result.createObjectStore('notes', {keyPath: 'id'})
opening.onsuccess = () => {
  const writing = opening.result.transaction('notes', 'readwrite')
  writing.objectStore('notes').put({id: 1, text: VALUE, when: new Date(0)})
  writing.oncomplete = () => { opening.result.close(); document.title = 'stored' }
}
</script>"""
RECALL = """js=(async () => {
  const notes = await new Promise(done => {
    const opening = indexedDB.open('db')
    opening.onsuccess = () => {
      if (!opening.result.objectStoreNames.length) return done(null)
      const all = opening.result.transaction('notes').objectStore('notes').getAll()
      all.onsuccess = () => done(all.result.map(note => [note.text, note.when.getTime()]))
    }
  })
  return [document.cookie, localStorage.token, notes, sessionStorage.draft].map(each => JSON.stringify(each) ?? null)
})()"""


def wait_for_title(session: Session, title: str) -> None:
    for _ in range(200):
        if session.observe().title == title:
            return
    raise AssertionError(f"the page never was {title!r}")


def stored(session: Session, web: Web, value: str = "'milk'") -> Session:
    """Open a page that stores values in all kinds of browser storage."""
    web.put("/in", STORE.replace("VALUE", value))
    web.put("/out", "<title>out</title>")
    session.open_tabs(["http://a.test/in"])
    wait_for_title(session, "stored")
    return session


def test_check_page_has_cookies_and_storage_of_agent_context(session: Session, web: Web) -> None:
    value = stored(session, web).read_page(open="/out", locate=RECALL).value
    assert value == ['"who=ada"', '"abc"', '[["milk",0]]', None]  # session storage belongs to one tab


def test_check_page_does_not_change_agent_context(session: Session, web: Web) -> None:
    """A flash message in a cookie is still there for the agent after a check has read it."""
    web.put("/in", "<script>document.cookie = 'flash=saved'; localStorage.seen = ''</script>")
    page = "<p id=flash></p><script>localStorage.seen = 'yes'</script>"

    def shop(request: Request) -> object:
        flash = "saved" if "flash=saved" in request.headers.get("Cookie", "") else "nothing"
        return web.reply(page.replace("></p>", f">{flash}</p>"), Set_Cookie="flash=; Max-Age=0; Path=/")

    web.put("/", shop)  # type: ignore[arg-type]
    session.open_tabs(["http://a.test/in"])
    for _ in range(2):
        assert session.read_page(open="/", locate="css=#flash").texts == ("saved",)
    assert session.read_page(open=None, locate="js=localStorage.seen").texts == ("",)
    session.execute(Goto("http://a.test/"))
    assert session.read_page(open=None, locate="css=#flash").texts == ("saved",)


def test_pages_of_one_check_share_cookies(session: Session, web: Web) -> None:
    web.put("/", "<title>agent</title>")
    web.put("/set", lambda request: web.reply("set", Set_Cookie="probe=1"))
    web.put("/who", lambda request: f"<p>{request.headers.get('Cookie', 'nobody')}</p>")
    session.open_tabs(["http://a.test/"])
    with session.own_pages():
        session.read_page(open="/set", locate=None)
        assert session.read_page(open="/who", locate="css=p").texts == ("probe=1",)
    with session.own_pages():
        assert session.read_page(open="/who", locate="css=p").texts == ("nobody",)
    session.read_page(open="/set", locate=None)
    assert session.read_page(open="/who", locate="css=p").texts == ("nobody",)


def test_sign_in_verification_opens_one_page(engine: BrowserEngine, web: Web) -> None:
    """Each page is a process: none is opened for an unused tab, or to read the site's storage again."""
    web.put("/", "<script>localStorage.token = 'abc'</script>")
    web.put("/next", "<p>Hello</p>")
    config = SessionConfig(proxy=web.proxy, storage_state={"cookies": [], "origins": []}, deadlines=CALM)

    with engine.session(config, tab=False) as session:

        async def open_pages() -> list[int]:
            assert session.browser is not None
            return [len(context.pages) for context in session.browser.contexts]

        with session.own_pages(keep=True):
            for path in ("/", "/next"):
                session.read_page(open=f"http://a.test{path}", locate=None)
                assert engine.run(open_pages(), timeout=60, what="counting pages") == [0, 1]
            (origin,) = session.storage_state(own=True)["origins"]
            assert origin["localStorage"] == [{"name": "token", "value": "abc"}]
        assert engine.run(open_pages(), timeout=60, what="counting pages") == [0]
        session.open_tabs(["http://a.test/next"])
        assert session.read_page(open=None, locate="css=p").texts == ("Hello",)


def test_sign_in_verification_returns_the_last_valid_session_id(
    engine: BrowserEngine, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sites may send a new session id with each response and end the old one, also in response to a pending request."""
    given: list[str] = []

    def answer(request: Request) -> Reply:
        if "/poll" in request.url:
            web.released.wait(0.5)
        given.append(str(len(given)))
        return web.reply("<script>localStorage.token = 'abc'</script>", Set_Cookie=f"sid={given[-1]}")

    async def asks_meanwhile(context: BrowserContext, **options: Any) -> StorageState:
        state = await storage_state(context, **options)
        for page in context.pages:
            await page.evaluate("() => { fetch('/poll') }")
        return state

    storage_state = BrowserContext.storage_state
    monkeypatch.setattr(BrowserContext, "storage_state", asks_meanwhile)
    web.put("/", answer)
    web.put("/poll", answer)
    config = SessionConfig(proxy=web.proxy, storage_state={"cookies": [], "origins": []}, deadlines=CALM)
    with engine.session(config, tab=False) as session, session.own_pages(keep=True):
        session.read_page(open="http://a.test/", locate=None)
        state = session.storage_state(own=True)
        assert [cookie["value"] for cookie in state["cookies"]] == given[-1:]
        assert given[-1] == "1"
        assert state["origins"][0]["localStorage"] == [{"name": "token", "value": "abc"}]
        assert session.read_page(open="http://a.test/", locate=None).status == 200


def test_storage_is_read_from_a_hung_page(engine: BrowserEngine, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hangs(context: BrowserContext, **options: Any) -> StorageState:
        for page in context.pages:
            await page.evaluate("() => { setTimeout(() => { for (;;); }) }")
        return await storage_state(context, **options)

    storage_state = BrowserContext.storage_state
    monkeypatch.setattr(BrowserContext, "storage_state", hangs)
    page = web.reply("<script>localStorage.token = 'abc'</script>", Set_Cookie="sid=1")
    web.put("/", page)
    config = SessionConfig(proxy=web.proxy, storage_state={"cookies": [], "origins": []}, deadlines=QUICK)
    with engine.session(config, tab=False) as session, session.own_pages(keep=True):
        session.read_page(open="http://a.test/", locate=None)
        state = session.storage_state(own=True)
    assert [cookie["value"] for cookie in state["cookies"]] == ["1"]
    assert state["origins"][0]["localStorage"] == [{"name": "token", "value": "abc"}]


@pytest.fixture
def other_web() -> Iterator[Web]:
    web = Web()
    yield web
    web.close()


def test_check_pages_use_the_harness_proxy(open_session: OpenSession, web: Web, other_web: Web) -> None:
    session = open_session(harness_proxy=other_web.proxy)
    for each in (web, other_web):
        each.put("/", "<img src=/seen.png>")
    session.open_tabs(["http://a.test/"])
    web.requests.clear()
    assert session.read_page(open="/", locate="css=img").status == 200
    assert {request.url for request in other_web.requests} == {"http://a.test/", "http://a.test/seen.png"}
    assert web.requests == []


WORKER = """
self.addEventListener('install', event => self.skipWaiting())
self.addEventListener('activate', event => event.waitUntil(clients.claim()))
self.addEventListener('fetch', event => event.respondWith(
  new Response('<p>forged</p>', {headers: {'Content-Type': 'text/html'}})))
"""


def test_service_worker_of_agent_does_not_answer_check_pages(open_session: OpenSession, web: Web) -> None:
    session = open_session(context_args={"service_workers": "allow"})
    web.put(f"{SECURE}/record", "<p>true</p>")
    web.file(f"{SECURE}/worker.js", WORKER, "text/javascript")
    web.put(
        f"{SECURE}/",
        "<title>-</title><script>navigator.serviceWorker.register('/worker.js');"
        "navigator.serviceWorker.ready.then(() => document.title = 'ready')</script>",
    )
    session.open_tabs([f"{SECURE}/"])
    wait_for_title(session, "ready")
    session.execute(Goto(f"{SECURE}/record"))
    assert session.read_page(open=None, locate="css=p").texts == ("forged",)
    assert session.read_page(open=f"{SECURE}/record", locate="css=p").texts == ("true",)


def test_http_cache_of_agent_is_not_used_by_check_pages(session: Session, web: Web) -> None:
    counts = iter(range(100))

    def cached(request: Request) -> object:
        return web.reply(f"<p>{next(counts)}</p>", Cache_Control="max-age=3600")

    web.put("/", cached)  # type: ignore[arg-type]
    session.open_tabs(["http://a.test/"])
    assert session.read_page(open="/", locate="css=p").texts == ("1",)


@pytest.mark.skipif(BROWSER != "chromium", reason="a page of a Firefox that opens a dialog answers nothing at all")
def test_dialog_in_agent_tab_does_not_block_check_pages(open_session: OpenSession, web: Web) -> None:
    session = stored(open_session(dialogs="hold"), web)
    web.put("/asks", "<title>asks</title><script>onkeydown = () => confirm('Sure?')</script>")
    session.execute(Goto("http://a.test/asks"))
    session.execute(Press("a"))
    assert session.observe().dialog
    assert session.read_page(open="/out", locate="js=[document.cookie, localStorage.token]").texts == ("who=ada", "abc")


def test_hung_agent_tab_does_not_block_check_pages(session: Session, web: Web) -> None:
    """Cookies are read from the browser; for storage, the last known state is used."""
    stored(session, web)
    recall = "js=[document.cookie, localStorage.token]"
    assert session.read_page(open="/out", locate=recall).texts == ("who=ada", "abc")
    session.read_page(open=None, locate="js=document.cookie = 'who=bob', setTimeout(() => { for (;;); }, 0), 1")
    assert session.read_page(open="/out", locate=recall).texts == ("who=bob", "abc")


CIRCLES = (
    "(() => { const loop = []; loop.push(loop); return loop })()",
    "(() => { const o = {}; o.o = o; return o })()",
)


@pytest.mark.matrix(1)
@pytest.mark.parametrize("value", CIRCLES)
def test_circular_database_value_does_not_crash_the_driver(session: Session, web: Web, value: str) -> None:
    """No other value is stored that would make Playwright use its own format, which supports circular references."""
    web.put("/in", STORE.replace(", when: new Date(0)", "").replace("VALUE", value))
    web.put("/out", "<title>out</title>")
    session.open_tabs(["http://a.test/in"])
    wait_for_title(session, "stored")
    for _ in range(2):
        reading = session.read_page(open="/out", locate="js=[document.cookie, localStorage.token]")
        assert reading.texts == ("who=ada", "abc")
    assert session.observe().title == "stored"


@pytest.mark.matrix(1)
@pytest.mark.parametrize("value", ["new Blob(['x'])", *CIRCLES])
def test_uncopyable_database_does_not_block_other_storage(session: Session, web: Web, value: str) -> None:
    reading = stored(session, web, value).read_page(open="/out", locate="js=[document.cookie, localStorage.token]")
    assert reading.texts == ("who=ada", "abc")
