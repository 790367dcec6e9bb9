"""What the kinds of this folder have in common: how an agent is told of its final answer, and what a missing one is."""

from __future__ import annotations

from pytest_webarena.checks.computed.extraction import MARKER
from pytest_webarena.checks.kind import Judgement, View
from pytest_webarena.tasks.record_shapes import Field
from pytest_webarena.tasks.shapes import Bool

__all__ = ["MARKER_FIELD", "REFUSED", "asked_form", "no_answer"]

REFUSED = "the agent said that the question can't be answered, but it can"
"""Why an answer like ``N/A: 7`` fails: it would be right whichever is."""

MARKER_FIELD = Field(
    key="marker",
    shape=Bool(),
    default=False,
    doc=(
        f"Whether agents are asked to reason first and to end with a line that begins with `{MARKER}`. The last such "
        "line decides then; an answer without one fails, for the reason `no final answer`. Otherwise the whole answer "
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


def no_answer(view: View, expected: str) -> Judgement:
    """The judgement of an agent that said nothing."""
    reason = view.evidence.stop_reason
    why = "the agent gave no answer" if reason == "answered" else f"the agent was stopped ({reason}) before it answered"
    return Judgement.of(False, expected=expected, actual="no answer", why=why)
