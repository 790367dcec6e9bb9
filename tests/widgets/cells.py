"""Reads the list of cells: widgets, tasks on them, forms of observation, and ways of acting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from pytest_webarena.actions import Action, Stop
from pytest_webarena.testing import make_task

__all__ = ["MISSES", "CellTask", "Widget", "extractors", "forms", "known_misses", "ways", "widgets"]

_FILE = Path(__file__).parent / "cells.yaml"
MISSES = _FILE.with_name("misses.yaml")
"""Cells that differ from raw Playwright, as last measured: widget, cell, outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTask:
    """Something that is done with a widget."""

    name: str
    steps: tuple[Action, ...]
    """What the harness does."""
    raw: tuple[Action, ...]
    """What raw Playwright does for the same end."""
    state: Any
    """What the page's ``state()`` returns afterwards."""
    shows: tuple[str, ...] = ()
    """Texts that the observation after the last step has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Widget:
    """A page with a widget, and what is done with it."""

    name: str
    family: str
    packages: tuple[str, ...]
    """Packages from npm that the page needs."""
    tasks: tuple[CellTask, ...]
    points: Mapping[str, str] = field(default_factory=dict)
    """Selectors of what shows an element that is too small to point at, by the element's selector."""


@cache
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = yaml.safe_load(_FILE.read_text())
    return data


def forms() -> tuple[str, ...]:
    """Return the names of the forms of observation."""
    return tuple(_data()["forms"])


def extractors() -> tuple[str, ...]:
    """Return the names of the extractors."""
    return tuple(_data()["extractors"])


def ways() -> tuple[str, ...]:
    """Return the names of the ways of acting: grammars, solution steps, replay of a recording."""
    return tuple(_data()["ways"])


@cache
def widgets() -> tuple[Widget, ...]:
    """Return all widgets in the order of the file."""
    return tuple(_widget(name, entry) for name, entry in _data()["widgets"].items())


def known_misses() -> Mapping[str, Mapping[str, str]]:
    """Return the outcome of each cell that is known to differ, by widget and `Cell.key`."""
    misses: Mapping[str, Mapping[str, str]] = yaml.safe_load(MISSES.read_text()) or {}
    return misses


def _widget(name: str, entry: Mapping[str, Any]) -> Widget:
    return Widget(
        name=name,
        family=entry["family"],
        packages=tuple(entry["packages"]),
        tasks=tuple(_task(each, what) for each, what in entry["tasks"].items()),
        points=entry.get("points", {}),
    )


def _task(name: str, entry: Mapping[str, Any]) -> CellTask:
    steps = _steps(entry["steps"])
    raw = _steps(entry["raw"]) if "raw" in entry else steps
    return CellTask(name=name, steps=steps, raw=raw, state=entry["state"], shows=tuple(entry.get("shows", ())))


def _steps(entries: list[Any]) -> tuple[Action, ...]:
    task = make_task(yaml.safe_dump({"intent": "x", "sites": [], "checks": [{"answer": "x"}], "solution": entries}))
    return tuple(step for step in task.solution or () if not isinstance(step, Stop))
