"""Rubrics as data: a file next to the tasks, written once and reviewed, and the text form of suites."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.checks.judge_protocol import RubricItem
from pytest_webarena.errors import UsageError, writing
from pytest_webarena.text import clip
from pytest_webarena.yaml_files import read_yaml

__all__ = ["MOST_ITEMS", "items_of_text", "read_items", "read_rubric", "write_rubric"]

MOST_ITEMS = 40

_KEYS = ("schema_version", "task", "items", "authored")
_POINTS = r"(\d{1,3}(?:\.\d{1,2})?)\s*(?:points?|pts?\.?|marks?|p)"
_LEAD = r"^\s*(?:[-*•]\s*|\(?\d{1,2}[.)]\s*)?"
_HEAD = re.compile(rf"{_LEAD}(?:[(\[]\s*\+?{_POINTS}\s*[)\]]|{_POINTS}\s*[:–—-])\s*:?\s*(.+)$", re.IGNORECASE)
_TAIL = re.compile(rf"{_LEAD}(.+?)\s*[:–—-]?\s*[(\[]\s*\+?{_POINTS}\s*[)\]]\s*[.:]?\s*$", re.IGNORECASE)


def read_rubric(path: Path) -> tuple[RubricItem, ...]:
    """The items of a rubric's file. `UsageError` says what is wrong with it."""
    where = f"rubric {path.name}"
    data = read_yaml(path, where)
    if not isinstance(data, Mapping) or "items" not in data:
        raise UsageError(f"{where}: expected a mapping with a list 'items'")
    for key in data:
        if key not in _KEYS:
            raise UsageError(f"{where}: expected only the keys {', '.join(_KEYS)}, found {clip(str(key), 40)!r}")
    if data.get("schema_version", 1) != 1:
        raise UsageError(f"{where}: expected schema_version 1, found {data['schema_version']!r}")
    return read_items(data["items"], where)


def read_items(data: Any, where: str) -> tuple[RubricItem, ...]:
    """Items from plain data. `UsageError` names the first that can't be used."""
    if not isinstance(data, Sequence) or isinstance(data, str) or not 1 <= len(data) <= MOST_ITEMS:
        raise UsageError(f"{where}: items: expected a list of 1 to {MOST_ITEMS}, each with points and what")
    items = []
    for number, each in enumerate(data, start=1):
        points = each.get("points") if isinstance(each, Mapping) else None
        what = each.get("what") if isinstance(each, Mapping) else None
        if not isinstance(each, Mapping) or set(each) - {"points", "what"}:
            raise UsageError(f"{where}: item {number}: expected points and what, found {clip(str(each), 80)}")
        if isinstance(points, bool) or not isinstance(points, int | float) or not 0 < points < 1000:
            raise UsageError(f"{where}: item {number}: expected points above 0, found {points!r}")
        if not isinstance(what, str) or not what.strip():
            raise UsageError(f"{where}: item {number}: expected what earns the points, found {what!r}")
        items.append(RubricItem(points=float(points), what=what.strip()))
    return tuple(items)


def write_rubric(path: Path, items: Sequence[RubricItem], *, task: str, authored: Mapping[str, Any]) -> None:
    """A file that `read_rubric` reads. `UsageError` when it can't be written."""
    import yaml

    data = {
        "schema_version": 1,
        "task": task,
        "authored": dict(authored),
        "items": [{"points": _plain(item.points), "what": item.what} for item in items],
    }
    head = "# Read this before you rely on it: do the items ask for what the solution needs, and are the points fair?\n"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
        path.write_text(head + text, encoding="utf-8")


def items_of_text(text: str) -> tuple[RubricItem, ...]:
    r"""The items of a rubric that is written as lines, each with its points; none where they are not certain.

    >>> items_of_text("- (4 points) Finds the base case.\n- (6 pts) Does the step,\n  for all n.")[1]
    RubricItem(points=6.0, what='Does the step, for all n.')
    """
    items: list[tuple[float, str]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if head := _HEAD.match(line):
            items.append((float(head[1] or head[2]), head[3].strip()))
        elif tail := _TAIL.match(line):
            items.append((float(tail[2]), tail[1].strip()))
        elif items and line[:1].isspace():
            items[-1] = (items[-1][0], f"{items[-1][1]} {line.strip()}")
        elif items and not re.match(r"\s*total\b", line, re.I):
            return ()  # something between the items that may belong to none of them
    if len(items) > MOST_ITEMS or not all(points > 0 for points, _ in items):
        return ()
    total = re.search(rf"(?:total|out of|sum(?:s to)?)\D{{0,12}}{_POINTS}?", text, re.I)
    if total and total[1] and not math.isclose(float(total[1]), sum(points for points, _ in items)):
        return ()
    return tuple(RubricItem(points=points, what=what) for points, what in items)


def _plain(points: float) -> float | int:
    return int(points) if points == int(points) else points
