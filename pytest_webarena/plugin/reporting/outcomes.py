"""Keeps errors apart from failures in pytest's own reports, also across xdist."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import pytest

from pytest_webarena.errors import TrialError

__all__ = [
    "DECIDED",
    "SKIPPED",
    "STOPPED",
    "error_kind",
    "error_text",
    "failure_text",
    "is_trial",
    "mark_report",
    "skip_reason",
    "test_status",
    "why_decided",
    "why_skipped",
    "why_stopped",
]

SKIPPED = "skipped_because"
"""Property of a report: why this package did not run the trial."""

_VARIES = re.compile(r"\b[0-9a-f]*\d[0-9a-f]{7,}\b|\b(?:gw)?\d+(?:\.\d+)*\b")
"""Numbers, ids, names of workers."""

STOPPED = "stopped_because"
"""Property of a report: why the trial was not run, although all it needs was thought to be there."""

DECIDED = "decided_because"
"""Property of a report: why the trial was not needed any more (``--stop-when-settled``)."""

_ATTRIBUTE = "webarena_error_cause"


def mark_report(report: pytest.TestReport, call: pytest.CallInfo[None], *, task: bool = False) -> None:
    """Note on the report (xdist carries plain attributes) that the trial ended in an error, and whose.

    A ``task`` whose trial was cut off by somebody else, as by pytest-timeout, has no result: that is no failed one.
    """
    if call.excinfo is not None and isinstance(call.excinfo.value, TrialError):
        setattr(report, _ATTRIBUTE, call.excinfo.value.cause)
    elif task and report.when == "call" and report.failed and not is_trial(report):
        setattr(report, _ATTRIBUTE, "harness")


def failure_text(text: str, path: str, line: int, *, style: str) -> Any:
    """``text`` in the form that pytest gives its own failures, so that the first line stands for it.

    There is in the short summary, in JUnit's ``message``, and with ``--tb=line`` (``style``). xdist carries it whole.
    """
    from pytest_webarena.text import printable  # not before there is a trial

    try:
        from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback
    except ImportError:  # none of pytest's public names
        return printable(text)
    text = printable(text)  # before it is wrapped, and before its first line is taken
    crash = ReprFileLocation(path, line, text.partition("\n")[0])
    body = ReprEntryNative([f"{_wrapped(text)}\n"] if style != "line" else [])
    return ReprExceptionInfo(reprtraceback=ReprTraceback([body], None, style="native"), reprcrash=crash)


def _wrapped(text: str) -> str:
    """Lines of at most 80 columns, broken between words: a terminal would break inside them."""
    return "\n".join(
        textwrap.fill(line, 80, break_long_words=False, break_on_hyphens=False) if len(line) > 80 else line
        for line in text.split("\n")
    )


def is_trial(report: pytest.TestReport) -> bool:
    """Whether the report is of a task item whose trial left a record."""
    # What could not be collected has none.
    return any(name == "record" for name, _ in getattr(report, "user_properties", ()))


def error_text(report: pytest.TestReport) -> str:
    """The first line of what went wrong: ``error (model): …``."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr or "").partition("\n")[0]


def error_kind(report: pytest.TestReport) -> str:
    """What is equal for errors that are told once: the whole text without what differs from trial to trial."""
    entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", ())
    text = "\n".join(line for entry in entries for line in entry.lines) or error_text(report)
    facts = dict(report.user_properties)
    for name in sorted({str(facts.get(name) or "") for name in ("task", "agent", "record")} - {""}, key=len)[::-1]:
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "…", text)
    return " ".join(_VARIES.sub("#", text).split())


def why_skipped(report: pytest.TestReport) -> str:
    """Why this package did not run the trial; empty for all other reports."""
    return _told(report, SKIPPED)


def why_stopped(report: pytest.TestReport) -> str:
    """Why the trial was not run, its agent or its site having been stopped; empty for all other reports."""
    return _told(report, STOPPED)


def why_decided(report: pytest.TestReport) -> str:
    """Why the trial was not needed; empty for all other reports."""
    return _told(report, DECIDED)


def _told(report: pytest.TestReport, kind: str) -> str:
    if not (report.skipped and report.when == "call"):
        return ""
    return next((str(value) for name, value in report.user_properties if name == kind), "")


def skip_reason(report: pytest.TestReport) -> str:
    """Why pytest skipped the test."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return str(getattr(report, "wasxfail", "") or "skipped")


def test_status(report: Any) -> tuple[str, str, str] | None:
    """A trial without a result is an error to pytest, as a broken fixture is; not a failed test."""
    if report.when == "call" and report.failed and hasattr(report, _ATTRIBUTE):
        return "error", "E", "ERROR"
    return None


test_status.__test__ = False  # type: ignore[attr-defined]
