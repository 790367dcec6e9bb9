"""Proposes checks for recorded steps; the author decides which of them are intended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pytest_webarena.actions import Action
from pytest_webarena.changes import FILES, SiteChanges, TableChanges, Value
from pytest_webarena.checks.answer_types.dates import parse_date, parse_time
from pytest_webarena.checks.answer_types.units import COMMON_UNITS, currencies
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.monitoring.proposed_changes import Ignored, propose, without_ignored
from pytest_webarena.recorder.new_rows import FormerRows, former_rows, left_rows
from pytest_webarena.recorder.proposed_orders import order_checks
from pytest_webarena.recorder.proposed_requests import request_checks
from pytest_webarena.recorder.row_values import RowValues, row_values, sql_condition, sql_name
from pytest_webarena.recorder.writing import plain_scalar
from pytest_webarena.suites.writing import yaml_lines
from pytest_webarena.tasks.model import Task
from pytest_webarena.trials.written_tables import WrittenTable, WrittenTables

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
        condition = " and ".join(row.conditions.get(name) or sql_condition(name, value) for name, value in left.items())
        if row.kind == "added":
            condition, certain = _of_new_rows(row, left, condition)
        else:
            certain = row.kind == "removed" or any(name not in row.key for name in left)
        count = row.left if row.kind == "removed" else 1
        spec: dict[str, Any] = {"site": row.site} if row.site else {}
        where = f" where {condition}" if condition else ""
        spec |= {"sql": f"select count(*) from {sql_name(row.table)}{where}", "equals": count}
        described = ", ".join(f"{name} = {row.described.get(name, value)}" for name, value in left.items())
        return replace(
            self, about=f"{row.table}: a row is {row.kind}: {described}", row=replace(row, columns=left),
            recommended=self.recommended and certain,
            lines=tuple(yaml_lines([{"state": spec}])),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedRow:
    """A row that a check finds by its values."""

    site: str
    """Its site; empty for the task's first one."""
    table: str
    kind: str
    app: str = ""
    name: str = ""
    """The table's name with its database."""
    columns: Mapping[str, Value]
    key: tuple[str, ...] = ()
    """Columns without which the check would find another row."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """SQL conditions by column, in place of a comparison with the value."""
    described: Mapping[str, str] = field(default_factory=dict)
    """Descriptions by column, in place of the value."""
    former: FormerRows = field(default_factory=FormerRows)
    """The rows that existed before, which the query of an added row must exclude."""
    left: int = 0
    """Number of rows that have the same values as a removed one without a key."""


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
    tables: WrittenTables = MappingProxyType({}),
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
        tables: What the tables that were written to are like, by app and name. Orders that changed are proposed as
            such. Numbers that the site counts on, and keys of new rows, are not compared.
    """
    found: list[ProposedCheck] = []
    if answer:
        found.append(answer_check(answer, task.intent))
    quiet = [without_ignored(app, ignored.get(app.app, ())) for app in changes]
    others = [without_ignored(app, ignored.get(app.app, ())) for app in again]
    context = row_values(task, steps, quiet, others, requests, tables)
    for app in quiet:
        site = next((site for site in task.sites if site in app.sites), app.sites[0])
        for table in app.tables:
            found += _rows(site, app, table, context, first=site == task.sites[0])
            known = tables.get((app.app, table.name), WrittenTable())
            place = "" if site == task.sites[0] else site
            found += [
                ProposedCheck(about=about, lines=tuple(lines))
                for about, lines in order_checks(known.orders, table.table, _single_key(table), place, context.has)
            ]
    named = {(check.row.app, check.row.name) for check in found if check.row is not None and check.recommended}
    pinned = {
        (app.app, table.table): where for app in quiet for table in app.tables
        if (app.app, table.name) not in named and (where := context.shared_key(app, table))
    }  # fmt: skip
    proposal = propose(task.id, [(task, changes)], ignored, where=pinned)
    if proposal.unknown:
        pass  # without a ledger, side effects can't be checked
    elif any(app.total for app in quiet):
        unread = [
            f"{table.table}.{column}" for app in quiet for table in app.tables
            if (app.app, table.table) in pinned for column in context.unread_columns(table)
        ]  # fmt: skip
        comments = [f"# look at this: the value of {each} is checked by nothing" for each in unread]
        about = "; ".join(["nothing else changes on the sites", *(each.removeprefix("# ") for each in comments)])
        found.append(ProposedCheck(about=about, lines=(*comments, *proposal.lines(0))))
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


def _rows(
    site: str, app: SiteChanges, table: TableChanges, context: RowValues, *, first: bool
) -> Iterator[ProposedCheck]:
    """Yield checks for added, changed or removed rows."""
    if table.table == FILES or table.total > _ROWS:
        return
    for number, row in enumerate(table.rows):
        columns = context.columns(table, row, (app.app, table.name, number))
        former = context.tables.get((app.app, table.name), WrittenTable()).former
        left = 0 if row.kind != "removed" or row.key else left_rows(table, former, columns)
        if not columns or left is None:
            continue
        conditions, described = context.conditions(app, table, row, columns)
        check = ProposedCheck(
            about="", lines=(), recommended=context.is_meant(table, row, columns),
            row=ProposedRow(
                site="" if first else site, table=table.table, kind=row.kind, columns=columns,
                app=app.app, name=table.name,
                key=() if row.kind == "added" else tuple(row.key or columns), conditions=conditions,
                described=described, former=former_rows(table, former), left=left,
            ),
        )  # fmt: skip
        yield check.without(())


def _of_new_rows(row: ProposedRow, columns: Mapping[str, Value], condition: str) -> tuple[str, bool]:
    """Return the condition with what no former row meets, and whether that is certain. A query that a former row
    meets is true before the steps."""
    former = row.former
    compared = {
        name: value for name, value in columns.items()
        if name not in row.conditions or row.conditions[name].startswith(f"{sql_name(name)} in (")
    }  # fmt: skip
    if former.rows is not None and not former.matching(compared):
        return condition, True
    if (first := former.first_new()) is not None:
        parts = [f"{sql_name(first[0])} >= {first[1]}"]
    elif (keys := former.excluded(compared)) is not None:
        parts = [f"not ({' and '.join(sql_condition(name, value) for name, value in key.items())})" for key in keys]
    else:
        return condition, False
    return " and ".join([*([condition] if condition else []), *parts]), True


def _single_key(table: TableChanges) -> str:
    keys = {tuple(row.key) for row in table.rows}
    return next((key[0] for key in keys if len(key) == 1), "")
