"""A number that an answer gives, with its unit, and when two of them are the same."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from pytest_webarena.checks.computed.arithmetic import NoNumber, Real, Written, read_form
from pytest_webarena.checks.computed.units import Unit, convert, in_base_units, units_there
from pytest_webarena.text import clip

__all__ = ["Found", "agree", "alike", "contradict", "nearly", "same_quantity", "same_value", "summed", "works_out"]

_WORKED = Fraction(1, 100)
"""How far what is worked out may be from its result, as a share: people round in between."""


@dataclass(frozen=True, slots=True)
class Found:
    """A number and what it measures."""

    written: Written
    unit: Unit | None = None
    strange: str = ""
    """Words that stand where a unit would, and are none that is known."""

    def __str__(self) -> str:
        return clip(self.written.text + (f" {self.unit}" if self.unit else ""), 40)


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
            if digit != its_digit and _rounded(value, there, digit, its_digit):
                return True
            if one.worked_out != other.worked_out and off <= _WORKED * abs(Fraction(there)):
                return True
    return False


def nearly(one: Written, other: Written) -> bool:
    """Whether two numbers are so close that one is taken for the other as worked out."""
    return abs(Fraction(one.value) - Fraction(other.value)) <= _WORKED * abs(Fraction(other.value))


def _rounded(value: Real, there: Real, digit: Real, its_digit: Real) -> bool:
    """Whether the coarser of two values is the finer one as rounded or cut off."""
    step = max(digit, its_digit)
    coarse, fine = (value, there) if digit > its_digit else (there, value)
    off = abs(Fraction(coarse) - Fraction(fine))
    cut_off = abs(Fraction(coarse)) <= abs(Fraction(fine)) and off < step
    return cut_off or off <= Fraction(step) * Fraction(501, 1000)


def same_quantity(one: Found, other: Found) -> bool:
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


def works_out(working: Found, stated: Found) -> bool:
    """Whether a working without units gives a quantity in base units, or with the logarithm to base 10: ``arctan(1) =
    45 degree``, ``2 * 1500 = 3 kJ``, ``-log(0.001) = 3``."""
    if working.unit is not None or not re.search(r"[-+*/^(]", working.written.text):
        return False
    if stated.unit is not None and units_there():
        value, per_digit = (
            in_base_units(float(part), stated.unit) for part in (stated.written.value, stated.written.digit)
        )
        return agree(working.written, Written(value, digit=per_digit, text=stated.written.text))
    if stated.unit is None and "log" in working.written.text:
        try:
            form = read_form(re.sub(r"\blog(?=\s*\()", "logqba", working.written.text))
        except NoNumber:
            return False
        return form is not None and agree(form[0], stated.written)
    return False


def contradict(one: Found, other: Found) -> bool:
    """Whether both are measured in units of which one is not the other: 5 m is not 5 km."""
    if one.unit is None or other.unit is None or one.unit == other.unit or not units_there():
        return False
    if {one.unit.parts, one.unit.loose} & {other.unit.parts, other.unit.loose} - {()}:
        return False
    return not same_quantity(one, other)


def alike(one: Written, other: Written) -> bool:
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


def summed(one: Found, other: Found) -> Found | None:
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
