"""The one number that an answer gives, with its unit: from a bare formula or from a sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_webarena.checks.computed.arithmetic import NoNumber, Real, Written, read_form
from pytest_webarena.checks.computed.latex import plain_math
from pytest_webarena.checks.computed.spelled import spelled_numbers
from pytest_webarena.checks.computed.units import Unit, convert, read_unit, units_there
from pytest_webarena.checks.computed.wording import objection, rewritten, undecided, without_spread
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
_COMPARED = re.compile(r"[<>≤≥≠]|[\[(]\s*[-+]?∞\s*,|,\s*[-+]?∞\s*[\])]")
_GREEK = (
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|nu|xi|rho|sigma|tau|upsilon|phi|chi|psi|omega|hbar|varphi"
    "|varepsilon|ell|Gamma|Delta|Theta|Lambda|Sigma|Phi|Psi|Omega"
)
_SYMBOL = re.compile(rf"(?:[A-Za-z]|{_GREEK}|[\u0370-\u03ffµ])(?![A-Za-z])")
_LEFT_OVER = re.compile(
    rf"\s*[-+*/^]\s*{_SYMBOL.pattern}|{_SYMBOL.pattern}|\s?(?:{_GREEK}|[\u0370-\u03ff])(?![A-Za-z])|_|!"
    r"|\s?(?:kT|RT|GM|hc|mgh|mv|mc)(?![A-Za-z])"
    r"|\s*[*/^]?\s*(?:(?:sqrt|root|sin|cos|tan|log\w*|ln|exp|infinity)(?![A-Za-z])|∞)|\s*[*/^]\s*\(|\(\s*[-+]?(?:\d+\s*)?[A-Za-z]\s*[-+*/^)]"
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
_LOGARITHM = re.compile(r"\blog(?:_\w*|q\w*)?\s*\(?$")
_NO_BASE = re.compile(r"\blog(?![\w])")
_CURRENCY = "$€£¥₹"
_START = re.compile(
    r"(?<![\w.])(?=[\d(]|\.\d)|(?<![A-Za-z])(?=(?:sqrt|root|pi|cbrt|abs|exp|ln|log(?:q[a-j]+)?|a?(?:sin|cos|tan)h?)(?![A-Za-z])|e\s?\^)|(?<=[A-Za-z^*/])(?=\d)"
)
_SIGN = re.compile(rf"(?:^|[^\w%)\]{_CURRENCY}])([-+])[{_CURRENCY}]?$")
_LINK = re.compile(
    r"^[\s,)]*(?:or|which\s+(?:is|rounds\s+to)|rounded\s+to|→|that\s+is|i\.e\.,?|equals?)?[\s,]*[(=≈]*\s*(?:is\s+)?(?:approximately|approx\.?|about|roughly|around|ca\.)?"
    r"(?:\s+equal\s+to)?[\s(=≈]*$",
    re.IGNORECASE,
)
_LINKED = re.compile(
    r"[=≈(→]|\b(?:round|approx|about|roughly|around|ca\.|equal|i\.e|that\s+is|which\s+is)", re.IGNORECASE
)
_COVERED = re.compile(r"(?:int|oint|iint|sum|prod|lim|binom|∫|∑|∏)(?![A-Za-z])")
"""What names the left side of an equation, whatever it is of."""
_WORKED = Fraction(1, 100)
"""How far what is worked out may be from its result, as a share: people round in between."""
_JOINED = re.compile(r"\s*(?:,|and)?\s*")


class _LeftOver(NoNumber):
    """A formula of symbols, where a number is looked for."""


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
    plain = without_spread(rewritten(plain))
    if "±" in plain:
        raise NoNumber("it gives a range, or two numbers")
    if words := undecided(plain):
        raise NoNumber(f"it gives no number: {words}")
    if _COMPARED.search(plain):
        raise NoNumber("it compares numbers and gives none")
    return _formula(plain) or _sentence(plain, question)


def same_value(one: Real, other: Real) -> bool:
    """Whether two values are equal: exactly if both are exact, else but for the last digits of a float."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other
    return abs(Fraction(one) - Fraction(other)) <= Fraction(1, 10**9) * max(abs(Fraction(one)), abs(Fraction(other)))


def agree(one: Written, other: Written) -> bool:
    """Whether two numbers are the same, or one is the other as rounded, cut off or worked out."""
    for value, digit in one.meanings:
        for there, its_digit in other.meanings:
            if (
                one.percent != other.percent
                and value == one.value
                and there == other.value
                and abs(Fraction(value)) <= 1
            ):
                continue  # 0.5 is not 0.5 %
            if same_value(value, there):
                return True
            off = abs(Fraction(value) - Fraction(there))
            if digit != its_digit and off < max(digit, its_digit):
                return True
            if one.worked_out != other.worked_out and off <= _WORKED * abs(Fraction(there)):
                return True
    return False


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
        if number + named < len(parts) and _NO_BASE.search(part):
            continue  # worked out by a logarithm whose base is not told
        try:
            one = _part(part)
        except _LeftOver:
            if named and number + named < len(parts):
                continue  # what follows gives its value
            raise
        if one is not None:
            found.append(one)
        elif not named or number == len(parts) - 1 or re.search(r"[,;]|\band\b|\bor\b", part):
            return None
    if not found:
        return None
    if named and (against := objection(f"{parts[0]} ", "")[0]).endswith("against"):
        raise NoNumber(f"{against} {found[0]}")
    stated = found[-1]
    if not stated.written.worked_out:
        raise NoNumber(f"it leaves something to be worked out: {clip(stated.written.text, 40)}")
    for working in found:
        if not agree(working.written, stated.written) and not _same_quantity(working, stated):
            raise NoNumber(f"it gives several numbers: {working}, {stated}")
    found = [each for each in found if each.written.worked_out]
    if any(_same_quantity(found[0], other) for other in found[1:]):
        return found[0]
    for other in found[1:]:
        if not agree(found[0].written, other.written):
            raise NoNumber(f"it gives several numbers: {found[0]}, {other}")
    exact = next((each for each in found if not each.written.digit), None)
    best = exact or min(found, key=lambda each: each.written.digit)
    unit = next((each.unit for each in reversed(found) if each.unit), None)
    strange = next((each.strange for each in found if each.strange), "")
    return Found(best.written, unit, strange)


def _is_name(text: str) -> bool:
    """Whether it names what is sought: ``x``, ``v_0``, ``f(2)``; not ``2x``."""
    if _COVERED.match(text):
        return True
    return bool(text) and _NAME.fullmatch(_SUBSCRIPT.sub("", text) or "x") is not None and text[0] not in "0123456789("


def _part(text: str) -> Found | None:
    """One number with its unit and nothing else."""
    text = re.sub(rf"^([-+]?)\s*[{_CURRENCY}]\s*", r"\1", text)
    form = read_form(text)
    if form is None:
        return None
    written, end = form
    rest = text[end:].strip(f" {_CURRENCY}")
    if not rest:
        return Found(written)
    return _measured(written, rest.removeprefix("1" if rest.startswith("1/") else "").strip("[]"))


def _measured(written: Written, rest: str) -> Found | None:
    if objection("", rest)[0]:
        return None
    rest = rest.lstrip("* ")
    if (unit := read_unit(rest)) is not None:
        further = rest[unit[1] :].strip(" ,")
        if further.startswith("_"):
            raise _LeftOver(f"a symbol is left over: {clip(rest, 20)}")
        whole = not further or (_NOUNS.fullmatch(further) and not _CLAUSE.search(further))
        return Found(written, unit[0]) if whole else None
    if (over := _LEFT_OVER.match(rest)) is not None:
        raise _LeftOver(f"a symbol is left over: {clip(over[0].strip(), 20)}")
    return Found(written, None, rest) if _NOUNS.fullmatch(rest) and not _CLAUSE.search(rest) else None


def _sentence(plain: str, question: str) -> Found:
    masked = mask_words(plain)
    found = list(_found_in(masked))
    if not found:
        return _in_words(plain)
    kept = _merged(masked, found)
    if len(kept) > 1 and question:
        asked = [token.value for token in numbers_in(plain_math(question)[:_LONGEST])]
        kept = [
            each for each in kept if not any(same_value(each.found.written.value, value) for value in asked)
        ] or kept
    kept = _not_denied(masked, kept)
    if len(kept) > 1:
        raise NoNumber(f"it gives several numbers: {', '.join(str(each.found) for each in kept[:4])}")
    return kept[0].found


def _in_words(plain: str) -> Found:
    words = [] if any(map(str.isdigit, plain)) else list(spelled_numbers(plain))
    if len({value for value, *_ in words}) > 1:
        raise NoNumber(f"it gives several numbers: {', '.join(plain[start:end] for _, _, start, end in words[:4])}")
    if not words:
        raise NoNumber(
            "it gives a number in words that are not understood"
            if _BEYOND_WORDS.search(plain)
            else "there is no number in it"
        )
    value, percent, start, end = words[0]
    for _, _, begun, after in words:
        if why := objection(plain[max(0, begun - 80) : begun], plain[after : after + 80])[0]:
            raise NoNumber(f"{why} {plain[begun:after]}")
    if _BEYOND_WORDS.search(plain[:start] + plain[words[-1][3] :]):
        raise NoNumber("it gives a number in words that are not understood")
    unit = read_unit(plain, end)
    return Found(Written(value, Fraction(0), percent, plain[start:end]), unit[0] if unit else None)


def _not_denied(text: str, places: list[_Place]) -> list[_Place]:
    """Those that are given as the answer. `NoNumber` when one is denied or bounded that is not put against another."""
    kept: list[_Place] = []
    for place in places:
        why, apart = objection(
            text[max(0, place.start - 80) : place.start + (text[place.start] == "(")], text[place.end : place.end + 80]
        )
        if why and not (apart and len(places) > 1):
            raise NoNumber(f"{why} {clip(place.found.written.text, 20)}")
        if not why:
            kept.append(place)
    if not kept:
        raise NoNumber(f"it speaks against {clip(places[0].found.written.text, 20)}")
    return kept


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
        if re.search(r"_\s?\(?$", before):
            form = read_form(text, start)
            at = form[1] if form is not None else at
            continue  # a subscript
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
        if written.text.endswith("!") and re.search(r"[A-Za-z]{2}", before):
            raise NoNumber(f"it gives a factorial or a shout: {clip(written.text, 20)}")
        unit = read_unit(text, end)
        if unit is not None and re.match(r"\s+(?:(?:in|a)\s+\w|(?:d|t|u|h|G|M)\s+[^\W\d])", text[end:]):
            unit = None  # rather a word
        if unit is not None and text[unit[1] :].lstrip().startswith("_"):
            unit = None  # a symbol with an index
        if unit is None and (over := _LEFT_OVER.match(text[end:])) is not None:
            raise NoNumber(f"a symbol is left over: {clip(over[0].strip(), 20)}")
        if _BEHIND.search(before):
            raise NoNumber(f"a symbol is left over: {clip(before[-12:].strip(), 20)}")
        at = unit[1] if unit else end
        yield _Place(Found(written, unit[0] if unit else None), begun if sign else start, at)
    raise NoNumber("it gives too many numbers")


def _merged(text: str, places: Sequence[_Place]) -> list[_Place]:
    """The different numbers: equal ones are one, and so is a number with its rounded form behind ``≈``.

    What is worked out goes into its result behind ``=``, and must have one.
    """
    kept: list[_Place] = []
    for place in places:
        last = kept[-1] if kept else None
        if last is not None:
            between = text[last.end : place.start + (text[place.start] == "(")]
            linked = _LINK.match(between) is not None and _LINKED.search(between) is not None
            if linked and agree(last.found.written, place.found.written):
                both = [each for each in (last, place) if each.found.written.worked_out] or [place]
                finer = min(both, key=lambda each: each.found.written.digit)
                unit = place.found.unit or last.found.unit
                kept[-1] = _Place(Found(finer.found.written, unit), last.start, place.end)
                continue
            if _JOINED.fullmatch(between) and (whole := _summed(last.found, place.found)) is not None:
                kept[-1] = _Place(whole, last.start, place.end)
                continue
        if any(
            _same_quantity(each.found, place.found)
            or (
                _alike(each.found.written, place.found.written)
                and (each.found.unit == place.found.unit or not (each.found.unit and place.found.unit))
            )
            for each in kept
        ):
            continue
        kept.append(place)
    if (open_one := next((each for each in kept if not each.found.written.worked_out), None)) is not None:
        raise NoNumber(f"it gives several numbers: {clip(open_one.found.written.text, 40)}")
    return kept


def _same_quantity(one: Found, other: Found) -> bool:
    """Whether both are the same but for their units: ``4.2 m (420 cm)``."""
    if one.unit is None or other.unit is None or one.unit == other.unit or not units_there():
        return False
    try:
        value = convert(float(other.written.value), other.unit, one.unit)
    except OverflowError:
        return False
    size = abs(Fraction(one.written.value))
    return (
        value is not None and math.isfinite(value) and abs(Fraction(value) - Fraction(one.written.value)) <= size / 200
    )


def _alike(one: Written, other: Written) -> bool:
    """Whether both are the same value, or one is the other's percentage."""
    if one.percent == other.percent:
        return same_value(one.value, other.value)
    return same_value(one.meanings[-1][0], other.meanings[-1][0])


_STEPS = (
    ("year", "month", "week", "day", "hour", "minute", "second"),
    ("mile", "yard", "foot", "inch"),
    ("pound", "ounce"),
    ("degree", "arcminute", "arcsecond"),
)
"""Units that one quantity is given in together: ``2 h 30 min``."""


def _summed(one: Found, other: Found) -> Found | None:
    """Both as one quantity in the first's unit; None when they are none."""
    if one.unit is None or other.unit is None or not units_there() or one.written.value < 0 or other.written.value < 0:
        return None
    for steps in _STEPS:
        at = [
            steps.index(name)
            for unit in (one.unit, other.unit)
            for name, power in unit.parts
            if power == 1 and name in steps
        ]
        if len(at) == 2 and len(one.unit.parts) == len(other.unit.parts) == 1 and at[0] < at[1]:
            more = convert(float(other.written.value), other.unit, one.unit)
            text = f"{one.written.text} {one.unit} {other.written.text} {other.unit}"
            return None if more is None else Found(Written(float(one.written.value) + more, text=text), one.unit)
    return None
