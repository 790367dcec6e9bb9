"""Writes the table of forms into the documentation: ``python -m pytest_webarena.browser.observation.reference``."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_webarena.browser.observation.forms import BUILTIN

__all__ = ["DOCS_PATH", "table", "with_table"]

DOCS_PATH = Path(__file__).parents[3] / "docs" / "observations.md"
_PLACE = re.compile(r"(<!-- forms: written by make docs -->\n).*?(<!-- end of forms -->)", re.DOTALL)


def table() -> str:
    """Return the built-in forms as a Markdown table."""
    rows = ["| kind | what it is | text | picture | ids |", "|---|---|---|---|---|"]
    for form in BUILTIN.values():
        text = form.title.removesuffix(":") if form.lines else "–"
        ids = "yes" if form.ids else "–"
        rows.append(f"| `{form.name}` | {form.about} | {text} | {form.picture or '–'} | {ids} |")
    return "\n".join(rows)


def with_table(page: str) -> str:
    """Return the page with the current table in its place."""
    text, places = _PLACE.subn(lambda place: f"{place[1]}{table()}\n{place[2]}", page)
    if places != 1:
        raise ValueError(f"expected one place for the table of forms in {DOCS_PATH}, found {places}")
    return text


if __name__ == "__main__":
    DOCS_PATH.write_text(with_table(DOCS_PATH.read_text("utf-8")), encoding="utf-8")
