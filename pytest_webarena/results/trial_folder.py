"""A trial's folder in a run: its attempts, its record, and what replaces them. See `rundir` for the layout."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pytest_webarena.errors import HarnessError, recording
from pytest_webarena.file_digests import PRUNED, note_pruned
from pytest_webarena.llm.model_calls import calls_of, read_bills
from pytest_webarena.results.attempts import INTENT_IMAGES, AttemptWriter
from pytest_webarena.results.billing import billed
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.lost_trials import forget_lost, lost_record
from pytest_webarena.results.plan import note_record
from pytest_webarena.results.records import Attempt, TrialKey, TrialRecord
from pytest_webarena.results.run_identity import own_id
from pytest_webarena.results.stored_records import (
    read_record,
    readable_record,
    write_attempt_manifest,
    write_record,
)

__all__ = ["TrialFolder"]


class TrialFolder:
    """One trial's folder."""

    def __init__(self, path: Path, key: TrialKey) -> None:
        self.path = path
        self.key = key
        self._replaced_record: Path | None = None
        """Place of the record that existed before `begin`."""

    def begin(self, *, worker: str, node_id: str, task: Mapping[str, Any] | None = None) -> AttemptWriter:
        """Start a new attempt, in addition to existing ones. From now on a crash of this process leaves a trace.

        ``task`` contains fields of `TrialRecord` that describe the task, in case another process has to write the
        record. An attempt of a process that died gets its record now, so that it counts.
        """
        numbers = (int(path.name[8:]) for path in self.path.glob("attempt-*") if path.name[8:].isdigit())
        number = 1 + max(numbers, default=0)
        if (lost := lost_record(self.path, number - 1, by=os.getpid())) is not None:
            self.finish(lost)
        folder = self.path / f"attempt-{number}"
        with recording(folder):
            folder.mkdir(parents=True)
        started = {"key": asdict(self.key), "attempt": number, "worker": worker, "node_id": node_id}
        started |= {"time": time.time(), "task": dict(task or {}), "pid": os.getpid()}
        write_atomically(self.path / "started.json", json.dumps(started))
        self.reopen()
        return AttemptWriter(folder, number)

    def reopen(self) -> None:
        """Reopen the trial: its earlier record moves to the folder of its attempt."""
        file = self.path / "trial.json"
        with recording(file):
            earlier = self.record()
            if earlier is not None and (kept := self.path / f"attempt-{earlier.attempt}").is_dir():
                self._replaced_record = file.replace(kept / "trial.json")
            elif earlier is None and file.exists():  # an unreadable record is kept, because it may be somebody's data
                self._replaced_record = file.replace(self.path / f"unreadable-{time.time_ns()}.json")
            else:
                file.unlink(missing_ok=True)

    def withdraw(self, number: int) -> None:
        """Remove all traces of attempt ``number``: nothing was tried, and nothing is known of it."""
        shutil.rmtree(self.path / f"attempt-{number}", ignore_errors=True)
        (self.path / "started.json").unlink(missing_ok=True)
        if self._replaced_record is not None:
            self._replaced_record.replace(self.path / "trial.json")
            self._replaced_record = None
        with suppress(OSError):  # it is not empty
            self.path.rmdir()

    def keep(self, record: TrialRecord) -> None:
        """Store a record that counts before further attempts: should one of these end with its process, it is found."""
        record = replace(record, manifests=self._manifests(record))
        write_record(self._restored(record) / "trial.json", record)

    def _restored(self, record: TrialRecord) -> Path:
        """Return the directory of the record's attempt. The agent may have removed it, or put something in its place
        or in that of a record: this is set aside."""
        folder = self.path / f"attempt-{record.attempt}"
        with recording(folder):
            for place in (self.path, folder):
                if place.is_symlink() or (place.exists() and not place.is_dir()):
                    _set_aside(place)
                place.mkdir(exist_ok=True)
            for file in (self.path / "trial.json", folder / "trial.json"):
                if file.is_symlink() or file.is_dir():
                    _set_aside(file)
        return folder

    def finish(self, record: TrialRecord, *, since: float = math.inf) -> TrialRecord:
        """Write ``trial.json``, which finishes the trial. Returns the record that counts, as it was written.

        The first verdict of the pytest invocation that started at ``since`` (Unix time) on this task and agent counts.
        Later ones (``--reruns``) are added to its ``reruns``. By default there is no earlier verdict.
        """
        if (first := self._first_verdict(record, since)) is not None:
            later = Attempt(
                number=record.attempt,
                outcome=record.outcome,
                cause=record.cause,
                message=record.message,
                started=record.started,
                seconds=record.seconds.get("total", 0.0),
                usage=record.total_usage,
            )
            record = replace(record, manifests=self._manifests(record))
            write_record(self._restored(record) / "trial.json", record)
            record = replace(first, reruns=(*first.reruns, later))
        else:
            self._restored(record)
            record = replace(record, manifests=self._manifests(record))
        finished = self.update(record)
        note_record(self.path.parents[1], self.key)
        return finished

    def update(self, record: TrialRecord) -> TrialRecord:
        """Write ``trial.json`` of a trial that has finished before. Returns it as it was written."""
        run = self.path.parents[1]
        bills = read_bills(calls_of(run), self.key.folder)
        if not record.run and record.manifests:
            record = replace(record, run=own_id(run))
        record = billed(record, bills.get(self.key.folder), cut_off=self.cut_off(record))
        write_record(self.path / "trial.json", record)
        forget_lost(self.path)
        return record

    def _manifests(self, record: TrialRecord) -> dict[str, str]:
        """Write the manifests of the record's attempts; return their digests by the attempts' folders."""
        numbers = {record.attempt, *(each.number for each in record.attempts)}
        folders = [self.path / f"attempt-{number}" for number in numbers]
        return {folder.name: write_attempt_manifest(folder) for folder in sorted(folders) if folder.is_dir()}

    def cut_off(self, record: TrialRecord) -> int:
        """Return the number of attempts before those of ``record`` that ended with their process.

        No record contains them, or only one that was written for them afterwards.
        """
        first = record.attempts[0].number if record.attempts else record.attempt
        folders = {number: self.path / f"attempt-{number}" for number in range(1, first)}
        ended: dict[int, bool] = {}
        for number, folder in folders.items():
            if (folder / "trial.json").exists():
                earlier = readable_record(folder, of=self.path.name)
                attempts = earlier.attempts if earlier is not None else ()
                ended |= {number: False} | {each.number: each.left_by_process for each in attempts}
        return sum(folder.is_dir() and ended.get(number, True) for number, folder in folders.items())

    def _first_verdict(self, record: TrialRecord, since: float) -> TrialRecord | None:
        """The earliest record with a verdict among those that `begin` moved."""
        earlier = (
            kept
            for attempt in self.path.glob("attempt-*")
            if attempt.name != f"attempt-{record.attempt}"
            and (kept := readable_record(attempt, of=self.path.name)) is not None
        )
        return min(
            (
                each
                for each in earlier
                if since <= each.started <= record.started
                and each.outcome != "error"
                and (each.task_digest, each.agent_digest) == (record.task_digest, record.agent_digest)
            ),
            key=lambda each: each.started,
            default=None,
        )

    def drop_films(self, *names: str) -> None:
        """Remove traces (`TRACE`) or videos (`VIDEOS`) of all attempts."""
        for attempt in self.path.glob("attempt-*"):
            _note_pruned(attempt, names)
            for name in names:
                if (path := attempt / name).is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    def drop_pictures(self) -> None:
        """Remove screenshots, observation texts and prompts of all attempts; steps, evidence and verdict remain."""
        for attempt in self.path.glob("attempt-*"):
            _note_pruned(attempt, names := ("screenshots", "observations", "model_calls", INTENT_IMAGES))
            for name in names:
                shutil.rmtree(attempt / name, ignore_errors=True)

    def record(self) -> TrialRecord | None:
        """Return the finished trial's record; None when there is none that can be read."""
        return readable_record(self.path)

    def read(self) -> TrialRecord:
        """Return the finished trial's record. Raises `HarnessError` when there is none that can be read."""
        try:
            record = read_record(self.path)
        except ValueError as error:
            raise HarnessError(str(error)) from None
        if record is None:
            raise HarnessError(f"{self.path}: expected the record of a finished trial, found none")
        return record


def _set_aside(place: Path) -> None:
    place.rename(place.with_name(f".{place.name}.replaced-{uuid.uuid4().hex[:8]}"))


def _note_pruned(attempt: Path, names: Iterable[str]) -> None:
    with recording(attempt / PRUNED):
        note_pruned(attempt, [name for name in names if (attempt / name).exists()])
