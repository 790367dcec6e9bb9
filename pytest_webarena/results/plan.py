"""The planned trials of a run in ``plan.json``, and their coverage by records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pytest_webarena.errors import recording
from pytest_webarena.file_digests import seal, seal_fault
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.records import TrialKey, TrialRecord, browser_text, names_of
from pytest_webarena.secrets import scrub

__all__ = [
    "NOTED",
    "Coverage",
    "PlannedTrial",
    "accept_removal",
    "as_planned",
    "as_undecided",
    "cover",
    "extend_plan",
    "has_plan",
    "note_record",
    "note_records",
    "read_plan",
    "stopped_trials",
    "write_plan",
]

NOTED = "recorded.txt"
"""File with the folders of trials that got a record since the run was last closed."""
PLAN_SCHEMA_VERSION = 5
"""Version of the plan; 2 added the key's ``browser``, which node ids contain as well; 3 the file's digest; 4
``recorded`` and ``removed``; 5 ``undecided``."""


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
    undecided: bool = False
    """Whether ends of its own agent stopped it, whose owner is undecided. The trial is undecided, too."""
    decided: str = ""
    """Why it was no longer needed, if ``--stop-when-settled`` left it out."""
    recorded: bool = False
    """Whether the run has had a record of it. A trial folder that is missing was removed."""
    removed: tuple[str, ...] = ()
    """Reasons why its record is missing, as ``webarena runs verify --accept`` or a merge noted them."""

    def named_by(self, names: Collection[str]) -> bool:
        """Return whether one of ``names`` is a site of its task, or its task's id (``*`` stands for any text)."""
        return any(name in self.sites or fnmatchcase(self.key.task, name) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Results of an agent's planned trials in one browser; each trial is counted once."""

    judged: int = 0
    """Number of trials with a verdict."""
    errors: int = 0
    """Number of trials with a record that says why there is no verdict."""
    lost: int = 0
    """Number of trials that were started and interrupted, or have no record that can be read."""
    skipped: int = 0
    allowed: int = 0
    """Number of trials whose skipping is allowed (``--allow-skipped``)."""
    decided: int = 0
    """Number of trials that were no longer needed, because the question was settled (``--stop-when-settled``)."""
    not_run: int = 0
    """Number of trials that were never started."""
    stopped: int = 0
    """Number of the trials in ``not_run`` that errors in a row stopped."""
    reasons: Mapping[str, int]
    """Reasons of skipped trials that are not allowed to be skipped, with their numbers."""
    not_allowed: tuple[str, ...] = ()
    """Sites of the skipped trials, or their tasks where they have no sites."""

    @property
    def planned(self) -> int:
        """Number of all planned trials."""
        return self.run + self.skipped + self.allowed + self.decided + self.not_run

    @property
    def run(self) -> int:
        """Number of trials that were started."""
        return self.judged + self.errors + self.lost

    @property
    def missing(self) -> int:
        """Number of trials that are lost, not run, or skipped without permission."""
        return self.lost + self.skipped + self.not_run


def read_plan(run: Path) -> dict[TrialKey, PlannedTrial]:
    """Return the plan of a run directory; empty when there is none that can be read (runs of older versions)."""
    return _read(run) or {}


def has_plan(run: Path) -> bool:
    """Return whether a run directory has a readable plan, even an empty one."""
    return _read(run) is not None


def _read(run: Path) -> dict[TrialKey, PlannedTrial] | None:
    try:
        content = (run / "plan.json").read_bytes()
        data = json.loads(content)
        if data["schema_version"] > 2 and seal_fault(content):
            return None
        entries = [as_planned(each) for each in data["trials"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    noted = _noted(run / NOTED)
    return {each.key: replace(each, recorded=each.recorded or each.key.folder in noted) for each in entries}


def note_record(run: Path, key: TrialKey) -> None:
    """Note that a trial has a record from now on, until the run is closed and its plan says so."""
    with suppress(OSError), (run / NOTED).open("a", encoding="utf-8") as file:
        file.write(f"{key.folder}\n")  # one write of a short line: processes of the run do not mix them


def _noted(file: Path) -> frozenset[str]:
    try:
        return frozenset(file.read_text(encoding="utf-8").splitlines())
    except OSError:
        return frozenset()


def stopped_trials(run: Path, records: Iterable[TrialRecord]) -> list[PlannedTrial]:
    """Return the planned trials of a run directory that have no record because errors in a row stopped them."""
    known = {record.key for record in records}
    return [trial for key, trial in read_plan(run).items() if trial.stopped and key not in known]


def extend_plan(run: Path, trials: Iterable[PlannedTrial]) -> None:
    """Add ``trials`` to the plan of a run directory, replacing entries with the same keys.

    What an entry says about records is never taken back.
    """
    with recording(run):
        run.mkdir(parents=True, exist_ok=True)
    existing = read_plan(run)
    plan = dict(existing)
    for trial in trials:
        if (known := plan.get(trial.key)) is not None:
            removed = tuple(dict.fromkeys((*known.removed, *trial.removed)))
            trial = replace(trial, recorded=known.recorded or trial.recorded, removed=removed)
        plan[trial.key] = trial
    if plan != existing:
        write_plan(run, plan)


def note_records(run: Path, records: Iterable[TrialRecord]) -> None:
    """Write into the plan, if there is one, which of its trials have had a record now that the run is closed."""
    plan = read_plan(run)
    known = {record.key for record in records}
    closed = {key: replace(each, recorded=each.recorded or key in known) for key, each in plan.items()}
    if plan:
        write_plan(run, closed)
    with recording(run / NOTED):
        (run / NOTED).unlink(missing_ok=True)


def accept_removal(run: Path, trials: Iterable[TrialKey], *, because: str) -> None:
    """Note in the plan that records of ``trials`` are missing, and why; they can then run again."""
    note_records(run, ())
    plan = read_plan(run)
    changed = {
        key: replace(plan[key], recorded=False, removed=tuple(dict.fromkeys((*plan[key].removed, because))))
        for key in trials
    }
    write_plan(run, {**plan, **changed})


def write_plan(run: Path, plan: Mapping[TrialKey, PlannedTrial]) -> None:
    """Write a plan, even an empty one, into an existing run directory."""
    trials = [asdict(plan[key]) for key in sorted(plan)]
    write_atomically(run / "plan.json", seal({"schema_version": PLAN_SCHEMA_VERSION, "trials": trials}, mask=scrub))


def cover(
    plan: Mapping[TrialKey, PlannedTrial],
    records: Sequence[TrialRecord],
    *,
    begun: Collection[str] = (),
    lost: Collection[TrialKey] = (),
    allowed: Collection[str] = (),
) -> dict[str, Coverage]:
    """Return the coverage of each agent, by the names of `records.names_of`.

    Trials with a record count as planned, even if the plan does not contain them.

    Args:
        begun: Names of the existing trial folders.
        lost: Trials whose record was written for them after their process had ended.
        allowed: Names of sites and tasks that may be skipped.
    """
    counts: dict[str, Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {}
    skipped_sites: dict[str, dict[str, None]] = {}
    known = {record.key: record for record in records}
    entrants = names_of({**plan, **known})
    for key in {**plan, **known}:
        name = entrants[key.entrant]
        fate = "not_run"
        if (record := known.get(key)) is not None:
            fate = "judged" if record.outcome != "error" else "lost" if key in lost else "errors"
        elif key.folder in begun:
            fate = "lost"
        elif plan[key].decided:
            fate = "decided"
        elif (trial := plan[key]).skipped:
            fate = "allowed" if trial.named_by(allowed) else "skipped"
            if fate == "skipped":
                reasons.setdefault(name, Counter())[trial.skipped.partition("\n")[0]] += 1
                skipped_sites.setdefault(name, {}).update(dict.fromkeys(trial.sites or (key.task,)))
        elif trial.stopped:
            counts.setdefault(name, Counter())["stopped"] += 1
        counts.setdefault(name, Counter())[fate] += 1
    return {
        name: Coverage(
            **count,
            reasons=dict(reasons.get(name, Counter()).most_common()),
            not_allowed=tuple(skipped_sites.get(name, ())),
        )
        for name, count in counts.items()
    }


def as_undecided(trial: PlannedTrial) -> TrialRecord:
    """Return the undecided result of a trial that ends of its own agent stopped, for comparisons."""
    return TrialRecord(
        key=trial.key,
        outcome="failed",
        message=trial.stopped,
        sites=trial.sites,
        node_id=trial.node_id,
        verdict={"judgeable": True},
    )


def as_planned(data: Mapping[str, Any]) -> PlannedTrial:
    """Return the planned trial from the output of `dataclasses.asdict`."""
    key = TrialKey.from_json(data["key"], browser=browser_text(data))
    lists = {name: tuple(data.get(name, ())) for name in ("sites", "removed")}
    return PlannedTrial(**{**data, "key": key, **lists})
