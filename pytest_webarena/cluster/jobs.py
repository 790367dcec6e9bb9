"""What the executor of a cluster knows of each trial and each node, and what it tells in the end."""

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
    """A trial that was submitted."""

    parcel: Parcel
    more: Mapping[str, Any] = field(default_factory=dict)
    """What it was submitted with besides."""
    future: Future[TrialRecord] = field(default_factory=Future)
    begun: bool = False
    resolved: bool = False
    """Whether a delivery counts already: any other is dropped."""
    losses: int = 0
    """How many nodes it was lost with."""
    broken: BaseException | None = None
    """What it ends with, once the run is broken off."""


@dataclass(eq=False, slots=True, kw_only=True)
class Helper:
    """A node that helps."""

    member: Member
    playing: dict[str, Job] = field(default_factory=dict)
    """By token."""
    lacks: dict[frozenset[str], SiteMissing] = field(default_factory=dict)
    """Sites that a trial could not have together there, and why."""
    silent: bool = False
    owed: dict[str, Job | None] = field(default_factory=dict)
    """What it was at when it fell silent: it may deliver that still."""
    asking: set[str] = field(default_factory=set)
    """Those of these that it is being asked for."""
    alone: bool = False
    """Whether the trial that it plays must not have others beside it."""

    @property
    def free(self) -> int:
        """How many more trials it can have."""
        return 0 if self.silent or self.alone else max(0, self.member.slots - len(self.playing))

    def lack_of(self, job: Job) -> SiteMissing | None:
        """Why the trial can't be played there; None when it may be."""
        sites = frozenset(job.parcel.task.sites)
        return next((why for missing, why in self.lacks.items() if missing <= sites), None)

    def suits(self, job: Job) -> bool:
        """Whether nobody has said that the trial can't be played there, the node itself included."""
        sites = set(job.parcel.task.sites)
        return self.lack_of(job) is None and not any(sites.issuperset(missing) for missing, _ in self.member.lacks)


@dataclass(slots=True)
class Tally:
    """What a run's end tells of its nodes."""

    gained: int = 0
    """Nodes, after the start."""
    lost: int = 0
    refused: int = 0
    given_back: int = 0
    """Trials whose node died or fell silent, each time."""
    duplicates: int = 0
    """Deliveries of trials that counted already."""
    wasted: float = 0.0
    """US dollars that these have cost, as their records tell; the run's account has had them all along."""

    def drop(self, delivery: Delivery) -> None:
        """A delivery comes late."""
        self.duplicates += 1
        usage = delivery.record.total_usage if delivery.record is not None else None
        if usage is not None and usage.cost is not None:
            self.wasted += usage.cost

    def words(self) -> str:
        """The same for people; empty when nothing happened."""
        parts = [
            (self.gained, "gained"),
            (self.lost, "lost"),
            (self.refused, "not used"),
            (self.given_back, f"trial{'s' * (self.given_back != 1)} given back"),
            (self.duplicates, f"late duplicate{'s' * (self.duplicates != 1)} dropped"),
        ]
        told = ", ".join(f"{count} {what}" for count, what in parts if count)
        return f"{told} (${self.wasted:.4f})" if self.wasted else told
