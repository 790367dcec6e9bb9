"""What an audit's crawls of an impossible task say about its ground, as pure functions of trial records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_webarena.agents.audit_trials import CRAWL, CRAWLERS, PRIVILEGED, AuditTrial, is_unachievable
from pytest_webarena.checks.ground import declared_ground
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.tasks.model import Task

__all__ = ["Doubt", "all_doubts", "crawl_doubts", "crawl_notes", "crawl_outcome", "is_crawl"]

_REMEDY = {
    "text": "mend the task, which may be possible; or list words that only an answer has, and what they are `about`",
    "password": "take the page with the password out of reach: leave its site out of `sites` and `reach`",
}


_SHOWN = 3
"""Number of unread things that a sentence lists."""


_READ_IT = "look there yourself, then say so with `xfail`; or take it out of the site, or out of `sites`"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a task may be possible after all, or is impossible for another reason than it says."""

    text: str
    mend: str
    is_open: bool = False
    """Whether this is unknown, because something was not read."""


def is_crawl(trial: AuditTrial) -> bool:
    """Whether a trial attacks the ground of an impossible task: what it finds counts, not its verdict."""
    return trial.agent in CRAWLERS


def crawl_outcome(trial: AuditTrial, record: TrialRecord) -> Literal["passed", "failed", "undecided", "error"]:
    """Return whether the ground withstood; ``undecided`` if something was not read, ``error`` without a crawl."""
    if "crawl" not in record.environment:
        return "error"
    doubts = list(crawl_doubts(trial, record))
    if not doubts:
        return "passed"
    return "undecided" if all(doubt.is_open for doubt in doubts) else "failed"


def crawl_doubts(trial: AuditTrial, record: TrialRecord) -> Iterator[Doubt]:
    """Yields what a crawl found that it should not, or did not find that it should."""
    crawl, ground = record.environment.get("crawl"), declared_ground(trial.task)
    if not isinstance(crawl, Mapping) or ground is None:
        return
    found = [each for each in crawl.get("found", ()) if isinstance(each, Mapping)]
    who, looked = _account(crawl), _looked(crawl)
    if trial.agent == PRIVILEGED:
        names = {each.get("what") for each in found}
        missing = [repr(term.text) for term in ground.terms if term.text not in names]
        if missing and crawl.get("unread"):
            yield _unread(crawl)
        elif missing:
            yield Doubt(
                f"{who} does not find {', '.join(missing)}, although 'visible_to' says so ({looked})",
                "correct the words or the value, or the account",
            )
        return
    for each in found:
        yield Doubt(_described(each, who), _REMEDY.get(str(each.get("way")), _REMEDY["text"]))
    if found:
        return
    if not crawl.get("pages"):
        yield Doubt("no page was visited, so nothing was proved", "list the sites on which it is impossible in `sites`")
    elif crawl.get("unread"):
        yield _unread(crawl)
    elif ground.about and not crawl.get("names_subject"):
        yield Doubt(
            f"no page has the name {ground.about!r}, so nothing was proved ({looked})", "correct the name in `about`"
        )


def _unread(crawl: Mapping[str, Any]) -> Doubt:
    unread = [str(each) for each in crawl.get("unread", ())]
    rest = int(crawl.get("number_unread", len(unread))) - _SHOWN
    more = f"; and {rest} more" if rest > 0 else ""
    return Doubt(f"not read: {'; '.join(unread[:_SHOWN])}{more}", _READ_IT, is_open=True)


def all_doubts(found: Iterable[tuple[AuditTrial, TrialRecord | None]]) -> Iterator[Doubt]:
    """Yields the doubts of all crawls among a task's trials."""
    for trial, record in found:
        if is_crawl(trial) and record is not None:
            yield from crawl_doubts(trial, record)


def crawl_notes(task: Task, found: Iterable[tuple[AuditTrial, TrialRecord | None]]) -> Iterator[str]:
    """Yields how far a ground was attacked."""
    if not task.skip and is_unachievable(task) and declared_ground(task) is None:
        yield "its ground is not attacked: the answer's check declares no 'absent' or 'absent_controls'"
    for trial, record in found:
        crawl = record.environment.get("crawl") if record is not None and is_crawl(trial) else None
        if isinstance(crawl, Mapping) and trial.agent == CRAWL:
            yield f"{trial.agent}, as {_account(crawl)}, {_looked(crawl)}"


def _account(crawl: Mapping[str, Any]) -> str:
    return str(crawl.get("account") or "a visitor who is not signed in")


def _looked(crawl: Mapping[str, Any]) -> str:
    number = crawl.get("pages", 0)
    pages = f"{number} page" if number == 1 else f"{number} pages"
    if unread := crawl.get("number_unread"):
        return f"looked at {pages}, and could not read {unread} {'thing' if unread == 1 else 'things'}"
    return f"looked at {pages}, all that links, controls and searches lead to"


def _described(each: Mapping[str, Any], who: str) -> str:
    what, url, passage = (str(each.get(key, "")) for key in ("what", "url", "passage"))
    match each.get("way"):
        case "password":
            return f"{who} can sign in as {what}, whose password is at {url}: {passage!r}"
        case "sum":
            return f"{who} finds {what} at {url}, as the sum of the column {passage!r}"
        case "control":
            return f"{who} finds a control named {what!r} at {url}: {passage!r}"
    return f"{who} finds {what!r} at {url}: {passage!r}"
