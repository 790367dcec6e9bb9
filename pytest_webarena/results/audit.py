"""Audit of tasks: a finding per task, as a pure function of tasks and trial records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from pytest_webarena.agents.audit_trials import (
    CRAWLERS,
    NEIGHBOUR,
    NULL_FAMILY,
    ORDER,
    REMEDIES,
    RIGHT,
    AuditTrial,
    is_unachievable,
)
from pytest_webarena.checks.answer_attacks import Flaw, attack_answers
from pytest_webarena.checks.side_effects import PATH as SIDE_EFFECTS
from pytest_webarena.evidence import Evidence
from pytest_webarena.results.added_row_audit import old_row_checks
from pytest_webarena.results.end_state import Moot, moot_trials, replaced_step
from pytest_webarena.results.ground_audit import Doubt, all_doubts, crawl_notes, crawl_outcome, is_crawl
from pytest_webarena.results.key_node_audit import broke_off, key_node_notes
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.unproven import held_in_templates, unproven_parts
from pytest_webarena.results.value_audit import Coverage, coverage, unread_values, value_notes
from pytest_webarena.results.verdict_atoms import atoms, first_line, gist, is_on_answer, why_failed
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import clip

__all__ = [
    "FINDINGS",
    "Audit",
    "AuditedTrial",
    "Finding",
    "Reason",
    "TaskAudit",
    "audit",
    "ground_reason",
    "why_strict",
    "why_wrong",
]

SCHEMA_VERSION = 2
"""2: what was not seen to fail, or to hold, is a reason with the finding ``unproven``, in place of ``unproved``."""

Finding = Literal[
    "valid", "unsolvable", "flaky", "too easy", "weak check", "too strict", "unproven", "undecided", "error", "skipped"
]  # fmt: skip
"""Findings, from good over bad to unknown.

A task with several reasons has the first of their findings in this order.
"""
FINDINGS: tuple[Finding, ...] = get_args(Finding)
_Outcome = Literal["passed", "failed", "undecided", "error", "not run", "moot"]
_Tried = tuple[str, str, int]
"""Task, agent and trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a task is not valid."""

    finding: Finding
    text: str
    """One sentence."""
    mend: str = ""
    """Advice on how to correct it; empty where the sentence suffices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedTrial:
    """Result of one of the audit's agents."""

    agent: str
    trial: int
    manner: str
    """Description of what the agent did."""
    outcome: _Outcome
    """Outcome; ``moot``: the agent did nothing wrong after all, so the trial proves nothing."""
    broke_off: bool = False
    """Whether a replayed solution reached a step without effect, so that the checks are less well tested."""
    folder: str = ""
    """Name of the trial's folder in the run directory's ``trials/``; empty when it was not run."""

    @property
    def is_wrong(self) -> bool:
        """Whether its agent must fail."""
        return self.agent not in (*RIGHT, ORDER, *CRAWLERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAudit:
    """Result of the audit for one task."""

    task: str
    finding: Finding
    reasons: tuple[Reason, ...] = ()
    """Reasons, the most important first; empty for valid tasks."""
    notes: tuple[str, ...] = ()
    """Remarks that are not faults."""
    path: str = ""
    line: int = 0
    template: str = ""
    xfail: str = ""
    """The task's own statement that it is expected to fail; the finding then doesn't count."""
    trials: tuple[AuditedTrial, ...] = ()
    values: Coverage = field(default_factory=Coverage)
    """How much of what the solution wrote was changed, to judge again."""

    @property
    def wrong(self) -> int:
        """Number of wrong agents that were judged."""
        return sum(trial.is_wrong and trial.outcome in ("passed", "failed") for trial in self.trials)

    @property
    def caught(self) -> int:
        """Number of wrong agents that failed, as they must."""
        return sum(trial.is_wrong and trial.outcome == "failed" for trial in self.trials)

    @property
    def unfinished(self) -> bool:
        """Whether the only fault is that trials were not run."""
        missing = [trial for trial in self.trials if trial.outcome == "not run"]
        return self.finding == "error" and len(missing) == len(self.reasons)

    @property
    def excused(self) -> bool:
        """Whether it is not valid, and declares so itself."""
        return bool(self.xfail) and self.finding not in ("valid", "error", "skipped")

    @property
    def counts_against(self) -> bool:
        """Whether the audit has to fail because of this task."""
        return self.finding not in ("valid", "skipped") and not self.excused


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The findings of a run."""

    tasks: tuple[TaskAudit, ...]

    @property
    def valid(self) -> bool:
        """Whether no task makes the audit fail."""
        return not any(task.counts_against for task in self.tasks)

    @property
    def counts(self) -> dict[Finding, int]:
        """Number of tasks per finding, for all findings."""
        counted = Counter(task.finding for task in self.tasks)
        return {finding: counted[finding] for finding in FINDINGS}

    @property
    def wrong(self) -> int:
        """Number of judged trials of wrong agents."""
        return sum(task.wrong for task in self.tasks)

    @property
    def caught(self) -> int:
        """Number of trials of wrong agents that failed, as they must."""
        return sum(task.caught for task in self.tasks)

    @property
    def values(self) -> Coverage:
        """How much of what the solutions wrote was changed, to judge again."""
        return sum((task.values for task in self.tasks), Coverage())

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``audit.json``, which ``docs/audit.md`` describes."""
        return {
            "schema_version": SCHEMA_VERSION,
            "valid": self.valid,
            "counts": self.counts,
            "mutation": {"wrong": self.wrong, "caught": self.caught},
            "values": asdict(self.values),
            "tasks": [_task_json(task) for task in self.tasks],
        }


_Evidence = Callable[[TrialRecord], Evidence | None]
_Found = Sequence[tuple[AuditTrial, "TrialRecord | None"]]


def audit(
    plans: Iterable[tuple[Task, Sequence[AuditTrial]]],
    records: Iterable[TrialRecord],
    *,
    evidence: _Evidence = lambda record: None,
) -> Audit:
    """Judge every task by the records of its planned trials. Records of other versions of a task are ignored.

    ``evidence`` returns a trial's evidence where it is available; it shows whether each key node needs its step, and
    which written values differ between runs of the solution.
    """
    by_key = {(record.key.task, record.key.agent, record.key.trial): record for record in records}  # of one browser
    plans = tuple(plans)
    flaws: dict[str, list[Flaw]] = defaultdict(list)
    for flaw in attack_answers([task for task, _ in plans if not task.skip]).flaws:
        flaws[flaw.task.id].append(flaw)
    found = [(task, _found(task, trials, by_key)) for task, trials in plans]
    held = held_in_templates(found)
    return Audit(
        tasks=tuple(
            _audit_task(task, trials, evidence, flaws[task.id], held.get(task.template or task.id, ()))
            for task, trials in found
        )
    )


def why_strict(trial: AuditTrial, record: TrialRecord) -> Reason:
    """Return the reason and advice for a right way that failed."""
    text = f"failed by {trial.manner}, which ends as the solution does: {why_failed(record)}"
    return Reason(finding="too strict", text=text, mend="check what is reached, not how")


def why_wrong(trial: AuditTrial, evidence: Evidence | None = None) -> Reason:
    """Return the reason and advice for a wrong agent that passed."""
    finding: Finding = "too easy" if trial.agent in NULL_FAMILY else "weak check"
    what = replaced_step(evidence) if evidence is not None else ""
    text = f"passed by {trial.manner}" + (f": {what}" if what else "")
    return Reason(finding=finding, text=text, mend=REMEDIES.get(trial.agent, ""))


def _found(task: Task, planned: Sequence[AuditTrial], records: Mapping[_Tried, TrialRecord]) -> _Found:
    """The planned trials with their records; None for those without one of this version of the task."""
    found: list[tuple[AuditTrial, TrialRecord | None]] = []
    for trial in planned:
        record = records.get((task.id, trial.agent, trial.trial))
        current = record is not None and record.task_digest in ("", trial.task.digest)
        found.append((trial, record if current else None))
    return found


def _audit_task(
    task: Task,
    found: _Found,
    evidence: _Evidence,
    flaws: Sequence[Flaw],
    elsewhere: Collection[str],
) -> TaskAudit:
    moot = moot_trials(found, evidence)
    reasons: list[Reason] = []
    if not task.skip:
        reasons = [
            *_solution(task, found), *_wrong_agents(found, moot, evidence), *_before_anything(task, found),
            *_unjudged(found), *_weak_answers(flaws), *(ground_reason(doubt) for doubt in all_doubts(found)),
            *(Reason(finding="weak check", text=each.text, mend=each.mend)
              for each in (*unread_values(found), *old_row_checks(task, found))),
        ]  # fmt: skip
        if {reason.finding for reason in reasons}.isdisjoint(("unsolvable", "flaky", "error")):
            parts = unproven_parts(task, found, evidence, elsewhere)
            reasons += [Reason(finding="unproven", text=each.text, mend=each.mend) for each in parts]
        reasons.sort(key=lambda reason: FINDINGS.index(reason.finding))
    return TaskAudit(
        task=task.id,
        finding="skipped" if task.skip else reasons[0].finding if reasons else "valid",
        reasons=tuple(reasons),
        notes=(
            *_notes(task, found, reasons, moot),
            *key_node_notes(task, found, evidence),
            *crawl_notes(task, found),
            *value_notes(found),
            *(f"the right answer {clip(flaw.answer, 60)!r} is not met ({flaw.kind})" for flaw in flaws if flaw.right),
        ),
        path=task.location.path,
        line=task.location.line,
        template=task.template,
        xfail=task.xfail,
        trials=tuple(_audited(trial, record, moot) for trial, record in found),
        values=coverage(found),
    )


def ground_reason(doubt: Doubt) -> Reason:
    """Return a doubt about an impossible task as a reason; ``undecided`` if something was not read."""
    return Reason(finding="undecided" if doubt.is_open else "weak check", text=doubt.text, mend=doubt.mend)


def _solution(task: Task, found: _Found) -> Iterator[Reason]:
    if task.solution is None:
        yield Reason(finding="unsolvable", text="there is no solution to prove that it can be done")
        return
    runs = [record for trial, record in found if trial.must_pass and record is not None and not _fault_of_ours(record)]
    broken = next((record for record in runs if record.outcome != "passed"), None)
    if broken is None:
        return
    if passes := sum(record.outcome == "passed" for record in runs):
        text = f"the solution passed {passes} of {len(runs)} times; {why_failed(broken)}"
        yield Reason(finding="flaky", text=text)
    elif len({gist(record) for record in runs}) > 1:
        others = " / ".join(dict.fromkeys(why_failed(record) for record in runs))
        yield Reason(finding="flaky", text=f"the solution fails in different ways: {others}")
        yield Reason(finding="unsolvable", text=why_failed(broken))
    else:
        yield Reason(finding="unsolvable", text=why_failed(broken))


def _wrong_agents(found: _Found, moot: Moot, evidence: _Evidence) -> Iterator[Reason]:
    for trial, record in found:
        passed = record is not None and record.outcome == "passed" and not is_crawl(trial)
        if trial.agent == ORDER:
            if record is not None and record.outcome == "failed" and (trial.agent, trial.trial) not in moot:
                yield why_strict(trial, record)
        elif record is not None and passed and not trial.must_pass and (trial.agent, trial.trial) not in moot:
            yield why_wrong(trial, evidence(record) if trial.agent == NEIGHBOUR else None)


def _weak_answers(flaws: Sequence[Flaw]) -> Iterator[Reason]:
    """One reason per check that a wrong answer passes."""
    seen: set[str] = set()
    for flaw in flaws:
        if not flaw.right and flaw.check not in seen:
            seen.add(flaw.check)
            text = f"{flaw.check}: the wrong answer {clip(flaw.answer, 60)!r} passes ({flaw.kind})"
            yield Reason(finding="weak check", text=text, mend="give the answer a type: number, name, date, …")


def _before_anything(task: Task, found: _Found) -> Iterator[Reason]:
    """A weak check: all conditions but those on the answer already pass at the start, so the answer alone decides."""
    if task.mutates is False or is_unachievable(task):
        return  # there the conditions guard against changes
    null = _null(found)
    if null is None or null.outcome != "failed":
        return
    others = [atom for atom in atoms(null) if not is_on_answer(atom)]
    if others and all(atom.passed for atom in others):
        which = f"{_listed(atom.path for atom in others)} {'passes' if len(others) == 1 else 'pass'}"
        text = f"{which} before anything is done; if that only guards against changes, set 'mutates: false'"
        yield Reason(finding="weak check", text=text)


def _unjudged(found: _Found) -> Iterator[Reason]:
    for trial, record in found:
        subject = f"{trial.agent}, trial {trial.trial}" if trial.must_pass else trial.agent
        if record is None:
            yield Reason(finding="error", text=f"not run: {subject}")
        elif is_crawl(trial) and crawl_outcome(trial, record) != "error":
            continue
        elif _fault_of_ours(record) or (record.outcome == "error" and not trial.must_pass):
            yield Reason(finding="error", text=f"{subject}: {record.cause}: {first_line(record.message)}")


def _notes(task: Task, found: _Found, reasons: Sequence[Reason], moot: Moot) -> Iterator[str]:
    if task.skip:
        yield f"skipped: {task.skip}"
    if task.xfail:
        yield f"expected to fail: {task.xfail}" if reasons else f"valid, although marked xfail: {task.xfail}"
    null = _null(found)
    held = [
        atom.path for atom in (atoms(null) if null is not None else ())
        if atom.passed and not is_on_answer(atom) and atom.path != SIDE_EFFECTS
    ]  # fmt: skip
    if held:
        yield f"{_listed(held)} {'passes' if len(held) == 1 else 'pass'} before anything is done"
    yield from (f"{agent}, trial {number}, proves nothing: {why}" for (agent, number), why in moot.items())
    for trial, record in found:
        if record is not None and (trial.agent, trial.trial) not in moot and broke_off(trial, record):
            yield f"{trial.agent} broke off at step {record.steps - 1} of {len(trial.task.solution or ())}"


def _audited(trial: AuditTrial, record: TrialRecord | None, moot: Moot) -> AuditedTrial:
    proves_nothing = (trial.agent, trial.trial) in moot
    return AuditedTrial(
        agent=trial.agent,
        trial=trial.trial,
        manner=trial.manner,
        outcome=_outcome(trial, record, proves_nothing=proves_nothing),
        broke_off=record is not None and not proves_nothing and broke_off(trial, record),
        folder=record.key.folder if record is not None else "",
    )


def _outcome(trial: AuditTrial, record: TrialRecord | None, *, proves_nothing: bool) -> _Outcome:
    if record is None:
        return "not run"
    if is_crawl(trial):
        return crawl_outcome(trial, record)
    return "moot" if proves_nothing else record.outcome


def _fault_of_ours(record: TrialRecord) -> bool:
    """Whether an error is unrelated to the task.

    A broken solution and a check that can't be judged are the task's own errors.
    """
    return record.outcome == "error" and record.cause != "task"


def _null(found: _Found) -> TrialRecord | None:
    return next((record for trial, record in found if trial.agent == "null"), None)


def _listed(words: Iterable[str]) -> str:
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last


def _task_json(task: TaskAudit) -> dict[str, Any]:
    return {
        "task": task.task,
        "finding": task.finding,
        "counts_against": task.counts_against,
        "path": task.path,
        "line": task.line,
        "template": task.template,
        "xfail": task.xfail,
        "reasons": [asdict(reason) for reason in task.reasons],
        "notes": list(task.notes),
        "mutation": {"wrong": task.wrong, "caught": task.caught},
        "values": asdict(task.values),
        "trials": [asdict(trial) for trial in task.trials],
    }
