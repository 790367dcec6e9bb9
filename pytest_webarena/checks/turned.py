"""Words right beside a number that make another one of it, or say it of something else than what is asked about."""

from __future__ import annotations

import re

from pytest_webarena.checks.circumstances import otherwise_given
from pytest_webarena.checks.compared import SAME_WAY, wrong_way_round
from pytest_webarena.checks.opposed import NOT

__all__ = ["turned"]

_PART_OF = re.compile(
    r"\b(?:half(?: of)?|(?:a |one )?(?:third|quarter|part|fraction) of|double|twice|(?:some|most|few|many) of"
    r"|minus)\s+\W?\Z"
)
_TO = re.compile(
    r"(?<!comes )(?<!amounts )(?<!adds up )(?<!equal )(?<!equals )(?<!close )(?<!leads )(?<!due )\bto\s+\W?\Z"
    r"|\A\s*to\s+\W?\Z"
)
_BY_HOW_MUCH = re.compile(
    r"\bby how|\b(?:more|fewer|less|longer|shorter|fall|rise|grow|drop|change|increase|decrease|sink|risen|fallen)\b"
)
_UNIT = r"(?:\s?(?:%|\u20ac|\$|[^\W\d_]+))?"
_MORE_OR_LESS = re.compile(
    _UNIT
    + r",?\s+(?:(plus|minus|less)\s+(?!(?:or|than|in|on|at|by|from|of|for|and|over|after)\b)(?:the |any |an? )?[a-z]+"
    r"|(off|extra)\b)"
)
_DENIED = re.compile(_UNIT + rf"\s+(?:(?:is|are|was|were|do|does|did|have|has)\s+not|{NOT})\s")
_WITH = re.compile(_UNIT + r",?\s+(?:with|including|plus)\s+(?:the\s+|all\s+|any\s+)?([a-z]{4,})")
_LEFT_OUT = (
    r"\b(?:leave out|leaving out|without|excluding|not counting|(?:do not|don't) count|except(?: for)?|apart from)\b"
    r"[^.?]*\b"
)
_YEAR = re.compile(_UNIT + r"\s+(?:in|of|for|during)\s+((?:19|20)\d\d)\b")
_BY = re.compile(
    _UNIT + r"(?:\s+(?:was|were|is|are))?(?:\s+[a-z]+ed|\s+spent|\s+made|\s+written)?"
    r"\s+by\s+([a-z]+\.[a-z]+|[A-Z]\w+ [A-Z]\w+)"
)
_NAME = re.compile(r"\b[a-z]+\.[a-z]+\b|\b[A-Z]\w+ [A-Z]\w+|\b(?:I|my)\b")
_WAY = re.compile(_UNIT + r"\s+(?:by (?:car|bicycle|bike|train|bus|boat|ferry|tram|taxi|plane)|on foot)\b")
_WAYS = re.compile(
    r"\b(?:(?i:by (?:car|bicycle|bike|train|bus|boat|ferry|tram|taxi|plane)|on foot)|walk(?:ing)?|driv(?:e|ing)"
    r"|cycl(?:e|ing)|(?:(?<=\b[Hh]e )|(?<=\b[Ss]he )|(?<=\b[Ww]ho ))(?:walks|drives|cycles))\b"
    r"|(?:\A|(?<=[.?!] ))(?:Walk|Driv|Cycl)ing\b"
)
"""As verbs, and in small letters: walks and drives may be things, and a shop may be called Cycles."""
_THINGS = (
    "orders", "reviews ratings", "posts submissions", "comments replies", "subscribers members followers users people",
    "issues", "commits", "stars", "forks", "images pictures photos", "votes", "copies", "days",
    "weeks", "months", "years",
    "minutes", "hours", "customers", "projects repositories", "households families", "towns", "villages",
    "hills mountains peaks fells", "schools", "merge merges",
)  # fmt: skip
_THING = {word: each for each in _THINGS for word in each.split()}
_COUNTED = re.compile(r"\bhow (?:many|much) (?:more |fewer |of the )?([a-z]+)")
_BEHIND = re.compile(r"\s([a-z]+)\b")


def turned(question: str, text: str, start: int, end: int) -> str:
    """Why the number at this place of ``text`` is not the one that is asked for; empty when nothing says so.

    >>> turned("How many did Ann take?", "half of 4", 8, 9), turned("How many minutes?", "4 months", 0, 1)
    ('it says "half of 4"', 'it is a number of months, and minutes are asked for')
    """
    asked = question.casefold()
    before, behind = text[max(0, start - 60) : start], text[end : end + 80]
    low, number = before.casefold(), text[start:end]
    if (part := _PART_OF.search(low)) and part[0].split()[0] not in asked:
        return f'it says "{part[0].strip()} {number}"'
    if _TO.search(low) and "from" not in low and _BY_HOW_MUCH.search(asked):
        return f'it says "to {number}", and the difference is asked for'
    if (more := _MORE_OR_LESS.match(behind.casefold())) and (more[1] or more[2]) not in asked:
        return f'it says "{number}{more[0].rstrip()} \u2026"'
    denied = _DENIED.match(behind.casefold())
    told = re.findall(r"[^\W\d_]{4,}", re.split(r"[.,;]\s", behind[denied.end() :].casefold())[0]) if denied else []
    if any(word in asked for word in told) and not re.search(rf"\bnot\b|{NOT}", asked):
        return f"it speaks against what it says of {number}"
    if (along := _WITH.match(behind.casefold())) and re.search(_LEFT_OUT + re.escape(along[1]), asked):
        return f'it is given with "{along[1]}", which the question leaves out'
    years = re.findall(r"\b(?:19|20)\d\d\b", question)
    if years and (year := _YEAR.match(behind)) and year[1] not in years:
        return f"it is given for {year[1]}, and the question is of {years[0]}"
    if (by := _BY.match(behind)) and by[1].casefold() not in asked and _NAME.search(question):
        return f'it is said of "{by[1]}", of whom the question is not'
    ways = {_way(found[0].casefold()) for found in _WAYS.finditer(question)}
    if (way := _WAY.match(behind.casefold())) and ways and _way(way[0]) not in ways:
        return f'it is given "{" ".join(way[0].split()[-2:])}", and the question is of another way'
    return (
        _another_thing(asked, behind.casefold())
        or otherwise_given(question, text, start, end)
        or wrong_way_round(asked, text.casefold(), start, end)
    )


def _way(words: str) -> str:
    word = words.split()[-1]
    return SAME_WAY.get(word, word)


def _another_thing(asked: str, behind: str) -> str:
    """Why it counts something else, if both what is asked for and what is given is a thing that sites count."""
    counted, given = _COUNTED.search(asked), _BEHIND.match(behind)
    if counted is None or given is None or given[1] not in _THING:
        return ""
    wanted = _THING.get(counted[1]) or (counted[1] if counted[1] in ("crowns", "euros", "dollars") else None)
    if wanted is None or wanted == _THING[given[1]]:
        return ""
    return f"it is a number of {given[1]}, and {counted[1]} are asked for"
