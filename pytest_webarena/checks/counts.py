"""A required number of things: an exact number, or bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, Record
from pytest_webarena.tasks.shapes import Fault, Int, Shape

__all__ = ["AT_LEAST_ONE", "COUNT", "Count"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """Inclusive bounds; None means no bound."""

    low: int = 0
    high: int | None = None

    def holds(self, number: int) -> bool:
        """Returns whether ``number`` is within the bounds."""
        return self.low <= number and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"at least {self.low}"
        if self.low == self.high:
            return str(self.low)
        return f"{self.low} to {self.high}" if self.low else f"at most {self.high}"


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    if not values["low"] and values["high"] is None:
        return Fault("'min' above 0 or 'max'", "no bound")
    if values["high"] is not None and values["low"] > values["high"]:
        return Fault("'min' not above 'max'", f"{values['low']} and {values['high']}")
    return None


AT_LEAST_ONE = Count(low=1)

COUNT: Shape[Count] = Either(
    "a number, or a mapping with 'min' and 'max'",
    scalar=Convert(Int("a whole number, 0 or more", low=0), lambda number, _: Count(low=number, high=number)),
    mapping=Record(
        "count",
        Count,
        [
            Field(
                key="min",
                shape=Int("a whole number, 0 or more", low=0),
                default=0,
                doc="Minimum.",
                example="- page: {locate: css=.item, count: {min: 1}}",
                attribute="low",
            ),
            Field(
                key="max",
                shape=Int("a whole number, 0 or more", low=0),
                default=None,
                default_text="no bound",
                doc="Maximum.",
                example="- page: {locate: css=.item, count: {max: 5}}",
                attribute="high",
            ),
        ],
        rule=_fault,
        doc="Bounds for a number.",
        owner="'count'",
    ),
)
"""The form of a count in task files."""
