"""What a verdict means for a trial: passed, failed, or an error and whose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_webarena.results.records import NO_VERDICT, Outcome

if TYPE_CHECKING:
    from pytest_webarena.checks import Verdict
    from pytest_webarena.errors import Cause, Shortfall
    from pytest_webarena.evidence import StopReason

__all__ = ["Decided", "decide", "shortfall_of"]

_EXPLAINED = ("invalid", "repeated", "context", "filtered")
"""Stop reasons whose detail says what to mend."""

_OF_USE = ("cost", "tokens", "seconds")
"""Kinds of checks that go by what the agent says it used."""


class Decided(NamedTuple):
    """As it goes into the record."""

    outcome: Outcome
    cause: Cause | None
    message: str


def decide(verdict: Verdict, *, stop_reason: StopReason | None, stop_detail: str) -> Decided:
    """An agent that crashed has failed whatever its checks say; a verdict that is none is an error.

    Whoever wrote the agent needs to know first why something else ended it, so a failure begins with that.
    """
    if stop_reason == "agent_crash":
        return Decided("failed", None, f"the agent crashed: {stop_detail}\n{verdict.render()}")
    if verdict.passed is None:
        why = f"{NO_VERDICT}{' '.join(verdict.open_because.split())}"
        return Decided("error", verdict.cause, f"{why}\n{verdict.render()}")
    if verdict.passed:
        return Decided("passed", None, "")
    why = f"the agent was stopped: {stop_detail}\n" if stop_reason in _EXPLAINED and stop_detail else ""
    return Decided("failed", None, why + verdict.render())


def shortfall_of(verdict: Verdict) -> Shortfall:
    """Why a gate counts a verdict that is none as not passed, of an agent that reports its use itself: it must not
    leave a threshold by leaving that out."""
    results = (result for each in verdict.results for _, result in each.walk())
    untold = any(result.score is None and result.kind in _OF_USE for result in results)
    return "untold" if verdict.passed is None and untold else ""
