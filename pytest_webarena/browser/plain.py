"""Reads settings from plain data, e.g. of a YAML file: what is wrong with it is said in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.text import shorten

__all__ = ["Reader", "choice", "flag", "number", "optional", "pair", "read_settings", "several", "text", "whole"]

Reader = Callable[[Any], Any]
"""Turns plain data into a setting's value, or raises `ValueError` saying what was expected."""


def read_settings(data: object, readers: Mapping[str, Reader], *, where: str) -> dict[str, Any]:
    """The settings that ``data`` has, as keyword arguments. `UsageError` names the key, what it takes and what it had.

    >>> read_settings({"viewport": [800, 600]}, {"viewport": pair(whole(1), "x")}, where="session")
    {'viewport': (800, 600)}
    """
    if not isinstance(data, Mapping):
        raise UsageError(f"{where}: expected a mapping of settings, found {_shown(data)}")
    found: dict[str, Any] = {}
    for key, value in data.items():
        reader = readers.get(key) if isinstance(key, str) else None
        if reader is None:
            raise UsageError(f"{where}: no setting {key!r}; {closest(str(key), readers)}")
        try:
            found[key] = reader(value)
        except ValueError as error:
            raise UsageError(f"{where}.{key}: expected {error}, found {_shown(value)}") from None
    return found


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def text(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


def choice(*known: str) -> Reader:
    """One of some names."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"one of {', '.join(known)}{_near(value, known)}")
        return value

    return read


def several(*known: str) -> Reader:
    """One of some names, or a list of them."""

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
    """A whole number in a range."""

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
    """A number in a range."""

    def read(value: Any) -> float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or value < least or (most is not None and value > most):
            raise ValueError(f"a number {_range(least, most)}")
        return float(value)

    return read


def optional(reader: Reader) -> Reader:
    """What ``reader`` reads, or null for none."""
    return lambda value: None if value is None else reader(value)


def pair(each: Reader, separator: str = "") -> Reader:
    """A list of two, or (with a separator) a text such as ``1280x720``."""

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


def _shown(value: object) -> str:
    return shorten(repr(value), 80)
