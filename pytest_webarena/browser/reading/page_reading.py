"""Reads pages for checks: the current tab as it is, or an address in a separate page of the harness."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.faults import DialogBlocks, PageCrashed, ScriptFailed, Unreadable, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import first_line, is_navigation_error, net_error, writable
from pytest_webarena.browser.reading.inserted_text import INSERTED_LINES
from pytest_webarena.browser.reading.isolated import evaluate_isolated
from pytest_webarena.browser.reading.lazy_content import DRAWN, load_frames, unloaded_frame
from pytest_webarena.browser.reading.matches import TEXT_OF, texts_of
from pytest_webarena.browser.reading.page_resources import PageResources, doubt
from pytest_webarena.browser.reports import Doubt, PageEvent, PageReading
from pytest_webarena.browser.tabs.address_guard import RefusedAddress, resolve_address
from pytest_webarena.browser.tabs.navigation import load
from pytest_webarena.browser.tabs.settle import settle
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.browser.tabs.tabs import Tabs
from pytest_webarena.errors import BrowserError, SiteError, TaskError, TooLarge
from pytest_webarena.evidence import LONGEST_PAGE
from pytest_webarena.text import shorten

__all__ = ["UNREADABLE", "read_address", "read_tab"]

_TRIES = 2
"""Number of times that a page is opened if it can't be read, or navigates meanwhile."""
_READINGS = 5
"""Number of times that the page in a new tab is read until it was one page from start to end."""
_KEEPS_NAVIGATING = "it keeps navigating"
UNREADABLE = "its document can't be read"
_PAGES = 3
"""Maximum number of pages that a page may lead to automatically; the last one is read as it is."""
_FRAMES = 3
"""Maximum depth of lazily loaded frames in others."""
_LATE = 1.0
"""Additional seconds for a new, settled page to show a first match."""

_NO_PAGE = re.compile(r"Download is starting|ERR_ABORTED|NS_BINDING_ABORTED")
"""Browser errors for an answer without anything to show, so that the address is not a page's."""

_NOTHING_TO_SHOW = "it is a download or an answer without content (state: {api: …} reads such answers)"

# Text that is rendered, as far as scripts can read it, including open shadow roots and frames of the same site, after
# the text around them, and the lines with text that CSS inserts. For elements that are not rendered, `innerText` would
# return all of their text.
_PAGE_TEXT = (
    "() => {"
    + DRAWN
    + TEXT_OF
    + INSERTED_LINES
    + r"""
  const texts = [];
  const inner = root => {
    for (const el of root.querySelectorAll('*')) {
      const shadow = el.shadowRoot;
      if (shadow) {
        for (const child of shadow.childNodes) {
          if (child.nodeType === 1) {
            if (child.checkVisibility()) texts.push(innerText(child) ?? child.textContent);
          } else if (child.nodeType === 3 && el.checkVisibility()) {
            texts.push(child.data);
          }
        }
        inner(shadow);
      } else {
        const inside = framed(el);
        if (inside && el.getClientRects().length) page(inside);
      }
    }
  };
  const page = document => {
    texts.push(document.body ? document.body.innerText : document.documentElement?.textContent);
    inner(document);
  };
  return drawn(() => {
    page(document);
    const own = texts.join('\n');
    texts.push(...insertedLines(roots(document)).filter(line => !own.includes(line)));
    return texts.filter(text => text && text.trim()).join('\n');
  });
}"""
)

_REFRESH = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*[;,]\s*(?:url\s*=)?\s*\S", re.IGNORECASE)
"""Value of a refresh that leads elsewhere; a page that only reloads itself does not match."""

# Returns whether a page can change itself, by scripts or by frames that may have some, and its refresh targets.
_MOVING = """() => [
  !!document.querySelector('script, iframe, frame, object, embed, [onload], [onerror]')
    || performance.getEntriesByType('resource').some(entry => entry.initiatorType === 'script'),
  [...document.querySelectorAll('meta[http-equiv=refresh i]')].map(meta => meta.content),
]"""

# `(0, eval)` accepts an expression or statements, as the console of the developer tools does.
_SCRIPT = (
    "async source => {"
    + DRAWN
    + TEXT_OF
    + """
  const plain = value => typeof value !== 'object' || value === null ? value
    : value instanceof Node ? textOf(value)
    : value instanceof NodeList || value instanceof HTMLCollection ? [...value].map(textOf)
    : Array.isArray(value) ? value.map(plain) : value;
  const shown = read => {
    let begun = false;
    try {
      return drawn(() => { begun = true; return read(); });
    } catch (error) {
      if (begun) throw error;
      return read();  // the page has replaced what `drawn` needs; the expression may do without
    }
  };
  const promise = shown(() => (0, eval)(source));
  const found = await promise;
  const value = shown(() => plain(found));
  return value === undefined ? null : value;
}"""
)


async def read_address(
    tabs: Tabs,
    url: str,
    base_url: str,
    locate: str | None,
    prepare: Sequence[str],
    limits: Deadlines,
    *,
    late: bool,
    keep: bool = False,
) -> PageReading:
    """Open ``url``, relative to ``base_url``, in a new page among ``tabs``, read it, and close it with its pop-ups.

    A page that can't be read twice, in a browser that can show others, is reported as such, like a page of the agent,
    because people who can write to a site's pages can cause that. So is an address without a page.

    ``late``: see `read_tab`. ``keep``: the page stays open until the next one.
    """
    try:
        url = resolve_address(url, base_url)
    except RefusedAddress as error:
        raise TaskError(f"a check opens a page: {error}") from error
    # Before its own requests are answered, a page neither proves what is there nor what is missing.
    patient = replace(limits, settle=max(limits.settle, limits.answers))
    for _ in range(_TRIES):
        try:
            return await _opened(tabs, url, locate, prepare, patient, Deadline(limits.step), late=late, keep=keep)
        except PlaywrightError as error:
            if not is_navigation_error(error):
                raise
            reason = _KEEPS_NAVIGATING
        except DialogBlocks:
            reason = "it kept opening dialogs"
        except Unresponsive as error:
            reason = str(error)
        except PageCrashed as error:
            reason = str(error)
    await _require_browser(tabs, url, reason, limits)
    return PageReading(url=url, status=None, texts=(), hidden=reason)


async def _require_browser(tabs: Tabs, url: str, reason: str, limits: Deadlines) -> None:
    """Raise `BrowserError` if the browser can't even show an empty page, so that the page is not the cause."""
    tab = await tabs.open()
    try:
        await tab.evaluate("() => 1", seconds=limits.hang, what="asking an empty page")
    except Unresponsive as error:
        raise BrowserError(f"a check reads {url}: {reason}; nor does an empty page answer") from error
    finally:
        await _close(tabs)


async def _opened(
    tabs: Tabs,
    url: str,
    locate: str | None,
    prepare: Sequence[str],
    limits: Deadlines,
    deadline: Deadline,
    *,
    late: bool,
    keep: bool,
) -> PageReading:
    if keep:
        await _close(tabs)
    tab = await tabs.open()
    parts = PageResources(tab)
    try:
        seconds = deadline.left(limits.navigation)
        try:
            response = await load(tab, url, seconds)
        except (PlaywrightError, Unresponsive) as error:
            reason = net_error(error) or shorten(first_line(error))
            if _NO_PAGE.search(str(error)):
                return PageReading(url=url, status=None, texts=(), error=_NOTHING_TO_SHOW)
            raise SiteError(f"a check opens {url}: expected a page within {seconds:.3g} s, found: {reason}") from error
        await settle(tab, limits, deadline)
        status = response.status if response is not None else None
        parts.exclude(response)
        for _ in range(_FRAMES):
            if not await load_frames(tab, seconds=deadline.left(limits.hang)):
                break
            await settle(tab, limits, deadline)
        refresh = response.headers.get("refresh", "") if response is not None else ""
        reading = await read_tab(
            tab, locate, prepare, limits, deadline, status=status, wait=_LATE, late=late, refresh=refresh
        )
        if late:
            waiting, doubts = reading.waiting or parts.first, (*reading.doubts, *parts.doubts)
            reading = replace(reading, waiting=waiting, doubts=doubts, refused_requests=parts.refused_requests)
        return reading
    except Unreadable as failure:
        raise SiteError(f"a check opens {url}: {UNREADABLE}: {failure}") from failure
    finally:
        if not keep:
            await _close(tabs)


async def _close(tabs: Tabs) -> None:
    """Close all tabs. Those that hang end with their context."""
    with contextlib.suppress(BrowserError):
        await tabs.close_all()


async def read_tab(
    tab: Tab,
    locate: str | None,
    prepare: Sequence[str],
    limits: Deadlines,
    deadline: Deadline,
    *,
    status: int | None = None,
    wait: float = 0.0,
    late: bool = False,
    refresh: str = "",
) -> PageReading:
    """Read ``tab``. Nothing is changed except by ``prepare``; the first preparation that throws is the last.

    ``late``: for forbidden content. A page that runs scripts or leads elsewhere automatically (also by the header in
    ``refresh``) gets a moment more to show it, and `PageReading.waiting` says what it had not received then.

    Raises:
        DialogBlocks: A dialog hides the page.
        Unresponsive: The page does not answer.
        Unreadable: The page can't be read.
    """
    if tab.dialogs.open is not None:
        raise DialogBlocks
    seconds = deadline.left(limits.hang)
    error = invalid = ""
    pending = _PendingContent()
    try:
        if late:
            pending = await _wait_for_late_content(tab, limits, deadline, refresh)
        for source in prepare:
            try:
                await tab.evaluate(_SCRIPT, source, seconds=seconds, what="preparing a page for a check")
            except ScriptFailed as failure:
                error = f"preparation {shorten(source)!r}: {failure}"
                invalid = await _syntax_error(tab, source, failure, seconds)
                break
        if prepare:
            await settle(tab, limits, deadline)
            if late:
                pending = await _wait_for_late_content(tab, limits, deadline, "")
        for _ in range(_READINGS):
            if late:
                pending = await _with_frames(tab, pending, seconds)
            document = tab.document
            reading = await _read(tab, locate, seconds, wait)
            if not wait or (tab.document == document and not tab.is_navigating()):
                break
            # The reading is of a page that was about to navigate, or of parts of two.
            if late:
                pending = await _wait_for_late_content(tab, limits, deadline, "")
            else:
                await settle(tab, limits, deadline)
        else:
            reading = PageReading(url=tab.url, status=None, texts=(), hidden=_KEEPS_NAVIGATING)
    except Unreadable:
        raise
    except ScriptFailed as failure:
        reading, error = PageReading(url=tab.url, status=None, texts=()), error or str(failure)
        if locate is not None and locate.startswith("js="):
            invalid = invalid or await _syntax_error(tab, locate.removeprefix("js="), failure, seconds)
    if (size := sum(map(len, reading.texts))) > LONGEST_PAGE:
        raise TooLarge(f"expected at most {LONGEST_PAGE:,} characters to judge on {tab.url}, found {size:,}")
    return replace(reading, status=status, error=error, invalid=invalid, waiting=pending.waiting, doubts=pending.doubts)


async def _syntax_error(tab: Tab, source: str, failure: ScriptFailed, seconds: float) -> str:
    """Return why ``source``, which threw ``failure``, is not JavaScript; empty if it is.

    A page can throw a `SyntaxError` as well, so the source is parsed once more without running it.
    """
    if not str(failure).startswith("SyntaxError"):
        return ""
    unrun = f"() => {{ if (0) {{ class Unrun {{ static {{\n{source}\n}} }} }} }}"  # `return` is not valid there
    try:
        await tab.evaluate(unrun, seconds=seconds, what="parsing a script of a check")
    except ScriptFailed:
        return f"expected JavaScript, found {shorten(source)!r}: {failure}"
    return ""


async def _wait_for_late_content(tab: Tab, limits: Deadlines, deadline: Deadline, refresh: str) -> _PendingContent:
    """Wait for late content of a settled page, and of each page that it leads to automatically; return what is missing
    afterwards."""
    for _ in range(_PAGES):
        document = tab.document
        events = await settle(tab, limits, deadline)
        if pending := _pending_content(tab, events):
            return pending
        moving, metas = await evaluate_isolated(
            tab, _MOVING, seconds=deadline.left(limits.hang), what="looking for scripts"
        )
        delays = [float(found[1]) for found in map(_REFRESH.match, (refresh, *metas)) if found]
        moment = max(
            [limits.second_look] * bool(moving) + [each for each in delays if each <= limits.answers], default=0
        )
        if not moment:
            return _PendingContent()
        await tab.run(asyncio.sleep(deadline.left(moment)), moment + limits.hang, "giving a page time")
        events = await settle(tab, limits, deadline)
        if (pending := _pending_content(tab, events)) or tab.document == document:
            return pending
        refresh = ""
    return _PendingContent()


async def _with_frames(tab: Tab, pending: _PendingContent, seconds: float) -> _PendingContent:
    """Return ``pending``, or a frame that has not been loaded, which is a certain gap."""
    if pending.waiting or not (frame := await unloaded_frame(tab, seconds=seconds)):
        return pending
    return _PendingContent(
        waiting=f"has not loaded its frame {shorten(frame, 100)}, which waits until somebody scrolls to it"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingContent:
    """Data that a page has requested and not received: certain and possible gaps."""

    waiting: str = ""
    doubts: tuple[Doubt, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.waiting or self.doubts)


def _pending_content(tab: Tab, events: Sequence[PageEvent]) -> _PendingContent:
    """Return what was awaited in vain. Requests that are pending by chance, as of pages that poll, do not count."""
    for event in events:
        if event.kind == "loading":
            return _PendingContent(waiting=f"was on its way to {shorten(event.url, 100)}, which did not answer")
    outlasting = (request for request, key in tab.inflight.items() if key in tab.endless_requests)
    return _PendingContent(doubts=tuple(doubt(each, "waiting", begun=each in tab.answering) for each in outlasting))


async def _read(tab: Tab, locate: str | None, seconds: float, wait: float) -> PageReading:
    if locate is None:
        text = await evaluate_isolated(tab, _PAGE_TEXT, seconds=seconds, what="reading a page")
        html = await tab.run(tab.page.content(), seconds, "reading a page")
        return PageReading(url=tab.url, status=None, texts=(_as_text(text or ""),), html=writable(html))
    if locate.startswith("js="):
        value = await tab.evaluate(_SCRIPT, locate.removeprefix("js="), seconds=seconds, what="reading a page")
        values = value if isinstance(value, list) else [] if value is None else [value]
        return PageReading(url=tab.url, status=None, texts=tuple(map(_as_text, values)), value=value)
    matches = tab.page.locator(locate)
    try:
        texts = []
        with contextlib.suppress(PlaywrightError) if wait else contextlib.nullcontext():  # the wait below retries
            texts = await texts_of(tab, locate, seconds)
        if wait and not texts:  # only then, because waiting costs more than reading
            with contextlib.suppress(PlaywrightError):
                first = matches.first.wait_for(state="attached", timeout=wait * 1000)
                await tab.run(first, seconds + wait, "reading a page")
            texts = await texts_of(tab, locate, seconds)
    except PlaywrightError as error:
        if is_navigation_error(error):
            raise
        raise TaskError(
            f"expected a Playwright selector, found {locate!r}: {shorten(first_line(error), 300)}"
        ) from error
    return PageReading(url=tab.url, status=None, texts=tuple(map(_as_text, texts)))


def _as_text(value: object) -> str:
    """Convert to text as JavaScript would."""
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "null" if value is None else str(value)
