r"""The formula in a sentence: ``The period is $T = 2\pi\sqrt{L/g}$.`` says one, and all else in it is accounted for.

- What comes before its clause may be anything that neither denies nor doubts.
- The words of its clause are of the question, or claim nothing (`answer_types.accounting`).
- A remark behind it has only words of the question, or gives a reason, a direction, a property or the formula's name.

A text with other words is no sentence that is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_webarena.checks.answer_types.accounting import unaccounted
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.computed.clauses import changes, definitions_in, with_definitions
from pytest_webarena.checks.computed.contrasts import another_quantity
from pytest_webarena.checks.computed.harmless import DOUBTS, GIVING, HAZARDS, word_set, words_in
from pytest_webarena.checks.computed.names import FUNCTIONS, GREEK
from pytest_webarena.checks.computed.spelled import spelled_numbers

__all__ = ["Statement", "statement"]

_SPAN = re.compile(
    r"\$\$(.{1,1999}?)\$\$|\$([^$]{1,1999})\$|\\\((.{1,1999}?)\\\)|\\\[(.{1,1999}?)\\\]|`([^`]{1,1999})`", re.DOTALL
)
_JOINED = re.compile(r"\s*(?:,|;|and|or|,\s*and|,\s*or)\s*", re.IGNORECASE)
_GIVEN = re.compile(r"\b(?:since|because|as|if|when|with|using|from|given)\s*$", re.IGNORECASE)
"""How words end that lead up to a reason."""
_LEADING = re.compile(
    r"(?:\b(?:is|are|be|as|so|thus|hence|therefore|gives?|giving|yields?|yielding|gets?|obtain(?:s|ed|ing)?|have|has|find|becomes?|equals?|"
    r"to|by|for|that|finally|conclude|satisfies|obeys|reads|answer|then)|[:=,\n])[\s,:]*(?:just|simply|exactly|then)?\s*$",
    re.IGNORECASE,
)
"""How words end that lead up to a formula."""
_PIECE = re.compile(r"\S+")
_WORD = re.compile(r"[(\[\"'*_]*(?:[A-Za-z][a-z]+(?:['\u2019\u2013-][A-Za-z]?[a-z]+)*|[aAI])['\u2019]?[\"'*_)\],.;:!]*")
_NAMES = {*GREEK, *FUNCTIONS}
"""Words that are parts of formulas."""
_CONCLUDES = re.compile(
    r"\b(?:so|thus|hence|therefore|consequently)\b(?! (?:far|that))|[\u21d2\u2234]|\\(?:implies|therefore|Rightarrow)\b"
    r"|[.!]\s+(?=[A-Z])|\n|(?:\A|(?<=\. ))(?:[A-Z][a-z]+ing|Since|Because|From)\b[^,]*,"
    r"|\b(?:gives?|giving|yields?|yielding|(?:we|I)\s+(?:get|obtain|find|have)|leads?\s+to)\b",
    re.IGNORECASE,
)
"""Where a clause begins that states what follows from the words before it."""
_OPENS = re.compile(
    r"(?P<off>[\s,;(\u2014\u2013]*)(?:(?P<reason>by|because|since|due\s+to)\b"
    r"|as\s+(?:required|claimed|expected|desired|wanted|asked|stated|shown)\b"
    r"|(?:directed|pointing|acting|(?:radially\s+)?(?:out|up|down|in)wards?|(?:up|down)hill|up|down|along|towards?)\b"
    r"|independent(?:ly)?\s+of\b|measured\s+from\b|attractive\b|repulsive\b"
    r"|which\s+(?:tends|falls|grows|vanishes|goes|increases|decreases|is\s+(?:positive|finite|constant|dimensionless|independent))\b"
    r"|(?:the\s+)?[A-Z][\w\u2013\u2019'-]*(?:\s+[\w\u2013\u2019'-]+){0,2}\s+(?:law|formula|theorem|equation|rule|identity)\)?$)"
)
"""How a remark begins that gives a reason, a direction, a property or the name of a formula, and so changes nothing."""
_RELATION = re.compile(r"[=<>\u2264\u2265\u2248\u2208]")
_OPEN, _CLOSE = "([{\u27e8", ")]}\u27e9"
_DOUBTING = DOUBTS | word_set("would should ignoring ignore neglecting neglect omitting dropping roughly approximately")
_TURNING = (HAZARDS | _DOUBTING) - word_set("and as also too again")
"""Words in the clause of a formula that turn or doubt it."""
_CLAIM = re.compile(
    r"[=\d\u2248<>\u2264\u2265]|\\frac|\\approx|\b(?:one|two|three|four|five|six|seven|eight|nine|ten)\b"
)
"""What gives another value, or compares one."""
_INDEX = re.compile(r"_(?:\{[^{}]*\}|\w+)")
_LONGEST_REMARK = 14
"""Words of a remark."""
_NOMINAL = {
    "differentiat": "derivative",
    "integra": "integral",
    "antiderivativ": "integral",
    "solve": "solution solutions roots",
    "expand": "expansion",
    "evaluat": "integral limit sum",
}
"""What the result of an order is called."""
_RESULT = ("expression", "formula", "equation", "converges", "converge")
_FORMULA = "theformula"
"""What stands for a formula among the words around it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A formula that a sentence states."""

    formula: str
    sure: bool
    """Whether it is the only one in the text."""
    label: str = ""
    """The words of its clause before it."""


def statement(text: str, question: str = "") -> Statement | None:
    r"""Returns the last formula of a text in words, or None where it is not in words or something is not accounted for.

    >>> said = statement("The escape velocity is $v = \\sqrt{2GM/R}$.")
    >>> said.formula, said.sure
    ('v = \\sqrt{2GM/R}', True)
    >>> statement("So the area is x^2").formula, statement("The result $x^2$ is wrong."), statement("x^2")
    ('x^2', None, None)
    """
    marked = [(found.start(), found.end(), next(filter(None, found.groups()))) for found in _SPAN.finditer(text)]
    spans = marked or _unmarked(text) or [(start, end, text[start:end]) for *_, start, end in spelled_numbers(text)]
    if not spans or not re.search(r"[A-Za-z]{2}", _without(text, spans, " ")):
        return None
    for first, last in _candidates(text, spans):
        before, behind = text[: spans[first][0]], text[spans[last][1] :]
        if before.strip() and not _LEADING.search(before.replace("*", "")):
            continue
        defined = definitions_in(behind)
        remark = "" if defined is not None else _without(behind, _moved(spans[last + 1 :], -spans[last][1]), " it ")
        remark = f", {remark}" if remark and spans[last][2].rstrip().endswith((",", ";")) else remark
        if remark.strip(" .*_") and not _harmless(remark.rstrip(" .*_"), spans[last + 1 :], question):
            continue
        label = _label(_without(before, spans[:first], " it "), question)
        if label is not None:
            formula = _SPAN.sub(r" \1\2\3\4\5 ", text[spans[first][0] : spans[last][1]]).strip()
            sure = not first and last == len(spans) - 1
            return Statement(with_definitions(formula, defined or ()), sure=sure, label=label)
    return None


def _candidates(text: str, spans: list[tuple[int, int, str]]) -> Iterator[tuple[int, int]]:
    """Yields from which to which formula an answer may go, the last ones first, lists before their last parts."""
    for last in range(len(spans) - 1, -1, -1):
        first = last
        while first and _JOINED.fullmatch(text[spans[first - 1][1] : spans[first][0]]):
            if _GIVEN.search(text[: spans[first - 1][0]]):
                break
            first -= 1
        yield from dict.fromkeys([(first, last), (last, last)])


def _unmarked(text: str) -> list[tuple[int, int, str]]:
    """Returns where the formulas are in a text without signs around them: between words, with the name left of =."""
    found: list[tuple[int, int]] = []
    going, depth, previous = False, 0, 0
    for piece in _PIECE.finditer(text):
        bare = piece[0].strip("\"'*_()[],.;:!")
        is_word = _WORD.fullmatch(piece[0]) and bare.lower() not in _NAMES and re.search("[aeiouyAI]", bare)
        if is_word and depth <= 0 and not (going and len(bare) == 1):
            going, previous = False, piece.start()
            continue
        end = piece.start() + len(piece[0].rstrip(",.;:!"))
        if not going:
            depth = 0
            labelled = _RELATION.match(piece[0]) and previous > (found[-1][1] if found else -1)
            found.append((previous if labelled else piece.start(), end))
        found[-1] = (found[-1][0], end)
        depth += sum((sign in _OPEN) - (sign in _CLOSE) for sign in piece[0])
        going = depth > 0 or end == piece.end()
    return [(start, end, text[start:end]) for start, end in found]


def _moved(spans: list[tuple[int, int, str]], by: int) -> list[tuple[int, int, str]]:
    return [(start + by, end + by, text) for start, end, text in spans]


def _without(text: str, spans: list[tuple[int, int, str]], instead: str) -> str:
    for start, end, _ in reversed(spans):
        text = text[:start] + instead + text[end:]
    return text


def _denies(words: list[str], hazards: frozenset[str]) -> bool:
    return not hazards.isdisjoint(words) or any(word.endswith("n't") for word in words)


def _label(before: str, question: str) -> str | None:
    """Returns the words of a formula's clause, None if words before it turn or doubt it or are not accounted for."""
    own = _CONCLUDES.split(before)[-1]
    bare, label = _LEADING.sub("", own), _LEADING.sub("", re.split("[,;]", own)[-1])
    if _denies(words_in(before), _DOUBTING) or changes(bare) or _denies(words_in(bare), _TURNING):
        return None
    return None if question and not _is_of(question, f"{label} {_FORMULA}") else label


def _harmless(remark: str, others: list[tuple[int, int, str]], question: str) -> bool:
    """Whether a remark behind a formula leaves it as it is."""
    words = words_in(remark)
    formulas = _INDEX.sub("", " ".join(each[2] for each in others))
    if changes(remark) or _CLAIM.search(f"{remark} {formulas}") or another_quantity(remark, question):
        return False
    if question and _is_of(question, f"{_FORMULA} {remark}"):
        return True
    opening = _OPENS.match(remark)
    if opening is None or len(words) > _LONGEST_REMARK or _denies(words, _TURNING):
        return False
    return bool(opening["reason"] or opening["off"].strip())


def _is_of(question: str, text: str) -> bool:
    """Whether the words around a formula are of the question, or only say that it is the result."""
    words = tokens(text)
    places = {index for index, word in enumerate(words) if word.plain == _FORMULA}
    result = [noun for verb, nouns in _NOMINAL.items() if verb in question.lower() for noun in nouns.split()]
    return not unaccounted(words, places, question, also=[*GIVING - HAZARDS, *_RESULT, *result])
