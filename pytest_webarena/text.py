"""Text as messages show it: on one line, and short enough to be read."""

from __future__ import annotations

__all__ = ["UNSURE", "clip", "shorten"]

UNSURE = "unsure: "
"""How the reason of a check begins that is not met because nobody can vouch for what was read in the answer."""


def shorten(text: str, length: int = 200) -> str:
    """``text`` on one line, at most ``length`` characters.

    >>> shorten("one\\n  two   three", 9)
    'one two …'
    """
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def clip(text: str, width: int = 60) -> str:
    """The same for text that may be anything: however long, and with what can't be printed.

    >>> clip("one\\x1b[2J two", 9)
    'one�[2J …'
    """
    flat = " ".join(text[: width * 8].split())  # of megabytes, no more than could ever be shown
    if not flat.isprintable():
        flat = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in flat)
    return shorten(flat, width)
