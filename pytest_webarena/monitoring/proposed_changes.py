"""Proposes checks of kind ``changes`` from what solutions changed on the sites, and inserts them in task files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from types import MappingProxyType

from pytest_webarena.changes import FILES, RowKind, SiteChanges, TableChanges, Value
from pytest_webarena.checks.changes import holds_something
from pytest_webarena.suites.writing import yaml_scalar
from pytest_webarena.tasks.model import Task

__all__ = ["Amounts", "Proposal", "inserted", "propose", "without_ignored"]

_KINDS: tuple[RowKind, ...] = ("added", "changed", "removed")
_WIDTH = 140
_PLAIN = re.compile(r"[A-Za-z_][\w.]*")

Ignored = Mapping[str, Sequence[str]]
"""App to patterns of what changes there automatically, from its current catalogue entry."""


@dataclass(slots=True)
class Amounts:
    """Number of changed rows of a table in each of the runs."""

    numbers: dict[RowKind, list[int]] = field(default_factory=lambda: {kind: [] for kind in _KINDS})
    columns: dict[str, None] = field(default_factory=dict)
    allowed_columns: dict[str, None] = field(default_factory=dict)
    """Columns, except those of the key, that held something in an added row."""
    where: Mapping[str, Value] = field(default_factory=dict)
    """Values that all rows share and that the check requires."""

    def text(self) -> str:
        """The amounts in the syntax of task files."""
        parts = []
        for kind, numbers in self.numbers.items():
            lowest, highest = min(numbers), max(numbers)
            if highest:
                parts.append(f"{kind}: {lowest}" if lowest == highest else f"{kind}: {lowest}..{highest}")
        if self.columns and any(self.numbers["changed"]):
            parts.append(f"columns: [{', '.join(map(_name, self.columns))}]")
        if self.allowed_columns:
            parts.append(f"allowed_columns: [{', '.join(map(_name, self.allowed_columns))}]")
        if self.where:
            pairs = ", ".join(f"{_name(name)}: {yaml_scalar(value, flow=True)}" for name, value in self.where.items())
            parts.append(f"where: {{{pairs}}}")
        return f"{{{', '.join(parts)}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The check for one template, made from what the solutions of its instances changed."""

    template: str
    tasks: tuple[Task, ...]
    """Tasks whose solution passed and was recorded."""
    sites: Mapping[str, Mapping[str, Amounts]]
    """Amounts by site, then by table; empty when nothing changed."""
    unknown: str = ""
    """Why there is no proposal."""

    def lines(self, indent: int) -> list[str]:
        """The item of a list of checks as lines, indented by ``indent`` spaces."""
        pad = " " * indent
        first = self.tasks[0].sites[0]
        if not self.sites:
            return [f"{pad}- changes: nothing"]
        if list(self.sites) == [first]:
            inner = {_name(table): amounts.text() for table, amounts in self.sites[first].items()}
            return _item(pad, inner)
        return [
            f"{pad}- changes:",
            *(line for site, tables in self.sites.items() for line in _site(f"{pad}    ", site, tables)),
        ]


def propose(
    template: str,
    runs: Sequence[tuple[Task, Sequence[SiteChanges]]],
    ignored: Ignored,
    *,
    where: Mapping[tuple[str, str], Mapping[str, Value]] = MappingProxyType({}),
) -> Proposal:
    """The check that lists exactly what changed in ``runs`` of a template's instances. ``where`` has values that it
    requires of all written rows, by app and table.

    Where their amounts differ, the check has a range; a person has to decide whether that is intended.
    """
    tasks = tuple(task for task, _ in runs)
    every = [without_ignored(app, ignored.get(app.app, ())) for _, changes in runs for app in changes]
    if unknown_reason := next((app.unknown for app in every if app.unknown), ""):
        return Proposal(template=template, tasks=tasks, sites={}, unknown=unknown_reason)
    sites: dict[str, dict[str, Amounts]] = {}
    for app in every:
        for table in app.tables:
            amounts = sites.setdefault(_site_of(app, tasks), {}).setdefault(table.table, Amounts())
            amounts.where = where.get((app.app, table.table), {})
            amounts.columns.update(dict.fromkeys(table.columns))
            if not table.more:  # otherwise the rows are not all recorded
                amounts.allowed_columns.update(dict.fromkeys(_filled(table)))
    for _, changes in runs:
        by_site = {_site_of(app, tasks): without_ignored(app, ignored.get(app.app, ())) for app in changes}
        for site, tables in sites.items():
            recorded = {table.table: table for table in by_site[site].tables} if site in by_site else {}
            for name, amounts in tables.items():
                for kind in _KINDS:
                    amounts.numbers[kind].append(getattr(recorded.get(name), kind, 0))
    first = tasks[0].sites
    order = sorted(sites, key=lambda site: first.index(site) if site in first else len(first))
    return Proposal(template=template, tasks=tasks, sites={site: sites[site] for site in order})


def _filled(table: TableChanges) -> Iterator[str]:
    for row in table.rows:
        if row.kind == "added" and table.table != FILES:
            yield from (name for name, value in row.row.items() if name not in row.key and holds_something(value))


def without_ignored(app: SiteChanges, ignored: Sequence[str]) -> SiteChanges:
    """The recorded changes without those that the catalogue now ignores; ``ignored`` has patterns as in manifests."""
    return replace(app, tables=tuple(kept for table in app.tables if (kept := _filtered_table(table, ignored)).total))


def _filtered_table(table: TableChanges, ignored: Sequence[str]) -> TableChanges:
    def is_ignored(name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in ignored)

    if is_ignored(table.table):
        return TableChanges(table=table.table)
    rows, fewer = [], dict.fromkeys(_KINDS, 0)
    for row in table.rows:
        now = {name: value for name, value in row.now.items() if not is_ignored(f"{table.table}.{name}")}
        if (row.kind == "added" and is_ignored(f"+{table.table}")) or (row.kind == "changed" and not now):
            fewer[row.kind] += 1
        else:
            rows.append(replace(row, now=now))
    return replace(
        table, rows=tuple(rows),
        columns=tuple(name for name in table.columns if not is_ignored(f"{table.table}.{name}")),
        added=table.added - fewer["added"], changed=table.changed - fewer["changed"],
    )  # fmt: skip


def inserted(text: str, task: Task, item: Sequence[str]) -> str:
    """The text of a task file with ``item`` appended to the task's checks, indented as the list is.

    `ValueError` when the checks are not a list at that place: in defaults, by an alias, on one line that continues.
    """
    lines = text.splitlines(keepends=True)
    last = task.checks[-1].location
    if last is None or last.line < task.location.line:
        raise ValueError("its checks are elsewhere, for example in the file's defaults")
    at = last.line - 1
    found = re.match(r"( *)- ", lines[at])
    if found is None or last.column != len(found[0]) + 1:
        return _inserted_in_line(lines, at, item)
    indent = len(found[1])
    end = at + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    new_lines = [f"{' ' * indent}{line}\n" for line in item]
    if not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    return "".join([*lines[:end], *new_lines, *lines[end:]])


def _inserted_in_line(lines: list[str], at: int, item: Sequence[str]) -> str:
    """Insert into ``checks: [{…}, {…}]`` on a single line."""
    line = lines[at]
    if not re.match(r" *checks: \[", line) or not line.rstrip().endswith("}]") or len(item) > 1:
        raise ValueError("its checks are no list with an item in each line")
    body = line.rstrip()[:-1]
    return "".join([*lines[:at], f"{body}, {{{item[0].removeprefix('- ')}}}]\n", *lines[at + 1 :]])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _site_of(app: SiteChanges, tasks: Sequence[Task]) -> str:
    """The first of the tasks' sites that belongs to the app, otherwise the app's first site."""
    return next((site for site in tasks[0].sites if site in app.sites), app.sites[0])


def _site(pad: str, site: str, tables: Mapping[str, Amounts]) -> Iterator[str]:
    line = f"{pad}{site}: {{{', '.join(f'{_name(table)}: {amounts.text()}' for table, amounts in tables.items())}}}"
    if len(line) <= _WIDTH:
        yield line
        return
    yield f"{pad}{site}:"
    for table, amounts in tables.items():
        yield f"{pad}  {_name(table)}: {amounts.text()}"


def _item(pad: str, inner: Mapping[str, str]) -> list[str]:
    line = f"{pad}- changes: {{{', '.join(f'{name}: {text}' for name, text in inner.items())}}}"
    if len(line) <= _WIDTH:
        return [line]
    return [f"{pad}- changes:", *(f"{pad}    {name}: {text}" for name, text in inner.items())]


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f'"{name}"'
