"""Who is stopped because trial after trial ends in the same error: counted for all workers of a run together."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.errors import Cause, Unready
    from pytest_webarena.results import TrialRecord

__all__ = ["BROWSER", "EQUAL_ERRORS", "Stops"]

BROWSER = "a browser"
"""Needed by all trials but those of plain questions."""

EQUAL_ERRORS = 5
"""Trials in a row, by completion, that may end in errors of one cause before the rest is not run."""

_NEVER: frozenset[Cause] = frozenset({"task", "blocked"})
"""Causes that are each task's own: the next one may do. Who turns visitors away is left alone by the gateway itself."""


@dataclass(slots=True)
class _Row:
    """Errors in a row, of one cause."""

    cause: str
    agent: str
    """Empty: whichever. A site that could not even be had is nobody's doing."""
    browser: str
    needs: tuple[str, ...]
    """What the trials needed of what has failed: their sites, `BROWSER`. Those that need all of it would fare alike."""
    count: int = 0
    reason: str = ""
    """Why nothing of the kind is run any more; empty while it is."""

    def concerns(self, agent: str, browser: str, needs: Collection[str]) -> bool:
        """Whether such a trial would probably end in this error, too."""
        return self.agent in ("", agent) and self.browser in ("", browser) and set(self.needs) <= set(needs)

    @property
    def who(self) -> str:
        """How its reason begins."""
        place = f" on {', '.join(self.needs)}" if self.needs and self.cause == "site" else ""
        return f"{self.agent or 'every agent'}{place}:"


class Stops:
    """The errors in a row, in a file below ``directory``, the run's temporary one: ``--resume`` begins anew.

    A verdict, good or bad, ends a row; an error of another cause does not. Trials that are not run have no record and
    count against thresholds (`results.plan.Coverage.stopped`), so that nobody gains by being stopped.

    What a trial ``needs`` is the names of its sites, and `BROWSER` if it needs one.
    """

    def __init__(self, directory: Path, limit: int = EQUAL_ERRORS) -> None:
        """``limit`` 0: no row is too long."""
        self._path = directory / "stops.json"
        self._limit = limit

    def why_not(self, agent: str, browser: str, needs: Collection[str]) -> str:
        """Why a trial of ``agent`` in ``browser`` is not to be run; empty when it is."""
        if not self._path.exists():
            return ""
        with self._rows() as rows:
            return next((row.reason for row in rows if row.reason and row.concerns(agent, browser, needs)), "")

    def note(self, record: TrialRecord, needs: Collection[str]) -> None:
        """A trial is over."""
        key, cause = record.key, record.cause
        with self._rows() as rows:
            if record.outcome != "error":
                rows[:] = [row for row in rows if row.reason or not row.concerns(key.agent, key.browser, needs)]
            elif (
                cause is not None and cause not in _NEVER and not _of_its_page(record) and record.shortfall != "budget"
            ):
                row = _found(rows, _of(record, cause, needs))
                row.count += 1
                if 0 < self._limit <= row.count and not row.reason:
                    times = f"{row.count} errors in a row" if row.count > 1 else "an error"
                    told = shorten(record.message)
                    row.reason = f"{row.who} stopped after {times} ({row.cause}), the latest: {told}"

    def stop(self, agent: str, browser: str, needs: Collection[str], error: Unready) -> str:
        """Run no more such trials: what they need is not there. Gives the reason."""
        with self._rows() as rows:
            if error.cause == "site":  # whoever visits them, in whatever browser
                agent, browser, failed = "", "", tuple(sorted(set(needs) - {BROWSER}))
            else:
                failed = (BROWSER,) if error.cause == "browser" and BROWSER in needs else ()
            row = _found(rows, _Row(cause=error.cause, agent=agent, browser=browser, needs=failed))
            row.reason = row.reason or f"{row.who} what it needs is not there ({error.cause}): {shorten(str(error))}"
            return row.reason

    @contextmanager
    def _rows(self) -> Iterator[list[_Row]]:
        """All of them, to be changed; nobody else has them meanwhile.

        Empty when the run's private directory is gone: its controller was killed, and whoever makes the directory
        anew leaves it behind for good.
        """
        try:
            self._path.parent.mkdir(exist_ok=True)  # not its parents
            file = self._path.open("a+", encoding="utf-8")
        except FileNotFoundError:
            yield []
            return
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = file.read() or "[]"
            rows = [_Row(**{**each, "needs": tuple(each["needs"])}) for each in json.loads(before)]
            yield rows
            if (after := json.dumps([asdict(row) for row in rows])) != before:
                file.truncate(0)
                file.write(after)


def _of_its_page(record: TrialRecord) -> bool:
    """Whether it is a live site that could not be had, of which one name stands for many, or a page that an archive has
    not: the next task may want others."""
    telling = ("live", "obstacles", "not_archived")
    return record.cause == "site" and any(record.environment.get(each) for each in telling)


def _of(record: TrialRecord, cause: Cause, needs: Collection[str]) -> _Row:
    """The row that an error belongs to."""
    failed: tuple[str, ...] = ()
    if cause == "site":
        failed = tuple(sorted(set(needs) - {BROWSER}))
    elif cause == "browser" and BROWSER in needs:
        failed = (BROWSER,)
    if cause == "site" and failed and "episode" not in record.seconds:  # before that, no agent has done anything
        return _Row(cause=cause, agent="", browser="", needs=failed)
    return _Row(cause=cause, agent=record.key.agent, browser=record.key.browser, needs=failed)


def _found(rows: list[_Row], wanted: _Row) -> _Row:
    for row in rows:
        if (row.cause, row.agent, row.browser, row.needs) == (wanted.cause, wanted.agent, wanted.browser, wanted.needs):
            return row
    rows.append(wanted)
    return wanted
