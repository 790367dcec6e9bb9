"""Decides whether an answer gives the wanted values: met, not met, or undecided.

One principle, whatever the type. An answer that does not state the value is *not met*. One that states it, and nothing
else that the question does not account for, is *met*. Any other answer is *undecided*: it may deny the value, doubt it,
or give it for something else, and only a person or a judge model can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.checks.answer_types.accounting import is_content, unaccounted
from pytest_webarena.checks.answer_types.tokens import Token, tokens
from pytest_webarena.checks.answer_types.values import Absence, Finding, Value
from pytest_webarena.text import clip

__all__ = ["Outcome", "Reading", "read"]

Outcome = Literal["met", "not met", "undecided"]

_LONGEST = 4000
"""Longest answer that is read, in characters; a longer one is a copy of a page."""

_BREAKS_OFF = re.compile(r"\.\.\.|…")


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
    words = tokens(answer) if len(answer) <= _LONGEST else ()
    if len(answer) > _LONGEST or sum(len(word.text) for word in words) > _LONGEST:
        return Reading("undecided", "it is too long to be read")
    findings = [value.find(words, question) for value in wanted]
    for finding in findings:
        if not finding.stated and not finding.in_part:
            return Reading("not met", "it does not give the value")
    if _BREAKS_OFF.search(answer) and not any(_BREAKS_OFF.search(str(value)) for value in wanted):
        return Reading("undecided", "it breaks off: ...")
    for finding in findings:
        if not finding.stated:
            part = clip(finding.in_part, 60)
            return Reading("undecided", part if part.startswith("it ") else f'"{part}" may mean it')
    if why := _mixed_up(words, wanted, findings) or _half_compared(words, findings, question):
        return Reading("undecided", why)
    stated = frozenset().union(*(finding.stated for finding in findings))
    reasons = [value.reason for value in wanted if isinstance(value, Absence)]
    rest = unaccounted(
        words,
        stated,
        question,
        also=(*also, *reasons),
        negated=any(finding.negated for finding in findings),
        counted=sum(value.count for value in wanted),
        named=frozenset().union(
            *(finding.stated for value, finding in zip(wanted, findings, strict=True) if value.count)
        ),
    )
    if rest:
        return Reading("undecided", f'it also says "{clip(" ".join(rest), 60)}"')
    return Reading("met")


def _half_compared(answer: Sequence[Token], findings: Sequence[Finding], question: str) -> str:
    """Returns why an answer may give one side of a comparison: the question compares, and it does so in part."""
    asked = {token.plain for token in tokens(question)}
    given = {token.plain for token in answer}
    stated = frozenset().union(*(finding.stated for finding in findings))
    rest = [token for place, token in enumerate(answer) if place not in stated]
    if "than" not in asked or not any(is_content(token) and token.plain in asked for token in rest):
        return ""
    return "" if "than" in given else "it may speak of one side of the comparison"


def _mixed_up(answer: Sequence[Token], wanted: Sequence[Value], findings: Sequence[Finding]) -> str:
    """Returns why it is unclear which value is given for what: one place states two values, or quantities are in
    another order than they are wanted in. Names may be in any order; `Names` has an order of its own."""
    if len(wanted) < 2:
        return ""
    for place, finding in enumerate(findings):
        if any(finding.stated <= other.stated or finding.stated >= other.stated for other in findings[:place]):
            return "it gives one value for two"
    stated = frozenset().union(*(finding.stated for finding in findings))
    labelled = any(is_content(answer[place]) for place in range(min(stated), max(stated)) if place not in stated)
    starts = [
        min(finding.stated) for value, finding in zip(wanted, findings, strict=True) if labelled or not value.count
    ]
    return "" if starts == sorted(starts) else "it gives the values in another order"
