"""Reads pages for checks: the current tab as it is, or an address in a page of our own, apart from the agent's."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import replace

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.faults import DialogOpened, ScriptFailed, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import first_line, net_error, writable
from pytest_webarena.browser.reports import PageReading
from pytest_webarena.browser.tabs.address_guard import RefusedAddress, resolve_address
from pytest_webarena.browser.tabs.navigation import load
from pytest_webarena.browser.tabs.settle import settle
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.browser.tabs.tabs import Tabs
from pytest_webarena.errors import BrowserError, SiteError, TaskError
from pytest_webarena.evidence import LONGEST_PAGE
from pytest_webarena.text import shorten

__all__ = ["read_address", "read_tab"]

_LATE = 1.0
"""How much longer a fresh page is given to show a first match, in seconds: it has come to rest before."""

_NO_PAGE = re.compile(r"Download is starting|ERR_ABORTED|NS_BINDING_ABORTED")
"""What browsers say when the answer came, but gives them nothing to show: the address is not a page's."""

# What is drawn, as far as scripts can reach: also what is in open shadow roots and in frames of the same site, after
# the text around them. `innerText` of what is not drawn would be all of its text.
_PAGE_TEXT = r"""() => {
  const texts = [];
  const inner = root => {
    for (const el of root.querySelectorAll('*')) {
      const shadow = el.shadowRoot;
      if (shadow) {
        for (const child of shadow.childNodes) {
          if (child.nodeType === 1) {
            if (child.checkVisibility()) texts.push(child.innerText ?? child.textContent);
          } else if (child.nodeType === 3 && el.checkVisibility()) {
            texts.push(child.data);
          }
        }
        inner(shadow);
      } else if (['iframe', 'frame'].includes(el.localName) && el.getClientRects().length) {
        let framed = null;
        try { framed = el.contentDocument; } catch { /* of another site */ }
        if (framed) page(framed);
      }
    }
  };
  const page = document => {
    texts.push(document.body ? document.body.innerText : document.documentElement?.textContent);
    inner(document);
  };
  page(document);
  return texts.filter(text => text && text.trim()).join('\n');
}"""

_TEXT_OF = r"""
const textOf = el => {
  if (!(el instanceof Element)) return el.textContent || '';
  if (el.localName === 'select') return [...el.selectedOptions].map(o => o.label).join(', ');
  if (['input', 'textarea'].includes(el.localName) && !['submit', 'button', 'reset', 'image'].includes(el.type)) {
    return ['checkbox', 'radio'].includes(el.type) ? String(el.checked) : el.value;
  }
  return el.localName === 'input' ? el.value : el.innerText ?? el.textContent ?? '';
};
"""

_PASSWORD = "() => [...document.querySelectorAll('input[type=password]')].some(field => field.checkVisibility())"

_TEXTS = "elements => {" + _TEXT_OF + "return elements.map(textOf); }"

# `(0, eval)` takes an expression or statements, as the address bar of the developer tools does.
_SCRIPT = (
    "async source => {"
    + _TEXT_OF
    + """
  const plain = value => value instanceof Node ? textOf(value)
    : value instanceof NodeList || value instanceof HTMLCollection ? [...value].map(textOf)
    : Array.isArray(value) ? value.map(plain) : value;
  const value = plain(await (0, eval)(source));
  return value === undefined ? null : value;
}"""
)


async def read_address(
    tabs: Tabs, url: str, here: str, locate: str | None, prepare: Sequence[str], limits: Deadlines, deadline: Deadline
) -> PageReading:
    """Open ``url``, as seen from ``here``, in a fresh page among ``tabs``, read it, close it and what it opened."""
    try:
        url = resolve_address(url, here)
    except RefusedAddress as error:
        raise TaskError(f"a check opens a page: {error}") from error
    tab = await tabs.open()
    # What a page shows before the answers to its own requests have come is neither what is there nor what isn't.
    patient = replace(limits, settle=max(limits.settle, limits.answers))
    try:
        seconds = deadline.left(limits.navigation)
        try:
            response = await load(tab, url, seconds)
        except (PlaywrightError, Unresponsive) as error:
            reason = net_error(error) or shorten(first_line(error))
            if _NO_PAGE.search(str(error)):
                raise TaskError(
                    f"a check opens {url}: expected a page, found a download or an answer without content; "
                    "checks of kind state look at such answers (api)"
                ) from error
            raise SiteError(f"a check opens {url}: expected a page within {seconds:.3g} s, found: {reason}") from error
        try:
            await settle(tab, patient, deadline)
        except Unresponsive as error:
            raise BrowserError(f"a check reads {url}: {error}") from error
        status = response.status if response is not None else None
        try:
            reading = await read_tab(tab, locate, prepare, patient, deadline, status=status, wait=_LATE)
            form = await tab.evaluate(_PASSWORD, seconds=deadline.left(limits.hang), what="looking for a form")
            return replace(reading, asks_password=bool(form))
        except DialogOpened:
            shown = f"a dialog is open: {tab.dialogs.describe() or 'it has just been answered'}"
            return PageReading(url=tab.url, status=status, texts=(), error=shown)
        except Unresponsive as error:
            raise BrowserError(f"a check reads {tab.url}: {error}") from error
    finally:
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
) -> PageReading:
    """Read what ``tab`` shows. Changes nothing but what ``prepare`` does; a preparation that throws ends them.

    Raises as `Tab.run`: `DialogOpened` where a dialog hides the page, `Unresponsive`.
    """
    if tab.dialogs.open is not None:
        raise DialogOpened
    seconds = deadline.left(limits.hang)
    error = ""
    try:
        for source in prepare:
            try:
                await tab.evaluate(_SCRIPT, source, seconds=seconds, what="preparing a page for a check")
            except ScriptFailed as failure:
                error = f"preparation {shorten(source)!r}: {failure}"
                break
        if prepare:
            await settle(tab, limits, deadline)
        reading = await _read(tab, locate, seconds, wait)
    except ScriptFailed as failure:
        reading, error = PageReading(url=tab.url, status=None, texts=()), error or str(failure)
    if (size := sum(map(len, reading.texts))) > LONGEST_PAGE:
        raise TaskError(f"expected at most {LONGEST_PAGE:,} characters to judge on {tab.url}, found {size:,}")
    return replace(reading, status=status, error=error)


async def _read(tab: Tab, locate: str | None, seconds: float, wait: float) -> PageReading:
    if locate is None:
        text = await tab.evaluate(_PAGE_TEXT, seconds=seconds, what="reading a page")
        html = await tab.run(tab.page.content(), seconds, "reading a page")
        return PageReading(url=tab.url, status=None, texts=(writable(text or ""),), html=writable(html))
    if locate.startswith("js="):
        value = await tab.evaluate(_SCRIPT, locate.removeprefix("js="), seconds=seconds, what="reading a page")
        values = value if isinstance(value, list) else [] if value is None else [value]
        return PageReading(url=tab.url, status=None, texts=tuple(map(_as_text, values)), value=value)
    matches = tab.page.locator(locate)
    try:
        if wait:
            with contextlib.suppress(PlaywrightError):
                first = matches.first.wait_for(state="attached", timeout=wait * 1000)
                await tab.run(first, seconds + wait, "reading a page")
        texts = await tab.run(matches.evaluate_all(_TEXTS), seconds, f"reading {locate!r}")
    except PlaywrightError as error:
        raise TaskError(
            f"expected a Playwright selector, found {locate!r}: {shorten(first_line(error), 300)}"
        ) from error
    return PageReading(url=tab.url, status=None, texts=tuple(map(writable, texts)))


def _as_text(value: object) -> str:
    """As JavaScript would write it."""
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "null" if value is None else str(value)
