"""Decides whether two selectors match the same element of a serialised document, by WebCanvas' rule of three
ancestors."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any

__all__ = ["MAPPED", "first_element", "make_ready", "missing_libraries", "same_element", "selector_fault"]

MAPPED = frozenset({"span", "h1", "h2", "h3", "h4", "h5", "h6", "div", "li", "ul", "p"})
"""Tags of references for which an action on one of the nearest ancestors counts as well."""
_ANCESTORS = 3


def missing_libraries() -> tuple[str, ...]:
    """Returns what must be installed for `same_element`, by its names for pip."""
    needed = {"bs4": "beautifulsoup4", "lxml": "lxml"}
    return tuple(package for name, package in needed.items() if importlib.util.find_spec(name) is None)


def make_ready() -> None:
    """Load the libraries, which takes most of a second."""
    if not missing_libraries():
        same_element("<p>ready</p>", "p", "p")
        same_element("<p>ready</p>", "//p", "//p", "xpath")


def same_element(html: str, acted: str | None, reference: str, method: str = "selector") -> bool:
    """Whether the first match of ``acted`` is the first match of ``reference`` or, if the latter's tag is in `MAPPED`,
    one of its three nearest ancestors.

    With ``selector`` both are CSS, and an invalid or unmatched one gives False. With ``xpath`` both are expressions,
    and `LookupError` is raised for an invalid or unmatched one, because the original fails there.
    """
    return _by_xpath(html, acted, reference) if method == "xpath" else _by_selector(html, acted, reference)


def first_element(html: str, selector: str | None) -> Any:
    """Returns the first match of a selector as a Beautiful Soup element; None for no match or an invalid selector."""
    try:
        return _soup(html).select_one(selector)
    except Exception:  # the parser and the selectors raise errors of many types
        return None


def selector_fault(selector: str) -> str:
    """Returns why the library that reads pages rejects a selector; empty if it does not, or is not installed."""
    if importlib.util.find_spec("soupsieve") is None:
        return ""
    sieve: Any = importlib.import_module("soupsieve")
    try:
        sieve.compile(selector)
    except Exception as error:  # the library's own errors, and those of regular expressions
        return str(error).partition("\n")[0]
    return ""


def _by_selector(html: str, acted: str | None, reference: str) -> bool:
    try:
        soup = _soup(html)
        one, other = soup.select_one(acted), soup.select_one(reference)
    except Exception:  # the parser and the selectors raise errors of many types
        return False
    if one is None or other is None:
        return False
    if one is other:
        return True
    if other.name in MAPPED:
        for _ in range(_ANCESTORS):
            other = other.parent
            if other is None:
                return False
            if other is one:
                return True
    return False


def _by_xpath(html: str, acted: str | None, reference: str) -> bool:
    try:
        tree = _tree(html)
        one, other = tree.xpath(acted)[0], tree.xpath(reference)[0]
    except Exception as error:
        raise LookupError(f"the original fails on these expressions: {error}") from None
    if one is other:
        return True
    if getattr(other, "tag", None) in MAPPED:
        for _ in range(_ANCESTORS):
            other = other.getparent()
            if other is None:
                return False
            if other is one:
                return True
    return False


@functools.lru_cache(maxsize=4)  # all nodes of one step use the same page
def _soup(html: str) -> Any:
    from bs4 import BeautifulSoup

    return BeautifulSoup(html, "html.parser")


@functools.lru_cache(maxsize=4)
def _tree(html: str) -> Any:
    parser: Any = importlib.import_module("lxml.html")  # has no types
    return parser.fromstring(html)
