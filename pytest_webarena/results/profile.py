"""Profile of a run's trials: time spent on agents, on pages, and on everything else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_webarena.results.table_forms import Table

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord
    from pytest_webarena.results.records import TrialRecord

__all__ = ["PARTS", "Spent", "as_table", "spent_by_agent"]

PARTS: Mapping[str, str] = {
    "earlier": "earlier attempts (retried)",
    "lease": "waiting for sites",
    "session": "opening a signed-in browser session",
    "setup": "set-up of tasks",
    "first": "the first pages",
    "observe": "observing pages",
    "agent": "the agent",
    "execute": "actions, until their pages are loaded",
    "between": "between steps",
    "wait": "waiting for pending requests",
    "late": "waiting for queued work and late checks",
    "collect": "collecting the evidence",
    "judge": "judging",
    "rest": "closing, and everything else",
}
"""Parts of a trial's time, in the order of a trial."""

_STEP_PARTS = ("observe", "agent", "execute", "between")
"""Parts that each step has."""
_STEP_PHASES: Mapping[str, str] = {"observe": "observe", "act": "agent", "execute": "execute"}
"""Parts of the phases that a step's record measures."""


@dataclass(slots=True)
class Spent:
    """Total time of one agent's trials, in seconds by the names of `PARTS`."""

    trials: int = 0
    steps: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def total(self) -> float:
        """Sum of all parts in seconds."""
        return sum(self.seconds.values())

    def add(self, record: TrialRecord, steps: Sequence[StepRecord]) -> None:
        """Add a trial, with the steps of its last attempt.

        Agents that drive a browser themselves think between their commands. That time is visible only as the time
        between steps, so it counts as the agent's.
        """
        phases = record.seconds
        self.trials += 1
        self.steps += len(steps)
        within = dict.fromkeys(_STEP_PARTS, 0.0)
        ended: float | None = None
        for step in steps:
            if ended is not None:
                within["between"] += max(0.0, step.started - ended)
            for phase, part in _STEP_PHASES.items():
                within[part] += step.seconds.get(phase, 0.0)
            ended = step.started + sum(step.seconds.values())
        episode = phases.get("episode", 0.0)
        first = max(0.0, episode - sum(within.values()))
        drives_browser = bool(steps) and not any("act" in step.seconds for step in steps)
        if drives_browser:
            within["agent"], within["between"] = within["between"] + first, 0.0
            first = 0.0
        wait = min(phases.get("wait", 0.0), phases.get("collect", 0.0))
        late = min(phases.get("late", 0.0), phases.get("collect", 0.0) - wait)
        parts = {
            **{name: phases.get(name, 0.0) for name in ("lease", "session", "setup", "judge")},
            **within,
            "first": first,
            "wait": wait,
            "late": late,
            "collect": phases.get("collect", 0.0) - wait - late,
        }
        parts["rest"] = max(0.0, phases.get("total", 0.0) - sum(parts.values()))
        parts["earlier"] = sum(attempt.seconds for attempt in record.attempts if attempt.number != record.attempt)
        for name, seconds in parts.items():
            self.seconds[name] += seconds

    def to_json(self) -> dict[str, Any]:
        """Return seconds, and the numbers of trials and steps, as plain data."""
        return {
            "trials": self.trials,
            "steps": self.steps,
            "seconds": {name: round(self.seconds[name], 3) for name in PARTS},
            "total": round(self.total, 3),
        }


def spent_by_agent(trials: Iterable[tuple[TrialRecord, Sequence[StepRecord]]]) -> dict[str, Spent]:
    """Return the time of each agent, in the order of their first trials. Trials without a time are ignored."""
    found: dict[str, Spent] = {}
    for record, steps in trials:
        if record.seconds.get("total"):
            found.setdefault(record.key.agent, Spent()).add(record, steps)
    return found


def as_table(agent: str, spent: Spent) -> Table:
    """Return all parts of one agent's time: seconds, share, and seconds per trial and per step."""
    return Table(
        title=f"{agent}: {_counted(spent.trials, 'trial')}, {_counted(spent.steps, 'step')}",
        columns=("part", "s", "share", "s/trial", "s/step"),
        rows=tuple(_rows(spent)),
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _rows(spent: Spent) -> Iterator[tuple[str, ...]]:
    def row(name: str, seconds: float, *, stepwise: bool = False) -> tuple[str, ...]:
        share = seconds / spent.total if spent.total else 0.0
        step = f"{seconds / spent.steps:.3f}" if stepwise and spent.steps else ""
        return name, f"{seconds:.1f}", f"{share:.1%}", f"{seconds / max(1, spent.trials):.2f}", step

    for name, title in PARTS.items():
        if spent.seconds[name] >= 0.05:
            yield row(title, spent.seconds[name], stepwise=name in _STEP_PARTS)
    yield row("total", spent.total)
    yield row("total without the agent", spent.total - spent.seconds["agent"])
