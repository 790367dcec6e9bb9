"""Selects the values of written rows that a query of a proposed check compares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from urllib.parse import unquote

from pytest_webarena.actions import Action, Check, Select, Type
from pytest_webarena.changes import FILES, RowChange, SiteChanges, TableChanges, Value
from pytest_webarena.checks.changes import holds_something
from pytest_webarena.checks.near_days import NEAR, in_days
from pytest_webarena.checks.unread_columns import CLOCK_NAMES
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import clip
from pytest_webarena.trials.other_values import epoch_day, is_clock, is_set_or_cleared
from pytest_webarena.trials.row_repairs import is_cut
from pytest_webarena.trials.sent_values import SentValues, is_alike, sent_by
from pytest_webarena.trials.written_tables import WrittenTable, WrittenTables

__all__ = ["RowValues", "row_values", "sql_condition", "sql_literal", "sql_name"]

_PLAIN = re.compile(r"[A-Za-z_]\w*")
_LONGEST = 100
"""Maximum number of characters of a text that a query compares, unless it was entered, sent or is in the intent."""
_CUT = " […] ("
"""Start of what the ledger writes in place of the end of a long text."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")

_Cell = tuple[str, str, int, str]
"""App, table, number of the row and column."""


@dataclass(frozen=True, slots=True)
class RowValues:
    """What is known of a task by which a row's values are chosen."""

    written: frozenset[str]
    """Texts that were typed or chosen."""
    words: str
    """The intent and the paths of the start pages."""
    ticks: bool
    """Whether a box was ticked."""
    sent: SentValues
    """Values of the requests that may write."""
    days: frozenset[str]
    """Dates on which the sites wrote something by their clocks."""
    today: date | None
    """The day of the recording; None if the sites' clocks show another one."""
    unsteady: frozenset[_Cell]
    """Cells that differed, or did not exist, when the same steps were done again."""
    tables: WrittenTables
    """What the tables are like, by app and name."""

    def columns(self, table: TableChanges, row: RowChange, place: tuple[str, str, int]) -> dict[str, Value]:
        """Return what a query says about a row: its key, and all columns that were written, but not clocks, generated
        keys, long texts and values that differ from run to run. Of a removed row without a key, all steady values."""
        if row.kind == "removed":
            return dict(row.key) or {
                name: value for name, value in row.row.items()
                if not (is_cut(value) or (*place, name) in self.unsteady or self._counted_day(name, value))
            }  # fmt: skip
        generated = set(row.key) - set(table.references) if len(row.key) == 1 else set()
        values = row.now if row.kind == "changed" else row.row
        known = self.tables.get(place[:2], WrittenTable())
        computed = known.ordering | (known.counted if row.kind == "added" else frozenset())
        chosen = {
            name: value for name, value in values.items()
            if name not in generated and (row.kind == "changed" or holds_something(value))
            and (
                self.has(name, value) or self._is_state(row, name)
                or not (self._is_clock(name, value) or (*place, name) in self.unsteady)
            )
            and (name not in computed or self._is_entered(value) or bool(self.sent.path_words(value)))
            and not (isinstance(value, str) and (value.startswith("base64:") or not self._is_readable(name, value)))
        }  # fmt: skip
        return {**(row.key if row.kind == "changed" else {}), **chosen} if chosen else {}

    def shared_key(self, app: SiteChanges, table: TableChanges) -> dict[str, Value]:
        """Return the key that all written rows of a table share, if no generated or unsteady value is in it."""
        if table.more or not table.rows:
            return {}
        unsteady = any(
            (app.app, table.name, number, name) in self.unsteady
            for number, row in enumerate(table.rows) for name in row.key
        )  # fmt: skip
        generated = table.table != FILES and any(row.kind == "added" for row in table.rows)
        if unsteady or generated:
            return {}
        named = [
            row.key or self.columns(table, row, (app.app, table.name, number)) for number, row in enumerate(table.rows)
        ]  # fmt: skip
        return {name: value for name, value in named[0].items() if all(row.get(name) == value for row in named)}

    def unread_columns(self, table: TableChanges) -> list[str]:
        """Return the columns of changed rows that are no clocks."""
        return [
            name
            for name in table.columns
            if any(
                self._is_state(row, name) or not self._is_clock(name, row.now[name])
                for row in table.rows
                if name in row.now
            )
        ]

    def conditions(
        self, app: SiteChanges, table: TableChanges, row: RowChange, columns: Mapping[str, Value]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return SQL conditions, and their descriptions, of columns that are not simply compared: references to new
        rows, whose keys are generated, dates that the site counted from today, moments that were set, and long
        texts."""
        found, described = dict[str, str](), dict[str, str]()
        if row.kind == "removed":
            return found, described
        for name, value in columns.items():
            if value is not None and self._is_state(row, name) and not self.has(name, value):
                former = row.row.get(name)
                found[name] = f"{sql_name(name)} {'is not' if former is None else '<>'} {sql_literal(former)}"
                described[name] = "a moment"
            elif (link := self._link(app, table, name, value)) is not None:
                found[name], described[name] = link
            elif (app.app, table.name) in self.tables and (day := self._counted_day(name, value)) is not None:
                found[name], described[name] = day
            elif isinstance(value, str) and len(value) > _LONGEST:
                described[name] = clip(value, _LONGEST)
                if not self.has(name, value):
                    part = self._entered_part(value)
                    found[name] = f"instr({sql_name(name)}, {sql_literal(part)}) > 0"
                elif is_cut(value):
                    start, length = _cut_text(value)
                    column = sql_name(name)
                    same = f"substr({column}, 1, {len(start)}) = {sql_literal(start)}"
                    found[name] = f"{same} and length({column}) = {length}"
        return found, described

    def _link(
        self, app: SiteChanges, table: TableChanges, name: str, value: Value, *, inner: bool = False
    ) -> tuple[str, str] | None:
        """Return a condition for a reference to a row that is new, and its description; None for others. ``inner``:
        without the condition, as rows may refer to each other."""
        references = self.tables.get((app.app, table.name), WrittenTable()).references
        for other in app.tables:
            keys = {tuple(row.key) for row in other.rows}
            declared = references.get(name, ("", ""))[0] == other.table
            guessed = name not in references and other.table != table.table and is_alike(name, other.table)
            if other.table == FILES or other.database != table.database or not (declared or guessed):
                continue
            new = [row for row in other.rows if row.kind == "added"]
            for place, row in enumerate(other.rows):
                if row.kind != "added" or tuple(row.key.values()) != (value,) or len(keys) != 1:
                    continue
                if inner:
                    return "", ""
                [key] = row.key
                own = self.columns(other, row, (app.app, other.name, place))
                parts = [
                    sql_condition(each, of) for each, of in own.items()
                    if not is_cut(of) and self._link(app, other, each, of, inner=True) is None
                ]  # fmt: skip
                if isinstance(value, int):  # an older row may have the same values
                    first = min(number for each in new if isinstance(number := each.key[key], int))
                    parts.append(f"{sql_name(key)} >= {first}")
                found = f"select {sql_name(key)} from {sql_name(other.table)} where {' and '.join(parts)}"
                return (f"{sql_name(name)} in ({found})", f"the new row of {other.table}") if parts else None
        return None

    def _counted_day(self, name: str, value: Value) -> tuple[str, str] | None:
        """Return a condition for a date near today that nobody entered or sent, and its description; None for others.
        The database's day may be the one before or after the site's."""
        if self.today is None or (day := _day(value)) is None or self.has(name, value):
            return None
        days = (day - self.today).days
        if abs(days) > NEAR or self.has(name, day.isoformat()):
            return None
        low, high = (f"date('now', '{days + each:+} days')" for each in (-1, 1))
        column = sql_name(name)
        if (epoch := epoch_day(value)) is not None:
            seconds = column if epoch[1] == 1 else f"{column} / {epoch[1]}"
            return f"date({seconds}, 'unixepoch') between {low} and {high}", in_days(days)
        return f"substr({column}, 1, 10) between {low} and {high}", in_days(days)

    def _is_chosen(self, column: str, value: Value) -> bool:
        return self.has(column, value) or (isinstance(value, str) and bool(self._entered_part(value)))

    def _is_entered(self, value: Value) -> bool:
        """Whether a value was typed or chosen, or the intent has it."""
        return self._is_written(value) or self._is_in_words(value)

    def _is_readable(self, column: str, value: str) -> bool:
        """Whether a text is short, or one that was entered or sent, or contains one."""
        return len(value) <= _LONGEST or self._is_chosen(column, value)

    def _entered_part(self, value: str) -> str:
        """Return the longest entered text that a text contains."""
        texts = (text for text in self.written if len(text) > 2 and text in value.replace("\r\n", "\n"))
        return max(texts, key=len, default="")

    def is_meant(self, table: TableChanges, row: RowChange, columns: Mapping[str, Value]) -> bool:
        """Return whether a row is what the task is about: it has something of the intent, the steps or the requests, or
        links others, or its state changed."""
        written = {name: value for name, value in columns.items() if row.kind == "added" or name not in row.key}
        if row.kind == "removed" or any(self._is_chosen(name, value) for name, value in written.items()):
            return True
        links = [name for name, value in columns.items() if refers(table, name, value)]
        if row.kind == "changed":
            states = [value for value in written.values() if isinstance(value, str) or value in (0, 1, None)]
            states += [value for name, value in written.items() if self._is_state(row, name)]
            return bool(states) or any(name in written for name in links)
        return len(links) > 1 and not written.keys() - set(links)

    def has(self, column: str, value: Value) -> bool:
        """Return whether a value is in the task, was entered or sent; a number, as a number of its own."""
        if value in (None, "") or isinstance(value, bool):
            return False
        return (
            self._is_written(value)
            or self.sent.has(column, value)
            or self._is_in_words(value)
            or (self.ticks and value == 1 and not CLOCK_NAMES.search(column))
        )

    def _is_written(self, value: Value) -> bool:
        text = str(value).replace("\r\n", "\n")  # forms send other line ends than are typed
        if is_cut(value):
            start = _cut_text(text)[0]
            return any(each.startswith(start) for each in self.written)
        return text in self.written

    def _is_in_words(self, value: Value) -> bool:
        text = str(value)
        if isinstance(value, str):
            return len(value) > 2 and (_cut_text(value)[0] if is_cut(value) else value) in self.words
        return bool(re.search(rf"(?<![\w.-]){re.escape(text)}(?![\w-]|\.\d)", self.words))

    def _is_clock(self, column: str, value: Value) -> bool:
        if is_clock(value):
            return True
        named = bool(CLOCK_NAMES.search(column))
        if (day := _day(value)) is not None:
            return named and day.isoformat() in self.days
        return named and value is not None

    def _is_state(self, row: RowChange, column: str) -> bool:
        """Whether a moment was set in an empty column, or removed."""
        if row.kind != "changed" or column not in row.now:
            return False
        former, now = row.row.get(column), row.now[column]
        if column not in row.row or not is_set_or_cleared(former, now):
            return False
        return is_clock(now or former) or ((former is None or now is None) and self._is_clock(column, now or former))


def refers(table: TableChanges, column: str, value: Value) -> bool:
    """Whether a column is a foreign key: as declared, or by its name where nothing is declared."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return column in table.references or (column.endswith("_id") and is_number)


def row_values(
    task: Task,
    steps: Sequence[Action],
    changes: Sequence[SiteChanges],
    again: Sequence[SiteChanges],
    requests: Sequence[RequestRecord],
    tables: WrittenTables,
) -> RowValues:
    cells, others = dict(_cells(changes)), dict(_cells(again))
    apps = {app.app for app in again if not app.unknown}
    moments = {value[:10] for value in cells.values() if isinstance(value, str) and _day(value) and is_clock(value)}
    today = date.today()
    return RowValues(
        written=frozenset(text for step in steps for text in _written(step)),
        words=" ".join((task.intent, *_starts(task))),
        ticks=any(isinstance(step, Check) and step.checked for step in steps),
        sent=sent_by(requests),
        days=frozenset({*moments, today.isoformat()}),
        today=today if not moments or any(abs((today - each).days) <= 1 for each in _days(moments)) else None,
        unsteady=frozenset(
            cell for cell, value in cells.items() if cell[0] in apps and (cell not in others or others[cell] != value)
        ),
        tables=tables,
    )


def _day(value: Value) -> date | None:
    """Return the day with which a text begins, or that a number of seconds since 1970 means."""
    if isinstance(value, str) and _DATE.match(value):
        with suppress(ValueError):
            return date.fromisoformat(value[:10])
    epoch = epoch_day(value)
    return epoch[0] if epoch is not None else None


def _days(moments: Iterable[str]) -> Iterator[date]:
    for each in moments:
        with suppress(ValueError):
            yield date.fromisoformat(each)


def _cells(changes: Sequence[SiteChanges]) -> Iterator[tuple[_Cell, Value]]:
    for app in changes:
        for table in app.tables:
            for number, row in enumerate(table.rows):
                for column, value in {**row.key, **(row.now if row.kind == "changed" else row.row)}.items():
                    yield (app.app, table.name, number, column), value


def _starts(task: Task) -> list[str]:
    return [unquote(start.path) for start in task.start]


def sql_name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def sql_condition(name: str, value: Value) -> str:
    return f"{sql_name(name)} {'is' if value is None else '='} {sql_literal(value)}"


def _cut_text(value: str) -> tuple[str, int]:
    """Return the beginning and the length of a text that the ledger shortened."""
    start, _, length = value.partition(_CUT)
    return start, int(re.sub(r"\D", "", length) or 0)


def sql_literal(value: Value) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "null" if value is None else str(int(value)) if isinstance(value, bool) else str(value)


def _written(step: Action) -> Iterator[str]:
    if isinstance(step, Type):
        yield step.text
    elif isinstance(step, Select):
        yield from step.options
