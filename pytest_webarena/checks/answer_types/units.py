"""Compares units of measurement, by pint, and currencies."""

from __future__ import annotations

import functools
import logging
import re
from fractions import Fraction
from typing import Any

__all__ = ["COMMON_UNITS", "CURRENCY_SIGNS", "convert", "currencies", "is_unit", "length_of"]

COMMON_UNITS = frozenset(
    """
    % km m cm mm mi mile miles ft feet in kg g t lb oz l ml h min s days hours minutes °C °F
    """.split()  # noqa: SIM905 - a list is no easier to read
)
"""Units of task files that are known without loading pint."""

_EVERYDAY_UNITS = COMMON_UNITS | frozenset(
    """
    second seconds minute hour day week weeks month months year years km/h mph acre acres ha pint pints gallon gallons
    """.split()  # noqa: SIM905
)
"""Units that `is_unit` knows without loading pint, which takes as long as reading all shipped tasks."""

CURRENCY_SIGNS = {
    "$": ("USD", "CAD", "AUD", "NZD", "MXN", "HKD", "SGD"),
    "us$": ("USD",), "ca$": ("CAD",), "c$": ("CAD",), "a$": ("AUD",), "au$": ("AUD",), "nz$": ("NZD",),
    "€": ("EUR",), "£": ("GBP",), "¥": ("JPY", "CNY"), "₹": ("INR",), "₩": ("KRW",), "₽": ("RUB",), "₺": ("TRY",),
    "kr": ("SEK", "NOK", "DKK", "ISK"), "kr.": ("SEK", "NOK", "DKK", "ISK"), "zł": ("PLN",), "fr": ("CHF",),
    "dollar": ("USD", "CAD", "AUD", "NZD", "HKD", "SGD"), "euro": ("EUR",), "pound": ("GBP",), "yen": ("JPY",),
    "rupee": ("INR",), "franc": ("CHF",), "krona": ("SEK",), "krone": ("NOK", "DKK"),
    "crown": ("SEK", "NOK", "DKK", "CZK"), "buck": ("USD",),
}  # fmt: skip
"""Signs and English names of currencies, with the ISO 4217 codes that they may stand for."""

_CODES = frozenset(code for codes in CURRENCY_SIGNS.values() for code in codes) | frozenset(
    "CHF PLN CZK HUF RON BGN UAH ILS ZAR BRL ARS CLP COP PEN THB IDR MYR PHP VND TWD EGP NGN KES AED SAR QAR".split()  # noqa: SIM905
)
_TIME = {
    "s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hr": 3600, "hour": 3600,
    "d": 86400, "day": 86400, "wk": 604800, "week": 604800,
}  # fmt: skip
_CALENDAR = {"month": 1, "mo": 1, "year": 12, "yr": 12}
"""Units of time without a fixed length, in months."""
_SPELLINGS = {
    "°c": "degC", "℃": "degC", "°f": "degF", "℉": "degF", "celsius": "degC", "fahrenheit": "degF", "°": "degree",
    "%": "percent", "per cent": "percent", "pct": "percent", "sqm": "m**2", "sq": "",
    "degrees celsius": "degC", "degrees fahrenheit": "degF", "km/h": "km/hour", "kph": "km/hour", "mph": "mile/hour",
}  # fmt: skip


def currencies(unit: str) -> tuple[str, ...]:
    """Returns the ISO 4217 codes that a sign, code or name may stand for; empty if it is no currency.

    >>> currencies("EUR"), currencies("£"), currencies("yen"), currencies("km")
    (('EUR',), ('GBP',), ('JPY',), ())
    """
    if unit.upper() in _CODES and len(unit) == 3:
        return (unit.upper(),)
    word = unit.casefold()
    return CURRENCY_SIGNS.get(word) or CURRENCY_SIGNS.get(word.removesuffix("s"), ())


def length_of(word: str, *, months: bool = False) -> Fraction | None:
    """Returns the length of a unit of time in seconds, or with ``months`` in months; None for other words.

    >>> length_of("Hours"), length_of("years", months=True), length_of("years"), length_of("miles")
    (Fraction(3600, 1), Fraction(12, 1), None, None)
    """
    length = (_CALENDAR if months else _TIME).get(_time_unit(word))
    return None if length is None else Fraction(length)


def _time_unit(word: str) -> str:
    word = word.casefold().removesuffix(".")
    return word.removesuffix("s") if len(word) > 1 else word


def convert(value: Fraction, unit: str, wanted: str) -> Fraction | None:
    """Returns a value in another unit. Returns None if the units measure different things, or one is unknown.

    >>> five = Fraction(5)
    >>> float(convert(five, "kilometres", "m")), convert(five, "kg", "m"), convert(five, "lamps", "m")
    (5000.0, None, None)
    """
    if _spelling(unit) == _spelling(wanted):
        return value
    mine, theirs = _parsed(_spelling(unit)), _parsed(_spelling(wanted))
    if mine is None or theirs is None or mine.dimensionality != theirs.dimensionality:
        return None
    try:
        return Fraction(str(round(_registry().Quantity(float(value), mine).to(theirs).magnitude, 12)))
    except Exception:  # differences of temperatures, logarithmic units, overflow
        return None


def is_unit(unit: str) -> bool:
    """Whether a text is a unit of measurement."""
    return unit in _EVERYDAY_UNITS or _parsed(_spelling(unit)) is not None


def _spelling(unit: str) -> str:
    word = unit.strip().strip(".")
    return _SPELLINGS.get(word.casefold(), word)


_WRITTEN = re.compile(r"[^\W\d_]{1,15}(?:\s?[²³]|\^[1-4]|\*\*[1-4])?(?:[/·*][^\W\d_]{1,15}(?:[²³]|\^[1-4])?){0,2}")
"""One unit with a power, or a product or quotient of a few."""


@functools.cache
def _registry() -> Any:
    import pint  # only when an answer writes its unit in another way than the task: importing takes half a second

    logging.getLogger("pint").setLevel(logging.ERROR)  # it warns of words with two readings
    return pint.UnitRegistry()


@functools.lru_cache(maxsize=256)
def _parsed(unit: str) -> Any:
    if not _WRITTEN.fullmatch(unit):  # pint would evaluate anything else as an expression
        return None
    for spelt in (unit, unit.casefold()):
        try:
            return _registry().parse_units(spelt)
        except Exception:  # whatever a text that is no unit makes it raise
            continue
    return None
