"""VisualWebArena's ``required_values``: whole numbers against comparisons such as ``>= 300``."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_webarena.checks.upstream.text import ALTERNATIVE

__all__ = ["as_int", "is_comparison", "meets", "meets_all"]

_TOLERANCE = 1e-8
_OPERATORS = ("<=", ">=", "==", "<", ">")


def as_int(text: str) -> int | None:
    """The whole number that ``text`` is, commas left out; None when it is none."""
    try:
        return int(text.strip().replace(",", ""))
    except ValueError:
        return None


def is_comparison(text: str) -> bool:
    """Whether ``text`` is one or several with `` |OR| `` between them."""
    try:
        for each in text.split(ALTERNATIVE):
            meets(0, each)
    except ValueError:
        return False
    return True


def meets(value: float, comparison: str) -> bool:
    """Whether the comparison holds, with the original's tolerance. `ValueError` when it is none."""
    operator = next((each for each in _OPERATORS if each in comparison), None)
    if operator is None:
        raise ValueError(f"expected a comparison, found {comparison!r}")
    _, number = comparison.split(operator)
    wanted = float(number.strip())
    match operator:
        case "<=" | "<":
            return value <= wanted + _TOLERANCE if operator == "<=" else value < wanted + _TOLERANCE
        case ">=" | ">":
            return value >= wanted - _TOLERANCE if operator == ">=" else value > wanted - _TOLERANCE
    return abs(value - wanted) <= _TOLERANCE


def meets_all(value: float, comparisons: Sequence[str]) -> bool:
    """Whether of each item one alternative holds."""
    return all(any(meets(value, each) for each in item.split(ALTERNATIVE)) for item in comparisons)
