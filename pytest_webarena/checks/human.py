"""The kind ``human``: people decide whether the task was done, by labels of the recorded trial."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.evidence import PersonLabel
from pytest_webarena.tasks.placeholders import readable
from pytest_webarena.tasks.shapes import Text

__all__ = ["HUMAN"]


def _judge(question: str, view: View) -> Judgement:
    sites = view.evidence.sites
    asked = {question, readable(question, sites, sites)}
    labels = [each for each in view.evidence.labels if each.question in asked]
    yes = sum(each.done for each in labels)
    if not labels:
        other = ": people's labels answer other questions" if view.evidence.labels else ""
        why = f"no person has labelled the trial{other}; webarena judge annotate sheet RUN"
        return Judgement.undecided(expected=question, why=why)
    if 0 < yes < len(labels):
        return Judgement.undecided(expected=question, actual=_shown(labels), why="people disagree")
    return Judgement.of(yes > 0, expected=question, actual=_shown(labels))


def _shown(labels: Sequence[PersonLabel]) -> str:
    """Return who answered what and when, and how many agree."""
    each = (
        f"{label.by}: {'yes' if label.done else 'no'} ({datetime.fromtimestamp(label.at, UTC):%Y-%m-%d %H:%M} UTC)"
        for label in labels
    )
    yes = sum(label.done for label in labels)
    return f"{', '.join(each)}; {max(yes, len(labels) - yes)} of {len(labels)} agree"


HUMAN: Kind[str] = Kind(
    name="human",
    doc=(
        "Leaves the decision to people, and asks no judge model. The check is *undecided* until people [label the "
        "recorded trial](judge.md#verdicts-by-people), and if they disagree."
    ),
    form=Text("a question to people"),
    judge=_judge,
    looks_at=lambda spec: ("answer", "place", "data", "requests"),
    examples=("- human: Was the cheapest red lamp put into the basket?",),
)
