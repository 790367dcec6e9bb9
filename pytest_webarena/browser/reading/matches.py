"""Texts of elements that match a Playwright selector, safe from built-in functions that a page has replaced."""

from __future__ import annotations

import itertools
import json
import secrets
from typing import Any
from weakref import WeakKeyDictionary

from playwright.async_api import BrowserContext, ElementHandle, Playwright
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.faults import Unreadable
from pytest_webarena.browser.reading.lazy_content import DRAWN
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["TEXT_OF", "register_reader", "texts_of"]

# `innerText` is read by the prototype's getter, because a form's own property may be a field of that name.
TEXT_OF = r"""
const innerText = el => {
  if (typeof el.innerText === 'string' || el.innerText === undefined) return el.innerText;
  return Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'innerText').get.call(el);
};
const textOf = el => {
  if (!(el instanceof Element)) return el.textContent || '';
  if (el.localName === 'select') return [...el.selectedOptions].map(o => o.label).join(', ');
  if (['input', 'textarea'].includes(el.localName) && !['submit', 'button', 'reset', 'image'].includes(el.type)) {
    return ['checkbox', 'radio'].includes(el.type) ? String(el.checked) : el.value;
  }
  return el.localName === 'input' ? el.value : innerText(el) ?? el.textContent ?? '';
};
"""

_TEXTS = "elements => {" + DRAWN + TEXT_OF + "return drawn(() => elements.map(textOf)); }"

_ENGINES: WeakKeyDictionary[BrowserContext, str] = WeakKeyDictionary()
"""Names of the engine in contexts of browsers that Playwright connected to."""
_ENGINE = "webarena-texts"
_ATTEMPTS = 5
"""Number of attempts to register a name, which fails if another context closes meanwhile."""
_numbers = itertools.count(1)
# Playwright runs selector engines in its own world, but not functions passed to `evaluate_all`. As the last part of a
# selector, this engine is called with each match. All calls return one element outside of the document, which receives
# the texts of all matches. They are read at the end of the search, before any other script runs.
_SCRIPT = (
    "({ query(root, name) { return this.queryAll(root, name)[0]; }, queryAll(root, name) {"
    + DRAWN
    + TEXT_OF
    + r"""
  const searches = this.searches ??= new Map();
  if (!searches.has(name)) {
    const found = new Set(), holder = (root.ownerDocument ?? root).createElement('pre');
    searches.set(name, {found, holder});
    Promise.resolve().then(() => {
      searches.delete(name);
      try {
        holder.textContent = name + JSON.stringify({texts: drawn(() => [...found].map(textOf))});
      } catch (error) {
        holder.textContent = name + JSON.stringify({error: String(error)});
      }
    });
  }
  const {found, holder} = searches.get(name);
  found.add(root);
  return [holder];
} })"""
)


async def register_reader(playwright: Playwright, connected: BrowserContext | None = None) -> None:
    """Register the engine that reads texts with a new driver; contexts that are opened afterwards have it.

    ``connected``: a context that existed when Playwright connected to its browser. It only has engines that are
    registered afterwards, and no name can be registered twice. So each such context adds another script to its driver.
    """
    if connected is None:
        await playwright.selectors.register(_ENGINE, script=_SCRIPT, content_script=True)
        return
    for attempt in range(1, _ATTEMPTS + 1):
        name = f"{_ENGINE}-{next(_numbers)}"
        try:
            await playwright.selectors.register(name, script=_SCRIPT, content_script=True)
        except PlaywrightError:
            if attempt == _ATTEMPTS:
                raise
        else:
            _ENGINES[connected] = name
            return


async def texts_of(tab: Tab, locate: str, seconds: float) -> list[Any]:
    """Return the visible text of each match of ``locate``, or a field's value. Raises as `Tab.run`; `Unreadable` if the
    texts of matches can't be read."""
    what = f"reading {locate!r}"
    if not tab.is_observable:  # the engine is registered for Chromium only
        texts: list[Any] = await tab.run(tab.page.locator(locate).evaluate_all(_TEXTS), seconds, what)
        return texts
    part = f"{_ENGINES.get(tab.page.context, _ENGINE)}={secrets.token_hex(8)}"
    try:
        holder = await tab.run(tab.page.query_selector(f"{locate} >> {part}"), seconds, what)
    except PlaywrightError as error:
        raise PlaywrightError(str(error).replace(f" >> {part}", "")) from error
    if holder is not None and (found := await _held(tab, holder, part, seconds)) is not None:
        return found
    # Nothing matches, or the selector has its match before the last part (`*css=a >> css=b`), or an open quote.
    texts = []
    for match in await tab.run(tab.page.query_selector_all(locate), seconds, what):
        holder = await tab.run(match.query_selector(part), seconds, what)
        texts += (await _held(tab, holder, part, seconds) or []) if holder is not None else []
    return texts


async def _held(tab: Tab, holder: ElementHandle, part: str, seconds: float) -> list[Any] | None:
    """Return the texts in the element that the engine returned for ``part``; None for another element."""
    text = await tab.run(holder.text_content(), seconds, "reading matches") or ""
    name = part.partition("=")[2]
    if not text.startswith(name):
        return None
    read: dict[str, Any] = json.loads(text.removeprefix(name))
    if error := read.get("error"):
        raise Unreadable(str(error))
    texts: list[Any] = read["texts"]
    return texts
