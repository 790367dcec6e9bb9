"""What the kinds of this folder have in common: how an agent is told of its final answer, and what a missing one is."""

from __future__ import annotations

import re

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.checks.computed.extraction import MARKER, Said
from pytest_webarena.checks.kind import Judgement, View
from pytest_webarena.checks.text import normalise
from pytest_webarena.checks.undecided_answers import judge_or_undecided
from pytest_webarena.tasks.record_shapes import Field
from pytest_webarena.tasks.shapes import Bool

__all__ = ["MARKER_FIELD", "REFUSED", "asked_form", "is_refusal", "no_answer", "no_final_answer"]

REFUSED = "the agent said that the question can't be answered, but it can"
"""Why an answer like ``N/A: 7`` fails: it would be right whichever is."""

_LONGEST_REFUSAL = 60
"""Characters. An argument may well begin with "Not possible:"; what ends there is none."""
_LONGEST_APOLOGY = 300

_CANNOT = (
    r"(?:do not|don't|dont|did not|didn't|cannot|can not|can't|cant|could not|couldn't|will not|won't|would not"
    r"|wouldn't|(?:am|was) (?:unable|not able|not going) to|failed to)"
)
_TRY = (
    r"(?:know|solve|answer|prove|show|do|find|tell|say|complete|finish|figure|work|derive|determine|understand|provide"
    r"|give|respond|manage|establish|justify|demonstrate|compute|calculate|attempt|help (?:you|with)"
    r"|have (?:a|an|any|the|enough))"
)
_WORDS = r"(?: [a-z']+){0,10}"
_REFUSES = re.compile(
    rf"(?:i {_CANNOT} (?:really |actually |currently |even )?{_TRY}|(?:i am )?unable to {_TRY}|i (?:refuse|decline)"
    rf"|(?:i )?have no (?:idea|answer|solution|proof|clue)|(?:i )?(?:give|gave) up|no (?:answer|idea|clue)){_WORDS}"
    r"|i (?:am|was) (?:not sure|stuck|lost)(?: (?:here|at all))?|(?:i )?(?:skip|pass)(?: (?:this|it|on this|on it))?"
    r"|no (?:proof|response|comment)|no (?:solution|proof|response)(?: (?:given|found|provided|available|here|yet))+"
    r"|(?:(?:it|this) is )?(?:not |un|in)(?:achievable|feasible|possible|solvable|provable)(?: at all| here| for me)*"
    r"|idk|dunno|nothing|unknown|unanswered|unsolved|(?:left )?blank|null|nil|todo|tbd"
)
"""A sentence of words alone that gives up: with a number, a formula or a comma in it there may be more to it."""
_BESIDE = re.compile(
    r"(?:(?:i am )?(?:very |so |really )?(?:sorry|afraid)|(?:my )?apologies|i apologi[sz]e|unfortunately|but|n/a"
    r"|thank you|thanks|(?:this|it|that|the \w+) (?:cannot|can't|can not|could not) be \w+)(?: [a-z']+){0,6}"
)
"""What may be next to one."""
_LINK = re.compile(
    r"^(?:(?:(?:i am )?(?:very )?(?:sorry|afraid)|unfortunately|apologies|but|and|so|because|since|as|that|however) )+"
)
"""What such a sentence, or a part of one, may begin with."""

MARKER_FIELD = Field(
    key="marker",
    shape=Bool(),
    default=False,
    doc=(
        f"Whether agents must reason first and end with a line that begins with `{MARKER}`. The last such line "
        "decides; without one, the answer fails with the reason `no final answer`. With `false`, the whole answer "
        "counts."
    ),
    example="- choice: {options: [iron, tin, lead], is: B, marker: true}",
)


def asked_form(what: str, *, marker: bool) -> str:
    """What an agent is told of the form of an answer that is ``what``."""
    if not marker:
        return f"When you stop, your answer is {what}, and nothing else."
    return (
        "When you stop, your answer gives your reasons first. Its last line begins with "
        f"{MARKER} and then holds {what}, and nothing after it: no further words."
    )


def is_refusal(answer: str) -> bool:
    """Whether an answer does nothing but say that there is none: ``N/A`` and its like, or a few English sentences of
    somebody who gives up.

    >>> is_refusal("I can't solve this problem, sorry."), is_refusal("I can't see why, but n = 2k."), is_refusal("N/A")
    (True, False, True)
    """
    if len(answer) <= _LONGEST_REFUSAL and says_unachievable(answer):
        return True
    if len(answer) > _LONGEST_APOLOGY:
        return False
    text = re.sub(r"\bi'm\b", "i am", normalise(answer)).strip("\"'*_()[] ")
    sentences = (part.strip("\"'*_()[] ") for part in re.split(r"[.!?;:,]+(?:\s+|$)|\s+-+\s+", text))
    refuses = False
    for part in (_LINK.sub("", each) for each in sentences if each):
        if _REFUSES.fullmatch(part):
            refuses = True
        elif not _BESIDE.fullmatch(part):
            return False
    return refuses


def no_final_answer(said: Said, answer: str, view: View, expected: str, *, marker: bool) -> Judgement:
    """The judgement of an answer without a final one: not met if that was asked for by a marker, or if it is empty."""
    if marker or not answer.strip():
        return Judgement.of(False, expected=expected, actual=f'"{answer}"', why=said.missing)
    return judge_or_undecided("equivalent", expected, answer, view, said.missing)


def no_answer(view: View, expected: str) -> Judgement:
    """The judgement of an agent that said nothing."""
    reason = view.evidence.stop_reason
    why = "the agent gave no answer" if reason == "answered" else f"the agent was stopped ({reason}) before it answered"
    return Judgement.of(False, expected=expected, actual="no answer", why=why)
