"""Trials whose process died: the record that counts then is stored when the agent starts.

An agent whose code runs with the rights of the worker can end it. If that led to another attempt, an agent that is
losing could have one.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from pytest_webarena.file_digests import seal, seal_fault
from pytest_webarena.results.attempts import read_steps
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.plan import note_record
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.rpc_proxies import stand_in

__all__ = ["FILE", "forget_lost", "last_lost_record", "lost_record", "note_agent", "write_note"]

FILE = "if-lost.json"
"""File of an attempt with the record that counts if the process ends before the attempt does."""


def note_agent(attempt: Path, record: TrialRecord) -> None:
    """Store the record of an attempt whose agent starts now, for the case that its process dies. Raises
    `RecordingError`.

    The driver of a cluster stores it, because the files of a node may be lost with the node.
    """
    note = seal({"pid": os.getpid(), "record": record.to_json()})
    if (driver := stand_in("lost_trials", attempt)) is not None:
        driver.store((attempt.parent / "started.json").read_text(encoding="utf-8"), note)
    else:
        write_note(attempt, record.key, note)


def write_note(attempt: Path, key: TrialKey, note: str) -> None:
    """Write a note of `note_agent` into an attempt's folder; the run then expects a record of the trial."""
    write_atomically(attempt / FILE, note)
    note_record(attempt.parents[2], key)


def forget_lost(trial: Path) -> None:
    """Remove the stored records of a trial that has its own."""
    for file in trial.glob(f"attempt-*/{FILE}"):
        file.unlink(missing_ok=True)


def lost_record(trial: Path, attempt: int, *, by: int | None = None) -> TrialRecord | None:
    """Return the record of an attempt whose process died while the agent ran; None where none was stored.

    ``trial`` is the trial's folder. With ``by``, the id of a process, its own attempts are not lost.
    """
    folder = trial / f"attempt-{attempt}"
    try:
        content = (folder / FILE).read_bytes()
        data = json.loads(content)
        if seal_fault(content) or data["pid"] == by or (trial / "trial.json").exists():
            return None
        record = TrialRecord.from_json(data["record"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return replace(record, steps=len(read_steps(folder)))


def last_lost_record(trial: Path) -> TrialRecord | None:
    """Return `lost_record` of the trial's last attempt."""
    try:
        started = json.loads((trial / "started.json").read_bytes())
        return lost_record(trial, started["attempt"])
    except (OSError, ValueError, KeyError):
        return None
