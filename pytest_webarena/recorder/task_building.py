"""Makes a task of recorded steps: repeats them on fresh sites, proposes checks, and tries the complete task."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.actions import Action, Goto
from pytest_webarena.agents.builtin import describe_step
from pytest_webarena.changes import SiteChanges
from pytest_webarena.checks.near_days import near_days
from pytest_webarena.errors import UsageError, WebArenaError
from pytest_webarena.recorder.annotating import write_annotation
from pytest_webarena.recorder.key_nodes import VisitedStep
from pytest_webarena.recorder.proposed_requests import writing_requests
from pytest_webarena.recorder.proposing import unknown_changes_warning
from pytest_webarena.recorder.selector_proving import Chosen, prove, relative
from pytest_webarena.recorder.steps import RecordedStep, steps_of
from pytest_webarena.recorder.writing import task_lines
from pytest_webarena.results.value_audit import needed_numbers, unproven_of, unread_of
from pytest_webarena.trials.tryout import Tryout, tryout

if TYPE_CHECKING:
    from pytest_webarena.checks import Verdict
    from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord
    from pytest_webarena.sites.catalogues.manifest import Catalogue
    from pytest_webarena.tasks import Task
    from pytest_webarena.trials.runtime import Runtime
    from pytest_webarena.trials.written_tables import WrittenTables

__all__ = [
    "RecordedSession",
    "ReplayedSteps",
    "changes_again",
    "follow",
    "ignored_of",
    "read_session",
    "relative_url",
    "remark",
    "replay_steps",
    "task_keys",
    "task_text",
    "try_task",
]  # fmt: skip

_LOOK = 0.5
"""Seconds between two checks for new steps."""

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSession:
    """What a person did in a recorded session."""

    steps: tuple[RecordedStep, ...]
    answer: str
    url: str
    sites: Mapping[str, str]
    changes: tuple[SiteChanges, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedSteps:
    """Result of doing the steps again on fresh sites."""

    chosen: tuple[Chosen, ...]
    """The steps with their selectors; fewer than were recorded if one had no effect."""
    passed: tuple[VisitedStep, ...]
    """The same steps, each with the addresses before and after it."""
    url: str
    """Address of the browser at the end, in the form of task files."""
    sites: Mapping[str, str]
    changes: tuple[SiteChanges, ...]
    """Changes made by these steps and no others."""
    requests: tuple[RequestRecord, ...] = ()
    """Requests that may have changed something."""
    records: tuple[StepRecord, ...] = ()
    """Records of the steps."""
    tables: WrittenTables = field(default_factory=dict)
    """What the tables that the steps wrote to are like, by app and name."""
    untried: int = 0
    """Number of steps at the end of ``chosen`` that were recorded elsewhere and could not be done."""

    @property
    def unknown_changes_warning(self) -> str:
        """Warning for the author if requests may have made changes that can't be determined; else empty."""
        return unknown_changes_warning(self.sites, self.changes) if self.requests else ""

    @property
    def mutates(self) -> bool:
        """Whether the steps changed something, or may have."""
        return any(app.total for app in self.changes) or bool(self.unknown_changes_warning)


def read_session(evidence: Evidence, answer: str | None) -> RecordedSession:
    """Read the recorded steps from the evidence of a session. `UsageError` if its signals are incomplete."""
    if evidence.signals is None or not evidence.dom_events:
        raise UsageError("expected a trial with DOM events among its signals, found none; record it with Chromium")
    if evidence.lost_signals:
        raise UsageError(f"expected a complete record, found that {evidence.lost_signals} signals were lost")
    return RecordedSession(
        steps=steps_of(evidence.signals, before=evidence.signals_before),
        answer=(evidence.text_answer or "") if answer is None else answer,
        url=evidence.url,
        sites=evidence.sites,
        changes=evidence.changes or (),
    )


def follow(
    running_tryout: Tryout,
    ended: threading.Event,
    report: Report,
    every: float = _LOOK,
    *,
    keep: Callable[[Tryout], None] = lambda running_tryout: None,
) -> None:
    """Print the steps as they are recorded, until ``ended``.

    A step may still grow, so it is printed when the next one begins, or at the end. ``keep`` is called at each check.
    """
    printed = 0
    has_ended = False
    while not has_ended:
        has_ended = ended.wait(every)
        keep(running_tryout)
        steps = steps_of(running_tryout.signals(), before=running_tryout.signals_before)
        for step in steps[printed : len(steps) if has_ended else len(steps) - 1]:
            report(f"  · {describe_step(step.action)}{remark(step.problem)}")
            printed += 1


def replay_steps(
    task: Task,
    steps: Sequence[RecordedStep],
    runtime: Runtime,
    report: Report,
    *,
    uploads: Mapping[str, Path] | None = None,
    annotate: Path | None = None,
) -> ReplayedSteps:
    """Do ``steps`` on fresh sites, up to the first without an effect, and print each.

    ``annotate``: a folder for pictures and elements of each step.
    """
    replayed_task = replace(task, solution=tuple(step.action for step in steps))
    chosen: list[Chosen] = []
    pictures: list[bytes] = []
    with tryout(replayed_task, runtime, lambda text: None, Path("tryout"), uploads=uploads) as running_tryout:

        def act(action: Action) -> str:
            pictures.append(running_tryout.screenshot() if annotate is not None else b"")
            return "" if running_tryout.act(action) else running_tryout.error

        for each in prove(steps, running_tryout, act):
            report(f"  {'✗' if each.problem else '·'} {describe_step(each.action)}{remark(each.problem)}")
            chosen.append(each)
        evidence, records = running_tryout.evidence(), running_tryout.done
        tables = running_tryout.written_tables(evidence.changes or ())
    passed = tuple(
        VisitedStep(action=each.action, before=step.url_before, after=step.url_after, text=_written_on(step))
        for each, step in zip(chosen, records, strict=True)
    )
    if annotate is not None:
        write_annotation(annotate, task, [relative(each.action, evidence.sites) for each in chosen], records, pictures)
    return ReplayedSteps(
        chosen=tuple(chosen),
        passed=passed,
        url=relative_url(evidence.url, evidence.sites),
        sites=evidence.sites,
        changes=evidence.changes or (),
        requests=writing_requests(evidence.requests),
        records=tuple(records),
        tables=tables,
    )


def changes_again(
    recorded: Sequence[SiteChanges], replayed: ReplayedSteps, replay: Callable[[], ReplayedSteps], report: Report
) -> Sequence[SiteChanges]:
    """Return what the steps changed another time than ``replayed``: in the recorded session or, if it has no changes of
    the same steps, when ``replay`` does them once more. Empty if that is not known."""
    if recorded or not any(app.total for app in replayed.changes):
        return recorded
    report("doing the steps once more, to see which values differ from run to run")
    try:
        return replay().changes
    except WebArenaError as error:
        report(f"which values differ from run to run is unknown: {error}")
        return ()


def _written_on(step: StepRecord) -> str:
    return " ".join((step.target.name or step.target.text).split())[:80] if step.target is not None else ""


def try_task(
    task: Task, runtime: Runtime, report: Report, *, uploads: Mapping[str, Path] | None = None
) -> tuple[Verdict, tuple[str, ...]]:
    """Do the task's solution on fresh sites. Return the verdict and, if it is a pass, what may make it wrong: written
    values on which it does not depend, and dates that may be right on this day only."""
    with tryout(task, runtime, report, Path("tryout"), uploads=uploads) as running_tryout:
        while running_tryout.steps_left and running_tryout.next_step():
            pass
        running_tryout.show_checks()
        verdict = running_tryout.verdict()
        facts = running_tryout.changed_values() if verdict.passed else None
    if not facts:
        return verdict, ()
    dates = near_days(task, date.today())
    unread = (*unread_of([facts]), *unproven_of([facts]))
    return verdict, (*(each.text for each in unread), *needed_numbers(facts), *dates)


def task_keys(task: Task, *, mutates: bool) -> dict[str, object]:
    """Return the keys of a task that come before its checks."""
    keys: dict[str, object] = {"id": task.id, "intent": task.intent, "sites": list(task.sites)}
    if task.start:
        keys["start"] = [start.path if "://" in start.path else f"{start.site}:{start.path}" for start in task.start]
    if task.user:
        keys["user"] = dict(task.user)
    keys["mutates"] = mutates
    if task.review is not None:
        keys["review"] = {"annotator": task.review.annotator}
    return keys


def task_text(keys: Mapping[str, object], checks: Sequence[Sequence[str]], steps: Sequence[tuple[Action, str]]) -> str:
    """Return the text of a task file with one task."""
    return "\n".join(["tasks:", *task_lines(keys, checks, steps), ""])


def remark(problem: str) -> str:
    """Return the line to print below a step that has a problem."""
    return f"\n      check this step: {problem}" if problem else ""


def relative_url(url: str, sites: Mapping[str, str]) -> str:
    """Return an address in the form of task files; empty if it is on no site."""
    found = relative(Goto(url), sites)
    return found.url if isinstance(found, Goto) and found.url != url else ""


def ignored_of(catalogue: Catalogue) -> dict[str, list[str]]:
    """Return patterns for background changes in each app's databases, by app."""
    return {
        name: [pattern for database in app.databases.values() for pattern in database.ignore]
        for name, app in catalogue.apps.items()
    }
