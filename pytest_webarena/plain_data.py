"""Converts plain data, e.g. of a YAML file, into a dataclass by its annotations, and reports what does not fit.

An annotation defines the accepted type. ``Annotated`` adds one of the readers below: ``Annotated[int, whole(1)]``.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.text import shorten

__all__ = ["Reader", "kind_of", "number", "pair", "read_keys", "several", "text", "whole"]

T = TypeVar("T")

Reader = Callable[[Any], Any]
"""Converts plain data to a value, or raises `ValueError` with what was expected."""


def read_keys(
    cls: type[T],
    data: object,
    *,
    where: str,
    base: Path = Path(),
    prefix: str = "",
    only: Collection[str] | None = None,
) -> T:
    """Returns ``cls`` made from ``data``. ``only`` names the fields that are allowed; None allows all.

    It supports ``str int float bool Path Any Literal tuple Mapping``, ``X | None``, unions, ``Annotated`` with a
    `Reader`, and dataclasses of these, whose instances are taken as they are. A `Path` is taken relative to ``base``.
    Each message begins with ``where``. A `ValueError` of the class's own ``__post_init__`` is reported in the same way.
    Annotations must not be imported under TYPE_CHECKING.

    Raises `UsageError` for data that does not fit.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Window:
    ...     size: Annotated[tuple[int, int], pair(whole(1), "x")]
    >>> read_keys(Window, {"size": "800x600"}, where="window")
    Window(size=(800, 600))
    """
    if not isinstance(data, Mapping):
        raise UsageError(f"{where}: expected a mapping, found {_shown(data)}")
    hints = get_type_hints(cls, include_extras=True)
    known = {field.name: field for field in fields(cls) if only is None or field.name in only}  # type: ignore[arg-type]
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
    """What was expected, if that is more specific than the annotation."""


def _read(hint: Any, value: Any, *, where: str, base: Path, path: str) -> Any:
    try:
        return _convert(hint, value, where=where, base=base, path=path)
    except _Mismatch as mismatch:
        expected = str(mismatch) or _words(hint)
        raise UsageError(f"{where}: {path}: expected {expected}, found {_shown(value)}") from None


def _convert(hint: Any, value: Any, *, where: str, base: Path, path: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    made = arguments[0] if origin is Annotated else hint
    if isinstance(made, type) and is_dataclass(made) and isinstance(value, made):
        return value
    if origin is Annotated:
        try:
            return arguments[1](value)
        except ValueError as error:
            raise _Mismatch(*error.args) from None
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
    if origin in (Union, types.UnionType):
        expected = []
        for each in arguments:
            try:
                return _convert(each, value, where=where, base=base, path=path)
            except _Mismatch as mismatch:
                expected.append(str(mismatch) or _words(each))
        raise _Mismatch(" or ".join(expected))
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
        return base / _only(isinstance(value, str | Path), value)
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
    raise TypeError(f"{path}: annotation {hint!r} is not understood")  # a bug in the dataclass, not in the data


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
        return " or ".join(map(_words, arguments))
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin is Annotated:
        return _words(arguments[0])
    if origin is tuple:
        several = _plural(arguments[0]) if arguments[-1] is Ellipsis else f"{len(arguments)} items"
        return f"a list of {several}"
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}
    names |= {type(None): "null"}
    return names.get(hint, "a mapping")


def _plural(hint: Any) -> str:
    words = _words(hint)
    plurals = {"text": "texts", "a whole number": "whole numbers", "a number": "numbers", "a path": "paths"}
    plurals |= {"a mapping": "mappings"}
    return plurals.get(words) or words.removeprefix("one of ").replace("a list of", "lists of", 1)


def kind_of(value: object) -> str:
    """Returns what plain data is, in the words of a YAML or JSON file.

    >>> kind_of(None), kind_of([1]), kind_of({}), kind_of("x"), kind_of(2.5), kind_of(True)
    ('nothing', 'a list', 'a mapping', 'text', 'a number', 'true')
    """
    if value is None or isinstance(value, bool):
        return "nothing" if value is None else str(value).lower()
    kinds = {str: "text", int: "a number", float: "a number", list: "a list", tuple: "a list", dict: "a mapping"}
    return kinds.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    return shorten(repr(value), 80)


# --- readers


def text(value: Any) -> str:
    """Accepts a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def several(*known: str) -> Reader:
    """Returns a reader of one of these names, or of a list of them."""

    def read(value: Any) -> tuple[str, ...]:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, Sequence) or not values:
            raise ValueError(f"one or more of {', '.join(known)}")
        for each in values:
            if not isinstance(each, str) or each not in known:
                raise ValueError(f"one or more of {', '.join(known)}{_near(each, known)}")
        return tuple(dict.fromkeys(values))

    return read


def whole(least: int, most: int | None = None) -> Reader:
    """Returns a reader of a whole number in a range."""

    def read(value: Any) -> int:
        if (
            not isinstance(value, int)
            or isinstance(value, bool)
            or value < least
            or (most is not None and value > most)
        ):
            raise ValueError(f"a whole number {_range(least, most)}")
        return value

    return read


def number(least: float, most: float | None = None) -> Reader:
    """Returns a reader of a number in a range."""

    def read(value: Any) -> float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or value < least or (most is not None and value > most):
            raise ValueError(f"a number {_range(least, most)}")
        return float(value)

    return read


def pair(each: Reader, separator: str = "") -> Reader:
    """Returns a reader of a list of two, or (with a separator) of a text such as ``1280x720``."""

    def read(value: Any) -> tuple[Any, Any]:
        example = f" or a text like 1280{separator}720" if separator else ""
        if separator and isinstance(value, str) and value.count(separator) == 1:
            halves = value.split(separator)
            value = [int(half) if half.strip().isdecimal() else half for half in halves]
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
            raise ValueError(f"a list of two numbers{example}")
        return each(value[0]), each(value[1])

    return read


def _range(least: float, most: float | None) -> str:
    return f"from {least:g} to {most:g}" if most is not None else f"of at least {least:g}"


def _near(value: object, known: Sequence[str]) -> str:
    hint, found, _ = closest(str(value), known).partition(" known: ")
    return f" ({hint})" if found and hint else ""
