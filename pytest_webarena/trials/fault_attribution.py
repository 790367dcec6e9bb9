"""Finds the owner of an error: runs the event's control, and adapts the record."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from pytest_webarena.actions import Action, Goto, Invalid, NewTab, Stop
from pytest_webarena.agents.builtin import with_full_address
from pytest_webarena.agents.host_access import can_signal_processes
from pytest_webarena.agents.recording import Recording
from pytest_webarena.agents.replay_agent import ReplayAgent
from pytest_webarena.checks import Verdict, find_kind, judge_bounded
from pytest_webarena.checks.grading import gradings_of, headline_of
from pytest_webarena.checks.judging import leaves
from pytest_webarena.checks.kind import no_answer
from pytest_webarena.checks.url import document_status, tab_status
from pytest_webarena.errors import BrowserError, NetworkChanged, SiteError, SiteUnreached, TaskError
from pytest_webarena.evidence import Usage
from pytest_webarena.owners import UNATTRIBUTED, Event, outcome_of, shown_by
from pytest_webarena.results.attempts import read_steps
from pytest_webarena.results.records import NO_VERDICT, UNDECIDED
from pytest_webarena.results.wording import REPEAT, STOP_WORDS
from pytest_webarena.trials.collecting import Collector, Used
from pytest_webarena.trials.trial_environment import set_up_environment

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_webarena.browser.config import SessionConfig
    from pytest_webarena.browser.pageless import Pageless
    from pytest_webarena.browser.session import Session
    from pytest_webarena.checks import CheckResult, Grading
    from pytest_webarena.errors import Cause, ControlResult
    from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord, StopReason
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.tasks.model import Check, Task
    from pytest_webarena.trials.plan import TrialPlan
    from pytest_webarena.trials.trial_environment import Resources, TrialEnvironment

__all__ = ["Attribution", "Ended", "Unanswered", "attributed", "failed_by_all", "unanswered"]

_LOOK = 1.0
"""Seconds between two checks of an idle site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """Checks that an attempt left without evidence, and their pages; control trials repeat them. ``+`` joins two."""

    checks: frozenset[str] = frozenset()
    """Paths of the checks that could not be judged."""
    places: tuple[str, ...] = ()
    """Addresses of the pages that the agent was on and these checks looked at."""

    def __add__(self, other: Unanswered) -> Unanswered:
        places = tuple(dict.fromkeys((*self.places, *other.places)))
        return Unanswered(checks=self.checks | other.checks, places=places)


def unanswered(task: Task, evidence: Evidence, verdict: Verdict, cause: Cause = "site") -> Unanswered:
    """The checks of ``verdict`` without evidence because of ``cause``, and their pages that a site did not answer."""
    open_results = [result for result in _leaves(verdict) if result.score is None and result.cause == cause]
    known = {check.path: check for check, _ in leaves(task.every_check)}
    places = dict.fromkeys(
        url
        for result in open_results
        if cause == "site" and _depends_on_place(known.get(result.path))
        for url in _places(evidence, result.state)
    )
    return Unanswered(checks=frozenset(result.path for result in open_results), places=tuple(places))


def _leaves(verdict: Verdict) -> Iterator[CheckResult]:
    return (result for each in verdict.results for _, result in each.walk() if not result.children)


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
    """The control of the error itself (`TrialError.control`), or of the judge."""
    visited: tuple[str, ...] = ()
    """Sites that the task does not list and the attempt or an earlier one visited."""
    unanswered: Unanswered = Unanswered()
    places: tuple[str, ...] = ()
    """Addresses of the agent's tabs at the end, the current one last."""
    instance_problem: Callable[[], str] | None = None
    """Returns why the agent's instance of a site that runs elsewhere can't be used after its reset. None: no site of
    the trial runs elsewhere, a signal of the agent may have stopped it, or the error is not a site's."""
    at: float = field(default_factory=time.monotonic)
    """Monotonic time at which the agent had ended and still held its sites."""
    live: bool = False
    """Whether the sites are live ones, of which there is no second copy."""


class Attribution:
    """Finds the owner of each error of one trial, by the rules of `owners.EVENTS`."""

    def __init__(self, plan: TrialPlan, resources: Resources) -> None:
        self._plan = plan
        self._resources = resources
        self._failures: Counter[str] = Counter()
        self._longest = 0.0
        self._unanswered = Unanswered()
        self._disturbed = False
        """Whether the agent's program may be the cause of what happened in the latest control, without an action."""

    def owned(self, record: TrialRecord, ended: Ended, *, seconds: float) -> TrialRecord:
        """Return the record of an attempt with its owner: an error of the environment, or a failure.

        Controls are as many, one after the other, as attempts ended in this way, which also catches what fails only
        now and then. ``seconds`` is the time for which the attempt used its sites.
        """
        self._failures[ended.event.control] += 1
        self._longest = max(self._longest, seconds)
        self._unanswered += ended.unanswered
        result = self._control(ended)
        if problem := self._instance_problem(ended, result):
            result, record = "fails", replace(record, message=f"{record.message}\n{problem}")
        if result not in (None, "recurs") and self._plan.agent.kind == "built-in":
            result = (
                "fails"  # the harness knows its own agents: they gain nothing, and do nothing that depends on chance
            )
        return attributed(record, ended.event, result, task=self._plan.task, grading=self._plan.options.grading)

    def _control(self, ended: Ended) -> ControlResult | None:
        """The result of the event's control; None where there is none."""
        match ended.event.control:
            case "none":
                return None
            case "request" | "question":
                return ended.control() if ended.control is not None else "impossible"
            case "trial" if not ended.live:
                result = self._repeated(ended)
                return "impossible" if result == "fails" and self._disturbed else result
        return "impossible"

    def _instance_problem(self, ended: Ended, result: ControlResult | None) -> str:
        """Returns why the agent's instance of a site fails without the agent; empty if it does not.

        Controls may have used another instance, where only a repetition of the agent's actions shows its fault. What a
        reset can't repair is no fault of an agent whose actions do not cause it again.
        """
        if ended.event.control != "trial" or ended.instance_problem is None:
            return ""
        if result == "fails" or (result == "recurs" and not self._plan.agent.self_driving):
            return ""
        try:
            found = ended.instance_problem()
        except SiteError:
            return ""
        return f"without the agent, its instance still fails after a reset: {found}" if found else ""

    def _repeated(self, ended: Ended) -> ControlResult:
        for _ in range(self._failures[ended.event.control]):
            self._plan.cancellation.check()
            try:
                if (result := self._without_agent(ended)) is not None:
                    return result
            except Exception:  # whatever it is, the agent did not act here
                return "fails"
        if not self._plan.agent.self_driving and not self._recurs(ended):
            return "works"
        return "fails" if self._breaks_by_solution(ended) else "recurs"

    def _without_agent(self, ended: Ended) -> ControlResult | None:
        """Run the whole trial, including set-up and checks, on a fresh replica without the agent.

        It opens the task's first pages and lasts as long as the longest attempt. The agent's own addresses follow last:
        what breaks there may be damage that an address contains, or a page that breaks for everybody.
        """
        with self._environment(ended) as environment:
            environment.open_first_pages()
            environment.session.observe()
            _keep_leased(environment, self._longest)
            if self._is_open(ended, self._collected(environment), without_agent=True):
                return "fails"
            places = [each for each in (*self._unanswered.places, *ended.places) if each not in environment.start]
            return "address" if places and self._breaks_at(environment, places) else None

    def _breaks_at(self, environment: TrialEnvironment, places: Sequence[str]) -> bool:
        try:
            for number, url in enumerate(dict.fromkeys(places)):
                if number:
                    environment.session.execute(NewTab())
                environment.session.execute(Goto(url))
                environment.session.observe()
            _keep_leased(environment, self._longest)
            environment.session.observe()
            self._collected(environment)
        except Exception:  # whatever it is, these pages alone caused it
            return True
        return any(_failed(environment.requests(), url) for url in self._unanswered.places)

    def _recurs(self, ended: Ended) -> bool:
        """Whether the error occurs again when the agent's actions are repeated on a fresh replica.

        Actions whose targets are missing are left out: what an agent does on a broken site can't be repeated on a
        working one. For agents that drive the browser themselves, the recorded steps are not all that they did.
        """

        def act(environment: TrialEnvironment) -> None:
            steps = read_steps(ended.folder)
            for step in (*steps, *([ended.interrupted] if ended.interrupted is not None else [])):
                _repeat(environment.session, Recording(folder=ended.folder, steps=(step,)))

        return self._breaks_by(ended, act)

    def _breaks_by_solution(self, ended: Ended) -> bool:
        """Whether the task's own solution causes the error: then no agent can solve the task without it."""
        solution = self._plan.task.solution

        def act(environment: TrialEnvironment) -> None:
            for step in (each for each in solution or () if not isinstance(each, Stop)):
                environment.session.execute(with_full_address(step, environment.sites))

        return solution is not None and self._breaks_by(ended, act)

    def _breaks_by(self, ended: Ended, act: Callable[[TrialEnvironment], None]) -> bool:
        """Whether a fresh replica or browser breaks when ``act`` uses it, and no other agent does."""
        acting = False
        try:
            with self._environment(ended) as environment, environment.attributing_site_errors():
                environment.open_first_pages()
                acting = True
                act(environment)
                _keep_leased(environment, self._longest)  # what an action started may take effect late
                environment.session.observe()
                evidence = self._collected(environment)
        except (SiteError, BrowserError, TaskError) as error:
            task_too = ended.event.cause == "task" or not isinstance(error, TaskError)
            return acting and task_too and not isinstance(error, SiteUnreached | NetworkChanged)
        except Exception:  # without a repetition, blaming the agent would be a guess
            return False
        return self._is_open(ended, evidence)

    def _is_open(self, ended: Ended, evidence: Evidence, *, without_agent: bool = False) -> bool:
        """Whether checks lack evidence again. Without the agent, any check for the same reason is enough: others fail
        there, too, and may hide it."""
        plan, cause = self._plan, ended.event.cause or "site"
        options = plan.options
        verdict = judge_bounded(plan.task, evidence, grading=options.grading, seconds=options.check_timeout)
        same = not self._unanswered.checks.isdisjoint(unanswered(plan.task, evidence, verdict, cause).checks)
        return same or (without_agent and verdict.undecided and not verdict.judgeable and verdict.cause == cause)

    @contextmanager
    def _environment(self, ended: Ended) -> Iterator[TrialEnvironment]:
        """A fresh environment like the agent's, in a browser that no other trial shares and can crash.

        An agent that can send signals may have stopped or ended the sites. Then only replicas that began to start after
        its end, and got no signal, show anything.
        """
        plan = self._plan
        self._disturbed = suspected = can_signal_processes(plan.agent) and bool(plan.task.leased)

        def tailor(config: SessionConfig) -> SessionConfig:
            return replace(plan.tailored(config), own_browser=True)

        with set_up_environment(
            plan.task, self._resources, holder=f"{plan.holder}, without its agent", options=plan.options,
            visited=ended.visited, tailor=tailor, self_driving=plan.agent.self_driving, rooted=plan.agent.rooted,
            max_age=time.monotonic() - ended.at if suspected else None,
        ) as environment:  # fmt: skip
            try:
                yield environment
            finally:
                self._disturbed = suspected and environment.lease is not None and not environment.lease.undisturbed()

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


def attributed(
    record: TrialRecord, event: Event, result: ControlResult | None, *, task: Task, grading: Grading
) -> TrialRecord:
    """Return the record of an attempt that ended in ``event``, whose control had this result, with its outcome."""
    record = replace(record, event=event.name, control=result)
    outcome = outcome_of(event, result)
    if outcome in ("error", "not met"):
        return record
    undecided = outcome == "undecided"
    reason = cast("StopReason", UNATTRIBUTED if undecided else outcome)
    headline, verdicts = failed_by_all(task, grading, record.intent, reason)
    if undecided and record.verdicts:  # with the results of their checks
        opened = {"score": None, "passed": None, "lower_bound": 0.0, "undecided": True, "judgeable": True}
        headline, verdicts = record.grading, {name: {**each, **opened} for name, each in record.verdicts.items()}
    first, _, rest = record.message.partition("\n")
    shown = shown_by(event, result)
    what = first.removeprefix(NO_VERDICT)
    message = f"{STOP_WORDS[reason]}: {shown}; what happened: {what}"
    if undecided:
        message = f"{UNDECIDED}{what}; {shown}.\n{REPEAT}"
    return replace(
        record,
        outcome="failed",
        cause=None,
        score=0.0,
        stop_reason=reason,
        stop_detail=record.stop_detail if undecided else first,
        message=f"{message}\n{rest}".rstrip(),
        verdict=verdicts[headline],
        verdicts=verdicts,
        grading=headline,
    )


def failed_by_all(
    task: Task, grading: Grading, intent: str, reason: StopReason
) -> tuple[str, dict[str, dict[str, object]]]:
    """The verdicts, by grading, of a trial that failed before any check could run, and the name of the grading that
    counts. They are undecided if the owner of its error is."""
    headline = headline_of(task, grading.name) or grading.name
    known = gradings_of(task, grading.name)
    undecided = reason == UNATTRIBUTED
    verdicts = {
        name: Verdict(
            score=None if undecided else 0.0,
            passed=None if undecided else False,
            results=(),
            task=task.id,
            intent=intent,
            threshold=task.threshold,
            stop_reason=reason,
            grading=name if known else "",
            lower_bound=0.0,
        ).to_json()
        for name in dict.fromkeys((headline, *known))
    }
    return headline, verdicts
