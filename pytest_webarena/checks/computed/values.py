"""The one number that an answer gives, with its unit: from a bare formula or from a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_webarena.checks.computed.arithmetic import NoNumber, Real, Written, read_form
from pytest_webarena.checks.computed.latex import plain_math
from pytest_webarena.checks.computed.units import Unit, read_unit
from pytest_webarena.checks.numbers import mask_words, numbers_in
from pytest_webarena.text import clip

__all__ = ["Found", "agree", "read_number", "same_value"]

_LONGEST = 4_000
"""Characters of a final answer; what is longer is none."""
_TRIES = 400
"""Places of a text at which a number is looked for."""

_NO_VALUE = re.compile(
    r"^\W*(nan|not a number|(?:positive |negative |plus |minus )?(?:inf|infinity)|∞)\W*$", re.IGNORECASE
)
_COMPARED = re.compile(r"[<>≤≥≠]")
_GREEK = (
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|nu|xi|rho|sigma|tau|upsilon|phi|chi|psi|omega|hbar|varphi"
    "|varepsilon|ell|Gamma|Delta|Theta|Lambda|Sigma|Phi|Psi|Omega"
)
_SYMBOL = re.compile(rf"(?:[A-Za-z]|{_GREEK}|[\u0370-\u03ff])(?![A-Za-z])")
_LEFT_OVER = re.compile(
    rf"\s*[-+*/^]\s*{_SYMBOL.pattern}|{_SYMBOL.pattern}|\s?(?:{_GREEK}|[\u0370-\u03ff])(?![A-Za-z])|_|!"
)
_BEHIND = re.compile(r"(?:^|[^\w'])[A-Za-z]\s*[+*/]\s*$|[A-Za-z)]\s?\^\s?\(?-?$")
_NAME = re.compile(r"[A-Za-zͰ-Ͽ'|\s.,*/^()Å:]+")
_SUBSCRIPT = re.compile(r"_\s*\(?\w+\)?|\((?:[\w\s.,;]*)\)")
_NOUNS = re.compile(r"[A-Za-z]{2,}(?:[ -][A-Za-z]{2,}){0,4}")
_CLAUSE = re.compile(r"\b(?:is|was|are|or|and|not|to|of|in|per|if|for|more|less|plus|minus|times|over|by)\b")
_RAISED = re.compile(r"([A-Za-z\u0370-\u03ff°)]+)\s?\^\s?\(?-?$")
_BEYOND_WORDS = re.compile(
    r"\b(?:half|halves|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?|hundred|thousand"
    r"|million|billion|dozen|minus|negative|point)\b",
    re.IGNORECASE,
)
_LOGARITHM = re.compile(r"\blog\s*\(?$")
_CURRENCY = "$€£¥₹"
_START = re.compile(r"(?<![\w.])(?=[\d(]|\.\d)|(?<![A-Za-z])(?=(?:sqrt|root|pi)(?![A-Za-z]))|(?<=[A-Za-z^*/])(?=\d)")
_SIGN = re.compile(rf"(?:^|[^\w%)\]{_CURRENCY}])([-+])[{_CURRENCY}]?$")
_LINK = re.compile(
    r"^[\s,)]*(?:or|which\s+is|that\s+is|i\.e\.,?|equals?)?[\s,]*[(=≈]*\s*(?:is\s+)?(?:approximately|approx\.?|about|roughly|around|ca\.)?"
    r"(?:\s+equal\s+to)?[\s(=≈]*$",
    re.IGNORECASE,
)
_LINKED = re.compile(r"[=≈(]|\b(?:approx|about|roughly|around|ca\.|equal|i\.e|that\s+is|which\s+is)", re.IGNORECASE)
_AGAINST = re.compile(
    r"(?:\b(?:not|never|isn'?t|wasn'?t|wrong|instead\s+of|rather\s+than)|≠)\s*:?\s*(?:\w+\s+){0,3}$",
    re.IGNORECASE,
)
_WRONG = re.compile(r"^\s*(?:is|was)(?:n't|\s+not|\s+wrong|\s+incorrect|\s+false)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """A number and what it measures."""

    written: Written
    unit: Unit | None = None
    strange: str = ""
    """Words that stand where a unit would, and are none that is known."""

    def __str__(self) -> str:
        return clip(self.written.text + (f" {self.unit}" if self.unit else ""), 40)


def read_number(text: str, *, question: str = "") -> Found:
    """The number that a final answer gives. `NoNumber` says why there is none, or which of several.

    ``question`` is what was asked: numbers that are quoted from it don't count beside another one.
    """
    if len(text) > _LONGEST:
        raise NoNumber(f"it is longer than {_LONGEST:,} characters")
    plain = plain_math(text.replace("\u2019", "'"))
    if _NO_VALUE.match(plain):
        raise NoNumber("it is no finite number")
    if "±" in plain:
        raise NoNumber("it gives a range, or two numbers")
    if _COMPARED.search(plain):
        raise NoNumber("it compares numbers and gives none")
    return _formula(plain) or _sentence(plain, question)


def same_value(one: Real, other: Real) -> bool:
    """Whether two values are equal: exactly if both are exact, else but for the last digits of a float."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other
    return abs(Fraction(one) - Fraction(other)) <= Fraction(1, 10**9) * max(abs(Fraction(one)), abs(Fraction(other)))


def agree(one: Written, other: Written) -> bool:
    """Whether two numbers are the same, or one is the other as rounded or cut off."""
    if any(same_value(here, there) for here in one.values for there in other.values):
        return True
    return one.digit != other.digit and abs(Fraction(one.value) - Fraction(other.value)) < max(one.digit, other.digit)


def _formula(plain: str) -> Found | None:
    """A number, or a chain like ``x = 2/3 ≈ 0.667``; None when it is something else: a sentence, perhaps."""
    parts = [part.strip().strip(",;: ") for part in re.split(r"[=≈]", plain)]
    if len(parts) > 1 and not parts[0]:
        parts = parts[1:]
    if len(parts) > 8:
        return None
    named = len(parts) > 1 and _is_name(parts[0])
    found: list[Found] = []
    for number, part in enumerate(parts[named:], 1):
        one = _part(part)
        if one is not None:
            found.append(one)
        elif not named or number == len(parts) - 1 or re.search(r"[,;]|\band\b|\bor\b", part):
            return None
    if not found:
        return None
    first = found[0]
    for other in found[1:]:
        if not agree(first.written, other.written):
            raise NoNumber(f"it gives several numbers: {first}, {other}")
    exact = next((each for each in found if not each.written.digit), None)
    best = exact or min(found, key=lambda each: each.written.digit)
    unit = next((each.unit for each in reversed(found) if each.unit), None)
    strange = next((each.strange for each in found if each.strange), "")
    return Found(best.written, unit, strange)


def _is_name(text: str) -> bool:
    """Whether it names what is sought: ``x``, ``v_0``, ``f(2)``; not ``2x``."""
    return bool(text) and _NAME.fullmatch(_SUBSCRIPT.sub("", text) or "x") is not None and text[0] not in "0123456789("


def _part(text: str) -> Found | None:
    """One number with its unit and nothing else."""
    text = re.sub(rf"^([-+]?)\s*[{_CURRENCY}]\s*", r"\1", text)
    form = read_form(text)
    if form is None:
        return None
    written, end = form
    rest = text[end:].strip(f" {_CURRENCY}")
    if not written.worked_out:
        raise NoNumber(f"it leaves something to be worked out: {clip(written.text, 40)}")
    if not rest:
        return Found(written)
    return _measured(written, rest.removeprefix("1" if rest.startswith("1/") else "").strip("[]"))


def _measured(written: Written, rest: str) -> Found | None:
    rest = rest.lstrip("* ")
    if (unit := read_unit(rest)) is not None:
        further = rest[unit[1] :].strip(" ,")
        whole = not further or (_NOUNS.fullmatch(further) and not _CLAUSE.search(further))
        return Found(written, unit[0]) if whole else None
    if (over := _LEFT_OVER.match(rest)) is not None:
        raise NoNumber(f"a symbol is left over: {clip(over[0].strip(), 20)}")
    return Found(written, None, rest) if _NOUNS.fullmatch(rest) and not _CLAUSE.search(rest) else None


def _sentence(plain: str, question: str) -> Found:
    masked = mask_words(plain)
    found = list(_found_in(masked))
    if not found:
        tokens = () if any(map(str.isdigit, plain)) else numbers_in(plain)
        words = [Written(token.value, Fraction(0), token.percent, token.text) for token in tokens]
        if len({word.value for word in words}) > 1:
            raise NoNumber(f"it gives several numbers: {', '.join(word.text for word in words[:4])}")
        if not words:
            raise NoNumber("there is no number in it")
        if _BEYOND_WORDS.search(plain):
            raise NoNumber("it gives a number in words that are not understood")
        return Found(words[0])
    kept = _merged(masked, found)
    if len(kept) > 1 and question:
        asked = [token.value for token in numbers_in(plain_math(question)[:_LONGEST])]
        kept = [each for each in kept if not any(same_value(each.written.value, value) for value in asked)] or kept
    if len(kept) > 1:
        raise NoNumber(f"it gives several numbers: {', '.join(map(str, kept[:4]))}")
    return kept[0]


@dataclass(frozen=True, slots=True)
class _Place:
    found: Found
    start: int
    end: int


def _found_in(text: str) -> Iterator[_Place]:
    at = 0
    for _ in range(_TRIES):
        start_match = _START.search(text, at)
        if start_match is None:
            return
        start = start_match.start()
        at = start + 1
        before = text[max(0, start - 60) : start]
        if (raised := _RAISED.search(before)) is not None:
            if read_unit(raised[1]) is None:
                raise NoNumber(f"a symbol is left over: {raised[1]}")
            form = read_form(text, start)
            at = form[1] if form is not None else at
            continue  # the power of a unit
        if (
            re.search(r"[\w¤]\($" if text[start] != "(" else r"[\w¤]$", before)
            and (form := read_form(text, start)) is not None
        ):
            at = form[1]
            continue  # what a function is of
        if _LOGARITHM.search(before):
            raise NoNumber("it gives a logarithm without its base")
        sign = _SIGN.search(before)
        begun = start - (len(before) - sign.start(1)) if sign else start
        form = read_form(text, begun if sign and begun == start - 1 else start)
        if form is None:
            continue
        written, end = form
        if sign and begun < start - 1 and sign[1] == "-":  # a currency between sign and digits
            written = Written(-written.value, written.digit, written.percent, f"-{written.text}", written.worked_out)
        if not written.worked_out:
            raise NoNumber(f"it gives several numbers: {clip(written.text, 40)}")
        unit = read_unit(text, end)
        if unit is not None and re.match(r"\s+(?:in|a|d|t|u|h|G|M)\s+\w", text[end:]):
            unit = None  # rather a word
        if unit is None and (over := _LEFT_OVER.match(text[end:])) is not None:
            raise NoNumber(f"a symbol is left over: {clip(over[0].strip(), 20)}")
        if _BEHIND.search(before):
            raise NoNumber(f"a symbol is left over: {clip(before[-12:].strip(), 20)}")
        if _AGAINST.search(before) or _WRONG.match(text[unit[1] if unit else end :]):
            raise NoNumber(f"it speaks against {clip(written.text, 20)}")
        at = unit[1] if unit else end
        yield _Place(Found(written, unit[0] if unit else None), start, at)
    raise NoNumber("it gives too many numbers")


def _merged(text: str, places: Sequence[_Place]) -> list[Found]:
    """The different numbers: equal ones are one, and so is a number with its rounded form behind ``≈``."""
    kept: list[_Place] = []
    for place in places:
        last = kept[-1] if kept else None
        if last is not None:
            between = text[last.end : place.start + (text[place.start] == "(")]
            linked = _LINK.match(between) is not None and _LINKED.search(between) is not None
            if linked and agree(last.found.written, place.found.written):
                finer = min((last, place), key=lambda each: each.found.written.digit)
                unit = place.found.unit or last.found.unit
                kept[-1] = _Place(Found(finer.found.written, unit), last.start, place.end)
                continue
        if any(
            same_value(each.found.written.value, place.found.written.value)
            and (each.found.unit == place.found.unit or not (each.found.unit and place.found.unit))
            for each in kept
        ):
            continue
        kept.append(place)
    return [place.found for place in kept]
