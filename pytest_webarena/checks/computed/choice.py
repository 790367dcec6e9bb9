"""The kind ``choice``: one of several options, named by its letter or said in its words."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.checks.computed.asking import MARKER_FIELD, REFUSED, asked_form, no_answer
from pytest_webarena.checks.computed.extraction import final_answers
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.text import normalise, same_text
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Field, ListOf, Record
from pytest_webarena.tasks.shapes import Fault, Text
from pytest_webarena.text import clip

__all__ = ["CHOICE", "ChoiceSpec", "read_choice"]

_LONGEST = 4_000
"""Characters of a final answer; what is longer is none."""

_LEAD = re.compile(
    r"""^(?:so|thus|hence|therefore|i(?:\ would)?\ (?:choose|pick|select|say|answer)|i\ think)?[,:]?\s*
        (?:it\ is|it's|
           (?:the|my)?\s*(?:(?:final|correct|right|best|only|most\ likely)\s+)*(?:answer|option|choice|letter)s?
           (?:\s+(?:is|would\ be|should\ be|must\ be)|\s*[:=])?)?
        \s*[:=]?\s*(?:(?:the\s+)?(?:option|choice|letter|answer)\s*:?)?\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_LETTER = r"[*_`\"'$]*(?:\\(?:text|mathrm|mathbf|textbf)\{)?[(\[]?\s*([A-Za-z])\s*[)\]]?\}?[*_`\"'$]*"
_NAMED = re.compile(rf"{_LETTER}(?:\s+(?:is|seems)\s+(?:the\s+)?(?:correct|right|true)(?:\s+(?:answer|option))?)?[.!]?")
_WITH_TEXT = re.compile(r"[*_`\"'(\[]*([A-Za-z])[*_`\"']*\s*[)\].:,=–—-]+[*_`\"']*\s*(.+)", re.DOTALL)
_TEXT_FIRST = re.compile(r"(.+?)\s*[(\[]\s*(?:option|choice)?\s*([A-Za-z])\s*[)\]][.]?", re.DOTALL | re.IGNORECASE)
_MENTION = re.compile(
    r"(?:(?i:\b(?:option|choice|letter|answer(?:\s+is)?:?)\s+)[(\[*_]*([A-Za-z])(?![A-Za-z0-9'])"
    r"|(?<![A-Za-z0-9'\\])([A-Z])(?![A-Za-z0-9'])|[(\[]([a-z])[)\]]|^([a-z])[).:])"
)
_BEFORE = re.compile(
    r"(?:\b(?:not|never|neither|nor|except|excluding|exclude|eliminate[sd]?|reject(?:s|ed)?|wrong|incorrect|false|without"
    r"|rules?\s+out|ruled\s+out|(?:other|else)\s+than|(?:anything|everything|all)\s+(?:else\s+)?but|(?:opposite|contrary)\s+(?:of|to)|none\s+of|rather\s+than|instead\s+of|cannot)|n'?t)"
    r"\s*:?\s+(?:[\w']+\s+){0,4}[(\[*_\"'`]*(?:option|choice|letter|answer)?\s*[(\[*_\"'`]*$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^[)\]*_.\"'`]*\s*(?:[\w']+\s+){0,3}?"
    r"(?:(?:is|was|can|could|does|would|should|must|has|do|did|are|were)n'?t|not|cannot|never|wrong|incorrect|false|untrue"
    r"|impossible|invalid|unlikely|excluded|eliminated|rejected|ruled\s+out|out)\b",
    re.IGNORECASE,
)

_DENIED_LAST = re.compile(r"^[)\]*_\"'`]*\s*[,;–—-]+\s*(?:[\w']+\s+){0,3}not[\s.!*]*$", re.IGNORECASE)
"""What ends an answer and takes back the letter before it."""

_NO_ARTICLE = re.compile(r"\s+(?:is|was|isn't|because|since|as|or|and|nor|but|not|over|rather|seems|can|must|would)\b")


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
            doc="The options, in order: the first one is A. Agents are told them below the intent, with their letters.",
            example="- choice: {options: [iron, tin, lead], is: B}",
        ),
        Field(
            key="is",
            shape=ListOf(Text("a letter"), or_one=True, label="a letter or a list of letters", low=1),
            doc="The letter of the right option; of several, any one is right.",
            example="- choice: {options: [iron, tin, lead], is: B}",
        ),
        MARKER_FIELD,
    ],
    rule=_fault,
    doc="Options, and which of them is right.",
    owner="a choice check",
)


def read_choice(text: str, options: Sequence[str]) -> str | tuple[str, str]:
    """The letter that an answer names, alone; or two texts, an empty one and why it names none.

    >>> [read_choice(text, ("iron", "tin")) for text in ("(b)", "The answer is B.", "B) tin", "tin")]
    ['B', 'B', 'B', 'B']
    """
    letters = string.ascii_uppercase[: len(options)]
    if len(text) > _LONGEST:
        return "", f"it is longer than {_LONGEST:,} characters"
    bare = text.replace("\u2019", "'").strip()
    rest = bare[_LEAD.match(bare).end() :].strip() if _LEAD.match(bare) else bare  # type: ignore[union-attr]
    for said in dict.fromkeys((bare, rest)):
        if (named := _NAMED.fullmatch(said)) and named[1].upper() in letters:
            return named[1].upper()
    for said in dict.fromkeys((bare, rest)):
        if (equal := _option(said, options)) is not None:
            return equal
    for said in dict.fromkeys((bare, rest)):
        for letter, words in _joined(said):
            meant = _option(words, options)
            if meant is not None and letter in letters:
                return letter if meant == letter else ("", f"it names {letter} and says what {meant} says")
    if says_unachievable(bare):
        return "", REFUSED
    return _mentioned(bare, letters)


def _option(text: str, options: Sequence[str]) -> str | None:
    """The letter of the only option that is this text."""
    same = [index for index, option in enumerate(options) if same_text(option, text)]
    return string.ascii_uppercase[same[0]] if len(same) == 1 else None


def _joined(text: str) -> list[tuple[str, str]]:
    """A letter and the words beside it, in either order."""
    found = []
    if match := _WITH_TEXT.fullmatch(text):
        found.append((match[1].upper(), match[2].rstrip("*_`")))
    if match := _TEXT_FIRST.fullmatch(text):
        found.append((match[2].upper(), match[1]))
    return found


def _mentioned(text: str, letters: str) -> str | tuple[str, str]:
    """The only letter that a longer text mentions, if it does not deny it."""
    found: dict[str, None] = {}
    for match in _MENTION.finditer(text):
        letter = next(filter(None, match.groups())).upper()
        word = match.group(2)
        after = text[match.end() :]
        if word in ("A", "I") and re.match(r"\s+[a-z]", after) and not _NO_ARTICLE.match(after):
            continue  # an article, somebody who speaks
        if letter not in letters:
            continue
        start = match.start(match.lastindex or 0)
        if _BEFORE.search(text[max(0, start - 80) : start]) or _AFTER.match(after[:80]) or _DENIED_LAST.match(after):
            return "", f"it speaks against {letter}"
        found[letter] = None
    if len(found) > 1:
        return "", f"it names several options: {', '.join(found)}"
    return next(iter(found)) if found else ("", f"it names none of the options {letters[0]} to {letters[-1]}")


def judge(spec: ChoiceSpec, view: View) -> Judgement:
    """Judge the agent's last word."""
    answer, expected = view.evidence.text_answer, str(spec)
    if answer is None:
        return no_answer(view, expected)
    actual = f'"{answer}"'
    said = final_answers(answer, marker=spec.marker)
    named: dict[str, None] = {}
    why = said.missing
    for text in said.texts:
        letter = read_choice(text, spec.options)
        if isinstance(letter, tuple):
            why = letter[1]
            break
        named[letter] = None
    if not why and len(named) > 1:
        why = f"it gives several final answers: {', '.join(named)}"
    if not why and not set(named) <= set(spec.right):
        why = f"it names {', '.join(named)}"
    return Judgement.of(not why, expected=expected, actual=actual, why=why)


def _asks(spec: ChoiceSpec) -> str:
    listed = "\n".join(f"{string.ascii_uppercase[index]}) {option}" for index, option in enumerate(spec.options))
    what = "the letter of the option that is right, a single capital letter"
    return f"Choose one of these options:\n{listed}\n{asked_form(what, marker=spec.marker)}"


CHOICE: Kind[ChoiceSpec] = Kind(
    name="choice",
    doc=(
        "Which of several options the agent chose: `B`, `(b)`, `B.`, `Option B`, `The answer is B`, `B) tin` or the "
        "words of exactly one option. Several letters fail, and so does one that is spoken against (`not B`, `B is "
        "wrong`)."
    ),
    form=FORM,
    judge=judge,
    category=lambda spec: "information",
    looks_at=lambda spec: {"answer"},
    asks=_asks,
    chance=lambda spec: spec.chance,
    examples=("- choice: {options: [iron, tin, lead], is: B}",),
)
