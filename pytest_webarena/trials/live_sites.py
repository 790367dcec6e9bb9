"""Trials on live sites: what a task requests to do there, and how missing responses of live sites affect a trial."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.errors import SiteBlocked, SiteError
from pytest_webarena.gateway.archive_misses import ResourceKind, resource_kind
from pytest_webarena.live import bot_walls
from pytest_webarena.owners import BEFORE_AGENT
from pytest_webarena.sites.protocol.messages import LiveWishes
from pytest_webarena.text import shorten
from pytest_webarena.trials.outcome import Decided

if TYPE_CHECKING:
    from pytest_webarena.errors import Cause
    from pytest_webarena.evidence import Evidence, RequestRecord
    from pytest_webarena.tasks.model import Task

__all__ = ["obstacles", "reporting_obstacles", "wishes_of", "with_obstacles"]

_SHOWN = 5
_LISTED = 200
_TURNS = 15
"""Number of redirects of one page that counts as endless. Browsers give up after 20."""
_LOOKED = 3.0
"""Seconds after which agents see a page although one of its scripts has not loaded."""
_GIVEN_UP = 10.0
"""Seconds after which a page without a response is the site's fault. Browsers wait longer, agents may not."""


def wishes_of(task: Task) -> LiveWishes | None:
    """What a task requests to do if its sites are live; None: only what its catalogue allows."""
    starts = tuple(start.path for start in task.start if start.path.startswith(("http://", "https://")))
    return LiveWishes(starts=starts, terms=task.live) if starts or task.live is not None else None


def _role(request: RequestRecord) -> ResourceKind:
    return resource_kind(request.method, [f"{name}: {value}" for name, value in request.request_headers])


def _patience(request: RequestRecord, role: ResourceKind) -> float:
    """Seconds without a response after which the site is at fault."""
    if role == "page":
        return _GIVEN_UP
    dest = next((value for name, value in request.request_headers if name.lower() == "sec-fetch-dest"), "")
    return _LOOKED if dest in ("script", "style") else math.inf


def _found(
    requests: Sequence[RequestRecord], live: bool = True
) -> list[tuple[RequestRecord, ResourceKind, Cause, str]]:
    """Requests that live sites did not answer as they answer people: each with its role, the cause and the reason.

    Without ``live`` sites, only what the gateway noted of other hosts that a catalogue names (`loads`).
    """
    found: list[tuple[RequestRecord, ResourceKind, Cause, str]] = []
    for request in requests if live else (each for each in requests if each.obstacle):
        role = _role(request)
        if request.obstacle:
            found.append((request, role, request.obstacle, request.obstacle_why))
        elif bot_walls.captcha_frame(request.url) and request.method != "CONNECT" and not request.refused:
            if role in ("page", "part"):
                found.append((request, "page", "blocked", "a captcha"))
        elif request.status is None and not request.refused and request.seconds >= _patience(request, role):
            found.append((request, role, "site", f"no answer within {request.seconds:.0f} s"))
    return found + (_endless(requests) if live else [])


def _endless(requests: Sequence[RequestRecord]) -> list[tuple[RequestRecord, ResourceKind, Cause, str]]:
    """The first page that was redirected until browsers give up, as a list of at most one."""
    run: list[RequestRecord] = []
    for request in (each for each in requests if _role(each) == "page"):
        if request.status is not None and 300 <= request.status < 400 and request.status != 304:
            run.append(request)
            if len(run) >= _TURNS:
                return [(request, "page", "site", "it sends visitors on without end")]
        else:
            run.clear()
    return []


def _block_page_text(evidence: Evidence) -> str:
    """The words by which the final page is a wall without other content; empty if it is none."""
    for tab in evidence.tabs:
        if tab.active and urlsplit(tab.url).scheme in ("http", "https"):
            return bot_walls.wall_of_page(f"<title>{html.escape(tab.title)}</title>{tab.html}")
    return ""


def obstacles(evidence: Evidence, *, live: bool = True) -> dict[str, str]:
    """All obstacles of a trial, each once: method and address to cause and reason."""
    return _listed(_found(evidence.requests, live))


def _listed(each_found: Sequence[tuple[RequestRecord, ResourceKind, Cause, str]]) -> dict[str, str]:
    found = {f"{each.method} {each.url}": f"{cause}: {why}" for each, _, cause, why in each_found}
    return dict(list(found.items())[:_LISTED])


@contextmanager
def reporting_obstacles(requests: Callable[[], Sequence[RequestRecord]], environment: dict[str, Any]) -> Iterator[None]:
    """Add obstacles to a `SiteError` raised in the block. The trial's ``environment`` gets them as ``obstacles``; if a
    page of a live site was affected, the error becomes one with the reason, a `SiteBlocked` if the site rejected the
    visitor."""
    try:
        yield
    except SiteError as error:
        found = _found(requests()) if environment.get("live") else []
        if not found:
            raise
        environment["obstacles"] = _listed(found)
        pages = [(cause, why) for _, role, cause, why in found if role == "page"]
        if not pages:
            raise
        cause, why = pages[-1]
        raise (SiteBlocked if cause == "blocked" else SiteError)(f"{error}: {why}") from error


def with_obstacles(decided: Decided, evidence: Evidence, *, live: bool = True) -> Decided:
    """The outcome of a trial on live sites, or without ``live`` on sites whose pages need other hosts, given its
    obstacles.

    As on archived sites (`archive_misses.with_misses`), a failed trial may have failed because of an obstacle, so it is
    an error: ``blocked`` if the site rejected the visitor, ``site`` if it was unavailable. A passed trial did not need
    the page, unless the answer says that something is impossible: a wall looks like that. If the obstacle came before
    the agent did anything, no agent could have done better.
    """
    decisive = [each for each in _found(evidence.requests, live) if each[1] in ("page", "part")]
    wall_text = _block_page_text(evidence) if live else ""
    pages = wall_text or any(role == "page" for _, role, _, _ in decisive)
    passed_wrongly = decided.outcome == "passed" and pages and says_unachievable(evidence.text_answer or "")
    if not (passed_wrongly or (decided.outcome == "failed" and (decisive or wall_text))):
        return decided
    causes = [cause for _, _, cause, _ in sorted(decisive, key=lambda each: each[1])]
    cause: Cause = "blocked" if wall_text or "blocked" in causes else "site"
    shown = [f"{shorten(f'{each.method} {each.url}', 150)} ({why})" for each, _, _, why in decisive]
    if wall_text:
        shown.insert(0, f"the page at the end says {wall_text!r}")
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    what = "a live site turned the agent away" if live else "a host that the site's pages need was not available"
    message = f"{what}: {'; '.join(shown[:_SHOWN])}{more}"
    began = min((step.started for step in evidence.steps if step.started), default=None)
    before = began is None or any(role == "page" and each.time < began for each, role, _, _ in decisive)
    event = BEFORE_AGENT if before else SiteBlocked.event
    return Decided("error", cause, f"{message}\n{decided.message}".rstrip(), event)
