"""The kind ``answer``: what the agent said when it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pytest_webarena.checks.answer_keys import FORM
from pytest_webarena.checks.answer_spec import (
    UNACHIEVABLE,
    AnswerSpec,
    Wanted,
    read_answer,
    references,
    says_unachievable,
)
from pytest_webarena.checks.answer_types.values import (
    Date,
    Duration,
    Name,
    Names,
    NumberValue,
    Time,
    Url,
    Value,
    YesNo,
)
from pytest_webarena.checks.judge_protocol import QuestionKind
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.undecided_answers import judge_or_undecided

__all__ = ["ANSWER", "UNACHIEVABLE", "AnswerSpec", "Wanted", "says_unachievable"]


def judge(spec: AnswerSpec, view: View) -> Judgement:
    """Judge the agent's answer."""
    answer = view.evidence.text_answer
    expected = str(spec)
    if answer is None:
        reason = view.evidence.stop_reason
        stopped = f"the agent was stopped ({reason}) before it answered"
        why = "the agent gave no answer" if reason == "answered" else stopped
        return Judgement.of(False, expected=expected, actual="no answer", why=why)
    found = read_answer(spec, answer, view.intent)
    if found.outcome == "undecided":
        kind: QuestionKind = "unachievable" if spec.unachievable else "equivalent"
        return judge_or_undecided(kind, spec.unachievable or expected, answer, view, found.why)
    return Judgement.of(found.outcome == "met", expected=expected, actual=f'"{answer}"', why=found.why)


_NOT_DONE = {"type": "string", "description": "N/A, and why the task can't be done."}
_SCHEMAS: dict[str, Mapping[str, Any]] = {
    "number": {"anyOf": [{"type": "number"}, _NOT_DONE]},
    "names": {"anyOf": [{"type": "array", "items": {"type": "string"}}, _NOT_DONE]},
    "yes_no": {"anyOf": [{"type": "string", "enum": ["yes", "no"]}, _NOT_DONE]},
}
"""JSON schemas of types that are no texts."""

_EXAMPLES: dict[str, Value] = {
    "number": NumberValue(value=Decimal(1)),
    "name": Name(forms=("",)),
    "names": Names(names=()),
    "date": Date(value=(1, 1, 1)),
    "time": Time(minutes=0),
    "duration": Duration(length=Fraction(1)),
    "yes_no": YesNo(value=True),
    "text": Name(forms=("",), is_text=True),
    "url": Url(value=""),
}
"""A value of each type, for its instruction."""


_TYPE_OF = {example.instruction(): name for name, example in _EXAMPLES.items()}


def _asked(spec: AnswerSpec) -> str:
    """Returns the type of answer that agents are asked for; empty if none is known."""
    if spec.unachievable:
        return spec.asked
    return _TYPE_OF.get(spec.value.instruction(), "") if spec.value is not None else ""


def _asks(spec: AnswerSpec) -> str:
    """Returns the sentence that asks for an answer of the wanted type; empty if no type is known."""
    if not (name := _asked(spec)):
        return ""
    return f"{_EXAMPLES[name].instruction()} If the task can't be done, answer N/A and why."


def _schema(spec: AnswerSpec) -> Mapping[str, Any] | None:
    """Returns the JSON schema of an answer of the wanted type; None if no type is known."""
    if not (name := _asked(spec)):
        return None
    return {**_SCHEMAS.get(name, {"type": "string"}), "description": _asks(spec)}


def _category(spec: AnswerSpec) -> str:
    return "unachievable" if spec.unachievable else "information"


ANSWER: Kind[AnswerSpec] = Kind(
    name="answer",
    doc=(
        "Checks the answer that the agent stops with, by its type. Agents receive its form. The answer is met if it "
        "states the value, and nothing that the question does not account for; not met if it does not state it; else "
        "[undecided](#scores-and-verdicts). A text alone is short for `exact`."
    ),
    form=FORM,
    judge=judge,
    category=_category,
    looks_at=lambda spec: {"answer"},
    asks=_asks,
    answer_schema=_schema,
    answers=references,
    examples=(
        "- answer: {number: 84.97, unit: USD}",
        "- answer: {name: Ann Lee}",
        "- answer: {unachievable: the shop lists no phone number, type: number}",
    ),
)
