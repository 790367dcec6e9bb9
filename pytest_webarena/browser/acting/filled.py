"""Reads which fields of a document hold something else than it came with, whoever has put it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_webarena.browser.acting import scripts
from pytest_webarena.evidence import FilledField, TargetRecord

__all__ = ["FILLED", "FOCUSED", "Filled", "read_filled"]

FILLED = (
    "() => {\n  const describe = "
    + scripts.DESCRIBE
    + r""";
  const TEXTS = new Set(['color', 'date', 'datetime-local', 'email', 'month', 'number', 'range', 'search', 'tel',
    'text', 'time', 'url', 'week']);
  const SHAPED = new Set(['color', 'date', 'datetime-local', 'month', 'range', 'time', 'week']);
  const labels = options => options.map(option => option.label.replace(/\s+/g, ' ').trim());
  const found = [];
  for (const el of document.querySelectorAll('select, textarea, input')) {
    let first, now;
    if (el.localName === 'select') {
      const options = [...el.options], own = options.filter(option => option.defaultSelected);
      const one = own.length ? own.slice(-1) : options.filter(option => !option.disabled).slice(0, 1);
      first = labels(el.multiple ? own : el.size > 1 && !own.length ? [] : one);
      now = labels(options.filter(option => option.selected));
    } else if (el.localName === 'textarea' || TEXTS.has(el.type)) {
      first = [el.defaultValue];
      now = [el.value];
    } else continue;
    if (now.join('\n') === first.join('\n') || now.join('\n').length > 20000) continue;
    const shaped = el.localName === 'input' && SHAPED.has(el.type);
    const list = el.localName === 'select';
    found.push({document: performance.timeOrigin, shaped, list, values: now, target: describe(el)});
    if (found.length === 100) break;
  }
  return found;
}"""
)
"""Of the main document; never what is in a field for a password."""


FOCUSED = (
    "() => {\n  const describe = "
    + scripts.DESCRIBE
    + """;
  let el = document.activeElement;
  while (el && el.shadowRoot && el.shadowRoot.activeElement) el = el.shadowRoot.activeElement;
  return el && el !== document.body && !['iframe', 'frame', 'html'].includes(el.localName) ? describe(el) : null;
}"""
)
"""The record of what the keyboard writes in; null where that is in another document, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A field that holds something else than its document came with."""

    field: FilledField
    document: float
    """When that began, in milliseconds: no two of a tab's have the same."""
    is_shaped: bool = False
    """Its value is not what keys write in it: a date, a time, a colour."""


def read_filled(found: list[dict[str, Any]]) -> tuple[Filled, ...]:
    """What the script told."""
    return tuple(
        Filled(
            field=FilledField(
                target=TargetRecord(**each["target"]), values=tuple(each["values"]), is_list=bool(each["list"])
            ),
            document=float(each["document"]),
            is_shaped=bool(each["shaped"]),
        )
        for each in found
    )
