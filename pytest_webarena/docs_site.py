"""Addresses of the documentation, for messages: readers of an installed package have no repository."""

from __future__ import annotations

import re

__all__ = ["ADDRESS", "docs", "with_addresses"]

ADDRESS = "https://pytest-webarena.readthedocs.io/en/latest/"
"""Root of the site that ``make site`` builds; ``Documentation`` in pyproject.toml has the same address."""


def docs(page: str, anchor: str = "") -> str:
    """Returns the address of a page, and of a heading on it. ``page`` is the file name in ``docs/`` without its suffix.

    >>> docs("judge", "measuring-a-judge").removeprefix(ADDRESS)
    'judge.html#measuring-a-judge'
    """
    return f"{ADDRESS}{page}.html" + (f"#{anchor}" if anchor else "")


def with_addresses(text: str) -> str:
    """Replace links between pages by full addresses, for texts that are read outside the documentation.

    >>> with_addresses("a [judge](judge.md#options)").replace(ADDRESS, "…/")
    'a [judge](…/judge.html#options)'
    """
    return re.sub(r"\]\(([\w-]+)\.md(?:#([\w-]+))?\)", lambda found: f"]({docs(found[1], found[2] or '')})", text)
