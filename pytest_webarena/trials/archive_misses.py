"""Requests that archives of sites could not answer in a trial, and when they make its outcome an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.text import shorten
from pytest_webarena.trials.outcome import Decided

if TYPE_CHECKING:
    from pytest_webarena.evidence import Evidence, RequestRecord

__all__ = ["missing_resources", "reporting_misses", "with_misses"]

_SHOWN = 5
_LISTED = 200


def missing_resources(evidence: Evidence) -> dict[str, str]:
    """The requests that an archive could not answer, each once: method and address to the kind of resource
    (`RequestRecord.lacks`)."""
    return _listed(evidence.requests)


def _listed(requests: Sequence[RequestRecord]) -> dict[str, str]:
    found = {f"{each.method} {each.url}": each.lacks for each in requests if each.lacks}
    return dict(list(found.items())[:_LISTED])


@contextmanager
def reporting_misses(requests: Callable[[], Sequence[RequestRecord]], environment: dict[str, Any]) -> Iterator[None]:
    """Add archive misses to the trial's ``environment`` when setting up or a solution fails in the block. A solution
    that fails where something is missing is not a broken task: its `TaskError` becomes a `SiteError`."""
    try:
        yield
    except (SiteError, TaskError) as error:
        found = _listed(requests())
        if found:
            environment["not_archived"] = found
        if isinstance(error, TaskError) and (missing := _decisive(found)):
            raise _NotArchived(f"{_message(missing)}\n{error}") from error
        raise


class _NotArchived(SiteError):
    """An archive lacks something that the trial needs. Not retried, because another attempt would fail in the same
    way."""

    event = "archive"
    again = False


def _decisive(found: dict[str, str]) -> list[str]:
    """Missing pages, then missing parts of pages."""
    return [each for kind in ("page", "part") for each, what in found.items() if what == kind]


def _message(missing: Sequence[str]) -> str:
    names = ", ".join(shorten(each, 150) for each in missing[:_SHOWN])
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return (
        f"not archived: {names}{more}; the trial can't be judged without it. Add it to the archive "
        "(webarena sites archive record, archive add)"
    )


def with_misses(decided: Decided, evidence: Evidence) -> Decided:
    """The outcome of a trial, given what the archive lacked.

    An agent that failed may have failed because a page, or a part that a page needs, was missing: an error. Missing
    images, fonts and beacons change nothing. An agent that passed did not need it, unless it answered that something is
    impossible or absent: a missing page looks like that.
    """
    found = missing_resources(evidence)
    missing = _decisive(found)
    passed_wrongly = (
        decided.outcome == "passed" and "page" in found.values() and says_unachievable(evidence.text_answer or "")
    )
    if not (passed_wrongly or (decided.outcome == "failed" and missing)):
        return decided
    return Decided("error", "site", f"{_message(missing)}\n{decided.message}".rstrip(), _NotArchived.event)
