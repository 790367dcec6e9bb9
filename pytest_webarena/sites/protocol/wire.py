"""Converts dataclasses to JSON and back, guided by their annotations."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["decode", "dumps", "encode"]

T = TypeVar("T")
Decoder = Callable[[Any], Any]


def dumps(value: Any) -> str:
    """Returns ``value`` as one line of JSON. Class-level constants, such as the ``kind`` of actions, are included.

    >>> from pytest_webarena.actions import Goto
    >>> dumps([Goto("/")])
    '[{"kind":"goto","url":"/"}]'
    """
    # The encoder handles plain values in C and only calls us for the rest.
    return json.dumps(value, default=_shallow, ensure_ascii=False, separators=(",", ":"))


def encode(value: Any) -> Any:
    """Returns plain data: the result of parsing `dumps`."""
    return json.loads(dumps(value))


def decode(kind: type[T], data: Any) -> T:
    """Returns the value of type ``kind`` that was encoded as ``data``.

    >>> from pytest_webarena.actions import Goto
    >>> decode(Goto, {"kind": "goto", "url": "/"})
    Goto(url='/')
    """
    target: Any = kind
    value: T = _decoder(target)(data)
    return value


def _shallow(value: Any) -> Any:
    """Returns one level of a value that is not plain."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        constants = {name: getattr(value, name) for name in _constants(kind)}
        return {**constants, **{field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} can't go over the wire")


@cache
def _decoder(kind: Any) -> Decoder:
    """Returns a function that converts plain data to ``kind``; `_same` if no conversion is needed."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union_decoder(arguments)
    if origin is tuple:
        return _tuple_decoder(arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        item = _decoder(arguments[1])
        return lambda data: {key: item(value) for key, value in data.items()}
    if kind is Path:
        return Path
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _record_decoder(kind)
    return _same


def _same(data: Any) -> Any:
    return data


def _tuple_decoder(arguments: tuple[Any, ...]) -> Decoder:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = _decoder(arguments[0])
        return tuple if item is _same else lambda data: tuple(map(item, data))
    items = [_decoder(argument) for argument in arguments]
    if all(item is _same for item in items):
        return tuple
    return lambda data: tuple(item(value) for item, value in zip(items, data, strict=True))


def _record_decoder(kind: Any) -> Decoder:
    # Fields that need no conversion are copied without calls.
    decoders = {name: _decoder(hint) for name, hint in _hints(kind).items() if get_origin(hint) is not ClassVar}
    special = {name: decoder for name, decoder in decoders.items() if decoder is not _same}
    constants = _constants(kind)

    def decode_record(data: Mapping[str, Any]) -> Any:
        values = dict(data)
        for name in constants:
            values.pop(name, None)
        for name, decoder in special.items():
            if name in values:
                values[name] = decoder(values[name])
        return kind(**values)

    return decode_record


def _union_decoder(members: tuple[Any, ...]) -> Decoder:
    """Decode by form: mappings are records, distinguished by constants or fields; lists are the member that is a
    collection."""
    records = [member for member in members if isinstance(member, type) and dataclasses.is_dataclass(member)]
    others = [decoder for decoder in map(_decoder, members) if decoder is not _same]
    collection = next((_decoder(member) for member in members if get_origin(member) is tuple), _same)

    def decode_union(data: Any) -> Any:
        if isinstance(data, Mapping):
            return next((_decoder(record)(data) for record in records if _matches(record, data)), data)
        return collection(data) if isinstance(data, list) else data

    return decode_union if others else _same


def _matches(record: Any, data: Mapping[str, Any]) -> bool:
    """Whether ``data`` was encoded from ``record``: it has the same constants, and exactly its fields."""
    constants = _constants(record)
    names = {field.name for field in dataclasses.fields(record)} | constants
    return names == set(data) and all(data[name] == getattr(record, name) for name in constants)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _constants(kind: type) -> frozenset[str]:
    return frozenset(name for name, hint in _hints(kind).items() if get_origin(hint) is ClassVar)
