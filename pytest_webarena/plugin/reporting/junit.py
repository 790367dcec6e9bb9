"""JUnit XML: rates as properties of the suite, and trials without a result as errors, not as failures."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.plugin.reporting.outcomes import test_status
from pytest_webarena.plugin.reporting.rate_figures import rate_figures

if TYPE_CHECKING:
    from pytest_webarena.results import Summary

__all__ = ["ErrorMarker", "write_properties"]


class ErrorMarker:
    """Plugin that writes trials without a result as ``<error>``; pytest writes all that fails in a call as
    ``<failure>``."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Change the element that pytest's writer has made of the report."""
        result = yield
        for writer in _writers(self._config) if test_status(report) is not None else ():
            for element in writer.node_reporter(report).nodes:
                if element.tag == "failure":
                    element.tag = "error"
                    writer.stats["failure"] -= 1
                    writer.stats["error"] += 1
        return result


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
    parts = ("add_global_property", "node_reporter", "pytest_sessionfinish", "stats")
    return (plugin for plugin in config.pluginmanager.get_plugins() if all(hasattr(plugin, part) for part in parts))
