"""The quantities that an answer states, each with its unit and with what it counts.

Digits that belong to something else are none: dates, times, names, versions, telephone numbers, sizes, ranks, pages,
markers of lists. Neither are bounds ("more than 6") and the ends of ranges ("6-7").
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, stem
from pytest_webarena.checks.upstream.scope import MONTH, Question, of_something_else

__all__ = ["Quantity", "amounts", "quantities"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One number of a text."""

    value: Fraction
    start: int
    end: int
    digits: str
    """As written, without signs and separators; empty for words."""
    unit: str
    """``money``, ``foreign``, ``percent``, a unit of measure, or nothing."""
    noun: bool | None
    """Whether what it counts is what the question names; None when nothing is said to be counted."""
    exact: bool
    """No bound and no end of a range."""
    context: bool
    """Of something that is not asked: "of 12", "I checked 5 pages", another year, "not approved"."""
    aside: bool
    """Whether it may be of the whole: "all 12", "the two"."""


_NAMES = (
    r"https?://\S+|www\.\S+|\S+@\S+\.\w+",
    r"\d{4}-\d{1,2}-\d{1,2}(?:[t ]\d{1,2}:\d\d\S*)?",
    r"(?<![\d.,/])\d{1,4}[/]\d{1,4}(?:/\d{2,4})?(?![\d/])|(?<![\d.,/])\d{1,2}\.\d{1,2}\.\d{2,4}(?!\d)",
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{MONTH}(?:,? (?:19|20)\d\d\b)?",
    rf"\b{MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,? (?:19|20)\d\d\b)?|\b{MONTH},? (?:of )?(?:19|20)\d\d\b",
    r"\d+:\d+(?::\d+)?(?: ?[ap]\.?m\b\.?)?|\b\d{1,2} ?(?:[ap]\.?m\b\.?|o'clock)",
    r"(?<![\w.,])\+\d[\d ().-]{6,}\d|(?<![\w.,])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?!\d)"
    r"|(?<![\w.,])\d{3}[.-]\d{4}(?![\d])",
    r"(?<![\w.,])\d+(?:\.\d+){2,}(?![\d,])|\bv\d[\d.]*",
    r"(?<![\w-])(?!(?:usd|eur|gbp|us|chf|cad|aud)\d)[a-z][\w-]*\d[\w-]*",
    r"(?<![\w.,-])\d+[a-z]+\d\w*",
    r"(?<![\w.,])\d+(?:\.\d+)?(?: ?(?:\"|''|'|cm|mm|inch(?:es)?|in))? ?(?:[x\u00d7*]|by) ?\d+(?:\.\d+)?",
    r"\b\d+(?:st|nd|rd|th)\b",
    r"\bq[1-4]\b",
    r"\b\d+(?:,\d{1,2}(?!\d)|,\d{4,})(?:,?\d)*",
)
_LABELS = (
    r"\b(?:page|step|invoice|issue|version|chapter|room|row|tab|option|quarter|week|day|line|size|zip|postcode"
    r"|postal code"
    r"|ticket|level|floor|phase|part|account|customer id|user id|commit id|sku|build|mr|merge request) ?(?:#"
    r"|no\.?|number)? ?\d+"
)
_ORDER_LABELS = re.compile(r"\border (?:#|no\.?|number|id)?:? ?#?\d+|#\d+|\b(?:id|number|no\.):? ?#?0\d+")
_RANK = r"\b(?:top|last|first|latest|recent|past|next|previous|oldest|newest)[ -]"
_UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
          "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {word: i for i, word in enumerate(_UNITS)} | {word: 20 + 10 * i for i, word in enumerate(_TENS)}
_SMALL = rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_UNITS[1:10])}))?|{'|'.join(_UNITS)})"
_RANKS = rf"{_RANK}(?:\d+|{_SMALL}\b)"
_MASKED = tuple(map(re.compile, (*_NAMES, _LABELS, _RANKS)))
REACH = 120
"""Characters before a number that are looked at."""
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w)\]\x02])[-+](?=[$\d.]))?(?:(?P<money>[$\u20ac\u00a3\u00a5\u20b9]|\b(?:usd|eur|gbp|us\$"
    r"|chf|cad|aud|jpy|inr) ?\$?) ?)?"
    r"(?P<inner>(?<=[$\u20ac\u00a3])-)?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|(?<![\w.])\.\d+)(?P<after>.{0,60})",
    re.DOTALL,
)
_SPELT = re.compile(
    rf"(?<![\w-])(?:(?P<hundreds>a|{'|'.join(_UNITS[1:10])}) hundred(?:(?: and)? (?P<rest>{_SMALL}))?"
    rf"|(?P<small>{_SMALL}))(?![\w]|-\w)"
    r"(?=(?P<after>.{0,60}))",
    re.DOTALL,
)
_WORDY = rf"(?:(?:a|{'|'.join(_UNITS[1:10])}) hundred(?:(?: and)? {_SMALL})?|{_SMALL}|\d+)"
_CENTS = re.compile(rf"(?<![\w-])(?P<dollars>{_WORDY}) dollars?,? (?:and )?(?P<cents>{_WORDY}) cents?\b")
_ONE_BEFORE = re.compile(
    r"(?:^|[\n.,;:(\"=]|\b(?:is|was|are|were|be|only|exactly|just|made|has|have|had|got|get|gets|found|find|about|and"
    r"|with|by|received|did|there's|count|answer|total|of|but|s|'ve|bought|placed|left|mentions?|for|shows?|gives?))\s*\Z"
)
_TIMES = re.compile(
    r"(?<!\w)(?:(?:only |just |exactly )(?P<once>once)|(?P<twice>twice)|a single|just a)(?= (?P<after>\S.{0,60})|\W|$)",
    re.DOTALL,
)
_FOREIGN = re.compile(r"[\u20ac\u00a3\u00a5\u20b9]|eur|gbp|chf|cad|aud|jpy|inr")
_SCALE = re.compile(r"(?:k|bn)(?!\w)| ?(?:thousand|million|billion|hundred)\b")
_UNIT = re.compile(
    r" ?(?:(?P<percent>%|percent\b|per cent\b|pct\b)|(?P<dollars>(?:us )?dollars?\b|usd\b|us\$|\$|bucks\b)"
    r"|(?P<foreign>[\u20ac\u00a3\u00a5\u20b9]|(?:euros?|pounds?|eur|gbp|yen|rupees|cad|aud|cents?)\b)"
    r"|(?P<measure>(?:km|kilomet(?:er|re)s?|m|met(?:er|re)s?|mi|miles?|cm|mm|ft|feet|foot|yards?|inch(?:es)?|kg|kilos?|g|grams?|lbs?|oz|ounces?"
    r"|h|hrs?|hours?|min|mins|minutes?|s|sec|secs|seconds?|days?|weeks?|months?|years?|gb|mb|tb|px|stars?|degrees?|\u00b0[cf])(?![\w]))"
    r"|(?P<west>\u00b0 ?[ws]\b| ?w\b)|(?P<east>\u00b0(?: ?[ne]\b)?))"
)
_BOUND_BEFORE = re.compile(
    r"(?:\b(?:(?:more|less|fewer|greater|higher|lower|bigger|smaller|other) than|at least|at most|over|under"
    r"|above|below|up to"
    r"|nearly|almost|exceeds|exceeding|close to|minimum of|maximum of|beyond)|[<>\u2264\u2265~]=?)\s*(?:[$]|a "
    r"|an )?\s?\Z"
)
_BOUND_AFTER = re.compile(
    r"^(?:\+| ?or (?:more|less|fewer|so|higher|lower|above)\b| ?plus\b| and (?:more|above|counting)\b|-?ish\b"
    r"|s\b|\s?or\s?\d)"
)
_RANGE_AFTER = re.compile(r"^\s?(?:[$%]|km|m|min)?\s?(?:-|to|through|until|\.\.+)\s?[$]?\d|^-\d")
_RANGE_BEFORE = re.compile(r"(?:\d|\bzero|\bone|\bten)(?:k|m|%)?\s?(?:-|to|through|until|\.\.+)\s?[$]?\Z")
_BETWEEN = re.compile(r"\bbetween [^.;]{0,20}\Z")
_BETWEEN_AFTER = re.compile(r"^[^.;]{0,12} and (?:[$]?\d|\w)")
_TOTAL_BEFORE = re.compile(
    r"\b(?:of|out of|among|amongst|from|in) (?:the |these |those |all |all the |its |our |my "
    r"|a total of )*(?:top |total )?\Z"
)
_COUNTED = re.compile(
    r"(?:\d|\bnone|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|no)\b[^.;,]{0,30}|all|some"
    r"|none) (?:out )?(?:of|in|among|from) [^.;]{0,24}\Z"
)
_STEP_BEFORE = re.compile(r"(?:[+*\u00d7/]|\bplus|\bminus|\btimes|\bx)\s?[$]?\Z")
_STEP_AFTER = re.compile(r"^\s?(?:[+*\u00d7]|plus\b|minus\b|times\b)")
_PROCESS = re.compile(
    r"\b(?:looked|look|checked|went|going|browsed|visited|searched|scanned|opened|read|scrolled|clicked|waited|reviewed"
    r"|compared|tried|after|checking|reading|opening|browsing|filtered|filtering) (?:at |through |in |on |for |over )?"
    r"(?:the |all |of |these |about |some )*\Z"
)
_ALL = re.compile(
    r"(?:\b(?:all|the|these|those|both|every|my|your|their|its)|(?:^|[\n.;:(]\s?|, )(?:out )?of"
    r"|\bamong(?:st)?)\s(?:the |of |these |all )*\Z"
)
_PART = re.compile(r"\b(?:including|includes?|included|of which|inclusive of)\b[^.;]{0,40}\Z")
_YEAR = re.compile(r"(?:19|20)\d\d")


@functools.lru_cache(maxsize=512)
def quantities(text: str, question: Question) -> tuple[Quantity, ...]:
    """The quantities in folded ``text``, in order.

    >>> asked = Question(text="", words=frozenset({"review"}), dimension="count", numbers=frozenset())
    >>> [(str(q.value), q.noun, q.exact) for q in quantities("6 reviews on 3/6/2023 at 12:06, over 7, page 8", asked)]
    [('6', True, True), ('7', None, False)]
    """
    masked = _masked(text, question)
    found = [*_numerals(masked, question), *_spelt(masked, question)]
    return tuple(
        replace(each, context=each.context or of_something_else(text[: each.start], text[each.end :], question))
        for each in sorted(found, key=lambda each: each.start)
    )


def amounts(text: str) -> str:
    """Folded ``text`` with dollars and cents in one figure.

    >>> amounts("it cost thirty-six dollars and five cents")
    'it cost $36.05'
    """
    return _CENTS.sub(_figure, text)


def _figure(match: re.Match[str]) -> str:
    cents = _spelt_value(match["cents"])
    dollars = _spelt_value(match["dollars"])
    return match[0] if cents is None or dollars is None or cents > 99 else f"${dollars}.{cents:02}"


def _spelt_value(text: str) -> int | None:
    if text.isdigit():
        return int(text)
    match = _SPELT.fullmatch(text)
    return _value(match) if match else None


def _value(match: re.Match[str]) -> int:
    small = match["small"] or match["rest"]
    value = sum(_VALUES[word] for word in re.split("[- ]", small)) if small else 0
    if match["hundreds"]:
        value += 100 * (1 if match["hundreds"] == "a" else _VALUES[match["hundreds"]])
    return value


def _masked(text: str, question: Question) -> str:
    if not any(map(str.isdigit, text)):
        return text
    for pattern in _MASKED if question.dimension == "code" else (*_MASKED, _ORDER_LABELS):
        text = pattern.sub(lambda match: "\x03" * len(match[0]), text)
    return text


def _numerals(text: str, question: Question) -> Iterator[Quantity]:
    place = 0
    while match := _NUMBER.search(text, place):
        start, end = match.start(), match.end("digits")
        place = end
        before, after = text[:start], match["after"]
        if re.search(r"[\w\x03]\Z", before) or re.match(r"[.,]\d", after):
            continue
        value = Fraction(match["digits"].replace(",", ""))
        money = match["money"]
        unit = "" if not money else "foreign" if _FOREIGN.match(money) else "money"
        scale = _SCALE.match(after)
        if scale:
            value *= {"k": 1000, "thousand": 1000, "hundred": 100}.get(scale[0].strip(), 10**6)
            after = after[scale.end() :]
            end += scale.end()
        negative = match["sign"] == "-" or match["inner"] == "-"
        if found := _UNIT.match(after):
            after = after[found.end() :]
            kind = found.lastgroup or ""
            negative |= kind == "west"
            if kind not in ("west", "east") and not (unit and kind == "dollars"):
                unit = {"dollars": "money", "measure": found[0].strip()}.get(kind, kind)
            end += found.end()
        elif re.match(r"\w|-\w|'\w", after) and not re.match(r"-\d", after):
            continue  # part of a word: 6th, 0-star
        if (
            match["digits"]
            and _YEAR.fullmatch(match["digits"])
            and not unit
            and re.search(
                r"(?:\b(?:in|of|during|for|since|from|by|until|through|to|year|all|and|late|early|mid)|\(|,|-|\x03)\s?\Z",
                before,
            )
        ):
            continue
        yield _quantity(
            -value if negative else value, start, end, match["digits"].replace(",", ""), unit, before, after, question
        )


def _spelt(text: str, question: Question) -> Iterator[Quantity]:
    for match in _SPELT.finditer(text):
        before, after = text[: match.start()], match["after"]
        if match["small"] == "one" and (
            not _ONE_BEFORE.search(before) or re.match(r" of\b|'s?\b| another| or (?:more|two)| stop", after)
        ):
            continue
        value = _value(match)
        end = match.end()
        unit = ""
        if found := _UNIT.match(after):
            kind = found.lastgroup or ""
            if kind not in ("west", "east"):
                unit = {"dollars": "money", "measure": found[0].strip()}.get(kind, kind)
                after = after[found.end() :]
        yield _quantity(Fraction(value), match.start(), end, "", unit, before, after, question)
    for match in _TIMES.finditer(text):
        if re.search(r"(?:n't|\bnot|\bnot even|\bwithout) \Z", text[: match.start()]):
            continue
        value = 2 if match["twice"] else 1
        after = "" if match["once"] or match["twice"] else f" {match['after'] or ''}"
        yield _quantity(Fraction(value), match.start(), match.end(), "", "", text[: match.start()], after, question)


def _quantity(
    value: Fraction, start: int, end: int, digits: str, unit: str, before: str, after: str, question: Question
) -> Quantity:
    before = before[-REACH:]
    ranged = _RANGE_AFTER.match(after) or _RANGE_BEFORE.search(before)
    between = (_BETWEEN.search(before) and _BETWEEN_AFTER.match(after)) or re.search(
        r"\bbetween [^.;]{1,20} and [$]?\Z", before
    )
    bound = _BOUND_BEFORE.search(before) or _BOUND_AFTER.match(after)
    total = unit != "money" and _TOTAL_BEFORE.search(before) and _COUNTED.search(before)
    step = _STEP_BEFORE.search(before) or _STEP_AFTER.match(after)
    noun = _counts(after, question)
    code = question.dimension != "code" and re.match(r"0\d", digits) is not None
    process = unit not in ("money", "percent") and _PROCESS.search(before)
    said = (
        value in question.numbers and noun is not None and re.search(rf"\b{digits or 'x'}\b", question.text) is not None
    )
    return Quantity(
        value=value,
        start=start,
        end=end,
        digits=digits,
        unit=unit,
        noun=noun,
        exact=not (ranged or between or bound),
        context=bool(total or step or process or said or _of_another(after, question)),
        aside=code or _PART.search(before) is not None or (not unit and _ALL.search(before) is not None),
    )


def _counts(after: str, question: Question) -> bool | None:
    """Whether one of the next words is one of the question's; None when no word follows that could be counted."""
    words = re.match(r"(?: [a-z][a-z'-]*){1,4}", after)
    if words is None:
        return None
    listed = words[0].split()
    counted: list[str] = []
    for word in listed[:3]:
        if word in FUNCTION_WORDS or word in ("other", "such"):
            if counted or word not in ("of", "of the", "different", "such", "other", "the"):
                break
            continue
        counted.append(stem(word))
    if not counted:
        return None
    return any(word in question.words for word in counted)


def _of_another(after: str, question: Question) -> bool:
    """Whether the next word is one of the question's, but not what it asks the number of."""
    word = re.match(r" ([a-z]+)", after)
    if not question.counted or not word:
        return False
    if stem(word[1]) in question.words - question.counted:
        return True
    doing = re.match(r" [a-z]+ (?:made|make|makes|did|have|has|had|wrote|gave|left|placed) (?:[a-z]+ )?([a-z]+)", after)
    return doing is not None and word[1] not in FUNCTION_WORDS and stem(doing[1]) in question.counted
