"""Measures the cost of comparing side effects per trial, on each embedded site.

    python benchmarks/ledger.py [--rounds 9]

A trial takes two snapshots, when its agent starts and when it has stopped, and compares them. All runs in this process,
as it does in the broker's. Columns: size of the database, and median processor milliseconds of both snapshots and the
comparison, for a trial that only reads (*unchanged*) and for one that wrote a row (*changed*).
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from importlib import import_module
from pathlib import Path

from pytest_webarena.changes import SiteChanges
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.ledger.comparing import between
from pytest_webarena.sites.ledger.snapshot import moment_below

WRITES = {
    "homepage": "update notes set title = title || 'x' where id = (select min(id) from notes)",
    "reddit": "update posts set title = title || 'x' where id = (select min(id) from posts)",
    "gitlab": "update issues set title = title || 'x' where id = (select min(id) from issues)",
    "shop": "update order_order set status = 'x' where id = (select min(id) from order_order)",
}
"""A statement for each app that changes one row."""


def trial(app: AppManifest, folder: Path, write: str = "") -> SiteChanges:
    """Reads both states of a trial, with a write in between, and compares them."""
    before = moment_below(folder, app)
    if write:
        with closing(sqlite3.connect(folder / "main.sqlite3")) as connection, connection:
            connection.execute(write)
    return between(app, before, moment_below(folder, app))


def cost(rounds: int, app: AppManifest, folder: Path, write: str = "") -> float:
    """Returns the median CPU time of a trial in milliseconds."""
    spent = []
    for _ in range(rounds):
        began = time.process_time()
        trial(app, folder, write)
        spent.append((time.process_time() - began) * 1000)
    return statistics.median(spent)


def main() -> None:
    """Prints a line per site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="measure this many rounds (default: %(default)s)")
    rounds: int = parser.parse_args().rounds
    apps = load_catalogue("embedded").apps
    print(f"{'site':10} {'database':>10} {'unchanged':>10} {'changed':>10}")
    for name, write in WRITES.items():
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            import_module(f"pytest_webarena.embedded.{name}").seed(folder)
            assert trial(apps[name], folder, write).total == 1
            same, other = cost(rounds, apps[name], folder), cost(rounds, apps[name], folder, write)
            size = (folder / "main.sqlite3").stat().st_size
        print(f"{name:10} {size / 2**20:6.1f} MiB {same:7.1f} ms {other:7.1f} ms")


if __name__ == "__main__":
    main()
