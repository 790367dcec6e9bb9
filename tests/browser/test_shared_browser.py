"""Sessions of several trials in shared browsers: they are isolated, and a crash affects only the browser's own
sessions.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import Click, Goto, Selector
from pytest_webarena.browser.config import Deadlines, EngineConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserLost
from tests.processes import descendants, kill, name_of, wait_until

if TYPE_CHECKING:
    from tests.browser.conftest import Web

CALM = Deadlines(launch=120, context=120, step=240, navigation=120, selector=120, hang=120, close=60)
"""As long as the busiest machine takes: nothing here is about time."""
ROOM = 8


@pytest.fixture(scope="module")
def sharing(browser_executable: str | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserEngine]:
    temp = tmp_path_factory.mktemp("shared")
    config = EngineConfig(executable=browser_executable, temp_dir=temp, deadlines=CALM, sessions=ROOM)
    with BrowserEngine(config) as engine:
        yield engine


def opened(exits: ExitStack, engine: BrowserEngine, web: Web, count: int, **more: object) -> list[Session]:
    """Open so many sessions at once."""

    def one(number: int) -> Session:
        trace = Path(str(more["traces"])) / f"{number}.zip" if "traces" in more else None
        config = SessionConfig(proxy=web.proxy, deadlines=CALM, dialogs=("accept", "dismiss")[number % 2], trace=trace)
        return exits.enter_context(engine.session(config))

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.mark.exhaustive
def test_sixteen_concurrent_sessions_are_isolated(sharing: BrowserEngine, web: Web, tmp_path: Path) -> None:
    for number in range(16):
        web.put(
            f"http://n{number}.test/",
            f"<button onclick=\"out.textContent = confirm('for {number}') + ' {number}'\">ask</button><p id=out></p>"
            f"<a download='{number}.txt' href='data:text/plain,{number}'>save</a>"
            f"<script>document.cookie = 'n={number}'; localStorage.n = {number}</script>",
        )
    together = threading.Barrier(16)

    def play(number: int, session: Session) -> tuple[str, tuple[str, ...], str]:
        session.open_tabs([f"http://n{number}.test/"])
        together.wait(CALM.step)
        session.execute(Click(Selector("css=button")))
        session.execute(Click(Selector("css=a")))
        seen = session.observe()
        wait_until(lambda: len(session.downloads()) == 1)
        state = str(session.storage_state())
        return seen.text + " ".join(seen.notes), tuple(each.name for each in session.downloads()), state

    with ExitStack() as exits:
        sessions = opened(exits, sharing, web, 16, traces=tmp_path)
        assert sorted(len(browser.contexts) for browser in {each.browser for each in sessions} if browser) == [8, 8]
        with ThreadPoolExecutor(16) as pool:
            results = list(pool.map(play, range(16), sessions))
        for number, (seen, saved, state) in enumerate(results):
            assert f"A confirm dialog said 'for {number}'; it was {('accepted', 'dismissed')[number % 2]}." in seen
            assert seen.count("A confirm dialog said") == 1
            assert f"{('true', 'false')[number % 2]} {number}" in seen
            assert saved == (f"{number}.txt",)
            assert [host for host in range(16) if f"n{host}.test" in state] == [number]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{number}.zip" for number in range(16))


def test_killed_browser_affects_only_its_own_sessions(sharing: BrowserEngine, web: Web) -> None:
    web.put("http://a.test/", "<p>here</p>")
    before = descendants()
    with BrowserEngine(sharing.config) as engine, ExitStack() as exits:
        sessions = [exits.enter_context(_Catching(engine, web)) for _ in range(ROOM + 1)]
        drivers = [each for each in descendants(but=before) if "node" in name_of(each)]
        assert len(drivers) == 1
        last = sessions[-1].session
        lost = [each for each in sessions if each.session.browser is not last.browser]
        assert len(lost) == ROOM
        first = min(drivers[0].children(), key=lambda each: each.create_time())  # the last session needed another one
        kill([*descendants(first), first])
        wait_until(lambda: lost[0].session.browser is not None and not lost[0].session.browser.is_connected())
        for each in lost:
            with pytest.raises(BrowserLost):
                each.act()
        assert not last.execute(Goto("http://a.test/")).error
        with engine.session(SessionConfig(proxy=web.proxy, deadlines=CALM, own_browser=True)) as apart:
            assert apart.browser is not last.browser
            assert not apart.execute(Goto("http://a.test/")).error
        wait_until(lambda: apart.browser is not None and not apart.browser.is_connected())


class _Catching:
    """A session whose own block catches its errors, as a trial's does."""

    def __init__(self, engine: BrowserEngine, web: Web) -> None:
        self._open = engine.session(SessionConfig(proxy=web.proxy, deadlines=CALM))

    def __enter__(self) -> _Catching:
        self.session = self._open.__enter__()
        self._over = False
        return self

    def act(self) -> None:
        try:
            self.session.execute(Goto("http://a.test/"))
        except BaseException as error:
            self._over = True
            self._open.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(self, *exc_info: object) -> None:
        if not self._over:
            self._open.__exit__(None, None, None)
