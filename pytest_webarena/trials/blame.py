"""Whose fault it is that a site broke twice under the same agent: the control that tells, and the record of a yes."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_webarena.checks import Verdict, judge_bounded
from pytest_webarena.checks.grading import gradings_of, headline_of
from pytest_webarena.evidence import Usage
from pytest_webarena.trials.collecting import Collector, Used
from pytest_webarena.trials.stage import set_stage

if TYPE_CHECKING:
    from pytest_webarena.evidence import StopReason
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.trials.plan import TrialPlan
    from pytest_webarena.trials.stage import Resources, Stage

__all__ = ["blamed", "failed_by_all", "sites_stand_alone"]

_LOOK = 1.0
"""Seconds between two looks at a site that is left alone."""


def sites_stand_alone(
    plan: TrialPlan, resources: Resources, *, times: int, seconds: float, visited: Sequence[str] = ()
) -> bool:
    """Whether fresh replicas go through the whole trial, set-up and checks included, when there is no agent.

    If not, nobody can say that the agent broke them: they are down for everybody, or a check or the set-up breaks them,
    or time does. So each control lasts as long as the longest attempt, ``seconds``, and there are as many controls, one
    after the other, as there were attempts that broke the site, ``times``: one that dies in every other life is soon
    seen to. ``visited``: sites that the task does not list and that the attempts have visited; they are looked at, too.
    """
    return all(_stand(plan, resources, seconds, visited) for _ in range(times))


def _stand(plan: TrialPlan, resources: Resources, seconds: float, visited: Sequence[str]) -> bool:
    task = plan.task
    try:
        holder = f"{plan.holder}, without its agent"
        with set_stage(task, resources, holder=holder, options=plan.options, visited=visited) as stage:
            stage.open_first_pages()
            _outlast(stage, seconds)
            evidence = Collector(task, stage, plan.options).finish(
                answer="", stop_reason="answered", steps=(), answer_format=plan.answer_format,
                used=Used(usage=Usage(), seconds=0.0),
            )  # fmt: skip
            stage.check_sites(ask=True)
        verdict = judge_bounded(task, evidence, grading=plan.options.grading)
    except Exception:  # whatever it is: the blame would be a guess
        return False
    return not (verdict.inconclusive and verdict.cause == "site")


def _outlast(stage: Stage, seconds: float) -> None:
    """Be there for ``seconds``, as a visitor who does nothing; raises as soon as a site has broken."""
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        stage.check_sites()
        threading.Event().wait(min(left, _LOOK))
    stage.check_sites(ask=True)


def blamed(record: TrialRecord, plan: TrialPlan) -> TrialRecord:
    """The record of an attempt on a site that broke, as a failure of the agent that broke it: by every grading."""
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
    """The verdicts of a trial that has failed before any check could be asked, and the name of the one that counts."""
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
