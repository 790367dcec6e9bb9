"""The unit converter, which also knows the region's old measures."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

__all__ = ["UNITS", "Unit", "convert", "pages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit: ``value * factor + offset`` gives the quantity's base unit."""

    key: str
    name: str
    quantity: str
    factor: Decimal
    offset: Decimal = Decimal(0)


def _unit(key: str, name: str, quantity: str, factor: str, offset: str = "0") -> Unit:
    return Unit(key=key, name=name, quantity=quantity, factor=Decimal(factor), offset=Decimal(offset))


_ALL = (
    _unit("m", "metres", "Length", "1"),
    _unit("km", "kilometres", "Length", "1000"),
    _unit("ft", "feet", "Length", "0.3048"),
    _unit("mi", "miles", "Length", "1609.344"),
    _unit("league", "Tarn leagues", "Length", "4200"),
    _unit("m2", "square metres", "Area", "1"),
    _unit("ha", "hectares", "Area", "10000"),
    _unit("acre", "acres", "Area", "4046.8564224"),
    _unit("strip", "orchard strips", "Area", "3100"),
    _unit("l", "litres", "Volume", "1"),
    _unit("pint", "pints", "Volume", "0.56826125"),
    _unit("jug", "Merrow jugs", "Volume", "1.35"),
    _unit("kg", "kilograms", "Weight", "1"),
    _unit("lb", "pounds", "Weight", "0.45359237"),
    _unit("clip", "wool clips", "Weight", "6.8"),
    _unit("c", "degrees Celsius", "Temperature", "1"),
    _unit("f", "degrees Fahrenheit", "Temperature", "0.5555555555555555555555555556", "-17.77777777777777777777777778"),
)
UNITS = {unit.key: unit for unit in _ALL}

pages = Blueprint("converter", __name__)


def convert(value: Decimal, source: Unit, target: Unit) -> str:
    """``value`` in the other unit, at most six decimal places. ValueError when the quantities differ.

    >>> convert(Decimal(2), UNITS["league"], UNITS["km"])
    '8.4'
    """
    if source.quantity != target.quantity:
        raise ValueError(f"{source.name.capitalize()} can’t be turned into {target.name}.")  # noqa: RUF001
    result = (value * source.factor + source.offset - target.offset) / target.factor
    text = f"{round(result, 6):f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


@pages.get("/converter")
def show() -> ResponseReturnValue:
    """The form; with ``value``, ``from`` and ``to`` also the result. Changes nothing, so it is all GET."""
    text = request.args.get("value", "").strip()
    source = UNITS.get(request.args.get("from", ""), UNITS["km"])
    target = UNITS.get(request.args.get("to", ""), UNITS["league"])
    result = error = ""
    if text:
        try:
            result = convert(_number(text), source, target)
        except ValueError as problem:
            error = str(problem)
    groups: dict[str, list[Unit]] = {}
    for unit in _ALL:
        groups.setdefault(unit.quantity, []).append(unit)
    return render_template(
        "converter.html", text=text, source=source, target=target, result=result, error=error, groups=groups
    )


def _number(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"“{text[:30]}” is no number. Write 1250 or 1250.5.") from None
    if not value.is_finite() or abs(value) > 10**12:
        raise ValueError("That number is too large.")
    return value
