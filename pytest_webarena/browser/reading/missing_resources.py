"""Rules, without a browser, for which missing resources of a page leave open whether its content is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pytest_webarena.browser.reports import Doubt
from pytest_webarena.text import shorten

__all__ = ["CLIENTS_FAULT", "NOT_NOW", "PERMANENT", "REFUSALS", "is_failure_status", "unresolved_doubt"]

NOT_NOW = (408, 425, 429)
"""Statuses, in addition to server errors, with which a site does not answer the request itself."""
REFUSALS = (401, 403)
PERMANENT = (404, 405, 410)
"""Statuses that do not depend on anything but the address: the site has no such resource."""
CLIENTS_FAULT = frozenset(range(400, 500)) - {*NOT_NOW, *REFUSALS, *PERMANENT}
"""Statuses that a site may send because of a visitor's cookies, or of headers that its pages set."""

Ask = Callable[[str, str, float], Sequence[tuple[str, int | None]]]
"""Returns state and status of the answers to a request since a time: see `RequestLog.answers`."""


def unresolved_doubt(doubts: Iterable[Doubt], ask: Ask) -> str:
    """Return the first of ``doubts`` that remains, given what the gateway knows; empty if none does.

    >>> ping = Doubt(kind="waiting", method="GET", url="http://a.test/ping", begun=True)
    >>> [unresolved_doubt([ping], lambda method, url, since: [(state, 200)]) for state in ("whole", "unread")]
    ['', '']
    >>> unresolved_doubt([ping], lambda method, url, since: [("whole", 200), ("open", None)])
    'was still waiting for GET http://a.test/ping'
    """
    return next(filter(None, (_remaining_doubt(each, ask) for each in doubts)), "")


def _remaining_doubt(doubt: Doubt, ask: Ask) -> str:
    answers = ask(doubt.method, doubt.url, 0.0 if doubt.script else doubt.since)
    states = {state for state, _ in answers}
    request = f"{doubt.method} {shorten(doubt.url, 100)}"
    if doubt.kind == "blocked":
        for state, status in ask("OPTIONS", doubt.url, doubt.since):
            if state == "cut":
                return f"got no whole answer when the browser asked whether it may send {request}"
            if state == "whole" and status is not None and status >= 300 and status not in PERMANENT:
                return f"got status {status} when the browser asked whether it may send {request}"
        if "cut" in states:
            return f"got no whole answer for {request}"
    if doubt.kind == "blocked" or (doubt.kind == "waiting" and doubt.script and not doubt.begun):
        for state, status in answers[-1:] if doubt.script else answers:
            if state == "whole" and status is not None and is_failure_status(status):
                return f"got status {status} for {request}"
    if doubt.kind == "blocked":
        return ""
    if doubt.kind == "given_up" and not states:  # the page cancelled it before it was sent, so the site never got it
        return ""
    is_answered = states and states <= {"whole", "unread", "own"}
    if is_answered and (doubt.begun or (doubt.kind == "waiting" and doubt.script)):
        return ""
    return "" if states == {"own"} else str(doubt)  # a refusal by the gateway is not a failure of the site


def is_failure_status(status: int) -> bool:
    """Return whether an answer of this status does not answer the request, and the site is the cause."""
    return status in NOT_NOW or status >= 500
