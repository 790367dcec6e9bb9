"""Reports equal errors of trials once, with their number, instead of the same page of text for each trial."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_webarena.plugin.reporting.outcomes import error_kind, is_trial
from pytest_webarena.text import printable, shorten

if TYPE_CHECKING:
    import pytest
    from _pytest.terminal import TerminalReporter

__all__ = ["report_once"]

_NAMED = 3
"""Number of further trials that are named; results.csv has all of them."""


@contextmanager
def report_once(reporter: TerminalReporter) -> Iterator[None]:
    """Make pytest list one report for all equal errors; its counts do not change.

    With ``-vv`` each error is listed.
    """
    errors: list[Any] = reporter.stats.get("error", [])
    if reporter.verbosity > 1 or len(errors) < 2:
        yield
        return
    groups: dict[object, list[Any]] = {}
    for report in errors:
        groups.setdefault(error_kind(report) if is_trial(report) else id(report), []).append(report)
    reporter.stats["error"] = [_with_number(group) for group in groups.values()]
    try:
        yield
    finally:
        reporter.stats["error"] = errors


def _with_number(group: list[pytest.TestReport]) -> pytest.TestReport:
    """The first report of a group, with the names of the others."""
    first, *others = group
    if not others:
        return first
    named = ", ".join(shorten(report.nodeid.rpartition("::")[2], 60) for report in others[:_NAMED])
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    note = f"The same error in {len(others)} more trial{'s' * (len(others) > 1)}: {named}{more}"
    note = textwrap.fill(printable(note), 80, break_long_words=False, break_on_hyphens=False)
    first = copy.copy(first)
    text: Any = copy.deepcopy(first.longrepr)
    first.longrepr = text
    if (crash := getattr(text, "reprcrash", None)) is not None:  # used in the short summary
        crash.message = f"[{len(group)} times] {crash.message}"
    if (entries := getattr(getattr(text, "reprtraceback", None), "reprentries", None)) and entries[-1].lines:
        entries[-1].lines[-1] = f"{entries[-1].lines[-1].rstrip()}\n{note}\n"
    return first
