"""Decides whether an agent broke a site that failed in every attempt: control trials without the agent, and the
record."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_webarena.checks import Verdict, find_kind, judge_bounded
from pytest_webarena.checks.grading import gradings_of, headline_of
from pytest_webarena.checks.kind import no_answer
from pytest_webarena.checks.url import document_status, tab_status
from pytest_webarena.evidence import Usage
from pytest_webarena.trials.collecting import Collector, Used
from pytest_webarena.trials.trial_environment import set_up_environment

if TYPE_CHECKING:
    from pytest_webarena.checks import CheckResult
    from pytest_webarena.evidence import Evidence, RequestRecord, StopReason
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.tasks.model import Check, Task
    from pytest_webarena.trials.plan import TrialPlan
    from pytest_webarena.trials.trial_environment import Resources, TrialEnvironment

__all__ = ["Unanswered", "blamed", "failed_by_all", "sites_survive_without_agent", "unanswered"]

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


def sites_survive_without_agent(
    plan: TrialPlan,
    resources: Resources,
    *,
    times: int,
    seconds: float,
    visited: Sequence[str] = (),
    earlier: Unanswered = Unanswered(),
) -> bool:
    """Whether fresh replicas survive the whole trial, including set-up and checks, without an agent.

    If they do not, the agent cannot be held responsible: the site is down for everybody, or a check, the set-up or time
    breaks it. Each control lasts as long as the longest attempt, and there are as many controls, one after the other,
    as attempts that broke the site, which also catches sites that fail only now and then. An unanswered request of
    ``earlier`` that has no answer without the agent either makes the site responsible, even though other checks fail
    without an agent.

    Args:
        times: Number of attempts that broke the site.
        seconds: Duration of the longest attempt.
        visited: Sites that the task does not list and the attempts visited; they are checked, too.
        earlier: What the sites did not answer in the attempts.
    """
    return all(_survives_control(plan, resources, seconds, visited, earlier) for _ in range(times))


def _survives_control(
    plan: TrialPlan, resources: Resources, seconds: float, visited: Sequence[str], earlier: Unanswered
) -> bool:
    task = plan.task
    try:
        holder = f"{plan.holder}, without its agent"
        with set_up_environment(task, resources, holder=holder, options=plan.options, visited=visited) as environment:
            environment.open_first_pages()
            _keep_leased(environment, seconds)
            evidence = Collector(task, environment, plan.options).finish(
                answer="", stop_reason="answered", steps=(), answer_format=plan.answer_format,
                used=Used(usage=Usage(), seconds=0.0),
            )  # fmt: skip
            environment.check_sites(ask=True)
            verdict = judge_bounded(task, evidence, grading=plan.options.grading)
            if not earlier.checks.isdisjoint(unanswered(task, evidence, verdict).checks):
                return False
            if earlier.places:  # last, because these pages may break the site
                environment.session.open_tabs(earlier.places)
                if any(_failed(environment.requests(), url) for url in earlier.places):
                    return False
    except Exception:  # after any error, blaming the agent would be a guess
        return False
    return not (verdict.undecided and verdict.cause == "site")


def _keep_leased(environment: TrialEnvironment, seconds: float) -> None:
    """Keep the site leased for ``seconds`` without doing anything. Raises as soon as a site has broken."""
    ends = time.monotonic() + seconds
    while (remaining := ends - time.monotonic()) > 0:
        environment.check_sites()
        threading.Event().wait(min(remaining, _LOOK))
    environment.check_sites(ask=True)


def blamed(record: TrialRecord, plan: TrialPlan) -> TrialRecord:
    """The record of an attempt on a site that broke, turned into a failure of the agent that broke it, for every
    grading."""
    headline, verdicts = failed_by_all(plan, record.intent, "broke_site")
    message = (
        "the agent broke the site: it broke in every attempt of this agent, and fresh ones work as long without it; "
        f"the last time: {record.message}"
    )
    return replace(
        record,
        outcome="failed",
        cause=None,
        score=0.0,
        stop_reason="broke_site",
        stop_detail=record.message.partition("\n")[0],
        message=message,
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
