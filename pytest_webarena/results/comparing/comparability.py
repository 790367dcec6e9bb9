"""Differences between two sides: those that are the subject of a comparison, others, and those that forbid it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_webarena.results.comparing.sides import Side
from pytest_webarena.results.conditions import NO_JUDGE, alike
from pytest_webarena.text import shorten

__all__ = ["refusal", "side_differences"]

_COMPARED_TRAITS = ("model", "digest of the agent")
"""Traits that comparisons are about; a difference is only reported."""
_INCOMPARABLE_TRAITS = ("--grading", "--sites", "--answer-format", "judge", "manifest of the site")
"""Traits whose difference makes a difference of rates meaningless."""
_SHOWN = 8


def side_differences(first: Side, second: Side) -> tuple[list[str], list[str], list[str]]:
    """Differences that are the subject, other differences, and those that forbid a comparison, each as a line."""
    values: tuple[dict[str, dict[str, None]], dict[str, dict[str, None]]] = ({}, {})
    matters: dict[str, bool] = {}
    for place, side in enumerate((first, second)):
        for what, value, weight in side.traits:
            values[place].setdefault(what, {})[value] = None
            matters[what] = matters.get(what, False) or weight
    changed, differing, refused = [], [], []
    for what, matter in sorted(matters.items(), key=lambda each: not each[1]):
        one, other = tuple(values[0].get(what, ())), tuple(values[1].get(what, ()))
        if what.startswith("digest of the task ") or set(one) == set(other):
            continue
        if one and other and alike(what, (*one, *other)):
            continue
        is_judge = what.startswith("judge")
        if is_judge and {*one, *other} == {NO_JUDGE}:  # neither had one: the undecided trials show it
            continue
        missing = "not asked" if is_judge else "not reported"
        line = f"{what}: {_value_text(one, missing)} → {_value_text(other, missing)}"
        if what in _COMPARED_TRAITS:
            changed.append(line)
        elif not one or not other:
            if matter:
                differing.append(line)
        elif what.startswith(_INCOMPARABLE_TRAITS):
            refused.append(line)
        else:
            differing.append(line)
    if first.browser != second.browser:
        differing.insert(0, f"browser: {first.browser} → {second.browser}")
    return changed, differing, refused


def _value_text(values: Sequence[str], missing: str) -> str:
    return " / ".join(shorten(each, 60) for each in values) or missing


def refusal(sides: str, refused: Sequence[str]) -> str:
    more = [f"and {len(refused) - _SHOWN} more"] if len(refused) > _SHOWN else []
    return (
        f"expected runs under the same conditions, found differences between {sides}:\n"
        + "".join(f"  {line}\n" for line in [*refused[:_SHOWN], *more])
        + "Run one of them again, or judge both by one grading (pytest --rescore); --allow-mixed compares them "
        "anyway and notes it"
    )
