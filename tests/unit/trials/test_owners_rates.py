"""No rate, interval or comparison rises when an agent ends the trials that it would fail in errors."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.owners import EVENTS

from .test_owners import has_control

CASES = [(event, fails) for event in EVENTS for fails in (False, True) if has_control(event) or not fails]


@pytest.fixture(scope="module")
def benchmark_module() -> Any:
    file = Path(__file__).parents[3] / "benchmarks" / "owners.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_owners", file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.mark.matrix(3)
@pytest.mark.parametrize(("event", "fails"), CASES)
def test_agent_gains_nothing_by_ending_failing_trials_in_errors(benchmark_module: Any, event: str, fails: bool) -> None:
    found, line, headline = benchmark_module.check(event, fails=fails, tasks=12, seeds=2)
    assert found == [], line
    if not fails and EVENTS[event].works not in ("error", "not passed"):
        assert not headline, line
