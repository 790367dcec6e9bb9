"""Selectors made from recorded elements and their ancestors (`signals.DomEvent.chain`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_webarena.signals import ElementRecord

__all__ = ["css_path", "css_step", "frame_prefix"]

_ENTER_FRAME = " >> internal:control=enter-frame >> "


def frame_prefix(chain: Sequence[ElementRecord], *, shadows: bool = False) -> str:
    """Returns the selector prefix that enters the frames around the first element, outermost first; empty without
    frames.

    ``shadows`` adds the open shadow trees around it, for paths that are unique only within their tree.

    >>> inner = [ElementRecord(tag="input"), ElementRecord(tag="html", within="frame")]
    >>> frame_prefix([*inner, ElementRecord(tag="iframe", attributes={"id": "desk"})])
    'css=#desk >> internal:control=enter-frame >> '
    """
    entered = []
    for number, element in enumerate(chain):
        if element.within == "frame":
            entered.append(f"css={css_path(chain[number + 1 :])}{_ENTER_FRAME}")
        elif element.within == "shadow" and shadows:
            entered.append(f"css={css_path(chain[number + 1 :])} >> ")
    return "".join(reversed(entered))


def css_path(chain: Sequence[ElementRecord]) -> str:
    """Returns a CSS selector of the first element: its position below the nearest ancestor with an id, or below its
    document's root.

    >>> item = ElementRecord(tag="li", nth_of_type=2, of_type=3)
    >>> css_path([item, ElementRecord(tag="ul", attributes={"id": "rows"})])
    '#rows > li:nth-of-type(2)'
    """
    parts: list[str] = []
    for element in chain:
        id = element.attributes.get("id", "")
        if re.fullmatch(r"[A-Za-z_][\w-]*", id):
            parts.append(f"#{id}")
            break
        parts.append(css_step(element))
        if element.within != "element":
            break
    return " > ".join(reversed(parts))


def css_step(element: ElementRecord) -> str:
    """Returns a CSS selector of an element among its siblings."""
    tag = re.sub(r"([^\w-])", r"\\\1", element.tag)
    return f"{tag}:nth-of-type({element.nth_of_type})" if element.of_type > 1 else tag
