"""A trial that is played ahead of its item: what the item is told of it, once it comes to be reported."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.plugin.stash import PLAYED

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pytest

    from pytest_webarena.plugin.outputs import Output
    from pytest_webarena.results import TrialRecord
    from pytest_webarena.trials.run_info import RunInfo

__all__ = ["Begun", "Played", "read_started", "record_started", "set_times"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A trial under way, or over."""

    future: Future[TrialRecord]
    runtime: Any
    """What plays it (`executor.TrialRunner`), and keeps its files."""
    output: Output
    """What is printed in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """When a trial was, in Unix time."""

    start: float
    stop: float

    @classmethod
    def by(cls, record: TrialRecord) -> Played:
        """From the beginning of its first attempt to the end of its last."""
        attempts = record.attempts
        start = min((each.started for each in attempts if each.started), default=record.started)
        stop = max((each.started + each.seconds for each in attempts), default=start + record.seconds.get("total", 0.0))
        return cls(start=start, stop=max(start, stop))


def set_times(item: pytest.Item, report: pytest.TestReport) -> None:
    """Give a report the time of its trial, in place of that of being told."""
    if report.when == "call" and (played := item.stash.get(PLAYED, None)) is not None:
        report.start, report.stop = played.start, played.stop
        report.duration = played.stop - played.start


def record_started(info: RunInfo, worker: str, index: int) -> None:
    """In a worker of xdist's: it is playing its item of this number, for whoever tells what it was at when it died.

    Thread-safe. Where it can't be written, a death is told less exactly.
    """
    if not info.broker:  # nothing temporary either: a run is judged again
        return
    with suppress(OSError):
        info.temp_dir.mkdir(exist_ok=True)  # not its parents
        with _begun_file(info, worker).open("a") as file:
            file.write(f"{index}\n")


def read_started(info: RunInfo, worker: str) -> frozenset[int]:
    """In the controller: which items the worker has begun since it is there; those that are over, too."""
    try:
        lines = _begun_file(info, worker).read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(int(line) for line in lines if line.isdecimal())


def _begun_file(info: RunInfo, worker: str) -> Path:
    return info.temp_dir / f"begun-{worker}"
