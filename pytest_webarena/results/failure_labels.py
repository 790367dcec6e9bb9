"""People's labels for failed trials: stored in the trials' folders, and counted together with the rules' proposals.

A label is a line of JSON: the trial's folder, the trial's start, classes of `failure_classes`, the person, a note. The
viewer writes such lines, and ``webarena judge annotate add`` copies them into the folders of their trials, so that they
stay with the trial when a run is merged or moved. A person's later label replaces the earlier one. Labels of a trial
that has been run again since are dropped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.error_collector import ErrorCollector
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.evidence import StepRecord
from pytest_webarena.plain_data import kind_of
from pytest_webarena.results.failure_classes import CLASSES, Proposal, propose
from pytest_webarena.results.files import write_lines
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.text import clip

__all__ = ["FILE", "Failures", "Label", "add_labels", "count_failures", "failures_of", "labels_of", "proposals_of"]

FILE = "labels.jsonl"
"""Name of the label file in a trial's folder."""

_LONGEST = 10_000_000
"""Size limit of a label file in bytes."""
_LONGEST_NOTE = 2_000
"""Maximum length of a note or a name in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One person's label for one failed trial."""

    trial: str
    """Name of the trial's folder."""
    started: float
    """Start of the trial, as in its record: Unix time in seconds."""
    classes: tuple[str, ...]
    by: str
    note: str = ""
    at: float = 0.0
    """Time of the label: Unix time in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """An agent's failed trials by class. A trial can be of several."""

    failed: int
    labelled: int
    """Number of failed trials with a label."""
    people: tuple[str, ...]
    by_rule: Mapping[str, int]
    """Proposals of the rules for all failed trials."""
    by_people: Mapping[str, int]
    """Classes of the labelled trials by at least one person."""
    both: Mapping[str, int]
    """Classes of the labelled trials that both a rule proposes and a person names."""
    proposed: Mapping[str, int]
    """Proposals of the rules for the labelled trials."""
    several: int = 0
    """Number of trials that several people labelled."""
    alike: int = 0
    """Number of trials to which several people gave the same classes."""


def labels_of(folder: Path, record: TrialRecord) -> tuple[Label, ...]:
    """Return each person's latest label of a trial. Unreadable lines and labels of an earlier run are ignored."""
    found: dict[str, Label] = {}
    try:
        lines = (folder / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    for line in lines:
        try:
            label = _label(json.loads(line), "")
        except (ValueError, UsageError):
            continue
        if label.started == record.started:
            found[label.by] = label
    return tuple(label for label in found.values() if label.classes)  # no class: the label was withdrawn


def add_labels(run: RunDir, file: Path) -> list[Label]:
    """Copy the labels of ``file`` into the folders of their trials; none if one of them is wrong.

    Raises `UsageError` that names the wrong lines and their errors.
    """
    records = {record.key.folder: record for record in run.records()}
    labels: list[Label] = []
    collector = ErrorCollector()
    for number, text in _lines(file):
        with collector.of_one():
            labels.append(_label_of(text, f"{file}, line {number}", run, records))
    collector.raise_errors()
    if not labels:
        raise UsageError(f"{file}: expected lines with labels, found none")
    for label in labels:
        write_lines(run.folder(records[label.trial].key).path / FILE, [asdict(label)], mode="a")
    return labels


def _label_of(text: str, where: str, run: RunDir, records: Mapping[str, TrialRecord]) -> Label:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: expected JSON, found: {error}") from None
    label = _label(data, where)
    record = records.get(label.trial)
    if record is None:
        raise UsageError(f"{where}: expected a trial of {run.path}, found {clip(label.trial, 60)!r}")
    if record.outcome != "failed":
        raise UsageError(f"{where}: expected a failed trial, found one that is {record.outcome}: {label.trial}")
    if label.started != record.started:
        raise UsageError(f"{where}: expected a label of this trial, found one of an earlier run of it: {label.trial}")
    return label


def _lines(file: Path) -> list[tuple[int, str]]:
    try:
        if file.stat().st_size > _LONGEST:
            raise UsageError(f"{file}: expected a file of at most {_LONGEST // 10**6} MB, found a larger one")
        texts = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{file}: expected a file of labels as the viewer saves it, found: {error}") from None
    return [(number, text) for number, text in enumerate(texts, start=1) if text.strip()]


def _label(data: Any, where: str) -> Label:
    if not isinstance(data, Mapping):
        raise UsageError(f"{where}: expected a mapping, found {kind_of(data)}")
    trial, by, note = (str(data.get(name) or "").strip() for name in ("trial", "by", "note"))
    if not trial or not by:
        raise UsageError(f"{where}: expected the keys trial and by, found no {'by' if trial else 'trial'}")
    if max(len(by), len(note)) > _LONGEST_NOTE:
        raise UsageError(
            f"{where}: expected a name and a note of at most {_LONGEST_NOTE} characters, found longer ones"
        )
    classes = data.get("classes")
    if not isinstance(classes, list) or not all(isinstance(each, str) for each in classes):
        raise UsageError(f"{where}: classes: expected a list of names, found {kind_of(classes)}")
    for name in classes:
        if name not in CLASSES:
            raise UsageError(f"{where}: classes: {closest(name, CLASSES)}")
    started, at = (_number(data.get(name), default) for name, default in (("started", -1.0), ("at", time.time())))
    return Label(trial=trial, started=started, classes=tuple(dict.fromkeys(classes)), by=by, note=note, at=at)


def _number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def count_failures(
    records: Iterable[TrialRecord],
    proposals: Callable[[TrialRecord], Sequence[Proposal]],
    labels: Callable[[TrialRecord], Sequence[Label]],
) -> Failures:
    """Return the failed trials of one agent by class."""
    counts: dict[str, dict[str, int]] = {name: {} for name in ("rule", "people", "both", "proposed")}
    failed = labelled = several = alike = 0
    people: dict[str, None] = {}

    def count(kind: str, names: Iterable[str]) -> None:
        for name in names:
            counts[kind][name] = counts[kind].get(name, 0) + 1

    for record in records:
        if record.outcome != "failed":
            continue
        failed += 1
        ruled = {each.name for each in proposals(record)}
        count("rule", ruled)
        record_labels = labels(record)
        if not record_labels:
            continue
        labelled += 1
        people.update(dict.fromkeys(each.by for each in record_labels))
        named = {name for each in record_labels for name in each.classes}
        count("people", named)
        count("proposed", ruled)
        count("both", named & ruled)
        several += len(record_labels) > 1
        alike += len(record_labels) > 1 and len({frozenset(each.classes) for each in record_labels}) == 1
    return Failures(
        failed=failed, labelled=labelled, people=tuple(people), several=several, alike=alike,
        by_rule=counts["rule"], by_people=counts["people"], both=counts["both"], proposed=counts["proposed"],
    )  # fmt: skip


def proposals_of(run: RunDir, record: TrialRecord) -> tuple[Proposal, ...]:
    """Return the rules' proposals for a trial of a run, from the steps and observations of its last attempt."""
    attempt = run.folder(record.key).path / f"attempt-{record.attempt}"

    def observation_of(step: StepRecord) -> str:
        if not step.observation:
            return ""
        try:
            return (attempt / step.observation).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    return propose(record, run.steps_of(record), observation_of) if record.outcome == "failed" else ()


def failures_of(run: RunDir, records: Iterable[TrialRecord]) -> Failures:
    """Return the failures of one agent's trials in a run."""
    return count_failures(
        records,
        lambda record: proposals_of(run, record),
        lambda record: labels_of(run.folder(record.key).path, record),
    )
