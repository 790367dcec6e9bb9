"""Which parts that a page has not got leave open what is missing on it: rules, without a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pytest_webarena.browser.reports import Doubt
from pytest_webarena.text import shorten

__all__ = ["CLIENTS_FAULT", "NOT_NOW", "PERMANENT", "REFUSALS", "doubts_left", "failed"]

NOT_NOW = (408, 425, 429)
"""Statuses, besides those of server errors, with which a site says nothing of what it was asked for."""
REFUSALS = (401, 403)
PERMANENT = (404, 405, 410)
"""Nothing that the client sends beside the address brings these about: the site has no such thing."""
CLIENTS_FAULT = frozenset(range(400, 500)) - {*NOT_NOW, *REFUSALS, *PERMANENT}
"""With which a site may answer because of a visitor's cookies, or what its pages made headers of."""

Ask = Callable[[str, str, float], Sequence[tuple[str, int | None]]]
"""State and status of the answers to what was asked for since a time: see `RequestLog.answers`."""


def doubts_left(doubts: Iterable[Doubt], ask: Ask) -> str:
    """What is left of the first of ``doubts`` that is one, given what the gateway knows; empty for none.

    >>> ping = Doubt(kind="waiting", method="GET", url="http://a.test/ping", begun=True)
    >>> [doubts_left([ping], lambda method, url, since: [(state, 200)]) for state in ("whole", "unread")]
    ['', '']
    >>> doubts_left([ping], lambda method, url, since: [("whole", 200), ("open", None)])
    'was still waiting for GET http://a.test/ping'
    """
    return next(filter(None, (_left(each, ask) for each in doubts)), "")


def _left(doubt: Doubt, ask: Ask) -> str:
    answers = ask(doubt.method, doubt.url, 0.0 if doubt.script else doubt.since)
    states = {state for state, _ in answers}
    named = f"{doubt.method} {shorten(doubt.url, 100)}"
    if doubt.kind == "blocked":
        for state, status in ask("OPTIONS", doubt.url, doubt.since):
            if state == "cut":
                return f"got no whole answer when the browser asked whether it may send {named}"
            if state == "whole" and status is not None and status >= 300 and status not in PERMANENT:
                return f"got status {status} when the browser asked whether it may send {named}"
        if "cut" in states:
            return f"got no whole answer for {named}"
    if doubt.kind == "blocked" or (doubt.kind == "waiting" and doubt.script and not doubt.begun):
        for state, status in answers[-1:] if doubt.script else answers:
            if state == "whole" and status is not None and failed(status):
                return f"got status {status} for {named}"
    if doubt.kind == "blocked":
        return ""
    if doubt.kind == "given_up" and not states:  # taken back before it was sent: it has asked the site for nothing
        return ""
    had = states and states <= {"whole", "unread", "own"}
    if had and (doubt.begun or (doubt.kind == "waiting" and doubt.script)):
        return ""
    return "" if states == {"own"} else str(doubt)  # what the gateway refuses is no failure of the site


def failed(status: int) -> bool:
    """Whether an answer of this status says nothing of what was asked for, and that is the site's doing."""
    return status in NOT_NOW or status >= 500
