"""What the upstream kinds have in common: comparisons that add up to one judgement, and keys of their forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_webarena.checks.kind import Judgement, View
from pytest_webarena.checks.upstream.numeric import is_comparison
from pytest_webarena.errors import Cause
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.placeholders import resolve_placeholders
from pytest_webarena.tasks.record_shapes import Field, ListOf
from pytest_webarena.tasks.shapes import Choice, Fault, Text
from pytest_webarena.text import clip

__all__ = ["COMPARISONS", "DIALECT", "TEXTS", "Dialect", "Part", "judgement_of", "resolved"]

Dialect = Literal["webarena", "webarena-lite", "visualwebarena"]
"""Whose evaluators: VisualWebArena's differ in many small ways."""

DIALECT = Field(
    key="dialect",
    shape=Choice("webarena", "webarena-lite", "visualwebarena"),
    default="webarena",
    doc="The benchmark whose evaluators judge under `original`; they differ slightly.",
    example="- string_match: {must_include: [red], dialect: visualwebarena}",
)

TEXTS = ListOf(Text(blank=True), label="a list of texts")


def _comparison_fault(text: str, _: Reading) -> Fault | None:
    return None if is_comparison(text) else Fault("a comparison: <, <=, >, >= or == and a number", f"'{clip(text)}'")


COMPARISONS = ListOf(Text("a comparison", check=_comparison_fault), label="a list of comparisons")


@dataclass(frozen=True, slots=True)
class Part:
    """One comparison: whether it holds (None: no telling), and why."""

    holds: bool | None
    why: str = ""
    cause: Cause | None = None
    actual: str = ""
    judgeable: bool = False
    """Whether a person or a judge model could decide it."""


def judgement_of(parts: Iterable[Part], view: View, *, expected: str, actual: str) -> Judgement:
    """All parts have to hold. Where one is unknown there is no verdict, unless the grading lets a failure decide."""
    parts = tuple(parts)
    undecided = next((part for part in parts if part.holds is None), None)
    failed = next((part for part in parts if part.holds is False), None)
    if undecided is not None and not (failed is not None and view.grading.decides):
        return Judgement.unknown(expected=expected, actual=actual, why=undecided.why, cause=undecided.cause)
    why = failed.why if failed is not None else "; ".join(part.why for part in parts if part.why)
    return Judgement.of(failed is None, expected=expected, actual=actual, why=why)


def resolved(value: Any, sites: Mapping[str, str]) -> Any:
    """A text or several texts with the sites' addresses in place of their placeholders; None stays."""
    if isinstance(value, tuple):
        return tuple(resolve_placeholders(each, sites) for each in value)
    return resolve_placeholders(value, sites) if isinstance(value, str) else value
