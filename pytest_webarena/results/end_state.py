"""End states of an audit's trials: a trial that ends as the solution does is not wrong, however it got there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents.audit_trials import NEIGHBOUR, NO_NEIGHBOUR, ORDER, evidence_sources

if TYPE_CHECKING:
    from pytest_webarena.agents.audit_trials import AuditTrial
    from pytest_webarena.evidence import Evidence
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.tasks.model import Task

__all__ = ["Moot", "ended_alike", "moot_trials", "proves_nothing", "replaced_step"]

Moot = Mapping[tuple[str, int], str]
"""Why a trial proves nothing, by agent and trial number."""

_AS_LONG = 600.0
"""Seconds within which all trials of one task end."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_FILLS = frozenset({"type", "select", "check"})


def moot_trials(
    found: Sequence[tuple[AuditTrial, TrialRecord | None]], evidence: Callable[[TrialRecord], Evidence | None]
) -> Moot:
    """Return the trials of one task's audit that prove nothing, with the reason."""
    solved = [
        record for trial, record in found if record is not None and trial.must_pass and record.outcome == "passed"
    ]
    reasons = {
        (trial.agent, trial.trial): proves_nothing(trial, record, solved, evidence)
        for trial, record in found if record is not None
    }  # fmt: skip
    return {which: why for which, why in reasons.items() if why}


def proves_nothing(
    trial: AuditTrial,
    record: TrialRecord,
    solved: Sequence[TrialRecord],
    evidence: Callable[[TrialRecord], Evidence | None],
) -> str:
    """Return why the verdict on a wrong agent shows nothing about the checks; empty where it does.

    ``solved`` are the trials in which the solution passed.
    """
    if trial.agent == ORDER and record.outcome == "failed":
        return _other_way(trial, record, solved, evidence)
    if trial.agent != NEIGHBOUR:
        return ""
    if record.stop_detail == NO_NEIGHBOUR:
        return NO_NEIGHBOUR
    if record.outcome != "passed" or (ended := evidence(record)) is None:
        return ""
    right = [each for each in map(evidence, solved) if each is not None]
    if not ended_alike(trial.task, ended, right):
        return ""
    return f"it ended as the solution does: {replaced_step(ended) or 'nothing was done otherwise'}"


def _other_way(
    trial: AuditTrial,
    record: TrialRecord,
    solved: Sequence[TrialRecord],
    evidence: Callable[[TrialRecord], Evidence | None],
) -> str:
    """Return why the failure of a solution in another order shows nothing: it did not end as the solution does."""
    ended = evidence(record)
    right = [each for each in map(evidence, solved) if each is not None]
    if ended is not None and ended_alike(trial.task, ended, right):
        return ""
    return "it did not end as the solution does"


def replaced_step(evidence: Evidence) -> str:
    """Return what a `NEIGHBOUR` did instead of its solution's step; empty for no change and for other agents."""
    return next((step.thought for step in evidence.steps if step.thought.startswith("in place of step ")), "")


def ended_alike(task: Task, ended: Evidence, solved: Sequence[Evidence]) -> bool:
    """Return whether everything that the task's checks examine is as after the solution.

    Values that differ between the trials of the solution, such as random numbers, are not compared. Times are equal if
    they are within `_AS_LONG`.
    """
    facts = [_facts(task, each) for each in (ended, *solved)]
    if not solved or any(each is None for each in facts):
        return False
    own, first, *others = [each or {} for each in facts]
    keys = {key for each in (first, *others) for key in each}
    steady = {key for key in keys if all(_same(each, first, key) for each in others)}
    return all(_same(own, first, key) for key in (steady | own.keys()) - (keys - steady))


def _same(one: dict[Any, Any], other: dict[Any, Any], key: Any) -> bool:
    if (key in one) != (key in other):
        return False
    first, second = one.get(key), other.get(key)
    return bool(first == second) or _near(first, second)


def _near(one: object, other: object) -> bool:
    """Whether both are times that may belong to two trials of the same steps.

    An exact comparison would not do, because two trials of the solution may take equally long, to the second.
    """
    times = _moment(one), _moment(other)
    return None not in times and abs((times[0] or 0.0) - (times[1] or 0.0)) < _AS_LONG


def _moment(value: object) -> float | None:
    """Unix time in seconds of a date with a time, or of a number that is very likely a timestamp."""
    if isinstance(value, str) and _TIME.match(value):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return next((value / unit for unit in (1.0, 1e3, 1e6) if 9e8 * unit < value < 9e9 * unit), None)
    return None


def _facts(task: Task, evidence: Evidence) -> dict[Any, Any] | None:
    """The facts that the checks examine, by a key; None where they are unknown."""
    sources = evidence_sources(task)
    found: dict[Any, Any] = {}
    if "answer" in sources:
        found["answer"] = evidence.answer
    if "place" in sources:
        found["place"] = evidence.url
    if "requests" in sources or any(check.kind == "key_nodes" for check in task.checks):
        found |= {("step", number): step for number, step in enumerate(_way(evidence))}
    data_unknown = evidence.changes is None or any(site.unknown for site in evidence.changes)
    if data_unknown and "data" in sources:
        return None
    found |= dict(_rows(evidence))
    return found


def _way(evidence: Evidence) -> Iterator[tuple[Any, ...]]:
    """The address after each step, and the values that were entered."""
    for step in evidence.steps:
        filled = step.action.get("kind") in _FILLS and step.target is not None
        yield step.url_after, *((step.target.selector, step.value) if filled and step.target else ())


def _rows(evidence: Evidence) -> Iterator[tuple[tuple[Any, ...], Any]]:
    for site in evidence.changes or ():
        for table in site.tables:
            where = (site.app, table.name)
            yield (*where, "total"), (table.added, table.changed, table.removed)
            for number, row in enumerate(table.rows):
                yield (*where, number), row.kind
                for part, values in (("key", row.key), ("row", row.row), ("now", row.now)):
                    for column, value in values.items():
                        yield (*where, number, part, column), value
