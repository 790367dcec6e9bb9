"""Gathers what a task's checks need, after each step and at the end: for test runs, environments, trying out alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_webarena.browser.loop import Deadline
from pytest_webarena.checks import collect, needs
from pytest_webarena.checks.side_effects import wants_ledger
from pytest_webarena.errors import BrowserError, SiteError, SiteRestless
from pytest_webarena.evidence import Evidence, Probe, RequestRecord, SeenPage, StepRecord, Unfinished, Usage
from pytest_webarena.gateway.log_entry import SAFE_METHODS
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.refused_requests import with_browsers_record

if TYPE_CHECKING:
    from pytest_webarena.answers import AnswerFormat
    from pytest_webarena.checks.kind import State
    from pytest_webarena.evidence import StopReason
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Check, Task
    from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["Collector", "Used", "require_answers"]

_USUAL = TrialOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What an agent used, for the evidence."""

    usage: Usage | None = None
    gap: str = ""
    seconds: float | None = None
    booked: bool = False
    """Whether the run's account has each of its calls, whatever the agent left to say."""

    @property
    def least(self) -> Usage | None:
        """``usage`` for records: with a gap it is the least that it can be."""
        if self.usage is None or not self.gap or self.booked:
            return self.usage
        return replace(self.usage, untold_calls=max(1, self.usage.untold_calls))


_UNKNOWN = Used(gap="usage was not reported")


class Collector:
    """What one episode's checks gather.

    Pages that they open are in a context of the harness's own (`Session.own_pages`), and their requests, like all
    others of the harness, don't go through the agent's gateway port: the record of requests is the agent's alone.
    """

    def __init__(
        self, task: Task, stage: TrialEnvironment, options: TrialOptions = _USUAL, *, see_pages: bool = False
    ) -> None:
        self._stage = stage
        self._checks = task.every_check
        self._ends_session = task.ends_session
        self._needs = needs(task.every_check)
        self._by_changes = self._needs.changes or (wants_ledger(task) and stage.keeps_ledger)
        """Whether what changed on the sites decides about the trial."""
        self._looks_at_sites = self._needs.sites or self._by_changes
        self._write_timeout = options.write_timeout
        self._quiet_time = options.quiet_time
        self.probes: list[Probe] = []
        """Of the steps so far."""
        self.unfinished: tuple[Unfinished, ...] = ()
        """What was still in flight when the waiting for it was given up."""
        self.unanswered: tuple[str, ...] = ()
        """What pages had asked for since the last action, and had no answer to then: a write may have followed it."""
        self.waited = 0.0
        """Seconds spent on that, and on what pages had put off."""
        self.no_picture = ""
        """Why there is no last screenshot, where one was wanted."""
        self._signals_after: list[int] = []
        self._see_pages = see_pages
        self._pages: list[SeenPage] = []
        self.seconds_for_pages = 0.0
        """What keeping them took."""

    def observed(self, index: int, url: str) -> None:
        """Keep the page on which the agent is about to decide, where a grading looks at it."""
        if self._see_pages and (html := self._timed_page()):
            self._pages.append(SeenPage(step=index, url=url, html=html))

    def _timed_page(self) -> str:
        began = time.monotonic()
        try:
            return self._stage.session.html()
        finally:
            self.seconds_for_pages += time.monotonic() - began

    def stepped(self, index: int) -> None:
        """Gather what ``when: any_step`` checks need of the state after a step."""
        self._signals_after.append(len(self._stage.session.signals.since()))
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
    ) -> Evidence:
        """Everything, once the agent has stopped; ``picture`` is given a last screenshot.

        Waits before for what pages have put off for a moment, for requests that may change a site, and for those that
        may lead to such. `SiteError` when a request of the second sort has no answer then, and what the checks look at
        depends on it; or when a replica has died.
        """
        stage = self._stage
        stage.arrive()
        self._wait_for_requests()
        stage.check_sites(ask=stop_reason == "time")  # one that died or hangs must not look like an agent that failed
        tabs = stage.session.tabs()
        signals = stage.session.signals
        changes = stage.lease.changes() if stage.lease is not None else ()  # before checks open pages
        probes = self._collect(self._checks if self._needs.end else (), "end", [tab.url for tab in tabs])
        requests = self._requests()  # last: no check may see what came of a request that is not among them
        # Last, too: what a site says while it dies is no evidence. Asked whatever the traffic was: a site whose
        # database has died may show pages that say so, which look like an agent's failure.
        stage.check_sites(ask=True)
        if picture is not None:  # when nothing depends on the page any more, for it may be hard to paint
            try:
                if shot := stage.session.screenshot():
                    picture(shot)
            except BrowserError as error:
                self.no_picture = str(error)
        return Evidence(
            answer=answer,
            stop_reason=stop_reason,
            tabs=tabs,
            steps=tuple(steps),
            requests=requests,
            unrecorded=stage.unrecorded(),
            probes=(*self.probes, *probes),
            signals=signals.since(),
            lost_signals=signals.lost,
            unheard_documents=signals.unheard,
            signals_after=tuple(self._signals_after),
            signals_before=signals.before,
            began=signals.began,
            pages=tuple(self._pages),
            dom_events=signals.dom_events,
            sites=stage.live.sites,
            reached=stage.visits.reached(),
            changes=changes,
            answer_format=answer_format,
            usage=used.usage,
            usage_gap=used.gap,
            agent_seconds=used.seconds,
        )

    def _collect(self, checks: Sequence[Check], state: State, tabs: Sequence[str] = ()) -> tuple[Probe, ...]:
        if not checks:
            return ()
        with self._stage.session.own_pages():
            return collect(checks, self._stage.live, state=state, ends_session=self._ends_session, tabs=tabs)

    def _requests(self) -> tuple[RequestRecord, ...]:
        requests = with_browsers_record(self._stage.requests(), self._stage.session.signals.refused)
        if self._needs.responses:
            return requests
        return tuple(request.without_response_body() for request in requests)

    def _wait_for_requests(self) -> None:
        """An agent may stop, or be stopped, while its last click is still being dealt with."""
        began = time.monotonic()
        self.unfinished, self.unanswered = (), ()
        if self._stage.lease is None:
            return
        try:
            self._wait(self._stage.lease, Deadline(self._write_timeout))
        finally:
            self.waited = time.monotonic() - began
        if self._looks_at_sites:
            self._require_answers(self.unfinished)

    def _require_answers(self, left: Sequence[Unfinished]) -> None:
        if any(each.repeated for each in left):
            self._stage.check_sites(ask=True)  # a site that hangs is no restless page
        require_answers(left, self._write_timeout, "the agent's last step")

    def _wait(self, lease: Lease, limit: Deadline) -> None:
        session, quiet = self._stage.session, 0.0
        while True:
            if self._looks_at_sites and self._write_timeout:
                moving = session.come_to_rest(limit.left(), quiet=self._quiet_time)
                quiet = self._quiet_time if moving and session.acting_since else 0.0
            reads = session.acting_since if self._looks_at_sites else 0.0
            asked = bool(reads) and any(each.method in SAFE_METHODS for each in lease.writes_over(0, reads=reads))
            left = self._writes_left(lease, limit, quiet)
            self.unfinished = tuple(each for each in left if each.method not in SAFE_METHODS)
            self.unanswered = tuple(f"{each.method} {each.url}" for each in left if each.method in SAFE_METHODS)
            if left or not self._looks_at_sites:
                return
            waited, self.unanswered = session.reads_left(limit.left())
            if self.unanswered or not (waited or asked):  # what came may be a page that asks for more
                return

    def _writes_left(self, lease: Lease, limit: Deadline, quiet: float) -> tuple[Unfinished, ...]:
        session = self._stage.session
        reads = session.acting_since if self._looks_at_sites else 0.0
        acted = session.acting_first if self._looks_at_sites else 0.0
        while not (left := lease.writes_over(limit.left(), quiet=quiet, reads=reads, acted=acted)):
            if not session.holds_writes(limit.left()):
                break
            if not (left := lease.writes_over(0, acted=acted)):  # the browser has lost sight of it, for nobody has it
                break
        return left


def require_answers(left: Sequence[Unfinished], waited: float, after: str) -> None:
    """`SiteError` when a site had ``waited`` seconds for an answer and gave none; nothing if nobody wanted to wait."""
    late = next((each for each in left if each.waits_for == "site"), None)
    if late is not None and waited and late.repeated:
        raise SiteRestless(
            f"expected {late.method} {late.url} to be over within {waited:g} s after {after}, found that its page "
            "makes it over and over: nobody knows whether that is what was set off last, or goes on for ever "
            "(--write-timeout waits longer, or with 0 not at all)"
        )
    if late is not None and waited:
        raise SiteError(
            f"expected an answer to {late.method} {late.url} within {waited:g} s after {after}, found none: nobody "
            "knows what it will have changed (--write-timeout waits longer, or with 0 not at all)"
        )
