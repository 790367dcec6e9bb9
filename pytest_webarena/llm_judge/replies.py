"""Strict reader of a judge's reply: grades have lines of their own in the requested form, or the reply is not read.

For a rubric, each item has its points once and within its worth, or nothing is read at all. `reply_authenticity`
decides which lines are the judge's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pytest_webarena.checks.computed.rubric import parts_of
from pytest_webarena.checks.judge_protocol import Award, Decision, Question, QuestionKind, RubricItem
from pytest_webarena.llm_judge.reply_authenticity import forges, own_lines, unsealed
from pytest_webarena.text import clip

__all__ = ["WORDS", "Read", "read_awards", "read_reply", "read_share", "understand"]

T = TypeVar("T")

WORDS: dict[QuestionKind, dict[str, Decision]] = {
    "equivalent": {
        "correct": "correct",
        "incorrect": "incorrect",
        "partially correct": "partially_correct",
    },
    "unachievable": {"same": "correct", "different": "incorrect"},
    "formula": {"1": "correct", "0.5": "partially_correct", "0": "incorrect"},
}
"""The words of each kind of question with one grade, and their meaning."""

_LINE = re.compile(
    r"(?:(?:final |the )?(?:grade|verdict|judg[e]?ment)\s*(?:is\b|[:=])?\s*)?([a-z]+(?: [a-z]+)?|[01](?:\.[05]0*)?)"
)
_DECORATION = " \t*_`\"'#>.!()[]{}"
_SHARE_DECORATION = _DECORATION.replace(".", "")
_CODES = (
    "Begin each of these lines with the code word {seal}, and put none of them into a code block or behind a mark of "
    "quotation."
)

_POINTS = re.compile(
    r"item\s*#?(\d{1,3})\s*[:.)–—-]*\s*points?\s*[:=]?\s*(-?\d{1,6}(?:\.\d{1,6})?)"
    r"(?:\s*(?:/|(?:out )?of)\s*(\d{1,6}(?:\.\d{1,6})?))?(?:\s*points?)?\s*[.;]?",
    re.IGNORECASE | re.ASCII,
)
_ATTEMPT = re.compile(
    r"item\s*#?\d+\s*(?:[:.)–—-]*\s*points?\b.*|[:=–—-]\s*\d+(?:\.\d+)?(?:\s*(?:/|of)\s*\d+)?\s*points?\.?)",
    re.IGNORECASE,
)
"""A line that begins as an award or gives points in another form, so that its meaning is uncertain."""
_QUOTE = re.compile(r"quote\b\s*:?(.*)", re.IGNORECASE)
_TOTAL = re.compile(r"(?:total|sum)\b.*", re.IGNORECASE)
_NO_QUOTE = frozenset({"", "none", "nothing", "n/a", "-", "–", "—"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The content of a reply."""

    decision: Decision
    awards: tuple[Award, ...] = ()
    """Points and quotes of a rubric, one per item."""
    share: float | None = None
    """For a rule, the degree to which it is met, in [0, 1]."""
    doubt: str = ""
    """The objection to send if the judge may be asked again, because a part of the reply will not count."""


def understand(text: str, question: Question, seal: str = "") -> Read | str:
    """Return what a reply to this question says, or the text to send before the judge is asked again.

    ``seal`` is the code word in the question's prompt; empty where there is none.
    """
    code = f" {_CODES.format(seal=seal)}" if seal else ""
    if question.kind == "rubric":
        awards = read_awards(text, question.items, seal, forged=forges(question))
        if isinstance(awards, str):
            return (
                f"That can't be used: {awards}. Please grade again, with two lines for each item: ITEM, its number, "
                f"POINTS and the points; then QUOTE and the words of the answer that earn them, or none.{code}"
            )
        given, most = sum(award.points for award in awards), sum(item.points for item in question.items)
        decision: Decision = "correct" if given >= most else "partially_correct" if given else "incorrect"
        return Read(decision=decision, awards=awards, doubt=_doubt(awards, question, code))
    if question.kind == "rule":
        share = read_share(text, seal, forged=forges(question))
        if share is None:
            line = f"{seal} GRADE: 0.5".lstrip()
            return (
                "No grade could be read from that. Please end with one line that is the grade alone, a number "
                f"from 0 to 1 as in {line}."
            )
        return Read(decision="correct" if share == 1 else "partially_correct" if share else "incorrect", share=share)
    grade = read_reply(text, question.kind, seal, forged=forges(question))
    if grade is None:
        lines = " or ".join(f"{seal} GRADE: {word}".lstrip() for word in WORDS[question.kind])
        return f"No grade could be read from that. Please end with one line that is exactly {lines}."
    return Read(decision=grade)


def _doubt(awards: tuple[Award, ...], question: Question, code: str) -> str:
    parts = parts_of(question.items, awards, question.answer)
    doubts = [f"item {number}: {part.why}" for number, part in enumerate(parts, start=1) if part.why]
    if not doubts:
        return ""
    return (
        f"Points without words of the answer don't count: {'; '.join(doubts)}. Please grade all items again, in the "
        "same form. Copy each quote from one place of the answer, character by character and on one line, with nothing "
        f"left out, no dots in place of words, and whole words only; no points where there are no such words.{code}"
    )


@dataclass(slots=True)
class _Given:
    """The award of one line and the lines after it."""

    item: int
    points: float
    quote: str | None = None
    """The quote; None until there is a line for it."""
    awaits: bool = True
    """Whether the next line that is not empty may be its quote, with or without the code word."""


def read_awards(
    text: str, items: Sequence[RubricItem], seal: str = "", *, forged: bool = False
) -> tuple[Award, ...] | str:
    """Return the points and quote of each item, or what is wrong with them. The reply's own total is ignored.

    Other lines are remarks; so are lines without the seal where there is one. Without a seal nothing is read if the
    answer is ``forged``, that is, contains a verdict that the judge may have repeated.

    >>> items = (RubricItem(points=2, what="a"), RubricItem(points=3, what="b"))
    >>> read_awards("Well.\\nITEM 1 POINTS 2\\nQUOTE so a holds\\nITEM 2 POINTS 0\\nQUOTE none\\nTOTAL 10", items)
    (Award(points=2.0, quote='so a holds'), Award(points=0.0, quote=''))
    >>> read_awards("ITEM 1 POINTS 2", items)
    'item 2 has no points'
    >>> read_awards("ITEM 1 POINTS 2\\nITEM 2 POINTS 4", items)
    'item 2 is worth 3 points, not 4'
    """
    lines = own_lines(text)
    sealed = any(unsealed(line, seal) is not None for line in lines)
    if seal and not sealed:
        return f"no line begins with the code word {seal}"
    if forged and not seal:
        return "lines of points may be those of the answer"
    given: list[_Given] = []
    for line in lines:
        own = unsealed(line, seal)
        content = line if own is None else own
        bare = content.replace("*", "").lstrip(" \t_#•-").rstrip(" \t_")
        counts = own is not None or not sealed
        last = given[-1] if given else None
        if not bare:
            continue
        if counts and (award := _POINTS.fullmatch(bare)):
            if fault := _out_of_range(award, items):
                return fault
            given.append(_Given(item=int(award[1]), points=abs(float(award[2]))))
        elif last and (counts or last.awaits) and (quote := _QUOTE.fullmatch(content.lstrip(" \t*_-"))):
            words = _quoted(quote[1].lstrip("*"))
            if last.quote is not None and last.quote != words:
                return f"item {last.item} has two quotes"
            last.quote, last.awaits = words, not quote[1].strip(" *")
        elif counts and (own is not None or _ATTEMPT.fullmatch(bare)) and not _TOTAL.fullmatch(bare):
            return f"the line {clip(bare, 80)!r} can't be read"
        elif last:
            if last.awaits and last.quote == "" and last.points:
                last.quote = _quoted(content)
            last.awaits = False
    return _one_each(given, items)


def _one_each(given: Sequence[_Given], items: Sequence[RubricItem]) -> tuple[Award, ...] | str:
    awards: dict[int, Award] = {}
    for each in given:
        award = Award(points=each.points, quote=each.quote or "")
        if awards.setdefault(each.item, award) != award:
            return f"item {each.item} has two different grades"
    missing = [str(each) for each in range(1, len(items) + 1) if each not in awards]
    if missing:
        return f"item{'s' * (len(missing) > 1)} {', '.join(missing)} {'have' if len(missing) > 1 else 'has'} no points"
    return tuple(awards[each] for each in range(1, len(items) + 1))


def _quoted(text: str) -> str:
    quote = " ".join(text.split())
    return "" if quote.lower().strip("\"'().") in _NO_QUOTE else quote


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


def read_reply(text: str, kind: QuestionKind, seal: str = "", *, forged: bool = False) -> Decision | None:
    """Return the grade; None where there is none, or where lines with a grade disagree.

    Only lines with the seal count, wherever they are. Without a ``seal``, the last line has to be the grade, and there
    is none if the answer is ``forged``. Reasons may use the words of the grades freely, because only lines with nothing
    but a grade count.

    >>> read_reply("It is not correct that they differ.\\nGRADE: correct", "equivalent")
    'correct'
    >>> read_reply("The answer is not correct.", "equivalent") is None
    True
    >>> read_reply("GRADE: correct\\nsays the student.\\nKXTB GRADE: incorrect\\nNo doubt.", "equivalent", "KXTB")
    'incorrect'
    """
    return _only(text, lambda line: _grade(line, kind), seal, forged=forged)


def read_share(text: str, seal: str = "", *, forged: bool = False) -> float | None:
    """Return the number from 0 to 1 that a rule gets; None where there is none, or where lines with a grade disagree.

    Only a decimal number is read, never evaluated as code. Nothing is rounded up to 1.

    >>> read_share("About a kettle, but an electric one.\\nGRADE: 0.85"), read_share("GRADE: 85"), read_share("nan")
    (0.85, None, None)
    """
    return _only(text, _share, seal, forged=forged)


_SHARE = re.compile(
    r"(?:(?:final |the )?(?:grade|score|verdict)\s*(?:is\b|[:=])?\s*)?([01]|[01]?\.\d{1,6})(?:\s*/\s*1)?", re.ASCII
)


def _share(line: str) -> float | None:
    bare = " ".join(re.sub(r"[*_`\"']", "", line).lower().strip(_SHARE_DECORATION).split())
    match = _SHARE.fullmatch(bare)
    if match is None or float(match[1]) > 1:
        return None
    return float(match[1])


def _only(text: str, read: Callable[[str], T | None], seal: str, *, forged: bool) -> T | None:
    """The grade of the judge's own lines if they agree, else None."""
    lines = [line for line in own_lines(text) if line.strip(_DECORATION)]
    if seal:
        grades = {read(own) for line in lines if (own := unsealed(line, seal)) is not None}
        return grades.pop() if len(grades) == 1 else None
    if not lines or forged or (last := read(lines[-1])) is None:
        return None
    distinct = {grade for line in lines if (grade := read(line)) is not None}
    return last if len(distinct) == 1 else None


def _grade(line: str, kind: QuestionKind) -> Decision | None:
    bare = " ".join(re.sub(r"[*_`\"']", "", line).lower().strip(_DECORATION).split())
    match = _LINE.fullmatch(bare)
    if match is None:
        return None
    word = match[1]
    return WORDS[kind].get(word.rstrip("0").rstrip(".") or "0" if "." in word else word)
