"""The digest of a task: equal for tasks that no verdict can distinguish, whatever their files look like."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pytest_webarena.tasks.model import Task

__all__ = ["digest"]

_HINTS = frozenset(
    {"id", "template", "category", "tags", "mutates", "skip", "xfail", "known_issue", "source", "review"}
)
_NOT_DECISIVE = _HINTS | {"location", "digest"}

_BESIDE = frozenset({"location", "repair_selectors"})
"""Fields of a task's parts that no run uses."""


def digest(task: Task) -> str:
    """Returns 32 hexadecimal digits over intent, sites, start, users, set-up, checks, scoring, limits, solution and
    filling.

    ``mutates: false`` is included, too. Excluded are ids, tags, category, hints, skip marks, known issues, sources,
    reviews, alternative selectors of a solution, and positions and order in the file. A field at its default is left
    out, so that new keys of later versions keep the digests of old tasks.
    """
    content = {name: value for name, value in _plain(task).items() if name not in _NOT_DECISIVE}
    if task.mutates is False:
        content["mutates"] = False  # ``mutates: false`` affects the verdict; other values are hints
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]


def _plain(value: Any) -> Any:
    """Returns ``value`` as JSON data; dataclasses without the fields that are at their default."""
    kind = value.__class__
    if kind is str or value is None or kind is bool or kind is int:
        return value
    if kind is float:
        return int(value) if value.is_integer() else value
    if kind is Decimal:
        return str(value.normalize())
    if kind is Fraction:
        return str(value)
    if kind is tuple or kind is list:
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    result: dict[str, Any] = {}
    name = getattr(kind, "kind", None)
    if isinstance(name, str):  # actions have their kind on the class
        result["kind"] = name
    for field_name, default in _fields(kind):
        content = getattr(value, field_name)
        if content is not default and content != default and field_name not in _BESIDE:
            result[field_name] = _plain(content)
    return result


@functools.cache
def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    def default(field: dataclasses.Field[Any]) -> Any:
        if field.default is not dataclasses.MISSING:
            return field.default
        if field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
        return dataclasses.MISSING

    return tuple((field.name, default(field)) for field in dataclasses.fields(kind))
