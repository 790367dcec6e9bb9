"""Detects from records why a site says nothing about its tasks: it is down, or it rejects visitors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from pytest_webarena.actions import Goto, Type
from pytest_webarena.evidence import Evidence, RequestRecord, TabState
from pytest_webarena.monitoring.alternatives import KnownElements
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import clip

__all__ = ["Obstacle", "obstacle", "obstacle_of_status", "status_of", "text_of"]

_BLOCKED = (401, 403, 407, 429, 451)
_SIGN_IN = re.compile(r"(log|sign)[-_]?in\b|/(auth|sso|session/new)\b", re.IGNORECASE)
_PASSWORD = re.compile(r"<input[^>]+type\s*=\s*[\"']?password", re.IGNORECASE)
_NO_ROBOTS = re.compile(
    r"captcha|(you are|you're) (a )?(human|not a robot)|are you a (robot|human)|unusual traffic|just a moment\.\.\.|"
    r"checking (your browser|if the site connection)|attention required|access (to this page has been )?denied",
    re.IGNORECASE,
)
_LITTLE, _SHORT_PAGE = 1_000, 3_000
"""Numbers of characters of text. A page that only rejects visitors has little text, a form with a captcha hardly more;
a page with much text may merely mention a captcha."""
_FEW_LINKS = 5
_SILENT = re.compile(r"(?is)<(script|style|noscript|template|title)\b.*?</\1>")
_HEADING = re.compile(r"(?is)<h([1-3])\b[^>]*>(.*?)</h\1>")
_LINK = re.compile(r"(?i)<(a|button)\b")
_TAG = re.compile(r"<[a-z][^>]*>", re.IGNORECASE)
_WIDGET = re.compile(
    r"<iframe\b[^>]*\bsrc\s*=\s*[\"']?[^\"'\s>]*(captcha|challenges\.cloudflare\.com|arkoselabs|funcaptcha)|"
    r"<\w+\b[^>]*\b(class|id)\s*=\s*[\"']?[^\"'>]*(\b(g-re|h-)captcha\b|\bcf-turnstile\b|\bpx-captcha\b)",
    re.IGNORECASE,
)
_UNSEEN = re.compile(
    r"invisible|(?<!overflow:)(?<!overflow: )\bhidden\b|display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE
)


class Obstacle(NamedTuple):
    """Why a task could not be tried."""

    status: Literal["site down", "blocked"]
    why: str


def obstacle_of_status(status: int | None, url: str) -> Obstacle | None:
    """What the status of a page's response means; None for a usable response and for one that says that the page is
    missing."""
    if status is None:
        return Obstacle("site down", f"{clip(url, 120)} gave no answer")
    if status >= 500:
        return Obstacle("site down", f"{clip(url, 120)} answered {status}")
    if status in _BLOCKED:
        return Obstacle("blocked", f"{clip(url, 120)} answered {status}")
    return None


def status_of(url: str, evidence: Evidence) -> int | None:
    """Status of the last response for a page; None when it was not requested or not answered."""
    address = url.partition("#")[0]
    return next((each.status for each in reversed(list(_pages(evidence.requests))) if each.url == address), None)


def obstacle(evidence: Evidence, task: Task, known: KnownElements | None = None) -> Obstacle | None:
    """The obstacle at which the replay ended; None when there was none. ``known`` describes the task when it was
    valid."""
    pages = list(_pages(evidence.requests))
    tab = next((tab for tab in evidence.tabs if tab.active), None)
    if tab is None:
        return None
    if tab.url.startswith(("chrome-error:", "about:neterror")):
        requested = clip(pages[-1].url, 120) if pages else "a page"
        return Obstacle("site down", f"the browser shows an error in place of {requested}")
    current = tab.url.partition("#")[0]
    page = next((each for each in reversed(pages) if each.url.partition("#")[0] == current), None)
    if page is not None and not page.refused and (found := obstacle_of_status(page.status, page.url)):
        return found
    if turned_away := _turned_away(tab, known):
        return Obstacle("blocked", f"{clip(tab.url, 120)} asks who comes: '{clip(turned_away, 60)}'")
    if _is_sign_in(tab) and not _signs_in(task):
        return Obstacle("blocked", f"{clip(tab.url, 120)} asks to sign in, which the solution does not")
    return None


def _pages(requests: Sequence[RequestRecord]) -> Iterator[RequestRecord]:
    """The requests for whole pages, by the headers that browsers send."""
    for each in requests:
        headers = {name.casefold(): value for name, value in each.request_headers}
        kind = headers.get("sec-fetch-dest", "")
        if kind == "document" or (not kind and "text/html" in headers.get("accept", "")):
            yield each


def _turned_away(tab: TabState, known: KnownElements | None) -> str:
    """The words or the widget by which a page rejects robots; empty when it does not, or only mentions them."""
    html = _SILENT.sub(" ", tab.html[:200_000])
    text = text_of(html)
    if len(text) >= _SHORT_PAGE or _is_whole(text, known):
        return ""
    if any(_WIDGET.match(tag) and not _UNSEEN.search(tag) for tag in _TAG.findall(html)):
        return "a captcha"
    if len(text) >= _LITTLE:
        return ""
    headings = [heading for _, inner in _HEADING.findall(html) if (heading := text_of(inner))]
    found = _NO_ROBOTS.search("\n".join((tab.title, *headings)))
    if found is None and not headings and len(_LINK.findall(html)) <= _FEW_LINKS:
        found = _NO_ROBOTS.search(text)
    return found[0] if found else ""


def text_of(html: str) -> str:
    """The text of a page, approximately, without scripts."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", _SILENT.sub(" ", html))).split())


def _is_whole(text: str, known: KnownElements | None) -> bool:
    """Whether the page contains at least half of the names of elements that the solution's steps acted on when it was
    valid."""
    names = {" ".join(each.name.split()) for each in known.steps if each is not None} if known is not None else set()
    names.discard("")
    return bool(names) and sum(name in text for name in names) * 2 >= len(names)


def _is_sign_in(tab: TabState) -> bool:
    return bool(_SIGN_IN.search(urlsplit(tab.url).path) and _PASSWORD.search(tab.html))


def _signs_in(task: Task) -> bool:
    """Whether the solution itself opens a sign-in page or fills one in."""
    return any(
        (isinstance(step, Goto) and _SIGN_IN.search(step.url))
        or (isinstance(step, Type) and "password" in str(step.target).casefold())
        or _SIGN_IN.search(str(getattr(step, "target", "")))
        for step in task.solution or ()
    )
