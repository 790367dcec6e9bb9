"""Labelled answers, read from YAML: what a judge is measured with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml

from pytest_webarena.checks.asking import Decision, Question, QuestionKind
from pytest_webarena.errors import UsageError, closest

__all__ = ["SHIPPED_ANSWERS", "SHIPPED_FORMULAS", "LabelledAnswer", "LabelledSet", "read_answers"]

SHIPPED_ANSWERS = Path(__file__).with_name("answers.yaml")
SHIPPED_FORMULAS = Path(__file__).with_name("formulas.yaml")

_KINDS: tuple[QuestionKind, ...] = ("equivalent", "unachievable", "formula")
"""Of one grade each; answers to rubrics are in files of their own."""
_QUESTION_KEYS = ("kind", "subject", "intent", "reference", "answers")
_OF_FORMULAS: Mapping[object, Decision] = {1: "correct", 0.5: "partially_correct", 0: "incorrect"}
_ANSWER_KEYS = ("about", "grade", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """One question with the grade that it should get."""

    question: Question
    grade: Decision
    about: str
    """What makes it hard, in a word or two."""
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet:
    """All of a file."""

    version: str
    """``name@hash`` of the file: measurements with different sets can't be compared."""
    answers: tuple[LabelledAnswer, ...]


def read_answers(path: Path = SHIPPED_ANSWERS) -> LabelledSet:
    """Read a set. `UsageError` names the first entry that can't be used."""
    where = f"labelled answers {path.name}"
    try:
        raw = path.read_bytes()
        data = yaml.safe_load(raw)
    except OSError as error:
        raise UsageError(f"{where}: expected a readable file at {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: expected YAML: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("questions"), list):
        raise UsageError(f"{where}: expected a mapping with a list 'questions'")
    if data.get("schema_version", 1) != 1:
        raise UsageError(f"{where}: expected schema_version 1, found {data['schema_version']!r}")
    answers = tuple(
        answer
        for number, question in enumerate(data["questions"])
        for answer in _answers(question, f"{where}: questions[{number}]")
    )
    if not answers:
        raise UsageError(f"{where}: expected at least one answer, found none")
    own = {answer.question.kind == "formula" for answer in answers}
    if len(own) > 1:
        raise UsageError(f"{where}: expected formulas or other questions, found both: a judge has a prompt for each")
    return LabelledSet(version=f"{path.stem}@{hashlib.sha256(raw).hexdigest()[:12]}", answers=answers)


def _answers(data: Any, where: str) -> Iterator[LabelledAnswer]:
    question = _mapping(data, _QUESTION_KEYS, where)
    kind: QuestionKind = question.get("kind", "equivalent")
    if kind not in _KINDS:
        raise UsageError(f"{where}: kind: {closest(str(kind), _KINDS)}")
    subject = _text(question, "subject", where) if "subject" in question else ""
    answers = question.get("answers")
    if not isinstance(answers, list):
        raise UsageError(f"{where}: expected a list 'answers'")
    for number, each in enumerate(answers):
        place = f"{where}.answers[{number}]"
        answer = _mapping(each, _ANSWER_KEYS, place)
        grade: Any = answer.get("grade")
        grade = _OF_FORMULAS.get(grade, grade) if kind == "formula" and not isinstance(grade, bool) else grade
        grades = ("correct", "incorrect") if kind == "unachievable" else get_args(Decision)
        if grade not in grades:
            raise UsageError(f"{place}: grade: expected one of {', '.join(grades)}, found {grade!r}")
        yield LabelledAnswer(
            question=Question(
                kind=kind,
                intent=_text(question, "intent", where),
                reference=_text(question, "reference", where),
                answer=_text(answer, "answer", place),
            ),
            grade=grade,
            about=_text(answer, "about", place),
            subject=subject,
        )


def _mapping(data: Any, keys: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise UsageError(f"{where}: expected a mapping with {', '.join(keys)}, found {data!r}")
    for key in data:
        if key not in keys:
            raise UsageError(f"{where}: unknown key {key!r}; {closest(str(key), keys)}")
    return data


def _text(data: Mapping[str, Any], key: str, where: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise UsageError(f"{where}: {key}: expected a text (in quotes, where it looks like a number), found {value!r}")
    return value
