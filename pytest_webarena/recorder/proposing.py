"""Proposes checks for recorded steps; the author decides which of them are intended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pytest_webarena.actions import Action, Check, Select, Type
from pytest_webarena.changes import FILES, RowChange, SiteChanges, TableChanges, Value
from pytest_webarena.checks.answer_types.dates import parse_date, parse_time
from pytest_webarena.checks.answer_types.units import COMMON_UNITS, currencies
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.monitoring.proposed_changes import Ignored, propose, without_ignored
from pytest_webarena.recorder.proposed_requests import request_checks
from pytest_webarena.recorder.writing import plain_scalar
from pytest_webarena.suites.writing import yaml_lines
from pytest_webarena.tasks.model import Task

__all__ = ["ProposedCheck", "answer_check", "answer_spec", "is_text", "proposed_checks", "unknown_changes_warning"]

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
_CLOCKS = re.compile(
    r"(?:\A|_)(?:at|on|time|date|stamp|timestamp|updated|modified|created|seen|count|counter|version|position|score"
    r"|rank|hits|views|visits)\Z",
    re.IGNORECASE,
)
"""Names of columns that contain times or counters."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d")
_MOST = 10_000_000
"""Numbers above this are timestamps and do not describe what was done."""
_STATE = re.compile(r"[A-Za-z][A-Za-z _-]{0,39}")
"""Values such as ``closed`` or ``in progress``, but not tokens."""
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
    """
    found: list[ProposedCheck] = []
    if answer:
        found.append(answer_check(answer, task.intent))
    quiet = [without_ignored(app, ignored.get(app.app, ())) for app in changes]
    values = _TaskTexts(
        {text for step in steps for text in _written(step)}, " ".join((task.intent, *_starts(task))),
        ticks=any(isinstance(step, Check) and step.checked for step in steps),
    )  # fmt: skip
    for app in quiet:
        site = next((site for site in task.sites if site in app.sites), app.sites[0])
        for table in app.tables:
            found += _rows(site, table, values, first=site == task.sites[0])
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


def _rows(site: str, table: TableChanges, values: _TaskTexts, *, first: bool) -> Iterator[ProposedCheck]:
    """Yield checks for added, changed or removed rows, identified by values of the steps or the intent."""
    if table.table == FILES or table.total > _ROWS:
        return
    for row in table.rows:
        condition, described = _condition(row, values)
        if not condition:
            continue
        count = 0 if row.kind == "removed" else 1
        spec: dict[str, Any] = {"sql": f"select count(*) from {_name(table.table)} where {condition}", "equals": count}
        if not first:
            spec = {"site": site, **spec}
        about = f"{table.table}: a row is {row.kind}: {described}"
        yield ProposedCheck(about=about, lines=tuple(yaml_lines([{"state": spec}])))


def _condition(row: RowChange, values: _TaskTexts) -> tuple[str, str]:
    """Return the condition of a query for a row, and a description; empty if no value is related to the task."""
    match row.kind:
        case "removed":
            columns: Mapping[str, Value] = row.key
        case "changed":
            new = {name: value for name, value in row.now.items() if values.has(value) or _is_state(name, value, row)}
            columns = {**row.key, **new} if new else {}
        case "added":
            columns = _columns_of_added(row, values)
    if not columns or any(isinstance(value, str) and len(value) > _LONGEST for value in columns.values()):
        return "", ""
    described = ", ".join(f"{name} = {value}" for name, value in columns.items())
    return " and ".join(f"{_name(name)} = {_literal(value)}" for name, value in columns.items()), described


def _columns_of_added(row: RowChange, values: _TaskTexts) -> Mapping[str, Value]:
    """Return the written, ticked and owner columns of an added row; for a row that links others, all foreign keys."""
    written = {name: value for name, value in row.row.items() if values.has(value)}
    key_columns = row.key if len(row.key) > 1 else ()
    foreign_keys = {
        name: value for name, value in row.row.items() if name in key_columns or _is_foreign_key(name, value, row)
    }
    other_columns = [
        name for name in row.row if name not in written and name not in foreign_keys and name not in row.key
    ]
    links = len(foreign_keys) > 1 and not any(_says_something(name, row.row[name]) for name in other_columns)
    if not written and not links:
        return {}
    ticked = {name: row.row[name] for name in other_columns if values.ticks and row.row[name] in (1, True)}
    return written | {name: value for name, value in ticked.items() if _says_something(name, value)} | foreign_keys


def _is_foreign_key(name: str, value: Value, row: RowChange) -> bool:
    """Return whether a column refers to another row. The row's own key is excluded because it is arbitrary."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return name.endswith("_id") and is_number and (name not in row.key or len(row.key) > 1)


def _says_something(name: str, value: Value) -> bool:
    """Return whether a column is not empty and neither a time nor a counter."""
    if value in (None, "") or _CLOCKS.search(name):
        return False
    return not (isinstance(value, str) and _TIME.match(value)) and not (
        isinstance(value, int | float) and value > _MOST
    )


def _is_state(name: str, value: Value, row: RowChange) -> bool:
    """Return whether a changed column is the row's state: a flag, a named state or a reference to another row; but not
    a time, a counter or a position."""
    if name in row.key or isinstance(value, float) or not _says_something(name, value):
        return False
    if isinstance(value, int):
        return value in (0, 1) or _is_foreign_key(name, value, row)
    return isinstance(value, str) and bool(_STATE.fullmatch(value))


@dataclass(frozen=True, slots=True)
class _TaskTexts:
    """Texts of the task by which a row's values are known to be intended."""

    written: set[str]
    """Texts that were typed or chosen."""
    words: str
    """The intent and the paths of the start pages."""
    ticks: bool = False
    """Whether a box was ticked."""

    def has(self, value: Value) -> bool:
        """Return whether a row's value is in the task or was entered."""
        if value is None or isinstance(value, bool) or str(value) == "":
            return False
        text = str(value).replace("\r\n", "\n")  # forms send other line ends than are typed
        return text in self.written or (isinstance(value, str) and len(value) > 2 and value in self.words)


def _starts(task: Task) -> list[str]:
    return [unquote(start.path) for start in task.start]


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "null" if value is None else str(int(value)) if isinstance(value, bool) else str(value)
