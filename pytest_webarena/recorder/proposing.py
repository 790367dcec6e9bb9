"""Proposes checks for recorded steps; the author decides which of them are intended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from urllib.parse import unquote

from pytest_webarena.actions import Action, Check, Select, Type
from pytest_webarena.changes import FILES, RowChange, SiteChanges, TableChanges, Value
from pytest_webarena.checks.answer_types.dates import parse_date, parse_time
from pytest_webarena.checks.answer_types.units import COMMON_UNITS, currencies
from pytest_webarena.checks.changes import holds_something
from pytest_webarena.checks.unread_columns import CLOCK_NAMES
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.monitoring.proposed_changes import Ignored, propose, without_ignored
from pytest_webarena.recorder.proposed_requests import request_checks
from pytest_webarena.recorder.writing import plain_scalar
from pytest_webarena.suites.writing import yaml_lines
from pytest_webarena.tasks.model import Task
from pytest_webarena.trials.other_values import is_clock
from pytest_webarena.trials.sent_values import SentValues, sent_by

__all__ = [
    "ProposedCheck",
    "ProposedRow",
    "answer_check",
    "answer_spec",
    "is_text",
    "proposed_checks",
    "unknown_changes_warning",
]

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_DIGITS = 15
"""Maximum number of characters of a number that a float represents exactly as written."""
_NAME_WORDS = 6
"""Maximum number of words of a name; longer answers are texts."""
_ZEROS = re.compile(r"-?0\d", re.ASCII)
"""Start of article and telephone numbers, which can't be the start of a number."""
_VERSIONS = re.compile(r"\b(?:versions?|releases?)\b", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_LONGEST = 100
"""Maximum number of characters of a text that a query compares; the ledger shortens longer ones."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ROWS = 5
"""Maximum number of rows of a table that get a query each; with more, only the check ``changes`` counts them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCheck:
    """A proposed check and what it requires."""

    about: str
    """Description in words."""
    lines: tuple[str, ...]
    """Lines of an item of ``checks:``, without indentation."""
    recommended: bool = True
    row: ProposedRow | None = None
    """The row that a query finds; None for other checks."""

    @property
    def optional_columns(self) -> tuple[str, ...]:
        """Columns that `without` can leave out: those of its row, except the key."""
        return tuple(name for name in self.row.columns if name not in self.row.key) if self.row is not None else ()

    def without(self, columns: Iterable[str]) -> ProposedCheck:
        """Return the check of the same row that does not read ``columns``. Those of its key stay."""
        if (row := self.row) is None:
            return self
        left = {name: value for name, value in row.columns.items() if name in row.key or name not in set(columns)}
        condition = " and ".join(
            f"{_name(name)} {'is' if value is None else '='} {_literal(value)}" for name, value in left.items()
        )
        count = 0 if row.kind == "removed" else 1
        spec: dict[str, Any] = {"site": row.site} if row.site else {}
        where = f" where {condition}" if condition else ""
        spec |= {"sql": f"select count(*) from {_name(row.table)}{where}", "equals": count}
        described = ", ".join(f"{name} = {value}" for name, value in left.items())
        return replace(
            self, about=f"{row.table}: a row is {row.kind}: {described}", row=replace(row, columns=left),
            lines=tuple(yaml_lines([{"state": spec}])),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedRow:
    """A row that a check finds by its values."""

    site: str
    """Its site; empty for the task's first one."""
    table: str
    kind: str
    columns: Mapping[str, Value]
    key: tuple[str, ...] = ()
    """Columns without which the check would find another row."""


def proposed_checks(
    task: Task,
    *,
    answer: str,
    url: str,
    steps: Sequence[Action],
    changes: Sequence[SiteChanges],
    ignored: Ignored,
    requests: Sequence[RequestRecord] = (),
    sites: Mapping[str, str] | None = None,
    again: Sequence[SiteChanges] = (),
) -> list[ProposedCheck]:
    """Propose checks of the answer, of database rows, of side effects and of the final address.

    Args:
        task: The task that is being made.
        answer: The author's answer; empty for none.
        url: The final address in the form of task files. Its check is recommended if there is nothing else to check,
            but not if changes may have been made that can't be determined.
        steps: The recorded actions.
        changes: Changes that the steps made on the sites.
        ignored: Patterns for background changes, by app.
        requests: Requests that may have changed something. They are proposed if changes can't be determined.
        sites: Base URLs of the sites.
        again: Changes that the same steps made on other replicas. Values that differ or lack there are not compared,
            unless they were entered or sent. Empty if the steps were done once only.
    """
    found: list[ProposedCheck] = []
    if answer:
        found.append(answer_check(answer, task.intent))
    quiet = [without_ignored(app, ignored.get(app.app, ())) for app in changes]
    others = [without_ignored(app, ignored.get(app.app, ())) for app in again]
    context = _context(task, steps, quiet, others, requests)
    for app in quiet:
        site = next((site for site in task.sites if site in app.sites), app.sites[0])
        for table in app.tables:
            found += _rows(site, app.app, table, context, first=site == task.sites[0])
    proposal = propose(task.id, [(task, changes)], ignored)
    if proposal.unknown:
        pass  # without a ledger, side effects can't be checked
    elif any(app.total for app in quiet):
        found.append(ProposedCheck(about="nothing else changes on the sites", lines=tuple(proposal.lines(0))))
    unknown = requests and unknown_changes_warning(task.sites, changes)
    if unknown:
        for about, check in request_checks(requests, sites or {}):
            found.append(ProposedCheck(about=about, lines=tuple(check), recommended=False))
    if url:
        lines = (f"- url: {plain_scalar(url)}",)
        alone = not found and not unknown
        found.append(ProposedCheck(about=f"the browser ends at {url}", lines=lines, recommended=alone))
    return found


def unknown_changes_warning(sites: Iterable[str], changes: Sequence[SiteChanges]) -> str:
    """Return a warning for the author if changes on one of the ``sites`` can't be determined; empty if all can."""
    described = {site: app.unknown for app in changes for site in app.sites}
    unknown = {
        site: reason for site in sites if (reason := described.get(site, "its databases and files are not compared"))
    }
    if not unknown:
        return ""
    return (
        f"what was changed on {', '.join(unknown)} can't be determined ({next(iter(unknown.values()))}), so no check "
        "covers rows or other changes: choose among the sent requests, or write a 'state' check"
    )


def answer_check(answer: str, question: str) -> ProposedCheck:
    """Return a check that the answer to ``question`` is ``answer``."""
    spec = answer_spec(answer, question)
    about = f"the number {answer}" if "number" in spec else repr(answer)
    return ProposedCheck(about=f"the answer is {about}", lines=tuple(yaml_lines([{"answer": spec}])))


def is_text(answer: str, question: str) -> bool:
    """Return whether an answer of digits is not a number, so that its zeros matter.

    >>> is_text("0471", "What is its code?"), is_text("1.10", "Which version is it?"), is_text("1.10", "What is it?")
    (True, True, False)
    """
    return bool(_ZEROS.match(answer)) or ("." in answer and bool(_VERSIONS.search(question)))


def answer_spec(answer: str, question: str) -> dict[str, str | int | float]:
    """Return the data of the check ``answer``, by the type that the answer seems to have.

    >>> answer_spec("12.50", "How much is it?"), answer_spec("7 km", "How far is it?"), answer_spec("Rye", "Which?")
    ({'number': 12.5}, {'number': 7, 'unit': 'km'}, {'name': 'Rye'})
    """
    for key, length, parse in (("date", 10, parse_date), ("time", 5, parse_time)):
        with suppress(ValueError):
            if len(answer) == length:
                parse(answer)
                return {key: answer}
    if _ZEROS.match(answer):
        return {"exact": answer}
    number, _, unit = answer.partition(" ")
    if _NUMBER.fullmatch(number) and len(number) <= _DIGITS and not is_text(number, question):
        value = float(number) if "." in number else int(number)
        if not unit:
            return {"number": value}
        if unit in COMMON_UNITS or currencies(unit):
            return {"number": value, "unit": unit}
    if answer.casefold() in ("yes", "no"):
        return {"yes_no": answer.casefold()}
    return {"text" if len(answer.split()) > _NAME_WORDS else "name": answer}


def _written(step: Action) -> Iterator[str]:
    if isinstance(step, Type):
        yield step.text
    elif isinstance(step, Select):
        yield from step.options


def _rows(site: str, app: str, table: TableChanges, context: _Context, *, first: bool) -> Iterator[ProposedCheck]:
    """Yield checks for added, changed or removed rows."""
    if table.table == FILES or table.total > _ROWS:
        return
    for number, row in enumerate(table.rows):
        columns = context.columns(table, row, (app, table.name, number))
        if not columns:
            continue
        check = ProposedCheck(
            about="", lines=(), recommended=context.is_meant(table, row, columns),
            row=ProposedRow(
                site="" if first else site, table=table.table, kind=row.kind, columns=columns,
                key=tuple(row.key) if row.kind != "added" else (),
            ),
        )  # fmt: skip
        yield check.without(())


_Cell = tuple[str, str, int, str]
"""App, table, number of the row and column."""


@dataclass(frozen=True, slots=True)
class _Context:
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
    unsteady: frozenset[_Cell]
    """Cells that differed, or did not exist, when the same steps were done again."""

    def columns(self, table: TableChanges, row: RowChange, place: tuple[str, str, int]) -> dict[str, Value]:
        """Return what a query says about a row: its key, and all columns that were written, but not clocks, generated
        keys, long texts and values that differ from run to run."""
        if row.kind == "removed":
            return dict(row.key)
        generated = set(row.key) - set(table.references) if len(row.key) == 1 else set()
        values = row.now if row.kind == "changed" else row.row
        chosen = {
            name: value for name, value in values.items()
            if name not in generated and (row.kind == "changed" or holds_something(value))
            and (self.has(name, value) or not (self._is_clock(name, value) or (*place, name) in self.unsteady))
            and not (isinstance(value, str) and (len(value) > _LONGEST or value.startswith("base64:")))
        }  # fmt: skip
        return {**(row.key if row.kind == "changed" else {}), **chosen} if chosen else {}

    def is_meant(self, table: TableChanges, row: RowChange, columns: Mapping[str, Value]) -> bool:
        """Return whether a row is what the task is about: it has something of the intent, the steps or the requests, or
        links others, or its state changed."""
        written = {name: value for name, value in columns.items() if name not in row.key}
        if row.kind == "removed" or any(self.has(name, value) for name, value in written.items()):
            return True
        links = [name for name, value in columns.items() if _refers(table, name, value)]
        if row.kind == "changed":
            states = [value for value in written.values() if isinstance(value, str) or value in (0, 1, None)]
            return bool(states) or any(name in written for name in links)
        return len(links) > 1 and not written.keys() - set(links)

    def has(self, column: str, value: Value) -> bool:
        """Return whether a value is in the task, was entered or sent; a number, as a number of its own."""
        if value in (None, "") or isinstance(value, bool):
            return False
        text = str(value).replace("\r\n", "\n")  # forms send other line ends than are typed
        if text in self.written or self.sent.has(column, value):
            return True
        if isinstance(value, str):
            return len(value) > 2 and value in self.words
        return bool(re.search(rf"(?<![\w.-]){re.escape(text)}(?![\w-]|\.\d)", self.words)) or (
            self.ticks and value == 1 and not CLOCK_NAMES.search(column)
        )

    def _is_clock(self, column: str, value: Value) -> bool:
        if is_clock(value):
            return True
        named = bool(CLOCK_NAMES.search(column))
        if isinstance(value, str) and _DATE.match(value):
            return named and value[:10] in self.days
        return named and value is not None


def _refers(table: TableChanges, column: str, value: Value) -> bool:
    """Whether a column is a foreign key: as declared, or by its name where nothing is declared."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return column in table.references or (column.endswith("_id") and is_number)


def _context(
    task: Task,
    steps: Sequence[Action],
    changes: Sequence[SiteChanges],
    again: Sequence[SiteChanges],
    requests: Sequence[RequestRecord],
) -> _Context:
    cells, others = dict(_cells(changes)), dict(_cells(again))
    apps = {app.app for app in again if not app.unknown}
    moments = {str(value)[:10] for value in cells.values() if isinstance(value, str) and is_clock(value)}
    return _Context(
        written=frozenset(text for step in steps for text in _written(step)),
        words=" ".join((task.intent, *_starts(task))),
        ticks=any(isinstance(step, Check) and step.checked for step in steps),
        sent=sent_by(requests),
        days=frozenset({*moments, date.today().isoformat()}),
        unsteady=frozenset(
            cell for cell, value in cells.items() if cell[0] in apps and (cell not in others or others[cell] != value)
        ),
    )


def _cells(changes: Sequence[SiteChanges]) -> Iterator[tuple[_Cell, Value]]:
    for app in changes:
        for table in app.tables:
            for number, row in enumerate(table.rows):
                for column, value in (row.now if row.kind == "changed" else row.row).items():
                    yield (app.app, table.name, number, column), value


def _starts(task: Task) -> list[str]:
    return [unquote(start.path) for start in task.start]


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "null" if value is None else str(int(value)) if isinstance(value, bool) else str(value)
