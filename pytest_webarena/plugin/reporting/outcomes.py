"""Separates errors from failures in pytest's own reports, also with xdist."""

from __future__ import annotations

import re
import textwrap
from typing import Any, Literal

import pytest

from pytest_webarena.errors import TrialError

__all__ = [
    "DECIDED",
    "SKIPPED",
    "STOPPED",
    "SkipKind",
    "error_kind",
    "error_text",
    "failure_text",
    "is_trial",
    "mark_report",
    "skip_kind",
    "skip_reason",
    "stopped_undecided",
    "test_status",
    "why_decided",
    "why_skipped",
    "why_stopped",
]

SKIPPED = "skipped_because"
"""Property of a report with the reason why this package did not run the trial."""

SkipKind = Literal["skipped", "not run", "not needed", "undecided, not run"]

_VARIES = re.compile(r"\b[0-9a-f]*\d[0-9a-f]{7,}\b|\b(?:gw)?\d+(?:\.\d+)*\b")
"""Parts of an error that vary between trials: numbers, ids, names of workers."""

STOPPED = "stopped_because"
"""Property of a report with the reason why the trial was not run, although its prerequisites seemed to be there."""

STOPPED_UNDECIDED = "stopped_undecided"
"""Property of such a report whose trial is undecided, because ends of its own agent are the reason."""

DECIDED = "decided_because"
"""Property of a report with the reason why the trial was no longer needed (``--stop-when-settled``)."""

_ATTRIBUTE = "webarena_error_cause"


def mark_report(report: pytest.TestReport, call: pytest.CallInfo[None], *, task: bool = False) -> None:
    """Store on the report that the trial ended in an error, and its cause; xdist transfers plain attributes.

    A ``task`` whose trial something else interrupted, such as pytest-timeout, has no result and therefore has not
    failed.
    """
    if call.excinfo is not None and isinstance(call.excinfo.value, TrialError):
        setattr(report, _ATTRIBUTE, call.excinfo.value.cause)
    elif task and report.when == "call" and report.failed and not is_trial(report):
        setattr(report, _ATTRIBUTE, "harness")


def failure_text(text: str, path: str, line: int, *, style: str) -> Any:
    """Return ``text`` in the form of pytest's own failures, whose first line represents it.

    The first line is used in the short summary, in JUnit's ``message``, and with ``--tb=line`` (``style``). xdist
    transfers the whole text.
    """
    from pytest_webarena.text import printable  # not imported before there is a trial

    try:
        from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback
    except ImportError:  # not part of pytest's public API
        return printable(text)
    text = printable(text)  # before it is wrapped, and before its first line is used
    crash = ReprFileLocation(path, line, text.partition("\n")[0])
    body = ReprEntryNative([f"{_wrapped(text)}\n"] if style != "line" else [])
    return ReprExceptionInfo(reprtraceback=ReprTraceback([body], None, style="native"), reprcrash=crash)


def _wrapped(text: str) -> str:
    """Lines of at most 80 columns, broken between words, because a terminal would break inside them."""
    return "\n".join(
        textwrap.fill(line, 80, break_long_words=False, break_on_hyphens=False) if len(line) > 80 else line
        for line in text.split("\n")
    )


def is_trial(report: pytest.TestReport) -> bool:
    """Return whether the report is of a task item whose trial has a record."""
    # Reports of failed collection have no properties.
    return any(name == "record" for name, _ in getattr(report, "user_properties", ()))


def error_text(report: pytest.TestReport) -> str:
    """Return the first line of an error: ``error (model): …``."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr or "").partition("\n")[0]


def error_kind(report: pytest.TestReport) -> str:
    """Return a key that is equal for equal errors: the whole text without the parts that vary between trials."""
    entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", ())
    text = "\n".join(line for entry in entries for line in entry.lines) or error_text(report)
    facts = dict(report.user_properties)
    for name in sorted({str(facts.get(name) or "") for name in ("task", "agent", "record")} - {""}, key=len)[::-1]:
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "…", text)
    return " ".join(_VARIES.sub("#", text).split())


def why_skipped(report: pytest.TestReport) -> str:
    """Return why this package did not run the trial; empty for all other reports."""
    return _reason_in(report, SKIPPED)


def why_stopped(report: pytest.TestReport) -> str:
    """Return why the trial was not run, if its agent or its site was stopped; empty for all other reports."""
    return _reason_in(report, STOPPED)


def stopped_undecided(report: pytest.TestReport) -> bool:
    """Return whether the trial was not run because of ends of its own agent, and is therefore undecided."""
    return bool(_reason_in(report, STOPPED_UNDECIDED))


def why_decided(report: pytest.TestReport) -> str:
    """Return why the trial was not needed; empty for all other reports."""
    return _reason_in(report, DECIDED)


def _reason_in(report: pytest.TestReport, kind: str) -> str:
    if not (report.skipped and report.when == "call"):
        return ""
    return next((str(value) for name, value in report.user_properties if name == kind), "")


def skip_kind(report: pytest.TestReport) -> SkipKind:
    """Return why a trial was skipped, as one of the kinds that reports separate."""
    if why_stopped(report):
        return "undecided, not run" if stopped_undecided(report) else "not run"
    return "not needed" if why_decided(report) else "skipped"


def skip_reason(report: pytest.TestReport) -> str:
    """Return why pytest skipped the test."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(getattr(report, "wasxfail", "") or "skipped")


def test_status(report: Any) -> tuple[str, str, str] | None:
    """Return pytest's status of a trial without a result: an error, as for a broken fixture, and not a failed test."""
    if report.when == "call" and report.failed and hasattr(report, _ATTRIBUTE):
        return "error", "E", "ERROR"
    return None


test_status.__test__ = False  # type: ignore[attr-defined]
