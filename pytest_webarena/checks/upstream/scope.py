"""What a question asks about, and whether a clause of an answer speaks of that or of something else."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from fractions import Fraction

from pytest_webarena.checks.upstream.folding import stem

__all__ = ["MONTH", "Question", "dates_of", "days_of", "negated_words", "of_another_kind", "of_another_time",
           "of_another_time_or_kind", "of_something_else"]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, as far as it tells which numbers of an answer could answer it."""

    text: str
    """Folded."""
    words: frozenset[str]
    """Stems of its words."""
    dimension: str
    """``count``, ``money``, ``code`` (order numbers and the like) or nothing known."""
    numbers: frozenset[Fraction]
    """That it says itself."""
    negated: frozenset[str] = frozenset()
    """Those of its words that it negates: "not approved", "non-cancelled"."""
    counted: frozenset[str] = frozenset()
    """What it asks the number of."""
    months: frozenset[str] = frozenset()
    years: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Its words with a capital, but for the first."""
    pairs: frozenset[tuple[str, str]] = frozenset()
    """Those of them that stand one after the other."""


MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
"""A month's name in folded text."""

_CLAUSES = re.compile(r"[.;:!?\n)]\s?|(?<!\d )\(|,\s|\s-\s|\s(?:but|and|while|whereas|hence|so)\s")
_NEGATED = re.compile(r"(?:\bnot(?: yet| been)?|n't(?: been)?|\bnon|\bun|\bnever)[ -]?([a-z]{3,})")
_LEFT_OUT = re.compile(
    r"\b(?:not|non|never|without|excluding|except|other than|leaving out|ignoring|skipping|no)\b|n't\b|\bun"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@functools.lru_cache(maxsize=512)
def dates_of(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The months (three letters) and years that folded ``text`` names, in words or in dates."""
    months = {named[0][:3] for named in re.finditer(rf"\b{MONTH}", text)}
    if "may" in months and not re.search(r"\bmay\b,? ?\d|(?:in|of|during|to|and|from|mid|until) may\b", text):
        months.discard("may")
    for match in re.finditer(
        r"(?<!\d)(\d{1,2})/(?:\d{1,2}(?:/\d{2,4})?|\d{4})(?!\d)|(?<!\d)\d{4}[/-](\d{1,2})(?!\d)", text
    ):
        number = int(match[1] or match[2])
        if 1 <= number <= 12:
            months.add(_MONTHS[number - 1])
    return frozenset(months), frozenset(re.findall(r"(?<![\d.$])(?:19|20)\d\d(?![\d.])", text))


def negated_words(text: str, words: frozenset[str]) -> frozenset[str]:
    """Those of ``words`` that folded ``text`` negates directly."""
    return frozenset(stem(match[1]) for match in _NEGATED.finditer(text)) & words


_DAY = re.compile(
    rf"(?<![\d/.-])(\d{{1,2}})/(\d{{1,2}})(?:/\d{{2,4}})?(?![\d/])|(?<!\d)\d{{4}}-(\d{{1,2}})-(\d{{1,2}})(?!\d)"
    rf"|\b({MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)|(?<![\d.,])(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({MONTH})"
)


@functools.lru_cache(maxsize=512)
def days_of(text: str) -> frozenset[tuple[str, int]]:
    """The days that folded ``text`` names, as months and days.

    >>> sorted(days_of("on 3/5/2023, march 6th and 2023-03-07"))
    [('mar', 5), ('mar', 6), ('mar', 7)]
    """
    found = set()
    for match in _DAY.finditer(text):
        month, day = match[1] or match[3], match[2] or match[4] or match[6] or match[7]
        if month is None:
            found.add(((match[5] or match[8])[:3], int(day)))
        elif 1 <= int(month) <= 12:
            found.add((_MONTHS[int(month) - 1], int(day)))
    return frozenset(found)


_FIELDS: tuple[tuple[re.Pattern[str], ...], ...] = tuple(
    tuple(re.compile(rf"(?:{value})") for value in values)
    for values in (
        (
            r"\bpending\b",
            r"(?<!in)\bcompleted?\b(?! (?:list|names?|set|address|history|answer|search|total))",
            r"\bcancell?ed\b|\bcancell?ations?\b|\bcanlled\b",
            r"\bprocessing\b",
            r"\bon hold\b",
        ),
        (
            r"\bpending\b",
            r"(?<!not )(?<!n't )(?<!yet )(?<!non-)(?<!un)approved\b",
            r"\bnot (?:yet )?approved\b|\bunapproved\b",
        ),
        (
            r"\bsub-?total\b",
            r"\bgrand total\b|\btotal (?:cost|amount|payment)\b|\bspen[dt]\b",
            r"\btax(?:es)? (?:is|was|are|were)\b",
        ),
        (
            r"(?<!un)(?<!dis)(?<!not )(?<!n't )(?<!less )(?<!least )"
            r"\b(?:satisfied|happy|happiest|pleased|loves?|loved|praise[sd]?|delighted)\b",
            r"\b(?:un|dis)(?:happy|satisf\w+|pleased)|\bdisappoint\w*|\bcomplain\w*|\bcritici\w+",
        ),
        (r"\b(?:newest|latest|most recent)\b", r"\b(?:oldest|earliest|least recent)\b"),
        (r"\bcheapest\b", r"\bmost expensive\b|\bpriciest\b"),
        (r"\bspen[dt]\b|\brefund|\bcosts?\b|\bpa(?:id|y)\b", r"\bsav(?:ed|ings)\b|\bearned\b"),
        (r"\bspen[dt]\b(?! .*\brefund)", r"\brefund(?:ed|s)?\b"),
        (r"\bupvotes\b", r"\bdownvotes\b"),
        (
            r"\bwalk\w*|\bfoot\b|\bpedestrian\b",
            r"\bdriv(?:e|es|ing)\b|\bby car\b",
            r"\bbik(?:e|ing)\b|\bbicycle\b|\bcycling\b",
            r"\bby (?:bus|train)\b|\btransit\b",
        ),
        (
            r"(?<!too )\b(?:small|tiny|narrow)\b",
            r"(?<!too )\b(?:big|large|huge|roomy|spacious)\b|\bfits? (?:\w+ )?(?:perfectly|well|fine)\b",
        ),
        (r"\bshipping methods?\b", r"\bpayment methods?\b"),
        (r"\bcommits?\b", r"\b(?:merge|pull) requests?\b", r"\bissues\b", r"\bforks\b"),
        tuple(
            rf"\bq{n}\b|\b{word} quarter\b|\b{n}\w\w quarter\b|\bquarter {n}\b"
            for n, word in enumerate(("first", "second", "third", "fourth"), start=1)
        ),
    )
)
"""Values of which a thing has one: an order is pending or complete."""


def of_another_kind(clause: str, question: str) -> bool:
    """Whether the clause speaks of pending orders where the question asks of complete ones, and the like.

    >>> of_another_kind("the pending order", "my cancelled order"), of_another_kind("it", "my cancelled order")
    (True, False)
    """
    for values, asked in _asked_fields(question):
        said = {at for at, value in enumerate(values) if value.search(clause)}
        if said and asked not in said:
            return True
    return False


@functools.lru_cache(maxsize=512)
def _asked_fields(question: str) -> tuple[tuple[tuple[re.Pattern[str], ...], int], ...]:
    """The fields of which it has one value, and which one."""
    found = ((values, [at for at, value in enumerate(values) if value.search(question)]) for values in _FIELDS)
    return tuple((values, asked[0]) for values, asked in found if len(asked) == 1)


def of_something_else(before: str, after: str, question: Question) -> bool:
    """Whether the clause is of another time or kind than the question, or of the contrary ("not approved")."""
    clause = _clause(before, after)
    if of_another_time_or_kind(before, after, question):
        return True
    denied = negated_words(clause, question.words)
    if denied - question.negated:
        return True
    said = {stem(word) for word in re.findall(r"[a-z]+", clause)}
    return bool((question.negated & said) - denied) and not _LEFT_OUT.search(clause)


def _clause(before: str, after: str) -> str:
    start = max((match.end() for match in _CLAUSES.finditer(before)), default=0)
    end = _CLAUSES.search(after)
    return before[start:] + " \x01 " + (after[: end.start()] if end else after)


def of_another_time_or_kind(before: str, after: str, question: Question) -> bool:
    """Whether the clause is of another day, month or year than the question, or of another kind of what it asks."""
    clause = _clause(before, after)
    if of_another_time(_clause(before.replace(":", ""), after), question):  # a label may name the time
        return True
    known = not question.negated or "not approved" in question.text  # of what is negated only this is a kind
    return known and of_another_kind(clause, question.text)


def of_another_time(text: str, question: Question) -> bool:
    """Whether all days, months or years that the text names are others than the question's."""
    months, years = dates_of(text)
    if (question.years and years and not years & question.years) or (
        question.months and months and not months & question.months
    ):
        return True
    days = days_of(question.text)
    return bool(days and (said := days_of(text)) and not days & said)
