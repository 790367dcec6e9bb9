"""Proposes checks for what was done: the author says which of them are meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pytest_webarena.actions import Action, Check, Select, Type
from pytest_webarena.changes import FILES, RowChange, SiteChanges, TableChanges, Value
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.monitoring.proposed_changes import Ignored, propose, without_ignored
from pytest_webarena.recorder.proposed_requests import request_checks
from pytest_webarena.recorder.writing import plain_scalar
from pytest_webarena.suites.writing import yaml_lines
from pytest_webarena.tasks.model import Task

__all__ = ["ProposedCheck", "answer_check", "answer_spec", "is_text", "proposed_checks", "untold"]

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_DIGITS = 15
"""Characters of a number that a float holds as it is written."""
_ZEROS = re.compile(r"-?0\d", re.ASCII)
"""With which a number does not begin, but an article's or a telephone's does."""
_VERSIONS = re.compile(r"\b(?:versions?|releases?)\b", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_LONGEST = 100
"""Characters of a text that a query compares: a longer one is kept cut in the ledger."""
_CLOCKS = re.compile(
    r"(?:\A|_)(?:at|on|time|date|stamp|timestamp|updated|modified|created|seen|count|counter|version|position|score"
    r"|rank|hits|views|visits)\Z",
    re.IGNORECASE,
)
"""Columns that tell when and how often."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d")
_MOST = 10_000_000
"""A larger number is a time, and none that says what was done."""
_STATE = re.compile(r"[A-Za-z][A-Za-z _-]{0,39}")
"""Values such as ``closed`` or ``in progress``, and no token."""
_ROWS = 5
"""Rows of a table that get a query each; more are counted by the check ``changes``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCheck:
    """One check, and what it holds the agent to."""

    about: str
    """In words."""
    lines: tuple[str, ...]
    """As an item of ``checks:``, without indentation."""
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
    """What the recorded doing gives to check: the answer, rows in databases, nothing else changed, the last address.

    ``url`` as task files have it. An address is recommended where nothing else is there to be checked; not where
    something may have been changed of which nobody can tell. ``requests``: what was sent that may do so;
    ``sites``: where they are. These requests are proposed then.
    """
    found: list[ProposedCheck] = []
    if answer:
        found.append(answer_check(answer, task.intent))
    quiet = [without_ignored(app, ignored.get(app.app, ())) for app in changes]
    values = _Told(
        {text for step in steps for text in _written(step)}, " ".join((task.intent, *_starts(task))),
        ticks=any(isinstance(step, Check) and step.checked for step in steps),
    )  # fmt: skip
    for app in quiet:
        site = next((site for site in task.sites if site in app.sites), app.sites[0])
        for table in app.tables:
            found += _rows(site, table, values, first=site == task.sites[0])
    proposal = propose(task.id, [(task, changes)], ignored)
    if proposal.unknown:
        pass  # there is no ledger that could be held against anybody
    elif any(app.total for app in quiet):
        found.append(ProposedCheck(about="nothing else changes on the sites", lines=tuple(proposal.lines(0))))
    unknown = requests and untold(task.sites, changes)
    if unknown:
        for about, check in request_checks(requests, sites or {}):
            found.append(ProposedCheck(about=about, lines=tuple(check), recommended=False))
    if url:
        lines = (f"- url: {plain_scalar(url)}",)
        alone = not found and not unknown
        found.append(ProposedCheck(about=f"the browser ends at {url}", lines=lines, recommended=alone))
    return found


def untold(sites: Iterable[str], changes: Sequence[SiteChanges]) -> str:
    """What an author should know where nobody can tell what was changed on one of the ``sites``; empty where all of
    them can be told."""
    told = {site: app.unknown for app in changes for site in app.sites}
    lost = {site: why for site in sites if (why := told.get(site, "its databases and files are not compared"))}
    if not lost:
        return ""
    return (
        f"what was changed on {', '.join(lost)} can't be determined ({next(iter(lost.values()))}), so no row is "
        "asked for, and no check says that nothing else changed: choose among what was sent, or write a 'state' check"
    )


def answer_check(answer: str, asked: str) -> ProposedCheck:
    """That this is the answer to what is ``asked``."""
    spec = answer_spec(answer, asked)
    about = f"the number {answer}" if "number" in spec else repr(answer)
    return ProposedCheck(about=f"the answer is {about}", lines=tuple(yaml_lines([{"answer": spec}])))


def is_text(answer: str, asked: str) -> bool:
    """Whether an answer of digits is no number, so that its zeros count.

    >>> is_text("0471", "What is its code?"), is_text("1.10", "Which version is it?"), is_text("1.10", "What is it?")
    (True, True, False)
    """
    return bool(_ZEROS.match(answer)) or ("." in answer and bool(_VERSIONS.search(asked)))


def answer_spec(answer: str, asked: str) -> dict[str, str | int | float]:
    """What the check ``answer`` is told: a number, if it is one that a float is sure to hold.

    >>> answer_spec("12.50", "How much is it?"), answer_spec("7", "How many?"), answer_spec("Rye", "Which bread?")
    ({'number': 12.5}, {'number': 7}, {'exact': 'Rye'})
    """
    if not _NUMBER.fullmatch(answer) or len(answer) > _DIGITS or is_text(answer, asked):
        return {"exact": answer}
    return {"number": float(answer) if "." in answer else int(answer)}


def _written(step: Action) -> Iterator[str]:
    if isinstance(step, Type):
        yield step.text
    elif isinstance(step, Select):
        yield from step.options


def _rows(site: str, table: TableChanges, values: _Told, *, first: bool) -> Iterator[ProposedCheck]:
    """Rows that came, changed or went, each told by what was written into them."""
    if table.table == FILES or table.total > _ROWS:
        return
    for row in table.rows:
        where, told = _condition(row, values)
        if not where:
            continue
        wanted = 0 if row.kind == "removed" else 1
        spec: dict[str, Any] = {"sql": f"select count(*) from {_name(table.table)} where {where}", "equals": wanted}
        if not first:
            spec = {"site": site, **spec}
        about = f"{table.table}: a row is {row.kind}: {told}"
        yield ProposedCheck(about=about, lines=tuple(yaml_lines([{"state": spec}])))


def _condition(row: RowChange, values: _Told) -> tuple[str, str]:
    """What a query asks of a row, and the same in words; empty when nothing of it says what the task was about."""
    match row.kind:
        case "removed":
            asked: Mapping[str, Value] = row.key
        case "changed":
            new = {name: value for name, value in row.now.items() if values.has(value) or _is_state(name, value, row)}
            asked = {**row.key, **new} if new else {}
        case "added":
            asked = _asked_of_added(row, values)
    if not asked or any(isinstance(value, str) and len(value) > _LONGEST for value in asked.values()):
        return "", ""
    told = ", ".join(f"{name} = {value}" for name, value in asked.items())
    return " and ".join(f"{_name(name)} = {_literal(value)}" for name, value in asked.items()), told


def _asked_of_added(row: RowChange, values: _Told) -> Mapping[str, Value]:
    """What was written into it, what was ticked, and whose it is; of a row that links others, all of these."""
    meant = {name: value for name, value in row.row.items() if values.has(value)}
    links_by = row.key if len(row.key) > 1 else ()
    whose = {name: value for name, value in row.row.items() if name in links_by or _is_foreign_key(name, value, row)}
    rest = [name for name in row.row if name not in meant and name not in whose and name not in row.key]
    links = len(whose) > 1 and not any(_says_something(name, row.row[name]) for name in rest)
    if not meant and not links:
        return {}
    ticked = {name: row.row[name] for name in rest if values.ticks and row.row[name] in (1, True)}
    return meant | {name: value for name, value in ticked.items() if _says_something(name, value)} | whose


def _is_foreign_key(name: str, value: Value, row: RowChange) -> bool:
    """Whether it is the number of another row. The row's own is new, and which it gets is nobody's merit."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return name.endswith("_id") and is_number and (name not in row.key or len(row.key) > 1)


def _says_something(name: str, value: Value) -> bool:
    """Whether a column is no clock, no counter and not empty."""
    if value in (None, "") or _CLOCKS.search(name):
        return False
    return not (isinstance(value, str) and _TIME.match(value)) and not (
        isinstance(value, int | float) and value > _MOST
    )


def _is_state(name: str, value: Value, row: RowChange) -> bool:
    """Whether a column that is another now tells what became of the row: a flag, a state by its name, another row's
    number; and not how often, when or after what it was changed."""
    if name in row.key or isinstance(value, float) or not _says_something(name, value):
        return False
    if isinstance(value, int):
        return value in (0, 1) or _is_foreign_key(name, value, row)
    return isinstance(value, str) and bool(_STATE.fullmatch(value))


@dataclass(frozen=True, slots=True)
class _Told:
    """What the task is about, by which a row's values are known to be meant."""

    written: set[str]
    """Into fields."""
    words: str
    """The intent, and the addresses that it begins at."""
    ticks: bool = False
    """Whether a box was ticked."""

    def has(self, value: Value) -> bool:
        """Whether a row's value was asked for, or somebody wrote it."""
        if value is None or isinstance(value, bool) or str(value) == "":
            return False
        said = str(value).replace("\r\n", "\n")  # forms send the ends of lines otherwise than they are typed
        return said in self.written or (isinstance(value, str) and len(value) > 2 and value in self.words)


def _starts(task: Task) -> list[str]:
    return [unquote(start.path) for start in task.start]


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "null" if value is None else str(int(value)) if isinstance(value, bool) else str(value)
