"""Progress of a run, read from its folder while it goes on; the run does not need to know about it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.results.conditions import summaries_of
from pytest_webarena.results.plan import cover, read_plan
from pytest_webarena.results.records import TrialKey, TrialRecord, names_of
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.trial_folder import TrialFolder
from pytest_webarena.results.trial_outcome import reported_outcome
from pytest_webarena.results.wording import errors_failed_words, mixed_words, usage_words
from pytest_webarena.text import clip

__all__ = ["LOCKS", "Follower", "is_held"]

LOCKS = Path("/proc/locks")
"""File in which Linux lists file locks."""
_RECENT = 25
"""Number of ended trials that are listed; the figures include all."""


def is_held(folder: Path, locks: Path = LOCKS) -> bool | None:
    """Return whether a run on this machine holds the folder (see `rundir.claim`); None where it is unknown.

    An attempt to take the lock would show it too, but could take it from a run that starts at this moment.
    """
    try:
        inode = folder.stat().st_ino
        lines = locks.read_text().splitlines()
    except OSError:
        return None
    held = (line.split() for line in lines)
    return any(
        len(each) > 5 and each[1] == "FLOCK" and each[3] == "WRITE" and each[5].endswith(f":{inode}") for each in held
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """A finished trial's record, and the time at which its file was written (ns)."""

    written: int
    record: TrialRecord


class Follower:
    """Reads a run repeatedly; a record that has not changed is read once."""

    def __init__(self, run: Path) -> None:
        self._run = RunDir(run)
        self._known: dict[str, _Read | None] = {}
        """Records by folder name; None for a record that can't be read."""

    @property
    def state(self) -> tuple[int, int]:
        """Number of records and the time of the latest (ns), which change whenever the records do."""
        return len(self._known), max((each.written for each in self._known.values() if each), default=0)

    def look(self) -> dict[str, Any]:
        """Return plain data for the page: figures per agent, running trials, the latest that ended.

        Raises:
            UsageError: the folder is not a run.
        """
        facts = self._run.facts()
        begun = self._read()
        records = [each.record for each in self._known.values() if each]
        plan = read_plan(self._run.path)
        names = names_of({**plan, **{record.key: record for record in records}})
        covered = cover(plan, records, begun=[*self._known, *begun])
        summaries = summaries_of(self._run, records, named_with=plan)
        held = is_held(self._run.path)
        finished = (self._run.path / "summary.json").exists() and not held
        return {
            "name": self._run.path.name,
            "started": facts.get("started"),
            "state": "going on" if held else "finished" if finished else "stopped" if held is False else "unfinished",
            "planned": sum(each.planned for each in covered.values()),
            "ended": len(records),
            "unreadable": sum(each is None for each in self._known.values()),
            "agents": [
                {
                    "name": name,
                    "planned": each.planned,
                    "judged": 0,
                    **(_figures(summaries[name]) if name in summaries else {}),
                }
                for name, each in covered.items()
            ],
            # If the run has stopped, its workers have ended too, and these trials were interrupted.
            "under_way": sorted(
                (self._under_way(folder, names) for folder in begun), key=lambda each: each["since"], reverse=True
            ),
            "recent": [
                _ended(record, names[record.key.entrant])
                for record in sorted(records, key=_end, reverse=True)[:_RECENT]
            ],
            "now": time.time(),
        }

    def _read(self) -> list[str]:
        """Read new records; return the folders of trials that have started and have no record."""
        begun, present = [], set()
        trials = self._run.trials
        for folder in sorted(trials.iterdir()) if trials.is_dir() else ():
            try:
                written = (folder / "trial.json").stat().st_mtime_ns
            except OSError:
                begun.append(folder.name)
                continue
            present.add(folder.name)
            known = self._known.get(folder.name)
            if known is None or known.written != written:
                record = TrialFolder(folder, TrialKey("", "", 1)).record()
                self._known[folder.name] = _Read(written, record) if record else None
        for name in self._known.keys() - present:  # they were started again
            del self._known[name]
        return begun

    def _under_way(self, name: str, names: Mapping[Any, str]) -> dict[str, Any]:
        folder = self._run.trials / name
        started = _json(folder / "started.json")
        found: dict[str, Any] = {"task": name, "agent": "", "trial": 1, "since": 0.0, "steps": 0, "latest": ""}
        try:
            key = TrialKey(**started["key"])
            found |= {"task": key.task, "agent": names.get(key.entrant, key.agent), "trial": key.trial}
            found["since"] = float(started["time"])
            lines = (folder / f"attempt-{int(started['attempt'])}" / "steps.jsonl").read_bytes().splitlines()
            found["steps"] = len(lines)
            found["latest"] = clip(str(json.loads(lines[-1])["raw"]), 120) if lines else ""
        except (OSError, KeyError, TypeError, ValueError):
            pass  # half written, or from another version
        return found


def _figures(summary: Any) -> dict[str, Any]:
    rate = summary.rate
    return {
        "passed": rate.passed,
        "judged": rate.judged,
        "undecided": rate.undecided,
        "errors": rate.errors,
        "causes": dict(summary.error_causes),
        "rate": rate.value,
        "interval": list(rate.interval),
        "use": ", ".join(usage_words(summary.usage)) if summary.usage else "",
        "privileged": summary.privileged,
        "errors_failed": errors_failed_words(rate),
        "mixed": mixed_words(summary.mixed) if summary.mixed else "",
    }


def _end(record: TrialRecord) -> float:
    return record.started + record.seconds.get("total", 0.0)


def _ended(record: TrialRecord, name: str) -> dict[str, Any]:
    return {
        "folder": record.key.folder,
        "task": record.key.task,
        "trial": record.key.trial,
        "agent": name,
        "outcome": reported_outcome(record).kind,
        "cause": record.cause or record.stop_reason,
        "message": clip(record.message.strip().partition("\n")[0], 200),
        "steps": record.steps,
        "seconds": record.seconds.get("total", 0.0),
        "end": _end(record),
    }


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
