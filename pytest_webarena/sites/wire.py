"""Dataclasses to plain JSON data and back, guided by their annotations."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["decode", "encode"]

T = TypeVar("T")


def encode(value: Any) -> Any:
    """Plain data for ``value``. Class-level constants, as the ``kind`` of actions, are written along.

    >>> from pytest_webarena.actions import Goto
    >>> encode(Goto("/"))
    {'kind': 'goto', 'url': '/'}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        data = {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {**{name: getattr(value, name) for name in _constants(type(value))}, **data}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def decode(kind: type[T], data: Any) -> T:
    """The value of type ``kind`` that `encode` turned into ``data``.

    >>> from pytest_webarena.actions import Goto
    >>> decode(Goto, {"kind": "goto", "url": "/"})
    Goto(url='/')
    """
    value: T = _decode(kind, data)
    return value


def _decode(kind: Any, data: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(arguments, data)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_decode(arguments[0], item) for item in data)
        return tuple(_decode(argument, item) for argument, item in zip(arguments, data, strict=True))
    if origin is not None and issubclass(origin if isinstance(origin, type) else type(None), Mapping):
        return {key: _decode(arguments[1], item) for key, item in data.items()}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(data, Mapping):
        hints, constants = _hints(kind), _constants(kind)
        return kind(**{key: _decode(hints[key], item) for key, item in data.items() if key not in constants})
    return Path(data) if kind is Path else data


def _decode_union(members: tuple[Any, ...], data: Any) -> Any:
    if isinstance(data, Mapping):
        for member in members:
            if dataclasses.is_dataclass(member) and _matches(member, data):
                return _decode(member, data)
    else:
        for member in members:
            if get_origin(member) is not None and get_origin(member) is not Literal and data is not None:
                return _decode(member, data)
    return data


def _matches(member: Any, data: Mapping[str, Any]) -> bool:
    """Whether ``data`` was made of ``member``: the same constant ``kind``, or exactly its fields."""
    constants = _constants(member)
    if "kind" in constants:
        return bool(data.get("kind") == member.kind)
    return {field.name for field in dataclasses.fields(member)} == set(data)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _constants(kind: type) -> frozenset[str]:
    return frozenset(name for name, hint in _hints(kind).items() if get_origin(hint) is ClassVar)
