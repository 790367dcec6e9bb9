"""Which trials a run was to have, and what became of each: ``plan.json``, and its coverage by records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pytest_webarena.errors import Shortfall, recording
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.records import TrialKey, TrialRecord, browser_text, names_of

__all__ = ["Coverage", "PlannedTrial", "as_planned", "cover", "extend_plan", "has_plan", "read_plan", "write_plan"]

PLAN_SCHEMA_VERSION = 2
"""2 added the key's ``browser``, which node ids tell as well."""
_FATES: Mapping[Shortfall, str] = {
    "": "errors",
    "declared": "declared",
    "budget": "not_run",
    "untold": "errors",
    "lacking": "errors",
    "hindered": "errors",
}
"""What became of a trial with an error, by its `TrialRecord.shortfall`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTrial:
    """One trial that was collected and not left out by the user (``-k``, ``--lf``, ``--shard``, …)."""

    key: TrialKey
    sites: tuple[str, ...] = ()
    node_id: str = ""
    skipped: str = ""
    """Why it was not run, if pytest skipped it."""
    stopped: str = ""
    """Why it was not run, if its agent or its site had been stopped."""
    decided: str = ""
    """Why it was not needed any more, if ``--stop-when-settled`` left it out."""

    def named_by(self, names: Collection[str]) -> bool:
        """Whether one of ``names`` is a site of its task, or its task's id (``*`` stands for any text)."""
        return any(name in self.sites or fnmatchcase(self.key.task, name) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What became of an agent's planned trials in one browser; each is counted once."""

    judged: int = 0
    """With a verdict."""
    errors: int = 0
    """With a record that says why there is no verdict."""
    declared: int = 0
    """As well, but all that is known of it is the agent's own word."""
    lost: int = 0
    """Begun, and cut off with their process, or without a record that can be read."""
    skipped: int = 0
    allowed: int = 0
    """Skipped as well, by permission (``--allow-skipped``)."""
    decided: int = 0
    """Not needed any more: what was asked had been settled (``--stop-when-settled``)."""
    not_run: int = 0
    """Never begun; or not by the agent, for the run's budget was spent."""
    stopped: int = 0
    """Those of them whose agent or site had been stopped."""
    reasons: Mapping[str, int]
    """Why trials were skipped that nobody has allowed to be, with their number."""
    not_allowed: tuple[str, ...] = ()
    """Sites of the skipped ones; their tasks where they have none."""

    @property
    def planned(self) -> int:
        """All of them."""
        return self.run + self.skipped + self.allowed + self.decided + self.not_run

    @property
    def run(self) -> int:
        """Those that were begun."""
        return self.judged + self.errors + self.declared + self.lost

    @property
    def missing(self) -> int:
        """Those without a record of their own that nobody has allowed to be skipped."""
        return self.lost + self.skipped + self.not_run


def read_plan(run: Path) -> dict[TrialKey, PlannedTrial]:
    """The plan of a run directory; empty when there is none that can be read (runs of older versions)."""
    return _read(run) or {}


def has_plan(run: Path) -> bool:
    """Whether a run directory tells which trials there were to be, be it none."""
    return _read(run) is not None


def _read(run: Path) -> dict[TrialKey, PlannedTrial] | None:
    try:
        data = json.loads((run / "plan.json").read_text(encoding="utf-8"))
        entries = [as_planned(each) for each in data["trials"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return {entry.key: entry for entry in entries}


def extend_plan(run: Path, trials: Iterable[PlannedTrial]) -> None:
    """Add ``trials`` to the plan of a run directory. What is there already is replaced by what is said now."""
    with recording(run):
        run.mkdir(parents=True, exist_ok=True)
    there = read_plan(run)
    plan = {**there, **{trial.key: trial for trial in trials}}
    if plan != there:
        write_plan(run, plan)


def write_plan(run: Path, plan: Mapping[TrialKey, PlannedTrial]) -> None:
    """Have this, be it nothing, as the plan of a run directory that is there."""
    lines = ",\n".join(json.dumps(asdict(plan[key])) for key in sorted(plan))
    write_atomically(run / "plan.json", f'{{"schema_version": {PLAN_SCHEMA_VERSION}, "trials": [\n{lines}\n]}}\n')


def cover(
    plan: Mapping[TrialKey, PlannedTrial],
    records: Sequence[TrialRecord],
    *,
    begun: Collection[str] = (),
    lost: Collection[TrialKey] = (),
    allowed: Collection[str] = (),
) -> dict[str, Coverage]:
    """What became of the trials, by whose they are; those that have a record are planned, plan or not.

    Names are those of `records.names_of`.

    ``begun`` are the names of the folders that there are, ``lost`` the trials whose record was written for them after
    their process had ended, ``allowed`` the names of sites and tasks that may be skipped.
    """
    counts: dict[str, Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {}
    lacking: dict[str, dict[str, None]] = {}
    known = {record.key: record for record in records}
    entrants = names_of({**plan, **known})
    for key in {**plan, **known}:
        name = entrants[key.entrant]
        fate = "not_run"
        if (record := known.get(key)) is not None:
            fate = "judged" if record.outcome != "error" else "lost" if key in lost else _FATES[record.shortfall]
        elif key.folder in begun:
            fate = "lost"
        elif plan[key].decided:
            fate = "decided"
        elif (trial := plan[key]).skipped:
            fate = "allowed" if trial.named_by(allowed) else "skipped"
            if fate == "skipped":
                reasons.setdefault(name, Counter())[trial.skipped.partition("\n")[0]] += 1
                lacking.setdefault(name, {}).update(dict.fromkeys(trial.sites or (key.task,)))
        elif trial.stopped:
            counts.setdefault(name, Counter())["stopped"] += 1
        counts.setdefault(name, Counter())[fate] += 1
    return {
        name: Coverage(
            **count, reasons=dict(reasons.get(name, Counter()).most_common()), not_allowed=tuple(lacking.get(name, ()))
        )
        for name, count in counts.items()
    }


def as_planned(data: Mapping[str, Any]) -> PlannedTrial:
    """Of what `dataclasses.asdict` made of it."""
    key = TrialKey.from_json(data["key"], browser=browser_text(data))
    return PlannedTrial(**{**data, "key": key, "sites": tuple(data["sites"])})
