"""What the kind ``answer`` wants, and how an answer is read by it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_webarena.checks.answer_types.accounting import unaccounted
from pytest_webarena.checks.answer_types.mutants import spellings
from pytest_webarena.checks.answer_types.reading import Reading as Found
from pytest_webarena.checks.answer_types.reading import read
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.answer_types.values import Absence, Name, NumberValue, Value
from pytest_webarena.checks.ground import Ground
from pytest_webarena.checks.json_answer import explain_schema, same_json
from pytest_webarena.checks.text import ANY_TEXT, TextMatch, judge_text, normalise
from pytest_webarena.text import clip

__all__ = ["UNACHIEVABLE", "AnswerSpec", "Wanted", "read_answer", "references", "says_unachievable"]

UNACHIEVABLE = (
    "n/a",
    "na",
    "not achievable",
    "unachievable",
    "infeasible",
    "not feasible",
    "impossible",
    "not possible",
)
"""How an agent says that a task can't be done: one of these, alone or followed by punctuation and a reason."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A value that may be null, apart from no value."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpec:
    """What the answer must be; all that is given must hold."""

    value: Value | None = None
    """The typed value."""
    includes: tuple[Name, ...] = ()
    text: TextMatch = ANY_TEXT
    """Conditions on the whole answer, compared literally: ``exact``, ``one_of``, ``excludes``."""
    unachievable: str = ""
    """Why the task can't be done; the agent must say that it can't."""
    asked: str = ""
    """The type that an impossible task asks for, so that its instruction does not give it away; empty if it asks for
    an action, or for a form of its own."""
    ground: Ground | None = None
    """What an audit attacks of an impossible task; None: it declares nothing."""
    json: Wanted | None = None
    any_order: bool = False
    schema: Any = None

    @property
    def values(self) -> tuple[Value, ...]:
        """Everything that is read from the answer."""
        return (*((self.value,) if self.value is not None else ()), *self.includes)

    def __str__(self) -> str:
        parts = [str(self.text)] if self.text else []
        parts += map(str, self.values)
        if self.unachievable:
            parts.append(f'"N/A" ({self.unachievable})')
        if self.json:
            parts.append(f"the JSON {_dumps(self.json.value)}")
        if self.schema is not None:
            parts.append(f"JSON that fits {_dumps(self.schema)}")
        return "; ".join(parts)


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


def read_answer(spec: AnswerSpec, answer: str, question: str) -> Found:
    """Returns whether an answer meets all conditions; without a judge model."""
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


def references(spec: AnswerSpec) -> Iterator[str]:
    """Yields answers that a check must accept, as its keys spell them out. A schema or a pattern spells out none."""
    if spec.json:
        yield json.dumps(spec.json.value, ensure_ascii=False)
    elif spec.unachievable:
        yield next(spellings(Absence(reason=spec.unachievable)))
    elif spec.text.positive:
        yield from (text for text in (spec.text.exact, *spec.text.one_of) if text is not None)
    elif spec.values:
        first, *rest = (list(_spelt(value)) for value in spec.values)
        yield from ("\n".join([form, *(forms[0] for forms in rest if forms)]) for form in first)


def _spelt(value: Value) -> Iterator[str]:
    """Yields a value and its aliases; a number with its unit."""
    match value:
        case Name():
            yield from value.forms
        case NumberValue(unit=unit) if unit:
            yield f"{value.value:f} {unit}"
        case _:
            yield from itertools.islice(spellings(value), 1)


def _dumps(value: Any) -> str:
    return clip(json.dumps(value, ensure_ascii=False), 200)
