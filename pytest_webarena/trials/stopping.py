"""Stops agents or sites after several consecutive trials with the same error, counted over all workers of a run."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_webarena.owners import EVENTS, UNATTRIBUTED
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.errors import Cause, Unready
    from pytest_webarena.results import TrialRecord

__all__ = ["BROWSER", "EQUAL_ERRORS", "NotRun", "Stops"]

BROWSER = "a browser"
"""Name of the browser in ``needs``: all trials but those of plain questions need one."""

EQUAL_ERRORS = 5
"""Default number of consecutive trials, by completion, with errors of one cause after which no further ones run."""

_NEVER: frozenset[Cause] = frozenset({"task", "blocked"})
"""Causes specific to one task, after which the next task may work. The gateway itself stops sending requests to sites
that reject visitors."""


@dataclass(slots=True)
class _ErrorSeries:
    """Consecutive errors of one cause."""

    cause: str
    agent: str
    """Id of the agent; empty for any, because an unavailable site is not an agent's fault."""
    browser: str
    needs: tuple[str, ...]
    """What the trials needed of what failed: their sites, `BROWSER`. Trials that need all of it would fail in the same
    way."""
    count: int = 0
    undecided: bool = False
    """Whether the owner of one of the errors is undecided. So are the trials that they stop."""
    reason: str = ""
    """Why no further such trials run; empty while they do."""

    def concerns(self, agent: str, browser: str, needs: Collection[str]) -> bool:
        """Whether a trial with these properties would probably end in the same error."""
        return self.agent in ("", agent) and self.browser in ("", browser) and set(self.needs) <= set(needs)

    @property
    def who(self) -> str:
        """The beginning of the reason: the agent and the sites."""
        place = f" on {', '.join(self.needs)}" if self.needs and self.cause == "site" else ""
        return f"{self.agent or 'every agent'}{place}:"


class NotRun(NamedTuple):
    """Why a trial is not run."""

    reason: str
    undecided: bool
    """Whether ends of its own agent are the reason, whose owner is undecided."""


class Stops:
    """Consecutive errors of a run, in a file in ``directory``, the run's temporary one; so ``--resume`` starts counting
    from zero.

    Any verdict ends a series; an error of another cause does not. An error whose owner is undecided counts, too, so
    that a dead program or a revoked key ends the run. Trials that are not run have no record and count
    against thresholds (`results.plan.Coverage.stopped`), so that being stopped is no advantage.

    ``needs`` of a trial are the names of its sites, and `BROWSER` if it needs one.
    """

    def __init__(self, directory: Path, limit: int = EQUAL_ERRORS) -> None:
        """``limit`` is the number of errors after which trials stop; 0: never."""
        self._path = directory / "stops.json"
        self._limit = limit

    def why_not(self, agent: str, browser: str, needs: Collection[str]) -> NotRun | None:
        """Why a trial of ``agent`` in ``browser`` must not run; None when it may.

        If several series stop it, the one with a known owner counts: it would not have run in any case.
        """
        if not self._path.exists():
            return None
        with self._rows() as rows:
            found = [
                NotRun(row.reason, row.undecided) for row in rows if row.reason and row.concerns(agent, browser, needs)
            ]
        return min(found, key=lambda each: each.undecided, default=None)

    def note(self, record: TrialRecord, needs: Collection[str]) -> None:
        """Count a finished trial."""
        key, cause = record.key, _cause_of(record)
        with self._rows() as rows:
            unattributed = record.stop_reason == UNATTRIBUTED
            if record.outcome != "error" and not unattributed:
                rows[:] = [row for row in rows if row.reason or not row.concerns(key.agent, key.browser, needs)]
            elif cause is not None and cause not in _NEVER and not _of_its_page(record) and record.event != "budget":
                row = _found(rows, _of(record, cause, needs))
                row.count += 1
                row.undecided |= unattributed
                if 0 < self._limit <= row.count and not row.reason:
                    times = f"{row.count} errors in a row" if row.count > 1 else "an error"
                    message = shorten(record.message.partition("\n")[0])
                    row.reason = f"{row.who} stopped after {times} ({row.cause}), the latest: {message}"

    def stop(self, agent: str, browser: str, needs: Collection[str], error: Unready) -> NotRun:
        """Stop such trials because something that they need is missing."""
        with self._rows() as rows:
            if error.cause == "site":  # concerns all agents and browsers
                agent, browser, failed = "", "", tuple(sorted(set(needs) - {BROWSER}))
            else:
                failed = (BROWSER,) if error.cause == "browser" and BROWSER in needs else ()
            row = _found(rows, _ErrorSeries(cause=error.cause, agent=agent, browser=browser, needs=failed))
            row.reason = row.reason or f"{row.who} a prerequisite is missing ({error.cause}): {shorten(str(error))}"
            return NotRun(row.reason, row.undecided)

    @contextmanager
    def _rows(self) -> Iterator[list[_ErrorSeries]]:
        """All series, to be changed under an exclusive lock.

        Empty when the run's private directory is gone, because its controller was killed. Only the directory itself is
        made again, not its parents: nobody would remove them.
        """
        try:
            self._path.parent.mkdir(exist_ok=True)  # without its parents
            file = self._path.open("a+", encoding="utf-8")
        except FileNotFoundError:
            yield []
            return
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = file.read() or "[]"
            rows = [_ErrorSeries(**{**each, "needs": tuple(each["needs"])}) for each in json.loads(before)]
            yield rows
            if (after := json.dumps([asdict(row) for row in rows])) != before:
                file.truncate(0)
                file.write(after)


def _cause_of(record: TrialRecord) -> Cause | None:
    """The cause of a trial's error, also of one that failed because the owner is undecided."""
    return record.cause or (EVENTS[record.event].cause if record.event else None)


def _of_its_page(record: TrialRecord) -> bool:
    """Whether the error concerns only the task's own pages: an unavailable live site, whose name stands for many sites,
    or a page that an archive lacks."""
    telling = ("live", "obstacles", "not_archived")
    return _cause_of(record) in ("site", "blocked") and any(record.environment.get(each) for each in telling)


def _of(record: TrialRecord, cause: Cause, needs: Collection[str]) -> _ErrorSeries:
    """The series that an error belongs to."""
    failed: tuple[str, ...] = ()
    if cause == "site":
        failed = tuple(sorted(set(needs) - {BROWSER}))
    elif cause == "browser" and BROWSER in needs:
        failed = (BROWSER,)
    if cause == "site" and failed and "episode" not in record.seconds:  # before the episode, no agent has done anything
        return _ErrorSeries(cause=cause, agent="", browser="", needs=failed)
    return _ErrorSeries(cause=cause, agent=record.key.agent, browser=record.key.browser, needs=failed)


def _found(rows: list[_ErrorSeries], wanted: _ErrorSeries) -> _ErrorSeries:
    for row in rows:
        if (row.cause, row.agent, row.browser, row.needs) == (wanted.cause, wanted.agent, wanted.browser, wanted.needs):
            return row
    rows.append(wanted)
    return wanted
