"""JUnit XML: rates as properties of the suite, and trials without a result as errors, not as failures."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from pytest_webarena.plugin.reporting.outcomes import is_trial, test_status
from pytest_webarena.plugin.reporting.rate_figures import rate_figures
from pytest_webarena.results.attempts import final_screenshot

if TYPE_CHECKING:
    from pytest_webarena.results import RunDir, Summary

__all__ = ["ErrorMarker", "write_properties"]

_SECTIONS = dict.fromkeys(("system-out", "out-err", "all"), "Captured stdout call") | {"log": "Captured log call"}
"""By value of ``junit_logging``: section of a report of which pytest makes the element ``system-out``."""


class ErrorMarker:
    """Plugin that writes trials without a result as ``<error>``; pytest writes all that fails in a call as
    ``<failure>``. Both get a type and the picture of the last page, which GitLab and Jenkins show."""

    def __init__(self, config: pytest.Config, run_dir: Callable[[], RunDir | None]) -> None:
        self._config = config
        self._run_dir = run_dir

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Change the element that pytest's writer has made of the report."""
        writers = [*_writers(self._config)]
        section = next((_SECTIONS[writer.logging] for writer in writers if writer.logging in _SECTIONS), "")
        if section and report.when == "teardown" and (line := self._attachment(report)):
            report.sections.append((section, f"\n{line}\n"))
        result = yield
        for writer in writers if report.when == "call" and report.failed else ():
            reporter = writer.node_reporter(report)
            for element in [each for each in reporter.nodes if each.tag == "failure"]:
                if is_trial(report):
                    element.set("type", _type(report))
                if test_status(report) is not None:
                    element.tag = "error"
                    writer.stats["failure"] -= 1
                    writer.stats["error"] += 1
            if not section and (line := self._attachment(report)):
                output = ET.Element("system-out")
                output.text = f"{line}\n"
                reporter.append(output)
        return result

    def _attachment(self, report: pytest.TestReport) -> str:
        """The line that attaches the last page of a trial that did not pass; empty without one."""
        facts = dict(report.user_properties)
        run = self._run_dir() if is_trial(report) and facts.get("outcome") != "passed" else None
        if run is None:
            return ""
        picture = final_screenshot(run.trials / str(facts["record"]), int(str(facts.get("attempt", 1))))
        if picture is None or "]]" in (path := _seen_from_project(picture, self._config.rootpath)):
            return ""
        return f"[[ATTACHMENT|{path}]]"


def _seen_from_project(path: Path, root: Path) -> str:
    """The path relative to the directory from which GitLab and Jenkins look for attachments."""
    for base in (os.environ.get("CI_PROJECT_DIR"), os.environ.get("WORKSPACE"), root):
        if base and path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return path.as_posix()


def _type(report: pytest.TestReport) -> str:
    """The kind of outcome: ``failed``, ``undecided``, ``error: site``."""
    facts = dict(report.user_properties)
    kind, cause = str(facts.get("outcome") or "failed"), facts.get("cause")
    return f"{kind}: {cause}" if kind == "error" and cause else kind


def write_properties(config: pytest.Config, summaries: Iterable[Summary]) -> None:
    """Add the rates to the suite's properties, if the file is written.

    pytest has written the file by then, because workers end after it. It is written again.
    """
    figures = list(rate_figures(summaries))
    for writer in _writers(config) if figures else ():
        for name, text in figures:
            writer.add_global_property(name, text)
        writer.pytest_sessionfinish()


def _writers(config: pytest.Config) -> Iterator[Any]:
    """Yield pytest's writer of JUnit XML, if it is used; its class is not public."""
    parts = ("add_global_property", "node_reporter", "pytest_sessionfinish", "stats", "logging")
    return (plugin for plugin in config.pluginmanager.get_plugins() if all(hasattr(plugin, part) for part in parts))
