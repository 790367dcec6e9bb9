"""The first step at which two trials of one task differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_webarena.results.attempts import read_steps
from pytest_webarena.results.comparing.sides import Side, Try
from pytest_webarena.results.wording import action_words

__all__ = ["FirstDifference", "Walk", "parting_of", "walk_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Description of a trial's steps."""

    steps: tuple[str, ...]
    addresses: tuple[str, ...]
    """Address at which each step was done."""
    folder: Path | None
    """Folder of the trial; None where it is not on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDifference:
    """The first step that differs between two trials."""

    step: int
    """Number of the step, from 1."""
    first: str
    """Description of the first trial's step; ``(stopped)`` where it had none."""
    second: str


def walk_of(side: Side, each: Try) -> Walk | None:
    """Return the steps of a trial; None for baselines, and for runs whose files were deleted."""
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
    """Return the first step with another action or address; None where there is none, or steps are missing."""
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
