"""Trials as they are stored: records with their digests, and what no longer fits them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.errors import recording
from pytest_webarena.file_digests import MANIFEST, SEAL, changed_files, seal, seal_fault, write_manifest
from pytest_webarena.record_files import is_attempt_file, is_evidence, require_plain
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.lost_trials import FILE as IF_LOST
from pytest_webarena.results.plan import PlannedTrial
from pytest_webarena.results.records import SEALED_SINCE, TrialKey, TrialRecord
from pytest_webarena.results.redaction import redact_records
from pytest_webarena.secrets import scrub

__all__ = [
    "Stored",
    "Unreadable",
    "changed_derived_files",
    "changed_records",
    "changes",
    "read_record",
    "readable_record",
    "record_fault",
    "removed_trials",
    "write_attempt_manifest",
    "write_record",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A trial that was started and has no usable record: it can't be read, or was changed or removed."""

    folder: Path
    problem: str
    """The file, what was expected of it and what was found."""

    def __str__(self) -> str:
        return self.problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """All trials of a run directory."""

    records: tuple[TrialRecord, ...] = ()
    """Records of the finished trials, ordered by key."""
    unreadable: tuple[Unreadable, ...] = ()
    """Trials that no figure includes. Commands that show figures have to name them and return a failure."""
    unfinished: tuple[str, ...] = ()
    """Folders of trials that were started and never finished."""
    removed: tuple[PlannedTrial, ...] = ()
    """Trials whose record was removed, which ``webarena runs verify --accept`` or a merge noted."""

    @property
    def without_digest(self) -> int:
        """Number of trials from versions that wrote no digests, so that a change of their files goes unnoticed."""
        return sum(not record.manifests for record in self.records)

    @property
    def accepted(self) -> tuple[TrialRecord, ...]:
        """Records that were changed after they were written, and accepted by ``webarena runs verify --accept``."""
        return tuple(record for record in self.records if record.accepted)


def write_record(path: Path, record: TrialRecord) -> None:
    """Write a record with its digest, atomically. Raises `RecordingError`."""
    write_atomically(path, seal(record.to_json(), mask=scrub))


def write_attempt_manifest(attempt: Path) -> str:
    """Mask what is left of secrets and write the manifest of a finished attempt; return its SHA-256. Raises
    `RecordingError`."""
    redact_records(attempt)
    with recording(attempt / MANIFEST):
        return write_manifest(attempt, wanted=is_attempt_file)


def record_fault(content: bytes, data: Any, folder: Path, *, sealed: bool = False) -> str:
    """Return why the content of a record file, parsed as ``data``, is not as it was written; empty if it is.

    ``sealed`` says that the record has a digest, whatever its version.
    """
    if fault := seal_fault(content):
        version = data.get("schema_version") if isinstance(data, dict) else None
        older = isinstance(version, int) and version < SEALED_SINCE and b'"manifests"' not in content
        return "" if older and not sealed and not any(folder.glob(f"attempt-*/{MANIFEST}")) else fault
    return ""


def changed_derived_files(run: Path) -> list[str]:
    """Return the names of a run's own files that were changed after they were written."""
    found = []
    for name in ("run.json", "plan.json", "summary.json"):
        with suppress(OSError):
            content = (run / name).read_bytes()
            if f'"{SEAL}"'.encode() in content and seal_fault(content):
                found.append(name)
    return found


def removed_trials(run: Path, plan: Iterable[PlannedTrial]) -> dict[TrialKey, Unreadable]:
    """Return the trials of a run's plan that had a record, and have none any more.

    The record of a trial that runs again is in the folder of its attempt, and that of a trial whose agent has started.
    """
    found = {}
    for trial in plan:
        folders = [run / "trials" / name for name in (trial.key.folder, trial.key.older_folder)]
        kept = ("trial.json", "attempt-*/trial.json", f"attempt-*/{IF_LOST}", "unreadable-*.json")
        if trial.recorded and not any(any(folder.glob(name)) for folder in folders for name in kept):
            problem = (
                f"{folders[0] / 'trial.json'}: expected the record that the trial had, found it "
                f"removed; bring it back, or note why: webarena runs verify {run} --accept {folders[0].name} "
                "--because TEXT"
            )
            found[trial.key] = Unreadable(folder=folders[0], problem=problem)
    return found


def changed_records(run: Path) -> list[str]:
    """Return the folders of a run's trials whose record was changed, without reading what the records say."""
    found = []
    for file in sorted((run / "trials").glob("*/trial.json")):
        try:
            content = file.read_bytes()
            if seal_fault(content) and record_fault(content, json.loads(content), file.parent):
                found.append(file.parent.name)
        except (OSError, ValueError, RecursionError):
            found.append(file.parent.name)
    return found


def readable_record(folder: Path, *, of: str = "") -> TrialRecord | None:
    """Return what `read_record` returns; None also for a record that can't be read."""
    try:
        return read_record(folder, of=of)
    except ValueError:
        return None


def read_record(folder: Path, *, of: str = "", changed: bool = False, sealed: bool = False) -> TrialRecord | None:
    """Return the record in a trial's folder, or in an attempt's of the trial whose folder is named ``of``.

    None where it is not finished. Raises `ValueError` for a record that can't be read or, unless ``changed``, was
    changed (`record_fault`), and for links among the records: in a foreign run they may lead to files outside of it.
    """
    file = folder / "trial.json"
    if not of:
        require_plain(folder)
    try:
        if not file.exists() and not file.is_symlink():
            return None
        content = file.read_bytes()
        data = json.loads(content)
        record = TrialRecord.from_json(data)
    except (OSError, ValueError, RecursionError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{file}: expected the record of a trial, found none that can be read: {what}") from None
    if (of or folder.name) not in (record.key.folder, record.key.older_folder):
        raise ValueError(f"{file}: expected the record of the trial in this folder, found that of {record.key.folder}")
    if not changed and (fault := record_fault(content, data, folder, sealed=sealed)):
        raise ValueError(f"{file}: expected the record as its trial wrote it, but {fault}")
    return record


def changes(
    folder: Path, record: TrialRecord, *, wanted: Callable[[str], bool] = is_attempt_file, attempt: int | None = None
) -> Iterator[str]:
    """Yield a message for each file of a trial's attempts that is not as it was when its attempt ended.

    ``wanted`` chooses files by their names in an attempt's folder, ``attempt`` one attempt. Attempts without a
    manifest, of older versions or of a process that died, have nothing to compare with.
    """
    manifests = dict(record.manifests)
    for kept in sorted(folder.glob("attempt-*/trial.json")):  # records of earlier invocations
        try:
            earlier = read_record(kept.parent, of=folder.name)
        except ValueError as error:
            yield str(error)
            continue
        manifests = {**(earlier.manifests if earlier is not None else {}), **manifests}
    for name, digest in sorted(manifests.items()):
        if attempt in (None, int(name.rpartition("-")[2])):
            yield from changed_files(folder / name, digest, wanted=wanted, added=is_evidence)
