"""Adds Playwright traces of Python tests to the Allure report, in every session, with or without tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

__all__ = ["attach_traces"]


def attach_traces(config: pytest.Config, report: pytest.TestReport) -> None:
    """Attach the traces that pytest-playwright stored in its own folder and named on the teardown's report.

    Called after pytest-playwright's own ``pytest_runtest_makereport``.
    """
    listener: Any = config.pluginmanager.get_plugin("allure_listener")
    if report.when != "teardown" or listener is None or listener.allure_logger.get_test(None) is None:
        return
    for name, value in report.user_properties:
        if name == "playwright_trace" and Path(str(value)).is_file():
            listener.attach_file(str(value), "Playwright trace", "application/vnd.allure.playwright-trace", "zip")
