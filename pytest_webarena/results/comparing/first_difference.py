"""The first step at which two trials of one task differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from pytest_webarena.evidence.step_sentences import step_sentence
from pytest_webarena.results.attempts import read_steps
from pytest_webarena.results.comparing.sides import Side, Try

__all__ = ["FirstDifference", "Walk", "parting_of", "walk_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Description of a trial's steps."""

    steps: tuple[str, ...]
    addresses: tuple[str, ...]
    """Address at which each step was done."""
    roles: tuple[str, ...]
    """Role of the element that each step hit, which sentences omit."""
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
        steps=tuple(step_sentence(step) for step in steps),
        addresses=tuple(step.url_before for step in steps),
        roles=tuple(step.target.role if step.target is not None else "" for step in steps),
        folder=folder,
    )


def parting_of(first: Walk | None, second: Walk | None) -> FirstDifference | None:
    """Return the first step with another action or address; None where there is none, or steps are missing."""
    if first is None or second is None:
        return None
    walks = ([*zip(each.steps, each.addresses, each.roles, strict=True)] for each in (first, second))
    for number, (one, other) in enumerate(zip_longest(*walks), start=1):
        if one != other:
            return FirstDifference(
                step=number, first=one[0] if one else "(stopped)", second=other[0] if other else "(stopped)"
            )
    return None
