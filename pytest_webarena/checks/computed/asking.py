"""What the kinds of this folder have in common: how an agent is told of its final answer, and what a missing one is."""

from __future__ import annotations

from pytest_webarena.checks.computed.extraction import MARKER, Said
from pytest_webarena.checks.kind import Judgement, View
from pytest_webarena.checks.undecided_answers import judge_or_undecided
from pytest_webarena.tasks.record_shapes import Field
from pytest_webarena.tasks.shapes import Bool

__all__ = ["MARKER_FIELD", "REFUSED", "asked_form", "no_answer", "no_final_answer"]

REFUSED = "the agent said that the question can't be answered, but it can"
"""Why an answer like ``N/A: 7`` fails: it would be right whichever is."""

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
