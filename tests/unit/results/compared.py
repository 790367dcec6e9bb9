"""Run directories that tests compare with each other."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.results import RunDir
from pytest_webarena.results.comparing.baseline import sides_at
from pytest_webarena.results.comparing.comparison import Comparison, choose, compare_all
from pytest_webarena.results.comparing.sides import Side
from pytest_webarena.results.comparing.wording import in_words
from tests.made_up import make_run, make_trial
from tests.planted import plant

__all__ = ["of", "of_planted", "planted_side", "runs", "small", "words"]


@functools.cache
def _folder(parent: Path) -> Path:
    folder = parent / "compared-runs"
    plant(folder / "main", seed=2)
    plant(folder / "again", seed=5)
    plant(folder / "worse", seed=4, shift=-0.1, agent_digest="a2")
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one agent and a run that is ten points worse: 228 tasks of 76 templates, three trials each.

    Several modules share them; tests must not change them.
    """
    return _folder(tmp_path_factory.getbasetemp())


@functools.cache
def planted_side(path: Path) -> Side:
    """Return the only side of one of the shared runs (cached)."""
    [side] = sides_at(path)
    return side


def of_planted(first: Path, second: Path) -> Comparison:
    """Return `of` two of the shared runs, with cached sides."""
    return compare_all([(planted_side(first), planted_side(second))])[0]


def of(*paths: Path, **how: Any) -> Comparison:
    return compare_all(choose([sides_at(path) for path in paths]), **how)[0]


def words(each: Comparison) -> str:
    return "\n".join(line.text for line in in_words(each))


def small(path: Path, wins: dict[str, list[bool]], **facts: Any) -> RunDir:
    """Write a run with one agent for each entry of ``wins``, and one task for each of its outcomes."""
    run = make_run(path, agents=list(wins), **facts)
    for agent, won in wins.items():
        for number, passed in enumerate(won):
            goal = "http://s.test/" + ("a" if agent == "a" else "b")
            make_trial(
                run, f"t{number}", "passed" if passed else "failed", agent=agent,
                steps=({}, {"action": {"kind": "goto", "url": goal}, "target": None}, {"action": {"kind": "stop"}}),
            )  # fmt: skip
    return run
