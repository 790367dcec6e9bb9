"""Reads the conditions of recorded verdicts, for audits."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_webarena.checks.verdict import CheckResult, Verdict
from pytest_webarena.results.records import TrialRecord

__all__ = ["atoms", "first_line", "gist", "is_on_answer", "verdict_of", "why_failed"]


def gist(record: TrialRecord) -> tuple[object, ...]:
    """The properties that two runs of the same solution must share."""
    return record.outcome, tuple((atom.path, atom.score) for atom in atoms(record))


def why_failed(record: TrialRecord) -> str:
    """The failed check with what it found, or the error."""
    if record.outcome == "error":
        open_end = next((atom for atom in atoms(record) if atom.score is None), None)
        return f"{open_end.path} {open_end.kind}: {open_end.why}" if open_end else first_line(record.message)
    stopped = f" (stopped: {record.stop_detail or record.stop_reason})" if record.stop_reason != "answered" else ""
    atom = next((atom for atom in atoms(record) if not atom.passed), None)
    if atom is None:
        return first_line(record.message) + stopped
    actual = atom.actual or atom.why
    return f"{atom.path} {atom.kind}: expected {atom.expected}" + (f", found {actual}" if actual else "") + stopped


def atoms(record: TrialRecord) -> Iterator[CheckResult]:
    """The verdict's single conditions. ``not`` counts as one, because its content is meant to fail."""
    verdict = verdict_of(record)
    pending = list(verdict.results) if verdict is not None else []
    while pending:
        result = pending.pop(0)
        if result.kind in ("all", "any"):
            pending = [*result.children, *pending]
        else:
            yield result


def verdict_of(record: TrialRecord) -> Verdict | None:
    """The recorded verdict; None if there is none that can be read."""
    if record.verdict is None:
        return None
    try:
        return Verdict.from_json(record.verdict)
    except (ValueError, KeyError, TypeError):
        return None


def is_on_answer(atom: CheckResult) -> bool:
    return {result.kind for _, result in atom.walk() if not result.children} == {"answer"}


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason was given")
