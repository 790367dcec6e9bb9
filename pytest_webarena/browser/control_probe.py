"""Opens pages and uses those of their controls that only scripts know, without writing anything to the site."""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Route

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.faults import DialogBlocks, PageCrashed, ScriptFailed, TabClosed, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.reading.own_pages import OwnPages, open_own_pages
from pytest_webarena.browser.tabs.navigation import load
from pytest_webarena.browser.tabs.settle import settle
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.errors import BrowserError

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine

__all__ = ["ControlProbe", "PageView", "ProbedPage"]

_SCRIPT = Path(__file__).with_suffix(".js").read_text()
_KEEP_LISTENERS = """(() => {
  const key = Symbol.for('pytest-webarena-listeners'), known = window[key] = new WeakMap();
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if (this instanceof Element) known.set(this, (known.get(this) || new Set()).add(type));
    return add.call(this, type, ...rest);
  };
})()"""
_READS = frozenset(("GET", "HEAD", "OPTIONS"))
_MOST_USES = 60
"""Maximum number of controls used on one page."""
_MOST_SECONDS = 60.0
_DEEPEST = 4
"""Maximum number of controls used one after the other."""
_MOST_REPEATED = 25
"""Maximum number of times that one control is used while it shows more, such as "Show more"."""
_FRUITLESS = 3
"""Number of pages of one kind on which a control shows nothing, after which it is not used on others."""
_TRIES = 2
"""Number of tries at a page that fails, which a busy machine may cause."""
_FAULTS = (PlaywrightError, ScriptFailed, DialogBlocks, TabClosed, PageCrashed, Unresponsive)


@dataclass(frozen=True, slots=True)
class PageView:
    """What a page shows at one moment."""

    url: str
    html: str
    size: int = 0
    """Number of elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedPage:
    """What a page shows at first, and after each of its controls was used."""

    views: tuple[PageView, ...] = ()
    """Different views, the first one first; none if the page can't be opened."""
    untried: tuple[str, ...] = ()
    """Controls that were not used, because there are too many or they failed."""
    fields: tuple[str, ...] = ()
    """Keys of fields that only scripts read."""
    requests: tuple[str, ...] = ()
    """Addresses from which scripts requested data."""


class ControlProbe:
    """A browser context of its own whose requests only read. Thread-safe, but pages wait for each other."""

    def __init__(self, engine: BrowserEngine, config: SessionConfig, state: Mapping[str, Any] | None) -> None:
        self._engine = engine
        self._config = config
        self._state = state or {}
        self._limits = config.deadlines
        self._pages: OwnPages | None = None
        self._fruitless: Counter[tuple[str, str]] = Counter()
        self._requests: list[str] = []

    def look(self, url: str, kind: str) -> ProbedPage:
        """Open a page, and use its controls. ``kind`` is what pages of its kind share. Controls that showed nothing on
        several pages of the kind are not used. Raises `BrowserError`."""
        limit = _MOST_SECONDS + 2 * _TRIES * self._limits.step + self._limits.context
        return self._engine.run(self._look(url, kind), timeout=limit, what="trying the controls of a page")

    def type(self, url: str, field: str, word: str) -> PageView | None:
        """Open a page, type a word into one of its fields, and return what it shows then; None if that fails."""
        limit = 2 * _TRIES * self._limits.step + self._limits.context
        return self._engine.run(self._type(url, field, word), timeout=limit, what="typing into a field")

    def close(self) -> None:
        """Close the context."""
        pages, self._pages = self._pages, None
        if pages is not None:
            with contextlib.suppress(BrowserError):
                self._engine.run(pages.close(), timeout=2 * self._limits.close, what="closing a browser context")

    async def _open(self, url: str) -> Tab:
        if self._pages is None:
            self._pages = await open_own_pages(self._engine, self._config, self._state)
            await self._pages.context.add_init_script(_KEEP_LISTENERS)
            await self._pages.context.route("**/*", self._let_read)
        with contextlib.suppress(BrowserError):
            await self._pages.tabs.close_all()
        tab = await self._pages.tabs.open()
        deadline = Deadline(self._limits.step)
        await load(tab, url, deadline.left(self._limits.navigation))
        await settle(tab, self._limits, deadline)
        return tab

    async def _look(self, url: str, kind: str) -> ProbedPage:
        deadline = Deadline(_MOST_SECONDS)
        self._requests.clear()
        for _ in range(_TRIES):
            with contextlib.suppress(*_FAULTS):
                tab = await self._open(url)
                first = await self._views(tab)
                controls = await self._ask(tab, does="list")
                break
        else:
            return ProbedPage()
        search = _Search(first, controls, lambda key: self._fruitless[kind, key] < _FRUITLESS)
        reached: tuple[str, ...] | None = ()
        for path in search:
            if search.uses >= _MOST_USES or deadline.over:
                search.give_up()
                break
            try:
                keys = path[-1:]
                if path[:-1] != reached:
                    tab, keys = await self._open(url), path
                reached = None
                for key in keys:
                    search.uses += 1
                    if not await self._ask(tab, does="use", key=key):
                        raise ScriptFailed("the control has disappeared")
                    await settle(tab, self._limits, Deadline(self._limits.step))
                tab = self._pages.tabs.current if self._pages is not None else tab
                views = await self._views(tab)
                following = await self._ask(tab, does="list") if _is_same(url, views[0].url) else []
            except _FAULTS:
                search.untried.append(path[-1])
                continue
            reached = () if views == first else path
            if search.note(path, views, following):
                self._fruitless[kind, path[-1]] = -_MOST_USES  # worth a try on every page
            else:
                self._fruitless[kind, path[-1]] += 1
        return replace(search.result(), requests=tuple(self._requests))

    async def _type(self, url: str, field: str, word: str) -> PageView | None:
        for _ in range(_TRIES):
            with contextlib.suppress(*_FAULTS):
                tab = await self._open(url)
                if await self._ask(tab, does="use", key=field, word=word):
                    await settle(tab, self._limits, Deadline(self._limits.step))
                    return (await self._views(tab))[0]
        return None

    async def _let_read(self, route: Route) -> None:
        """Let a request pass if it only reads."""
        request = route.request
        if request.resource_type in ("fetch", "xhr", "eventsource"):
            self._requests.append(request.url)
        with contextlib.suppress(PlaywrightError):  # the page may be closed
            await (route.continue_() if request.method in _READS else route.abort())

    async def _views(self, tab: Tab) -> tuple[PageView, ...]:
        found = await self._ask(tab, does="read")
        return tuple(PageView(found["url"], html, found["size"]) for html in (found["html"], *found["frames"]))

    async def _ask(self, tab: Tab, **request: str) -> Any:
        return await tab.evaluate(_SCRIPT, request, seconds=self._limits.hang, what="reading a page")


class _Search:
    """Which controls are used next on one page, in breadth."""

    def __init__(self, first: tuple[PageView, ...], controls: Sequence[Mapping[str, str]], is_due: Any) -> None:
        self.uses = 0
        self.untried: list[str] = []
        self._is_due = is_due
        self._views: dict[PageView, None] = dict.fromkeys(first)
        self._largest = max((view.size for view in first), default=0)
        self._known: set[str] = set()
        self._fields: dict[str, None] = {}
        self._paths: deque[tuple[str, ...]] = deque()
        self._add((), controls)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        while self._paths:
            yield self._paths.popleft()

    def note(self, path: tuple[str, ...], views: tuple[PageView, ...], controls: Sequence[Mapping[str, str]]) -> bool:
        """Note what was shown after a path; return whether it was new."""
        fresh = [view for view in views if view not in self._views]
        self._views |= dict.fromkeys(fresh)
        if not fresh:
            return False
        if len(set(path)) < _DEEPEST:
            self._add(path, controls)
        elif any(each["key"] not in self._known for each in controls):
            self.untried.append(path[-1])
        grows, self._largest = fresh[0].size > self._largest, max(self._largest, fresh[0].size)
        if grows and any(each["key"] == path[-1] for each in controls):
            if path.count(path[-1]) < _MOST_REPEATED:
                self._paths.appendleft((*path, path[-1]))
            else:
                self.untried.append(path[-1])
        return True

    def give_up(self) -> None:
        """Note that the rest is not tried."""
        self.untried += [path[-1] for path in self._paths] or ["more controls"]

    def result(self) -> ProbedPage:
        """Returns everything that was seen."""
        return ProbedPage(views=tuple(self._views), untried=tuple(self.untried), fields=tuple(self._fields))

    def _add(self, path: tuple[str, ...], controls: Sequence[Mapping[str, str]]) -> None:
        for each in controls:
            key = each["key"]
            if key in self._known or not self._is_due(key):
                continue
            self._known.add(key)
            if each["use"] == "type":
                self._fields[key] = None
            else:
                self._paths.append((*path, key))


def _is_same(one: str, other: str) -> bool:
    return one.partition("#")[0] == other.partition("#")[0]
