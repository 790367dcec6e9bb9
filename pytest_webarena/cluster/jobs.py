"""The cluster executor's data about each trial and each node, and the summary of a run."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_webarena.cluster.interface import Delivery, Member, Parcel
    from pytest_webarena.errors import SiteMissing
    from pytest_webarena.results import TrialRecord

__all__ = ["Helper", "Job", "Tally"]


@dataclass(eq=False, slots=True, kw_only=True)
class Job:
    """A submitted trial."""

    parcel: Parcel
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the submission."""
    future: Future[TrialRecord] = field(default_factory=Future)
    begun: bool = False
    resolved: bool = False
    """Whether a delivery counts already; later ones are dropped."""
    losses: int = 0
    """Number of nodes that were lost with the trial."""
    broken: BaseException | None = None
    """The exception that the future gets when the run is cancelled."""


@dataclass(eq=False, slots=True, kw_only=True)
class Helper:
    """A node in use."""

    member: Member
    playing: dict[str, Job] = field(default_factory=dict)
    """Running trials, by token."""
    lacks: dict[frozenset[str], SiteMissing] = field(default_factory=dict)
    """Sites that were unavailable together for a trial there, and why."""
    silent: bool = False
    in_doubt: dict[str, Job | None] = field(default_factory=dict)
    """Trials that were running when the node stopped answering, by token; it may still deliver them."""
    silent_since: float = 0.0
    """Monotonic time at which it last stopped answering."""
    awaited: set[Job] = field(default_factory=set)
    """Those of the trials in doubt that no other node may run, because their agents may have stopped the node."""
    asking: set[str] = field(default_factory=set)
    """Tokens of these that the node is being asked about."""
    alone: bool = False
    """Whether the trial on the node must run without others."""

    @property
    def free(self) -> int:
        """Number of further trials that the node can run."""
        running = len(self.playing) + sum(job is not None for job in self.in_doubt.values())
        return 0 if self.silent or self.alone else max(0, self.member.slots - running)

    def lack_of(self, job: Job) -> SiteMissing | None:
        """Why the trial cannot run there; None when it may."""
        sites = frozenset(job.parcel.task.sites)
        return next((why for missing, why in self.lacks.items() if missing <= sites), None)

    def suits(self, job: Job) -> bool:
        """Whether neither earlier trials nor the node itself report the trial's sites as unavailable there."""
        sites = set(job.parcel.task.sites)
        return self.lack_of(job) is None and not any(sites.issuperset(missing) for missing, _ in self.member.lacks)


@dataclass(slots=True)
class Tally:
    """Node statistics of a run."""

    gained: int = 0
    """Number of nodes gained after the start."""
    lost: int = 0
    refused: int = 0
    given_back: int = 0
    """Number of times that a trial was given back because its node died or stopped answering."""
    undecided: int = 0
    """Number of trials that ended with their node, and whose agents may have caused that."""
    duplicates: int = 0
    """Number of deliveries of trials for which another delivery counts."""
    wasted: float = 0.0
    """Cost of these deliveries in US dollars, from their records; the run's account includes it already."""

    def drop(self, delivery: Delivery) -> None:
        """Count a duplicate delivery."""
        self.duplicates += 1
        usage = delivery.record.total_usage if delivery.record is not None else None
        if usage is not None and usage.cost is not None:
            self.wasted += usage.cost

    def words(self) -> str:
        """The statistics as text; empty when all are zero."""
        parts = [
            (self.gained, "gained"),
            (self.lost, "lost"),
            (self.refused, "not used"),
            (self.given_back, f"trial{'s' * (self.given_back != 1)} given back"),
            (self.undecided, f"trial{'s' * (self.undecided != 1)} undecided"),
            (self.duplicates, f"late duplicate{'s' * (self.duplicates != 1)} dropped"),
        ]
        text = ", ".join(f"{count} {what}" for count, what in parts if count)
        return f"{text} (${self.wasted:.4f})" if self.wasted else text
