"""``pytest --audit``: the trials of each task, the expected outcome of each item, and the findings at the end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.docs_site import docs
from pytest_webarena.errors import TaskFileError
from pytest_webarena.plugin.catalogue import sites_with_ledger
from pytest_webarena.plugin.stash import SETTINGS
from pytest_webarena.results.gate import NOT_VALID, UNSETTLED, Ruling

if TYPE_CHECKING:
    from pytest_webarena.agents.audit_trials import AuditTrial
    from pytest_webarena.evidence import Evidence
    from pytest_webarena.results import RunDir, TrialRecord
    from pytest_webarena.results.audit import Audit
    from pytest_webarena.tasks.model import Task

__all__ = ["as_expected", "conclude", "parametrize", "plan", "planned", "rule"]

_PLAN = "audit_trials"
_NODE_ID = re.compile(r"(?P<path>.+?\.ya?ml)::(?P<task>[^\[]+)")


def plan(functions: Sequence[FunctionType], config: pytest.Config) -> None:
    """Add the trials of its audit to the test function of each task of a file."""
    from pytest_webarena.agents.audit_trials import audit_trials

    family: list[Task] = [function.__dict__["task"] for function in functions]
    ledgers = sites_with_ledger(config)
    for function, task in zip(functions, family, strict=True):
        # In an audit, passing means "as expected", also for tasks that are expected to fail: see `as_expected`.
        marks = [mark for mark in function.__dict__["pytestmark"] if mark.name != "xfail"]
        trials = audit_trials(task, family, oracle_runs=_oracle_runs(config), ledgers=ledgers)
        function.__dict__.update({_PLAN: trials, "pytestmark": marks})


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Create one item per trial of the task's plan."""
    trials: tuple[AuditTrial, ...] = metafunc.function.__dict__[_PLAN]
    names = ("webarena_agent_name", "trial")
    metafunc.fixturenames.extend(names)  # the function has no such arguments; the runner reads the callspec
    several = {trial.agent for trial in trials if trial.trial > 1 or trial.must_pass}
    ids = [f"{trial.agent}-trial{trial.trial}" if trial.agent in several else trial.agent for trial in trials]
    metafunc.parametrize(names, [(trial.agent, trial.trial) for trial in trials], ids=ids)


def planned(function: Any, agent: str, trial: int) -> AuditTrial | None:
    """Return the trial of the plan that an item belongs to; None without ``--audit``."""
    trials: tuple[AuditTrial, ...] = function.__dict__.get(_PLAN, ())
    return next((each for each in trials if (each.agent, each.trial) == (agent, trial)), None)


def as_expected(trial: AuditTrial, record: TrialRecord, run: RunDir) -> TrialRecord:
    """Return the record with the audit's outcome: passed if the solution passed, or if a wrong agent failed.

    A task with ``xfail`` may be invalid. Trials of the solution that have not finished in another worker are only known
    to `conclude`.
    """
    from pytest_webarena.agents.audit_trials import NEIGHBOUR, ORDER
    from pytest_webarena.results.audit import ground_reason, why_strict, why_wrong
    from pytest_webarena.results.ground_audit import crawl_doubts, crawl_outcome, is_crawl
    from pytest_webarena.results.value_audit import unread_values

    task = trial.task
    if is_crawl(trial) and (outcome := crawl_outcome(trial, record)) != "error":
        reasons = map(ground_reason, crawl_doubts(trial, record))
        message = "\n".join(f"{reason.finding}: {reason.text}\n{reason.mend}" for reason in reasons)
        record = replace(record, outcome="passed" if outcome == "passed" else "failed", message=message, cause=None)
    elif trial.agent == ORDER and record.outcome == "passed":
        return record
    elif trial.agent == ORDER and record.outcome == "failed" and not _is_moot(trial, record, run):
        reason = why_strict(trial, record)
        record = replace(record, message=f"{reason.finding}: {reason.text}\n{reason.mend}")
    elif not trial.must_pass and record.outcome == "failed":
        return replace(record, outcome="passed")
    elif not trial.must_pass and record.outcome == "passed":
        if _is_moot(trial, record, run):
            return record
        reason = why_wrong(trial, _evidence(run, record) if trial.agent == NEIGHBOUR else None)
        record = replace(record, outcome="failed", message=f"{reason.finding}: {reason.text}\n{reason.mend}".rstrip())
    elif record.outcome == "passed" and (unread := list(unread_values([(trial, record)]))):
        message = "\n".join(f"weak check: {each.text}\n{each.mend}" for each in unread)
        record = replace(record, outcome="failed", message=message)
    if task.xfail and (record.outcome == "failed" or record.cause == "task"):
        pytest.xfail(task.xfail)
    return record


def _is_moot(trial: AuditTrial, record: TrialRecord, run: RunDir) -> bool:
    """Whether the trial proves nothing, compared with the trials of the solution that have passed so far."""
    from pytest_webarena.agents.audit_trials import NEIGHBOUR, ORDER, RIGHT
    from pytest_webarena.results.end_state import proves_nothing

    others = run.of_task(trial.task.id) if trial.agent in (NEIGHBOUR, ORDER) else []
    solved = [
        each
        for each in others
        if each.key.agent in RIGHT
        and each.key == replace(record.key, agent=each.key.agent, trial=each.key.trial)
        and each.outcome == "passed"
    ]
    return bool(proves_nothing(trial, record, solved, partial(_evidence, run)))


def conclude(config: pytest.Config, run: RunDir, records: Sequence[TrialRecord], node_ids: Iterable[str]) -> Audit:
    """Judge the tasks that were collected or have ``records``, and write ``audit.json`` into the run directory."""
    from pytest_webarena.agents.audit_trials import audit_trials
    from pytest_webarena.results.audit import audit
    from pytest_webarena.results.files import write_atomically

    wanted: dict[str, set[str]] = {}
    for node_id in (*sorted(node_ids), *(record.node_id for record in records)):
        if match := _NODE_ID.match(node_id):
            wanted.setdefault(match["path"], set()).add(match["task"])
    plans = []
    ledgers = sites_with_ledger(config)
    for path, ids in sorted(wanted.items()):
        family = _load(config.rootpath / path)
        tasks = [replace(task, location=replace(task.location, path=path)) for task in family if task.id in ids]
        plans += [
            (task, audit_trials(task, family, oracle_runs=_oracle_runs(config), ledgers=ledgers)) for task in tasks
        ]

    result = audit(plans, records, evidence=partial(_evidence, run))
    write_atomically(run.path / "audit.json", json.dumps(result.to_json(), indent=1))
    return result


def rule(audit: Audit) -> Ruling:
    """Return the exit code for the findings."""
    counted = [task for task in audit.tasks if task.counts_against]
    if not counted:
        return Ruling(exit_code=0, message="all tasks are valid")
    unjudged = sum(task.finding == "error" for task in counted)
    unproven, undecided = (sum(task.finding == each for task in counted) for each in ("unproven", "undecided"))
    wrong = len(counted) - unjudged - undecided - unproven
    numbers = {"not valid": wrong, "unproven": unproven, "undecided": undecided, "not judged": unjudged}
    (word, first), *others = [(word, number) for word, number in numbers.items() if number]
    message = f"{first} of {len(audit.tasks)} tasks {'is' if first == 1 else 'are'} {word}"
    message += "".join(f", {number} {word}" for word, number in others)
    hint = f"; what to do about it: {docs('audit', 'what-to-do-about-it')}" if wrong or unproven or undecided else ""
    return Ruling(exit_code=NOT_VALID if wrong or unjudged else UNSETTLED, message=message + hint)


def _evidence(run: RunDir, record: TrialRecord) -> Evidence | None:
    """The evidence of a trial; None when it was not kept."""
    from pytest_webarena.results.attempts import read_evidence

    try:
        return read_evidence(run.folder(record.key).path / f"attempt-{record.attempt}", manifest=record.manifest)
    except ValueError:
        return None


def _oracle_runs(config: pytest.Config) -> int:
    """The number of trials of the solution: two can show that a task is flaky, and ``--trials`` may ask for more."""
    return max(2, config.stash[SETTINGS].trials)


def _load(path: Path) -> tuple[Task, ...]:
    from pytest_webarena.tasks import load_tasks

    try:
        return tuple(load_tasks(path))  # collection has compared it with the catalogue
    except TaskFileError:
        return ()  # collection has reported it, and the run ends with that
