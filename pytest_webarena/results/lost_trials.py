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
from pytest_webarena.results.records import TrialRecord

__all__ = ["FILE", "forget_lost", "lost_record", "note_agent"]

FILE = "if-lost.json"
"""File of an attempt with the record that counts if the process ends before the attempt does."""


def note_agent(attempt: Path, record: TrialRecord) -> None:
    """Store the record of an attempt whose agent starts now, for the case that its process dies. Raises
    `RecordingError`."""
    write_atomically(attempt / FILE, seal({"pid": os.getpid(), "record": record.to_json()}))


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
