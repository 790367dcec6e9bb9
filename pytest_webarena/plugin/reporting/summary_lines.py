"""Lines of the terminal summary: at most 80 columns, with pytest's marks for good, bad and notable results."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["LABEL", "WIDTH", "Line", "plural", "row", "shorter", "wrapped"]

WIDTH = 80
LABEL = 15


class Line(NamedTuple):
    """A line of the summary and its mark."""

    text: str
    mark: str = ""
    """``bold``, ``red``, ``yellow`` or nothing."""


def row(label: str, parts: Iterable[str], *, indent: int = 2, mark: str = "") -> Iterator[Line]:
    """Yield a label and its parts in lines of at most 80 columns, broken between parts."""
    glued = ", ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)  # no break inside a part
    pad = " " * indent
    wrapped = textwrap.wrap(glued, WIDTH - LABEL, break_on_hyphens=False, break_long_words=False) or [""]
    for number, text in enumerate(wrapped):
        head = f"{pad}{label}" if number == 0 else ""
        separator = "" if len(head) < LABEL else " "
        yield Line(f"{head:<{LABEL}}{separator}{text}".replace("\N{NO-BREAK SPACE}", " "), mark)


def wrapped(text: str, width: int = WIDTH - LABEL) -> list[str]:
    """Return ``text`` in lines that break between words, so that no line starts within a word of foreign text."""
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def shorter(path: Path) -> str:
    """Return the path relative to the current directory, unless that is longer."""
    return min(str(path), os.path.relpath(path), key=len)
