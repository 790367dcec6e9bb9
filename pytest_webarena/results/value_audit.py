"""What an audit's changes of written values say about a task's checks, as pure functions of trial records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pytest_webarena.agents.audit_trials import VALUES, AuditTrial
from pytest_webarena.changes import SiteChanges, literal
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.text import clip

__all__ = [
    "Coverage",
    "Unread",
    "coverage",
    "needed_numbers",
    "seen_to_fail",
    "unproven_of",
    "unproven_values",
    "unread_of",
    "unread_values",
    "value_notes",
    "written_days",
]

OTHER = "other"
_LONGEST = 40
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ](?!00:00)\d\d:\d\d")
_KEYS = ("tried", "untried")
_UNSENT = {
    "file": "files whose content no check reads",
    "empty column": "empty, and a value there is seen by no check",
}
"""Facts that no check has to read, because the solution did not choose them."""
_READ = "name the value in a check: a condition of `state`, or `where` in `changes`"
_MENDS = {
    "column": _READ,
    "row": "check the row's key or its owner",
    "request parameter": "name it in `body` of a `network` check",
    "answer part": "name it in an `answer` check",
}


@dataclass(frozen=True, slots=True)
class Unread:
    """A written value on which the verdict does not depend."""

    text: str
    mend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Numbers of facts that solutions wrote: columns, rows, files, request parameters, answer parts."""

    tried: Mapping[str, int] = field(default_factory=dict)
    """Facts that were changed, by unit (`trials.written_facts.Unit`)."""
    untried: Mapping[str, int] = field(default_factory=dict)
    """Facts that were not changed, by unit; ``other`` are those of sites and tables that can't be read."""
    chosen: int = 0
    """Facts that were changed, without what the site computed and no check reads."""
    caught: int = 0
    """Those whose change fails the task."""

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(
            tried=dict(Counter(self.tried) + Counter(other.tried)),
            untried=dict(Counter(self.untried) + Counter(other.untried)),
            chosen=self.chosen + other.chosen,
            caught=self.caught + other.caught,
        )

    def lines(self) -> Iterator[str]:
        """Yield how much was tried."""
        if self.tried:
            yield f"written facts: caught {self.caught} of {self.chosen}"
        else:
            yield "written facts: none was changed, so what checks must read is not proved"
        if self.untried:
            yield f"untried: {', '.join(_counted(*each) for each in self.untried.items())} (-v lists them)"


def _counted(unit: str, number: int) -> str:
    return f"{number} {unit}" if number == 1 or unit == OTHER else f"{number} {unit}s"


_Found = Iterable[tuple[AuditTrial, "TrialRecord | None"]]


def unread_values(found: _Found) -> Iterator[Unread]:
    """Yields the values that the client chose, or that an existing row got, and on which no verdict depends."""
    yield from unread_of(_facts(found))


def unread_of(facts: Iterable[Mapping[str, Any]]) -> Iterator[Unread]:
    """Yields the same from the facts of `trials.written_values.change_values`."""
    for name, each in _missed(facts).items():
        if not each.get("sent"):
            continue
        unit = _unit(each)
        which = f"which row of {name.removesuffix(' (row)')} was {each.get('kind')}" if unit == "row" else name
        yield Unread(f"the verdict does not depend on {which}: it passes with {_change(each)}", _MENDS.get(unit, ""))


def needed_numbers(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yields what a verdict depends on although the database or the site generated it."""
    for name in facts.get("generated", ()):
        yield f"the verdict depends on {name}, which was generated: a right agent that does more may get another value"


def unproven_values(found: _Found, runs: Iterable[Iterable[SiteChanges]]) -> Iterator[Unread]:
    """Yields what the solution wrote and no verdict was seen to depend on, without what the client chose, which
    `unread_values` has.

    A value that differs between the ``runs`` of the solution is left out: the site generates it, no agent chooses it.
    """
    yield from unproven_of(list(_facts(found)), runs)


def unproven_of(facts: Sequence[Mapping[str, Any]], runs: Iterable[Iterable[SiteChanges]] = ()) -> Iterator[Unread]:
    """Yields the same from the facts of `trials.written_values.change_values`."""
    written = [_written(changes) for changes in runs]
    for name, each in _missed(facts).items():
        value, unit = str(each.get("was")).strip("'"), _unit(each)
        unsteady = each.get("column") and any(name in run and value not in run[name] for run in written)
        if fields := ", ".join(map(str, each.get("fields") or ())):
            text = f"what was entered as {fields} may be in {name} only, whose content no check reads"
            yield Unread(text, "check it where a page shows it")
        elif not each.get("sent") and not unsteady and unit not in _UNSENT:
            yield Unread(f"no check reads {name}: it passes with {_change(each)}", _MENDS.get(unit, ""))
    undecided = {_name(each) for trial in facts for each in trial["tried"] if each.get("caught") is None}
    for name in sorted(undecided):
        yield Unread(f"the verdict is undecided with another value of {name}", _READ)
    for trial in facts:
        for each in trial["untried"]:
            if each.get("again"):
                yield Unread(f"{each.get('what')} was not changed: {each.get('why')}", "repeat the audit")


def _change(tried: Mapping[str, Any]) -> str:
    return " in place of ".join(clip(str(tried.get(key)), _LONGEST) for key in ("became", "was"))


def _written(changes: Iterable[SiteChanges]) -> dict[str, set[str]]:
    """Returns the values of one run, as literals without quotes, by column."""
    written: dict[str, set[str]] = {}
    for app in changes:
        for table in app.tables:
            for row in table.rows:
                for column, value in (row.now if row.kind == "changed" else row.row).items():
                    for site in app.sites:
                        written.setdefault(f"{site}: {table.name}.{column}", set()).add(literal(value).strip("'"))
    return written


def written_days(changes: Iterable[SiteChanges]) -> set[date]:
    """Returns the days on which the sites wrote something, by their own clocks: those of moments, not of mere dates."""
    days = set[date]()
    for values in _written(changes).values():
        for each in values:
            if _MOMENT.match(each):
                with suppress(ValueError):
                    days.add(date.fromisoformat(each[:10]))
    return days


def value_notes(found: _Found) -> Iterator[str]:
    """Yields on which generated values a verdict depends, and what was not tried."""
    found = list(found)
    missed = _missed(_facts(found))
    for unit, text in _UNSENT.items():
        if names := [
            name
            for name, each in missed.items()
            if not (each.get("sent") or each.get("fields")) and _unit(each) == unit
        ]:
            yield f"{text}: {', '.join(names)}"
    for facts in _facts(found):
        yield from needed_numbers(facts)
    for facts in _facts(found):
        yield from dict.fromkeys(f"not changed: {each.get('what')}: {each.get('why')}" for each in facts["untried"])


def coverage(found: _Found) -> Coverage:
    """Returns how much of what a solution wrote was changed."""
    total = Coverage()
    found = list(found)
    for facts in _facts(found):
        tried = {_name(each): _unit(each) for each in facts["tried"]}
        caught = {_name(each) for each in facts["tried"] if each.get("caught")}
        missed = {_name(each) for each in facts["tried"] if not each.get("caught")}
        untried = {each["what"]: each.get("unit") or OTHER for each in facts["untried"] if each["what"] not in tried}
        total += Coverage(
            tried=dict(Counter(tried.values())),
            untried=dict(Counter(untried.values())),
            chosen=len(caught | {_name(each) for each in facts["tried"] if each.get("sent")}),
            caught=len(caught - missed),
        )
    return total


def seen_to_fail(found: _Found) -> set[str]:
    """Returns the conditions that failed after a value was changed."""
    facts = [
        record.environment.get("values") for trial, record in found if record is not None and trial.agent == VALUES
    ]
    return {str(each) for every in facts if isinstance(every, Mapping) for each in every.get("failed", ())}


def _missed(trials: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The changes that passed, one for each column, without those of tasks that are unsolved."""
    return {_name(each): each for facts in trials for each in facts["tried"] if each.get("caught") is False}


def _name(tried: Mapping[str, Any]) -> str:
    name = f"{tried.get('table')}.{tried['column']}" if tried.get("column") else str(tried.get("table"))
    return f"{name} (row)" if _unit(tried) == "row" else name


def _unit(tried: Mapping[str, Any]) -> str:
    return str(tried.get("unit") or ("column" if tried.get("column") else "row"))


def _facts(found: _Found) -> Iterator[Mapping[str, Any]]:
    for trial, record in found:
        facts = record.environment.get("values") if record is not None and trial.agent == VALUES else None
        if isinstance(facts, Mapping):
            numbers = [each for each in facts.get("generated", ()) if isinstance(each, str)]
            kept = {key: [each for each in facts.get(key, ()) if isinstance(each, Mapping)] for key in _KEYS}
            yield {**kept, "generated": numbers}
