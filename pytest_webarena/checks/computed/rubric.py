"""The kind ``rubric``: a judge model gives points for each item, with words of the answer as evidence; we add them up.

The judge is shown hostile text, so little is taken from it: points within what an item is worth, and only where the
quote really stands in the answer. A reply that grades an item not at all, twice, or beyond its worth is the judge's
fault and gives no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.checks.computed.asking import REFUSED, no_answer
from pytest_webarena.checks.computed.quotes import found_in
from pytest_webarena.checks.computed.rubric_files import MOST_ITEMS, read_rubric
from pytest_webarena.checks.judge_protocol import Award, JudgeOff, Question, RubricItem
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.text import literal
from pytest_webarena.checks.verdict import Part
from pytest_webarena.errors import JudgeError, UsageError
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.placeholders import resolve_placeholders
from pytest_webarena.tasks.record_shapes import Field, ListOf, Record
from pytest_webarena.tasks.shapes import Fault, Number, Text
from pytest_webarena.text import clip

__all__ = ["RUBRIC", "RubricSpec", "parts_of", "question_of"]


_LONGEST_REFUSAL = 60
"""Characters. A longer argument may begin with "Not possible:"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricSpec:
    """What earns points, and how many are enough."""

    items: tuple[RubricItem, ...] = ()
    """None yet: they are still to be written (``webarena judge rubric author``)."""
    solution: str = ""
    threshold: float = 1.0

    @property
    def most(self) -> float:
        """All points there are."""
        return math.fsum(item.points for item in self.items)

    def __str__(self) -> str:
        enough = "" if self.threshold >= 1 else f", {self.threshold:.0%} of them"
        count = f"{len(self.items)} item{'s' * (len(self.items) != 1)}"
        return f"{self.most:g} points for {count}{enough}" if self.items else "points by a rubric without items"


def _build(*, items: tuple[RubricItem, ...], file: str, solution: str, threshold: float) -> RubricSpec:
    return RubricSpec(items=items, solution=solution.strip(), threshold=threshold)


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    items, file = values["items"], values["file"]
    if items and file:
        return Fault("either 'items' or 'file'", "both")
    if not items and not file and not values["solution"].strip():
        return Fault("'items', a 'file' with them, or at least a 'solution' to write them from", "neither")
    if len(items) > MOST_ITEMS:
        return Fault(f"at most {MOST_ITEMS} items", str(len(items)))
    if file and not reading.path.startswith("<"):  # a text that is no file has nothing beside it
        try:
            values["items"] = read_rubric(Path(reading.path).parent / file)
        except UsageError as error:
            return Fault(
                "a file with a rubric's items next to the task file",
                str(error),
                "webarena judge rubric author FILE::ID writes one, for a task with a 'solution'",
            )
    return None


_ITEM: Any = Record(
    "rubric item",
    RubricItem,
    [
        Field(
            key="points",
            shape=Number(float, "a number above 0", above=0),
            doc="Maximum points. Part of them may be given.",
            example="- rubric: {items: [{points: 4, what: Names the force.}]}",
        ),
        Field(
            key="what",
            shape=Text("what earns them"),
            doc="What the answer must do for the points, precise enough that others decide the same.",
            example="- rubric: {items: [{points: 4, what: Names the force.}]}",
        ),
    ],
    doc="One item that earns points.",
    owner="an item of a rubric",
)

FORM: Any = Record(
    "rubric check",
    _build,
    [
        Field(
            key="items",
            shape=ListOf(_ITEM, label="a list of items"),
            default=(),
            default_text="none",
            doc=("The items that earn points. The score is the share of all points; the points may have any sum."),
            example="- rubric: {items: [{points: 4, what: Names the force.}, {points: 6, what: Finds its size.}]}",
        ),
        Field(
            key="file",
            shape=Text("a file", strip=True),
            default="",
            default_text="none",
            doc=(
                "A YAML file with the items, in the folder of the task file or below. `webarena judge rubric "
                "author` writes it; a person must review it before use."
            ),
            example="- rubric: {file: rubrics/falling-stone.yaml}",
        ),
        Field(
            key="solution",
            shape=Text("a solution"),
            default="",
            default_text="none",
            doc=(
                "A correct solution. The judge sees it with the items, and items are written from it. An "
                "answer that repeats it word for word gets all points without a judge."
            ),
            example="- rubric: {solution: 'Both are even, and so is their sum.', file: rubrics/even.yaml}",
        ),
        Field(
            key="threshold",
            shape=Number(float, "a number above 0 and at most 1", above=0, high=1),
            default=1.0,
            default_text="all points",
            doc="The share of points from which the check passes. The score stays the share.",
            example="- rubric: {items: [{points: 4, what: Names the force.}], threshold: 0.7}",
        ),
    ],
    rule=_fault,
    doc="The items, and how many points are enough.",
    owner="a rubric check",
)


def judge(spec: RubricSpec, view: View) -> Judgement:
    """Have the answer graded, and add up what holds."""
    answer, expected = view.evidence.text_answer, str(spec)
    if not spec.items:
        why = "the rubric has no items yet: webarena judge rubric author FILE::ID writes them from its solution"
        return Judgement.unknown(expected=expected, why=why)
    if answer is None or not answer.strip():
        return no_answer(view, expected)
    actual = f'"{clip(answer, 500)}"'
    if not any(map(str.isalnum, answer)):
        return Judgement.of(False, expected=expected, actual=actual, why="there is not a word in the answer")
    if len(answer) <= _LONGEST_REFUSAL and says_unachievable(answer):
        return Judgement.of(False, expected=expected, actual=actual, why=REFUSED)
    if spec.solution and literal(answer) == literal(spec.solution):
        return Judgement.of(True, expected=expected, actual=actual, why="it is the reference solution itself")
    if view.asker is None:
        why = "it needs a judge model, and there is none (--judge)"
        return Judgement.unknown(expected=expected, actual=actual, why=why, cause="judge")
    intent = resolve_placeholders(view.intent, view.evidence.sites)
    try:
        grade = view.asker.ask(question_of(spec, intent, answer))
    except JudgeOff as off:
        return Judgement.unknown(expected=expected, actual=actual, why=str(off), cause="judge")
    except JudgeError as error:
        return Judgement.unknown(expected=expected, actual=actual, why=str(error), cause=error.cause)
    parts = parts_of(spec.items, grade.awards, answer)
    total = math.fsum(part.points for part in parts)
    score = min(1.0, max(0.0, total / spec.most))
    why = f"{total:g} of {spec.most:g} points: {', '.join(_told(parts))}"
    if spec.threshold < 1:
        why += f"; {spec.threshold * spec.most:g} are enough"
    return Judgement(
        score=score,
        expected=expected,
        actual=actual,
        why=f"{why} ({grade.model}, {grade.prompt})",
        threshold=spec.threshold,
        parts=parts,
    )


def question_of(spec: RubricSpec, intent: str, answer: str) -> Question:
    """What a judge is asked about an answer."""
    return Question(kind="rubric", intent=intent, reference=spec.solution, answer=answer, items=spec.items)


def parts_of(items: tuple[RubricItem, ...], awards: tuple[Award, ...], answer: str) -> tuple[Part, ...]:
    """What each item comes to. Points without words of the answer to show for them don't count."""
    return tuple(_part(item, award, answer) for item, award in zip(items, awards, strict=True))


def _part(item: RubricItem, award: Award, answer: str) -> Part:
    why = ""
    if award.points and not award.quote:
        why = f"{award.points:g} given without a quote"
    elif award.points and not found_in(award.quote, answer):
        why = f"{award.points:g} given, but the quote is not in the answer"
    return Part(
        what=item.what,
        points=0.0 if why else award.points,
        of=item.points,
        given=award.points,
        quote=clip(award.quote, 500),
        why=why,
    )


def _told(parts: tuple[Part, ...]) -> Iterator[str]:
    for number, part in enumerate(parts, start=1):
        yield f"item {number} {part.points:g}/{part.of:g}{f' ({part.why})' if part.why else ''}"


def _asks(spec: RubricSpec) -> str:
    return (
        "When you stop, your answer is the whole solution, in plain text or LaTeX: every step that it rests on and why "
        "it holds, then the result. It is graded step by step, and what is not written down earns nothing."
    )


RUBRIC: Kind[RubricSpec] = Kind(
    name="rubric",
    doc=(
        "Gives points for items that the answer fulfils. The [judge model](judge.md) quotes the answer for "
        "each item; a quote that is not in the answer earns nothing. The score is the share of points. See "
        "[rubrics](computed.md#rubrics)."
    ),
    form=FORM,
    judge=judge,
    graded=True,
    category=lambda spec: "information",
    looks_at=lambda spec: {"answer"},
    needs_judge=lambda spec: True,
    asks=_asks,
    examples=(
        "- rubric:\n    items:\n      - {points: 4, what: Shows that the sum of two odd numbers is even.}\n"
        "      - {points: 6, what: Concludes that no odd number of odd numbers sums to 50.}\n    threshold: 0.7",
    ),
)
