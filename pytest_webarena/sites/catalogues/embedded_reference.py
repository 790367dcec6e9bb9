"""Writes the table of embedded sites into the documentation; run as a module.

The description of a site is the comment at the beginning of its ``site.yaml``.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from pytest_webarena.sites.catalogues.embedded_sites import FOLDER

__all__ = ["DOCS_PATH", "table", "with_table"]

DOCS_PATH = Path(__file__).parents[3] / "docs" / "sites.md"
_PLACE = re.compile(r"(<!-- sites: written by make docs -->\n).*?(<!-- end of sites -->)", re.DOTALL)


def table(folder: Path = FOLDER) -> str:
    """Returns the sites of ``folder`` as a Markdown table, by name. Raises `ValueError` for a site without a
    description."""
    rows = ["| site | app | what it is |", "| --- | --- | --- |"]
    for path in sorted(folder.glob("*/site.yaml")):
        text = path.read_text("utf-8")
        about = _about(text)
        if not about:
            raise ValueError(f"{path}: expected a comment at the top that says what the site is, found none")
        data = yaml.safe_load(text)
        extra = f" (extra `{data['extra']}`)" if "extra" in data else ""
        rows.append(f"| {', '.join(f'`{site}`' for site in data['sites'])} | `{path.parent.name}`{extra} | {about} |")
    return "\n".join(rows)


def _about(text: str) -> str:
    """Returns the comment at the top of a file, without lines for editors."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if "$schema=" not in line:
            lines.append(line.removeprefix("#").strip())
    return " ".join(lines).removesuffix(".")


def with_table(page: str) -> str:
    """Returns the page with the current table."""
    text, places = _PLACE.subn(lambda place: f"{place[1]}{table()}\n{place[2]}", page)
    if places != 1:
        raise ValueError(f"expected one place for the table of sites in {DOCS_PATH}, found {places}")
    return text


if __name__ == "__main__":
    DOCS_PATH.write_text(with_table(DOCS_PATH.read_text("utf-8")), encoding="utf-8")
