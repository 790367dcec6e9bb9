"""What checks have found so far: a line of JSON per task and check, only ever added to; what is due; decay per month.

A process that dies in the middle of a line spoils that line alone: whoever adds the next one begins a new line, and
readers leave out, and count, what is no finding.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_webarena.error_collector import ErrorCollector
from pytest_webarena.errors import UsageError, recording
from pytest_webarena.monitoring.alternatives import Known
from pytest_webarena.monitoring.findings import STATUSES, TaskFinding
from pytest_webarena.results.files import write_atomically
from pytest_webarena.secrets import scrub_plain
from pytest_webarena.tasks.model import Task

__all__ = ["DAY", "Entry", "Flag", "History", "Month", "decay", "read_flags"]

DAY = 86_400.0
_VERSION = 1
_CLOCKS = 3_600.0
"""Seconds that clocks of two machines may be apart. What is dated later than that is no time of a check."""
_TOLD = ("valid", "drifted", "broken")
"""Statuses that say something of the task; the others only say that nobody could tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one check found of one task."""

    task: str
    digest: str
    at: float
    """Unix time in seconds."""
    status: str
    why: str = ""
    path: str = ""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """Key nodes by status."""
    steps: Mapping[str, int] = field(default_factory=dict)
    """Steps of the solution by status."""
    flags: int = 0
    """How many reports of people it had."""

    @classmethod
    def of(cls, finding: TaskFinding, flags: int = 0) -> Entry:
        """A finding, in short."""

        def counted(kind: str) -> dict[str, int]:
            found = [part.status for part in finding.parts if part.kind == kind]
            return {status: found.count(status) for status in STATUSES if status in found}

        return cls(
            task=finding.task, digest=finding.digest, at=finding.at, status=finding.status, why=finding.why,
            path=finding.path, nodes=counted("node"), steps=counted("step"), flags=flags,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """What a person says is wrong with a task."""

    task: str
    reason: str
    at: float
    digest: str = ""
    """Of the task as it was; a flag is answered once the task has changed. Empty: of any."""
    trial: str = ""
    """Which trial showed it."""


def read_flags(path: Path) -> tuple[Flag, ...]:
    """Reports from a file, a line of JSON each, as the viewer writes them. `UsageError` says what is wrong in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"--flags {path}: expected a file that the viewer has written, found none: {error}") from None
    found, wrongs = [], ErrorCollector()
    for number, line in enumerate(text.splitlines(), start=1):
        with wrongs.of_one():
            if line.strip():
                found.append(_flag_of(line, f"--flags {path}:{number}"))
    wrongs.tell()
    return tuple(found)


def _flag_of(line: str, where: str) -> Flag:
    flag = _flag(line)
    if flag is None:
        raise UsageError(
            f"{where}: expected a line of JSON with 'task' and 'reason', "
            f"and an 'at', if any, that has been; found {line[:60]!r}"
        )
    return flag


def _time(value: object) -> float:
    """A Unix time that has been. `ValueError` for others: by them nothing would be due, or could be dated."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= time.time() + _CLOCKS:
        raise ValueError(f"expected a Unix time that has been, found {value!r:.40}")
    return float(value)


def _flag(line: str) -> Flag | None:
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
    good = all(isinstance(each, str) for each in (flag.task, flag.reason, flag.digest, flag.trial))
    return flag if good and flag.task and flag.reason.strip() else None


class History:
    """A folder that keeps what checks have found: ``history.jsonl``, ``flags.jsonl``, ``known/``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unreadable = 0
        """Lines of the files that are no findings and no flags."""
        self.entries = self._read("history.jsonl", _entry)
        self.flags = self._read("flags.jsonl", _flag)

    def _read(self, name: str, make: Any) -> list[Any]:
        try:
            text = (self.folder / name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"{self.folder / name}: expected to read it, found: {error.strerror}") from None
        made = [make(line) for line in text.split("\n") if line.strip()]
        self.unreadable += sum(each is None for each in made)
        return [each for each in made if each is not None]

    def add(self, entry: Entry) -> None:
        """Keep a finding, whatever becomes of this process afterwards. `RecordingError` if it can't be kept."""
        self._append("history.jsonl", _plain(entry))
        self.entries.append(entry)

    def flag(self, flags: Iterable[Flag]) -> int:
        """Keep reports of people, each once; how many are new."""
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
                fcntl.flock(file, fcntl.LOCK_EX)  # checks of other tasks may go on at the same time
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":  # whoever wrote last was cut off
                        line = b"\n" + line
                file.write(line)
                file.flush()
                os.fsync(file.fileno())

    def last(self, task: Task) -> Entry | None:
        """What was found of the task as it is now."""
        found = [each for each in self.entries if each.task == task.id and each.digest == task.digest]
        return max(found, key=lambda each: each.at, default=None)

    def before(self, task: str) -> Entry | None:
        """What was found of a task last, whatever it was like then."""
        return max((each for each in self.entries if each.task == task), key=lambda each: each.at, default=None)

    def flags_of(self, task: Task) -> list[Flag]:
        """What people say of the task as it is now."""
        return [flag for flag in self.flags if flag.task == task.id and flag.digest in ("", task.digest)]

    def due(self, task: Task, *, every: float, now: float | None = None) -> str:
        """Why a task is due to be checked; empty when it is not. ``every``: seconds between two checks of it."""
        now = time.time() if now is None else now
        last = self.last(task)
        if last is None:
            return "it was never checked" if self.before(task.id) is None else "it has changed since its last check"
        if any(flag.at > last.at for flag in self.flags_of(task)):
            return "somebody reports that something is wrong with it"
        if last.status not in _TOLD:
            return f"its last check could not tell ({last.status})"
        if now - last.at >= every:
            return f"its last check was {(now - last.at) / DAY:.0f} days ago"
        return ""

    def known(self, task: Task) -> Known | None:
        """What the task's parts were when it was valid last; None when that is not known of the task as it is now."""
        try:
            known = Known.from_json(json.loads(self._known(task).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None
        return known if known.digest == task.digest else None

    def keep(self, task: Task, known: Known) -> None:
        """Keep what the parts of a valid task are."""
        path = self._known(task)
        with recording(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(known.to_json()))

    def _known(self, task: Task) -> Path:
        return self.folder / "known" / f"{task.id}.json"


def _plain(entry: Entry | Flag) -> dict[str, Any]:
    data = {name: getattr(entry, name) for name in entry.__slots__}
    return {"schema_version": _VERSION, **data}


def _entry(line: str) -> Entry | None:
    try:
        data = json.loads(line)
        if data.pop("schema_version") > _VERSION:
            return None
        entry = Entry(**{**data, "at": _time(data["at"])})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    good = all(isinstance(each, str) for each in (entry.task, entry.digest, entry.status, entry.why, entry.path))
    return entry if good and entry.status in STATUSES else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """What the checks of one month say, each task by the last of them that could tell."""

    month: str
    """As ``2026-11``, in UTC."""
    tasks: int
    valid: int
    drifted: int
    broken: int
    untold: int
    """Beside them: tasks of which no check of the month could tell."""
    were_valid: int
    """Tasks that were valid at their last check before the month, and could be told of in it."""
    lost: int
    """Of these, those that are not valid any more."""

    @property
    def rate(self) -> float | None:
        """The share of valid tasks that the month has cost; None where none was looked at again."""
        return self.lost / self.were_valid if self.were_valid else None


def decay(entries: Sequence[Entry]) -> tuple[Month, ...]:
    """Month by month, oldest first. A task that was changed is another task: its count begins anew."""
    months: dict[str, dict[tuple[str, str], list[Entry]]] = {}
    for entry in sorted(entries, key=lambda each: each.at):
        month = datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m")
        months.setdefault(month, {}).setdefault((entry.task, entry.digest), []).append(entry)
    judge_eligibility_of: dict[tuple[str, str], str] = {}
    found = []
    for month, tasks in months.items():
        told = {
            key: statuses[-1]
            for key, each in tasks.items()
            if (statuses := [e.status for e in each if e.status in _TOLD])
        }
        again = [key for key in told if judge_eligibility_of.get(key) == "valid"]
        counts = {status: sum(each == status for each in told.values()) for status in _TOLD}
        found.append(
            Month(
                month=month, tasks=len(told), **counts, untold=len(tasks) - len(told), were_valid=len(again),
                lost=sum(told[key] != "valid" for key in again),
            )
        )  # fmt: skip
        judge_eligibility_of.update(told)
    return tuple(found)
