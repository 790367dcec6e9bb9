"""Collects what a task's checks need, after each step and at the end; for test runs, environments and try-outs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_webarena.browser.loop import Deadline
from pytest_webarena.checks import collect, needs
from pytest_webarena.checks.side_effects import wants_ledger
from pytest_webarena.errors import BrowserError, SiteRestless, SiteUnanswered
from pytest_webarena.evidence import Evidence, Probe, RequestRecord, SeenPage, StepRecord, Unfinished, Usage
from pytest_webarena.gateway.log_entry import SAFE_METHODS
from pytest_webarena.trials.late_work import LateWork
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.refused_requests import with_browsers_record

if TYPE_CHECKING:
    from pytest_webarena.answers import AnswerFormat
    from pytest_webarena.checks.kind import State
    from pytest_webarena.evidence import StopReason
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Check, Task
    from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["PATIENCE", "Collector", "Used", "require_answers"]

_USUAL = TrialOptions()

PATIENCE = 6
"""Factor by which a write that a working site does not answer is waited for longer: saving slowly is no error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What an agent used, for the evidence."""

    usage: Usage | None = None
    gap: str = ""
    seconds: float | None = None
    recorded_per_call: bool = False
    """Whether the run's account has recorded each of its calls, independently of the agent's reports."""

    @property
    def least(self) -> Usage | None:
        """``usage`` for records. With a gap it is only a lower bound, so at least one call is marked as unreported."""
        if self.usage is None or not self.gap or self.recorded_per_call:
            return self.usage
        return replace(self.usage, untold_calls=max(1, self.usage.untold_calls))


_UNKNOWN = Used(gap="usage was not reported")


class Collector:
    """Collects the probes of one episode's checks.

    Pages that checks open are in a separate browser context of the harness (`Session.own_pages`). Like all requests of
    the harness, theirs bypass the agent's gateway port, so that the record of requests contains only the agent's.
    """

    def __init__(
        self, task: Task, environment: TrialEnvironment, options: TrialOptions = _USUAL, *, see_pages: bool = False
    ) -> None:
        task = self._task = environment.own_addresses.in_value(task)
        self._environment = environment
        self._checks = task.every_check
        self._ends_session = task.ends_session
        self._needs = needs(task.every_check)
        self._by_changes = self._needs.changes or (wants_ledger(task) and environment.keeps_ledger)
        """Whether changes on the sites decide the verdict."""
        self._looks_at_sites = self._needs.sites or self._by_changes
        self._write_timeout = options.write_timeout
        self._quiet_time = options.quiet_time
        self._check_timeout = options.check_timeout
        self.probes: list[Probe] = []
        """Probes of the steps so far."""
        self.unfinished: tuple[Unfinished, ...] = ()
        """Writes that were still unfinished when the time limit for them ended."""
        self.unanswered: tuple[str, ...] = ()
        """Reads that pages requested after the last action and that had no answer by then. A write may have followed
        them."""
        self.waited = 0.0
        """Seconds spent waiting for these requests and for deferred work of pages."""
        self.late: LateWork | None = None
        """The waits for queued work of the sites and for checks with ``within``; None before `finish`."""
        self.no_picture = ""
        """Why there is no last screenshot, when one was wanted."""
        self._signals_after: list[int] = []
        self._see_pages = see_pages
        self._pages: list[SeenPage] = []
        self.seconds_for_pages = 0.0
        """Seconds spent on recording pages."""

    def observed(self, index: int, url: str) -> None:
        """Record the page on which the agent is about to decide, if a grading looks at it."""
        if self._see_pages and (html := self._timed_page()):
            self._pages.append(SeenPage(step=index, url=url, html=html))

    def _timed_page(self) -> str:
        began = time.monotonic()
        try:
            return self._environment.session.html()
        finally:
            self.seconds_for_pages += time.monotonic() - began

    def stepped(self, index: int) -> None:
        """Collect what ``when: any_step`` checks need of the state after a step."""
        self._signals_after.append(len(self._environment.session.signals.since()))
        self.probes += self._collect(self._needs.each_step, index)

    def finish(
        self,
        *,
        answer: str | None,
        stop_reason: StopReason,
        steps: Sequence[StepRecord],
        answer_format: AnswerFormat,
        used: Used = _UNKNOWN,
        picture: Callable[[bytes], object] | None = None,
        before_reading: Callable[[], object] | None = None,
        patient: bool = True,
    ) -> Evidence:
        """Collect the evidence after the agent has stopped; ``picture`` receives a last screenshot, if the session
        records any. ``before_reading`` is called when late work has ended.

        First waits for deferred work of pages, for requests that may change a site, and for requests that may lead to
        such; then, if ``patient``, for queued work of the sites and for checks with ``within``. Raises `SiteError` when
        a request that may change a site gets no answer and the checks depend on its effect, or when a replica has died.
        """
        environment = self._environment
        environment.arrive()
        self.waited = 0.0
        self._wait_for_requests()
        late = self.late = LateWork(self._task, environment, seconds_per_check=self._check_timeout, patient=patient)
        if environment.lease is not None and self._looks_at_sites:
            late.await_quiet(environment.lease, self._wait_for_requests)
        late.await_checks(that_visit=False)
        if before_reading is not None:
            before_reading()
        environment.check_sites(
            ask=stop_reason == "time"
        )  # a dead or hanging site must not look like an agent's failure
        tabs = environment.session.tabs()
        signals = environment.session.signals
        changes = environment.lease.changes() if environment.lease is not None else ()  # before checks open pages
        late.await_checks(that_visit=True)
        probes = self._collect(self._checks if self._needs.end else (), "end", [tab.url for tab in tabs])
        requests = self._requests()  # last, so that checks see no effect of a request that is not listed
        # Checked last, because what a dying site shows is no evidence; and whatever the traffic was, because pages of a
        # site whose database has died may look like an agent's failure.
        environment.check_sites(ask=True)
        # After everything that depends on the page, which may be slow to paint.
        if picture is not None and environment.session.records_screenshots:
            try:
                if shot := environment.session.screenshot():
                    picture(shot)
            except BrowserError as error:
                self.no_picture = str(error)
        return Evidence(
            answer=answer,
            stop_reason=stop_reason,
            tabs=tabs,
            steps=tuple(steps),
            requests=requests,
            unrecorded=environment.unrecorded(),
            probes=(*self.probes, *probes),
            signals=signals.since(),
            lost_signals=signals.lost,
            unheard_documents=signals.unlistened_documents,
            signals_after=tuple(self._signals_after),
            signals_before=signals.before,
            began=signals.began,
            pages=tuple(self._pages),
            dom_events=signals.dom_events,
            sites=environment.live.sites,
            own_addresses=environment.own_addresses,
            reached=environment.visits.reached(),
            changes=changes,
            quiet_waits=late.quiet_waits,
            check_waits=late.check_waits,
            answer_format=answer_format,
            usage=used.usage,
            usage_gap=used.gap,
            agent_seconds=used.seconds,
        )

    def _collect(self, checks: Sequence[Check], state: State, tabs: Sequence[str] = ()) -> tuple[Probe, ...]:
        if not checks:
            return ()
        with self._environment.session.own_pages():
            return collect(checks, self._environment.live, state=state, ends_session=self._ends_session, tabs=tabs)

    def _requests(self) -> tuple[RequestRecord, ...]:
        requests = with_browsers_record(self._environment.requests(), self._environment.session.signals.refused)
        if self._needs.responses:
            return requests
        return tuple(request.without_response_body() for request in requests)

    def _wait_for_requests(self) -> None:
        """Wait for pending requests: the last click may still be processed when an agent stops or is stopped."""
        began = time.monotonic()
        self.unfinished, self.unanswered = (), ()
        if self._environment.lease is None:
            return
        try:
            self._wait(self._environment.lease, Deadline(self._write_timeout))
            if self._looks_at_sites and self._write_timeout and any(map(_is_late, self.unfinished)):
                self._environment.check_sites(ask=True)
                self._wait(self._environment.lease, Deadline(self._write_timeout * (PATIENCE - 1)))
        finally:
            self.waited += time.monotonic() - began
        if self._looks_at_sites:
            self._require_answers(self.unfinished)

    def _require_answers(self, unfinished: Sequence[Unfinished]) -> None:
        if any(each.repeated for each in unfinished):
            self._environment.check_sites(ask=True)  # tells a hanging site from a page that keeps sending requests
        repeated = any(each.repeated for each in unfinished)
        waited = self._write_timeout * (1 if repeated else PATIENCE)
        require_answers(unfinished, waited, "the agent's last step")

    def _wait(self, lease: Lease, limit: Deadline) -> None:
        session, quiet = self._environment.session, 0.0
        while True:
            if self._looks_at_sites and self._write_timeout:
                moving = session.wait_for_idle(limit.left(), quiet=self._quiet_time)
                quiet = self._quiet_time if moving and session.seconds_since_action else 0.0
            reads = session.seconds_since_action if self._looks_at_sites else 0.0
            reads_waited = bool(reads) and any(
                each.method in SAFE_METHODS for each in lease.wait_for_writes(0, reads=reads)
            )
            unfinished = self._writes_left(lease, limit, quiet)
            self.unfinished = tuple(each for each in unfinished if each.method not in SAFE_METHODS)
            self.unanswered = tuple(f"{each.method} {each.url}" for each in unfinished if each.method in SAFE_METHODS)
            if unfinished or not self._looks_at_sites:
                return
            waited, self.unanswered = session.wait_for_reads(limit.left())
            if self.unanswered or not (waited or reads_waited):  # the answer may be a page that requests more
                return

    def _writes_left(self, lease: Lease, limit: Deadline, quiet: float) -> tuple[Unfinished, ...]:
        session = self._environment.session
        reads = session.seconds_since_action if self._looks_at_sites else 0.0
        acted = session.seconds_since_first_action if self._looks_at_sites else 0.0
        while not (unfinished := lease.wait_for_writes(limit.left(), quiet=quiet, reads=reads, acted=acted)):
            if not session.wait_for_writes(limit.left()):
                break
            if not (
                unfinished := lease.wait_for_writes(0, acted=acted)
            ):  # the browser has lost track of it: it no longer exists
                break
        return unfinished


def _is_late(request: Unfinished) -> bool:
    return request.waits_for == "site" and not request.repeated


def require_answers(unfinished: Sequence[Unfinished], waited: float, after: str) -> None:
    """Raise `SiteError` when a site did not answer a request within ``waited`` seconds; never when ``waited`` is 0."""
    late = next((each for each in unfinished if each.waits_for == "site"), None)
    if late is not None and waited and late.repeated:
        raise SiteRestless(
            f"expected {late.method} {late.url} to end within {waited:g} s after {after}, found that its page "
            "repeats it: its effect on the site is unknown "
            "(--write-timeout waits longer, or with 0 not at all)"
        )
    if late is not None and waited:
        raise SiteUnanswered(
            f"expected an answer to {late.method} {late.url} within {waited:g} s after {after}, found none: its "
            "effect on the site is unknown (--write-timeout waits longer, or with 0 not at all)"
        )
