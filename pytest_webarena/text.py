"""Text as messages show it: on one line, and short enough to be read."""

from __future__ import annotations

__all__ = ["UNSURE", "clip", "shorten", "within"]

UNSURE = "unsure: "
"""How the reason of a check begins that is not met because nobody can vouch for what was read in the answer."""


def shorten(text: str, length: int = 200) -> str:
    """``text`` on one line, at most ``length`` characters.

    >>> shorten("one\\n  two   three", 9)
    'one two …'
    """
    return within(" ".join(text.split()), length)


def clip(text: str, width: int = 60) -> str:
    """The same for text that may be anything: however long, and with what can't be printed.

    >>> clip("one\\x1b[2J two", 9)
    'one�[2J …'
    """
    flat = " ".join(text[: width * 8].split())  # of megabytes, no more than could ever be shown
    if not flat.isprintable():
        flat = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in flat)
    return shorten(flat, width)


def within(text: str, length: int) -> str:
    """``text`` as it is, line breaks included, at most ``length`` characters.

    >>> within("one\\ntwo", 7), within("one\\ntwo", 6)
    ('one\\ntwo', 'one\\nt…')
    """
    return text if len(text) <= length else text[: length - 1] + "…"
