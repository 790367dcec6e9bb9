"""Parsers of option values. They raise `argparse.ArgumentTypeError` with a message for users."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from pytest_webarena.errors import UsageError

__all__ = [
    "LOCAL",
    "agents_run_directory",
    "confidence",
    "increase",
    "natural_float",
    "natural_int",
    "points",
    "positive_float",
    "positive_int",
    "run_directory",
    "share",
]

LOCAL = "none"
"""Value of ``--ray`` that runs trials on this machine, where ``--resume`` would reuse the run's cluster."""


def confidence(text: str) -> float:
    """Parse a confidence from 0.5 on, below 1; 95 and 95% are 0.95."""
    value = _number(text.removesuffix("%"), "a confidence from 50 to 99.9, as 95", lambda each: 0.5 <= each < 100)
    share = value / 100 if value > 1 else value
    return _number(str(share), "a confidence from 50 to 99.9, as 95", lambda each: 0.5 <= each < 1)


def points(text: str) -> float:
    """Parse percentage points as a share."""
    expected = "percentage points above 0 and below 100, as 5"
    return _number(text.removesuffix("%"), expected, lambda each: 0 < each < 100) / 100


def increase(text: str) -> float:
    """Parse a share; 20% is 0.2."""
    value = _number(text.removesuffix("%"), "a share such as 20% or 0.2", lambda each: 0 <= each < float("inf"))
    return value / 100 if text.endswith("%") else value


def run_directory(text: str) -> str:
    """Parse a run's directory; ``latest`` is the newest run of the project."""
    return _run_directory(text, with_rates=False)


def agents_run_directory(text: str) -> str:
    """Parse a run's directory; ``latest`` is the newest run in which agents did tasks on sites."""
    return _run_directory(text, with_rates=True)


def _run_directory(text: str, *, with_rates: bool) -> str:
    if text != "latest":
        return text
    from pytest_webarena.results.listing import chosen_run

    try:
        return str(chosen_run(Path(text), with_rates=with_rates))
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def positive_int(text: str) -> int:
    """Parse a whole number from 1 on."""
    return int(_number(text, "a whole number from 1 on", lambda value: value >= 1, read=int))


def width(text: str) -> int:
    """Parse a whole number from 1 on; ``auto`` is 0."""
    return 0 if text == "auto" else int(_number(text, "auto or a number from 1 on", lambda value: value >= 1, read=int))


def natural_int(text: str) -> int:
    """Parse a whole number from 0 on."""
    return int(_number(text, "a whole number from 0 on", lambda value: value >= 0, read=int))


def positive_float(text: str) -> float:
    """Parse a finite number above 0."""
    return _number(text, "a number above 0", lambda value: 0 < value < float("inf"))


def share(text: str) -> float:
    """Parse a share from 0 to 1, also as a percentage.

    >>> share("0.3"), share("80%")
    (0.3, 0.8)
    """
    scale = 100 if text.endswith("%") else 1
    number = text.removesuffix("%") if scale > 1 else text
    return _number(number, "a share from 0 to 1, as 0.3 or 30%", lambda value: 0 <= value <= scale) / scale


def natural_float(text: str) -> float:
    """Parse a finite number from 0 on."""
    return _number(text, "a number from 0 on", lambda value: 0 <= value < float("inf"))


def _number(text: str, expected: str, is_valid: Callable[[float], bool], read: Callable[[str], float] = float) -> float:
    """The number in ``text`` if it fits. Raises `argparse.ArgumentTypeError` otherwise."""
    try:
        value = read(text)
    except ValueError:
        value = float("nan")
    if not is_valid(value):
        raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}")
    return value
