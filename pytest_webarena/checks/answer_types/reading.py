"""Decides whether an answer gives the wanted values: met, not met, or undecided.

One principle, whatever the type. An answer that does not state the value is *not met*. One that states it, and nothing
else that the question does not account for, is *met*. Any other answer is *undecided*: it may deny the value, doubt it,
or give it for something else, and only a person or a judge model can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.checks.answer_types.accounting import unaccounted
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.answer_types.values import Absence, Value
from pytest_webarena.text import clip

__all__ = ["Outcome", "Reading", "read"]

Outcome = Literal["met", "not met", "undecided"]

_LONGEST = 4000
"""Longest answer that is read, in characters; a longer one is a copy of a page."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The outcome of reading one answer, and why it is not met."""

    outcome: Outcome
    why: str = ""


def read(answer: str, wanted: Sequence[Value], question: str, *, also: Iterable[str] = ()) -> Reading:
    """Returns whether an answer gives all wanted values.

    Args:
        answer: the agent's final answer.
        wanted: the values.
        question: what the agent was asked; its words are accounted for.
        also: other texts whose words are accounted for.

    >>> from decimal import Decimal
    >>> from pytest_webarena.checks.answer_types.values import NumberValue
    >>> six = [NumberValue(value=Decimal(6))]
    >>> [read(text, six, "How many lamps?").outcome for text in ("There are 6 lamps.", "7", "6 dozen")]
    ['met', 'not met', 'undecided']
    """
    if len(answer) > _LONGEST:
        return Reading("undecided", "it is too long to be read")
    words = tokens(answer)
    findings = [value.find(words, question) for value in wanted]
    for finding in findings:
        if not finding.stated and not finding.in_part:
            return Reading("not met", "it does not give the value")
    for finding in findings:
        if not finding.stated:
            return Reading("undecided", f'"{clip(finding.in_part, 60)}" may mean it')
    stated = frozenset().union(*(finding.stated for finding in findings))
    reasons = [value.reason for value in wanted if isinstance(value, Absence)]
    rest = unaccounted(
        words,
        stated,
        question,
        also=(*also, *reasons),
        negated=any(finding.negated for finding in findings),
        counted=sum(value.count for value in wanted),
    )
    if rest:
        return Reading("undecided", f'it also says "{clip(" ".join(rest), 60)}"')
    return Reading("met")
