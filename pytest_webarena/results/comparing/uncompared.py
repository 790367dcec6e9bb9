"""Tasks of a baseline that a run could have lost but was not compared on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pytest_webarena.results.comparing.comparison import Comparison

__all__ = ["Uncompared", "uncompared"]

_NAMED = 3
"""Number of tasks that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompared:
    """Tasks that passed in the baseline and are not compared. Tasks that failed there can't be lost."""

    baseline: str
    compared: int
    """Number of tasks that passed in the baseline and are compared."""
    edited: tuple[str, ...] = ()
    """Tasks whose digest has changed."""
    absent: tuple[str, ...] = ()
    """Tasks that the run does not have: deleted, renamed, skipped by their file, or outside of what was collected."""
    deselected: tuple[str, ...] = ()
    """Tasks that the user left out (other files or node ids, ``-k``, ``--select``, ``--shard``, …)."""
    decided: tuple[str, ...] = ()
    """Tasks that ``--stop-when-settled`` left out, because the result was settled without them."""

    @property
    def lost(self) -> str:
        """A sentence about tasks that disappeared without the user's choice; empty if there are none."""
        parts = [
            f"{len(names)} {reason} ({', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''})"
            for names, reason in ((self.edited, "edited since"), (self.absent, "not in this run"))
            if names
        ]
        return f"{self._summary(len(self.edited) + len(self.absent))}: {' and '.join(parts)}" if parts else ""

    @property
    def left_out(self) -> str:
        """A sentence about tasks that the user or ``--stop-when-settled`` left out; empty if there are none."""
        counts = {"not selected": len(self.deselected), "left out by --stop-when-settled": len(self.decided)}
        counts = {reason: count for reason, count in counts.items() if count}
        if not counts:
            return ""
        several = len(counts) > 1
        reasons = " and ".join(f"{count} {reason}" if several else reason for reason, count in counts.items())
        return f"{self._summary(sum(counts.values()))}: {reasons}"

    def _summary(self, count: int) -> str:
        total = self.compared + sum(map(len, (self.edited, self.absent, self.deselected, self.decided)))
        return f"{count:,} of {total:,} task{'s' * (total != 1)} that passed in {self.baseline} were not compared"


def uncompared(comparison: Comparison, deselected: Collection[str] = ()) -> Uncompared:
    """Return the tasks of the first side that ``comparison`` does not compare.

    ``deselected`` are ids of tasks that were not selected for the run. Tasks without a verdict and planned ones without
    a result are not included: they are errors, which the bounds cover.
    """
    found: dict[str, list[str]] = {"edited": [], "absent": [], "deselected": [], "decided": []}
    for name, task in comparison.first.tasks.items():
        other = comparison.second.tasks.get(name)
        if not task.passed:
            continue
        if other is None and name not in comparison.second.missing:
            if name in comparison.second.decided:
                found["decided"].append(name)
            else:
                found["deselected" if name in deselected else "absent"].append(name)
        elif other is not None and other.digest and task.digest and other.digest != task.digest:
            found["edited"].append(name)
    compared = sum(bool(fate.first.passed) for fate in comparison.fates)
    return Uncompared(
        baseline=comparison.first.run,
        compared=compared,
        **{kind: tuple(sorted(names)) for kind, names in found.items()},
    )
