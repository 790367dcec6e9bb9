"""Trials that start before their items, and what their items need to report them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.plugin.stash import TRIAL_TIMES

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pytest

    from pytest_webarena.plugin.outputs import Output
    from pytest_webarena.results import TrialRecord
    from pytest_webarena.trials.run_info import RunInfo

__all__ = ["PrefetchedTrial", "TrialTimes", "read_started", "record_started", "set_times"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefetchedTrial:
    """A trial that is running or has finished."""

    future: Future[TrialRecord]
    runtime: Any
    """The runtime of the trial (`executor.TrialRunner`), which also keeps its files."""
    output: Output
    """The trial's captured output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialTimes:
    """Start and end of a trial in Unix time."""

    start: float
    stop: float

    @classmethod
    def by(cls, record: TrialRecord) -> TrialTimes:
        """Return the time from the start of a record's first attempt to the end of its last."""
        attempts = record.attempts
        start = min((each.started for each in attempts if each.started), default=record.started)
        stop = max((each.started + each.seconds for each in attempts), default=start + record.seconds.get("total", 0.0))
        return cls(start=start, stop=max(start, stop))


def set_times(item: pytest.Item, report: pytest.TestReport) -> None:
    """Give a report the time of its trial, instead of the time of reporting."""
    if report.when == "call" and (played := item.stash.get(TRIAL_TIMES, None)) is not None:
        report.start, report.stop = played.start, played.stop
        report.duration = played.stop - played.start


def record_started(info: RunInfo, worker: str, index: int) -> None:
    """Record in an xdist worker that it started its item ``index``, so that a crash can be attributed.

    Thread-safe. When the file can't be written, crashes are attributed less precisely.
    """
    if not info.broker:  # a run that is rescored has no temporary files either
        return
    with suppress(OSError):
        info.temp_dir.mkdir(exist_ok=True)  # without its parents
        with _begun_file(info, worker).open("a") as file:
            file.write(f"{index}\n")


def read_started(info: RunInfo, worker: str) -> frozenset[int]:
    """Return the items that a worker has started, including finished ones. Called in the controller."""
    try:
        lines = _begun_file(info, worker).read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(int(line) for line in lines if line.isdecimal())


def _begun_file(info: RunInfo, worker: str) -> Path:
    return info.temp_dir / f"begun-{worker}"
