"""Characters that look like YAML's spaces and quotes, but are none: they come from word processors and web pages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace

from pytest_webarena.errors import Problem

__all__ = ["in_typographic_quotes", "with_lookalikes"]

_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\"""")
_SPACES = ("Zs", "Zl", "Zp", "Cf")
"""Unicode categories of spaces, line separators and invisible characters."""
_QUOTES = ("Pi", "Pf")
"""Unicode categories of typographic quotes."""
_LOW = "\u201e\u201a"
"""Opening quotes of some languages, which Unicode counts as ordinary punctuation."""


def with_lookalikes(problems: Iterable[Problem], text: str) -> tuple[Problem, ...]:
    """Return the problems of a file, with a hint about the first such character outside of quotes in their line.

    It replaces a hint of a syntax error, or of a text with such a character: one cause has one hint. YAML notices some
    syntax errors only in the next line, so that the line before is looked at, too.
    """
    lines = text.splitlines()
    return tuple(_with_hint(each, lines) for each in problems)


def _with_hint(problem: Problem, lines: list[str]) -> Problem:
    syntax = "syntax error" in problem.found
    first = problem.line - (2 if syntax else 1)
    for number, line in enumerate(lines[max(first, 0) : problem.line], start=max(first, 0) + 1):
        for column, character in enumerate(_QUOTED.sub(lambda match: " " * len(match[0]), line), start=1):
            kind = unicodedata.category(character)
            if character == " " or (kind not in _SPACES and kind not in _QUOTES):
                continue
            if problem.hint and not syntax and not 0 <= column - problem.column < len(problem.found):
                continue
            name = unicodedata.name(character, "an invisible character").lower()
            where = f"column {column}" if number == problem.line else f"line {number}, column {column},"
            other = "a space" if kind in _SPACES else "a straight quote"
            hint = f"{where} has U+{ord(character):04X} ({name}), which YAML does not read as {other}"
            return replace(problem, hint=hint)
    return problem


def in_typographic_quotes(value: str) -> bool:
    """Whether an unquoted text begins and ends with typographic quotes, which YAML takes for part of the text.

    >>> in_typographic_quotes("“Bob”"), in_typographic_quotes("“Bob” said"), in_typographic_quotes("”")
    (True, False, False)
    """
    ends = (value[:1], value[-1:])
    return len(value) > 1 and all(end in _LOW or unicodedata.category(end) in _QUOTES for end in ends)
