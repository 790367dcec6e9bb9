"""Names in double quotes in SQL for SQLite, which takes them for texts if they are misspelt."""

from __future__ import annotations

import re

__all__ = ["with_strict_names"]

_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?(?:\*/|\Z)|"(?P<name>(?:[^"]|"")*)\"""", re.DOTALL
)
"""A text, a quoted name, or a comment."""


def with_strict_names(sql: str) -> str:
    """Return the statement with each name in double quotes in backticks, in which SQLite takes it for nothing else.

    >>> with_strict_names('select "name" from notes where "titel" = \\'a "b"\\'')
    'select `name` from notes where `titel` = \\'a "b"\\''
    """
    return _TOKEN.sub(_strict, sql) if '"' in sql else sql


def _strict(found: re.Match[str]) -> str:
    name = found["name"]
    return found[0] if name is None else "`" + name.replace('""', '"').replace("`", "``") + "`"
