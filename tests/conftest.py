"""What holds for the whole suite: how fast the machine is decides no test; a starved CI machine gets another try."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pytest_webarena import secrets

# Its deadline per example is a timing assertion: it fails when the machine is busy, not when the code is wrong.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# Runs inside tests (pytester) forget what was first imported in them, and would import all of it again: slow, and more
# than compiled modules such as PyYAML's bear.
for _module in ("hooks", "suites.reading"):
    importlib.import_module(f"pytest_webarena.{_module}")

_HERE = Path(__file__).parent
_WITH_OTHER_PROCESSES = ("browser", "docker", "plugin")


@pytest.fixture(autouse=True)
def _no_secret_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets are marked for the rest of a process; many tests, and runs inside them, share one."""
    monkeypatch.setattr(secrets, "_marked", {})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On CI, try failed tests with browsers, containers and inner pytest runs again; the summary tells of each."""
    if not os.environ.get("CI"):
        return
    for item in items:
        if item.path.is_relative_to(_HERE) and item.path.relative_to(_HERE).parts[0] in _WITH_OTHER_PROCESSES:
            item.add_marker(pytest.mark.flaky(reruns=2))
