"""No rate, interval or comparison rises when an agent ends the trials that it would fail in errors."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.owners import EVENTS, outcome_of

from .owner_events import ATTACKS, CASES, Result

PARTS = 4
"""Tests of controls and retries, each with a part of the cases: all in one test are 250 trials."""
EACH_EVENT = "each event with a retry"
"""The slowest case, half of the trials. `test_owners.py` tries each event, and most of them with retries."""
ALL: list[tuple[str, Result]] = [*((attack, None) for attack in ATTACKS), *CASES]


@pytest.fixture(scope="module")
def benchmark_module() -> Any:
    file = Path(__file__).parents[3] / "benchmarks" / "owners.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_owners", file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("event", "result"), CASES)
def test_each_row_of_the_table_has_the_outcome_of_the_benchmarks_own_rules(
    benchmark_module: Any, event: str, result: Result
) -> None:
    row = EVENTS[event]
    found = outcome_of(row, "impossible" if row.control == "impossible" else result)
    owned = found if found in ("error", "undecided") else "failed"
    assert owned == benchmark_module.expected(event, result)


@pytest.mark.matrix(4)
@pytest.mark.parametrize(("event", "result"), ALL)
def test_agent_gains_nothing_by_ending_failing_trials_in_errors(
    benchmark_module: Any, event: str, result: Result
) -> None:
    found, line, headline = benchmark_module.check(event, result, tasks=12, seeds=2)
    assert found == [], line
    assert not headline or outcome_of(EVENTS[event], result) == "error", line


def test_agent_gains_nothing_by_stopping_the_run(benchmark_module: Any) -> None:
    assert benchmark_module.stopping(12, 1) == benchmark_module.stopping(12, 2) == []


@pytest.mark.parametrize("part", range(PARTS))
def test_controls_and_retries_have_the_expected_results(benchmark_module: Any, part: int) -> None:
    cases = [(name, case) for name, case in benchmark_module.CASES_OF_TRIALS.items() if name != EACH_EVENT][part::PARTS]
    found = {name: [*case()] for name, case in cases}
    assert found
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.exhaustive
def test_each_event_with_a_retry_has_the_expected_result(benchmark_module: Any) -> None:
    assert [*benchmark_module.CASES_OF_TRIALS[EACH_EVENT]()] == []


@pytest.mark.exhaustive
def test_each_output_of_runs_with_events_is_right() -> None:
    """In a process of its own, because it runs pytest."""
    done = subprocess.run(
        [sys.executable, "benchmarks/owners.py", "--seeds=1", "--tasks=12"], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
