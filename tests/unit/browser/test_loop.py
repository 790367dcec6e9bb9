"""The browser thread: calls that are cut off before they start leave no coroutine unawaited."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.loop import LoopThread
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserError


@pytest.fixture
def nothing_unawaited(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail the test when a coroutine was never awaited."""
    unraisable: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda each: unraisable.append(str(each.exc_value)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
        gc.collect()
    assert not [each for each in unraisable if "never awaited" in each]


async def work() -> int:
    return 1


@pytest.mark.usefixtures("nothing_unawaited")
def test_call_during_loop_shutdown_leaves_no_coroutine_unawaited(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = LoopThread("tested")
    started, busy, scheduled = threading.Event(), threading.Event(), threading.Event()
    schedule = asyncio.run_coroutine_threadsafe

    def scheduling(*args: Any) -> concurrent.futures.Future[Any]:
        future = schedule(*args)
        scheduled.set()
        return future

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", scheduling)

    def occupy() -> None:  # one callback: of two, the second could run in the same turn of the loop as the call
        started.set()
        busy.wait(60)

    thread._loop.call_soon_threadsafe(occupy)
    assert started.wait(60)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        called = pool.submit(lambda: thread.call(work(), timeout=60, what="working"))
        assert scheduled.wait(60)
        thread._loop.call_soon_threadsafe(thread._loop.stop)
        busy.set()
        with pytest.raises(concurrent.futures.CancelledError):
            called.result(60)
    thread.stop(60)
    with pytest.raises(BrowserError, match="working: the browser's event loop has ended"):
        thread.call(work(), timeout=60, what="working")


@pytest.mark.usefixtures("nothing_unawaited")
def test_call_on_a_closed_engine_is_an_error() -> None:
    engine = BrowserEngine()
    engine.close()
    session = Session(engine, SessionConfig())
    with pytest.raises(BrowserError, match="has been closed"):
        session._call(work(), 60, "working")
