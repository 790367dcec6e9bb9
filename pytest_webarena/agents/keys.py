"""Reads a plain mapping into a dataclass by its annotations; whatever does not fit becomes one clear sentence."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.text import shorten

__all__ = ["read_keys"]

T = TypeVar("T")


def read_keys(cls: type[T], data: Mapping[str, Any], *, where: str, base: Path = Path(), prefix: str = "") -> T:
    """``cls`` made from ``data``.

    Understands ``str int float bool Path Any Literal tuple Mapping``, ``X | None``, unions, and dataclasses of these.
    A `Path` is taken relative to ``base``. ``where`` begins each message. A `ValueError` of the class's own
    ``__post_init__`` is a message, too. Annotations must not be imported under TYPE_CHECKING.
    """
    hints = get_type_hints(cls)
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    for key in data:
        if key not in known:
            raise UsageError(f"{where}: unknown key {f'{prefix}{key}'!r}; {closest(str(key), known)}")
    for name, field in known.items():
        if name not in data and field.default is MISSING and field.default_factory is MISSING:
            raise UsageError(f"{where}: expected the key {f'{prefix}{name}'!r} ({_words(hints[name])}), it is missing")
    values = {}
    for name, value in data.items():
        values[name] = _read(hints[name], value, where=where, base=base, path=f"{prefix}{name}")
    try:
        return cls(**values)
    except ValueError as error:
        raise UsageError(f"{where}: {prefix}{error}") from None


class _Mismatch(Exception):
    pass


def _read(hint: Any, value: Any, *, where: str, base: Path, path: str) -> Any:
    try:
        return _convert(hint, value, where=where, base=base, path=path)
    except _Mismatch:
        raise UsageError(f"{where}: {path}: expected {_words(hint)}, found {_shown(value)}") from None


def _convert(hint: Any, value: Any, *, where: str, base: Path, path: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin in (Union, types.UnionType):
        for each in arguments:
            try:
                return _convert(each, value, where=where, base=base, path=path)
            except _Mismatch:
                continue
        raise _Mismatch
    if hint is type(None):
        return _only(value is None, value)
    if origin is Literal:
        if isinstance(value, str) and value not in arguments and all(isinstance(each, str) for each in arguments):
            raise UsageError(f"{where}: {path}: unknown value {value!r}; {closest(value, arguments)}")
        return _only(value in arguments, value)
    if hint is float:
        return float(_only(isinstance(value, int | float) and not isinstance(value, bool), value))
    if hint is int:
        return _only(isinstance(value, int) and not isinstance(value, bool), value)
    if hint is Path:
        return base / _only(isinstance(value, str), value)
    if hint in (str, bool):
        return _only(isinstance(value, hint), value)
    if origin is tuple:
        return _tuple(arguments, value, where=where, base=base, path=path)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        _only(isinstance(value, Mapping) and all(isinstance(key, str) for key in value), value)
        return {
            key: _read(arguments[1], each, where=where, base=base, path=f"{path}.{key}") for key, each in value.items()
        }
    if is_dataclass(hint) and isinstance(hint, type):
        _only(isinstance(value, Mapping), value)
        return read_keys(hint, value, where=where, base=base, prefix=f"{path}.")
    raise TypeError(f"{path}: annotation {hint!r} is not understood")  # a bug of whoever wrote the dataclass


def _tuple(arguments: tuple[Any, ...], value: Any, *, where: str, base: Path, path: str) -> tuple[Any, ...]:
    items = list(_only(isinstance(value, list | tuple), value))
    if arguments[-1] is Ellipsis:
        arguments = (arguments[0],) * len(items)
    _only(len(arguments) == len(items), value)
    return tuple(
        _read(hint, each, where=where, base=base, path=f"{path}[{index}]")
        for index, (hint, each) in enumerate(zip(arguments, items, strict=True))
    )


def _only(fits: bool, value: Any) -> Any:
    if not fits:
        raise _Mismatch
    return value


def _words(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join("null" if each is type(None) else _words(each) for each in arguments)
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin is tuple:
        return f"a list of {_words(arguments[0])}" if arguments[-1] is Ellipsis else f"a list of {len(arguments)} items"
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}
    return names.get(hint, "a mapping")


def _shown(value: Any) -> str:
    return shorten(repr(value), 80)
