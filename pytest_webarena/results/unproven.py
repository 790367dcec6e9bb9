"""What an audit does not prove: conditions never seen to hold or to fail, and written values that nothing reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from pytest_webarena.agents.audit_trials import RIGHT, AuditTrial, is_unachievable
from pytest_webarena.changes import SiteChanges
from pytest_webarena.checks.near_days import HALF_YEAR, fixed_days, relative_words
from pytest_webarena.checks.proof import held_subjects, unproven
from pytest_webarena.evidence import Evidence
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.value_audit import seen_to_fail, unproven_values, written_days
from pytest_webarena.results.verdict_atoms import verdict_of
from pytest_webarena.tasks.model import Task

__all__ = ["UnprovenPart", "held_in_templates", "unproven_parts"]

_Found = Sequence[tuple[AuditTrial, "TrialRecord | None"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprovenPart:
    """A condition, or a written value, of which the audit does not show that the verdict depends on it."""

    text: str
    """One sentence, with the place of a condition."""
    mend: str


def held_in_templates(tasks: Iterable[tuple[Task, _Found]]) -> Mapping[str, Collection[str]]:
    """Return the conditions that held in a trial of any instance, by template. An alternative is proven to be possible
    by another instance, too."""
    held: dict[str, set[str]] = {}
    for task, found in tasks:
        for _, record in found:
            verdict = verdict_of(record) if record is not None else None
            if verdict is not None:
                held.setdefault(task.template or task.id, set()).update(held_subjects(task.every_check, verdict))
    return held


def unproven_parts(
    task: Task, found: _Found, evidence: Callable[[TrialRecord], Evidence | None], held: Collection[str] = ()
) -> Iterator[UnprovenPart]:
    """Yield what the trials of a task do not prove. ``held``: conditions that other trials showed able to hold."""
    verdicts = [verdict for _, record in found if record is not None and (verdict := verdict_of(record)) is not None]
    for each in unproven(task.every_check, verdicts, held=held, failed=seen_to_fail(found)):
        place = each.condition.check.location or task.location
        yield UnprovenPart(text=f"{task.location.path}:{place.line}: {each}", mend=each.mend)
    if is_unachievable(task):
        return
    solved = [record for trial, record in found if trial.agent in RIGHT and record is not None]
    runs = [seen.changes or () for record in solved if (seen := evidence(record)) is not None]
    yield from _days(task, solved, runs)
    if task.mutates is False:
        return
    for value in unproven_values(found, runs):
        yield UnprovenPart(text=value.text, mend=value.mend)


def _days(task: Task, solved: Iterable[TrialRecord], runs: Iterable[Iterable[SiteChanges]]) -> Iterator[UnprovenPart]:
    """Yield the dates that a task expects although its intent means another day each day. On sites whose clocks do not
    show the day of the trial, it is always the same day."""
    words = relative_words(task.intent)
    written = written_days(each for run in runs for each in run)
    present = {datetime.fromtimestamp(record.started, UTC).date() for record in solved if record.started}
    if not words or (written and not any(abs((one - other).days) <= 1 for one in written for other in present)):
        return
    for each, places in fixed_days(task, max(present, default=date.today()), HALF_YEAR).items():
        text = f"{', '.join(places)}: expected {each}, but the intent says '{words}'"
        yield UnprovenPart(text=text, mend="name the date in the intent, or compare with the day: date('now', …)")
