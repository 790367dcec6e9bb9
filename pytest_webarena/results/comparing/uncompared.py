"""Tasks of a baseline that a run could have lost but was not compared on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pytest_webarena.results.comparing.comparison import Comparison

__all__ = ["Uncompared", "uncompared"]

_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompared:
    """Tasks that passed in the baseline and are not compared; tasks that failed there can't be lost."""

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
    """Tasks that ``--stop-when-settled`` left out: they were planned, and not needed any more."""

    @property
    def lost(self) -> str:
        """The tasks that disappeared without the user's choice, as a sentence; empty where there are none."""
        parts = [
            f"{len(names)} {reason} ({', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''})"
            for names, reason in ((self.edited, "edited since"), (self.absent, "not in this run"))
            if names
        ]
        return f"{self._found(len(self.edited) + len(self.absent))}: {' and '.join(parts)}" if parts else ""

    @property
    def left_out(self) -> str:
        """The number of tasks that the user or ``--stop-when-settled`` left out, as a sentence; empty for none."""
        counts = {"not selected": len(self.deselected), "left out by --stop-when-settled": len(self.decided)}
        parts = {reason: count for reason, count in counts.items() if count}
        if len(parts) == 1:
            return f"{self._found(sum(parts.values()))}: {next(iter(parts))}"
        reasons = " and ".join(f"{count} {reason}" for reason, count in parts.items())
        return f"{self._found(sum(parts.values()))}: {reasons}" if parts else ""

    def _found(self, count: int) -> str:
        total = self.compared + sum(map(len, (self.edited, self.absent, self.deselected, self.decided)))
        return f"{count:,} of {total:,} task{'s' * (total != 1)} that passed in {self.baseline} were not compared"


def uncompared(each: Comparison, deselected: Collection[str] = ()) -> Uncompared:
    """Return the tasks of its first side that ``each`` does not compare.

    ``deselected`` are ids of tasks that were not to be run. Tasks without a verdict and planned ones without a result
    are errors, which the bounds include; they are none of these.
    """
    found: dict[str, list[str]] = {"edited": [], "absent": [], "deselected": [], "decided": []}
    for name, task in each.first.tasks.items():
        other = each.second.tasks.get(name)
        if not task.passed:
            continue
        if other is None and name not in each.second.missing:
            decided = name in each.second.decided
            found["decided" if decided else "deselected" if name in deselected else "absent"].append(name)
        elif other is not None and other.digest and task.digest and other.digest != task.digest:
            found["edited"].append(name)
    compared = sum(bool(fate.first.passed) for fate in each.fates)
    return Uncompared(
        baseline=each.first.run, compared=compared, **{kind: tuple(sorted(names)) for kind, names in found.items()}
    )
