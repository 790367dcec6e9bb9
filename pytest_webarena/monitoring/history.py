"""History of task checks: an append-only JSON Lines file, which tasks are due, and decay per month.

A process that dies while writing a line damages only that line: the next writer begins a new line, and readers skip and
count unreadable lines.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pytest_webarena.error_collector import ErrorCollector
from pytest_webarena.errors import UsageError, recording
from pytest_webarena.monitoring.alternatives import KnownElements
from pytest_webarena.monitoring.findings import STATUSES, TaskFinding
from pytest_webarena.results.files import write_atomically
from pytest_webarena.secrets import scrub_plain
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import shorten

__all__ = ["DAY", "Entry", "Flag", "History", "Month", "decay", "read_flags"]

T = TypeVar("T")

DAY = 86_400.0
"""Seconds."""
_VERSION = 1
_MAX_CLOCK_SKEW = 3_600.0
"""Maximum difference between the clocks of two machines, in seconds. Later times are not accepted."""
_CONCLUSIVE = ("valid", "drifted", "broken")
"""Statuses that are conclusive about the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Result of one check of one task."""

    task: str
    digest: str
    at: float
    """Unix time in seconds."""
    status: str
    why: str = ""
    path: str = ""
    """The task's file."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """Number of key nodes by status."""
    steps: Mapping[str, int] = field(default_factory=dict)
    """Number of steps of the solution by status."""
    flags: int = 0
    """Number of reports by people."""

    @classmethod
    def of(cls, finding: TaskFinding, flags: int = 0) -> Entry:
        """Return the entry for a finding."""

        def counted(kind: str) -> dict[str, int]:
            found = [part.status for part in finding.parts if part.kind == kind]
            return {status: found.count(status) for status in STATUSES if status in found}

        return cls(
            task=finding.task, digest=finding.digest, at=finding.at, status=finding.status, why=finding.why,
            path=finding.path, nodes=counted("node"), steps=counted("step"), flags=flags,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A person's report that a task is wrong."""

    task: str
    reason: str
    at: float
    digest: str = ""
    """Digest of the reported version of the task; a flag is settled once the task has changed. Empty: any version."""
    trial: str = ""
    """The trial that showed it."""


def read_flags(path: Path) -> tuple[Flag, ...]:
    """Return the reports in a JSON Lines file that the viewer has written. `UsageError` lists all malformed lines."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--flags {path}: expected a file that the viewer has written, found: {shorten(str(error))}"
        ) from None
    found, errors = [], ErrorCollector()
    for number, line in enumerate(text.splitlines(), start=1):
        with errors.of_one():
            if line.strip():
                found.append(_flag_of(line, f"--flags {path}:{number}"))
    errors.raise_errors()
    return tuple(found)


def _flag_of(line: str, where: str) -> Flag:
    flag = _flag(line)
    if flag is None:
        raise UsageError(
            f"{where}: expected a line of JSON with 'task' and 'reason', "
            f"and optionally 'at', a Unix time in the past; found {line[:60]!r}"
        )
    return flag


def _time(value: object) -> float:
    """Return ``value`` if it is a Unix time in the past. `ValueError` for others, which would make due dates wrong."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= time.time() + _MAX_CLOCK_SKEW:
        raise ValueError(f"expected a Unix time in the past, found {value!r:.40}")
    return float(value)


def _flag(line: str) -> Flag | None:
    """Return the report in a line; None if it is malformed."""
    try:
        data = json.loads(line)
        flag = Flag(
            task=data["task"],
            reason=data["reason"],
            at=_time(data.get("at", 0.0)),
            digest=data.get("digest", ""),
            trial=data.get("trial", ""),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    texts = all(isinstance(each, str) for each in (flag.task, flag.reason, flag.digest, flag.trial))
    return flag if texts and flag.task and flag.reason.strip() else None


class History:
    """A folder with the results of checks: ``history.jsonl``, ``flags.jsonl``, ``known/``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unreadable = 0
        """Number of malformed lines in both files."""
        self.entries = self._read("history.jsonl", _entry)
        self.flags = self._read("flags.jsonl", _flag)

    def _read(self, name: str, parse: Callable[[str], T | None]) -> list[T]:
        try:
            text = (self.folder / name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"{self.folder / name}: expected a readable file, found: {error.strerror}") from None
        parsed = [parse(line) for line in text.split("\n") if line.strip()]
        self.unreadable += parsed.count(None)
        return [each for each in parsed if each is not None]

    def add(self, entry: Entry) -> None:
        """Store a finding durably. `RecordingError` if that fails."""
        self._append("history.jsonl", _plain(entry))
        self.entries.append(entry)

    def add_flags(self, flags: Iterable[Flag]) -> int:
        """Store reports by people that are not stored yet; return their number."""
        new = [flag for flag in dict.fromkeys(flags) if flag not in self.flags]
        for flag in new:
            self._append("flags.jsonl", _plain(flag))
            self.flags.append(flag)
        return len(new)

    def _append(self, name: str, data: Mapping[str, Any]) -> None:
        path = self.folder / name
        line = json.dumps(scrub_plain(data)).encode() + b"\n"
        with recording(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            with path.open("ab+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # checks of other tasks may run at the same time
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":  # the last writer was interrupted
                        line = b"\n" + line
                file.write(line)
                file.flush()
                os.fsync(file.fileno())

    def last(self, task: Task) -> Entry | None:
        """Return the last entry for the current version of the task; None if it was never checked."""
        found = [each for each in self.entries if each.task == task.id and each.digest == task.digest]
        return max(found, key=lambda each: each.at, default=None)

    def last_of_any_version(self, task: str) -> Entry | None:
        """Return the last entry for the task with this id, also for an earlier version of it."""
        return max((each for each in self.entries if each.task == task), key=lambda each: each.at, default=None)

    def flags_of(self, task: Task) -> list[Flag]:
        """Return reports by people about the current version of the task."""
        return [flag for flag in self.flags if flag.task == task.id and flag.digest in ("", task.digest)]

    def due(self, task: Task, *, every: float, now: float | None = None) -> str:
        """Return why a task is due to be checked; empty when it is not. ``every``: seconds between two checks."""
        now = time.time() if now is None else now
        last = self.last(task)
        if last is None:
            return (
                "it was never checked"
                if self.last_of_any_version(task.id) is None
                else "it has changed since its last check"
            )
        if any(flag.at > last.at for flag in self.flags_of(task)):
            return "a reviewer reported a defect"
        if last.status not in _CONCLUSIVE:
            return f"its last check had no result ({last.status})"
        if now - last.at >= every:
            return f"its last check was {(now - last.at) / DAY:.0f} days ago"
        return ""

    def known(self, task: Task) -> KnownElements | None:
        """Return what the task's parts matched when it was last valid; None if unknown for its current version."""
        try:
            known = KnownElements.from_json(json.loads(self._known_file(task).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None
        return known if known.digest == task.digest else None

    def save_known(self, task: Task, known: KnownElements) -> None:
        """Store what the parts of a valid task matched."""
        path = self._known_file(task)
        with recording(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(known.to_json()))

    def _known_file(self, task: Task) -> Path:
        return self.folder / "known" / f"{task.id}.json"


def _plain(entry: Entry | Flag) -> dict[str, Any]:
    data = {name: getattr(entry, name) for name in entry.__slots__}
    return {"schema_version": _VERSION, **data}


def _entry(line: str) -> Entry | None:
    """Return the entry in a line; None if it is malformed or of a newer version."""
    try:
        data = json.loads(line)
        if data.pop("schema_version") > _VERSION:
            return None
        entry = Entry(**{**data, "at": _time(data["at"])})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    texts = all(isinstance(each, str) for each in (entry.task, entry.digest, entry.status, entry.why, entry.path))
    return entry if texts and entry.status in STATUSES else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """Results of one month's checks; for each task its last conclusive check counts."""

    month: str
    """The month in UTC, such as ``2026-11``."""
    tasks: int
    valid: int
    drifted: int
    broken: int
    undecided: int
    """Number of further tasks without a conclusive check in the month."""
    were_valid: int
    """Number of tasks that were valid at their last check before the month and had a conclusive check in it."""
    lost: int
    """Number of these that are not valid any more."""

    @property
    def rate(self) -> float | None:
        """The fraction of valid tasks lost in the month; None when none was checked again."""
        return self.lost / self.were_valid if self.were_valid else None


def decay(entries: Sequence[Entry]) -> tuple[Month, ...]:
    """Return the results per month, oldest first. A changed task counts as a new task."""
    months: dict[str, dict[tuple[str, str], list[Entry]]] = {}
    for entry in sorted(entries, key=lambda each: each.at):
        month = datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m")
        months.setdefault(month, {}).setdefault((entry.task, entry.digest), []).append(entry)
    last_statuses: dict[tuple[str, str], str] = {}
    found = []
    for month, tasks in months.items():
        latest = {
            key: statuses[-1]
            for key, each in tasks.items()
            if (statuses := [e.status for e in each if e.status in _CONCLUSIVE])
        }
        valid_before = [key for key in latest if last_statuses.get(key) == "valid"]
        counts = {status: sum(each == status for each in latest.values()) for status in _CONCLUSIVE}
        found.append(
            Month(
                month=month, tasks=len(latest), **counts, undecided=len(tasks) - len(latest),
                were_valid=len(valid_before),
                lost=sum(latest[key] != "valid" for key in valid_before),
            )
        )  # fmt: skip
        last_statuses.update(latest)
    return tuple(found)
