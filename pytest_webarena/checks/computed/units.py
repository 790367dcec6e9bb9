"""Units of measurement in answers: read by a list of known names, converted by ``pint``. Nothing unknown gets there."""

from __future__ import annotations

import functools
import importlib.util
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["MISSING", "Unit", "convert", "read_unit", "units_there", "warm"]

MISSING = "units are converted with pint, which is not installed: pip install 'pytest-webarena[math]'"

_PREFIXES = {
    "f": "femto", "p": "pico", "n": "nano", "µ": "micro", "u": "micro", "m": "milli", "c": "centi", "d": "deci",
    "h": "hecto", "k": "kilo", "M": "mega", "G": "giga", "T": "tera",
}  # fmt: skip
_PREFIXED = {
    "m": "meter", "g": "gram", "s": "second", "A": "ampere", "K": "kelvin", "mol": "mole", "N": "newton", "J": "joule",
    "W": "watt", "Pa": "pascal", "Hz": "hertz", "C": "coulomb", "V": "volt", "F": "farad", "Ω": "ohm", "T": "tesla",
    "Wb": "weber", "H": "henry", "S": "siemens", "eV": "electron_volt", "L": "liter", "l": "liter", "bar": "bar",
    "cal": "calorie", "Bq": "becquerel", "Gy": "gray", "Sv": "sievert", "lm": "lumen", "lx": "lux", "cd": "candela",
    "Wh": "watt_hour", "B": "byte", "b": "bit", "rad": "radian", "sr": "steradian",
}  # fmt: skip
_PLAIN = {
    "min": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "d": "day", "wk": "week", "yr": "year", "yrs": "year",
    "sec": "second", "secs": "second", "mins": "minute", "in": "inch", "ft": "foot", "yd": "yard", "mi": "mile",
    "lb": "pound", "lbs": "pound", "oz": "ounce", "lbf": "force_pound", "psi": "psi", "atm": "atmosphere",
    "torr": "torr", "Torr": "torr", "mmHg": "mmHg", "deg": "degree", "°": "degree", "°C": "degC", "degC": "degC",
    "°F": "degF", "degF": "degF", "Å": "angstrom", "M": "molar", "amu": "dalton", "u": "dalton", "Da": "dalton",
    "kDa": "kilodalton", "ha": "hectare", "t": "metric_ton", "rpm": "rpm", "rev": "turn", "cc": "cubic_centimeter",
    "gal": "gallon", "BTU": "BTU", "hp": "horsepower", "dyn": "dyne", "erg": "erg", "G": "gauss", "Ci": "curie",
    "ly": "light_year", "pc": "parsec", "AU": "astronomical_unit", "arcsec": "arcsecond", "arcmin": "arcminute",
    "ppm": "ppm", "kt": "knot", "knots": "knot",
}  # fmt: skip
_COMPOUND = {"mph": "mile/hour", "kph": "kilometer/hour", "kmh": "kilometer/hour"}
_WORDS = {
    "meter", "metre", "gram", "gramme", "second", "ampere", "amp", "kelvin", "mole", "newton", "joule", "watt",
    "pascal", "hertz", "coulomb", "volt", "farad", "ohm", "tesla", "weber", "henry", "liter", "litre", "bar",
    "calorie", "becquerel", "gray", "sievert", "lumen", "lux", "candela", "byte", "bit", "radian", "minute", "hour",
    "day", "week", "year", "inch", "foot", "yard", "mile", "pound", "ounce", "atmosphere", "degree", "angstrom",
    "molar", "dalton", "hectare", "tonne", "ton", "gallon", "pint", "quart", "horsepower", "dyne", "erg", "gauss",
    "parsec", "knot", "steradian", "siemens", "month", "century", "decade", "acre",
}  # fmt: skip
_LENGTHENED = (
    "meter", "metre", "gram", "second", "ampere", "amp", "mole", "newton", "joule", "watt", "pascal", "hertz",
    "coulomb", "volt", "farad", "ohm", "tesla", "liter", "litre", "bar", "calorie", "byte", "bit", "radian", "kelvin",
    "electronvolt", "molar", "dalton",
)  # fmt: skip
"""Words that prefixes are put before."""
_RESPELT = {
    "metre": "meter", "gramme": "gram", "litre": "liter", "amp": "ampere", "tonne": "metric_ton", "feet": "foot",
    "inches": "inch", "centuries": "century", "hertz": "hertz", "lux": "lux", "siemens": "siemens", "henries": "henry",
    "celsius": "degC", "fahrenheit": "degF", "electronvolt": "electron_volt", "electronvolts": "electron_volt",
}  # fmt: skip
_TOKEN = re.compile(
    r"\s*(?:(?P<name>°[CF]?|[A-Za-zµΩÅ]+(?:_(?:hour|volt|year))?)|(?P<power>\^\s*\(?\s*([-+]?\d{1,2})\s*\)?|\*\*\s*\(?\s*([-+]?\d{1,2})\)?)"
    r"|(?P<times>\*|\.(?=[A-Za-z]))|(?P<over>/)|(?P<open>\()|(?P<close>\)))"
)
_PHRASES = re.compile(
    r"\s*(?:degrees?\s+(?P<scale>[Cc]elsius|[Ff]ahrenheit|C|F)\b|light[- ]?years?\b|electron[- ]?volts?\b"
    r"|(?P<what>square|cubic)\s+(?P<unit>[a-z]+)\b)"
)
_OFFSET = ("degC", "degF")


@dataclass(frozen=True, slots=True)
class Unit:
    """A product of powers of known units, by their names in ``pint``."""

    parts: tuple[tuple[str, int], ...]
    """Sorted; without powers of 0."""

    def __str__(self) -> str:
        return " ".join(name if power == 1 else f"{name}^{power}" for name, power in self.parts) or "no unit"


def read_unit(text: str, start: int = 0) -> tuple[Unit, int] | None:
    """The longest expression of known units that begins at ``start``, and where it ends; None when there is none.

    >>> read_unit("kg m^2 / s^2 of energy")
    (Unit(parts=(('kilogram', 1), ('meter', 2), ('second', -2))), 13)
    """
    powers: dict[str, int] = {}
    at = end = start
    sign, pending, opened = 1, "", 0
    last: str | None = None
    last_sign = 1
    if phrase := _PHRASES.match(text, start):
        name = _phrase(phrase)
        if name is not None:
            powers[name[0]] = name[1]
            at = end = phrase.end()
    for _ in range(40):
        match = _TOKEN.match(text, at)
        if match is None:
            per = re.compile(r"\s+per\s+").match(text, at)
            if per is None:
                break
            pending, at = "/", per.end()
            continue
        if match["name"] is not None:
            if match["name"] == "per":
                pending, at, last = "/", match.end(), None
                continue
            name_of = _known(match["name"])
            if name_of is None or (last is not None and not pending and match["name"] in ("in", "d", "u", "t", "a")):
                break
            last, last_sign = name_of, -1 if pending == "/" or (opened and sign < 0) else 1
            for part, power in _parts(name_of):
                powers[part] = powers.get(part, 0) + last_sign * power
            pending, at = "", match.end()
            if not opened:
                end = at
        elif match["power"] is not None:
            if last is None:
                break
            power = int(match[3] or match[4])
            for part, own in _parts(last):
                powers[part] += last_sign * own * (power - 1)
            last, at = None, match.end()
            if not opened:
                end = at
        elif match["open"] is not None:
            if opened or not (pending or not powers):
                break
            opened, sign, pending, at = 1, -1 if pending == "/" else 1, "", match.end()
        elif match["close"] is not None:
            if not opened or pending:
                break
            opened, sign, at = 0, 1, match.end()
            end = at
        else:
            if pending:
                break
            pending, last, at = "/" if match["over"] else "*", None, match.end()
    if opened:  # never closed: only what came before it
        return None
    kept = tuple(sorted((name, power) for name, power in powers.items() if power))
    return (Unit(kept), end) if powers and end > start else None


def _phrase(match: re.Match[str]) -> tuple[str, int] | None:
    if match["scale"]:
        return ("degC" if match["scale"][0] in "Cc" else "degF"), 1
    if match["what"]:
        name = _known(match["unit"])
        return (name, 2 if match["what"] == "square" else 3) if name else None
    return ("light_year" if "year" in match[0] else "electron_volt"), 1


@functools.cache
def _table() -> dict[str, str]:
    table = {**{word: word for word in _WORDS}, **_RESPELT, **{f"{word}s": word for word in _WORDS}}
    for word, name in list(table.items()):
        table[word] = _RESPELT.get(name, name)
    for symbol, name in _PREFIXED.items():
        table |= {short + symbol: long + name for short, long in _PREFIXES.items() if short + symbol not in _PLAIN}
    for word in _LENGTHENED:
        for long in _PREFIXES.values():
            table[long + word] = table[long + word + "s"] = long + _RESPELT.get(word, word)
    return table | _PREFIXED | _PLAIN | _COMPOUND


def _known(word: str) -> str | None:
    table = _table()
    return table.get(word) or (table.get(word.lower()) if len(word) > 3 else None)


def _parts(name: str) -> tuple[tuple[str, int], ...]:
    if "/" in name:
        over, under = name.split("/")
        return (over, 1), (under, -1)
    return ((name, 1),)


def units_there() -> bool:
    """Whether units can be converted."""
    return importlib.util.find_spec("pint") is not None


@functools.cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()


def warm() -> None:
    """Load what converting takes."""
    if units_there():
        convert(1.0, Unit((("kilometer", 1), ("hour", -1))), Unit((("meter", 1), ("second", -1))))


def convert(value: float, unit: Unit, wanted: Unit) -> float | None:
    """``value`` in another unit; None when one does not measure what the other does. `ImportError` without pint."""
    if unit == wanted:
        return value
    registry = _registry()
    from pint.errors import DimensionalityError, OffsetUnitCalculusError

    try:
        return float(registry.Quantity(value, _made(unit)).to(_made(wanted)).magnitude)
    except (DimensionalityError, OffsetUnitCalculusError):
        return None


@functools.lru_cache(maxsize=512)
def _made(unit: Unit) -> Any:
    registry = _registry()
    if len(unit.parts) == 1 and unit.parts[0][1] == 1:
        return getattr(registry, unit.parts[0][0])
    made = registry.Unit("")
    for name, power in unit.parts:
        made *= getattr(registry, f"delta_{name}" if name in _OFFSET else name) ** power
    return made
