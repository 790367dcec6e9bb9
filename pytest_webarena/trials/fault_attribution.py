"""Finds the owner of an error after the agent's first action: runs the event's control, and adapts the record."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from pytest_webarena.actions import Action, Goto, Invalid, NewTab, Stop
from pytest_webarena.agents.recording import Recording
from pytest_webarena.agents.replay_agent import ReplayAgent
from pytest_webarena.checks import Verdict, find_kind, judge_bounded
from pytest_webarena.checks.grading import gradings_of, headline_of
from pytest_webarena.checks.kind import no_answer
from pytest_webarena.checks.url import document_status, tab_status
from pytest_webarena.errors import BrowserError, NetworkChanged, SiteError, SiteRestless, SiteUnreached
from pytest_webarena.evidence import Usage
from pytest_webarena.owners import CAUSED_BY_AGENT, Event
from pytest_webarena.results.attempts import read_steps
from pytest_webarena.trials.collecting import Collector, Used
from pytest_webarena.trials.trial_environment import set_up_environment

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_webarena.browser.config import SessionConfig
    from pytest_webarena.browser.pageless import Pageless
    from pytest_webarena.browser.session import Session
    from pytest_webarena.checks import CheckResult
    from pytest_webarena.errors import ControlResult
    from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord, StopReason
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.tasks.model import Check, Task
    from pytest_webarena.trials.plan import TrialPlan
    from pytest_webarena.trials.trial_environment import Resources, TrialEnvironment

__all__ = ["Attribution", "Ended", "Unanswered", "failed_by_all", "unanswered"]

_LOOK = 1.0
"""Seconds between two checks of an idle site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """What a working site did not answer in an attempt; the control trials repeat these requests. ``+`` joins two."""

    checks: frozenset[str] = frozenset()
    """Paths of the checks that could not be judged because the site did not answer."""
    places: tuple[str, ...] = ()
    """Addresses of the pages that the agent was on and these checks looked at."""

    def __add__(self, other: Unanswered) -> Unanswered:
        places = tuple(dict.fromkeys((*self.places, *other.places)))
        return Unanswered(checks=self.checks | other.checks, places=places)


def unanswered(task: Task, evidence: Evidence, verdict: Verdict) -> Unanswered:
    """The checks of ``verdict`` that a site left without an answer, and their pages; empty when it answered all."""
    open_results = [result for result in _leaves(verdict) if result.score is None and result.cause == "site"]
    known = {check.path: check for check in _parts(task.every_check)}
    places = dict.fromkeys(
        url
        for result in open_results
        if _depends_on_place(known.get(result.path))
        for url in _places(evidence, result.state)
    )
    return Unanswered(checks=frozenset(result.path for result in open_results), places=tuple(places))


def _leaves(verdict: Verdict) -> Iterator[CheckResult]:
    return (result for each in verdict.results for _, result in each.walk() if not result.children)


def _parts(checks: Sequence[Check]) -> Iterator[Check]:
    for check in checks:
        yield from _parts(check.children) if check.children else (check,)


def _depends_on_place(check: Check | None) -> bool:
    """Whether a check depends on where the agent is; assumed for checks that do not declare what they look at."""
    kind = find_kind(check.kind) if check is not None else None
    return check is not None and kind is not None and "place" in (kind.sights(check.spec) or ("place",))


def _places(evidence: Evidence, state: str) -> Iterator[str]:
    """The addresses at which the agent was in ``state`` (`CheckResult.state`). At the end only those without an answer;
    for earlier states the requests do not show that, so all of them."""
    if state.startswith("after step "):
        return (step.url_after for step in evidence.steps if state == f"after step {step.index}" and step.url_after)
    return (tab.url for tab in evidence.tabs if no_answer(tab_status(tab, evidence)) == "site")


def _failed(requests: Sequence[RequestRecord], url: str) -> bool:
    return no_answer(document_status(requests, url) or 200) == "site"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How an attempt ended in an error, as far as its owner depends on it."""

    event: Event
    folder: Path
    """Directory of the attempt's files."""
    interrupted: StepRecord | None = None
    """The step that the error interrupted."""
    control: Callable[[], ControlResult] | None = None
    """The control of the error itself (`TrialError.control`)."""
    visited: tuple[str, ...] = ()
    """Sites that the task does not list and the attempt or an earlier one visited."""
    unanswered: Unanswered = Unanswered()
    places: tuple[str, ...] = ()
    """Addresses of the agent's tabs at the end, the current one last."""
    live: bool = False
    """Whether the sites are live ones, of which there is no second copy."""
    unbreakable: bool = False
    """Whether no agent can break the sites."""


class Attribution:
    """Finds the owner of each error of one trial, by the rules of `owners.EVENTS`."""

    def __init__(self, plan: TrialPlan, resources: Resources) -> None:
        self._plan = plan
        self._resources = resources
        self._failures: Counter[str] = Counter()
        self._longest = 0.0
        self._unanswered = Unanswered()

    def owned(self, record: TrialRecord, ended: Ended, *, seconds: float) -> TrialRecord:
        """Return the record of an attempt with its owner: a failure if the agent caused the error, else an error.

        Controls are as many, one after the other, as attempts ended in this way, which also catches what fails only
        now and then. ``seconds`` is the time for which the attempt used its sites.
        """
        event = ended.event
        self._failures[event.control] += 1
        self._longest = max(self._longest, seconds)
        self._unanswered += ended.unanswered
        result = self._control(ended)
        facts = {"event": event.name, **({"control": result} if result is not None else {})}
        record = replace(record, environment={**record.environment, "attribution": facts})
        if result == "works" and event.works in CAUSED_BY_AGENT:
            return _caused(record, self._plan, cast("StopReason", event.works))
        return record

    def _control(self, ended: Ended) -> ControlResult | None:
        """The result of the event's control; None where there is none."""
        match ended.event.control:
            case "none":
                return None
            case "request":
                return ended.control() if ended.control is not None else "impossible"
            case "question":  # the judge asked it, and would have blamed the agent if it had worked
                return "fails"
            case "trial" if not (ended.live or ended.unbreakable):
                return self._repeated(ended, self._survives_trial)
            case "visit" if not ended.live:
                return self._repeated(ended, self._survives_visit)
        return "impossible"

    def _repeated(self, ended: Ended, survives: Callable[[Ended], bool]) -> ControlResult:
        for _ in range(self._failures[ended.event.control]):
            self._plan.cancellation.check()
            try:
                if not survives(ended):
                    return "fails"
            except Exception as error:  # after any error, blaming the agent would be a guess
                same = ended.event.control == "trial" or isinstance(error, SiteRestless | BrowserError)
                return "fails" if same else "impossible"
        return "works" if self._plan.agent.self_driving or self._recurs(ended) else "fails"

    def _survives_trial(self, ended: Ended) -> bool:
        """Whether a fresh replica survives the whole trial, including set-up and checks, without the agent.

        If not, the site is down for everybody, or a check, the set-up or time breaks it. The control lasts as long as
        the longest attempt. An earlier unanswered request that has no answer without the agent either makes the site
        responsible, even though other checks fail without an agent.
        """
        plan, earlier = self._plan, self._unanswered
        with self._environment(ended, as_agent=False) as environment:
            environment.open_first_pages()
            _keep_leased(environment, self._longest)
            evidence = self._collected(environment)
            environment.check_sites(ask=True)
            verdict = judge_bounded(plan.task, evidence, grading=plan.options.grading)
            if not earlier.checks.isdisjoint(unanswered(plan.task, evidence, verdict).checks):
                return False
            if earlier.places:  # last, because these pages may break the site
                environment.session.open_tabs(earlier.places)
                if any(_failed(environment.requests(), url) for url in earlier.places):
                    return False
        return not (verdict.undecided and verdict.cause == "site")

    def _survives_visit(self, ended: Ended) -> bool:
        """Whether the pages that the agent was on can be opened, observed and judged on a fresh replica.

        The replica has the task's data and accounts, but neither the agent's scripts nor what it wrote: a page that is
        too large without these fails here, too.
        """
        with self._environment(ended, as_agent=True) as environment:
            environment.open_first_pages()
            for number, url in enumerate(ended.places):
                if number:
                    environment.session.execute(NewTab())
                environment.session.execute(Goto(url))  # an address that can't be opened does not excuse the agent
                environment.session.observe()
            _keep_leased(environment, self._longest)
            environment.session.observe()
            self._collected(environment)
        return True

    def _recurs(self, ended: Ended) -> bool:
        """Whether a fresh replica or browser breaks again when the agent's actions are repeated. If not, it broke by
        chance, or because of this machine.

        Actions whose targets are missing are left out: what an agent does on a broken site can't be repeated on a
        working one. For agents that drive the browser themselves, the recorded steps are not all that they did.
        """
        acted = False
        try:
            with self._environment(ended, as_agent=True) as environment, environment.attributing_site_errors():
                environment.open_first_pages()
                steps = read_steps(ended.folder)
                acted = True
                for step in (*steps, *([ended.interrupted] if ended.interrupted is not None else [])):
                    _repeat(environment.session, Recording(folder=ended.folder, steps=(step,)))
                _keep_leased(environment, self._longest)  # what the agent started may take effect late
                evidence = self._collected(environment)
        except (SiteError, BrowserError) as error:
            return acted and not isinstance(error, SiteUnreached | NetworkChanged)
        except Exception:  # without a repetition, blaming the agent would be a guess
            return False
        verdict = judge_bounded(self._plan.task, evidence, grading=self._plan.options.grading)
        return not self._unanswered.checks.isdisjoint(unanswered(self._plan.task, evidence, verdict).checks)

    def _environment(self, ended: Ended, *, as_agent: bool) -> AbstractContextManager[TrialEnvironment]:
        plan, agent = self._plan, self._plan.agent
        same: dict[str, Any] = {}
        if as_agent:  # in a browser like the agent's, which no other trial shares and can crash

            def tailor(config: SessionConfig) -> SessionConfig:
                return replace(plan.tailored(config), own_browser=True)

            same = {"tailor": tailor, "self_driving": agent.self_driving, "rooted": agent.rooted}
        return set_up_environment(
            plan.task, self._resources, holder=f"{plan.holder}, without its agent", options=plan.options,
            visited=ended.visited, **same,
        )  # fmt: skip

    def _collected(self, environment: TrialEnvironment) -> Evidence:
        return Collector(self._plan.task, environment, self._plan.options).finish(
            answer="", stop_reason="answered", steps=(), answer_format=self._plan.answer_format,
            used=Used(usage=Usage(), seconds=0.0),
        )  # fmt: skip


def _repeat(session: Session | Pageless, recording: Recording) -> None:
    """Repeat the actions of ``recording``, with each target that may be the recorded one until one has an effect."""
    agent = ReplayAgent(recording, None)
    while True:
        reply = agent.act(session.observe())
        if reply.ended is not None or not isinstance(reply.action, Action) or isinstance(reply.action, Stop | Invalid):
            return
        session.execute(reply.action)


def _keep_leased(environment: TrialEnvironment, seconds: float) -> None:
    """Keep the site leased for ``seconds`` without doing anything. Raises as soon as a site has broken."""
    ends = time.monotonic() + seconds
    while (remaining := ends - time.monotonic()) > 0:
        environment.check_sites()
        threading.Event().wait(min(remaining, _LOOK))
    environment.check_sites(ask=True)


_CAUSED: Mapping[str, str] = {
    "broke_site": "the agent broke the site: without the agent, a fresh one works as long",
    "broke_browser": "the agent broke the browser: without the agent, its pages can be read on a fresh replica",
    "endless_writes": "the agent's page never stops writing: without the agent, it does on a fresh replica",
    "model_refused": "the model endpoint does not serve what the agent sent: it serves a short request with the same "
    "settings, and then not the agent's",
}
"""What the control showed, by stop reason."""


def _caused(record: TrialRecord, plan: TrialPlan, reason: StopReason) -> TrialRecord:
    """The record of an attempt whose error the agent caused, turned into a failure for every grading."""
    headline, verdicts = failed_by_all(plan, record.intent, reason)
    return replace(
        record,
        outcome="failed",
        cause=None,
        shortfall="",
        score=0.0,
        stop_reason=reason,
        stop_detail=record.message.partition("\n")[0],
        message=f"{_CAUSED[reason]}; what happened: {record.message}",
        verdict=verdicts[headline],
        verdicts=verdicts,
        grading=headline,
    )


def failed_by_all(plan: TrialPlan, intent: str, reason: StopReason) -> tuple[str, dict[str, dict[str, Any]]]:
    """The verdicts, by grading, of a trial that failed before any check could run, and the name of the grading that
    counts."""
    headline = headline_of(plan.task, plan.options.grading.name) or plan.options.grading.name
    known = gradings_of(plan.task, plan.options.grading.name)
    verdicts = {
        name: Verdict(
            score=0.0,
            passed=False,
            results=(),
            task=plan.task.id,
            intent=intent,
            threshold=plan.task.threshold,
            stop_reason=reason,
            grading=name if known else "",
        ).to_json()
        for name in dict.fromkeys((headline, *known))
    }
    return headline, verdicts
