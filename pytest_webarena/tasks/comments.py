"""Detects comments after unquoted text that may be part of the text, because YAML cuts it there."""

from __future__ import annotations

import re
from typing import Literal

from pytest_webarena.tasks.scalars import json_scalar

__all__ = ["TextForm", "is_suspicious", "left_open"]

TextForm = Literal["prose", "code", "word"]
"""Form of a text: sentences or labels (``prose``); a selector, query or address (``code``); a name without spaces
(``word``)."""

_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("“", "”"), ("«", "»"))
_PLAIN_PAIRS = _PAIRS[:3]
_ESCAPED = re.compile(r"\\.")
_OPENING_APOSTROPHE = re.compile(r"(?:^|[\s(=\[])'[^']*$")


def left_open(text: str, comment: str, form: TextForm = "prose") -> str:
    """Return the quote or bracket that ``text`` leaves open before ``comment``; empty when there is none.

    >>> left_open('Close "duplicate of', '3"')
    '"'
    >>> left_open("Close Clem's issue", " who's that?")
    ''
    """
    text = _ESCAPED.sub("", text)
    # Prose rarely leaves these open on purpose. Other signs have other uses, so only their end in the comment is proof.
    if text.count('"') % 2 and (form == "prose" or '"' in comment):
        return '"'
    for opening, closing in _PAIRS:
        certain = closing in comment or (form == "prose" and (opening, closing) in _PLAIN_PAIRS)
        if certain and text.count(opening) > text.count(closing):
            return opening
    return "'" if "'" in comment and _OPENING_APOSTROPHE.search(text) else ""


def is_suspicious(text: str, comment: str, form: TextForm = "prose") -> bool:
    """Returns whether ``comment`` may belong to ``text``.

    A comment after a number, a boolean, an address or a single word is common; one without a space after '#' is not.

    >>> is_suspicious("Close issue", "3"), is_suspicious("12", " enough"), is_suspicious("mara.linden", " a customer")
    (True, False, False)
    """
    if form == "word" or not isinstance(json_scalar(text), str):
        return False
    return not comment.startswith((" ", "\t", "#")) or (form == "prose" and len(text.split()) > 1)
