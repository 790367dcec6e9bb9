"""Finds neighbours of an element: the same control of another row, the next link of a list, the other options.

Mutant agents use them to do a task wrongly on purpose. Pages are not changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.acting import element_probes
from pytest_webarena.browser.reports import AdjacentControl, ListOption
from pytest_webarena.evidence import TargetRecord
from pytest_webarena.tasks.syntax import CONTROLS

if TYPE_CHECKING:
    from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["find_neighbour"]

_INTO_FRAME = "internal:control=enter-frame"

_OPTIONS = """el => el.localName !== 'select' ? [] : [...el.options].filter(o => !o.matches(':disabled')).map(
  o => ({label: o.label.replace(/\\s+/g, ' ').trim(), value: o.value}))"""

# Returns the index of the neighbour among `all`, the elements of its kind in page order: the next one in a similar
# place (another row of a list), else in the same form or the same part of the page. -1: there is none.
_NEXT = r"""(all, [target, anyWillDo]) => {
  const alike = el => {
    const way = [];
    for (let n = el; n && n.nodeType === 1; n = n.parentElement) way.push([n.localName, ...n.classList].join('.'));
    return way.join('>');
  };
  // A link to nothing does something by script; one to a place of this page leads nowhere else.
  const leads = el => {
    const given = el.localName === 'a' && el.getAttribute('href') || '';
    if (!given || /^(#!?$|javascript:)/i.test(given)) return '';
    try { return new URL(given, el.baseURI).href.split('#')[0]; } catch { return given; }
  };
  const shown = el => [...el.getClientRects()].some(r => r.width > 0 && r.height > 0)
    || [...(el.labels || [])].some(l => l.getClientRects().length > 0);
  const here = all.indexOf(target);
  if (here < 0) return -1;
  const round = all.map((_, i) => (here + 1 + i) % all.length).filter(i => {
    const el = all[i];
    return el !== target && shown(el) && !el.matches(':disabled, input[type=file]') && !el.readOnly
      && !(leads(el) && [leads(target), el.baseURI.split('#')[0]].includes(leads(el)))
      && !el.contains(target) && !target.contains(el);
  });
  const same = alike(target);
  const form = target.closest('form'), parts = 'dialog, [role=dialog], main, nav, aside, header, footer';
  const near = [el => form && el.closest('form') === form, el => el.closest(parts) === target.closest(parts)];
  const wanted = [el => alike(el) === same, ...(anyWillDo ? near : [])];
  for (const fits of wanted) {
    const found = round.find(i => fits(all[i]));
    if (found !== undefined) return found;
  }
  return -1;
}"""


async def find_neighbour(tab: Tab, selector: str, hang: float) -> AdjacentControl | None:
    """Return the neighbours of the first match of a Playwright selector; None if it matches nothing."""
    locator = tab.page.locator(selector).first
    handle: Any = None
    try:
        handle = await tab.run(locator.element_handle(timeout=500 * hang), hang, f"looking for {selector!r}")
        record = TargetRecord(**await tab.run(handle.evaluate(element_probes.DESCRIBE), hang, "looking at an element"))
        options = await tab.run(handle.evaluate(_OPTIONS), hang, "looking at a list")
        inside, _, _ = selector.rpartition(_INTO_FRAME)
        frame = f"{inside}{_INTO_FRAME} >> " if inside else ""
        neighbour, other = await _neighbour(tab, frame, record, handle, hang)
        return AdjacentControl(
            target=record, neighbour=neighbour, neighbour_target=other, options=tuple(ListOption(**o) for o in options)
        )
    except PlaywrightError:
        return None
    finally:
        if handle is not None:
            await tab.run(handle.dispose(), hang, "letting go of an element")


async def _neighbour(
    tab: Tab, frame: str, record: TargetRecord, handle: Any, hang: float
) -> tuple[str, TargetRecord | None]:
    """Return a selector of the neighbour, and its description.

    It has the same role, if the element has one, or else the same tag and a similar place.
    """
    kinds = [(f"role={record.role}", True)] if record.role in CONTROLS else []
    for kind, any_will_do in (*kinds, (f"css={record.tag}", False)):
        listed = tab.page.locator(f"{frame}{kind}")
        number = await tab.run(listed.evaluate_all(_NEXT, [handle, any_will_do]), hang, "looking at neighbours")
        if number >= 0:
            found = listed.nth(number)
            other = await tab.run(found.evaluate(element_probes.DESCRIBE), hang, "looking at an element")
            return f"{frame}{kind} >> nth={number}", TargetRecord(**other)
    return "", None
