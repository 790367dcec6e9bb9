"""Makes reports harmless: they contain text of agents and pages, for terminals, JUnit and Allure, and secrets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pytest_webarena.secrets import scrub_cut
from pytest_webarena.text import printable

if TYPE_CHECKING:
    import warnings

    import pytest

__all__ = ["clean_output", "clean_report", "clean_warning", "harmless", "has_foreign_text"]


def has_foreign_text(item: pytest.Item) -> bool:
    """Return whether the item runs a trial: a task, or a test that uses a fixture of this package."""
    return any(name.startswith("webarena") for name in getattr(item, "fixturenames", ()))


def harmless(text: str) -> str:
    """Return ``text`` without secrets and without anything that a terminal or a CI host interprets."""
    return printable(scrub_cut(text))


def clean_output(item: pytest.Item) -> None:
    """Make the captured output and logs harmless. Called before a report is made of them."""
    sections: list[tuple[str, str, str]] = getattr(item, "_report_sections", [])
    sections[:] = [(when, key, harmless(text)) for when, key, text in sections]


def clean_report(report: pytest.TestReport) -> None:
    """Make the text of a report harmless without changing its form."""
    report.sections = [(title, harmless(text)) for title, text in report.sections]
    report.user_properties = [
        (name, harmless(value) if isinstance(value, str) else value) for name, value in report.user_properties
    ]
    match report.longrepr:
        case str(text):
            report.longrepr = harmless(text)
        case (path, line, reason):
            report.longrepr = (path, line, harmless(reason))
        case None:
            pass
        case shown:
            for part in _parts(shown):
                _clean_part(part)


def clean_warning(message: warnings.WarningMessage) -> None:
    """Make a warning harmless, which pytest prints line by line."""
    text = str(message.message)
    if harmless(text) != text:
        message.message = Warning(harmless(text))  # `category` has its class


def _parts(shown: Any) -> Iterator[Any]:
    """Tracebacks and their locations, of an error and of its causes."""
    links = getattr(shown, "chain", None) or [
        (getattr(shown, "reprtraceback", None), getattr(shown, "reprcrash", None), None)
    ]
    for traceback, crash, _ in links:
        yield crash
        for entry in getattr(traceback, "reprentries", ()):
            yield entry
            yield getattr(entry, "reprlocals", None)
            yield getattr(entry, "reprfuncargs", None)
            yield getattr(entry, "reprfileloc", None)
    yield getattr(shown, "reprcrash", None)
    yield shown


def _clean_part(part: Any) -> None:
    if isinstance(message := getattr(part, "message", None), str):
        part.message = harmless(message)
    if isinstance(lines := getattr(part, "lines", None), list):
        part.lines = [harmless(line) for line in lines]
    if isinstance(arguments := getattr(part, "args", None), list):
        part.args = [(name, harmless(str(value))) for name, value in arguments]
    if isinstance(text := getattr(part, "longrepr", None), str):  # of a collection error
        part.longrepr = harmless(text)
