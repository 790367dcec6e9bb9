"""The first step at which two trials of one task part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_webarena.results.attempts import read_steps
from pytest_webarena.results.comparing.sides import Side, Try
from pytest_webarena.results.wording import action_words

__all__ = ["FirstDifference", "Walk", "parting_of", "walk_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What a trial did, in words."""

    steps: tuple[str, ...]
    addresses: tuple[str, ...]
    """Where each step was done."""
    folder: Path | None
    """None where it is not on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDifference:
    """The first step that two trials don't have in common."""

    step: int
    """From 1."""
    first: str
    """What the first did; ``(stopped)`` where it had no such step."""
    second: str


def walk_of(side: Side, each: Try) -> Walk | None:
    """The steps of a trial; None of baselines, and of runs whose files are gone."""
    if side.path is None or not each.folder:
        return None
    folder = side.path / "trials" / each.folder
    steps = read_steps(folder / f"attempt-{each.attempt}")
    if not steps and not folder.is_dir():
        return None
    return Walk(
        steps=tuple(action_words(step) for step in steps),
        addresses=tuple(step.url_before for step in steps),
        folder=folder,
    )


def parting_of(first: Walk | None, second: Walk | None) -> FirstDifference | None:
    """Where they part, by what they did and where; None where they never do, or nobody knows."""
    if first is None or second is None:
        return None
    for index in range(max(len(first.steps), len(second.steps))):
        one = (first.steps[index], first.addresses[index]) if index < len(first.steps) else None
        other = (second.steps[index], second.addresses[index]) if index < len(second.steps) else None
        if one != other:
            return FirstDifference(
                step=index + 1, first=one[0] if one else "(stopped)", second=other[0] if other else "(stopped)"
            )
    return None
