"""Where the documentation is: messages of the installed package name addresses, for its readers have no repository."""

from __future__ import annotations

import re

__all__ = ["ADDRESS", "docs", "with_addresses"]

ADDRESS = "https://pytest-webarena.readthedocs.io/en/latest/"
"""The site that ``make site`` builds; ``Documentation`` in pyproject.toml says the same."""


def docs(page: str, anchor: str = "") -> str:
    """The address of a page, named as its file in ``docs/`` without the suffix, and of a heading on it.

    >>> docs("judge", "measuring-a-judge").removeprefix(ADDRESS)
    'judge.html#measuring-a-judge'
    """
    return f"{ADDRESS}{page}.html" + (f"#{anchor}" if anchor else "")


def with_addresses(text: str) -> str:
    """Links between pages made into addresses, for texts that are read elsewhere.

    >>> with_addresses("a [judge](judge.md#options)").replace(ADDRESS, "…/")
    'a [judge](…/judge.html#options)'
    """
    return re.sub(r"\]\(([\w-]+)\.md(?:#([\w-]+))?\)", lambda found: f"]({docs(found[1], found[2] or '')})", text)
