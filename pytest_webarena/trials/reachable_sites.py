"""Sites in reach that a trial's task does not list: which these are, and waiting for those that are visited."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_webarena.actions import Wait
from pytest_webarena.browser.pageless import Pageless
from pytest_webarena.errors import SiteUnreached, WebArenaError
from pytest_webarena.gateway.pages import COMING
from pytest_webarena.trials.live import as_requested

if TYPE_CHECKING:
    from pytest_webarena.browser.session import Session
    from pytest_webarena.evidence import ReachedSite
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.options import TrialOptions

__all__ = ["FirstVisits", "in_reach"]

_PAGE = 30.0
"""Seconds that the page of a site which is there may take to come in place of the one that says it is not."""
_LOOK = 0.3


def in_reach(task: Task, options: TrialOptions) -> tuple[str, ...]:
    """Names of what can be visited beside the task's sites (``*``: all): as the run says, else as the task does."""
    if options.reach is not None:
        return options.reach
    return ("*",) if task.reach == "environment" else ()


class FirstVisits:
    """What one attempt has visited for the first time.

    Its agent waits for such a site as long as that takes, and neither its time nor its steps are spent on that: a
    browser that gave up meanwhile was shown a page of the gateway, which asks again by itself.
    """

    def __init__(self, lease: Lease | None) -> None:
        self.sites: Mapping[str, str] = lease.reach if lease is not None else {}
        """All that can be visited: name to base URL."""
        self._lease = lease if self.sites else None
        self.waited = 0.0
        """Seconds in all."""

    def arrive(self, session: Session | Pageless) -> float:
        """Wait until what was visited is there; the seconds that it was waited for since the last call."""
        lease = self._lease
        if lease is None:
            return 0.0
        waited = sum(site.waited for site in lease.visited())
        waited += self._show(lease, session) if waited > self.waited else 0.0
        waited, self.waited = max(0.0, waited - self.waited), max(waited, self.waited)
        return waited

    @staticmethod
    def _show(lease: Lease, session: Session | Pageless) -> float:
        """Wait until the current tab shows a page of a site that was not there when it was asked for; in seconds."""
        if isinstance(session, Pageless):
            return 0.0
        began = time.monotonic()
        while COMING in lease.own_answer(as_requested(session.address)):
            if time.monotonic() - began > _PAGE:
                raise SiteUnreached(
                    f"expected {session.address} to be shown within {_PAGE:g} s after its site was there"
                )
            session.execute(Wait(_LOOK))
        return time.monotonic() - began

    def reached(self) -> tuple[ReachedSite, ...]:
        """What was asked for so far, whether or not it could be had."""
        return self._lease.reached() if self._lease is not None else ()

    def names(self, before: Sequence[str] = ()) -> tuple[str, ...]:
        """The names of these and of those ``before``, for another attempt; only these where nobody can tell."""
        found: tuple[ReachedSite, ...] = ()
        with contextlib.suppress(WebArenaError):
            found = self.reached()
        return tuple(dict.fromkeys((*before, *(site.site for site in found))))
