"""CSV for people: tables whose cells no spreadsheet runs as formulas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

__all__ = ["csv_text", "inert", "plain"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of cells that spreadsheets run as formulas."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return a CSV file with these rows. Texts in cells are `inert`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([inert(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()


def inert(text: str) -> str:
    """Return ``text`` with a leading apostrophe if a spreadsheet would run it as a formula; numbers stay.

    >>> inert("=1+1"), inert("-2.5"), inert("-2.5+A1"), inert("plain")
    ("'=1+1", '-2.5', "'-2.5+A1", 'plain')
    """
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def plain(text: str) -> str:
    """Undo `inert`.

    >>> plain(inert("@home")), plain("'quoted'")
    ('@home', "'quoted'")
    """
    return text[1:] if text[:1] == "'" and text[1:].startswith(_FORMULA) else text
