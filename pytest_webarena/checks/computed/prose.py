r"""The formula in a sentence: ``The period is $T = 2\pi\sqrt{L/g}$.`` says one, and all else in it is accounted for.

Words before it may be any that turn or doubt nothing; those of its clause and behind it are of the question, or claim
nothing (`answer_types.accounting`). A text with other words is no sentence that is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_webarena.checks.answer_types.accounting import unaccounted
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.computed.clauses import changes
from pytest_webarena.checks.computed.harmless import HAZARDS, word_set, words_in
from pytest_webarena.checks.computed.names import FUNCTIONS, GREEK

__all__ = ["Statement", "statement"]

_SPAN = re.compile(
    r"\$\$(.{1,1999}?)\$\$|\$([^$]{1,1999})\$|\\\((.{1,1999}?)\\\)|\\\[(.{1,1999}?)\\\]|`([^`]{1,1999})`", re.DOTALL
)
_JOINED = re.compile(r"\s*(?:,|;|and|or|,\s*and|,\s*or)\s*", re.IGNORECASE)
_LEADING = re.compile(
    r"(?:\b(?:is|are|be|as|so|thus|hence|therefore|gives?|giving|yields?|yielding|gets?|obtain(?:s|ed|ing)?|have|has|find|becomes?|equals?|"
    r"to|by|that|finally|conclude|satisfies|obeys|reads|answer|then)|[:=,\n])[\s,:]*(?:just|simply|exactly|then)?\s*$",
    re.IGNORECASE,
)
"""How words end that lead up to a formula."""
_WORDS = re.compile(r"(?:[A-Za-z][a-z'-]+[,:]?\s+|[aAI]\s+)+(?=\S)(?![=<>])")
_TAIL = re.compile(r"(?<=\S)(?:[\s,(]+[a-z]{2,})+[\s).]*$")
_NAMES = {*GREEK, *FUNCTIONS}
"""Words that are parts of formulas."""
_SENTENCE = re.compile(r"[.!]\s+(?=[A-Z])|\n")
_TURNING = (HAZARDS | word_set("would should")) - word_set("and as also too again")
"""Words before a formula that turn or doubt it."""
_FORMULA = "theformula"
"""What stands for a formula among the words around it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A formula that a sentence states."""

    formula: str
    sure: bool
    """Whether it is the only one in the text."""


def statement(text: str, question: str = "") -> Statement | None:
    r"""Returns the last formula of a text in words, or None where it is not in words or something is not accounted for.

    >>> statement("The escape velocity is $v = \\sqrt{2GM/R}$.")
    Statement(formula='v = \\sqrt{2GM/R}', sure=True)
    >>> statement("So the area is x^2"), statement("The result $x^2$ is wrong."), statement("x^2")
    (Statement(formula='x^2', sure=True), None, None)
    """
    spans = list(_SPAN.finditer(text))
    if not spans:
        start = max((found.end() for found in _SENTENCE.finditer(text)), default=0)
        lead, tail = _WORDS.match(text, start), _TAIL.search(text, max(start, len(text) - 200))
        formula = lead.end() if lead else start
        behind = tail[0] if tail and not {*re.findall("[a-z]+", tail[0])} & _NAMES else ""
        before = text[:formula]
        if (
            not (before or behind)
            or (before and not _LEADING.search(before))
            or not _accounted(before, behind, question)
        ):
            return None
        return Statement(text[formula : len(text) - len(behind)], sure=not start)
    if not re.search(r"[A-Za-z]{2}", _SPAN.sub(" ", text)):
        return None
    first = len(spans) - 1
    while first and _JOINED.fullmatch(text[spans[first - 1].end() : spans[first].start()]):
        first -= 1
    before, behind = text[: spans[first].start()], text[spans[-1].end() :]
    if not _LEADING.search(before.replace("*", "")) and before.strip():
        return None
    if not _accounted(_SPAN.sub(" it ", before), behind, question):
        return None
    return Statement(_SPAN.sub(r" \1\2\3\4\5 ", text[spans[first].start() : spans[-1].end()]).strip(), sure=not first)


def _accounted(before: str, behind: str, question: str) -> bool:
    """Whether the words before a formula only lead up to it, and its own clause has none but the question's."""
    led = words_in(before)
    if changes(f"{before} {behind}") or not _TURNING.isdisjoint(led) or any(word.endswith("n't") for word in led):
        return False
    clause = _LEADING.sub("", re.split("[,.;]", before)[-1]) if question else ""
    words = tokens(f"{clause} {_FORMULA} {behind}")
    places = {index for index, word in enumerate(words) if word.plain == _FORMULA}
    return not unaccounted(words, places, question)
