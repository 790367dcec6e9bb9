"""People's answers to the questions of checks of the kind ``human``, in the label files of the trials' folders.

``webarena judge annotate add`` writes a line per trial, question and person; ``--rescore`` judges by them. A person's
later label replaces the earlier one. Labels of a trial that has been run again since are dropped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.evidence import PersonLabel
from pytest_webarena.results.failure_labels import FILE
from pytest_webarena.results.files import write_lines
from pytest_webarena.results.records import TrialRecord

__all__ = ["add_label", "person_labels", "questions_of"]


def questions_of(record: TrialRecord) -> list[str]:
    """Return the questions to people of a trial's verdict."""
    verdicts = (record.verdict, *record.verdicts.values())
    return list(dict.fromkeys(each for verdict in verdicts if verdict for each in _questions(verdict.get("results"))))


def _questions(results: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    for each in results or ():
        if each.get("kind") == "human":
            yield str(each.get("expected", ""))
        yield from _questions(each.get("children"))


def add_label(folder: Path, record: TrialRecord, label: PersonLabel) -> None:
    """Append a label to the file in a trial's folder. Raises `RecordingError`."""
    line = {"trial": folder.name, "started": record.started, "question": label.question, "done": label.done}
    write_lines(folder / FILE, [{**line, "by": label.by, "at": label.at}], mode="a")


def person_labels(folder: Path, record: TrialRecord) -> tuple[PersonLabel, ...]:
    """Return each person's latest label of each question. Other lines and labels of an earlier run are ignored."""
    try:
        lines = (folder / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    found: dict[tuple[str, str], PersonLabel] = {}
    for line in lines:
        if (label := _label(line, record)) is not None:
            found[label.by, label.question] = label
    return tuple(found.values())


def _label(line: str, record: TrialRecord) -> PersonLabel | None:
    try:
        data = json.loads(line)
        question, done, by, at = (data[name] for name in ("question", "done", "by", "at"))
        is_current = data["started"] == record.started
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    is_label = isinstance(question, str) and isinstance(done, bool) and isinstance(by, str) and bool(by.strip())
    is_time = isinstance(at, int | float) and math.isfinite(at) and 0 <= at < 1e11
    if not (is_current and is_label and is_time):
        return None
    return PersonLabel(question=question, done=done, by=by, at=float(at))
