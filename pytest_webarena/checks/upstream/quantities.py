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

__all__ = ["Quantity", "amounts", "figures", "quantities", "ratings"]


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
    r"https?://\S+|www\.\S+|(?<![^\s@(<,;:])[^\s@]{1,64}@[^\s@]{1,200}\.\w+",
    r"\d{4}-\d{1,2}-\d{1,2}(?:[t ]\d{1,2}:\d\d\S*)?",
    r"(?<![\d.,/])\d{1,4}[/]\d{1,4}(?:/\d{2,4})?(?![\d/])|(?<![\d.,/])\d{1,2}\.\d{1,2}\.\d{2,4}(?!\d)",
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{MONTH}(?:,? (?:19|20)\d\d\b)?",
    rf"\b{MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,? (?:19|20)\d\d\b)?|\b{MONTH},? (?:of )?(?:(?:19|20)|')\d\d\b",
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
    rf"(?<![\w-])(?:(?:(?P<thousands>a|{_SMALL}) thousand,?(?: and)? )?(?P<hundreds>a|{'|'.join(_UNITS[1:10])})"
    rf" hundred(?:(?: and)? (?P<rest>{_SMALL}))?"
    rf"|(?P<thousand>a|{_SMALL}) thousand(?:,?(?: and)? (?P<ones>{_SMALL}))?|(?P<small>{_SMALL}))(?![\w]|-\w)"
    r"(?=(?P<after>.{0,60}))",
    re.DOTALL,
)
_WORDY = (
    rf"(?:(?:(?:a|{_SMALL}) thousand,?(?: and)? )?(?:a|{'|'.join(_UNITS[1:10])}) hundred(?:(?: and)? {_SMALL})?"
    rf"|(?:a|{_SMALL}) thousand(?:,?(?: and)? {_SMALL})?|{_SMALL}|\d+)"
)
_CENTS = re.compile(
    rf"(?<![\w-])(?P<dollars>{_WORDY}) dollars?"
    rf"(?:,? (?:and )?(?P<cents>{_WORDY}) cents?\b| (?P<bare>{_SMALL})(?=\s*(?:$|[.,;!()\n])))"
)
_ONLY_CENTS = re.compile(rf"(?<![\w.,$-])(?P<cents>{_SMALL}|\d{{1,2}}) cents?\b")
_NO_RANGE = re.compile(
    r"(?<![\w.,$-])(?:from |between )?(?P<value>\$?\d[\d,]*(?:\.\d+)?) ?(?:-|to|and) ?(?P=value)(?![\w%]|[.,-]\d)"
)
_OF_FIVE = re.compile(r"(?<![\w./,])([0-5](?:\.\d+)?) ?/ ?5(?:\.0)?(?![\d/])")
_ONE_BEFORE = re.compile(
    r"(?:^|[\n.,;:(\"=]|\b(?:is|was|are|were|be|only|exactly|just|just the|made|has|have|had|got|get|gets|found|find"
    r"|about|and|with|by|received|did|there's|count|answer|total|of|but|s|'ve|bought|placed|left|mentions?|for|shows?"
    r"|gives?))\s*\Z"
)
_TIMES = re.compile(
    r"(?<!\w)(?:(?:only |just |exactly )(?P<once>once)|(?<=ed )(?P<bare>once)|(?P<twice>twice)|a single|just"
    r" a)(?= (?P<after>\S.{0,60})|\W|$)",
    re.DOTALL,
)
_FOREIGN = re.compile(r"[\u20ac\u00a3\u00a5\u20b9]|eur|gbp|chf|cad|aud|jpy|inr")
_SCALE = re.compile(r"(?:k|bn)(?!\w)| ?(?:thousand|million|billion|hundred|dozens?)\b")
_SCALES = {"k": 1000, "thousand": 1000, "hundred": 100, "dozen": 12, "dozens": 12}
_UNIT = re.compile(
    r"(?: |-(?=kilomet|met(?:er|re)|mile|km\b))?"
    r"(?:(?P<percent>%|percent\b|per cent\b|pct\b)|(?P<dollars>(?:us )?dollars?\b|usd\b|us\$|\$|bucks\b)"
    r"|(?P<foreign>[\u20ac\u00a3\u00a5\u20b9]|(?:euros?|pounds?|eur|gbp|yen|rupees|cad|aud|cents?)\b)"
    r"|(?P<measure>(?:km|kilomet(?:er|re)s?|m|met(?:er|re)s?|mi|miles?|cm|mm|ft|feet|foot|yards?|inch(?:es)?|kg"
    r"|kilos?|g|grams?|lbs?|oz|ounces?"
    r"|h|hrs?|hours?|min|mins|minutes?|s|sec|secs|seconds?|days?|weeks?|months?|years?|gb|mb|tb|px|stars?"
    r"|degrees?|\u00b0[cf])(?![\w])"
    r"(?!(?<=[ ][smghw])\.? [a-z]+ (?:st|ave|rd|blvd|dr|hwy|pl|way|street|avenue|road|drive)\b))"
    r"|(?P<west>\u00b0 ?[ws]\b| ?w\b)|(?P<east>\u00b0(?: ?[ne]\b)?))"
)
_BOUND_BEFORE = re.compile(
    r"(?:\b(?:(?:more|less|fewer|greater|higher|lower|bigger|smaller|other) than|at least|at most|over|under"
    r"|above|below|starting (?:at|from)|starts? at"
    r"|(?<!add )(?<!adds )(?<!added )(?<!adding )(?<!sum )(?<!sums )(?<!summed )(?<!come )(?<!comes )(?<!came )"
    r"(?<!work )(?<!works )up to"
    r"|nearly|almost|exceeds|exceeding|close to|minimum of|maximum of|beyond)|[<>\u2264\u2265~]=?)\s*(?:[$]|a "
    r"|an )?\s?\Z"
)
_ROUGHLY = re.compile(r"\b(?:about|around|roughly|approximately|approx\.?|circa|some)\s\Z")
_BOUND_AFTER = re.compile(
    r"^(?:\+| ?or (?:more|less|fewer|so|higher|lower|above)\b| ?plus\b| and (?:more|above|counting|up|upwards?"
    r"|over)\b|-?ish\b"
    r"| (?:too (?:much|many|little|few)|upwards?)\b"
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
    r"(?:\d(?: [a-z]+){0,3}|\bnone|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|no)\b[^.;,]{0,30}|all|some"
    r"|none) (?:out )?(?:of|in|among|from) [^.;]{0,24}\Z"
)
_REST_BEFORE = re.compile(r"\b(?:the|all) (?:other|remaining)\s\Z")
_LESS_BEFORE = re.compile(r"\b(?:excluding|without|not (?:counting|including)|net of|after deducting|deducting)\s\Z")
_WHOLE_BEFORE = re.compile(r"(?:^|[\n.;:(] ?)(?:out )?of (?:(?:the|all|these|those|our|your|my|its|a total of) )*\Z")
_WHOLE_AFTER = re.compile(
    rf"[^.;,\n]{{0,40}},[^.;\n]*?(?:\d|\b(?:no|none|nothing|{'|'.join(_UNITS)}|{'|'.join(_TENS)})\b)"
)
_STEP_BEFORE = re.compile(r"(?:[+*\u00d7/]|\bplus|\bminus|\btimes|\bx)\s?[$]?\Z")
_STEP_AFTER = re.compile(r"^\s?(?:[+*\u00d7]|plus\b|minus\b|times(?= [$]?\d))")
_LESS_AFTER = re.compile(r"^,? (?:minus|less|plus)\b[^.;\n=]{0,30}\d")
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
        replace(
            each,
            context=each.context
            or of_something_else(
                text[max(0, each.start - 2 * REACH) : each.start], text[each.end : each.end + 2 * REACH], question
            ),
        )
        for each in sorted(found, key=lambda each: each.start)
    )


def amounts(text: str) -> str:
    """Folded ``text`` with dollars and cents in one figure, and ranges of one value as that.

    >>> amounts("it cost thirty-six dollars and five cents"), amounts("from $9 to $9"), amounts("$9 to $9.50")
    ('it cost $36.05', '$9', '$9 to $9.50')
    """
    text = _ONLY_CENTS.sub(_cents, _CENTS.sub(_figure, text))
    return _NO_RANGE.sub(r"\1", text)


def figures(text: str) -> str:
    """Folded ``text`` with its numbers in figures; "one" stays, which counts nothing as often as not.

    >>> figures("three hundred fifty dollars and forty-two cents, one of twelve")
    '$350.42, one of 12'
    """
    return _SPELT.sub(lambda match: match[0] if match[0] == "one" else str(_value(match)), amounts(text))


def ratings(text: str) -> str:
    """Folded ``text`` with marks out of a highest one in words, so that they are no dates.

    >>> ratings("it has 3/5, or 65/100; 3/10 on 3/5/2023")
    'it has 3 out of 5, or 65%; 3/10 on 3/5/2023'
    """
    return re.sub(r"(?<![\w./,])(\d{1,3}) ?/ ?100(?![\d/])", r"\1%", _OF_FIVE.sub(r"\1 out of 5", text))


def _figure(match: re.Match[str]) -> str:
    cents = _spelt_value(match["cents"] or match["bare"])
    dollars = _spelt_value(match["dollars"])
    return match[0] if cents is None or dollars is None or cents > 99 else f"${dollars}.{cents:02}"


def _cents(match: re.Match[str]) -> str:
    cents = _spelt_value(match["cents"])
    return match[0] if cents is None or cents > 99 else f"$0.{cents:02}"


def _spelt_value(text: str) -> int | None:
    if text.isdigit():
        return int(text)
    match = _SPELT.fullmatch(text)
    return _value(match) if match else None


def _value(match: re.Match[str]) -> int:
    value = _below_hundred(match["small"] or match["rest"] or match["ones"])
    value += 100 * _below_hundred(match["hundreds"])
    return value + 1000 * _below_hundred(match["thousands"] or match["thousand"])


def _below_hundred(words: str | None) -> int:
    return sum(1 if word == "a" else _VALUES[word] for word in re.split("[- ]", words)) if words else 0


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
        before, after = text[max(0, start - REACH) : start], match["after"]
        if re.search(r"[\w\x03]\Z", before) or re.match(r"[.,]\d", after):
            continue
        value = Fraction(match["digits"].replace(",", ""))
        money = match["money"]
        unit = "" if not money else "foreign" if _FOREIGN.match(money) else "money"
        scale = _SCALE.match(after)
        if scale:
            value *= _SCALES.get(scale[0].strip(), 10**6)
            after = after[scale.end() :]
            end += scale.end()
        negative = match["sign"] == "-" or match["inner"] == "-"
        if found := _UNIT.match(after):
            after = after[found.end() :]
            kind = found.lastgroup or ""
            negative |= kind == "west"
            if kind not in ("west", "east") and not (unit and kind == "dollars"):
                unit = {"dollars": "money", "measure": found[0].strip(" -")}.get(kind, kind)
            end += found.end()
        elif re.match(r"\w|-\w|'\w", after) and not re.match(r"-\d", after):
            continue  # part of a word: 6th, 0-star
        if (
            match["digits"]
            and _YEAR.fullmatch(match["digits"])
            and not unit
            and re.search(
                r"(?:\b(?:in|of|during|for|since|from|by|until|through|to|year|all|and|late|early|mid)|\(|,|-"
                r"|\x03)\s?\Z",
                before,
            )
        ):
            continue
        yield _quantity(
            -value if negative else value, start, end, match["digits"].replace(",", ""), unit, before, after, question
        )


def _spelt(text: str, question: Question) -> Iterator[Quantity]:
    for match in _SPELT.finditer(text):
        before, after = text[max(0, match.start() - REACH) : match.start()], match["after"]
        counted = (word := re.match(r" ([a-z]+)", after)) is not None and stem(word[1]) in question.counted
        if match["small"] == "one" and (
            not (counted or _ONE_BEFORE.search(before))
            or re.match(r" of\b|'s?\b| another| or (?:more|two)| stop", after)
        ):
            continue
        value = _value(match)
        end = match.end()
        unit = ""
        if scale := _SCALE.match(after):
            value *= _SCALES.get(scale[0].strip(), 10**6)
            end, after = end + scale.end(), after[scale.end() :]
        if found := _UNIT.match(after):
            kind = found.lastgroup or ""
            if kind not in ("west", "east"):
                unit = {"dollars": "money", "measure": found[0].strip(" -")}.get(kind, kind)
                after = after[found.end() :]
        yield _quantity(Fraction(value), match.start(), end, "", unit, before, after, question)
    for match in _TIMES.finditer(text):
        if match["bare"] and not any(stem(word) in question.counted for word in text[: match.start()].split()[-1:]):
            continue
        if re.search(r"(?:n't|\bnot|\bnot even|\bwithout) \Z", text[: match.start()]):
            continue
        value = 2 if match["twice"] else 1
        after = "" if match["once"] or match["bare"] or match["twice"] else f" {match['after'] or ''}"
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
    if question.dimension == "count" and not unit:
        bound = bound or _ROUGHLY.search(before)
    total = (
        unit != "money"
        and _TOTAL_BEFORE.search(before)
        and _COUNTED.search(before)
        and not re.search(r"(?<!of )\ba total of \Z", before)
    )
    step = "coordinates" not in question.text and (
        _STEP_BEFORE.search(before) or _STEP_AFTER.match(after) or (unit == "money" and _LESS_AFTER.match(after))
    )
    noun = True if _is_done(before, after, question) else _counts(after, question)
    code = question.dimension != "code" and re.match(r"0\d", digits) is not None
    process = unit not in ("money", "percent") and _PROCESS.search(before)
    named = re.search(rf"\b{digits or value}\b", question.text) is not None
    said = named and value in question.numbers and noun is not None
    apart = (
        _REST_BEFORE.search(before)
        or (unit == "money" and _LESS_BEFORE.search(before))
        or (_WHOLE_BEFORE.search(before) and _WHOLE_AFTER.match(after))
    )
    return Quantity(
        value=value,
        start=start,
        end=end,
        digits=digits,
        unit=unit,
        noun=noun,
        exact=not (ranged or between or bound),
        context=bool(total or step or process or said or apart or _of_another(after, question)),
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
        if word in FUNCTION_WORDS or word in ("other", "such") or word in _VALUES:
            if counted or word not in (*_VALUES, "of", "of the", "different", "such", "other", "the"):
                break
            continue
        counted.append(stem(word))
    if not counted:
        return None
    return any(word in question.words for word in counted)


_DOING = re.compile(r"\b(?P<verb>[a-z]+) (?:a total of |exactly |only |just )?\Z")
_DONE = re.compile(
    r"(?: [a-z'-]+){0,3}? (?:is|are|was|were|have been|has been|had been|got)(?: (?:also|actually|later))?"
    r" (?P<verb>[a-z]+)"
)


def _is_done(before: str, after: str, question: Question) -> bool:
    """Whether the verb beside it is what the question counts: "cancelled 9 orders", "9 were cancelled"."""
    verbs = (_DOING.search(before), _DONE.match(after))
    return any(
        verb is not None and verb["verb"].endswith(("ed", "ted")) and stem(verb["verb"]) in question.counted
        for verb in verbs
    )


def _of_another(after: str, question: Question) -> bool:
    """Whether the next word is one of the question's, but not what it asks the number of."""
    word = re.match(r" ([a-z]+)", after)
    if not question.counted or not word:
        return False
    if stem(word[1]) in question.words - question.counted:
        return True
    doing = re.match(r" [a-z]+ (?:made|make|makes|did|have|has|had|wrote|gave|left|placed) (?:[a-z]+ )?([a-z]+)", after)
    return doing is not None and word[1] not in FUNCTION_WORDS and stem(doing[1]) in question.counted
