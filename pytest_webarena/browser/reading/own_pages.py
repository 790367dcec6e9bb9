"""A separate browser context for pages that checks open, with the agent's stored data and without the agent's actions.

Cookies, local storage and IndexedDB are copied. Workers, caches, routes and scripts of the agent's context are not.
Data of one tab, such as its session storage, is not copied either, because a new tab of the agent would not have it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playwright.async_api import BrowserContext, Response, Route
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.context import context_options, open_context
from pytest_webarena.browser.faults import PageCrashed, TabClosed
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.tabs.tabs import Tabs
from pytest_webarena.browser.tabs.timers import KEEP_NOTE
from pytest_webarena.errors import BrowserError

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine

__all__ = ["OwnPages", "open_own_pages", "read_storage_state"]

State = Mapping[str, Any]
_NAME = ("name", "domain", "path")
"""Keys that identify a cookie."""


class OwnPages:
    """The context and its tabs. Its events are not reported."""

    def __init__(self, engine: BrowserEngine, context: BrowserContext, config: SessionConfig) -> None:
        self._engine = engine
        self.context = context
        self._limits = config.deadlines
        self.tabs = Tabs(context, config, lambda event: None, lambda download: None)
        self.received: list[str] = []
        """Values of the header ``Set-Cookie`` in responses so far. The next response may replace a cookie, so that the
        storage state never has it."""
        self.bodies: list[str] = []
        """Bodies of pages and of responses to their scripts."""
        self._reads: set[asyncio.Task[None]] = set()

    def keep_received(self) -> None:
        """Keep from now on what responses bring: `received` and `bodies`."""
        self.context.on("response", self._read_later)

    def _read_later(self, response: Response) -> None:
        task = asyncio.ensure_future(self._read(response))
        self._reads.add(task)
        task.add_done_callback(self._reads.discard)

    async def _read(self, response: Response) -> None:
        with contextlib.suppress(PlaywrightError, UnicodeDecodeError):  # its page is closed, or it is no text
            self.received += await response.header_values("set-cookie")
            if response.request.resource_type in ("document", "fetch", "xhr"):
                self.bodies.append(await response.text())

    async def finish_reads(self) -> None:
        """Wait until `received` has the headers of all responses."""
        if reads := set(self._reads):
            _, late = await asyncio.wait(reads, timeout=self._limits.hang)
            for task in late:
                task.cancel()

    async def take(self, cookies: Sequence[Mapping[str, Any]]) -> None:
        """Replace all cookies by these."""
        present: list[dict[str, Any]] = [{**cookie} for cookie in await self.context.cookies()]
        names = {tuple(cookie[part] for part in _NAME) for cookie in cookies}
        for cookie in present:
            if tuple(cookie[part] for part in _NAME) not in names:
                await self.context.clear_cookies(**{part: cookie[part] for part in _NAME})
        for wanted in cookies:
            if wanted not in present:
                with contextlib.suppress(PlaywrightError):  # for cookies that the browser refuses
                    await self.context.add_cookies([{**wanted}])  # type: ignore[typeddict-item]

    async def leave(self) -> dict[str, Any]:
        """Close the pages; return the storage state.

        Each answer may set a new session id and end the old one, and pages may keep sending requests. So storage is
        read in the open pages, which needs no further page, and cookies are read when no request is pending.
        """
        state: dict[str, Any] = {}
        with contextlib.suppress(PlaywrightError, TimeoutError):  # a page that hangs is closed without its storage
            async with asyncio.timeout(self._limits.hang):
                state = {**await self.context.storage_state()}
                await self.context.route("**/*", _refuse)
                await self._wait_for_answers(Deadline(self._limits.settle))
        with contextlib.suppress(BrowserError):
            await self.tabs.close_all()
        await self.context.unroute("**/*", _refuse)
        if not state:
            return {**await self.context.storage_state()}
        return {**state, "cookies": await self.context.cookies()}

    async def _wait_for_answers(self, limit: Deadline) -> None:
        """Wait for pending answers, because one that is cut off may have the valid session id. Polls are awaited for at
        most ``limit``."""
        for tab in self.tabs:
            requests = {*tab.inflight, *tab.pending_images}
            with contextlib.suppress(BrowserError, PageCrashed, TabClosed):
                while not limit.over and not tab.answering.issuperset(requests & {*tab.inflight, *tab.pending_images}):
                    await tab.wait_for_activity(limit.left(0.1))

    async def close(self) -> None:
        """Close the context; if that fails, abandon its browser."""
        try:
            async with asyncio.timeout(self._limits.close):
                await self.context.close()
        except (PlaywrightError, TimeoutError):
            if self.context.browser is not None:
                await self._engine.discard(self.context.browser)


async def _refuse(route: Route) -> None:
    with contextlib.suppress(PlaywrightError):  # the page may be closed
        await route.abort()


async def read_storage_state(context: BrowserContext, before: State, *, seconds: float) -> dict[str, Any]:
    """Return the storage state of ``context``; the storage in ``before`` if pages do not answer within ``seconds``."""
    for databases in (True, False):  # databases may contain values that can't be copied
        try:
            async with asyncio.timeout(seconds):
                state: State = await context.storage_state(indexed_db=databases)
        except TimeoutError:
            break
        except PlaywrightError:
            continue
        return dict(state)
    try:
        async with asyncio.timeout(seconds):
            return {"cookies": await context.cookies(), "origins": before.get("origins", [])}
    except TimeoutError as error:
        raise BrowserError(f"the browser did not return its cookies within {seconds:g} s") from error


async def open_own_pages(engine: BrowserEngine, config: SessionConfig, state: State) -> OwnPages:
    """Open a new context with ``state`` and the harness's own proxy, in the worker's browser.

    An agent that drives its own browser can't reach anything here.
    """
    context_args = {key: value for key, value in config.context_args.items() if not key.startswith("record_")}
    own = replace(
        config,
        proxy=config.harness_proxy or config.proxy,
        context_args={**context_args, "service_workers": "block"},
        dialogs="accept",
        trace=None,
        own_browser=False,
    )
    context = await _open(engine, own, state)
    await context.add_init_script(KEEP_NOTE)
    return OwnPages(engine, context, own)


async def _open(engine: BrowserEngine, config: SessionConfig, state: State) -> BrowserContext:
    """Open a context with as much of ``state`` as can be restored, as an agent's page may have stored other data."""
    remaining: State = state
    for remaining in _reduced_states(state):
        if not remaining["origins"]:
            break
        try:
            async with engine.opening() as browser, asyncio.timeout(config.deadlines.context):
                return await browser.new_context(**context_options(replace(config, storage_state=remaining)))
        except (PlaywrightError, TimeoutError):
            continue
    return await open_context(engine, replace(config, storage_state=remaining))


def _reduced_states(state: State) -> Iterator[State]:
    origins = state.get("origins", ())
    yield {"cookies": state.get("cookies", ()), "origins": origins}
    bare = [{"origin": each["origin"], "localStorage": each.get("localStorage", [])} for each in origins]
    yield {"cookies": state.get("cookies", ()), "origins": bare}
    yield {"cookies": state.get("cookies", ()), "origins": []}
