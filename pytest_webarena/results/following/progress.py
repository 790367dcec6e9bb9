"""What a run is at, read from its folder while it goes on: nothing of the run has to know that somebody looks."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.results.plan import cover, read_plan
from pytest_webarena.results.records import TrialKey, TrialRecord, names_of
from pytest_webarena.results.rundir import RunDir, TrialFolder
from pytest_webarena.results.statistics import summarise
from pytest_webarena.results.wording import usage_words
from pytest_webarena.text import clip

__all__ = ["LOCKS", "Follower", "is_held"]

LOCKS = Path("/proc/locks")
"""Linux tells there who holds which file."""
_RECENT = 25
"""Ended trials that are told one by one; all are in the figures."""


def is_held(folder: Path, locks: Path = LOCKS) -> bool | None:
    """Whether a run of this machine has the folder (see `rundir.claim`); None where nobody can tell.

    Taking the lock oneself would tell as well, and could keep a run from it that begins at this moment.
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
    """A finished trial's record, and when its file was written."""

    written: int
    record: TrialRecord


class Follower:
    """Reads a run again and again; a record that has not changed is read once."""

    def __init__(self, run: Path) -> None:
        self._run = RunDir(run)
        self._known: dict[str, _Read | None] = {}
        """By folder; None: there is a record that can't be read."""

    @property
    def state(self) -> tuple[int, int]:
        """Changes when the records do: their number, and when the last was written (ns)."""
        return len(self._known), max((each.written for each in self._known.values() if each), default=0)

    def look(self) -> dict[str, Any]:
        """Plain data for the page: figures per agent, trials under way, the last that ended. `UsageError`: no run."""
        facts = self._run.facts()
        begun = self._read()
        records = [each.record for each in self._known.values() if each]
        plan = read_plan(self._run.path)
        names = names_of({**plan, **{record.key: record for record in records}})
        covered = cover(plan, records, begun=[*self._known, *begun])
        summaries = summarise(records, beside=plan)
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
                    "judged": each.judged,
                    **(_figures(summaries[name]) if name in summaries else {}),
                }
                for name, each in covered.items()
            ],
            # Whoever was at them has gone with a run that is stopped: then these were cut off.
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
        """Read what has come; the folders of the trials that were begun and have no record."""
        begun, there = [], set()
        trials = self._run.trials
        for folder in sorted(trials.iterdir()) if trials.is_dir() else ():
            try:
                written = (folder / "trial.json").stat().st_mtime_ns
            except OSError:
                begun.append(folder.name)
                continue
            there.add(folder.name)
            known = self._known.get(folder.name)
            if known is None or known.written != written:
                record = TrialFolder(folder, TrialKey("", "", 1)).record()
                self._known[folder.name] = _Read(written, record) if record else None
        for name in self._known.keys() - there:  # it was begun anew
            del self._known[name]
        return begun

    def _under_way(self, name: str, names: Mapping[Any, str]) -> dict[str, Any]:
        folder = self._run.trials / name
        started = _json(folder / "started.json")
        told: dict[str, Any] = {"task": name, "agent": "", "trial": 1, "since": 0.0, "steps": 0, "latest": ""}
        try:
            key = TrialKey(**started["key"])
            told |= {"task": key.task, "agent": names.get(key.entrant, key.agent), "trial": key.trial}
            told["since"] = float(started["time"])
            lines = (folder / f"attempt-{int(started['attempt'])}" / "steps.jsonl").read_bytes().splitlines()
            told["steps"] = len(lines)
            told["latest"] = clip(str(json.loads(lines[-1])["raw"]), 120) if lines else ""
        except (OSError, KeyError, TypeError, ValueError):
            pass  # half written, or of another version: what is known is told
        return told


def _figures(summary: Any) -> dict[str, Any]:
    rate = summary.rate
    return {
        "passed": rate.passed,
        "errors": rate.errors,
        "causes": dict(summary.error_causes),
        "rate": rate.value,
        "interval": list(rate.interval),
        "use": ", ".join(usage_words(summary.usage)) if summary.usage else "",
        "privileged": summary.privileged,
    }


def _end(record: TrialRecord) -> float:
    return record.started + record.seconds.get("total", 0.0)


def _ended(record: TrialRecord, name: str) -> dict[str, Any]:
    return {
        "folder": record.key.folder,
        "task": record.key.task,
        "trial": record.key.trial,
        "agent": name,
        "outcome": record.outcome,
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
