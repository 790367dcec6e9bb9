"""Runs, baselines and sides that tests of baselines share."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.evidence import Usage
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.comparing.baseline import sides_at
from pytest_webarena.results.comparing.sides import Side, side_of
from tests.planted import plant

__all__ = ["costly", "outcomes", "planted_records", "planted_sides", "runs"]


@functools.cache
def _folder(parent: Path) -> Path:
    folder = parent / "baseline-runs"
    plant(folder / "main", seed=2)
    plant(folder / "again", seed=5, model="m2")
    plant(folder / "worse", seed=4, shift=-0.1)
    plant(folder / "dear", seed=5, cost=0.08)
    assert main(["compare", "baseline", "save", str(folder / "main"), "-o", str(folder / "baseline.json")]) == 0
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs of one agent, and the baseline of the first. Several modules share them; tests must not change them."""
    return _folder(tmp_path_factory.getbasetemp())


@functools.cache
def planted_sides(path: Path) -> list[Side]:
    return sides_at(path)


@functools.cache
def planted_records(path: Path) -> list[TrialRecord]:
    return RunDir(path).records()


def costly(name: str, *costs: float | None, outcome: Any = "passed", **more: Any) -> Side:
    used = [Usage(calls=1, input_tokens=9, cost=cost) if cost is not None else None for cost in costs]
    records = [
        TrialRecord(
            key=TrialKey(f"t{n}", "a", 1), template=f"t{n}", usage=each, outcome="passed" if each else outcome, **more
        )
        for n, each in enumerate(used)
    ]
    return side_of("a", records, run=name)


def outcomes(name: str, *templates: str) -> Side:
    """Return a side. An argument is a template, its words are tasks, and their letters are trials.

    ``p`` passed, ``f`` failed, ``u`` is undecided, ``e`` is an error.
    """
    letters = {"p": "passed", "f": "failed", "u": "failed", "e": "error"}
    records = [
        TrialRecord(
            key=TrialKey(f"t{n}-{m}", "a", k),
            template=f"t{n}",
            outcome=letters[letter],  # type: ignore[arg-type]
            verdict={"schema_version": 3, "judgeable": letter == "u"},
        )
        for n, template in enumerate(templates)
        for m, task in enumerate(template.split())
        for k, letter in enumerate(task, start=1)
    ]
    return side_of("a", records, run=name)
