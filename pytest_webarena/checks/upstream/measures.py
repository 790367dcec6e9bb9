"""Whether an answer states a distance, a telephone or postal number, a size, or a name with its number."""

from __future__ import annotations

import re
from fractions import Fraction

from pytest_webarena.checks.upstream.folding import fold
from pytest_webarena.checks.upstream.quantities import quantities
from pytest_webarena.checks.upstream.scope import Question
from pytest_webarena.checks.upstream.stance import is_asserted, is_refusal, mark
from pytest_webarena.checks.upstream.stated_numbers import is_flood, is_number

__all__ = ["is_code", "states_code", "states_distance", "states_pair", "states_size"]

_MEASURES = {"km": 1000, "kilometer": 1000, "kilometre": 1000, "m": 1, "meter": 1, "metre": 1}
_DISTANCE = re.compile(r"(\d+(?:\.\d+)?) ?(km|m)")


def states_distance(reference: str, answer: str, question: Question) -> bool | None:
    """Whether the answer gives this distance and no other; None when the reference is none.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("How far is it on foot?")
    >>> [states_distance("2.0km", text, asked) for text in ("2 km", "2000 metres", "12.0 km", "2 or 3 km")]
    [True, True, False, False]
    """
    given = _DISTANCE.fullmatch(reference)
    if given is None:
        return None
    wanted = Fraction(given[1]) * _MEASURES[given[2]]
    text = fold(answer)
    if is_flood(text):
        return False
    said = [each for each in quantities(text, question) if (unit := each.unit.removesuffix("s")) in _MEASURES and unit]
    hits = [each for each in said if each.value * _MEASURES[each.unit.removesuffix("s")] == wanted]
    good = [
        each
        for each in hits
        if each.exact and not each.context and is_asserted(mark(text, each.start, each.end), question.text)
    ]
    return bool(good) and all(each in hits or each.context for each in said)


def states_code(reference: str, answer: str) -> bool:
    """Whether the answer gives this telephone or postal number and no other, in whatever groups of digits.

    >>> [states_code("4125785000", text) for text in ("(412) 578-5000", "+1 412.578.5000", "412-578-5001")]
    [True, True, False]
    """
    wanted, text = re.sub(r"\D", "", reference), fold(answer)
    if len(wanted) > 5:
        pattern = (
            r"(?<![\w.$\u20ac\u00a3-])\+?\(?\d(?:[ ().-]{0,2}\d){6,}(?![\w%])(?! ?(?:[mb]illion|thousand|gbp|eur|usd))"
        )
        same = {wanted, "1" + wanted} if len(wanted) == 10 else {wanted}
    else:
        pattern, same = (
            r"(?<![\w.,$\u20ac\u00a3-])\d{5}(?:-\d{4})?(?![\w%]|[.,-]\d| ?(?:[mb]illion|thousand|gbp|eur|usd))",
            {wanted},
        )
    found = list(re.finditer(pattern, text))
    if any(re.match(r"[\s,|;/]+(?:or |and )?[$]?\d", text[match.end() :]) for match in found):
        return False  # one of a list
    codes = {re.sub(r"\D", "", match[0].split("-")[0] if len(wanted) == 5 else match[0]) for match in found}
    return (
        bool(found)
        and codes <= same
        and not is_refusal(text)
        and all(is_asserted(mark(text, *match.span()), "") for match in found)
    )


def is_code(reference: str) -> bool:
    """Whether a folded reference is a telephone number or a postal code."""
    return re.fullmatch(r"\d{5}|\d{10}", reference) is not None


def states_size(reference: str, answer: str) -> bool | None:
    """Whether the answer gives a size such as 16x24, in whatever words; None when the reference is none.

    >>> [states_size("16x24", text) for text in ('16" x 24"', "16 by 24 inches", "16x25")]
    [True, True, False]
    """
    sides = re.fullmatch(r"(\d+)x(\d+)", reference)
    if sides is None:
        return None
    unit = r"(?:\.0+)?\s?(?:\"|''|'|-?inch(?:es)?|in\.?|cm)?\s?"
    found = re.findall(
        rf"(?<![\d.])(\d+){unit}(?:x|\*|by)\s?(\d+)(?![\d]|\.[1-9])", fold(answer).replace("\u00d7", "x")
    )
    return bool(found) and set(found) == {sides.groups()}


def states_pair(reference: str, answer: str, question: Question) -> bool:
    """Whether the answer gives "name: number" in other words.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> states_pair("ann lee: 70", "Ann Lee (70 commits), Bob Roe (51)", question_of("number of commits"))
    True
    """
    name, _, number = reference.rpartition(": ")
    if not name or not is_number(number):
        return False
    text = fold(answer)
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
        here = text[match.end() :][:40]
        found = [each for each in quantities(here, question) if each.exact and not each.context]
        said, starts = [each.value for each in found], [each.start for each in found]
        if said[:1] == [Fraction(number)] and re.fullmatch(r"[^\d.;]{0,12}", here[: starts[0]]):
            return is_asserted(mark(text, *match.span()), question.text)
    return False
