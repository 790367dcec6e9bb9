"""The kind ``changes``: which rows and files of the sites may and must change during the trial; everything else must
not."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_webarena.changes import FILES, RowChange, RowKind, SiteChanges, TableChanges, bounded
from pytest_webarena.checks.counts import Count
from pytest_webarena.checks.kind import EvidenceSource, Judgement, Kind, View
from pytest_webarena.checks.state import same_stored
from pytest_webarena.errors import Cause, closest
from pytest_webarena.tasks.file_reading import INVALID, Invalid, Reading
from pytest_webarena.tasks.nodes import MapNode, Node, ScalarNode
from pytest_webarena.tasks.record_shapes import Field, ListOf, MapOf, Record
from pytest_webarena.tasks.shapes import Fault, Json, Schema, Schemas, Shape, Text, filled_scalar
from pytest_webarena.text import clip

__all__ = ["CHANGES", "NOTHING", "ChangesSpec", "TableSpec", "holds_something", "judge_changes"]

_KINDS: tuple[RowKind, ...] = ("added", "changed", "removed")
_NONE = Count(low=0, high=0)
_RANGE = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})?")
_TOLD = 4
"""Maximum number of rows of a table that a message lists."""
_LONGEST = 1500
"""Maximum length of a message in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """How many rows of one table may and must differ."""

    added: Count = _NONE
    changed: Count = _NONE
    removed: Count = _NONE
    columns: tuple[str, ...] = ()
    """Columns that may differ in changed rows; empty allows any."""
    allowed_columns: tuple[str, ...] = ()
    """Columns that may have a value in added rows, in addition to the key and the columns of `where`; empty allows
    any."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Values by column that each of these rows has at the end; a removed row had them before."""

    def count(self, kind: RowKind) -> Count:
        """Returns the bounds for one kind of change."""
        found: Count = getattr(self, kind)
        return found

    def __str__(self) -> str:
        parts = [f"{'any' if count.high is None and not count.low else count} {kind}" for kind in _KINDS
                 if (count := self.count(kind)) != _NONE]  # fmt: skip
        in_columns = f" in {', '.join(self.columns)}" if self.columns else ""
        allowed = f" with {', '.join(self.allowed_columns)}" if self.allowed_columns else ""
        which = "".join(f", {name} {value!r}" for name, value in self.where.items())
        return f"{' and '.join(parts) or 'nothing'}{in_columns}{allowed}{which}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesSpec:
    """All allowed and required differences, by site and table."""

    sites: Mapping[str, Mapping[str, TableSpec]] = field(default_factory=dict)
    """Differences by site and table; the empty name is the task's first site."""

    def __str__(self) -> str:
        told = [
            f"{f'{site}: ' if site else ''}{table}: {spec}"
            for site, tables in self.sites.items()
            for table, spec in tables.items()
        ]
        return f"these changes and no others: {'; '.join(told)}" if told else "nothing has changed"


NOTHING = ChangesSpec()


class _Amount(Shape[Count]):
    label = "a number, a range such as 0..2 or 1.., or any"

    def read(self, node: Node, reading: Reading) -> Count | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        if isinstance(filled, ScalarNode):
            text = filled.value.strip()
            if text == "any":
                return Count()
            if text.isascii() and text.isdigit() and len(text) < 10:
                return Count(low=int(text), high=int(text))
            if (found := _RANGE.fullmatch(text)) and (not found[2] or int(found[1]) <= int(found[2])):
                return Count(low=int(found[1]), high=int(found[2]) if found[2] else None)
        return self.mismatch(filled, reading)

    def json_schema(self, schemas: Schemas) -> Schema:
        texts = {"type": "string", "pattern": r"^(any|[0-9]+|[0-9]+\.\.[0-9]*)$"}
        return schemas.or_template({"anyOf": [{"type": "integer", "minimum": 0}, texts]})


def _rule(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    if all(values[kind] == _NONE for kind in _KINDS):
        return Fault("how many rows are 'added', 'changed' or 'removed'", "none", "leave the table out")
    if values["columns"] and values["changed"] == _NONE:
        return Fault("'changed' with 'columns'", "none", "'allowed_columns' limits added rows")
    if values["allowed_columns"] and values["added"] == _NONE:
        return Fault("'added' with 'allowed_columns'", "none", "'columns' limits changed rows")
    return None


def _amount(kind: str, doc: str, example: str) -> Field:
    return Field(key=kind, shape=_Amount(), default=_NONE, default_text="`0`", doc=doc, example=example)


TABLE: Record[TableSpec] = Record(
    "table's changes",
    TableSpec,
    [
        _amount("added", "Number of new rows.", "- changes: {notes: {added: 1}}"),
        _amount(
            "changed",
            "Number of changed rows.",
            "- changes: {notes: {changed: 0..1}}",
        ),
        _amount("removed", "Number of removed rows.", "- changes: {notes: {removed: any}}"),
        Field(
            key="columns",
            shape=ListOf(Text("a column", form="word"), or_one=True),
            default=(),
            default_text="any",
            doc="Columns that may differ in changed rows.",
            example="- changes: {notes: {changed: 1, columns: [title, body]}}",
        ),
        Field(
            key="allowed_columns",
            shape=ListOf(Text("a column", form="word"), or_one=True),
            default=(),
            default_text="any",
            doc=(
                "Columns that may have a value in added rows, in addition to the key and those of `where`. All "
                "others must be null, 0 or empty."
            ),
            example="- changes: {notes: {added: 1, allowed_columns: [owner, title, body, created, updated]}}",
        ),
        Field(
            key="where",
            shape=MapOf(Json("a value"), "a mapping from columns to values"),
            default={},
            default_text="none",
            doc="Values that each of these rows has at the end; for removed rows, before the removal.",
            example="- changes: {notes: {added: 1, where: {title: Tea}}}",
        ),
    ],
    rule=_rule,
    doc="How many rows of the table must differ, and where.",
)
_TABLES = MapOf(TABLE, "a mapping from tables to how many of their rows change", key=Text("a table"))


class _Form(Shape[ChangesSpec]):
    label = "'nothing', a mapping from tables, or a mapping from sites to such"

    def read(self, node: Node, reading: Reading) -> ChangesSpec | Invalid:
        filled = filled_scalar(node, reading)
        if filled is None:
            return INVALID
        if _is_nothing(filled):
            return NOTHING
        if not isinstance(filled, MapNode) or not (entries := reading.entries(filled)):
            return self.mismatch(filled, reading)
        sites: dict[str, dict[str, TableSpec]] = {}
        whole = True
        for name, (key, value) in entries.items():
            if not self._is_site(value, reading):
                spec = TABLE.read(value, reading)
                whole &= not isinstance(spec, Invalid)
                if not isinstance(spec, Invalid):
                    sites.setdefault((reading.sites or ("",))[0], {})[name] = spec
                continue
            if not reading.may_name(name):
                reading.problem(
                    key, "a site of the catalogue", f"'{clip(name)}'", "tables have counts, e.g. {added: 1}"
                )
                whole = False
                continue
            tables = {} if _is_nothing(value) else _TABLES.read(value, reading)
            whole &= not isinstance(tables, Invalid)
            sites.setdefault(name, {}).update(tables if not isinstance(tables, Invalid) else {})
        return ChangesSpec(sites=sites) if whole else INVALID

    @staticmethod
    def _is_site(value: Node, reading: Reading) -> bool:
        """Whether a mapping is a site: a table has at least one count, a site only tables."""
        if not isinstance(value, MapNode):
            return _is_nothing(value)
        parts = [part for _, part in reading.entries(value).values()]
        return bool(parts) and all(isinstance(part, MapNode) for part in parts)

    def json_schema(self, schemas: Schemas) -> Schema:
        table = TABLE.json_schema(schemas)
        nothing = {"const": "nothing"}
        site = {"anyOf": [nothing, {"type": "object", "additionalProperties": table}]}
        either = {"anyOf": [table, site]}
        return schemas.or_template(
            {"anyOf": [nothing, {"type": "object", "additionalProperties": either, "minProperties": 1}]}
        )

    def parts(self) -> tuple[Shape[Any], ...]:
        return (TABLE,)


def _is_nothing(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value.strip() == "nothing"


def judge_changes(
    spec: ChangesSpec, changes: Sequence[SiteChanges] | None, *, first: str = "", expected: str = ""
) -> Judgement:
    """Returns whether ``changes`` are exactly what ``spec`` allows and requires. ``first`` is the task's first site."""
    expected = expected or clip(str(spec), 300)
    if changes is None:
        why = "nobody noted what the sites held: the trial is of an older version, or was played without sites"
        return Judgement.unknown(expected=expected, why=why)
    wanted = {site or first: tables for site, tables in spec.sites.items()}
    faults: list[str] = []
    mistakes: list[str] = []
    open_ends: list[str] = []
    for site in wanted:
        if not any(site in app.sites for app in changes):
            open_ends.append(f"there is no telling what changed on {site}: its manifest names no database")
    for app in changes:
        named = [wanted[site] for site in app.sites if site in wanted]
        tables = {table: how for each in named for table, how in each.items()}
        counts = app.listed or app.strict or named
        if app.unknown and counts:
            open_ends.append(f"there is no telling what changed on {_names(app)}: {app.unknown}")
        elif counts:
            where = f"{_names(app)}: " if len(changes) > 1 else ""
            found = _Found(where, [], [], [])
            _judge_app(app, tables, found)
            faults += found.faults
            mistakes += found.mistakes
            open_ends += found.open_ends
    actual = clip("; ".join(_summary(changes)) or "nothing changed", 300)
    if mistakes:  # nothing can satisfy such a check, whatever changed
        return Judgement.unknown(expected=expected, actual=actual, why=clip("; ".join(mistakes), _LONGEST))
    if faults:
        return Judgement.of(False, expected=expected, actual=actual, why=clip("; ".join(faults), _LONGEST))
    if open_ends:
        cause: Cause | None = "site" if any(app.unknown for app in changes) else None
        return Judgement.unknown(
            expected=expected, actual=actual, why=clip("; ".join(open_ends), _LONGEST), cause=cause
        )
    return Judgement.of(True, expected=expected, actual=actual)


@dataclass(frozen=True, slots=True)
class _Found:
    where: str
    faults: list[str]
    """Changes, and missing changes, that contradict the check."""
    mistakes: list[str]
    """Names in the check that the site does not have."""
    open_ends: list[str]
    """Why something is unknown."""


def _judge_app(app: SiteChanges, wanted: Mapping[str, TableSpec], found: _Found) -> None:
    left = dict(wanted)
    for table in app.tables:
        name = next((name for name in (table.name, table.table) if name in left), "")
        if not name:
            found.faults.append(f"{found.where}{table.table} must not change: {_rows(table, table.rows)}")
            continue
        _judge_table(table, left.pop(name), found)
    for name, spec in left.items():
        _judge_table(TableChanges(table=name), spec, found)
    for name, spec in wanted.items():
        found.mistakes.extend(f"{found.where}{mistake}" for mistake in _mistakes(name, spec, app))


def _mistakes(table: str, spec: TableSpec, app: SiteChanges) -> Iterator[str]:
    """Yields the table and column names of the check that the app does not have, as far as that is known."""
    plain = {name: name.partition(".")[2] or name for name in app.known}
    full = [name for name in app.known if table in (name, plain[name])]
    if app.known and not full:
        seen = [*dict.fromkeys((*plain.values(), *app.known))]
        yield f"there is no table {table!r} that the ledger compares; {closest(table, seen)}"
    columns = [column for name in full for column in app.columns.get(name, ())]
    if not columns or any(name not in app.columns for name in full):
        return
    for column in dict.fromkeys((*spec.columns, *spec.allowed_columns, *spec.where)):
        if column not in columns:
            yield f"{table} has no column {column!r}; {closest(column, columns)}"


def _judge_table(table: TableChanges, spec: TableSpec, found: _Found) -> None:
    where = f"{found.where}{table.table}"
    stray = [row for row in table.rows if not _is_meant(row, spec)]
    if stray:
        found.faults.append(f"{where}: only rows with {_pairs(spec.where)} may change: {_rows(table, stray)}")
    elif spec.where and table.more:
        found.open_ends.append(f"{where}: {table.total} rows differ, of which {table.more} were not kept")
    for kind in _KINDS:
        number, count = getattr(table, kind), spec.count(kind)
        if not count.holds(number):
            rows = [row for row in table.rows if row.kind == kind]
            told = f": {_rows(table, rows)}" if rows else ""
            found.faults.append(f"{where}: expected {count} {kind}, found {number}{told}")
    beyond = {name: row for row in table.rows for name in _beyond(row, spec)}
    if beyond:
        told = ", ".join(f"{name} {clip(str(row.row[name]))!r}" for name, row in beyond.items())
        found.faults.append(
            f"{where}: of added rows only {', '.join(spec.allowed_columns)} may hold something, found {told}"
        )
    elif spec.allowed_columns and not spec.where and table.added and table.more:
        found.open_ends.append(f"{where}: {table.total} rows differ, of which {table.more} were not kept")
    others = [name for name in table.columns if name not in spec.columns] if spec.columns else []
    if others:
        rows = [row for row in table.rows if any(name in row.now for name in others)]
        found.faults.append(
            f"{where}: of changed rows only {', '.join(spec.columns)} may differ, found {', '.join(others)}: "
            f"{_rows(table, rows)}"
        )


def _is_meant(row: RowChange, spec: TableSpec) -> bool:
    values = {**row.key, **row.row, **row.now}
    return all(name in values and same_stored(values[name], bounded(value)) for name, value in spec.where.items())


def _beyond(row: RowChange, spec: TableSpec) -> Iterator[str]:
    """Yields the columns of an added row that have a value which the check does not allow."""
    if row.kind == "added" and spec.allowed_columns:
        allowed = {*spec.allowed_columns, *row.key, *spec.where}
        yield from (name for name, value in row.row.items() if holds_something(value) and name not in allowed)


def holds_something(value: Any) -> bool:
    """Whether a column has a value: not null, an empty text or 0, the usual defaults."""
    return value not in (None, "", 0)


def _rows(table: TableChanges, rows: Sequence[RowChange]) -> str:
    more = len(rows) - _TOLD + (table.more if len(rows) == len(table.rows) else 0)
    told = ", ".join(clip(str(row), 200) for row in rows[:_TOLD])
    return told + (f" and {more} more" if more > 0 else "")


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in values.items())


def _names(app: SiteChanges) -> str:
    return "/".join(app.sites) or app.app


def _summary(changes: Sequence[SiteChanges]) -> Iterator[str]:
    """Yields what changed, table by table."""
    for app in changes:
        for table in app.tables:
            counts = " ".join(f"{number} {kind}" for kind in _KINDS if (number := getattr(table, kind)))
            columns = f" ({', '.join(table.columns)})" if table.columns else ""
            yield f"{_names(app)}: {table.table} {counts}{columns}"


def _sights(spec: ChangesSpec) -> Collection[EvidenceSource]:
    found: tuple[EvidenceSource, ...] = ("data",)
    return found


def _judge(spec: ChangesSpec, view: View) -> Judgement:
    return judge_changes(spec, view.evidence.changes, first=next(iter(view.evidence.sites), ""))


CHANGES: Kind[ChangesSpec] = Kind(
    name="changes",
    doc=(
        "Checks that only the listed data changed since the agent began ([side effects](side-effects.md)). Takes a "
        "mapping from tables of the first site to numbers of rows, a mapping from sites to such tables, or `nothing`. "
        f"`{FILES}` is the table of files outside the databases, with the column `path`: "
        f"`{FILES}: {{added: 1}}`. "
        "`webarena tasks side-effects` writes this check."
    ),
    form=_Form(),
    judge=_judge,
    looks_at=_sights,
    reads_changes=True,
    examples=(
        "- changes: {notes: {added: 1}}",
        "- changes:\n    notes: {changed: 1, columns: [title]}\n    calculations: {added: 0..1}",
        "- changes:\n    homepage:\n      notes: {added: 1, where: {title: Tea}}",
        "- changes: nothing",
    ),
)
