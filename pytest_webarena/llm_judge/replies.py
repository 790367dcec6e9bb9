"""Reads a judge's reply, strictly: a grade stands on the last line and nowhere else, or there is none.

Of a rubric each item has its points, once and within what it is worth, or nothing is read at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_webarena.checks.asking import Award, Decision, Question, QuestionKind, RubricItem

__all__ = ["WORDS", "Read", "read_awards", "read_reply", "understand"]

WORDS: dict[QuestionKind, dict[str, Decision]] = {
    "equivalent": {
        "correct": "correct",
        "incorrect": "incorrect",
        "partially correct": "partially_correct",
    },
    "unachievable": {"same": "correct", "different": "incorrect"},
    "formula": {"1": "correct", "0.5": "partially_correct", "0": "incorrect"},
}
"""The words of each kind of question that has one grade, and what they mean."""

_LINE = re.compile(
    r"(?:(?:final |the )?(?:grade|verdict|judg[e]?ment)\s*(?:is\b|[:=])?\s*)?([a-z]+(?: [a-z]+)?|[01](?:\.[05]0*)?)"
)
_DECORATION = " \t*_`\"'#>.!()[]{}"


_POINTS = re.compile(
    r"item\s*#?(\d{1,3})\s*[:.)–—-]*\s*points?\s*[:=]?\s*(-?\d{1,6}(?:\.\d{1,6})?)"
    r"(?:\s*(?:/|(?:out )?of)\s*(\d{1,6}(?:\.\d{1,6})?))?(?:\s*points?)?\s*[.;]?",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"quote\s*[:=]?(.*)", re.IGNORECASE)
_TOTAL = re.compile(r"(?:total|sum)\b.*", re.IGNORECASE)
_NO_QUOTE = frozenset({"", "none", "nothing", "n/a", "-", "–", "—"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a reply says."""

    decision: Decision
    awards: tuple[Award, ...] = ()
    """Of a rubric: one per item."""


def understand(text: str, question: Question) -> Read | str:
    """What a reply to this question says; else, what its model is told before it is asked again."""
    if question.kind == "rubric":
        awards = read_awards(text, question.items)
        if isinstance(awards, str):
            return (
                f"That can't be used: {awards}. Please grade again, with two lines for each item: ITEM, its number, "
                "POINTS and the points; then QUOTE and the words of the answer that earn them, or none."
            )
        given, most = sum(award.points for award in awards), sum(item.points for item in question.items)
        decision: Decision = "correct" if given >= most else "partially_correct" if given else "incorrect"
        return Read(decision=decision, awards=awards)
    grade = read_reply(text, question.kind)
    if grade is None:
        lines = " or ".join(f"GRADE: {word}" for word in WORDS[question.kind])
        return f"No grade could be read from that. Please end with one line that is exactly {lines}."
    return Read(decision=grade)


def read_awards(text: str, items: Sequence[RubricItem]) -> tuple[Award, ...] | str:
    """The points of each item with their quote; or what is wrong with them. The total is nobody's but ours to say.

    >>> items = (RubricItem(points=2, what="a"), RubricItem(points=3, what="b"))
    >>> read_awards("Well.\\nITEM 1 POINTS 2\\nQUOTE so a holds\\nITEM 2 POINTS 0\\nQUOTE none\\nTOTAL 10", items)
    (Award(points=2.0, quote='so a holds'), Award(points=0.0, quote=''))
    >>> read_awards("ITEM 1 POINTS 2", items)
    'item 2 has no points'
    >>> read_awards("ITEM 1 POINTS 2\\nITEM 2 POINTS 4", items)
    'item 2 is worth 3 points, not 4'
    """
    points: dict[int, float] = {}
    quotes: dict[int, list[str]] = {}
    number = 0
    quoting = False
    for line in text.splitlines():
        bare = line.replace("*", "").lstrip(" \t_#>•-").rstrip(" \t_")
        if given := _POINTS.fullmatch(bare):
            number, quoting = int(given[1]), False
            if fault := _out_of_range(given, items):
                return fault
            if points.setdefault(number, float(given[2])) != float(given[2]):
                return f"item {number} has points twice, and different ones"
        elif number and (begun := _QUOTE.fullmatch(line.lstrip(" \t*_>-"))):
            quotes[number], quoting = [begun[1].lstrip("*")], True
        elif not bare or _TOTAL.fullmatch(bare):
            quoting = False
        elif quoting:
            quotes[number].append(line)
    missing = [str(each) for each in range(1, len(items) + 1) if each not in points]
    if missing:
        return f"item{'s' * (len(missing) > 1)} {', '.join(missing)} {'have' if len(missing) > 1 else 'has'} no points"
    return tuple(Award(points=points[each], quote=_quoted(quotes.get(each, ()))) for each in range(1, len(items) + 1))


def _quoted(lines: Sequence[str]) -> str:
    said = " ".join(" ".join(lines).split())
    return "" if said.lower().strip("\"'().") in _NO_QUOTE else said


def _out_of_range(points: re.Match[str], items: Sequence[RubricItem]) -> str:
    number = int(points[1])
    if not 1 <= number <= len(items):
        return f"there is no item {number}"
    most = items[number - 1].points
    if points[3] and float(points[3]) != most:
        return f"item {number} is worth {most:g} points, not {points[3]}"
    if not 0 <= float(points[2]) <= most:
        return f"item {number} is worth {most:g} points, not {points[2]}"
    return ""


def read_reply(text: str, kind: QuestionKind) -> Decision | None:
    """The grade; None when the last line is none, or when other lines of its kind disagree with it.

    Reasons may use the words of the grades as they like: only lines that hold nothing else count.

    >>> read_reply("It is not correct that they differ.\\nGRADE: correct", "equivalent")
    'correct'
    >>> read_reply("The answer is not correct.", "equivalent") is None
    True
    """
    lines = [line for line in text.splitlines() if line.strip(_DECORATION)]
    if not lines or (last := _grade(lines[-1], kind)) is None:
        return None
    told = {grade for line in lines if (grade := _grade(line, kind)) is not None}
    return last if len(told) == 1 else None


def _grade(line: str, kind: QuestionKind) -> Decision | None:
    bare = " ".join(re.sub(r"[*_`\"']", "", line).lower().strip(_DECORATION).split())
    match = _LINE.fullmatch(bare)
    if match is None:
        return None
    return WORDS[kind].get(match[1].rstrip("0").rstrip(".") or "0" if "." in match[1] else match[1])
