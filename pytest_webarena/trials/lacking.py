"""What archives of sites lacked in a trial, and when that decides what the trial is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.errors import SiteError
from pytest_webarena.text import shorten
from pytest_webarena.trials.outcome import Decided

if TYPE_CHECKING:
    from pytest_webarena.errors import Shortfall
    from pytest_webarena.evidence import Evidence, RequestRecord

__all__ = ["lacked", "telling_lacks", "with_lacks"]

_SHOWN = 5
_LISTED = 200


def lacked(evidence: Evidence) -> dict[str, str]:
    """What was asked for in vain, each once: method and address to what it was (`RequestRecord.lacks`)."""
    return _listed(evidence.requests)


def _listed(requests: Sequence[RequestRecord]) -> dict[str, str]:
    found = {f"{each.method} {each.url}": each.lacks for each in requests if each.lacks}
    return dict(list(found.items())[:_LISTED])


@contextmanager
def telling_lacks(requests: Callable[[], Sequence[RequestRecord]], environment: dict[str, Any]) -> Iterator[None]:
    """What an archive lacked where a first page could not be had is told in ``environment``, the trial's."""
    try:
        yield
    except SiteError:
        if found := _listed(requests()):
            environment["not_archived"] = found
        raise


def with_lacks(decided: Decided, evidence: Evidence) -> tuple[Decided, Shortfall]:
    """What a trial is, given what the archive lacked; and why a gate counts it as not passed, if it does.

    Whoever failed may have failed because a page, or what pages work by, was not there: nobody knows, so that is an
    error of the site. Pictures, fonts and beacons change nothing. Whoever passed has not needed it, unless the answer
    is that something can't be done or isn't there, which a page that is not archived looks like. The agent chose where
    it went, so going astray must not make its rate better: gates count it as not passed.
    """
    found = lacked(evidence)
    pages = [each for each, what in found.items() if what == "page"]
    parts = [each for each, what in found.items() if what == "part"]
    misled = decided.outcome == "passed" and pages and says_unachievable(evidence.text_answer or "")
    if not (misled or (decided.outcome == "failed" and (pages or parts))):
        return decided, ""
    missing = [*pages, *parts]
    names = ", ".join(shorten(each, 150) for each in missing[:_SHOWN])
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    message = (
        f"not archived: {names}{more}; nobody knows what the agent would have done with it. Add it to the archive "
        "(webarena archive record, archive add)"
    )
    return Decided("error", "site", f"{message}\n{decided.message}".rstrip()), "lacking"
