"""Selectors out of what signals tell of an element and of what is around it (`signals.DomEvent.chain`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_webarena.signals import ElementRecord

__all__ = ["path_of", "step_of", "way_in"]

_ENTER = " >> internal:control=enter-frame >> "


def way_in(chain: Sequence[ElementRecord], *, shadows: bool = False) -> str:
    """What leads into the frames around the first element, from the outermost, as Playwright's selectors do; empty for
    none. ``shadows``: into open shadow trees, too, for a path that is one of a single element only within its tree.

    >>> inner = [ElementRecord(tag="input"), ElementRecord(tag="html", within="frame")]
    >>> way_in([*inner, ElementRecord(tag="iframe", attributes={"id": "desk"})])
    'css=#desk >> internal:control=enter-frame >> '
    """
    entered = []
    for number, element in enumerate(chain):
        if element.within == "frame":
            entered.append(f"css={path_of(chain[number + 1 :])}{_ENTER}")
        elif element.within == "shadow" and shadows:
            entered.append(f"css={path_of(chain[number + 1 :])} >> ")
    return "".join(reversed(entered))


def path_of(chain: Sequence[ElementRecord]) -> str:
    """CSS of the first element, by its place below the next one with an id, or below its document's root.

    >>> path_of([ElementRecord(tag="li", nth_of_type=2, of_type=3), ElementRecord(tag="ul", attributes={"id": "rows"})])
    '#rows > li:nth-of-type(2)'
    """
    parts: list[str] = []
    for element in chain:
        id = element.attributes.get("id", "")
        if re.fullmatch(r"[A-Za-z_][\w-]*", id):
            parts.append(f"#{id}")
            break
        parts.append(step_of(element))
        if element.within != "element":
            break
    return " > ".join(reversed(parts))


def step_of(element: ElementRecord) -> str:
    """CSS of an element among its siblings."""
    tag = re.sub(r"([^\w-])", r"\\\1", element.tag)
    return f"{tag}:nth-of-type({element.nth_of_type})" if element.of_type > 1 else tag
