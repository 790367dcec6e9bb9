"""Owners of errors: for each event that ends a trial, the control that finds its owner, and the outcome.

An error after the agent's first action is the agent's unless a control shows otherwise. A control repeats what failed
without what the agent did, and then with it. It works if the first succeeds and the second fails again: the agent
caused the error. Otherwise it fails, and the error is the environment's. `EVENTS` is the only place with these
rules; docs/results.md shows the same table.

Controls are run by `trials.fault_attribution`, `llm.client` and `llm_judge.judge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from pytest_webarena.errors import Cause, TrialError

__all__ = ["BEFORE_ACTION", "CAUSED_BY_AGENT", "EVENTS", "Control", "Event", "event_of", "table"]

Control = Literal["none", "impossible", "trial", "visit", "request", "question"]
"""What is done to find the owner of an error; see `_CONTROLS`."""

Outcome = Literal["error", "not passed", "not met", "broke_site", "broke_browser", "endless_writes", "model_refused"]
"""``error``: excluded from the success rate. ``not passed``: also, but gates count it as not passed. ``not met``: the
check is not met. A stop reason: the trial has failed with it."""

_CONTROLS: Mapping[Control, str] = {
    "none": "none",
    "impossible": "not possible",
    "trial": "the trial without the agent; then its actions again",
    "visit": "a visit to the agent's pages; then its actions again",
    "request": "a short request with the same settings; then the agent's again",
    "question": "the same question with the reference as the answer",
}

BEFORE_ACTION = "before_action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One way in which a trial ends in an error."""

    name: str
    cause: Cause | None
    """The cause of the error if it stays one; None: any."""
    text: str
    """Description of the event for users, a noun phrase or a clause."""
    control: Control
    works: Outcome
    """The outcome if the control works, so that the agent is the cause, or, without a control, always."""
    fails: Outcome = "error"
    """The outcome if the control fails as well."""


def _event(name: str, cause: Cause | None, text: str, control: Control, works: Outcome) -> Event:
    fails = "error" if control not in ("none", "impossible") else works
    return Event(name=name, cause=cause, text=text, control=control, works=works, fails=fails)


EVENTS: Mapping[str, Event] = MappingProxyType(
    {
        each.name: each
        for each in (
            _event(BEFORE_ACTION, None, "any error before the agent's first action", "none", "error"),
            _event("site", "site", "a site dies, hangs or closes connections", "trial", "broke_site"),
            _event("unread_site", "site", "a site does not answer what a check reads", "trial", "broke_site"),
            _event("unanswered_write", "site", "a site does not answer the last write", "trial", "broke_site"),
            _event("endless_writes", "site", "a page never stops writing", "visit", "endless_writes"),
            _event("unreached_site", "site", "a reachable site does not start", "none", "error"),
            _event("yielded_site", "site", "two trials wait for each other's sites", "none", "error"),
            _event("live_site", "blocked", "a live site fails or blocks its visitor", "impossible", "not passed"),
            _event("archive", "site", "an archive lacks what the agent opened", "impossible", "not passed"),
            _event("renderer", "browser", "a page's process crashes (out of memory)", "visit", "broke_browser"),
            _event("unusable_page", "browser", "a page never answers", "visit", "broke_browser"),
            _event("browser", "browser", "the browser crashes or fails otherwise", "visit", "broke_browser"),
            _event("shared_browser", "browser", "a browser of several trials crashes", "visit", "broke_browser"),
            _event("network_change", "browser", "the machine's network changes", "none", "error"),
            _event("refused_request", "model", "the model endpoint refuses a request", "request", "model_refused"),
            _event("model", "model", "the model endpoint keeps failing", "request", "model_refused"),
            _event("model_access", "model", "it refuses for its key, quota or rate", "request", "error"),
            _event("budget", "model", "the run's budget is spent", "none", "not passed"),
            _event("declared", "model", "the agent reports that its model failed", "impossible", "not passed"),
            _event("agent", "agent", "the agent's program is gone or blocked", "impossible", "not passed"),
            _event("judge_refuses", "judge", "the judge refuses the question", "question", "not met"),
            _event("judge_unreadable", "judge", "no reply of the judge can be read", "question", "not met"),
            _event("judge_fails", "judge", "the judge's endpoint keeps failing", "question", "not met"),
            _event("judge_access", "judge", "it refuses for its key, quota, rate or budget", "none", "error"),
            _event("forged_verdict", "judge", "the answer imitates verdicts of the judge", "none", "not met"),
            _event("judge", "judge", "a Python check raises `JudgeError`", "impossible", "error"),
            _event("too_large", "task", "a page or value is too large to be judged", "none", "not met"),
            _event("unreported_usage", "task", "usage that a check needs is not reported", "none", "not passed"),
            _event("task", "task", "a set-up step, selector or query cannot work", "none", "error"),
            _event("harness", "harness", "a fault of the harness, a full disk", "none", "error"),
        )
    }
)
"""All events, by name."""

_OUTCOMES: Mapping[str, str] = {
    "error": "error",
    "not passed": "error, in gates not passed",
    "not met": "check not met",
}

CAUSED_BY_AGENT: frozenset[str] = frozenset(each.works for each in EVENTS.values()) - frozenset(_OUTCOMES)
"""Stop reasons of trials that failed because of an error that the agent caused. No check decided these."""


def event_of(error: TrialError | None, cause: Cause) -> Event:
    """Return the event of ``error``, or that of a verdict without a decision for lack of evidence from ``cause``."""
    if error is not None and error.event:
        return EVENTS[error.event]
    verdicts: Mapping[Cause, str] = {"site": "unread_site", "judge": "judge_access"}
    return EVENTS["live_site" if cause == "blocked" else verdicts.get(cause, cause) if error is None else cause]


def table() -> list[str]:
    """Return the rows of the documented table: event, control, outcome if it works, outcome if it fails."""
    return [
        f"| {each.text} | {_CONTROLS[each.control]} | {_shown(each.works)} | {_shown(each.fails)} |"
        for each in EVENTS.values()
    ]


def _shown(outcome: Outcome) -> str:
    return _OUTCOMES.get(outcome) or f"failed: `{outcome}`"
