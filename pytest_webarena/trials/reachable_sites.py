"""Reachable sites that a trial's task does not list: their names, and waiting for those that are visited."""

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

__all__ = ["FirstVisits", "reachable_names"]

_PAGE = 30.0
"""Seconds that a site which has become available may take to replace the gateway's waiting page."""
_LOOK = 0.3


def reachable_names(task: Task, options: TrialOptions) -> tuple[str, ...]:
    """Names of sites that can be visited in addition to the task's (``*``: all): as the run says, otherwise as the task
    does."""
    if options.reach is not None:
        return options.reach
    return ("*",) if task.reach == "environment" else ()


class FirstVisits:
    """The reachable sites that one attempt visits for the first time.

    Its agent waits until such a site is available, without losing time or steps. A browser that gave up in the meantime
    shows a page of the gateway that reloads itself.
    """

    def __init__(self, lease: Lease | None) -> None:
        self.sites: Mapping[str, str] = lease.reach if lease is not None else {}
        """All reachable sites: name to base URL."""
        self._lease = lease if self.sites else None
        self.waited = 0.0
        """Total time waited, in seconds."""

    def arrive(self, session: Session | Pageless) -> float:
        """Wait until the visited sites are available; return the seconds waited since the last call."""
        lease = self._lease
        if lease is None:
            return 0.0
        waited = sum(site.waited for site in lease.visited())
        waited += self._show(lease, session) if waited > self.waited else 0.0
        waited, self.waited = max(0.0, waited - self.waited), max(waited, self.waited)
        return waited

    @staticmethod
    def _show(lease: Lease, session: Session | Pageless) -> float:
        """Wait until the current tab shows a page of the site in place of the gateway's waiting page; return the
        seconds."""
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
        """The sites visited so far, whether or not they became available."""
        return self._lease.reached() if self._lease is not None else ()

    def names(self, before: Sequence[str] = ()) -> tuple[str, ...]:
        """The names of these sites and of those ``before``, for another attempt; only ``before`` if they cannot be
        looked up."""
        found: tuple[ReachedSite, ...] = ()
        with contextlib.suppress(WebArenaError):
            found = self.reached()
        return tuple(dict.fromkeys((*before, *(site.site for site in found))))
