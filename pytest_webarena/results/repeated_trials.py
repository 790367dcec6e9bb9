"""The same trial in several run directories: which record a merged run takes, and what becomes of the others.

A run and its rescored copy hold one execution, judged twice: the later judging counts, and the earlier one is kept in
the record's ``history``. A trial that was run again is another execution: the later one with a verdict counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_webarena.results.atomic_folders import copy_missing
from pytest_webarena.results.failure_labels import FILE as LABELS
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.records import JUDGED_FIELDS, TrialRecord
from pytest_webarena.results.stored_records import write_record

__all__ = ["Copy", "Taken", "take"]

_EVIDENCE = ("evidence.json", "steps.jsonl", "network.jsonl", "browser_events.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A trial's record in one of the merged runs."""

    record: TrialRecord
    folder: Path
    run: str
    """Name of the run in messages."""

    @property
    def judged_at(self) -> float:
        """Unix time of the judging that counts: the last rescoring, else the end of the trial."""
        record = self.record
        ended = record.started + record.seconds.get("total", 0.0)
        return max([ended, *(float(each.get("until") or 0.0) for each in record.history)])

    @property
    def execution(self) -> tuple[object, ...]:
        """Equal for copies of one execution with one task and the same evidence (SHA-256)."""
        record, digest = self.record, hashlib.sha256()
        for name in _EVIDENCE:
            file = self.folder / f"attempt-{record.attempt}" / name
            digest.update(
                f"{name} {hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ''}\n".encode()
            )
        what = record.task_digest, record.agent_digest, record.model, digest.hexdigest()
        return record.started, record.attempt, *what

    @property
    def verdict(self) -> dict[str, Any]:
        """The fields of the record that judging sets, as plain data."""
        data = json.loads(json.dumps(self.record.to_json(), default=str))
        return {name: data[name] for name in JUDGED_FIELDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The copy of a trial that a merged run takes."""

    copy: Copy
    record: TrialRecord
    """Its record, whose ``history`` has the verdicts of the other copies of the execution."""
    others: tuple[Copy, ...] = ()
    """Other copies of the same execution."""
    superseded: tuple[Copy, ...] = ()
    """Copies of any execution that have a later judging."""
    rejudged: bool = False
    """Whether another copy of the execution has another verdict, which this one replaces."""
    contradicted: bool = False
    """Whether the same judge gave the copy that counts and another one of the execution different verdicts."""
    run_again: int = 0
    """Number of other executions of the trial, which are left out."""
    conflicts: tuple[str, ...] = ()
    """Copies with another verdict or other evidence that no rule ranks below this one."""

    def write(self, target: Path) -> None:
        """Add to the copied folder ``target`` what only other copies have: files, labels, and verdicts in history."""
        for other in self.others:
            labels = _lines(target / LABELS)
            copy_missing(other.folder, target)
            added = [line for line in _lines(other.folder / LABELS) if line not in labels]
            if labels and added:
                write_atomically(target / LABELS, "".join(f"{line}\n" for line in _by_time([*labels, *added])))
        if self.record != self.copy.record:
            write_record(target / "trial.json", self.record)


def take(copies: Sequence[Copy]) -> Taken:
    """Return the copy that counts, of one trial's ``copies``. Their order does not matter unless they conflict.

    A verdict precedes an error. Then the later execution counts, and of one execution the later judging.
    """
    if len(copies) == 1:
        return Taken(copy=copies[0], record=copies[0].record)
    executions: dict[tuple[object, ...], list[Copy]] = {}
    for copy in copies:
        executions.setdefault(copy.execution, []).append(copy)
    best = max(copies, key=_rank)
    conflicts = [
        f"{best.record.key.folder}: {'evidence' if other.execution != best.execution else 'verdicts'} "
        f"in {best.run} and {other.run}"
        for other in copies
        if _rank(other) == _rank(best) and (other.execution, other.verdict) != (best.execution, best.verdict)
    ]
    others = tuple(copy for copy in executions[best.execution] if copy is not best)
    history = _joined_history(best, others)
    return Taken(
        copy=best,
        record=replace(best.record, history=history) if history != best.record.history else best.record,
        others=others,
        superseded=tuple(copy for some in executions.values() for copy in some if copy is not max(some, key=_rank)),
        rejudged=any(other.verdict != best.verdict for other in others),
        contradicted=any(_by_same_judge(other, best) and _result(other) != _result(best) for other in others),
        run_again=len(executions) - 1,
        conflicts=tuple(conflicts),
    )


def _by_same_judge(one: Copy, other: Copy) -> bool:
    judges = one.record.judge, other.record.judge
    identities = [(each.model, each.prompt, each.temperature) for each in judges if each is not None]
    return len(identities) == 2 and identities[0] == identities[1]


def _result(copy: Copy) -> tuple[str, float | None]:
    return copy.record.outcome, copy.record.score


def _rank(copy: Copy) -> tuple[bool, float, float]:
    return copy.record.outcome != "error", copy.record.started, copy.judged_at


def _joined_history(best: Copy, others: Sequence[Copy]) -> tuple[Any, ...]:
    """The earlier verdicts of all copies of an execution, each once, oldest first."""
    joined = list(best.record.history)
    known = [_text(entry) for entry in (*joined, best.verdict)]
    for other in others:
        replaced = {**other.verdict, "until": max(best.judged_at, other.judged_at)}
        for entry in (*other.record.history, replaced):
            if (text := _text(entry)) not in known:
                known.append(text)
                joined.append(entry)
    return tuple(sorted(joined, key=lambda entry: float(entry.get("until") or 0.0)))


def _text(entry: Any) -> str:
    """An earlier verdict without the time at which it was replaced, for comparison."""
    return json.dumps({name: value for name, value in entry.items() if name != "until"}, sort_keys=True, default=str)


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []


def _by_time(labels: Sequence[str]) -> list[str]:
    """Label lines in the order of their times, because a person's later label replaces the earlier one."""

    def time_of(line: str) -> float:
        try:
            return float(json.loads(line)["at"])
        except (ValueError, KeyError, TypeError):
            return 0.0

    return sorted(labels, key=time_of)
