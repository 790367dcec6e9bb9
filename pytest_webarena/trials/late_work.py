"""Waits, after an agent has stopped, for queued work of the sites and for checks with ``within``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_webarena.checks import Kind, collect, find_kind, judge_bounded
from pytest_webarena.errors import SiteError, TrialError
from pytest_webarena.evidence import Evidence, Probe, QuietWait

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Check, Task
    from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["LateWork", "require_quiet"]

_FIRST_PAUSE = 0.1
_LAST_PAUSE = 0.5


def require_quiet(lease: Lease) -> None:
    """Wait until the sites have no queued work left before an agent begins, so that none of it counts as the agent's.

    Raises `SiteError` if a site still has work at its deadline, and `TaskError` for an invalid query.
    """
    if busy := [each for each in lease.wait_until_quiet(strict=True) if each.busy]:
        raise SiteError(
            f"expected no queued work before the agent begins, found that {busy[0]} (the key 'quiet' of "
            f"{busy[0].app} in the catalogue)"
        )


class LateWork:
    """The waits of one trial. All of it is after the agent has stopped, so it costs the agent no time.

    Waiting only decides when the sites are read: all checks then judge one reading, and a state that existed only in
    between does not count.
    """

    def __init__(self, task: Task, environment: TrialEnvironment, *, seconds_per_check: float, patient: bool) -> None:
        """``seconds_per_check`` limits judging (0: no limit). Without ``patient`` sites are asked once, and no check is
        waited for."""
        self._task = task
        self._environment = environment
        self._seconds_per_check = seconds_per_check
        self._patient = patient
        self._began = 0.0
        self._pending = list(_late_checks(task.every_check)) if patient else []
        self._is_quiet = False
        """Whether all apps are known to be quiet, so that no more of their data can change."""
        self.quiet_waits: tuple[QuietWait, ...] = ()
        self.check_waits: dict[str, float] = {}
        """Seconds by the path of a check; complete after both calls of `await_checks`."""

    @property
    def seconds(self) -> float:
        """Seconds spent waiting, roughly: the longest wait for a site and the longest for a check."""
        quiet = max((each.seconds for each in self.quiet_waits), default=0.0)
        return round(quiet + max(self.check_waits.values(), default=0.0), 3)

    def await_quiet(self, lease: Lease, wait_for_requests: Callable[[], None]) -> None:
        """Wait until the sites have no queued work left, or their deadlines are over.

        After each wait, pages may react to what they are shown, so their requests are waited for, and the sites are
        asked again.
        """
        began, waits = time.monotonic(), dict[str, QuietWait]()
        while True:
            spent = time.monotonic() - began
            found = lease.wait_until_quiet(spent=spent, once=not self._patient)
            for each in found:
                before = waits[each.app].seconds if each.app in waits else 0.0
                waits[each.app] = replace(each, seconds=round(before + each.seconds, 3))
            self.quiet_waits = tuple(waits.values())
            busy = any(each.busy for each in found)
            if busy or not any(each.seconds for each in found):
                self._is_quiet = bool(waits) and not busy and {each.app for each in lease.replicas} <= waits.keys()
                return
            wait_for_requests()

    def await_checks(self, *, that_visit: bool) -> None:
        """Wait until each check with ``within`` is met, or its time is over; all at the same time.

        First called for checks that only read, then, after the changes were read, for those that visit a site.
        """
        if not self._began:
            self._began = time.monotonic()
        pending = [check for check in self._pending if _visits(check) is that_visit]
        if self._is_quiet:
            self.check_waits |= {check.path: 0.0 for check in pending if _reads_data(check)}
            pending = [check for check in pending if check.path not in self.check_waits]
        pause = _FIRST_PAUSE
        while pending:
            asked = time.monotonic()
            met = self._met(pending)
            took = time.monotonic() - asked
            now = time.monotonic() - self._began
            for check in pending:
                if check.path in met or now >= check.within:
                    self.check_waits[check.path] = round(min(now, check.within), 3)
            pending = [check for check in pending if check.path not in self.check_waits]
            if pending:
                left = max(0.0, min(check.within for check in pending) - now)
                time.sleep(min(max(pause, took), left))  # leaves the site at least half of the time
                pause = min(2 * pause, _LAST_PAUSE)

    def _met(self, checks: Sequence[Check]) -> set[str]:
        """Returns the paths of those of ``checks`` that are met now. What can't be read or judged yet is not met."""
        environment = self._environment
        task = replace(self._task, checks=tuple(checks), gradings={}, score="product", threshold=1.0)
        with suppress(TrialError):  # the reading that counts reports it
            reads_changes = any(getattr(find_kind(check.kind), "reads_changes", False) for check in checks)
            changes = environment.lease.changes() if reads_changes and environment.lease is not None else None
            probes: list[Probe] = []
            with environment.session.own_pages():
                for check in checks:
                    with suppress(TrialError):
                        # No sign-in is tested here: that is done for the reading that counts.
                        probes += collect([check], environment.live, state="end", ends_session=True)
            evidence = Evidence(
                answer=None, stop_reason="answered", probes=tuple(probes), changes=changes,
                sites=environment.live.sites, own_addresses=environment.own_addresses,
            )  # fmt: skip
            verdict = judge_bounded(task, evidence, seconds=self._limit(checks))
            return {result.path for result in verdict.results if result.passed}
        return set()

    def _limit(self, checks: Sequence[Check]) -> float:
        left = max(check.within for check in checks) - (time.monotonic() - self._began)
        return min(self._seconds_per_check, max(left, 1.0))


def _late_checks(checks: Sequence[Check]) -> Iterator[Check]:
    for check in checks:
        yield from _late_checks(check.children)
        if check.within:
            yield check


def _visits(check: Check) -> bool:
    """Whether reading what the check needs may change a site."""
    kind = find_kind(check.kind)
    if not isinstance(kind, Kind) or kind.collect is None:
        return False
    return kind.sends_requests is None or kind.sends_requests(check.spec)


def _reads_data(check: Check) -> bool:
    """Whether the check only reads what sites store, which is final when they are quiet; pages may lag behind."""
    kind = find_kind(check.kind)
    return kind is not None and kind.sights(check.spec) == {"data"} and not _visits(check)
