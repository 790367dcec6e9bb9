"""One run's folder: who writes which file, so that nothing recorded is ever lost or incomplete.

::

    <run>/
      run.json                     what was run: versions, arguments, digests (written once)
      .gitignore                   all of it
      broker.log
      reset_proofs.json            digests with which resets of hosted sites are proved, also by resumed runs
      memory/                      agents' memories across trials, if they have any
      trials/<slug>-<hash>/
        trial.json                 written last and atomically: its presence means "finished"; with its own digest
        started.json               which process started it, to distinguish a crashed worker from a missing trial
        attempt-1/                 steps.jsonl browser_events.jsonl network.jsonl evidence.json
                                   tabs/ observations/ screenshots/ intent_images/ model_calls/
          manifest.json            digests of these files, written after them; the record has its digest

One process owns one trial folder, so it has no lock. Merging runs is a union of folders.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from glob import escape as glob_escape
from pathlib import Path
from typing import Any

from pytest_webarena.errors import RunChanged, UsageError, recording
from pytest_webarena.evidence import StepRecord
from pytest_webarena.file_digests import SEAL, seal, seal_fault
from pytest_webarena.llm.model_calls import calls_of, read_bills
from pytest_webarena.record_files import is_attempt_file, is_evidence
from pytest_webarena.results.attempts import read_steps
from pytest_webarena.results.billing import billed
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.plan import read_plan
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.results.run_identity import IMPORTED, ignore, package_manifest
from pytest_webarena.results.stored_records import (
    Stored,
    Unreadable,
    changes,
    read_record,
    readable_record,
    removed_trials,
    write_attempt_manifest,
    write_record,
)
from pytest_webarena.results.trial_folder import TrialFolder
from pytest_webarena.secrets import scrub, scrub_plain

__all__ = ["RunDir"]

RUN_SCHEMA_VERSION = 2
"""Version of ``run.json``; 2 added ``id`` and the file's digest."""


class RunDir:
    """A run's folder. Nothing is created on disk before it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def trials(self) -> Path:
        """Folder with the trial folders."""
        return self.path / "trials"

    def describe(self, facts: Mapping[str, Any]) -> None:
        """Write ``run.json`` unless it exists. Any worker may be first; the first one wins."""
        target = self.path / "run.json"
        if target.exists():
            return
        temporary = target.with_name(f".run.json.{os.getpid()}-{threading.get_ident()}.tmp")
        identity = facts.get("id") or uuid.uuid4().hex[:16]
        plain = {**scrub_plain(facts), "schema_version": RUN_SCHEMA_VERSION, "id": identity}
        text = seal(plain, mask=scrub, indent=2)
        with recording(target):
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_text(text, encoding="utf-8")
                os.link(temporary, target)  # unlike a rename, it fails when another worker was first
                ignore(self.path)
            except FileExistsError:
                pass
            finally:
                temporary.unlink(missing_ok=True)

    def facts(self) -> dict[str, Any]:
        """Return the content of ``run.json``, with the fact `IMPORTED` where it was imported.

        Raises `UsageError` when this is not a run directory, `RunChanged` if the file was changed or is damaged.
        """
        try:
            content = (self.path / "run.json").read_bytes()
            data = json.loads(content)
        except FileNotFoundError:
            raise UsageError(f"{self.path}: expected a run directory with a run.json, found none") from None
        except (OSError, ValueError) as error:
            raise RunChanged(
                f"{self.path}: expected a run directory with a run.json, found none that can be read: {error}"
            ) from None
        version = data.get("schema_version") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(version, int) or version > RUN_SCHEMA_VERSION:
            raise UsageError(
                f"{self.path / 'run.json'}: expected a run of schema version {RUN_SCHEMA_VERSION} or older, "
                f"found {version!r}"
            )
        if version > 1 and (fault := seal_fault(content)):
            raise RunChanged(
                f"{self.path / 'run.json'}: expected the run's conditions as it wrote them, but {fault}; bring the "
                f"file back, or keep it as it is: webarena runs verify {self.path} --accept run.json --because TEXT"
            )
        data.pop(SEAL, None)
        return {**data, IMPORTED: True} if package_manifest(self.path) is not None else data

    def accept_facts(self, *, because: str, at: float) -> None:
        """Take ``run.json`` as it is now, with a mark and the reason ``because``, at Unix time ``at``. Raises
        `UsageError` unless it was changed."""
        file = self.path / "run.json"
        try:
            content = file.read_bytes()
            data = json.loads(content)
            accepted = [*data.get("accepted", ()), {"at": at, "because": because}]
        except (OSError, ValueError, AttributeError) as error:
            raise UsageError(
                f"{file}: expected the conditions of a run, found none that can be read: {error}"
            ) from None
        if not seal_fault(content):
            raise UsageError(f"{file}: expected a file that was changed, found it as it was written")
        write_atomically(file, seal({**data, "accepted": accepted}, indent=2))

    def _origins(self) -> tuple[frozenset[str], bool]:
        """The ids of the runs whose trials may be here, this one and merged ones, empty where they are unknown; and
        whether all records have digests, because no older version wrote any of them."""
        try:
            data = json.loads((self.path / "run.json").read_bytes())
            ids = frozenset({*filter(None, [data.get("id")]), *data.get("ids", ())})
            return ids, data["schema_version"] > 1 and "merged" not in data
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return frozenset(), False

    def folder(self, key: TrialKey) -> TrialFolder:
        """Return the folder of one trial; it need not exist."""
        path, older = self.trials / key.folder, self.trials / key.older_folder
        if older != path and not path.exists() and (record := readable_record(older)) is not None and record.key == key:
            path = older
        return TrialFolder(path, key)

    def steps_of(self, record: TrialRecord) -> tuple[StepRecord, ...]:
        """Return the steps of a trial's last attempt."""
        return read_steps(self.folder(record.key).path / f"attempt-{record.attempt}")

    def pages_of(self, record: TrialRecord) -> list[str]:
        """Return the addresses that a trial visited, in order: before and after the steps of its last attempt."""
        return [url for step in self.steps_of(record) for url in (step.url_before, step.url_after) if url]

    def of_task(self, task: str) -> list[TrialRecord]:
        """Return the finished trials of one task, without reading the others."""
        slug = TrialKey(task, "", 0).folder.partition("..")[0]
        found = (readable_record(folder) for folder in sorted(self.trials.glob(f"{glob_escape(slug)}.*")))
        return [record for record in found if record is not None and record.key.task == task]

    def read(self) -> Stored:
        """Return all trials: finished and unfinished ones, and those that can't be read or were removed."""
        records, unreadable, unfinished = [], [], []
        ids, all_sealed = self._origins()
        for folder in self._folders():
            try:
                record = read_record(folder, sealed=all_sealed)
            except ValueError as error:
                unreadable.append(Unreadable(folder=folder, problem=str(error)))
                continue
            if record is not None and record.run and ids and record.run not in ids:
                problem = f"{folder / 'trial.json'}: expected a trial of this run, found one of the run {record.run}"
                unreadable.append(Unreadable(folder=folder, problem=problem))
            elif record is not None:
                records.append(record)
            else:
                unfinished.append(folder.name)
        records.sort(key=lambda record: record.key)
        plan = read_plan(self.path).values()
        known = {record.key for record in records}
        unreadable += removed_trials(self.path, [each for each in plan if each.key not in known]).values()
        return Stored(
            records=tuple(records),
            unreadable=tuple(unreadable),
            unfinished=tuple(unfinished),
            removed=tuple(each for each in plan if each.removed),
        )

    def records(self) -> list[TrialRecord]:
        """Return all finished trials that can be read, ordered by key.

        For figures use `read`, which names the others.
        """
        return list(self.read().records)

    def finished(self) -> Sequence[TrialRecord]:
        """Return all trials, for callers that need a complete run.

        Raises `UsageError` when there is none, or one can't be read or has changed evidence, and as `facts` does.
        """
        self.facts()
        stored = self.read()
        if stored.unreadable:
            raise UsageError(f"expected records that can be read, found {stored.unreadable[0]}")
        if not stored.records:
            raise UsageError(f"{self.path}: expected a run with finished trials, found none")
        for problem in (each for record in stored.records for each in self.changes(record, every_file=False)):
            raise UsageError(f"expected trials with the evidence that they had, found a change: {problem}")
        return stored.records

    def changes(self, record: TrialRecord, *, every_file: bool = True) -> list[str]:
        """Return a message for each file of the trial's attempts that is not as it was when its attempt ended.

        Without ``every_file``, only files from which checks are judged are examined.
        """
        wanted = is_attempt_file if every_file else is_evidence
        return [*changes(self.folder(record.key).path, record, wanted=wanted)]

    def accept(self, folder: Path, *, because: str, at: float) -> TrialRecord:
        """Take a trial's files as they are now, with a mark and the reason ``because`` in its record, at Unix time
        ``at``. Raises `UsageError` for a record that can't be read, and where nothing was changed."""
        try:
            record = read_record(folder, changed=True)
        except ValueError as error:
            raise UsageError(str(error)) from None
        assert record is not None, "the caller has seen its file"
        if readable_record(folder) is not None and not self.changes(record):
            raise UsageError(f"{folder}: expected a trial that was changed, found its files as they were written")
        found = TrialFolder(folder, record.key)
        manifests = {path.name: write_attempt_manifest(path) for path in sorted(folder.glob("attempt-*"))}
        mark = {"at": at, "because": because, "outcome": record.outcome}
        return found.update(replace(record, manifests=manifests, accepted=(*record.accepted, mark)))

    def size(self) -> int:
        """Return the size of all files in bytes."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def begun(self) -> frozenset[str]:
        """Return the names of the folders of all trials that were started, finished or not."""
        return frozenset(folder.name for folder in self._folders())

    def unfinished(self) -> list[dict[str, Any]]:
        """Return the content of ``started.json`` of trials that were started and never finished."""
        found = []
        for folder in self._folders():
            if (folder / "trial.json").exists():
                continue
            try:
                found.append(json.loads((folder / "started.json").read_text(encoding="utf-8")))
            except (OSError, ValueError):
                found.append({"folder": folder.name})
        return found

    def cut_off(self, record: TrialRecord) -> int:
        """Return `TrialFolder.cut_off` of the record's folder."""
        return self.folder(record.key).cut_off(record)

    def settle(self) -> None:
        """Update the bills of all records, because calls may be settled after a trial or by a process that died."""
        bills = read_bills(calls_of(self.path))
        for record in self.read().records if bills else ():
            folder = self.folder(record.key)
            whole = billed(record, bills.get(record.key.folder), cut_off=folder.cut_off(record))
            if whole != record:
                write_record(folder.path / "trial.json", whole)

    def _folders(self) -> Iterator[Path]:
        if self.trials.is_dir():
            yield from sorted(path for path in self.trials.iterdir() if path.is_dir())
