"""What checks read of an embedded site without a browser: a page is all its text, whatever is located."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Page", "Rows", "rows_of", "text_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    url: str
    status: int | None
    texts: Sequence[str]
    error: str = ""
    hidden: str = ""
    refused: str = ""


def rows_of(connection: sqlite3.Connection, sql: str) -> Rows:
    cursor = connection.execute(sql)
    return Rows(columns=[column[0] for column in cursor.description], rows=cursor.fetchall())


def text_of(html: str) -> str:
    return re.sub(r"<[^>]+>", " ", html)
