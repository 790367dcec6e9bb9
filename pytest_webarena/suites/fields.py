"""Typed access to the keys of one row; every mismatch is noted with its position."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from pytest_webarena.suites.rows import Key, Row, TaskRows, said
from pytest_webarena.tasks.images import SUFFIXES
from pytest_webarena.tasks.nodes import near

__all__ = ["MISSING", "Fields", "image_place", "plain_template", "start_address"]

MISSING: Any = object()
"""Represents a missing key."""

_START = re.compile(r"__([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)__(.*)", re.DOTALL)


class Fields:
    """A row that is being converted to a task. Methods return None after noting a problem."""

    def __init__(self, rows: TaskRows, row: Row) -> None:
        self.rows = rows
        self.row = row
        self.sound = True
        """Whether no problem has been noted so far."""

    def fault(self, keys: tuple[Key, ...], expected: str, found: str, hint: str = "") -> None:
        """Note a problem at ``keys``."""
        self.sound = False
        self.rows.problem(self.row, keys, expected, found, hint)

    def raw(self, *keys: Key, optional: bool = False) -> Any:
        """Returns the value at ``keys``, or `MISSING`, which is noted as a problem unless it is ``optional``."""
        value: Any = self.row.data
        for depth, key in enumerate(keys):
            inside = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
            if key in inside:
                value = value[key]
            else:
                if not optional and isinstance(value, dict):
                    hint = near(str(key), value)
                    hint = hint if hint.startswith("did") else ""
                    self.fault(keys[:depth], f"the key '{key}'", said(value), hint)
                return MISSING
        return value

    def text(self, *keys: Key, optional: bool = False, blank: bool = False) -> str | None:
        """Returns a text; None also for null if it is ``optional``."""
        value = self.raw(*keys, optional=optional)
        if value is MISSING or (optional and value is None):
            return None
        if not isinstance(value, str) or not (blank or value.strip()):
            self.fault(keys, "text", said(value))
            return None
        return value

    def number(self, *keys: Key, optional: bool = False) -> int | None:
        """Returns a whole number from 0."""
        value = self.raw(*keys, optional=optional)
        if value is MISSING or (optional and value is None):
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**9:
            self.fault(keys, "a whole number from 0", said(value))
            return None
        return value

    def texts(self, *keys: Key, low: int = 0, among: Collection[str] = ()) -> list[str] | None:
        """Returns a list of texts, which must be in ``among`` if that is given."""
        value = self.raw(*keys)
        if value is MISSING:
            return None
        if not isinstance(value, list) or len(value) < low:
            self.fault(keys, "a list of texts" + (", at least one" if low else ""), said(value))
            return None
        good = True
        for index, item in enumerate(value):
            if not isinstance(item, str) or not item:
                self.fault((*keys, index), "text", said(item))
                good = False
            elif among and item not in among:
                self.fault((*keys, index), "a known evaluator", said(item), near(item, among))
                good = False
        return value if good else None

    def object(self, *keys: Key, optional: bool = False) -> dict[str, Any] | None:
        """Returns an object."""
        value = self.raw(*keys, optional=optional)
        if value is MISSING or (optional and value is None):
            return None
        if not isinstance(value, dict):
            self.fault(keys, "an object", said(value))
            return None
        return value

    def objects(self, *keys: Key, low: int = 1) -> list[dict[str, Any]] | None:
        """Returns a list of objects."""
        value = self.raw(*keys)
        if value is MISSING:
            return None
        if not isinstance(value, list) or len(value) < low:
            self.fault(keys, "a list of objects" + (", at least one" if low else ""), said(value))
            return None
        good = True
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                self.fault((*keys, index), "an object", said(item))
                good = False
        return value if good else None

    def sites(self) -> list[str] | None:
        """Returns the names of the row's sites, which must be unique."""
        names = self.texts("sites", low=1)
        if names is None:
            return None
        for index, name in enumerate(names):
            if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
                self.fault(("sites", index), "a site's name", said(name))
                return None
            if name in names[:index]:
                self.fault(("sites", index), "each site once", f"'{name}' again")
                return None
        return names

    def starts(self, keys: tuple[Key, ...], addresses: list[str], sites: list[str]) -> list[str] | None:
        """Returns start addresses in the notation of our task files."""
        found = []
        for address in addresses:
            start = start_address(address)
            site = start.partition(":")[0] if start else ""
            if start is None or (not address.startswith("http") and site not in sites):
                known = ", ".join(f"__{name.upper()}__" for name in sites)
                self.fault(keys, f"addresses that begin with a site of the task ({known})", said(address))
                return None
            found.append(start)
        return found


def start_address(text: str) -> str | None:
    """Returns a start address in the notation of our task files; None for an invalid one.

    >>> start_address("__SHOPPING_ADMIN__/catalog/"), start_address("__MAP__")
    ('shopping_admin:/catalog/', 'map:/')
    """
    if text.startswith(("http://", "https://")):
        return text
    match = _START.fullmatch(text)
    if match is None:
        return None
    site, rest = match[1].lower(), match[2]
    if site == "wikipedia" and not rest:
        return "wikipedia:"  # upstream uses this address for the site's start page
    return f"{site}:{rest if rest.startswith('/') else '/' + rest}"


def image_place(text: str) -> str:
    """Returns an intent's image in the notation of our task files; empty for an invalid one.

    >>> image_place("__HOMEPAGE__/static/input_images/1.png"), image_place("pictures/1.png"), image_place("/tmp/1.png")
    ('homepage:/static/input_images/1.png', 'pictures/1.png', 'file:///tmp/1.png')
    """
    if (address := start_address(text)) is not None:
        return address
    if text.startswith("__") or "://" in text or not text.lower().endswith(SUFFIXES):
        return ""
    return f"file://{text}" if text.startswith("/") else text


def plain_template(text: str | None) -> str | None:
    """Returns a template's text with single braces, which have no meaning in our task files.

    >>> plain_template("Fork {{repo}}.")
    'Fork {repo}.'
    """
    return re.sub(r"\{\{\s*(\w+)\s*\}\}", r"{\1}", text) if text is not None else None
