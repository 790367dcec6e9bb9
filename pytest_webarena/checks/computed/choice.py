"""The kind ``choice``: one of several options, named by its letter or said in its words."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Any

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.checks.computed.asking import MARKER_FIELD, REFUSED, asked_form, no_answer, no_final_answer
from pytest_webarena.checks.computed.chosen import may_name_option, read_choice
from pytest_webarena.checks.computed.extraction import final_answers
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.text import normalise
from pytest_webarena.checks.undecided_answers import judge_or_undecided
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Field, ListOf, Record
from pytest_webarena.tasks.shapes import Fault, Text
from pytest_webarena.text import clip

__all__ = ["CHOICE", "ChoiceSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceSpec:
    """The options, and which of them are right."""

    options: tuple[str, ...]
    right: tuple[str, ...]
    """Letters; naming any one of them is right."""
    marker: bool = False

    def __str__(self) -> str:
        named = " or ".join(f"{letter} ({clip(self.options[ord(letter) - 65], 60)})" for letter in self.right)
        return f"{named} of {len(self.options)} options"

    @property
    def chance(self) -> float:
        """How often a blind guess is right."""
        return len(self.right) / len(self.options)


def _build(**values: Any) -> ChoiceSpec:
    right = dict.fromkeys(letter.strip().upper() for letter in values["is"])
    return ChoiceSpec(options=values["options"], right=tuple(right), marker=values["marker"])


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    options = values["options"]
    if not 2 <= len(options) <= 26:
        return Fault("2 to 26 options", str(len(options)))
    letters = string.ascii_uppercase[: len(options)]
    for letter in values["is"]:
        if letter.strip().upper() not in tuple(letters):
            return Fault(f"the letter of an option, {letters[0]} to {letters[-1]}", f"'{clip(letter)}'")
    if len({letter.strip().upper() for letter in values["is"]}) == len(options):
        return Fault("an option that is wrong", "none")
    said = [normalise(option) for option in options]
    twice = next((option for option in said if said.count(option) > 1), None)
    return Fault("options that differ", f"'{clip(twice)}' twice") if twice is not None else None


FORM: Any = Record(
    "choice check",
    _build,
    [
        Field(
            key="options",
            shape=ListOf(Text("an option"), label="a list of options", low=1),
            doc="The options in order; the first is A. Agents see them with their letters below the intent.",
            example="- choice: {options: [iron, tin, lead], is: B}",
        ),
        Field(
            key="is",
            shape=ListOf(Text("a letter"), or_one=True, label="a letter or a list of letters", low=1),
            doc="The correct letter, or several letters of which any is correct.",
            example="- choice: {options: [iron, tin, lead], is: B}",
        ),
        MARKER_FIELD,
    ],
    rule=_fault,
    doc="The options and the correct one.",
    owner="a choice check",
)


def judge(spec: ChoiceSpec, view: View) -> Judgement:
    """Judge the agent's last word."""
    answer, expected = view.evidence.text_answer, str(spec)
    if answer is None:
        return no_answer(view, expected)
    actual = f'"{answer}"'
    said = final_answers(answer, marker=spec.marker)
    if said.missing:
        return no_final_answer(said, answer, view, expected, marker=spec.marker)
    if any(map(says_unachievable, said.texts)):
        return Judgement.of(False, expected=expected, actual=actual, why=REFUSED)
    named: dict[str, None] = {}
    for text in said.texts:
        letter = read_choice(text, spec.options, view.intent)
        if isinstance(letter, tuple):
            if not any(may_name_option(text, spec.options) for text in said.texts):
                return Judgement.of(False, expected=expected, actual=actual, why=letter[1])
            return judge_or_undecided("equivalent", _reference(spec), answer, view, letter[1])
        named[letter] = None
    if len(named) > 1:
        why = f"it gives several final answers: {', '.join(named)}"
        return judge_or_undecided("equivalent", _reference(spec), answer, view, why)
    why = "" if set(named) <= set(spec.right) else f"it names {', '.join(named)}"
    return Judgement.of(not why, expected=expected, actual=actual, why=why)


def _reference(spec: ChoiceSpec) -> str:
    """The right options, as the judge model reads them."""
    named = (f"{letter}) {spec.options[string.ascii_uppercase.index(letter)]}" for letter in spec.right)
    return " or ".join(named)


def _asks(spec: ChoiceSpec) -> str:
    listed = "\n".join(f"{string.ascii_uppercase[index]}) {option}" for index, option in enumerate(spec.options))
    what = "the letter of the option that is right, a single capital letter"
    return f"Choose one of these options:\n{listed}\n{asked_form(what, marker=spec.marker)}"


CHOICE: Kind[ChoiceSpec] = Kind(
    name="choice",
    doc=(
        "Checks which option the agent chose: `B`, `(b)`, `B.`, `Option B`, `The answer is B`, `B) tin`, or "
        "the words of exactly one option. An answer that names options otherwise (`A or B`, `not B`) is "
        "undecided; one that names none is not met."
    ),
    form=FORM,
    judge=judge,
    category=lambda spec: "information",
    looks_at=lambda spec: {"answer"},
    asks=_asks,
    answers=lambda spec: (f"{'ANSWER: ' * spec.marker}{letter}" for letter in spec.right),
    chance=lambda spec: spec.chance,
    examples=("- choice: {options: [iron, tin, lead], is: B}",),
)
