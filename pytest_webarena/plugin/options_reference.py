"""Writes the tables of options into docs/options.md: ``python -m pytest_webarena.plugin.options_reference``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_webarena.plugin.options import option_groups

__all__ = ["DOCS_PATH", "with_tables"]

DOCS_PATH = Path(__file__).parents[2] / "docs" / "options.md"
_PLACE = re.compile(r"(<!-- options ([\w-]+): written by make docs -->\n).*?(<!-- end of options -->)", re.DOTALL)
_PIPE = "\\|"


def _table(group: pytest.OptionGroup) -> str:
    rows = ["| option | what it does |", "|---|---|"]
    for option in group.options:
        attributes = option.attrs()
        value = attributes["metavar"] or "|".join(attributes["choices"] or ())
        cells = f"`{option.names()[0]} {value}".strip() + "`", attributes["help"].replace("%%", "%")
        rows.append(f"| {' | '.join(cell.replace('|', _PIPE) for cell in cells)} |")
    return "\n".join(rows)


def with_tables(page: str) -> str:
    """Return ``page`` with a table of each group's options in its place. `ValueError` if a group has no place."""
    tables = {group.name: _table(group) for group in option_groups().declare(pytest.Parser(_ispytest=True))}
    text = _PLACE.sub(lambda place: f"{place[1]}{tables.pop(place[2])}\n{place[3]}", page)
    if tables:
        raise ValueError(
            f"expected a place for each group of options in {DOCS_PATH}, found none for {', '.join(tables)}"
        )
    return text


if __name__ == "__main__":
    DOCS_PATH.write_text(with_tables(DOCS_PATH.read_text("utf-8")), encoding="utf-8")
