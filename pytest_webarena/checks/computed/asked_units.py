"""The unit that a task asks for, and whether the unit behind an answer's value is another one."""

from __future__ import annotations

import functools
import re

from pytest_webarena.checks.computed.derivatives import question_heads
from pytest_webarena.checks.computed.latex import plain_math
from pytest_webarena.checks.computed.units import MISSING, Unit, convert, read_unit, units_there

__all__ = ["another_unit", "named_unit"]

_MEASURED_IN = """
time period duration half-life lifetime: s | frequency: Hz | speed velocity: m/s | acceleration: m/s^2
wavelength length distance height depth width radius diameter displacement position thickness: m
area: m^2 | volume: m^3 | mass: kg | force tension: N | energy work heat: J | power: W | momentum impulse: N s
pressure: Pa | temperature: K | current: A | voltage: V | resistance: ohm | charge: C | capacitance: F
"""
"""Quantities, with a unit that measures each."""
_HOW = re.compile(r"\bhow\s+(?:much\s+([a-z]+)|(far|high|deep|tall|wide)|(fast))\b", re.IGNORECASE)
_ANOTHER = re.compile(
    r"\b(?:specific|molar|relative|angular|reduced|dimensionless|per|densit\w+|rate|unit|percent\w*)\b", re.IGNORECASE
)
"""Words that make another quantity of the one that they stand with: ``molar mass``."""
_IN = re.compile(r"(?<!\d )\bin\s+(?:units?\s+of\s+)?(?=[A-Za-z\u00b5\u03a9\u00b0])")
_BEHIND_UNIT = re.compile(r"\s*(?:[.?!;)]|$|\b(?:after|at|of|as|for|when|if|does|is|did|will|do|between)\b)")


@functools.lru_cache(maxsize=256)
def named_unit(intent: str) -> Unit | None:
    """Returns the unit that a task names for its answer: ``in metres``.

    >>> str(named_unit("What is its energy, in eV?")), named_unit("What is the change in mass?")
    ('electron_volt', None)
    """
    plain = plain_math(intent[:4_000])
    for found in _IN.finditer(plain):
        read = read_unit(plain, found.end())
        if read is not None and _BEHIND_UNIT.match(plain, read[1]):
            return read[0]
    return None


@functools.lru_cache(maxsize=256)
def _measuring_unit(intent: str) -> Unit | None:
    """Returns a unit that measures the quantity that a task asks for, None if it is not known or not the only one."""
    found = set()
    for head in question_heads(intent):
        words = re.findall(r"[a-z-]+", head.lower())
        if words and not _ANOTHER.search(head):
            found.add(_table().get(words[-1]))
    for much, length, speed in _HOW.findall(intent):
        found.add(_table().get(much.lower() if much else "length" if length else "speed" if speed else ""))
    found -= {None}
    return found.pop() if len(found) == 1 and not _ANOTHER.search(intent) else None


@functools.cache
def _table() -> dict[str, Unit]:
    table = {}
    for member in re.split(r"[|\n]", _MEASURED_IN.strip()):
        words, _, text = member.partition(":")
        read = read_unit(text.strip())
        assert read is not None, text
        table.update(dict.fromkeys(words.split(), read[0]))
    return table


def another_unit(unit: Unit | None, intent: str, wanted: Unit | None = None) -> tuple[str, bool]:
    """Returns why an answer's unit is not the one that is asked for, and whether both measure the same quantity.

    Args:
        unit: the unit behind the answer's value; None if there is none.
        intent: what the task asks; its unit or quantity counts if there is no `wanted`.
        wanted: the unit of the reference.

    >>> read = lambda text: read_unit(text)[0]
    >>> another_unit(read("N"), "How much work is done?"), another_unit(read("kJ"), "How much work is done?")
    (('its unit, newton, does not measure what is asked for', False), ('', False))
    >>> another_unit(read("cm"), "", read("m"))
    ('its unit is centimeter, not meter', True)
    """
    named = wanted or named_unit(intent)
    expected = named or _measuring_unit(intent)
    if unit is None or not unit.parts or expected is None or not expected.parts or unit == expected:
        return "", False
    if not units_there():
        return MISSING, True
    if not named and any(name.endswith("electron_volt") for name, _ in unit.parts):
        return "", False  # masses, momenta and temperatures are given in it, too
    meant = unit if named else Unit(tuple(part for part in unit.parts if part[0] != "mole"))
    one = convert(1.0, meant, expected)
    if one is None and unit.loose:
        one = convert(1.0, Unit(unit.loose), expected)
    if one is None:
        return f"its unit, {unit}, does not measure what is asked for", False
    return (f"its unit is {unit}, not {expected}", True) if named and abs(one - 1) > 1e-9 else ("", False)
