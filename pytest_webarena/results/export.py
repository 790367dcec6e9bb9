"""Derived files of a run: ``summary.json`` for programs, ``results.csv`` for spreadsheets.

Both can be regenerated from the trial folders at any time. Columns and keys are only ever added; a change of meaning
raises ``schema_version``. Documented in ``docs/results.md``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_webarena.csv_text import csv_text
from pytest_webarena.file_digests import seal
from pytest_webarena.llm.model_calls import calls_of, read_model_calls
from pytest_webarena.results.comparing.uncertainty import bounds
from pytest_webarena.results.conditions import Difference, mixed, source_of
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.gradings import Comparison, compare, words_of
from pytest_webarena.results.plan import PlannedTrial, note_records, stopped_trials
from pytest_webarena.results.program_changes import program_changes
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.statistics import Rate, Summary, summarise
from pytest_webarena.results.stored_records import Stored
from pytest_webarena.secrets import scrub
from pytest_webarena.text import printable

__all__ = ["COLUMNS", "export", "gradings_json", "outcomes_digest", "results_csv", "summary_json", "whole_summary"]

SUMMARY_SCHEMA_VERSION = 1

COLUMNS = (
    "task", "agent", "trial", "outcome", "score", "stop_reason", "cause", "sites", "category", "template", "tags",
    "steps", "attempts", "seconds", "episode_seconds", "started", "answer", "intent", "folder",
    "model", "model_calls", "cached_calls", "input_tokens", "output_tokens", "cost",
    "grading", "original", "repaired", "verified", "judge", "judge_questions", "judge_cost", "reruns", "browser",
    "chance", "undecided", "calls_without_cost", "signed_in",
)  # fmt: skip


def export(run: RunDir, stored: Stored | None = None) -> None:
    """Write both files into the run's folder, and note in its plan which trials have a record.

    ``stored`` is the content of the run, if it has been read already.
    """
    stored = run.read() if stored is None else stored
    write_atomically(run.path / "summary.json", seal(whole_summary(run, stored), mask=scrub))
    write_atomically(run.path / "results.csv", results_csv(stored.records))
    note_records(run.path, stored.records)


def whole_summary(run: RunDir, stored: Stored) -> dict[str, Any]:
    """Return the content of ``summary.json`` of a run whose trials are ``stored``."""
    records = stored.records
    differing = mixed(source_of(run.path, run.facts(), records))
    return {
        **summary_json(records, differing, stopped=stopped_trials(run.path, records)),
        "outcomes": outcomes_digest(records),
        "program_changes": [each.to_json() for each in program_changes(records)],
        "unreadable": [str(each) for each in stored.unreadable],
        "model_calls": _model_calls(run.path),
    }


def _model_calls(run: Path) -> list[Any]:
    """Return the totals of a run's model calls; those of an imported run are only in its summary."""
    if calls_of(run).is_file():
        return [asdict(line) for line in read_model_calls(calls_of(run))]
    with suppress(OSError, ValueError, KeyError, TypeError):
        return list(json.loads((run / "summary.json").read_bytes())["model_calls"])
    return []


def outcomes_digest(records: Sequence[TrialRecord]) -> str:
    """Return a digest of which trials a run has, and of their outcomes."""
    found = sorted(f"{record.key.folder} {record.outcome} {record.score}" for record in records)
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def summary_json(
    records: Sequence[TrialRecord],
    differing: Mapping[str, Sequence[Difference]] = MappingProxyType({}),
    *,
    stopped: Sequence[PlannedTrial] = (),
) -> dict[str, Any]:
    """Return the figures of each agent, in each browser where there are several, as plain data.

    ``differing`` are the results of `conditions.mixed`, by the agents' names; ``stopped`` as for `summarise`.
    """
    agents = {name: _summary(summary) for name, summary in summarise(records, stopped=stopped).items()}
    for name, found in differing.items():
        agents[name]["mixed"] = [f"{each.agent}: {each.short}" for each in found]
    return {
        "schema_version": SUMMARY_SCHEMA_VERSION,
        "trials": len(records),
        "agents": agents,
        "gradings": gradings_json(compare(records)),
    }


def gradings_json(comparisons: Mapping[str, Comparison]) -> dict[str, Any]:
    """Return the verdicts of the gradings on each agent's trials, as plain data."""
    return {
        name: {
            "agent": each.agent,
            "browser": each.browser,
            "headline": each.headline,
            "rates": _rates(each.rates),
            "disagreements": [
                {**asdict(found.key), "passed": dict(found.passed), "reasons": dict(found.reasons)}
                for found in each.disagreements
            ],
            "undecided": [{**asdict(key), "grading": grading} for key, grading in each.undecided],
        }
        for name, each in comparisons.items()
    }


def results_csv(records: Sequence[TrialRecord]) -> str:
    """Return one line per trial, after a header line of `COLUMNS`."""
    rows = [_row(record) for record in records]
    cells = [[row[name] for name in COLUMNS] for row in rows]
    return csv_text([COLUMNS, *([printable(cell) if isinstance(cell, str) else cell for cell in row] for row in cells)])


def _row(record: TrialRecord) -> dict[str, Any]:
    used = record.total_usage
    verdicts = words_of(record)
    judge = record.judge
    return {
        "judge": judge.model if judge else None,
        "judge_questions": judge.questions if judge else None,
        "judge_cost": judge.usage.cost if judge else None,
        "grading": record.grading if verdicts else "",
        "signed_in": "; ".join(f"{site} {found}" for site, found in record.signed_in.items()),
        **{name: verdicts.get(name) for name in ("original", "repaired", "verified")},
        "model": record.model,
        "model_calls": used.calls if used else None,
        "cached_calls": used.cached_calls if used else None,
        "input_tokens": used.input_tokens if used else None,
        "output_tokens": used.output_tokens if used else None,
        "cost": used.cost if used and used.complete else None,
        "calls_without_cost": used.untold_calls if used else None,
        "task": record.key.task,
        "agent": record.key.agent,
        "trial": record.key.trial,
        "outcome": record.outcome,
        "score": record.score,
        "stop_reason": record.stop_reason,
        "cause": record.cause,
        "sites": " ".join(record.sites),
        "category": record.category,
        "template": record.template,
        "tags": " ".join(record.tags),
        "steps": record.steps,
        "attempts": len(record.attempts),
        "seconds": record.seconds.get("total"),
        "episode_seconds": record.seconds.get("episode"),
        "started": record.started,
        "answer": record.answer,
        "intent": record.intent,
        "folder": record.key.folder,
        "reruns": " ".join(each.outcome for each in record.reruns),
        "browser": record.key.browser,
        "chance": "" if record.chance is None else record.chance,
        "undecided": 1 if record.undecided else "",
    }


def _summary(summary: Summary) -> dict[str, Any]:
    data = asdict(summary)
    data["rate"] = _rate(summary.rate)
    data["by_site"] = _rates(summary.by_site)
    data["by_category"] = _rates(summary.by_category)
    if summary.key_nodes is None:
        del data["key_nodes"]
    del data["mixed"]  # `summary_json` adds it with the names of the agents
    return data


def _rates(groups: Mapping[str, Rate]) -> dict[str, Any]:
    return {name: _rate(rate) for name, rate in groups.items()}


def _rate(rate: Rate) -> dict[str, Any]:
    counts = {"passed": rate.passed, "failed": rate.failed, "errors": rate.errors}
    guess = {} if rate.chance is None else {"chance": rate.chance, "guessable": rate.guessable}
    extra: dict[str, Any] = {"by_judge": rate.by_judge} if rate.by_judge else {}
    if rate.stopped:
        extra["stopped"] = rate.stopped
    if rate.excluded:
        extra["bounds"] = list(bounds(rate.passed, rate.judged, rate.excluded))
        failed = rate.with_errors_failed
        extra["errors_failed"] = {
            "passed": failed.passed,
            "trials": failed.judged,
            "value": failed.value,
            "interval95": list(failed.interval),
        }
    if rate.whole is not None:
        extra["whole_set_interval95"] = list(rate.whole)
    if rate.undecided:
        upper = rate.upper
        extra["undecided"] = {"count": rate.undecided, "value_if_met": upper.value, "interval95": list(upper.interval)}
    if (found := rate.corrected) is not None:
        extra["judge_corrected"] = {"value": found.value, "interval95": list(found.interval)}
    return {**counts, "judged": rate.judged, "value": rate.value, "interval95": list(rate.interval), **guess, **extra}
