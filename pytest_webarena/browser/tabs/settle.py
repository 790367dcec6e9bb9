"""Waits until a page has processed an action, by events and with a limit instead of a fixed sleep."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterable

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Request

from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.faults import ActionFailed, ScriptFailed, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.browser.tabs.aborted_requests import ABORTED
from pytest_webarena.browser.tabs.brief_texts import BriefTexts
from pytest_webarena.browser.tabs.foreign_frames import watch_foreign_frames
from pytest_webarena.browser.tabs.navigation import reload
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.browser.tabs.timers import ON_ITS_WAY, PENDING
from pytest_webarena.errors import NetworkChanged
from pytest_webarena.text import shorten

__all__ = ["settle", "wait_for_change"]

_TWO_FRAMES = 0.034
_RESTLESS = 1.0
"""Seconds of continuous changes, with nothing pending, after which a page counts as never settling."""
_RESTLESS_CAP = 0.25
"""Time limit in seconds for a page that is known never to settle."""
_ANSWER = 1.0
"""Seconds by which a frame of another site may answer late, because it has a process of its own."""
_DOCUMENTS = 4
"""Number of successive documents after which a page, such as one that keeps reloading, gets no more time for each."""
_MENDINGS = 3
"""Number of times that a page is reloaded because the machine's network changed."""

# Resolves to [settled, number of changes, still loading, timers pending, address, lines of texts that have vanished].
# Writes nothing into the page. The page is its document, its accessible frames, and all shadow roots.
_WATCH = """(quiet, cap, loaded, since) => new Promise(resolve => {
  const start = performance.now(), pending = PENDING;
  let last = start, changes = 0;
  const observer = new MutationObserver(list => { changes += list.length; last = performance.now(); });
  const all = {subtree: true, childList: true, attributes: true, characterData: true};
  const views = [];
  const add = view => {
    views.push(view);
    observer.observe(view.document, all);
    for (const root of (view[Symbol.for('pytest-webarena')] || {roots: []}).roots) {
      const alive = root.deref();
      if (alive && alive.isConnected) observer.observe(alive, all);
    }
    for (let i = 0; i < Math.min(view.frames.length, 20); i++) {
      try { if (view.frames[i].document) add(view.frames[i]); } catch { /* of another site */ }
    }
  };
  add(window);
  const late = () => {
    const ago = since < 0 ? since : since + performance.now() - start;
    return views.some(view => { try { return pending(view, ago); } catch { return false; } });
  };
  const look = () => {
    const now = performance.now(), loading = document.readyState !== 'complete';
    const waiting = late();
    const rest = !(loading && loaded) && !waiting && now - last >= quiet;
    if (rest || now - start >= cap) {
      observer.disconnect();
      const notes = window[Symbol.for('pytest-webarena')];
      resolve([rest, changes, loading, waiting, document.URL, notes ? notes.brief() : []]);
    } else {
      setTimeout(look, Math.max(8, Math.min(quiet, quiet - (now - last))));
    }
  };
  setTimeout(look, Math.min(quiet, cap));
})""".replace("PENDING", PENDING)

# Resolves at the first change of the page, or after a time; without `look`, it only waits.
_CHANGE = """(cap, look) => new Promise(resolve => {
  const observer = new MutationObserver(() => { observer.disconnect(); resolve(true); });
  if (look) observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  setTimeout(() => { observer.disconnect(); resolve(false); }, cap);
})"""


async def wait_for_change(tab: Tab, seconds: float, *, hang: float) -> None:
    """Wait until the page changes or navigates, at most ``seconds``. For a page that never settles, wait that long."""
    document, limit = tab.document, Deadline(seconds)
    if tab.is_navigating():
        return
    try:
        await tab.evaluate(
            _CHANGE, seconds * 1000, not tab.keeps_changing, seconds=hang + seconds, what="waiting for the page"
        )
    except Unresponsive:
        if not tab.is_navigating():
            raise
    except (ScriptFailed, PlaywrightError):
        while tab.document == document and not tab.is_navigating() and not limit.over:
            await tab.wait_for_activity(limit.left())


async def settle(
    tab: Tab,
    limits: Deadlines,
    deadline: Deadline,
    *,
    before: Iterable[Request] = (),
    brief: bool = False,
    since: float | None = None,
) -> tuple[PageEvent, ...]:
    """Wait until ``tab`` is settled: no navigation pending, the document loaded, its requests answered, no changes.

    Settled means unchanged for ``limits.quiet`` seconds, or for two frames if ``brief``. A navigation may take
    ``limits.navigation`` seconds to begin to arrive; whatever has arrived is awaited at most ``limits.settle`` seconds.
    Pages that never settle (animation, polling, an image that never arrives) reach that limit once; later they get a
    quarter of a second or are not awaited. A page that lost requests because the network of the machine changed is
    reloaded.

    Args:
        tab: The tab.
        limits: Timeouts of the session.
        deadline: Time limit for everything.
        before: Requests that were pending before the action, which are not awaited.
        brief: Whether to wait shortly, after actions that seldom have an effect of their own.
        since: Monotonic time when the action began: short timers and animations that began after it are awaited, too,
            also in frames of other sites; minus infinity: all short timers and animations.

    Returns:
        Events for the agent; those of an action include texts that were shown only for a moment.

    Raises:
        Unresponsive: The page did not answer for ``limits.hang`` seconds. Other exceptions are those of `Tab.run`.
        BrowserError: Reloading the page would undo or repeat something.
    """
    for _ in range(_MENDINGS):
        events = await _rest(tab, limits, deadline, before=before, brief=brief, since=since)
        if not tab.aborted_requests.urls:
            return (*events, *BriefTexts.of(tab.extras).take()) if _is_time(since) else events
        if not tab.aborted_requests.can_reload:
            break
        with contextlib.suppress(ActionFailed):  # the next iteration shows whether it worked
            await reload(tab, limits, deadline)
    cut = shorten(tab.aborted_requests.urls[0], 100)
    raise NetworkChanged(
        f"expected an answer for {cut}, found {ABORTED}: the browser broke it off because the network of this machine "
        "changed (a container started, a VPN connected)"
    )


async def _rest(
    tab: Tab, limits: Deadlines, deadline: Deadline, *, before: Iterable[Request], brief: bool, since: float | None
) -> tuple[PageEvent, ...]:
    """Wait as `settle` does, without handling aborted requests."""
    quiet = _TWO_FRAMES if brief else limits.quiet
    navigation, hang, cap = deadline.left(limits.navigation), deadline.left(limits.hang), limits.settle
    old = set(before)
    arrival_limit, rest_limit = Deadline(navigation), Deadline(cap)
    first = document = tab.document
    while tab.is_navigating() or not rest_limit.over:
        if tab.is_navigating():
            await tab.wait_for_activity(arrival_limit.left())
            if arrival_limit.over:
                return (_give_up(tab, navigation),)
            continue
        if tab.document != document:
            document = tab.document
            rest_limit = Deadline(cap) if document - first < _DOCUMENTS else rest_limit
        limit = rest_limit.left(_RESTLESS_CAP if tab.keeps_changing else _RESTLESS)
        ago = -1 if since is None or tab.keeps_setting_timers else (time.monotonic() - since + ON_ITS_WAY) * 1000
        watch = quiet * 1000, limit * 1000, not tab.never_loads, ago
        try:
            found = tab.evaluate(_WATCH, *watch, seconds=hang + limit, what="waiting for the page")
            if _is_time(since):
                frames = watch_foreign_frames(tab, _WATCH, watch, limit + _ANSWER)
                result, frames_changed = await asyncio.gather(found, frames)
            else:
                result, frames_changed = await found, False
        except Unresponsive:
            if not tab.is_navigating():
                raise
            continue  # the browser delays calls while another document is loading
        except (ScriptFailed, PlaywrightError):
            if tab.document == document and not tab.is_navigating():
                return ()  # a document that can't be watched, so there is nothing to wait for
            continue
        if tab.is_navigating() or tab.document != document:
            continue
        is_calm, changes, loading, ticking, address, texts = result
        tab.note_address(address)
        BriefTexts.of(tab.extras).lines = texts
        pending = [
            key for request, key in tab.inflight.items() if request not in old and key not in tab.endless_requests
        ]
        if is_calm and not pending and not (frames_changed and not rest_limit.over):
            return ()
        is_busy = pending or ticking or (loading and not tab.never_loads)
        if is_busy and not rest_limit.over:
            if pending:
                await tab.wait_for_activity(rest_limit.left())
            continue
        # Remember what was awaited in vain, so as not to wait for it again.
        tab.keeps_changing = tab.keeps_changing or changes > 0
        tab.never_loads = tab.never_loads or loading
        tab.keeps_setting_timers = tab.keeps_setting_timers or ticking
        tab.endless_requests.update(pending)
        return ()
    tab.endless_requests.update(key for request, key in tab.inflight.items() if request not in old)
    return ()


def _is_time(since: float | None) -> bool:
    """Return whether it is the time of an action."""
    return since is not None and since > -math.inf


def _give_up(tab: Tab, seconds: float) -> PageEvent:
    """Stop a navigation as a user would, because the browser blocks access to the page while it is pending."""
    url = tab.destination
    tab.stop_loading()
    text = f"{shorten(url, 100)} did not answer within {seconds:.3g} s; loading was stopped."
    return PageEvent(kind="loading", text=text, url=url)
