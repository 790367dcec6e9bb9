"""Requests of the agent that may change a site and that the site answered with an error of its own (500 and above).

They change no outcome. The message of a trial that did not pass names them, because they often explain it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import BrowserError, SiteError, TaskError, TrialError
from pytest_webarena.gateway.log_entry import SAFE_METHODS
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.evidence import RequestRecord
    from pytest_webarena.trials.outcome import Decided

__all__ = ["failed_writes", "noting_failed_writes", "with_failed_writes"]

_FACT = "failed_writes"
_LISTED = 20
_SHOWN = 2


def failed_writes(requests: Sequence[RequestRecord]) -> dict[str, list[str]]:
    """Returns a fact for the environment of a trial: the failed writes, each once; empty when there are none."""
    found = dict.fromkeys(
        f"{each.method} {shorten(each.url, 150)} (status {each.status})"
        for each in requests
        if each.status is not None and each.status >= 500 and each.method not in SAFE_METHODS | {"CONNECT"}
        if not each.refused
    )
    return {_FACT: list(found)[:_LISTED]} if found else {}


@contextmanager
def noting_failed_writes(
    requests: Callable[[], Sequence[RequestRecord]], environment: dict[str, Any]
) -> Iterator[None]:
    """Add failed writes to the trial's ``environment`` when the block fails, as a solution does whose next page did not
    come."""
    try:
        yield
    except (SiteError, TaskError, BrowserError):
        with suppress(TrialError):  # the requests of a lease that is lost
            environment |= failed_writes(requests())
        raise


def with_failed_writes(decided: Decided, environment: Mapping[str, Any]) -> Decided:
    """Returns the same outcome; its message names the failed writes in one line unless the trial passed."""
    found: Sequence[str] = environment.get(_FACT, ())
    if decided.outcome == "passed" or not found:
        return decided
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    line = f"a site answered writes with an error: {', '.join(found[:_SHOWN])}{more}"
    return decided._replace(message=f"{decided.message}\n{line}".lstrip())
