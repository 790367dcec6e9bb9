"""A small, strict JSONPath: names, indices, ``*`` and filters that compare one field.

No library is used: `jsonpath-rfc9535` 1.0 needs two more packages, one of them compiled; `python-jsonpath` 2.2 needs
none and is maintained (both have the MIT licence), but takes half a second to import and accepts more than task files
should contain: a path without ``$``, ``..``, and patterns that can take for ever. Numbers are compared as in all
checks.

``$.orders[0].lines[*].sku``, ``$['odd name']``, ``$[-1]``, ``$.users[?(@.name == 'emma')].id``
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pytest_webarena.checks.json_answer import same_number

__all__ = ["PathError", "find", "parse_path"]


class PathError(ValueError):
    """A path that can't be parsed; the message names the position."""


@dataclass(frozen=True, slots=True)
class Name:
    """The value of one key."""

    key: str


@dataclass(frozen=True, slots=True)
class Index:
    """One item of a list; negative indices count from its end."""

    index: int


@dataclass(frozen=True, slots=True)
class Every:
    """All items of a list or values of a mapping."""


@dataclass(frozen=True, slots=True)
class Where:
    """The items in which a field satisfies a comparison."""

    field: tuple[str, ...]
    operator: str
    value: Any


Step = Name | Index | Every | Where

_STEP = re.compile(
    r"""
      \.(?P<star>\*)
    | \.(?P<name>[^\W\d][\w-]*)
    | \[\s*(?P<index>-?\d{1,9})\s*\]
    | \[\s*(?P<every>\*)\s*\]
    | \[\s*(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\]
    | \[\s*\?\(?\s*@(?P<field>(?:\.[^\W\d][\w-]*)*)\s*(?P<operator>==|!=|<=|>=|<|>)\s*
        (?P<value>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null)\s*\)?\s*\]
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=512)
def parse_path(path: str) -> tuple[Step, ...]:
    """Returns the steps of a path. Raises `PathError`."""
    text = path.strip()
    if not text.startswith("$"):
        raise PathError("a path begins with '$'")
    position = 1
    steps: list[Step] = []
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise PathError(f"not understood from character {position + 1}: '{text[position : position + 20]}'")
        steps.append(_step(match))
        position = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match.group("star") or match.group("every"):
        return Every()
    if match.group("index"):
        return Index(int(match.group("index")))
    if match.group("operator"):
        field = tuple(filter(None, match.group("field").split(".")))
        return Where(field, match.group("operator"), _literal(match.group("value")))
    return Name(match.group("name") or _unquote(match.group("quoted")))


def _literal(text: str) -> Any:
    return _unquote(text) if text[0] in "'\"" else json.loads(text)


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)


def find(path: str, document: Any) -> list[Any]:
    """Returns all values at ``path``, in order; missing ones are skipped.

    >>> find("$.orders[?(@.paid == true)].total", {"orders": [{"paid": True, "total": 3}, {"paid": False}]})
    [3]
    """
    values = [document]
    for step in parse_path(path):
        values = [found for value in values for found in _follow(step, value)]
    return values


def _follow(step: Step, value: Any) -> list[Any]:
    if isinstance(step, Name):
        return [value[step.key]] if isinstance(value, dict) and step.key in value else []
    if isinstance(step, Index):
        inside = isinstance(value, list) and -len(value) <= step.index < len(value)
        return [value[step.index]] if inside else []
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return items if isinstance(step, Every) else [item for item in items if _holds(step, item)]


def _holds(step: Where, item: Any) -> bool:
    for key in step.field:
        if not isinstance(item, dict) or key not in item:
            return False
        item = item[key]
    numbers = [v for v in (item, step.value) if isinstance(v, int | float) and not isinstance(v, bool)]
    if step.operator in ("==", "!="):
        same = same_number(*numbers) if len(numbers) == 2 else type(item) is type(step.value) and item == step.value
        return same == (step.operator == "==")
    comparable = len(numbers) == 2 or (isinstance(item, str) and isinstance(step.value, str))
    return (
        comparable
        and {
            "<": lambda: item < step.value,
            ">": lambda: item > step.value,
            "<=": lambda: item <= step.value,
            ">=": lambda: item >= step.value,
        }[step.operator]()
    )
