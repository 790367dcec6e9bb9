"""A real headless browser, and small sites behind a loopback proxy. Fails without a browser where one is required."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from pytest_webarena.actions import Goto
from pytest_webarena.browser.config import BrowserName, Deadlines, EngineConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.launching.discovery import find_browser
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserError

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext

BROWSER: BrowserName = "firefox" if os.environ.get("WEBARENA_TEST_BROWSER_NAME") == "firefox" else "chromium"
"""Firefox is for trying things out: tests of Chromium's protocol and of its own ways fail there."""
SITE = "http://a.test"
_STEP, _HANG = (12.0, 1.5) if BROWSER == "chromium" else (24.0, 5.0)
QUICK = Deadlines(step=_STEP, navigation=2.5, settle=1.5, selector=0.8, quiet=0.04, hang=_HANG, close=5.0)
"""Short enough for tests of pages that hang, long enough for a busy machine."""
CALM = replace(QUICK, navigation=20.0, settle=20.0, selector=20.0, hang=20.0, step=60.0)
"""For tests that wait for something that comes; only a fault takes this long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as received by the server."""

    method: str
    url: str
    headers: dict[str, str]
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A response of the server."""

    body: str | bytes | Iterable[bytes] = ""
    """An iterable is sent piece by piece, its length not announced."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Page = str | Reply | Callable[[Request], "str | Reply"]


class Web:
    """Sites by address, served by one loopback server that is also their proxy: any host name leads to it."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.requests: list[Request] = []
        self.log: list[list[Any]] = []
        """Method, address, time, state and status of each, as a gateway knows them."""
        self.released = threading.Event()
        """Hanging handlers wait for this event, so that none outlives its test."""
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length).decode()
                request = Request(method=self.command, url=self.path, headers=dict(self.headers), body=body)
                noted: list[Any] = [self.command, self.path, time.time(), "open", None]
                web.log.append(noted)
                reply = web.answer(request)
                noted[4] = reply.status
                content = reply.body.encode() if isinstance(reply.body, str) else reply.body
                pieces = [content] if isinstance(content, bytes) else content
                try:
                    self.send_response(reply.status)
                    headers = {"Content-Type": "text/html; charset=utf-8", **reply.headers}
                    for name, value in headers.items():
                        self.send_header(name, value)
                    if isinstance(content, bytes):
                        self.send_header("Content-Length", str(len(content)))
                    else:
                        self.close_connection = True
                    self.end_headers()
                    for piece in pieces:
                        self.wfile.write(piece)
                    noted[3] = "whole"
                except OSError:
                    self.close_connection = True
                    noted[3] = "cut"

            do_POST = do_OPTIONS = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                pass  # a browser that is killed or navigates away closes its connections

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.proxy = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, request: Request) -> Reply:
        """Return the page at the request's address; 404 if there is none."""
        self.requests.append(request)
        parts = urlsplit(request.url)
        page = self.pages.get(f"{parts.scheme}://{parts.netloc}{parts.path}")
        if page is None:
            return Reply(body="<title>Not found</title>Not found", status=404)
        made = page(request) if callable(page) else page
        return Reply(body=made) if isinstance(made, str) else made

    def answers(self, method: str, url: str, since: float, *, harness: bool = True) -> list[tuple[str, int | None]]:
        """Like `Lease.answers`."""
        return [(each[3], each[4]) for each in self.log if each[:2] == [method, url] and each[2] >= since]

    def put(self, path: str, page: Page) -> str:
        """Serve ``page`` at ``path`` of the site ``a.test`` (or at a full address); return the address."""
        url = path if "://" in path else SITE + path
        self.pages[url] = page
        return url

    def reply(self, body: str | bytes | Iterable[bytes] = "", status: int = 200, **headers: str) -> Reply:
        """Make a response, for pages that are functions."""
        return Reply(
            body=body, status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )

    def redirect(self, path: str, to: str) -> str:
        """Redirect ``path`` to ``to``."""
        return self.put(path, Reply(status=302, headers={"Location": to}))

    def file(self, path: str, content: str | bytes, content_type: str, **headers: str) -> str:
        """Serve content that is not a page."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.put(path, Reply(body=content, headers={"Content-Type": content_type, **named}))

    def slow(self, path: str, seconds: float, body: str) -> str:
        """Serve a page with a delay."""

        def answer(request: Request) -> str:
            self.released.wait(seconds)
            return body

        return self.put(path, answer)

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="session")
def browser_executable() -> str | None:
    """A browser that can be started. Without one the test is skipped, or fails where one is required."""
    try:
        return find_browser(os.environ.get("WEBARENA_TEST_BROWSER"), browser_name=BROWSER).executable
    except BrowserError as error:
        if os.environ.get("WEBARENA_REQUIRE_BROWSER") == "1":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def engine(browser_executable: str | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserEngine]:
    """The browser that the tests share. Tests that kill a browser start their own."""
    folder = tmp_path_factory.mktemp("browser")
    config = EngineConfig(browser_name=BROWSER, executable=browser_executable, temp_dir=folder)
    with BrowserEngine(config) as engine:
        yield engine


class _BorrowedEngine:
    """The tests' browser, which its borrower can't close."""

    def __init__(self, engine: BrowserEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def __enter__(self) -> _BorrowedEngine:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def shared_engine(engine: BrowserEngine) -> Iterator[BrowserEngine]:
    """Runtimes and commands in this process, also those of pytest runs in it, use the tests' browser instead of
    starting their own.

    A browser with other settings, one that trusts https sites of a run, or one of a forked process is started.
    """
    process = os.getpid()

    def start(config: EngineConfig) -> Any:
        mine = engine.config
        same = (config.browser_name, config.launch_args.get("headless", True)) == (mine.browser_name, True)
        known = config.executable in (None, mine.executable)
        borrowed = same and known and not config.trust and os.getpid() == process
        return _BorrowedEngine(engine) if borrowed else BrowserEngine(config)

    with pytest.MonkeyPatch.context() as patch:
        for module in ("trials.runtime", "browser.engine"):  # commands import it from there when they need it
            patch.setattr(f"pytest_webarena.{module}.BrowserEngine", start)
        yield engine


class PeoplesBrowser:
    """A browser for the project's own pages, such as the viewer, without a gateway. It is started once.

    It uses the driver and event loop of the tests' engine, so its network is steady, too.
    """

    def __init__(self, engine: BrowserEngine, executable: str | None) -> None:
        self._engine, self._executable = engine, executable
        self._browser: Browser | None = None

    def use(self, work: Callable[[BrowserContext], Coroutine[Any, Any, None]], **how: Any) -> None:
        """Run ``work`` with a new context, made with the options ``how``; its exceptions are raised here."""
        self._engine.run(self._use(work, how), timeout=280, what="using a page of ours")

    async def _use(self, work: Callable[[BrowserContext], Coroutine[Any, Any, None]], how: dict[str, Any]) -> None:
        if self._browser is None:
            playwright = await self._engine.playwright()
            arguments = ["--no-sandbox", "--disable-background-networking"]
            self._browser = await playwright.chromium.launch(executable_path=self._executable, args=arguments)
        context = await self._browser.new_context(**how)
        try:
            await work(context)
        finally:
            await context.close()

    def close(self) -> None:
        if self._browser is not None:
            self._engine.run(self._browser.close(), timeout=20, what="closing a browser")


@pytest.fixture(scope="session")
def peoples_browser(engine: BrowserEngine, browser_executable: str | None) -> Iterator[PeoplesBrowser]:
    """The browser in which the tests of a worker open the project's own pages."""
    browser = PeoplesBrowser(engine, browser_executable)
    yield browser
    browser.close()


@pytest.fixture
def web() -> Iterator[Web]:
    """The sites of one test."""
    web = Web()
    yield web
    web.close()


OpenSession = Callable[..., Session]


@pytest.fixture
def open_session(engine: BrowserEngine, web: Web) -> Iterator[OpenSession]:
    """Open sessions with short deadlines that reach ``web``; keyword arguments as in `SessionConfig`."""
    with ExitStack() as stack:

        def open_(**options: Any) -> Session:
            config = SessionConfig(**{"proxy": web.proxy, "deadlines": QUICK, **options})
            return stack.enter_context(engine.session(config))

        yield open_


@pytest.fixture
def session(open_session: OpenSession) -> Session:
    """A fresh context with an empty tab."""
    return open_session()


@pytest.fixture
def quick() -> Deadlines:
    """The deadlines of the tests' sessions."""
    return QUICK


@pytest.fixture
def calm(open_session: OpenSession) -> Session:
    """A session with deadlines that are not reached on a busy machine."""
    return open_session(deadlines=CALM)


@pytest.fixture
def show(session: Session, web: Web) -> Callable[[str], Session]:
    """Show HTML at ``http://a.test/`` in the session. The agent navigates to each further page of the test (or case of
    a table): that takes a third of the time of another tab.
    """
    shown: list[str] = []

    def show(html: str) -> Session:
        shown.append(web.put("/", html))
        if len(shown) == 1:
            session.open_tabs(shown)
        else:
            assert session.execute(Goto(shown[-1])).error == ""
        return session

    return show


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{Path(__file__).parent}{os.sep}"  # of thousands of items, so texts and no paths are compared
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.browser)
