"""The kind ``human``: whether the task was done is left to people, so the check is always undecided."""

from __future__ import annotations

from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.tasks.shapes import Text

__all__ = ["HUMAN"]


def _judge(question: str, view: View) -> Judgement:
    del view  # nothing that an agent does decides it
    return Judgement.undecided(expected=question, why="people decide it: webarena judge annotate sheet RUN")


HUMAN: Kind[str] = Kind(
    name="human",
    doc=(
        "Leaves the decision to people: the check is always *undecided*, and no judge model is asked. `webarena judge "
        "annotate sheet RUN` writes a sheet for their labels, `compare` counts them."
    ),
    form=Text("a question to people"),
    judge=_judge,
    looks_at=lambda spec: ("answer", "place", "data", "requests"),
    examples=("- human: Was the cheapest red lamp put into the basket?",),
)
