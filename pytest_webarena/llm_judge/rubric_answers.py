"""Labelled answers to rubrics, read from YAML: what a judge's points are measured with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.checks.asking import Question
from pytest_webarena.checks.computed.rubric_files import read_items
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.yaml_files import read_yaml

__all__ = ["SHIPPED_RUBRICS", "GradedAnswers", "MarkedAnswer", "read_marked"]

SHIPPED_RUBRICS = Path(__file__).with_name("rubrics.yaml")

_RUBRIC_KEYS = ("subject", "intent", "solution", "items", "answers")
_ANSWER_KEYS = ("about", "points", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedAnswer:
    """One answer with the points that it should get."""

    name: str
    """Which one: ``2.4`` is the fourth answer to the second rubric."""
    question: Question
    points: tuple[float, ...]
    """One per item."""
    about: str
    """What makes it hard, in a word or two."""
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedAnswers:
    """All of a file."""

    version: str
    """``name@hash`` of the file."""
    answers: tuple[MarkedAnswer, ...]


def read_marked(path: Path = SHIPPED_RUBRICS) -> GradedAnswers:
    """Read a set. `UsageError` names the first entry that can't be used."""
    where = f"labelled rubrics {path.name}"
    data = read_yaml(path, where)
    if not isinstance(data, Mapping) or not isinstance(data.get("rubrics"), list):
        raise UsageError(f"{where}: expected a mapping with a list 'rubrics'")
    if data.get("schema_version", 1) != 1:
        raise UsageError(f"{where}: expected schema_version 1, found {data['schema_version']!r}")
    answers = tuple(
        answer
        for number, rubric in enumerate(data["rubrics"], start=1)
        for answer in _answers(rubric, number, f"{where}: rubric {number}")
    )
    if not answers:
        raise UsageError(f"{where}: expected at least one answer, found none")
    return GradedAnswers(version=f"{path.stem}@{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}", answers=answers)


def _answers(data: Any, rubric: int, where: str) -> Iterator[MarkedAnswer]:
    found = _mapping(data, _RUBRIC_KEYS, where)
    items = read_items(found.get("items"), where)
    if not isinstance(found.get("answers"), list):
        raise UsageError(f"{where}: expected a list 'answers'")
    for number, each in enumerate(found["answers"], start=1):
        place = f"{where}, answer {number}"
        answer = _mapping(each, _ANSWER_KEYS, place)
        points = answer.get("points")
        if (
            not isinstance(points, list)
            or len(points) != len(items)
            or not all(
                isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= item.points
                for given, item in zip(points, items, strict=True)
            )
        ):
            raise UsageError(f"{place}: points: expected one number per item, none above its worth, found {points!r}")
        yield MarkedAnswer(
            name=f"{rubric}.{number}",
            question=Question(
                kind="rubric",
                intent=_text(found, "intent", where),
                reference=_text(found, "solution", where).strip(),
                answer=_text(answer, "answer", place),
                items=items,
            ),
            points=tuple(map(float, points)),
            about=_text(answer, "about", place),
            subject=_text(found, "subject", where) if "subject" in found else "",
        )


def _mapping(data: Any, keys: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise UsageError(f"{where}: expected a mapping with {', '.join(keys)}, found {data!r}")
    for key in data:
        if key not in keys:
            raise UsageError(f"{where}: unknown key {key!r}; {closest(str(key), keys)}")
    return data


def _text(data: Mapping[str, Any], key: str, where: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise UsageError(f"{where}: {key}: expected a text, found {value!r}")
    return value
