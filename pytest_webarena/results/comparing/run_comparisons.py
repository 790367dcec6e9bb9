"""Comparisons at the end of a run: of its agents with each other, and with ``--baseline``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from pytest_webarena.results import RunDir, TrialRecord
    from pytest_webarena.results.comparing.comparison import Comparison
    from pytest_webarena.results.gate import Gate

__all__ = ["between_agents", "with_baseline"]


def between_agents(run: RunDir, records: Sequence[TrialRecord]) -> list[Comparison]:
    """Return comparisons of the run's first agent with each other one, without agents that saw the solutions."""
    from pytest_webarena.results.comparing.comparison import choose, compare_all
    from pytest_webarena.results.comparing.sides import sides_of_records

    blind = [record for record in records if not record.privileged]
    try:
        return compare_all(choose([sides_of_records(run.path, run.facts(), blind)]), allow_mixed=True, refused=[])
    except UsageError:  # no common tasks, or only one agent that saw no solutions
        return []


def with_baseline(
    run: RunDir, records: Sequence[TrialRecord], gate: Gate, *, refused: list[str]
) -> list[Comparison] | str:
    """Return comparisons of the run's agents with the gate's baseline, or why they can't be compared.

    The reasons of single agents are added to ``refused``.
    """
    from pytest_webarena.results.comparing.baseline import sides_at
    from pytest_webarena.results.comparing.comparison import choose, compare_all
    from pytest_webarena.results.comparing.sides import sides_of_records

    assert gate.baseline is not None, "something to compare with"
    try:
        sides = [sides_at(gate.baseline), sides_of_records(run.path, run.facts(), records)]
        pairs = list(choose(sides))
        return compare_all(pairs, confidence=gate.confidence, refused=refused)
    except UsageError as error:
        return str(error)
