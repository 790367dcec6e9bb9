"""The kind ``answer``: what the agent said when it stopped."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pytest_webarena.checks.answer_keys import FORM, UNACHIEVABLE, AnswerSpec, Wanted
from pytest_webarena.checks.answer_types.accounting import unaccounted
from pytest_webarena.checks.answer_types.reading import Reading as Found
from pytest_webarena.checks.answer_types.reading import read
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.answer_types.values import (
    Absence,
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
from pytest_webarena.checks.json_answer import explain_schema, same_json
from pytest_webarena.checks.judge_protocol import QuestionKind
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.text import judge_text, normalise
from pytest_webarena.checks.undecided_answers import judge_or_undecided
from pytest_webarena.text import clip

__all__ = ["ANSWER", "UNACHIEVABLE", "AnswerSpec", "Wanted", "says_unachievable"]

_SAYS = re.compile(
    rf"(?:{'|'.join(map(re.escape, sorted(UNACHIEVABLE, key=len, reverse=True)))})"
    r"(?:$|\s*[:;,.!(\[]|\s+-|-\s|\s+(?:because|since|as)\b|(?<=/a)\s)"
)
_AROUND = "\"'* "
_FENCED = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL | re.IGNORECASE)


def says_unachievable(answer: str) -> bool:
    """Whether an answer says that the task can't be done.

    >>> says_unachievable("N/A: no such page"), says_unachievable("Impossible Burger")
    (True, False)
    """
    return _SAYS.match(normalise(answer).strip(_AROUND)) is not None


def judge(spec: AnswerSpec, view: View) -> Judgement:
    """Judge the agent's answer."""
    answer = view.evidence.text_answer
    expected = str(spec)
    if answer is None:
        reason = view.evidence.stop_reason
        stopped = f"the agent was stopped ({reason}) before it answered"
        why = "the agent gave no answer" if reason == "answered" else stopped
        return Judgement.of(False, expected=expected, actual="no answer", why=why)
    found = _judged(spec, answer, view.intent)
    if found.outcome == "undecided":
        kind: QuestionKind = "unachievable" if spec.unachievable else "equivalent"
        return judge_or_undecided(kind, spec.unachievable or expected, answer, view, found.why)
    return Judgement.of(found.outcome == "met", expected=expected, actual=f'"{answer}"', why=found.why)


def _judged(spec: AnswerSpec, answer: str, question: str) -> Found:
    if spec.unachievable:
        return read(answer, [Absence(reason=spec.unachievable)], question)
    if spec.text and not (literal := judge_text(spec.text, answer)).holds:
        if says_unachievable(answer):
            return Found("not met", "the agent said that the task can't be done, but it can")
        return Found("not met", literal.why)
    if spec.json or spec.schema is not None:
        found = _judge_json(spec, answer, question)
        if found.outcome != "met":
            return found
    return read(answer, spec.values, question) if spec.values else Found("met")


def _judge_json(spec: AnswerSpec, answer: str, question: str) -> Found:
    fenced = _FENCED.search(answer)
    if fenced:
        around = tokens(answer[: fenced.start()] + "\n" + answer[fenced.end() :])
        if rest := unaccounted(around, (), question):
            return Found("undecided", f'next to the code fence it says "{clip(" ".join(rest), 60)}"')
    try:
        text = (fenced.group(1) if fenced else answer).strip()
        value = json.loads(text, parse_constant=_no_number, object_pairs_hook=_each_once)
    except _Ambiguous as error:
        return Found("not met", str(error))
    except (ValueError, RecursionError):
        return Found("not met", "it is not JSON")
    if spec.json and not same_json(value, spec.json.value, any_order=spec.any_order):
        return Found("not met", "the values differ")
    why = explain_schema(value, spec.schema) if spec.schema is not None else ""
    return Found("not met", why) if why else Found("met")


class _Ambiguous(Exception):
    """Which key an object has twice."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers differ in which of two values they take, so an answer with both says neither."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for number, (name, _) in enumerate(pairs) if name in dict(pairs[:number]))
        raise _Ambiguous(f"it has the key {clip(json.dumps(twice), 80)} more than once, so it says several things")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


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
    "duration": Duration(seconds=Fraction(1)),
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
    examples=(
        "- answer: {number: 84.97, unit: USD}",
        "- answer: {name: Ann Lee}",
        "- answer: {unachievable: the shop lists no phone number, type: number}",
    ),
)
