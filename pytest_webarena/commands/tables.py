"""``webarena compare tables``: success rates of runs as the papers tabulate them, next to published ones."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_webarena.checks.grading import GRADINGS
from pytest_webarena.results.listing import chosen_run
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.table_data import as_csv, as_json
from pytest_webarena.results.table_forms import Table, as_latex, as_markdown, as_text
from pytest_webarena.results.tables import gather, tables
from pytest_webarena.results.unreadable import name_damaged

__all__ = ["add_arguments"]

_FORMATS = ("text", "markdown", "latex", "csv", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN_DIR", help="default: the newest run here")
    parser.add_argument(
        "--grading", choices=GRADINGS, default="", help="by these verdicts of the records (default: those that counted)"
    )
    parser.add_argument(
        "--templates", choices=("text", "id"), default="text", help="what makes a template (default: text)"
    )
    parser.add_argument("--each-template", action="store_true", help="also how many instances of each template passed")
    parser.add_argument("--format", choices=_FORMATS, default="text", help="default: text")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    runs = options.runs or [chosen_run(None, with_rates=True)]
    rows = gather(runs, grading=options.grading, templates=options.templates)

    def found() -> list[Table]:
        return tables(rows, templates=options.templates, each_template=options.each_template)

    forms: dict[str, Callable[[], Any]] = {
        "text": lambda: as_text(found()),
        "markdown": lambda: as_markdown(found()),
        "latex": lambda: as_latex(found()),
        "csv": lambda: as_csv(rows).rstrip("\n"),
        "json": lambda: as_json(rows),
    }
    print(forms[options.format]())
    return max(name_damaged(found, found.read()) for found in map(RunDir, runs))
