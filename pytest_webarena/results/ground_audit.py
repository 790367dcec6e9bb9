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


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a task may be possible after all, or is impossible for another reason than it says."""

    text: str
    mend: str


def is_crawl(trial: AuditTrial) -> bool:
    """Whether a trial attacks the ground of an impossible task: what it finds counts, not its verdict."""
    return trial.agent in CRAWLERS


def crawl_outcome(trial: AuditTrial, record: TrialRecord) -> Literal["passed", "failed", "error"]:
    """Return whether the ground withstood; ``error`` if the crawl was not finished."""
    if "crawl" not in record.environment:
        return "error"
    return "failed" if list(crawl_doubts(trial, record)) else "passed"


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
        if missing:
            yield Doubt(
                f"{who} does not find {', '.join(missing)}, although 'visible_to' says so ({looked})",
                "correct the words or the value, or the account",
            )
        return
    for each in found:
        yield Doubt(_described(each, who), _REMEDY.get(str(each.get("way")), _REMEDY["text"]))
    if not crawl.get("pages"):
        yield Doubt("no page was visited, so nothing was proved", "list the sites on which it is impossible in `sites`")
    elif ground.about and not crawl.get("names_subject"):
        yield Doubt(
            f"no page has the name {ground.about!r}, so nothing was proved ({looked})", "correct the name in `about`"
        )


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
        if isinstance(crawl, Mapping) and (trial.agent == CRAWL or crawl.get("has_more")):
            yield f"{trial.agent} {_looked(crawl)} as {_account(crawl)}"


def _account(crawl: Mapping[str, Any]) -> str:
    return str(crawl.get("account") or "a visitor who is not signed in")


def _looked(crawl: Mapping[str, Any]) -> str:
    rest = "of more pages" if crawl.get("has_more") else "pages, all that links and searches lead to"
    return f"looked at {crawl.get('pages', 0)} {rest}"


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
