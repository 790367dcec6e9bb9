"""Units of measurement in answers: read by a list of known names, converted by ``pint``. Nothing unknown gets there."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MISSING", "Unit", "convert", "in_base_units", "read_unit", "units_there", "warm"]

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
    "kDa": "kilodalton", "ha": "hectare", "t": "metric_ton", "rpm": "rpm", "rev": "turn", "revs": "turn",
    "cc": "cubic_centimeter",
    "gal": "gallon", "BTU": "BTU", "hp": "horsepower", "dyn": "dyne", "erg": "erg", "G": "gauss", "Ci": "curie",
    "ly": "light_year", "pc": "parsec", "AU": "astronomical_unit", "arcsec": "arcsecond", "arcmin": "arcminute",
    "ppm": "ppm", "kt": "knot", "knots": "knot", "mM": "millimolar", "µM": "micromolar", "uM": "micromolar",
    "nM": "nanomolar", "pM": "picomolar", "aJ": "attojoule", "aC": "attocoulomb", "PJ": "petajoule", "EJ": "exajoule",
    "PW": "petawatt", "PHz": "petahertz", "PeV": "petaelectron_volt", "micron": "micrometer", "microns": "micrometer",
}  # fmt: skip
_SYMBOLS = {"hbar", "kT"}
"""What is rather a symbol of physics than a unit with a prefix."""
_COMPOUND = {"mph": "mile/hour", "kph": "kilometer/hour", "kmh": "kilometer/hour"}
_WORDS = {
    "meter", "metre", "gram", "gramme", "second", "ampere", "amp", "kelvin", "mole", "newton", "joule", "watt",
    "pascal", "hertz", "coulomb", "volt", "farad", "ohm", "tesla", "weber", "henry", "liter", "litre", "bar",
    "calorie", "becquerel", "gray", "sievert", "lumen", "lux", "candela", "byte", "bit", "radian", "minute", "hour",
    "day", "week", "year", "inch", "foot", "yard", "mile", "pound", "ounce", "atmosphere", "degree", "angstrom",
    "molar", "dalton", "hectare", "tonne", "ton", "gallon", "pint", "quart", "horsepower", "dyne", "erg", "gauss",
    "parsec", "knot", "revolution", "rotation", "steradian", "siemens", "month", "century", "decade", "acre",
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
    "revolution": "turn", "rotation": "turn",
    "celsius": "degC", "fahrenheit": "degF", "electronvolt": "electron_volt", "electronvolts": "electron_volt",
}  # fmt: skip
_TOKEN = re.compile(
    r"\s*(?:(?P<name>°[CF]?|[A-Za-zµΩÅ]+(?:_(?:hour|volt|year))?)"
    r"|(?P<power>(?:\^|\*\*)\s*(?:\(\s*([-+]?\d{1,2})\s*\)|([-+]?\d{1,2})))"
    r"|(?P<times>\*|\.(?=[A-Za-z]))|(?P<over>/)|(?P<open>\()|(?P<close>\)))"
)
_PER = re.compile(r"\s+per\s+")
_PHRASES = re.compile(
    r"\s*(?:(?:degrees?|deg\.?)\s+(?P<scale>[Cc]elsius|[Ff]ahrenheit|[Kk]elvin|C|F|K)\b|°\s(?P<sign>[CF])\b"
    r"|light[- ]?years?\b|electron[- ]?volts?\b"
    r"|(?P<what>square|cubic)\s+(?P<unit>[a-z]+)\b)"
)
_OFFSET = ("degC", "degF")


@dataclass(frozen=True, slots=True)
class Unit:
    """A product of powers of known units, by their names in ``pint``."""

    parts: tuple[tuple[str, int], ...]
    """Sorted; without powers of 0."""
    loose: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    """The same if all behind a stroke is below it: the K of ``J/mol K``."""

    def __str__(self) -> str:
        return " ".join(name if power == 1 else f"{name}^{power}" for name, power in self.parts) or "no unit"


def read_unit(text: str, start: int = 0) -> tuple[Unit, int] | None:
    """The longest expression of known units that begins at ``start``, and where it ends; None when there is none.

    >>> read_unit("kg m^2 / s^2 of energy")[0].parts
    (('kilogram', 1), ('meter', 2), ('second', -2))
    """
    reader = _UnitReader(text, start)
    for _ in range(40):
        if not reader.step():
            break
    return reader.unit()


class _UnitReader:
    """Goes from name to name. Each bracket has the sign of the powers in it, below a stroke the negative one."""

    def __init__(self, text: str, start: int) -> None:
        self._text, self._start, self._at = text, start, start
        self._powers: list[tuple[str, int, bool]] = []
        """With whether it follows one under a stroke without a stroke of its own, as the K of J/mol K."""
        self._end, self._kept = start, 0
        self._signs = [1]
        self._pending = ""
        self._last: tuple[int, int, int] | None = None
        """From where to where the powers of the last name are, and its sign."""
        self._under: list[bool] = [False]
        """Whether there was a stroke, by bracket."""
        self._begun: list[int] = []
        """From which power on each open bracket is."""
        if (phrase := _PHRASES.match(text, start)) is not None and (name := _phrase(phrase)) is not None:
            self._powers.append((*name, False))
            self._at = phrase.end()
            self._ends()

    def unit(self) -> tuple[Unit, int] | None:
        """What was read as far as it is whole."""
        kept = self._powers[: self._kept]
        if not kept or self._end <= self._start:
            return None
        strict, loose = (
            _product((name, -power if after and turned else power) for name, power, after in kept) for turned in (0, 1)
        )
        return Unit(strict, loose), self._end

    def _ends(self) -> None:
        if len(self._signs) == 1:
            self._end, self._kept = self._at, len(self._powers)

    def step(self) -> bool:
        """Read one token; whether there was one."""
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            match = _PER.match(self._text, self._at)
            if match is None or self._pending:
                return False
            self._pending, self._at, self._last = "/", match.end(), None
            return True
        if match["name"] is not None:
            return self._named(match)
        if match["power"] is not None:
            return self._raised(match, int(match[3] or match[4]))
        if match["open"] is not None:
            if not (self._pending or not self._powers or len(self._powers) > self._kept):
                return False
            self._signs.append(self._signs[-1] * (-1 if self._pending == "/" else 1))
            self._under.append(False)
            self._begun.append(len(self._powers))
            self._pending = ""
        elif match["close"] is not None:
            if len(self._signs) == 1 or self._pending:
                return False
            sign = self._signs.pop()
            self._under.pop()
            self._last = (self._begun.pop(), len(self._powers), sign)  # a power behind it is of all in it
        elif self._pending or not (self._powers or match["over"]):
            return False
        else:
            self._pending, self._last = "/" if match["over"] else "*", None
            self._at = match.end()
            return True
        self._at = match.end()
        if match["close"] is not None:
            self._ends()
        return True

    def _named(self, match: re.Match[str]) -> bool:
        word = match["name"]
        if word == "per":
            if self._pending:
                return False
            self._pending, self._at, self._last = "/", match.end(), None
            return True
        if word in ("square", "cubic") and (phrase := _PHRASES.match(self._text, self._at)) is not None:
            found, end = _phrase(phrase), phrase.end()
        elif word in ("squared", "cubed") and self._last is not None:
            return self._raised(match, 2 if word == "squared" else 3)
        else:
            name, end = _known(word), match.end()
            found = (name, 1) if name else None
        if found is None or (
            self._kept and len(self._signs) == 1 and not self._pending and word in ("in", "d", "u", "t", "a", "as")
        ):
            return False
        over = self._pending == "/"
        sign = self._signs[-1] * (-1 if over else 1)
        begun = len(self._powers)
        after = self._under[-1] and not over
        self._powers += [(part, sign * power * found[1], after) for part, power in _parts(found[0])]
        self._last = (begun, len(self._powers), sign)
        self._under[-1] |= over
        self._pending, self._at = "", end
        self._ends()
        return True

    def _raised(self, match: re.Match[str], power: int) -> bool:
        if self._last is None:
            return False
        begun, end, _ = self._last
        # below a stroke without one of its own, a negative power tells that it belongs there
        self._powers[begun:end] = [
            (name, own * power, after and power > 0) for name, own, after in self._powers[begun:end]
        ]
        self._last, self._at = None, match.end()
        self._ends()
        return True


def _product(powers: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    total: dict[str, int] = {}
    for name, power in powers:
        total[name] = total.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in total.items() if power))


def _phrase(match: re.Match[str]) -> tuple[str, int] | None:
    if match["scale"]:
        return {"c": "degC", "f": "degF", "k": "kelvin"}[match["scale"][0].lower()], 1
    if match["sign"]:
        return f"deg{match['sign']}", 1
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
        table |= {
            short + symbol: long + name
            for short, long in _PREFIXES.items()
            if short + symbol not in _PLAIN and short + symbol not in _SYMBOLS
        }
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
    if _decays(unit) != _decays(wanted) and (_turns(unit) or _turns(wanted)):
        return None
    registry = _registry()
    from pint.errors import DimensionalityError, OffsetUnitCalculusError

    turning = _turns(unit) and _turns(wanted)
    try:
        return float(registry.Quantity(value, _made(unit, turning)).to(_made(wanted, turning)).magnitude)
    except (DimensionalityError, OffsetUnitCalculusError):
        return None


def in_base_units(value: float, unit: Unit) -> float:
    """Returns ``value`` in base units of the SI. `ImportError` without pint."""
    return float(_registry().Quantity(value, _made(unit)).to_base_units().magnitude)


_ANGLES = ("radian", "degree", "arcminute", "arcsecond", "turn", "rpm", "hertz")


def _turns(unit: Unit) -> bool:
    """Whether it counts cycles or measures angles: `pint` takes both for pure numbers, 2π apart."""
    return any(name.endswith(_ANGLES) for name, _ in unit.parts)


def _decays(unit: Unit) -> bool:
    return any(name.endswith(("becquerel", "curie")) for name, _ in unit.parts)


@functools.lru_cache(maxsize=512)
def _made(unit: Unit, turning: bool = False) -> Any:
    """``unit`` of `pint`. Among units that turn, a hertz is one cycle per second; else it is one over a second."""
    registry = _registry()
    if turning and any(name.endswith("hertz") for name, _ in unit.parts):
        made = registry.Unit("")
        for name, power in unit.parts:
            own = getattr(registry, name)
            if name.endswith("hertz"):
                own = getattr(registry, f"{name.removesuffix('hertz')}turn") / registry.second
            made *= own**power
        return made
    if len(unit.parts) == 1 and unit.parts[0][1] == 1:
        return getattr(registry, unit.parts[0][0])
    made = registry.Unit("")
    for name, power in unit.parts:
        made *= getattr(registry, f"delta_{name}" if name in _OFFSET else name) ** power
    return made
