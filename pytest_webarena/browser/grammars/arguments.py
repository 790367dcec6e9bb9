"""Arguments of tool calls: JSON schemas, and parsing of the values that a model passed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_webarena.actions import Element, Point, Target
from pytest_webarena.answers import plain_text

__all__ = ["Arguments", "Parameter", "WrongArgument", "shown"]


class WrongArgument(Exception):
    """The arguments are invalid; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a tool."""

    name: str
    kind: Literal["text", "any", "number", "count", "flag", "texts", "target"]
    doc: str
    required: bool = True
    choices: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other accepted names of choices, in lower case."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its arguments in a call: targets have an element's id and two coordinates."""
        if self.kind != "target":
            return (self.name,)
        prefix = "" if self.name == "element" else f"{self.name}_"
        return (self.name, f"{prefix}x", f"{prefix}y")

    def schema(self, targets: str) -> dict[str, Any]:
        """Return the JSON schemas by argument name."""
        if self.kind == "target":
            element, x, y = self.names
            by_id = {element: {"type": "string", "description": f"{self.doc}: its id in the observation."}}
            by_place = {
                x: {"type": "number", "description": f"{self.doc}: pixels from the left edge of the picture."},
                y: {"type": "number", "description": f"{self.doc}: pixels from the top edge of the picture."},
            }
            return {"elements": by_id, "points": by_place, "both": by_id | by_place}[targets]
        types: dict[str, dict[str, Any]] = {
            "text": {"type": "string"},
            "any": {"type": "string"},
            "number": {"type": "number"},
            "count": {"type": "integer", "minimum": 0},
            "flag": {"type": "boolean"},
            "texts": {"type": "array", "items": {"type": "string"}},
        }
        schema = {**types[self.kind], "description": self.doc}
        if self.choices:
            where = schema["items"] if self.kind == "texts" else schema
            where["enum"] = list(self.choices)
        return {self.name: schema}


class Arguments:
    """Arguments of a call, parsed leniently because models write numbers as text, or one text for a list."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._given = {key: value for key, value in arguments.items() if value is not None}

    def text(self, parameter: Parameter) -> str | None:
        value = self._given.get(parameter.name)
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise WrongArgument(f"{parameter.name!r}: expected text, found {shown(value)}")
        if value is None:
            return None
        return self._choice(parameter, value if isinstance(value, str) else _plain(value))

    def any(self, parameter: Parameter) -> str | None:
        value = self._given.get(parameter.name)
        try:
            return None if value is None else plain_text(value)
        except (TypeError, ValueError, RecursionError):
            raise WrongArgument(f"{parameter.name!r}: expected a JSON value, found {shown(value)}") from None

    def texts(self, parameter: Parameter) -> tuple[str, ...] | None:
        value = self._given.get(parameter.name)
        if value is None:
            return None
        values = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in values):
            raise WrongArgument(f"{parameter.name!r}: expected a list of texts, found {shown(value)}")
        return tuple(self._choice(parameter, each if isinstance(each, str) else _plain(each)) for each in values)

    def number(self, parameter: Parameter, name: str = "") -> float | None:
        name = name or parameter.name
        value = self._given.get(name)
        if value is None:
            return None
        try:
            found = math.nan if isinstance(value, bool | list | dict) else float(value)
        except (TypeError, ValueError, OverflowError):
            found = math.nan
        if not abs(found) < 1e9:
            raise WrongArgument(f"{name!r}: expected a number, found {shown(value)}")
        return found

    def count(self, parameter: Parameter) -> int | None:
        value = self.number(parameter)
        if value is not None and (value != int(value) or value < 0):
            raise WrongArgument(f"{parameter.name!r}: expected a whole number from 0, found {value:g}")
        return None if value is None else int(value)

    def flag(self, parameter: Parameter) -> bool | None:
        value = self._given.get(parameter.name)
        words = {"true": True, "false": False, "1": True, "0": False}
        found = words.get(str(value).lower())
        if value is not None and found is None:
            raise WrongArgument(f"{parameter.name!r}: expected true or false, found {shown(value)}")
        return found

    def target(self, parameter: Parameter) -> Target | None:
        element, x_name, y_name = parameter.names
        value = self._given.get(element)
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise WrongArgument(f"{element!r}: expected the id of an element, found {shown(value)}")
            return Element(str(value).strip().strip("[]"))
        x, y = self.number(parameter, x_name), self.number(parameter, y_name)
        if (x is None) != (y is None):
            raise WrongArgument(f"expected both {x_name!r} and {y_name!r}, or neither")
        return None if x is None or y is None else Point(x, y)

    def read(self, parameter: Parameter) -> Any:
        """Return the parameter's value; None if it was omitted."""
        value = getattr(self, parameter.kind)(parameter)
        if value is None and parameter.required:
            what = " or ".join(parameter.names[:2]) if parameter.kind == "target" else parameter.name
            raise WrongArgument(f"{what!r} is missing ({parameter.doc})")
        return value

    def unknown(self, names: set[str]) -> str | None:
        """Return the first argument that is not in ``names``."""
        return next((name for name in self._given if name not in names), None)

    def _choice(self, parameter: Parameter, value: str) -> str:
        if not parameter.choices:
            return value
        canonical = parameter.aliases.get(value.lower(), value).lower()
        found = next((choice for choice in parameter.choices if choice.lower() == canonical), None)
        if found is None:
            raise WrongArgument(
                f"{parameter.name!r}: expected one of {', '.join(parameter.choices)}, found {shown(value)}"
            )
        return found


def _plain(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e15 else str(value)[:100]


def shown(value: object, length: int = 100) -> str:
    try:
        return repr(value)[:length]
    except (ValueError, RecursionError):  # e.g. integers of thousands of digits
        return type(value).__name__
