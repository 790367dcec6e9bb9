"""Compares JSON values, and validates them with the part of JSON schema that answers need.

This is not `jsonschema`, which is a development dependency (version 4.26 needs four more packages, one of them
compiled, and takes a third of a second to import in each process that judges). Its own keywords would have to be
replaced: values of ``enum`` and ``const`` are compared as answers are elsewhere, texts without regard to form and
numbers as their printed decimals. And here an unknown keyword is an error of the task file with its position, where a
validator ignores it, so that a check with a misspelt keyword would pass everything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from pytest_webarena.checks.text import same_text
from pytest_webarena.tasks.file_reading import INVALID, Invalid, Reading
from pytest_webarena.tasks.nodes import Node, near
from pytest_webarena.tasks.shapes import Json, Schema, Schemas, Shape
from pytest_webarena.tasks.syntax import regex_fault
from pytest_webarena.text import clip

__all__ = ["SCHEMA", "explain_schema", "same_json", "same_number"]

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength")
_KEYWORDS = (
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", *_COUNTS, "minimum", "maximum",
    "pattern", "title", "description",
)  # fmt: skip


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same_number(one: float, other: float) -> bool:
    """Whether two numbers are equal; floats are compared as their printed decimals.

    >>> same_number(84.97, 84.97), same_number(1, 1.0), same_number(0.1, 0.2)
    (True, True, False)
    """
    if not (math.isfinite(one) and math.isfinite(other)):
        return False
    return Fraction(repr(one)) == Fraction(repr(other))


def same_json(actual: Any, wanted: Any, *, any_order: bool = False) -> bool:
    """Whether two JSON values are equal; texts without regard to form, lists in any order with ``any_order``."""
    if isinstance(actual, bool) or isinstance(wanted, bool) or actual is None or wanted is None:
        return actual is wanted
    if _number(actual) and _number(wanted):
        return same_number(actual, wanted)
    if isinstance(actual, str) and isinstance(wanted, str):
        return same_text(actual, wanted)
    if isinstance(actual, list) and isinstance(wanted, list):
        if len(actual) != len(wanted):
            return False
        if not any_order:
            return all(same_json(a, w) for a, w in zip(actual, wanted, strict=True))
        left = list(actual)
        for item in wanted:
            index = next((i for i, other in enumerate(left) if same_json(other, item, any_order=True)), None)
            if index is None:
                return False
            del left[index]
        return True
    if isinstance(actual, dict) and isinstance(wanted, dict):
        return actual.keys() == wanted.keys() and all(
            same_json(actual[key], wanted[key], any_order=any_order) for key in wanted
        )
    return False


_IS: dict[str, Callable[[Any], bool]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _number(value) and (isinstance(value, int) or value.is_integer()),
    "null": lambda value: value is None,
    "number": _number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def explain_schema(value: Any, schema: Any, place: str = "$") -> str:
    """Returns why ``value`` does not match the schema, with the position; empty when it does."""
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_IS[kind](value) for kind in types):
        return f"{place} is not of type {' or '.join(types)}"
    if "enum" in schema and not any(same_json(value, each) for each in schema["enum"]):
        return f"{place} is none of the values allowed"
    if "const" in schema and not same_json(value, schema["const"]):
        return f"{place} is another value"
    if _number(value) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"{place} is out of range"
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            return f"{place} has {len(value)} characters"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return f"{place} does not match the pattern"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return f"{place} has {len(value)} items"
        if "items" in schema:
            faults = (explain_schema(item, schema["items"], f"{place}[{index}]") for index, item in enumerate(value))
            return next(filter(None, faults), "")
    return _explain_object(value, schema, place) if isinstance(value, dict) else ""


def _explain_object(value: dict[str, Any], schema: Any, place: str) -> str:
    properties = schema.get("properties", {})
    for key in schema.get("required", ()):
        if key not in value:
            return f"{place} lacks '{key}'"
    if schema.get("additionalProperties") is False:
        for key in value:
            if key not in properties:
                return f"{place} has the further key '{clip(key, 30)}'"
    faults = (explain_schema(value[key], part, f"{place}.{key}") for key, part in properties.items() if key in value)
    return next(filter(None, faults), "")


def _schema_fault(schema: Any, place: str) -> str:
    """Returns what is wrong with a schema, as "place: expected …, found …"; empty when it is valid."""
    if not isinstance(schema, dict):
        return f"{place} is no mapping"
    for key in schema:
        if key not in _KEYWORDS:
            return f"'{clip(key, 30)}' at {place}: {near(key, _KEYWORDS)}"
    types = schema.get("type", [])
    for kind in [types] if isinstance(types, str) else types if isinstance(types, list) else [types]:
        if kind not in _TYPES:
            return f"type {clip(str(kind), 30)} at {place}: {near(str(kind), _TYPES)}"
    for key, fits, what in _RULES:
        if key in schema and not fits(schema[key]):
            return f"'{key}' at {place} is not {what}"
    for key, part in schema.get("properties", {}).items():
        if fault := _schema_fault(part, f"{place}.{key}"):
            return fault
    return _schema_fault(schema["items"], f"{place}[]") if "items" in schema else ""


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_RULES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("enum", lambda value: isinstance(value, list), "a list"),
    ("properties", lambda value: isinstance(value, dict), "a mapping"),
    ("required", _texts, "a list of names"),
    ("additionalProperties", lambda value: isinstance(value, bool), "true or false"),
    ("pattern", lambda value: isinstance(value, str) and regex_fault(value) is None, "a regular expression"),
    ("minimum", _number, "a number"),
    ("maximum", _number, "a number"),
    *((key, lambda value: type(value) is int and value >= 0, "a whole number") for key in _COUNTS),
)


class _SchemaShape(Shape[Any]):
    label = "a JSON schema"

    def read(self, node: Node, reading: Reading) -> Any | Invalid:
        value = Json().read(node, reading)
        if isinstance(value, Invalid):
            return INVALID
        if not isinstance(value, dict):
            return self.mismatch(node, reading)
        if fault := _schema_fault(value, "$"):
            return reading.problem(node, "a JSON schema of the keywords listed in the reference", fault)
        return value

    def json_schema(self, schemas: Schemas) -> Schema:
        return {"type": "object"}


SCHEMA: Shape[Any] = _SchemaShape()
"""A JSON schema with the supported keywords."""
