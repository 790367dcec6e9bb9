"""Which of an answer's several numbers it gives as the one that is asked for: what the others are there for.

Only what is understood as a whole counts: every other number has to be an operand of sums that come out, of another
unit, a date, the number of a thing, in brackets, or in the reason that follows. One word of doubt, and none does.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from pytest_webarena.checks.asked_units import in_another_unit, unit_behind
from pytest_webarena.checks.asserted import doubted
from pytest_webarena.checks.circumstances import for_another
from pytest_webarena.checks.numbers import mask_words, numbers_in
from pytest_webarena.checks.plain_answers import emphasised, unmarked
from pytest_webarena.checks.text import Tolerance, normalise

__all__ = ["Span", "gives_number", "places_of", "within"]

_LONGEST = 2_000
"""Characters of an answer that is read so."""
_OPEN = re.compile(
    r"\b(?:or|either|maybe|perhaps|possibly|probably|presumably|might|could be|may be|guess\w*|alternatively"
    r"|otherwise"
    r"|unless|unsure|uncertain|not sure|unclear|depend\w*|wait|actually|correction|sorry|scratch"
    r"|instead(?! of)"
    r"|candidates?|range|between \S+ and|roughly|neither|nor|wrong|incorrect|rather(?! than)|if)\b|\?|\bn/a\b|~~",
    re.IGNORECASE,
)
"""What leaves open which number is meant, takes one back, or supposes something."""
_SOMEWHERE = re.compile(r"\bbetween (?=[^.;]*\b(?:19|20)\d\d\b)")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATE = re.compile(
    rf"(?<![.,])\b\d{{1,2}}(?:st|nd|rd|th)?(?:\s*(?:,|and|to|-)\s*\d{{1,2}})?[^\S\n]+(?:of\s+)?{_MONTH}(?:,?\s+\d{{4}})?\b"
    rf"|\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b|\b{_MONTH}\s+\d{{4}}\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:\b(?:in|since|until|born|built|made|died)|\(|\b1\d{3}\s?(?:and|to|-))\s?\Z", re.IGNORECASE)
_NAMED = re.compile(
    r"(?:[#!\u2116]|\b(?:orders?|issues?|no\.?|number|nr\.?|lines?|zones?|versions?|page|row|step|route|bus|sign"
    r"|item|merge"
    r" requests?|house)\s#?)\Z",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"(?:\b(?:so|thus|therefore|hence|consequently|altogether|total(?:s|ling)?(?: \w+)?(?: is| of| price is)?"
    r"|in all|that is|that's"
    r"|i\.e|ie|which is|which makes|makes|making|giving|gives|leaves|leaving|comes? to|answer is|result is|sum is"
    r"|difference is|difference of|amounts? to|average is)\b\.?"
    r"(?:[^.;:\d()\n]{0,20}\b\d{1,3} [^\W\d_]+ )?[^.;:\d()\n]{0,40}"
    r"|[^\W\d_]\s*(?:[=\u2248\u21d2\u2192]|->)\s*)\Z",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    r"[^.;,:\d\n]{0,25}\b(?:in total|altogether|in all|overall|combined|more|less|fewer|left|difference|all together"
    r"|longer|shorter|on average)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r":(?=\s*(?:[^\W_\u00a4]+ |\u00a4 ){1,2}[^\W\d_])|:(?=\s*[^\W\d_]{3,}\Z)|[(\u2014\u2013](?=\s*[^\W\d_])"
    r"|\s-\s(?=[^\W\d_])|\b(?:because|since|namely|that is what|made up of|consisting of|composed of|of which"
    r"|based on|according to)\b",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(r"\b(?:without|excluding|minus|less|not|no|only)\b", re.IGNORECASE)
_FROM = re.compile(r"\b(?:as|from|out of|instead of|rather than|by|at)\b", re.IGNORECASE)
"""What begins a reason that ends with its clause."""
_PART = re.compile(r"(?:\s[^\W\d_]+)?\sof\s(?:them|these|those|which|whom|it)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[;\n]|\.\s|,(?!\s*(?:because|since|as|namely|i\.?e|from|of which)\b)")
_SHARE = re.compile(
    r"\b(?:out of|of|than|instead of|against)\s+(?:the\s+|all\s+|these\s+|those\s+|its\s+)?\Z", re.IGNORECASE
)
_CIRCUMSTANCE = re.compile(r"\b(?:for|in|on|after|within|over|with)\s+(?:the\s+|all\s+)?\Z", re.IGNORECASE)
_SUM = re.compile(r"[\d(][^=\u2248;:?!\n]*[=\u2248]\s*[$\u20ac]?\s*(?=-?[\d.])")
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where a number stands in a text."""

    start: int
    end: int
    value: Fraction
    percent: bool


def places_of(text: str) -> tuple[Span, ...]:
    """All places of numbers in ``text`` that `numbers_in` finds there, in order."""
    plain = mask_words(text)
    if len(plain) != len(text):
        text = plain
    found, position = [], 0
    for token in numbers_in(text):
        start = plain.find(token.text, position)
        if start >= 0:
            position = start + len(token.text)
            end = start + len(token.text.rstrip("% ").removesuffix("percent").rstrip()) if token.percent else position
            found.append(Span(start=start, end=end, value=token.value, percent=token.percent))
    return tuple(found)


def within(value: Fraction, wanted: Decimal, tolerance: Tolerance | None) -> bool:
    """Whether a value is the wanted one, as exactly as is asked."""
    expected = Fraction(wanted)
    allowed = Fraction(tolerance.amount) * (abs(expected) if tolerance.relative else 1) if tolerance else Fraction(0)
    return abs(value - expected) <= allowed


def gives_number(answer: str, wanted: Decimal, tolerance: Tolerance | None, question: str) -> bool:
    """Whether an answer with several numbers gives the wanted one as what is asked for, and no other.

    >>> how_much = (Decimal(36), None, "How much is it?")
    >>> [gives_number(text, *how_much) for text in ("2 x 18 = 36", "36 or 38", "18 a night, 36")]
    [True, False, False]
    """
    text = " ".join(unmarked(answer).split()) if "\n" not in answer else unmarked(answer)
    if len(text) > _LONGEST or _OPEN.search(_SOMEWHERE.sub(" ", text)):
        return False
    text = _DATE.sub(lambda found: "\u00a4" * len(found[0]), mask_words(text))
    places = places_of(text)
    good = [each for each in places if within(each.value, wanted, tolerance)]
    if not good:
        good = [each for each in _spelled(text) if within(each.value, wanted, tolerance)]
    if not good:
        return False
    lowered, asked = normalise_kept(text), normalise(question)
    good = [
        each
        for each in good
        if not _bracketed(each, text)
        and not in_another_unit(question, text, each.end)
        and not doubted(lowered, each.start, each.end, asked)
        and not _PART.match(text, each.end)
    ]
    if not good:
        return False
    bold = _only_bold(answer, wanted, tolerance)
    known = {token.value for token in numbers_in(question)}
    rivals = [each for each in places if each.value != good[0].value and each.value not in known]
    sums = list(_sums(text, good))
    if None in sums:
        return False
    operands = [each for each in sums if each is not None]
    if len(rivals) > 1 and not _LEFT_OUT.search(text) and sum(each.value for each in rivals) == good[0].value:
        return True  # its parts
    if any(_concluded(each, text) and not _inside(each, operands) for each in rivals if each.start > good[-1].start):
        return False
    rounded = [each for each in rivals if _rounds_to(each, good, text)]
    rivals = [each for each in rivals if each not in rounded and not _for_another(each, good, text, question)]
    return all(
        bold or _inside(each, operands) or _bracketed(each, text) or _other_thing(each, good, text, question)
        for each in rivals
    ) or _concludes(good, rivals, text, summed=bool(operands or rounded))


def _spelled(text: str) -> tuple[Span, ...]:
    """Numbers in words, beside digits of other things."""
    return places_of(re.sub(r"\d", "\u00a4", text))


def normalise_kept(text: str) -> str:
    """``text`` in small letters with plain quotes, each character in its place."""
    return "".join(each.lower() if len(each.lower()) == 1 else each for each in text).replace("\u2019", "'")


def _inside(each: Span, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= each.start < end for start, end in spans)


def _bracketed(each: Span, text: str) -> bool:
    before = text[: each.start]
    opened = before.rfind("(")
    return (
        opened >= 0
        and ")" not in before[opened:]
        and ")" in text[each.end :]
        and re.search(r"[^\W\d_]|[=+*/x×·÷−–-]", text[opened : text.find(")", each.end)]) is not None
    )


def _only_bold(answer: str, wanted: Decimal, tolerance: Tolerance | None) -> bool:
    """Whether the wanted number is the only one in bold letters."""
    values = [token.value for span in emphasised(answer) for token in numbers_in(span)]
    return bool(values) and all(within(value, wanted, tolerance) for value in values)


def _other_thing(each: Span, good: Sequence[Span], text: str, question: str) -> bool:
    """Whether it is of another kind than what is asked for, or only in the reason for it."""
    before = text[: each.start]
    if _NAMED.search(before):
        return True
    year = each.value.denominator == 1 and 1000 <= each.value <= 2100 and not unit_behind(text, each.end)
    if year and _YEAR.search(before) and not any(1000 <= one.value <= 2100 for one in good):
        return True
    unit = "%" if each.percent else unit_behind(text, each.end)
    own = next((found for one in good if (found := "%" if one.percent else unit_behind(text, one.end))), "")
    if unit and own and unit != own:
        return True
    if in_another_unit(question, text, each.end) and (own or not in_another_unit(question, text, good[0].end)):
        return True
    earlier = [one for one in good if one.end <= each.start]
    if not earlier:
        return False
    between = text[earlier[-1].end : each.start]
    if _SHARE.search(before) and "," not in between:
        return True
    if own and unit != own and _CIRCUMSTANCE.search(before) and not re.search(r"[,;\n]|\band\b", between):
        return True
    clause = _CLAUSE.split(text[earlier[-1].end :])[0]
    if ")" in between and "(" not in between:
        return False
    if _REASON.search(clause) is not None:
        return True
    return each.start < earlier[-1].end + len(clause) and _FROM.search(clause) is not None


_ROUNDED = re.compile(
    r"\s*(?:%|[^\W\d_]+)?[\s,;(]*(?:[^\W\d_]+\s){0,2}?(?:round(?:ed|s|ing)?(?: (?:up|down|off))?(?: to)?|about"
    r"|approximately|[\u2248~\u2192]|->)\s*\Z",
    re.IGNORECASE,
)


def _for_another(each: Span, good: Sequence[Span], text: str, question: str) -> bool:
    return for_another(text, each.start, good[0].start, question)


def _rounds_to(each: Span, good: Sequence[Span], text: str) -> bool:
    """Whether it is what the wanted number has been rounded from, and is said to be."""
    for one in good:
        if one.start < each.end or not _ROUNDED.match(text[each.end : one.start]):
            continue
        places = len(text[one.start : one.end].partition(".")[2].rstrip("% "))
        if 0 < abs(each.value - one.value) <= Fraction(1, 2 * 10**places):
            return True
    return False


def _concluded(each: Span, text: str) -> bool:
    return _CONCLUDES.search(text[: each.start]) is not None


def _concludes(good: Sequence[Span], rivals: Sequence[Span], text: str, *, summed: bool) -> bool:
    """Whether the last word is the wanted number, as what follows from the others."""
    last = good[-1]
    if any(each.start > last.start and not _bracketed(each, text) for each in rivals):
        return False
    before = text[: last.start]
    if (
        summed
        or _concluded(last, text)
        or (before.rstrip().endswith(":") and not _one_of_a_list(before))
        or _CONCLUDED.match(text, last.end) is not None
    ):
        return True
    apart = re.search(r"[.;:\n](?=\s)", text[max(each.end for each in rivals) : last.start]) is not None
    values = [each.value for each in rivals]
    return apart and len(values) > 1 and (sum(values) == last.value or 2 * max(values) - sum(values) == last.value)


_LINES = re.compile(r"[^:\n]{1,40}:[^:\n]*\d[^:\n]*\n[ \t]*([^:\n]{1,40}):\s*\Z")
_TOTAL = re.compile(
    r"\b(?:total|sum|altogether|together|all|overall|difference|result|answer|average|mean|more|less|fewer|left|rest|price"
    r"|share|combined|cost|longer|shorter)\b",
    re.IGNORECASE,
)


def _one_of_a_list(before: str) -> bool:
    """Whether a number behind this is but the last of several lines, each with a name and a number."""
    lines = _LINES.search(before)
    return lines is not None and _TOTAL.search(lines[1]) is None


def _sums(text: str, good: Sequence[Span]) -> Iterator[tuple[int, int] | None]:
    """Where sums stand that come to the wanted number; None for one that is said to and does not."""
    for found in _SUM.finditer(text):
        result = next((each for each in good if 0 <= each.start - found.end() <= 1), None)
        if result is None:
            continue
        near = 0.0051 * max(1, abs(float(result.value)) / 100)
        begins = [place.start() for place in re.finditer(r"(?<![\d.,])[\d(]", found[0])]
        values = [(start, value) for start in begins if (value := _value(found[0][start:])) is not None]
        right = next((start for start, value in values if abs(value - float(result.value)) <= near), None)
        if right is None and result.percent:  # a share, to whole numbers
            right = next((start for start, value in values if abs(100 * value - float(result.value)) <= 0.51), None)
        if right is not None:
            yield found.start() + right, found.end()
        elif values:
            yield None


_SIGNS = str.maketrans(
    {"\u00d7": "*", "\u00b7": "*", "\u22c5": "*", "\u00f7": "/", "\u2212": "-", "\u2013": "-", ":": "/"}
)


def _value(sum_: str) -> float | None:
    """What a sum with units in it comes to; None when it is none."""
    plain = sum_.translate(_SIGNS).rstrip("=\u2248 $\u20ac")
    plain = re.sub(r"(?<=\d)\s*x\s*(?=[\d(])", "*", plain)
    plain = re.sub(r"(?<=\d),(?=\d{3}\b)", "", plain)
    plain = re.sub(r"(?<=[^\W\d_])\s*\bx\s*(?=[\d(])", "*", plain)
    plain = re.sub(r"[^\W\d_]+|[$\u20ac%]", " ", plain)
    if not re.search(r"[-+*/]", plain) or re.search(r"\d\s+\d|[^-+*/().\d\s]", plain):
        return None
    try:
        return _evaluated(ast.parse(plain.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, MemoryError, RecursionError):
        return None


def _evaluated(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATORS:
            return float(_OPERATORS[type(operation)](_evaluated(left), _evaluated(right)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluated(operand)
    raise ValueError("no sum")
