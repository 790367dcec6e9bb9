"""Compares the data of an app at two moments, without the changes that its manifest ignores. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase

from pytest_webarena.changes import FILES, MOST_ROWS, RowChange, RowKind, SiteChanges, TableChanges
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.ledger.rows import compare
from pytest_webarena.sites.ledger.snapshot import Moment

__all__ = ["between", "nothing_known", "nothing_possible"]


def between(app: AppManifest, before: Moment, after: Moment, *, listed: bool = True) -> SiteChanges:
    """Returns what differs in ``app``."""
    tables: list[TableChanges] = []
    known: list[str] = []
    columns: dict[str, tuple[str, ...]] = {}
    listed_all = True
    unknown = [moment.unknown for moment in (before, after) if moment.unknown]
    for name, database in app.databases.items():
        if name in before.databases and name in after.databases:
            found = compare(before.databases[name], after.databases[name], database=name, ignore=database.ignore)
            tables += found.tables
            known += [f"{name}.{table}" for table in found.known]
            columns.update({f"{name}.{table}": names for table, names in found.columns.items()})
            listed_all &= bool(found.known)
            unknown += [found.unknown] if found.unknown else []
        elif not unknown:
            unknown.append(f"the database {name} could not be read at both times")
    if before.files is not None and after.files is not None:
        changes = _files(app, before, after)
        tables += [changes] if changes.total else []
        known.append(FILES)
        columns[FILES] = ("path",)
    difference = _site_changes(
        app, listed, tuple(tables), tuple(known) if listed_all else (), "; ".join(dict.fromkeys(unknown))
    )
    return replace(difference, columns=columns)


def nothing_known(app: AppManifest, why: str, *, listed: bool = True) -> SiteChanges:
    """Returns the changes of an app whose data can't be read."""
    return _site_changes(app, listed, (), (), why)


def nothing_possible(app: AppManifest, *, listed: bool = True) -> SiteChanges:
    """Returns the changes of a read-only app: none."""
    return _site_changes(app, listed, (), (), "")


def _site_changes(
    app: AppManifest, listed: bool, tables: tuple[TableChanges, ...], known: tuple[str, ...], unknown: str
) -> SiteChanges:
    return SiteChanges(
        app=app.name, sites=tuple(site.name for site in app.sites), listed=listed, strict=app.forbid_side_effects,
        tables=tables, known=known, unknown=unknown,
    )  # fmt: skip


def _files(app: AppManifest, before: Moment, after: Moment) -> TableChanges:
    was, now = before.files or {}, after.files or {}
    rows: list[RowChange] = []
    for path in sorted(was.keys() | now.keys()):
        if was.get(path) == now.get(path) or any(fnmatchcase(path, pattern) for pattern in app.ignore_files):
            continue
        kind: RowKind = "added" if path not in was else "removed" if path not in now else "changed"
        rows.append(RowChange(kind=kind, key={"path": path}, row={"path": path}))
    count = Counter(row.kind for row in rows)
    return TableChanges(
        table=FILES, rows=tuple(rows[:MOST_ROWS]),
        added=count["added"], changed=count["changed"], removed=count["removed"],
    )  # fmt: skip
