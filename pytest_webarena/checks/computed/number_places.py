"""Where numbers stand in a sentence, each with its unit, and which of them are one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_webarena.checks.computed.arithmetic import NoNumber, Written, read_form
from pytest_webarena.checks.computed.framing import CURRENCIES
from pytest_webarena.checks.computed.measures import Found, agree, alike, contradict, same_quantity, summed
from pytest_webarena.checks.computed.names import GREEK_QUANTITIES
from pytest_webarena.checks.computed.units import read_unit
from pytest_webarena.text import clip

__all__ = ["LEFT_OVER", "PlacedNumber", "found_in", "merged"]

_GREEK = f"{GREEK_QUANTITIES}|hbar|varphi|varepsilon|ell|Gamma|Delta|Theta|Lambda|Sigma|Phi|Psi|Omega"
_SYMBOL = re.compile(rf"(?:[A-Za-z]|{_GREEK}|[\u0370-\u03ffµ])(?![A-Za-z])")
_TRIES = 400
"""Places of a text at which a number is looked for."""
LEFT_OVER = re.compile(
    rf"\s*[-+*/^]\s*{_SYMBOL.pattern}|{_SYMBOL.pattern}|\s?(?:{_GREEK}|[\u0370-\u03ff])(?![A-Za-z])|_|!"
    r"|\s?(?:kT|RT|GM|hc|mgh|mv|mc)(?![A-Za-z])"
    r"|\s*[*/^]?\s*(?:(?:sqrt|root|sin|cos|tan|log\w*|ln|exp|infinity)(?![A-Za-z])|∞)|\s*[*/^]\s*\(|\(\s*[-+]?(?:\d+\s*)?[A-Za-z]\s*[-+*/^)]"
)
_BEHIND = re.compile(r"(?:^|[^\w'])[A-Za-z]\s*[+*/]\s*$|[A-Za-z)]\s?\^\s?\(?-?$")
_RAISED = re.compile(r"([A-Za-z\u0370-\u03ff°)]+)\s?\^\s?\(?-?$")
_LOGARITHM = re.compile(r"\blog(?:_\w*|q\w*)?\s*\(?$")
_START = re.compile(
    r"(?<![\w.])(?=[\d(]|\.\d)|(?<![A-Za-z])(?=(?:sqrt|root|pi|cbrt|abs|exp|ln|log(?:q[a-j]+)?|a?(?:sin|cos|tan)h?)(?![A-Za-z])|e\s?\^)|(?<=[A-Za-z^*/])(?=\d)"
)
_SIGN = re.compile(rf"(?:^|[^\w%)\]{CURRENCIES}])([-+])[{CURRENCIES}]?$")
_LINK = re.compile(
    r"^[\s,)]*(?:or|which\s+(?:is|rounds\s+to)|rounded\s+to|→|that\s+is|i\.e\.,?|equals?)?[\s,]*[(=≈]*\s*(?:is\s+)?(?:approximately|approx\.?|about|roughly|around|ca\.)?"
    r"(?:\s+equal\s+to)?[\s(=≈]*$",
    re.IGNORECASE,
)
_LINKED = re.compile(
    r"[=≈(→]|\b(?:round|approx|about|roughly|around|ca\.|equal|i\.e|that\s+is|which\s+is)", re.IGNORECASE
)
_JOINED = re.compile(r"\s*(?:,|and)?\s*")


@dataclass(frozen=True, slots=True)
class PlacedNumber:
    """A number, and where it stands."""

    found: Found
    start: int
    end: int


def found_in(text: str) -> Iterator[PlacedNumber]:
    """The numbers of a text, with their units, one after the other. `NoNumber` where a symbol is left over."""
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
        if written.text.endswith("!") and re.search(r"[A-Za-z]{2}", before) and not re.match(r"\s*[=≈]", text[end:]):
            raise NoNumber(f"it gives a factorial or a shout: {clip(written.text, 20)}")
        unit = read_unit(text, end)
        if unit is not None and re.match(r"\s+(?:(?:in|a)\s+\w|(?:d|t|u|h|G|M)\s+[^\W\d])", text[end:]):
            unit = None  # rather a word
        if unit is not None and text[unit[1] :].lstrip().startswith("_"):
            unit = None  # a symbol with an index
        if unit is None and (over := LEFT_OVER.match(text[end:])) is not None:
            raise NoNumber(f"a symbol is left over: {clip(over[0].strip(), 20)}")
        if _BEHIND.search(before):
            raise NoNumber(f"a symbol is left over: {clip(before[-12:].strip(), 20)}")
        at = unit[1] if unit else end
        yield PlacedNumber(Found(written, unit[0] if unit else None), begun if sign else start, at)
    raise NoNumber("it gives too many numbers")


def merged(text: str, places: Sequence[PlacedNumber]) -> list[PlacedNumber]:
    """The different numbers: equal ones are one, and so is a number with its rounded form behind ``≈``.

    What is worked out goes into its result behind ``=``, and must have one.
    """
    kept: list[PlacedNumber] = []
    for place in places:
        last = kept[-1] if kept else None
        if last is not None:
            between = text[last.end : place.start + (text[place.start] == "(")]
            linked = _LINK.match(between) is not None and _LINKED.search(between) is not None
            if linked and agree(last.found.written, place.found.written) and not contradict(last.found, place.found):
                both = [each for each in (last, place) if each.found.written.worked_out] or [place]
                finer = min(both, key=lambda each: each.found.written.digit)
                unit = place.found.unit or last.found.unit
                kept[-1] = PlacedNumber(Found(finer.found.written, unit), last.start, place.end)
                continue
            if _JOINED.fullmatch(between) and (whole := summed(last.found, place.found)) is not None:
                kept[-1] = PlacedNumber(whole, last.start, place.end)
                continue
        if any(
            same_quantity(each.found, place.found)
            or (
                alike(each.found.written, place.found.written)
                and (each.found.unit == place.found.unit or not (each.found.unit and place.found.unit))
            )
            for each in kept
        ):
            continue
        kept.append(place)
    if (open_one := next((each for each in kept if not each.found.written.worked_out), None)) is not None:
        raise NoNumber(f"it gives several numbers: {clip(open_one.found.written.text, 40)}")
    return kept
