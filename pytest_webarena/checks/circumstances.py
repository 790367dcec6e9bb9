"""Words around a number that say it of other circumstances than those that a question names, or only bound it."""

from __future__ import annotations

import re

from pytest_webarena.checks.compared import SAME_WAY
from pytest_webarena.checks.numbers import NUMBER_WORDS

__all__ = ["for_another", "otherwise_given"]

_UNIT = r"(?:\s?(?:%|\u20ac|\$|[^\W\d_]+))?"
_COUNTS = {word: number for word, number in NUMBER_WORDS.items() if 0 < number <= 12}
_COUNT = rf"(?:\d{{1,4}}|{'|'.join(_COUNTS)})"
_COUNTED = re.compile(rf"(?<![\w.,:-])({_COUNT})[\s-]?([a-z]{{3,}}|kg|km|cm|mm|g|l|ml|h)\b")
_FROM = re.compile(
    r"(?:\A|[:,(]\s|\b(?:costs?|priced?|is|are|was|were|for)\s)from\s+\W?\Z|\bstart(?:s|ing)? (?:at|from)\s+\W?\Z"
)
_UP_TO = re.compile(r"\bup to\s+(?:about\s+)?\W?\Z")
_UPWARDS = re.compile(
    r"\s?[^\W\d_]+\s+(?:or (?:more|less|fewer)|upwards?|and (?:up|above)|onwards)(?=\s*(?:[.,;!)]|\Z))"
)
_BOTH_WAYS = re.compile(
    _UNIT + r",?\s+(?:for\s+)?(?:the\s+|a\s+)?((?:there|out) and back|return|round[- ]trip"
    r"|(?:in )?both (?:ways|directions))\b(?!\s+(?:is|are|costs?|would|a|an|the|it|to)\b)"
)
_ONE_WAY = re.compile(_UNIT + r",?\s+(?:for\s+)?(?:the\s+|a\s+)?(one[- ]way|single)\b(?!\s+(?:room|bed|item|piece))")
_ASKED_BOTH = re.compile(r"\b(?:back|return|round[- ]trip|both)\b")
_ASKED_ONE = re.compile(r"\b(?:one[- ]way|single)\b")
_AGO = re.compile(rf"\b(?:past|last|previous)\s+(?:({_COUNT})\s+)?(hour|day|week|month|year)s?\b")
_HOURS = {"hour": 1, "day": 24, "week": 168, "month": 730, "year": 8760}
_LEAVES_OUT = re.compile(
    r"\b(?:leave out|leaving out|without|excluding|not counting|(?:do not|don't) count|except(?: for)?|apart from)"
    r"\s+(?:the |all |any )?([a-z]{4,})\b"
)
_ALL_TOGETHER = re.compile(r"\ball ([a-z]{3,}?)s together\b")
_NAME = r"(?:the )?([A-Z][\w'-]+(?: [A-Z][\w'-]+)*)"
_IN_TWO = re.compile(
    _UNIT + rf"(?:\s+[a-z]+)?\s+(?:in|at|of)\s+{_NAME} and {_NAME}(?: together)?(?=\s*(?:[.,;!]|\Z|together))"
)
_FOR_SO_MANY = re.compile(_UNIT + rf"\s+for (?:just |only |all )?({_COUNT})(?=\s*(?:[.,;!)]|\Z))")
_SO_MANY = re.compile(rf"\b({'|'.join(_COUNTS)})\s+\W?[a-z\"\u201c]")
_FROM_ONE_UNIT = (
    re.compile(r"\b\d[\d.,]* (?:[\w-]+ )?(?P<given>[a-z]{3,}) (?:in|into|to) (?P<asked>[a-z]{3,})\b"),
    re.compile(
        r"\bhow many (?:[\w-]+ ){0,2}?(?P<asked>[a-z]{3,}) (?:are|is|do|does) \d[\d.,]*"
        r" (?:[\w-]+ )?(?P<given>[a-z]{3,})\b(?! [a-z])"
    ),
)
_PAYERS = (
    r"adult|child|children|famil(?:y|ies)|group|couple|senior|pensioner|student|youth|return|round trip|day ticket"
)
"""Who pays, or for what sort of ticket: prices are told for several of them."""
_PAYER = re.compile(_UNIT + rf"\s+(?:for|per)\s+(?:an?\s+|one\s+|each\s+|the\s+|all\s+)?({_PAYERS})s?\b")


def otherwise_given(question: str, text: str, start: int, end: int) -> str:
    """Why the number at this place of ``text`` is one of other circumstances than the question's; else empty.

    >>> how_much = "How many crowns does a boat pay for 3 nights?"
    >>> [otherwise_given(how_much, text, 0, 2) for text in ("93 crowns for 2 nights", "93 crowns for 3 nights")]
    ['it is given for 2 nights, and the question is of 3', '']
    """
    asked, low = question.casefold(), text.casefold()
    if len(low) != len(text):
        return ""
    before = re.split(r"[.;!?\n](?=\s)", low[max(0, start - 80) : start])[-1]
    behind = re.split(r"[.;!?](?=\s|\Z)|[\n(]", low[end : end + 80])[0]
    return (
        _only_bounds(asked, before, low[end : end + 40])
        or _another_count(asked, before, behind, low[start:end])
        or _another_way(asked, behind)
        or _another_time(asked, before + low[start:end] + behind)
        or _another_part(asked, question, behind, text[end : end + 80])
    )


def for_another(text: str, start: int, wanted: int, question: str) -> bool:
    """Whether the number at ``start`` is said of somebody or something else to pay for, and the ``wanted`` one is not.

    >>> text = "3 crowns for an adult, 2 for a child"
    >>> for_another(text, 23, 0, "What does an adult pay?"), for_another(text, 0, 23, "What does a child pay?")
    (True, True)
    """
    asked, low = question.casefold(), text.casefold()
    if len(low) != len(text):
        return False
    theirs, ours = _clause(low, start), _clause(low, wanted)
    return theirs != ours and _of_others(theirs, asked) and not _of_others(ours, asked)


_WAY = re.compile(r"\b(?:by|on) (?:a |the )?(car|bicycle|bike|train|bus|boat|ferry|tram|taxi|foot)\b")
_ASKED_WAY = re.compile(
    r"\b(car|bicycle|bike|train|bus|boat|ferry|tram|taxi|foot|drives?|driving|walks?|walking|cycles?|cycling)\b"
)


def _of_others(clause: str, asked: str) -> bool:
    """Whether it speaks of somebody or something that the question does not: children, the bus, the uninsured."""
    if any(word not in asked for word in re.findall(rf"\b({_PAYERS})s?\b", clause)):
        return True
    ways = {SAME_WAY.get(word, word) for word in _ASKED_WAY.findall(asked)}
    if ways and any(SAME_WAY.get(word, word) not in ways for word in _WAY.findall(clause)):
        return True
    return any(word in re.findall(r"\w+", asked) for word in re.findall(r"\bun([a-z]{4,}ed)\b", clause))


def _clause(text: str, place: int) -> str:
    """The part of a sentence in which a place is."""
    ends = re.compile(r"[.;!?,](?=\s|\Z)|[\n()]|\s(?:and|while|but)\s")
    begin = [found.end() for found in ends.finditer(text, 0, place)]
    behind = ends.search(text, place)
    return text[begin[-1] if begin else 0 : behind.start() if behind else len(text)]


def _only_bounds(asked: str, before: str, behind: str) -> str:
    if _FROM.search(before) and not re.search(
        r"\b(?:from (?:how|what|which)|starts?|begins?|lowest|cheapest|least)\b", asked
    ):
        return "it only says where prices begin"
    if _UP_TO.search(before) and not re.search(r"\b(?:up to|most|maximum|limit|longest|largest|rated)\b", asked):
        return "it only says how much at most"
    return "it only bounds it" if _UPWARDS.match(behind) and "or more" not in asked and "or less" not in asked else ""


def _another_count(asked: str, before: str, behind: str, number: str) -> str:
    """Whether it is for two nights where three are asked about, or four stars where five are."""
    ours: dict[str, set[int]] = {}
    for count, noun in _COUNTED.findall(asked):
        ours.setdefault(_singular(noun), set()).add(_number(count))
    near = re.split(r",\s", before)[-1] + " # " + re.split(r",\s", behind)[0]
    theirs: dict[str, set[int]] = {}
    for count, noun in _COUNTED.findall(near):
        theirs.setdefault(_singular(noun), set()).add(_number(count))
    for noun, counts in theirs.items():
        wanted = ours.get(noun, set())
        if len(wanted) == 1 and not counts & wanted and not re.search(rf"how many (?:\w+ )?{noun}", asked):
            return f"it is given for {min(counts)} {noun}s, and the question is of {min(wanted)}"
    many = _FOR_SO_MANY.match(behind)
    told = {_number(count) for count in re.findall(rf"\b({_COUNT})\b", asked)}
    if many and _SO_MANY.search(asked) and _number(many[1]) not in told:
        return f"it is given for {many[1]}, and the question is of {_SO_MANY.findall(asked)[0]}"
    return ""


def _number(word: str) -> int:
    return _COUNTS.get(word) or int(word)


def _singular(noun: str) -> str:
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def _another_way(asked: str, behind: str) -> str:
    """Whether it is there and back, or for somebody else."""
    if (both := _BOTH_WAYS.match(behind)) and not _ASKED_BOTH.search(asked):
        return f'it is given "{both[1]}", which is not asked for'
    if (one := _ONE_WAY.match(behind)) and _ASKED_BOTH.search(asked) and not _ASKED_ONE.search(asked):
        return f'it is given "{one[1]}", and the way back is asked for, too'
    payer = _PAYER.match(behind)
    if payer and payer[1] not in asked and re.search(rf"\b(?:{_PAYERS})s?\b", asked):
        return f'it is given for "{payer[1]}", of whom the question is not'
    return ""


def _another_time(asked: str, clause: str) -> str:
    ours = {_hours(*found) for found in _AGO.findall(asked)}
    theirs = {_hours(*found) for found in _AGO.findall(clause)}
    if len(ours) == 1 and theirs and not any(abs(one - min(ours)) <= min(ours) / 30 for one in theirs):
        return "it is given for another time than the question's"
    return ""


def _hours(count: str, unit: str) -> int:
    return (_number(count) if count else 1) * _HOURS[unit]


def _another_part(asked: str, question: str, behind: str, cased: str) -> str:
    """Whether it is of what the question leaves out, of one of all, of a place more, or still in the first unit."""
    thing = re.match(r"\s([a-z]{3,})\b", behind)
    turned = next((found for each in _FROM_ONE_UNIT if (found := each.search(asked))), None)
    if thing and turned and thing[1] == turned["given"] != turned["asked"]:
        return f"it is given in {turned['given']}, and {turned['asked']} are asked for"
    left_out = {_singular(found) for found in _LEAVES_OUT.findall(asked)}
    rest = _LEAVES_OUT.sub(" ", asked)
    if thing and _singular(thing[1]) in left_out and _singular(thing[1]) not in rest:
        return f"it is a number of {thing[1]}, which the question leaves out"
    kind = _ALL_TOGETHER.search(asked)
    if kind and re.match(_UNIT + rf"(?:\s[a-z]+)?\s(?:in|of|for) (?:the )?{kind[1]} [\w-]+", behind):
        return f"it is given for one {kind[1]}, and the question is of all"
    two = _IN_TWO.match(cased)
    if two and (two[1].casefold() in asked) != (two[2].casefold() in asked) and " and " not in asked:
        return f"it is given for {two[1]} and {two[2]}, and the question is of one of them"
    return ""
