"""Labelled answers to rubrics for measuring a judge's points, read from YAML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.checks.computed.rubric_files import read_items
from pytest_webarena.checks.judge_protocol import Question
from pytest_webarena.errors import UsageError
from pytest_webarena.llm_judge.labelled_files import list_in, mapping_of, read_labelled, text_in

__all__ = ["SHIPPED_RUBRICS", "GradedAnswers", "MarkedAnswer", "read_marked"]

SHIPPED_RUBRICS = Path(__file__).with_name("rubrics.yaml")

_RUBRIC_KEYS = ("subject", "intent", "solution", "items", "answers")
_ANSWER_KEYS = ("about", "points", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedAnswer:
    """An answer with the points that it should get."""

    name: str
    """Name of the answer: ``2.4`` is the fourth answer to the second rubric."""
    question: Question
    points: tuple[float, ...]
    """Points, one number per item."""
    about: str
    """What makes the answer hard to grade, in a word or two."""
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedAnswers:
    """All answers of a file."""

    version: str
    """``name@hash`` of the file."""
    answers: tuple[MarkedAnswer, ...]


def read_marked(path: Path = SHIPPED_RUBRICS) -> GradedAnswers:
    """Read a set. Raises `UsageError` that names the first entry that can't be used."""
    where = f"labelled rubrics {path.name}"
    rubrics, version = read_labelled(path, where, "rubrics")
    answers = tuple(
        answer
        for number, rubric in enumerate(rubrics, start=1)
        for answer in _answers(rubric, number, f"{where}: rubric {number}")
    )
    if not answers:
        raise UsageError(f"{where}: expected at least one answer, found none")
    return GradedAnswers(version=version, answers=answers)


def _answers(data: Any, rubric: int, where: str) -> Iterator[MarkedAnswer]:
    found = mapping_of(data, _RUBRIC_KEYS, where)
    items = read_items(found.get("items"), where)
    for number, each in enumerate(list_in(found, "answers", where), start=1):
        place = f"{where}, answer {number}"
        answer = mapping_of(each, _ANSWER_KEYS, place)
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
                intent=text_in(found, "intent", where),
                reference=text_in(found, "solution", where).strip(),
                answer=text_in(answer, "answer", place),
                items=items,
            ),
            points=tuple(map(float, points)),
            about=text_in(answer, "about", place),
            subject=text_in(found, "subject", where) if "subject" in found else "",
        )
