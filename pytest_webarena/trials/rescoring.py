"""Judges stored trials again from their evidence, with the current checks and without sites, browser or agents."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pytest_webarena.checks import judge_all_bounded
from pytest_webarena.checks.answer_form import chance_of
from pytest_webarena.errors import ControlResult, TrialError
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.owners import CAUSED_BY_AGENT, EVENTS, event_of
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.results.person_labels import person_labels
from pytest_webarena.results.records import JUDGED_FIELDS, Attempt, TrialKey, TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.secrets import scrub, scrub_plain
from pytest_webarena.tasks.model import Task
from pytest_webarena.tasks.placeholders import readable
from pytest_webarena.trials.archive_misses import with_misses
from pytest_webarena.trials.failed_writes import failed_writes, with_failed_writes
from pytest_webarena.trials.fault_attribution import attributed
from pytest_webarena.trials.live_sites import with_obstacles
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.outcome import Decided, decide

__all__ = ["Rescorer"]

_TASK = ("category", "template", "tags")


class Rescorer:
    """Replaces a worker's `Runtime` when a finished run is judged again."""

    def __init__(self, run: RunDir, *, options: TrialOptions, judge: Judge, agents: Mapping[str, str]) -> None:
        """``agents`` maps the names given in ``--agent`` to the ids in records."""
        self._run = run
        self._options = options
        self._judge = judge
        self._agents = agents

    def run(self, task: Task, agent: str, trial: int, *, browser: str, node_id: str) -> TrialRecord:
        """Judge one trial again; write its record if the result differs."""
        folder = self._run.folder(TrialKey(task.id, self._agents[agent], trial, browser))
        record = folder.read()
        if record.stop_reason in CAUSED_BY_AGENT:
            return record  # no check decided that, and none can revise it
        try:
            judged = self._judged(task, record, folder.path / f"attempt-{record.attempt}")
        except _NothingCollected:
            return record  # the trial failed before there was evidence, and remains an error
        if _verdict_text(judged) == _verdict_text(record):
            return record
        before = {name: getattr(record, name) for name in JUDGED_FIELDS}
        before["judge"] = asdict(record.judge) if record.judge is not None else None
        judged = replace(judged, history=(*record.history, {**before, "until": round(time.time(), 3)}))
        judged = TrialRecord.from_json(scrub_plain(judged.to_json()))
        folder.update(judged)
        return judged

    def folder(self, record: TrialRecord) -> Path:
        """The directory of a trial's files."""
        return self._run.folder(record.key).path

    def prune(self, record: TrialRecord) -> None:
        """Do nothing: files that were kept stay."""

    def _judged(self, task: Task, record: TrialRecord, attempt: Path) -> TrialRecord:
        try:
            evidence = read_evidence(attempt, manifest=record.manifest)
        except ValueError as error:
            if not _was_judged(record):
                raise _NothingCollected from error
            return _damaged(record, error)
        evidence = replace(evidence, labels=person_labels(attempt.parent, record))
        session, options = self._judge.session(record.key.folder), self._options
        began = time.monotonic()
        before, facts = record, {name: getattr(task, name) for name in _TASK}
        intent = readable(task.intent, task.leased, evidence.sites)
        record = replace(record, **facts, intent=intent, task_digest=task.digest, source=dict(task.source))
        record = replace(record, chance=chance_of(task))
        record = replace(record, event="", control=None, stop_reason=evidence.stop_reason)
        cleared: dict[str, Any] = {"score": None, "verdict": None, "verdicts": {}, "grading": ""}
        try:
            verdicts = judge_all_bounded(
                task, evidence, headline=options.grading, asker=session, seconds=options.check_timeout
            )
            name, verdict = next(iter(verdicts.items()))
            if not verdict.grading and record.grading:  # the task has a single grading
                name, verdicts = record.grading, {record.grading: verdict}
            decided = decide(verdict, stop_reason=evidence.stop_reason, stop_detail=record.stop_detail)
            decided = with_failed_writes(with_misses(decided, evidence), failed_writes(evidence.requests))
            decided = with_obstacles(decided, evidence, live=bool(record.environment.get("live")))
            if decided.cause == "judge" and session.event:
                decided = decided._replace(event=session.event)
            if decided.event == "harness" and evidence.masked:
                decided = decided._replace(event="disk")  # only the record lacks something
            cleared = {
                "score": verdict.known_score,
                "verdict": verdict.to_json(),
                "grading": name,
                "verdicts": {each: its.to_json() for each, its in verdicts.items()},
            }
        except TrialError as error:
            decided = Decided("error", error.cause, str(error), event_of(error).name)
        except Exception as error:  # a bug in the harness must not look like a failed task, nor end the run
            decided = Decided("error", "harness", f"unexpected {type(error).__name__} in judging: {error}", "harness")
        record = replace(record, **cleared, **decided._asdict(), judge=session.use)
        if decided.event:
            record = self._owned(record, before, session.control, task)
        return replace(
            record,
            attempts=_with_outcome(record),
            seconds={**record.seconds, "judge": round(time.monotonic() - began, 4)},
        )

    def _owned(self, record: TrialRecord, before: TrialRecord, asked: ControlResult, task: Task) -> TrialRecord:
        """``record`` with the owner of its error, for which ``asked`` is the control of the judge. Other controls would
        need sites: what the record had ``before`` still applies, and what an edited task lacks is not the agent's."""
        event, control = EVENTS[record.event], before.control
        if before.event == "uncounted_usage" and event.name == "unreported_usage":
            event = EVENTS[before.event]  # the agent's calls were counted by the harness
        if event.control == "question":
            control = asked
        elif event.control == "none":
            control = None
        elif before.outcome == "error" or before.task_digest not in ("", task.digest):
            control = "fails"
        elif event.name != before.event:
            control = "impossible"
        return attributed(record, event, control, task=task, grading=self._options.grading)


class _NothingCollected(Exception):
    """The attempt that counts left no evidence."""


def _was_judged(record: TrialRecord) -> bool:
    """Whether checks were ever judged, which needs evidence: a trial that failed earlier has a verdict without
    results."""
    return any(
        verdict and verdict.get("results") for verdict in (record.verdict, *(e.get("verdict") for e in record.history))
    )


def _damaged(record: TrialRecord, why: ValueError) -> TrialRecord:
    """The record of a trial whose evidence was damaged: neither its old verdict nor a new one can be established."""
    message = (
        f"{why}. Nobody can judge this trial again: bring the file back and judge once more, or run the trial again"
    )
    decided = Decided("error", "harness", message, "disk")
    record = replace(record, **decided._asdict(), control=None, score=None, verdict=None, verdicts={}, grading="")
    return replace(record, judge=None, attempts=_with_outcome(record))


def _with_outcome(record: TrialRecord) -> tuple[Attempt, ...]:
    """The attempts of ``record``, the one that counts with its outcome."""
    return tuple(
        replace(each, outcome=record.outcome, cause=record.cause, message=record.message)
        if each.number == record.attempt
        else each
        for each in record.attempts
    )


def _verdict_text(record: TrialRecord) -> str:
    """The judged fields of a record as text, for comparison.

    A judge's cost differs each time; event and control of an error show in its outcome."""
    fields = {name: getattr(record, name) for name in JUDGED_FIELDS if name not in ("event", "control")}
    if (judge := record.judge) is not None:
        fields["judge"] = [judge.model, judge.prompt, judge.temperature, judge.errors and asdict(judge.errors)]
    return scrub(json.dumps(fields, sort_keys=True))
