"""Why a site says nothing of its tasks: it is down, or it does not let anybody in. Read from what was recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from pytest_webarena.actions import Goto, Type
from pytest_webarena.evidence import Evidence, RequestRecord, TabState
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import clip

__all__ = ["Obstacle", "obstacle", "obstacle_of_status", "status_of"]

_BLOCKED = (401, 403, 407, 429, 451)
_SIGN_IN = re.compile(r"(log|sign)[-_]?in\b|/(auth|sso|session/new)\b", re.IGNORECASE)
_PASSWORD = re.compile(r"<input[^>]+type\s*=\s*[\"']?password", re.IGNORECASE)
_NO_ROBOTS = re.compile(
    r"captcha|(you are|you're) (a )?(human|not a robot)|are you a (robot|human)|unusual traffic|just a moment\.\.\.|"
    r"checking (your browser|if the site connection)|attention required|access (to this page has been )?denied",
    re.IGNORECASE,
)
_SHORT_PAGE = 3_000
"""Characters of text. A page that only turns people away says little; one that has much to say may well name a captcha.
"""


class Obstacle(NamedTuple):
    """What is in the way."""

    status: Literal["site down", "blocked"]
    why: str


def obstacle_of_status(status: int | None, url: str) -> Obstacle | None:
    """What an answer of this status to a page's address means; None where it is one, or says there is none."""
    if status is None:
        return Obstacle("site down", f"{clip(url, 120)} gave no answer")
    if status >= 500:
        return Obstacle("site down", f"{clip(url, 120)} answered {status}")
    if status in _BLOCKED:
        return Obstacle("blocked", f"{clip(url, 120)} answered {status}")
    return None


def status_of(url: str, evidence: Evidence) -> int | None:
    """With which status a page came last; None when it was not asked for, or not answered."""
    wanted = url.partition("#")[0]
    return next((each.status for each in reversed(list(_pages(evidence.requests))) if each.url == wanted), None)


def obstacle(evidence: Evidence, task: Task) -> Obstacle | None:
    """What was in the way where the replay ended; None when nothing was."""
    pages = list(_pages(evidence.requests))
    tab = next((tab for tab in evidence.tabs if tab.active), None)
    if tab is None:
        return None
    if tab.url.startswith(("chrome-error:", "about:neterror")):
        wanted = clip(pages[-1].url, 120) if pages else "a page"
        return Obstacle("site down", f"the browser shows an error in place of {wanted}")
    here = tab.url.partition("#")[0]
    page = next((each for each in reversed(pages) if each.url.partition("#")[0] == here), None)
    if page is not None and not page.refused and (found := obstacle_of_status(page.status, page.url)):
        return found
    if turned_away := _turned_away(tab):
        return Obstacle("blocked", f"{clip(tab.url, 120)} asks who comes: '{clip(turned_away, 60)}'")
    if _is_sign_in(tab) and not _signs_in(task):
        return Obstacle("blocked", f"{clip(tab.url, 120)} asks to sign in, which the solution does not")
    return None


def _pages(requests: Sequence[RequestRecord]) -> Iterator[RequestRecord]:
    """Those for whole pages, as browsers mark them."""
    for each in requests:
        headers = {name.casefold(): value for name, value in each.request_headers}
        kind = headers.get("sec-fetch-dest", "")
        if kind == "document" or (not kind and "text/html" in headers.get("accept", "")):
            yield each


def _turned_away(tab: TabState) -> str:
    """The words by which a page keeps robots out; empty when it does not."""
    if found := _NO_ROBOTS.search(tab.title):
        return found[0]
    text = re.sub(r"(?is)<(script|style)\b.*?</\1>|<[^>]+>", " ", tab.html[:200_000])
    text = " ".join(text.split())
    found = _NO_ROBOTS.search(text) if len(text) < _SHORT_PAGE else None
    return found[0] if found else ""


def _is_sign_in(tab: TabState) -> bool:
    return bool(_SIGN_IN.search(urlsplit(tab.url).path) and _PASSWORD.search(tab.html))


def _signs_in(task: Task) -> bool:
    """Whether the solution itself goes to such a page, or fills one in."""
    return any(
        (isinstance(step, Goto) and _SIGN_IN.search(step.url))
        or (isinstance(step, Type) and "password" in str(step.target).casefold())
        or _SIGN_IN.search(str(getattr(step, "target", "")))
        for step in task.solution or ()
    )
