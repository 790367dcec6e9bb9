"""A trial that is played ahead of its item: what the item is told of it, once it comes to be reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_webarena.plugin.stash import PLAYED

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pytest

    from pytest_webarena.plugin.outputs import Output
    from pytest_webarena.results import TrialRecord

__all__ = ["Begun", "Played", "set_times"]


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
        stop = max((each.started + each.seconds for each in attempts), default=start)
        return cls(start=start, stop=max(start, stop))


def set_times(item: pytest.Item, report: pytest.TestReport) -> None:
    """Give a report the time of its trial, in place of that of being told."""
    if report.when == "call" and (played := item.stash.get(PLAYED, None)) is not None:
        report.start, report.stop = played.start, played.stop
        report.duration = played.stop - played.start
