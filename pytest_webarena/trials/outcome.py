"""The outcome of a trial from its verdict: passed, failed, or an error with a cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from pytest_webarena.results.records import NO_VERDICT, UNDECIDED, Outcome

if TYPE_CHECKING:
    from pytest_webarena.checks import Verdict
    from pytest_webarena.errors import Cause
    from pytest_webarena.evidence import StopReason

__all__ = ["Decided", "decide"]

_EXPLAINED = ("invalid", "repeated", "context", "filtered")
"""Stop reasons whose detail says what to fix."""

_REMEDY = "Let a judge model decide: --judge MODEL, or for a finished run --rescore RUN --judge MODEL."

_OF_USE = ("cost", "tokens", "seconds")
"""Kinds of checks that depend on the usage that the agent reports."""

_EVENTS: Mapping[Cause, str] = {"site": "unread_site", "judge": "judge_access", "blocked": "live_site"}
"""Events of verdicts that lack evidence, where they do not have the name of the cause."""


class Decided(NamedTuple):
    """The outcome of a trial as recorded."""

    outcome: Outcome
    cause: Cause | None
    message: str
    event: str = ""
    """Name in `owners.EVENTS` of an error; empty without one."""


def decide(verdict: Verdict, *, stop_reason: StopReason | None, stop_detail: str) -> Decided:
    """The outcome for a verdict. An agent that crashed has failed, whatever its checks say. An undecided verdict is an
    error if evidence is missing; one that a judge could decide has failed until then.

    If something else stopped the agent, the message begins with that, because the agent's author needs it first.
    """
    if stop_reason == "agent_crash":
        return Decided("failed", None, f"the agent crashed: {stop_detail}\n{verdict.render()}")
    if verdict.judgeable:
        rest = verdict.render().partition("\n")[2]  # its first line is the reason
        return Decided("failed", None, f"{UNDECIDED}{' '.join(verdict.open_because.split())}\n{_REMEDY}\n{rest}")
    if verdict.passed is None:
        why = f"{NO_VERDICT}{' '.join(verdict.open_because.split())}"
        return Decided("error", verdict.cause, f"{why}\n{verdict.render()}", _event_of(verdict))
    if verdict.passed:
        return Decided("passed", None, "")
    why = f"the agent was stopped: {stop_detail}\n" if stop_reason in _EXPLAINED and stop_detail else ""
    return Decided("failed", None, why + verdict.render())


def _event_of(verdict: Verdict) -> str:
    """The event of a verdict that lacks evidence."""
    results = (result for each in verdict.results for _, result in each.walk())
    if any(result.score is None and result.kind in _OF_USE for result in results):
        return "unreported_usage"
    return _EVENTS.get(verdict.cause, verdict.cause)
