"""Labelled answers for measuring a judge, read from YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pytest_webarena.checks.judge_protocol import Decision, Question, QuestionKind
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.llm_judge.labelled_files import list_in, mapping_of, read_labelled, text_in

__all__ = [
    "SHIPPED_ANSWERS",
    "SHIPPED_FORMULAS",
    "SHIPPED_RULES",
    "LabelledAnswer",
    "LabelledSet",
    "read_answers",
    "set_of",
]

SHIPPED_ANSWERS = Path(__file__).with_name("answers.yaml")
SHIPPED_FORMULAS = Path(__file__).with_name("formulas.yaml")
SHIPPED_RULES = Path(__file__).with_name("rules.yaml")

_KINDS: tuple[QuestionKind, ...] = ("equivalent", "unachievable", "formula", "rule")
"""Kinds of question with one grade; labelled answers to rubrics have files of their own (`rubric_answers`)."""
_QUESTION_KEYS = ("kind", "subject", "intent", "reference", "answers")
_SETS: Mapping[QuestionKind, str] = {"formula": "formulas", "rule": "rules"}
"""Kinds of question with a prompt, and therefore a set, of their own."""
_OF_NUMBERS: Mapping[object, Decision] = {1: "correct", 0.5: "partially_correct", 0: "incorrect"}
_ANSWER_KEYS = ("about", "grade", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """A question with the grade that it should get."""

    question: Question
    grade: Decision
    about: str
    """What makes the answer hard to grade, in a word or two."""
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet:
    """All answers of a file."""

    version: str
    """``name@hash`` of the file; measurements with different sets can't be compared."""
    answers: tuple[LabelledAnswer, ...]


def set_of(kind: QuestionKind) -> str:
    """Return the set that contains questions of this kind, by its name for ``--set``."""
    return _SETS.get(kind, "answers")


def read_answers(path: Path = SHIPPED_ANSWERS) -> LabelledSet:
    """Read a set. Raises `UsageError` that names the first entry that can't be used."""
    where = f"labelled answers {path.name}"
    questions, version = read_labelled(path, where, "questions")
    answers = tuple(
        answer
        for number, question in enumerate(questions)
        for answer in _answers(question, f"{where}: questions[{number}]")
    )
    if not answers:
        raise UsageError(f"{where}: expected at least one answer, found none")
    own = {set_of(answer.question.kind) for answer in answers}
    if len(own) > 1:
        one = sorted(own - {"answers"})[0]
        raise UsageError(f"{where}: expected {one} or other questions, found both: a judge has a prompt for each")
    return LabelledSet(version=version, answers=answers)


def _answers(data: Any, where: str) -> Iterator[LabelledAnswer]:
    question = mapping_of(data, _QUESTION_KEYS, where)
    kind: QuestionKind = question.get("kind", "equivalent")
    if kind not in _KINDS:
        raise UsageError(f"{where}: kind: {closest(str(kind), _KINDS)}")
    subject = text_in(question, "subject", where) if "subject" in question else ""
    for number, each in enumerate(list_in(question, "answers", where)):
        place = f"{where}.answers[{number}]"
        answer = mapping_of(each, _ANSWER_KEYS, place)
        grade: Any = answer.get("grade")
        if kind in _SETS and isinstance(grade, int | float) and not isinstance(grade, bool):
            grade = _OF_NUMBERS.get(grade, grade)
        grades = ("correct", "incorrect") if kind == "unachievable" else get_args(Decision)
        if grade not in grades:
            raise UsageError(f"{place}: grade: expected one of {', '.join(grades)}, found {grade!r}")
        yield LabelledAnswer(
            question=Question(
                kind=kind,
                intent=text_in(question, "intent", where),
                reference=text_in(question, "reference", where),
                answer=text_in(answer, "answer", place),
            ),
            grade=grade,
            about=text_in(answer, "about", place),
            subject=subject,
        )
