"""``webarena sites query``: print the result of SQL on a site's database as CSV, for fillings and references."""

from __future__ import annotations

import argparse
import csv
import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.errors import TrialError, writing
from pytest_webarena.secrets import scrub

__all__ = ["add_arguments", "as_csv"]

_PATIENCE = 600.0
"""Seconds that the site may take to start."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("site", metavar="SITE")
    parser.add_argument("sql", metavar="SQL", help="one statement that reads; '-': from standard input")
    parser.add_argument("--database", default="", metavar="NAME", help="which one of the app (default: its first)")
    parser.add_argument("--sites", default=None, metavar="CATALOGUE", help="default: the ini file's, or embedded")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    parser.set_defaults(run=_query)


def _query(options: argparse.Namespace) -> int:
    from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
    from pytest_webarena.sites.client.lease import BrokerClient

    sql = sys.stdin.read() if options.sql == "-" else options.sql
    with tempfile.TemporaryDirectory(prefix="webarena-query-") as scratch:
        config = BrokerConfig(catalogue=options.sites, run_dir=Path(scratch), max_replicas=1)
        try:
            with (
                BrokerLauncher(config) as launcher,
                BrokerClient(launcher.address, name="query") as client,
                client.lease([options.site], holder="webarena sites query", timeout=_PATIENCE) as lease,
            ):
                found = lease.query(options.site, sql, database=options.database)
        except TrialError as error:
            print(f"error ({error.cause}): {error}", file=sys.stderr)
            return 1
    text = as_csv(found.columns, found.rows)
    if options.output is None:
        sys.stdout.write(text)
        return 0
    with writing(options.output, "-o"):
        options.output.write_text(scrub(text), encoding="utf-8", newline="")
    count = len(found.rows)
    print(f"wrote {options.output}: {count} {'row' if count == 1 else 'rows'}", file=sys.stderr)
    return 0


def as_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return CSV that spreadsheets and ``each: FILE.csv`` read; NULL becomes an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    return text.getvalue()
