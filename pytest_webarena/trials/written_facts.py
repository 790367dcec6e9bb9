"""Written facts: values, rows, request parameters and parts of answers, each with one way to change it and judge
again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pytest_webarena.errors import TaskError
from pytest_webarena.text import clip
from pytest_webarena.trials.row_places import Unable
from pytest_webarena.trials.sent_values import is_same

__all__ = ["LONGEST_REASON", "Fact", "Facts", "Tried", "Unit", "Untried"]

Unit = Literal["column", "empty column", "row", "file", "request parameter", "answer part", ""]
"""The kind of a fact; empty for what is none of these, such as a table that can't be read."""

LONGEST_REASON = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One value that was changed, or one row that took the place of another."""

    table: str
    """Site, and table with its database; a request; or ``answer``."""
    column: str
    """The column, with the path in a document, or the parameter; empty for a whole row or answer."""
    unit: Unit = "column"
    kind: str = "changed"
    """What the solution did to the row: ``added``, ``changed`` or ``removed``."""
    was: str
    became: str
    caught: bool | None
    """Whether the verdict was a failure; None if it was undecided."""
    sent: bool = False
    """Whether the client sent this value, or the row existed before."""
    fields: tuple[str, ...] = ()
    """Of a file: the entered fields whose values are in no database and no check, so that they may be in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Untried:
    """Something written that was not changed, and why."""

    what: str
    why: str
    unit: Unit = ""
    again: bool = False
    """Whether another run may change it: the time was up, or what was changed before could not be put back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something that a solution wrote, and how it is changed."""

    what: str
    unit: Unit
    chosen: bool
    """Whether the client chose it."""
    group: object
    """The row, request or answer that it belongs to."""
    attempt: Callable[[], Tried]
    """Changes it, judges, and puts it back. Raises `Unable` or `TaskError` if it can't be changed."""


@dataclass(slots=True)
class Facts:
    """The facts of a trial, and what came of changing them."""

    ends: float
    """Value of the monotonic clock from which on no fact is tried."""
    altered: str = ""
    """Why the data are not as the solution left them; empty while they are."""
    planned: list[Fact] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)
    untried: list[Untried] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether nothing else can be tried."""
        return bool(self.altered) or time.monotonic() > self.ends

    def add(self, fact: Fact | Untried) -> None:
        """Plan a fact, or note one that can't be tried."""
        if isinstance(fact, Fact):
            self.planned.append(fact)
        else:
            self.untried.append(fact)

    def skip(self, what: str, why: str, unit: Unit = "", *, again: bool = False) -> None:
        """Note something that is not tried."""
        self.untried.append(Untried(what=what, why=clip(why, LONGEST_REASON), unit=unit, again=again))

    def work(self) -> None:
        """Try all facts, those with chosen values first, because time may not suffice for all."""
        groups: dict[object, list[Tried]] = {}
        for each in sorted(self.planned, key=lambda each: (each.unit == "empty column", not each.chosen)):
            if self.is_over:
                self.skip(each.what, self.altered or "the time for a task is up", each.unit, again=True)
                continue
            try:
                groups.setdefault(each.group, []).append(each.attempt())
            except (Unable, TaskError) as error:
                self.skip(each.what, str(error), each.unit)
        self.tried = [tried for group in groups.values() for tried in _accounted(group)]


def _accounted(group: Sequence[Tried]) -> Iterable[Tried]:
    """The changes of one row; numbers that were sent for another of its columns, whose change was caught, are not
    marked as sent."""
    read = [was for each in group if each.caught and (was := each.was.strip("'")).isdecimal()]
    for each in group:
        is_read = not each.caught and any(is_same(each.was.strip("'"), other) for other in read)
        yield replace(each, sent=False) if is_read else each
