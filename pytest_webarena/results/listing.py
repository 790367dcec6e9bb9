"""Lists runs in pytest's folder ``webarena-runs/``, with a summary of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.results.plan import read_plan
from pytest_webarena.results.stored_records import changed_derived_files, changed_records, removed_trials
from pytest_webarena.text import clip

__all__ = ["LATEST", "RUNS", "ListedRun", "chosen_run", "find_runs", "list_runs"]

RUNS = "webarena-runs"
"""Folder in pytest's root directory for runs without ``--run-dir``."""
LATEST = "latest"
"""Name that stands for the newest run where a run directory is expected; there is a link of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """Summary of a run without reading its records."""

    path: Path
    started: float
    """Start of the run: Unix time in seconds."""
    rates: tuple[str, ...]
    """Results of each agent in each browser, such as ``oracle 9/9``, errors excluded; ``8–9/9`` if one is undecided.

    ``(mixed)`` follows if its trials make no one rate (`conditions.mixed`).
    """
    finished: bool
    """Whether the run was completed; one that goes on or was killed is not."""
    has_rates: bool = True
    """Whether agents did tasks on sites: False for audits and runs on a record."""

    @property
    def when(self) -> str:
        """Local start time, to the minute."""
        return datetime.fromtimestamp(self.started).strftime("%Y-%m-%d %H:%M")

    @property
    def changed(self) -> tuple[str, ...]:
        """Files with results that were changed or removed after the run, relative to it; the records are read."""
        removed = removed_trials(self.path, read_plan(self.path).values()).values()
        trials = [*changed_records(self.path), *(each.folder.name for each in removed)]
        return (*changed_derived_files(self.path), *(f"trials/{name}" for name in trials))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "path": str(self.path),
            "started": self.started,
            "rates": list(self.rates),
            "finished": self.finished,
            "changed": list(self.changed),
        }


def find_runs(start: Path) -> Path:
    """Return the folder of runs of the project that ``start`` is in. Raises `UsageError` when there is none."""
    for folder in (start, *start.parents):
        if (folder / RUNS).is_dir():
            return folder / RUNS
    raise UsageError(f"expected a folder {RUNS} here or above {start}, found none; name a run's directory")


def list_runs(folder: Path) -> list[ListedRun]:
    """Return the runs in ``folder``, newest first, or the run that it is. Raises `UsageError` when it can't be
    read."""
    if (run := _listed(folder)) is not None:
        return [run]
    try:
        paths = [path for path in folder.iterdir() if not path.is_symlink()]
    except OSError as error:
        raise UsageError(
            f"{folder}: expected a readable directory with runs, found {(error.strerror or 'none').lower()}"
        ) from None
    found = [run for path in paths if (run := _listed(path)) is not None]
    return sorted(found, key=lambda run: (run.started, run.path.name), reverse=True)


def chosen_run(given: Path | None, *, start: Path | None = None, with_rates: bool = False) -> Path:
    """Return ``given``, or the newest run of the project for None and for ``latest``.

    A directory named ``latest`` takes precedence. With ``with_rates``, audits and replays are skipped.
    Raises `UsageError` when there is no run.
    """
    if given is not None and (str(given) != LATEST or given.is_dir()):
        return given
    folder = find_runs(start or Path.cwd())
    runs = [run for run in list_runs(folder) if run.has_rates or not with_rates]
    if not runs:
        what = "a run of agents on sites" if with_rates else "a run"
        raise UsageError(f"expected {what} in {folder}, found none; name a run's directory")
    return runs[0].path


def _listed(path: Path) -> ListedRun | None:
    facts = _read(path / "run.json")
    if facts is None:
        return None
    summary = _read(path / "summary.json")
    started = facts.get("started")
    return ListedRun(
        path=path,
        started=float(started) if isinstance(started, int | float) else 0.0,
        rates=tuple(_rates(summary or {})),
        finished=summary is not None,
        has_rates=not (facts.get("audit") or facts.get("on_record")),
    )


def _rates(summary: dict[str, Any]) -> Iterator[str]:
    agents = summary.get("agents")
    for name, figures in (agents if isinstance(agents, dict) else {}).items():
        with suppress(AttributeError, KeyError, TypeError):
            rate = figures["rate"]
            errors = f" +{rate['errors']}E" if rate["errors"] else ""
            upper = f"–{rate['passed'] + figures['undecided']}" if figures.get("undecided") else ""
            mixed = " (mixed)" if figures.get("mixed") else ""
            yield clip(f"{name} {rate['passed']}{upper}/{rate['judged']}{errors}", 60) + mixed


def _read(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
