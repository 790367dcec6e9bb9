"""Prints how much of each widget is equal to raw Playwright.

    python -m tests.widgets.table [WIDGET…] [--json FILE] [--from FILE…] [--write]

Cells are equal, reported (different, and the harness reports it) or silently wrong. Cells that a way of
acting has no verb for are not counted. ``--write`` puts the table into docs/widgets.md and the misses into misses.yaml.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import yaml

from pytest_webarena.browser.config import EngineConfig
from pytest_webarena.browser.engine import BrowserEngine
from tests.widgets.cells import MISSES, Widget, widgets
from tests.widgets.measuring import Bench, Cell
from tests.widgets.site import WidgetSite, missing_packages

PAGE = Path(__file__).parents[2] / "docs" / "widgets.md"
BEGIN, END = "<!-- table: written by python -m tests.widgets.table --write -->", "<!-- end of table -->"
HEAD = "# Cells that differ from raw Playwright; written by python -m tests.widgets.table --write\n"


def main() -> int:
    """Exit status 1 if a cell is silently wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="WIDGET", help="measure only these")
    parser.add_argument("--json", type=Path, help="write all cells to this file")
    parser.add_argument(
        "--from", dest="stored", nargs="+", type=Path, help="read cells from these files instead; later files count"
    )
    parser.add_argument("--write", action="store_true", help="write the documentation and the list of misses")
    options = parser.parse_args()
    chosen = [each for each in widgets() if not options.names or each.name in options.names]
    if options.stored:
        stored = [Cell(**entry) for file in options.stored for entry in json.loads(file.read_text())]
        cells = list({(cell.widget, cell.key): cell for cell in stored}.values())
        chosen = [each for each in chosen if any(cell.widget == each.name for cell in cells)]
    else:
        if lost := missing_packages({name for widget in chosen for name in widget.packages}):
            parser.error(f"expected {', '.join(lost)} in tests/widgets/node_modules; run: python -m tests.widgets.site")
        cells = list(measure(chosen))
    if options.json:
        options.json.write_text(json.dumps([asdict(cell) for cell in cells], indent=1))
    text = "\n".join(table(chosen, cells))
    print(text)
    if options.write:
        write(text, cells)
    return 1 if any(cell.outcome == "silent" for cell in cells) else 0


def write(text: str, cells: Sequence[Cell]) -> None:
    """Write the table into the documentation, and the cells that differ into the list of misses."""
    head, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}")
    misses: dict[str, dict[str, str]] = {}
    for cell in cells:
        if cell.outcome in ("reported", "silent"):
            misses.setdefault(cell.widget, {})[cell.key] = cell.outcome
    MISSES.write_text(HEAD + yaml.safe_dump(misses, sort_keys=True, width=120))


def measure(chosen: Iterable[Widget]) -> Iterable[Cell]:
    """Measure the widgets and print each miss as it is found."""
    site = WidgetSite()
    try:
        with tempfile.TemporaryDirectory() as folder, BrowserEngine(EngineConfig()) as engine:
            bench = Bench(engine, site, Path(folder))
            for widget in chosen:
                for cell in bench.cells(widget):
                    if cell.outcome in ("reported", "silent"):
                        print(
                            f"{widget.name} | {cell.part} | {cell.way}: {cell.outcome}: {cell.detail}", file=sys.stderr
                        )
                    yield cell
            bench.close()
    finally:
        site.close()


def table(chosen: Sequence[Widget], cells: Sequence[Cell]) -> list[str]:
    """Return a table of the widgets, as Markdown."""
    lines = ["| family | widget | cells | equal | reported | silently wrong |", "|---|---|---:|---:|---:|---:|"]
    for widget in chosen:
        lines.append(_row(widget.family, f"`{widget.name}`", [cell for cell in cells if cell.widget == widget.name]))
    return [*lines, _row("all", "", cells)]


def _row(family: str, name: str, cells: Sequence[Cell]) -> str:
    counted = Counter(cell.outcome for cell in cells if cell.outcome != "none")
    total = counted.total()
    share = f"{counted['equal'] / total:.0%}" if total else "–"
    return f"| {family} | {name} | {total} | {share} | {counted['reported']} | {counted['silent']} |"


if __name__ == "__main__":
    sys.exit(main())
