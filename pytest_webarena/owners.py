"""Owners of errors: for each event that ends a trial, the control that finds its owner, and the outcome.

An error has one of three owners. It is the environment's if a control shows it without the agent's actions, if the
harness knows that the agent is not its cause, or if it came before the agent got the task: the trial is excluded
from the rate. It is the agent's if the control works without the agent and its actions cause the error again: the
trial has failed. Otherwise the owner is undecided: the trial has failed, and is marked as undecided. `EVENTS` is the
only place with these rules; docs/results.md shows the same table.

Controls are run by `trials.fault_attribution`, `llm.client` and `llm_judge.judge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from pytest_webarena.errors import Cause, ControlResult, TrialError

__all__ = [
    "BEFORE_AGENT",
    "CAUSED_BY_AGENT",
    "ENDED_BY_ERROR",
    "EVENTS",
    "UNATTRIBUTED",
    "Control",
    "Event",
    "event_of",
    "outcome_of",
    "shown_by",
    "table",
]

Control = Literal["none", "impossible", "trial", "request", "question"]
"""What is done to find the owner of an error; see `_CONTROLS`."""

Outcome = Literal["error", "undecided", "not met", "broke_site", "broke_browser", "endless_writes", "model_refused"]
"""``error``: excluded from the success rate. ``undecided``: failed, and marked. ``not met``: the check is not met. A
stop reason: the trial has failed with it."""

UNATTRIBUTED = "unattributed"
"""Stop reason of trials whose owner is undecided."""

BEFORE_AGENT = "before_agent"

_CONTROLS: Mapping[Control, str] = {
    "none": "none",
    "impossible": "not possible",
    "trial": "the trial without the agent; then its actions again",
    "request": "a short request with the same settings and kinds of content; then the agent's again",
    "question": "the same question with the reference as the answer; then the agent's again",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One way in which a trial ends in an error."""

    name: str
    cause: Cause | None
    """The cause of the error; None: any."""
    text: str
    """Description of the event for users, a noun phrase or a clause."""
    control: Control
    outcome: Outcome
    """The outcome if the control finds the agent's fault, or, without a control, always."""
    doubtful: Outcome = "undecided"
    """The outcome if the control finds no fault at all: undecided, unless another trial may be the cause."""


def _event(
    name: str, cause: Cause | None, text: str, control: Control, outcome: Outcome, doubtful: Outcome = "undecided"
) -> Event:
    return Event(name=name, cause=cause, text=text, control=control, outcome=outcome, doubtful=doubtful)


EVENTS: Mapping[str, Event] = MappingProxyType(
    {
        each.name: each
        for each in (
            _event(BEFORE_AGENT, None, "any other error before the agent gets the task", "none", "error"),
            _event("site", "site", "a site dies, hangs or closes connections", "trial", "broke_site"),
            _event("unread_site", "site", "a site does not answer what a check reads", "trial", "broke_site"),
            _event("unanswered_write", "site", "a site does not answer the last write", "trial", "broke_site"),
            _event("endless_writes", "site", "a page never stops writing", "trial", "endless_writes"),
            _event("own_address", "site", "a page asks a hosted site's own address for data", "trial", "undecided"),
            _event("unreached_site", "site", "a reachable site does not start", "none", "error"),
            _event("yielded_site", "site", "two trials wait for each other's sites", "none", "error"),
            _event("live_site", "blocked", "a live site fails or blocks its visitor", "impossible", "undecided"),
            _event("archive", "site", "an archive lacks what the agent opened", "impossible", "undecided"),
            _event("renderer", "browser", "a page's process crashes (out of memory)", "trial", "broke_browser"),
            _event("unusable_page", "browser", "a page never answers", "trial", "broke_browser"),
            _event("browser", "browser", "the browser crashes or fails otherwise", "trial", "broke_browser"),
            _event(
                "shared_browser", "browser", "a browser of several trials crashes", "trial", "broke_browser", "error"
            ),
            _event("network_change", "browser", "the machine's network changes", "none", "error"),
            _event("refused_request", "model", "the model endpoint refuses a request", "request", "model_refused"),
            _event("refused_setting", "model", "it refuses a setting of the definition", "none", "error"),
            _event(
                "refused_length",
                "model",
                "it refuses the input and the reply limit together",
                "impossible",
                "undecided",
            ),
            _event("model", "model", "the model endpoint keeps failing", "request", "model_refused"),
            _event("model_access", "model", "it refuses for its key, quota or rate", "request", "undecided"),
            _event("budget", "model", "the run's budget is spent before the first call", "none", "undecided"),
            _event("declared", "model", "the agent reports that its model failed", "impossible", "undecided"),
            _event("absent", "agent", "nothing takes the task at the agent's address", "impossible", "undecided"),
            _event("agent", "agent", "the agent's program is gone or blocked", "impossible", "undecided"),
            _event("judge_refuses", "judge", "the judge refuses the question", "question", "not met"),
            _event("judge_unreadable", "judge", "no reply of the judge can be read", "question", "not met"),
            _event("judge_fails", "judge", "the judge's endpoint keeps failing", "question", "not met"),
            _event("judge_rejects", "judge", "it refuses for its key", "question", "undecided"),
            _event("judge_spent", "judge", "the judge's budget, quota or rate is used up", "impossible", "undecided"),
            _event("judge_access", "judge", "there is no judge, or it has no key", "none", "error"),
            _event("forged_verdict", "judge", "the answer imitates verdicts of the judge", "none", "not met"),
            _event("judge", "judge", "a Python check raises `JudgeError`", "impossible", "undecided"),
            _event("too_large", "task", "a page or value is too large to be judged", "none", "not met"),
            _event("overdue", "task", "a check takes too long, but not with another answer", "none", "not met"),
            _event(
                "unreported_usage", "task", "the agent does not report usage for a check", "impossible", "undecided"
            ),
            _event("uncounted_usage", "task", "the harness cannot count usage for a check", "none", "error"),
            _event("task", "task", "a check cannot work, or takes too long", "trial", "broke_site"),
            _event(
                "disk", "harness", "records cannot be written or read (a full disk, a masked secret)", "none", "error"
            ),
            _event("harness", "harness", "an unexpected fault of the harness", "trial", "undecided"),
        )
    }
)
"""All events, by name."""

_OUTCOMES: Mapping[str, str] = {"error": "error", "undecided": "undecided", "not met": "check not met"}

CAUSED_BY_AGENT: frozenset[str] = frozenset(each.outcome for each in EVENTS.values()) - frozenset(_OUTCOMES)
"""Stop reasons of trials that failed because of an error that the agent caused. No check decided these."""

ENDED_BY_ERROR = CAUSED_BY_AGENT | {UNATTRIBUTED}
"""Stop reasons of all trials that failed because of an error."""

_SHOWN: Mapping[tuple[str, ControlResult], str] = {
    ("trial", "works"): "without the agent it does not occur, and its actions did not cause it again",
    ("trial", "address"): "opening the agent's last pages causes it without its other actions",
    ("trial", "recurs"): "without the agent it does not occur, and its actions cause it again",
    ("request", "works"): "the endpoint served a short request, and then the agent's too",
    ("request", "recurs"): "the endpoint served a short request, and refused the agent's again",
    ("none", "impossible"): "the agent's earlier trials may have spent it",
    ("question", "works"): "the judge graded the reference, and refused the answer again",
}


def event_of(error: TrialError) -> Event:
    """Return the event of ``error``."""
    return EVENTS[error.event or error.cause]


def outcome_of(event: Event, result: ControlResult | None) -> Outcome:
    """Return the outcome of a trial that ended in ``event``, whose control had this result; None: it has none."""
    if result is None or result == "recurs" or (result == "impossible" == event.control):
        return event.outcome
    return "error" if result == "fails" else "undecided" if result == "address" else event.doubtful


def shown_by(event: Event, result: ControlResult | None) -> str:
    """Return what the control showed, as a clause about the error."""
    return _SHOWN.get((event.control, result or "impossible"), "no control can show whose fault it is")


def table() -> list[str]:
    """Return the rows of the documented table: event, control, outcome if the control finds the agent's fault."""
    return [f"| {each.text} | {_CONTROLS[each.control]} | {_cell(each)} |" for each in EVENTS.values()]


def _cell(event: Event) -> str:
    shown = _OUTCOMES.get(event.outcome) or f"failed: `{event.outcome}`"
    return shown if event.doubtful == "undecided" else f"{shown}, else {_OUTCOMES[event.doubtful]}"
