"""Programs of sites that were edited while a run used them, from the records of its trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_webarena.results.records import TrialRecord

__all__ = ["ProgramChange", "changed_program", "program_changes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramChange:
    """A site's program that was not the same for all trials of a run."""

    app: str
    files: tuple[str, ...]
    """Changed files, as the catalogue's folder has them."""
    trials: Mapping[str, tuple[int, ...]]
    """Numbers of the trials, in the order in which they started, by the digest of the program; the earliest first."""
    folders: Mapping[str, tuple[str, ...]]
    """Folders of the same trials."""

    def __str__(self) -> str:
        groups = [_ranges(numbers) for numbers in self.trials.values()]
        versions = ["ran with the old", *(["with one in between"] * (len(groups) - 2)), "with the new one"]
        ran = ", ".join(f"{found} {version}" for found, version in zip(groups, versions, strict=True))
        plural = "s" * (len(self.files) != 1)
        return f"{self.app}: program file{plural} {', '.join(self.files)} changed during the run: trials {ran}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        trials = {digest: list(names) for digest, names in self.folders.items()}
        return {"app": self.app, "files": list(self.files), "trials": trials}


def changed_program(record: TrialRecord, app: str) -> tuple[str, ...]:
    """Return the files of the app's program that were changed before the trial's replica started."""
    return tuple(_programs(record).get(app, {}).get("changed") or ())


def program_changes(records: Iterable[TrialRecord]) -> list[ProgramChange]:
    """Return the apps whose program changed between the trials, with the trials of each version."""
    ordered = sorted(records, key=lambda record: record.started)
    apps = sorted({app for record in ordered for app in _programs(record) if changed_program(record, app)})
    return [found for app in apps if (found := _change(app, ordered)) is not None]


def _change(app: str, records: Sequence[TrialRecord]) -> ProgramChange | None:
    numbers: dict[str, list[int]] = {}
    folders: dict[str, list[str]] = {}
    files: set[str] = set()
    for number, record in enumerate((each for each in records if app in _programs(each)), start=1):
        digest = str(_programs(record)[app].get("digest"))
        numbers.setdefault(digest, []).append(number)
        folders.setdefault(digest, []).append(record.key.folder)
        files.update(changed_program(record, app))
    if len(numbers) < 2:
        return None
    return ProgramChange(
        app=app,
        files=tuple(sorted(files)),
        trials={digest: tuple(found) for digest, found in numbers.items()},
        folders={digest: tuple(found) for digest, found in folders.items()},
    )


def _programs(record: TrialRecord) -> Mapping[str, Any]:
    found = record.environment.get("programs")
    return found if isinstance(found, Mapping) else {}


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in short form.

    >>> _ranges([1, 2, 3, 5, 7, 8])
    '1-3, 5, 7-8'
    """
    ends: list[list[int]] = []
    for number in numbers:
        if ends and number == ends[-1][1] + 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ends)
