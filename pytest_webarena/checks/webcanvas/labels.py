"""The text that WebCanvas shows its agents for an element; it is the element's value when it is clicked."""

from __future__ import annotations

from typing import Any

from pytest_webarena.checks.webcanvas.elements import MAPPED, first_element

__all__ = ["shown_text"]

_ATTRIBUTES = ("title", "placeholder", "aria-label", "aria-checked")
_LIST = "Select an option value"
"""Text of every select element, whatever is selected."""
_ACTIVE_ROLES = frozenset(
    {"button", "link", "menuitem", "textbox", "checkbox", "radio", "tab", "switch", "option", "row", "search-box"}
)


def shown_text(html: str, selector: str) -> str | None:
    """Returns the last text printed for the element: its own, or that of a descendant that counts as its text; None
    without an element.

    >>> shown_text("<button id=b>Buy <span>now</span></button>", "#b")
    'now'
    """
    element = first_element(html, selector)
    if element is None:
        return None
    texts = [_own(each) for each in (element, *element.find_all(True)) if each is element or _hands_up(each, element)]
    return next((text for text in reversed(texts) if text), "")


def _own(element: Any) -> str:
    """Returns the text before the first child element, else the text of the attributes."""
    said = ""
    for part in element.children:
        if part.name is not None or type(part).__name__ != "NavigableString":
            break
        said += str(part)
    if not said:
        said = next((str(element.get(name)) for name in _ATTRIBUTES if element.get(name)), "")
    if not said and element.get("type") == "submit":
        said = "submit"
    if not said and element.name == "select":
        said = _LIST
    return said.replace("\n", "").replace("\t", "").strip()


def _hands_up(inner: Any, element: Any) -> bool:
    """Whether an inner element's text counts as the outer element's: nothing between them is active or hidden."""
    while inner is not element:
        style = inner.get("style") or ""
        hidden = inner.get("aria-hidden") == "true" or "display: none" in style or "opacity: 0" in style
        if inner.name not in MAPPED or inner.get("role") in _ACTIVE_ROLES or hidden:
            return False
        inner = inner.parent
    return True
