"""What archives of sites lacked in a trial, and when that decides what the trial is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.text import shorten
from pytest_webarena.trials.outcome import Decided

if TYPE_CHECKING:
    from pytest_webarena.errors import Shortfall
    from pytest_webarena.evidence import Evidence, RequestRecord

__all__ = ["lacked", "reporting_misses", "with_misses"]

_SHOWN = 5
_LISTED = 200


def lacked(evidence: Evidence) -> dict[str, str]:
    """What was asked for in vain, each once: method and address to what it was (`RequestRecord.lacks`)."""
    return _listed(evidence.requests)


def _listed(requests: Sequence[RequestRecord]) -> dict[str, str]:
    found = {f"{each.method} {each.url}": each.lacks for each in requests if each.lacks}
    return dict(list(found.items())[:_LISTED])


@contextmanager
def reporting_misses(requests: Callable[[], Sequence[RequestRecord]], environment: dict[str, Any]) -> Iterator[None]:
    """What an archive lacked where a first page could not be had is told in ``environment``, the trial's. A solution
    that can't be gone on with where something is lacking is no broken task: that becomes a `SiteError`."""
    try:
        yield
    except (SiteError, TaskError) as error:
        found = _listed(requests())
        if found:
            environment["not_archived"] = found
        if isinstance(error, TaskError) and (missing := _decisive(found)):
            raise _Lacking(f"{_told(missing)}\n{error}") from error
        raise


class _Lacking(SiteError):
    """Another attempt would meet the same."""

    again = False
    shortfall = "lacking"


def _decisive(found: dict[str, str]) -> list[str]:
    """Pages, then parts of pages."""
    return [each for kind in ("page", "part") for each, what in found.items() if what == kind]


def _told(missing: Sequence[str]) -> str:
    names = ", ".join(shorten(each, 150) for each in missing[:_SHOWN])
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return (
        f"not archived: {names}{more}; nobody knows what the agent would have done with it. Add it to the archive "
        "(webarena sites archive record, archive add)"
    )


def with_misses(decided: Decided, evidence: Evidence) -> tuple[Decided, Shortfall]:
    """What a trial is, given what the archive lacked; and why a gate counts it as not passed, if it does.

    Whoever failed may have failed because a page, or what pages work by, was not there: nobody knows, so that is an
    error of the site. Pictures, fonts and beacons change nothing. Whoever passed has not needed it, unless the answer
    is that something can't be done or isn't there, which a page that is not archived looks like. The agent chose where
    it went, so going astray must not make its rate better: gates count it as not passed.
    """
    found = lacked(evidence)
    missing = _decisive(found)
    misled = decided.outcome == "passed" and "page" in found.values() and says_unachievable(evidence.text_answer or "")
    if not (misled or (decided.outcome == "failed" and missing)):
        return decided, ""
    return Decided("error", "site", f"{_told(missing)}\n{decided.message}".rstrip()), "lacking"
