"""Counts and durations of a replica set for the report at the end of a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pytest_webarena.sites.broker.slot import Slot, State
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.protocol.report import AppReport, Durations

__all__ = ["ReplicaSetMetrics"]

_ADDRESS = re.compile(r" \w+://\S+")


@dataclass(slots=True)
class ReplicaSetMetrics:
    """Counts and durations in seconds."""

    waits: list[float] = field(default_factory=list)
    handovers: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    resets: list[float] = field(default_factory=list)
    leases: int = 0
    clean: int = 0
    broken: int = 0
    failed_starts: int = 0
    most: int = 0
    reset_reasons: Counter[str] = field(default_factory=Counter)
    past_life: float = 0.0
    """Lifetime of removed replicas in seconds; `past_leased` is the leased part of it."""
    past_leased: float = 0.0

    def record_removal(self, slot: Slot, now: float) -> None:
        """Record that a replica has been removed."""
        self.past_life += now - slot.created
        self.past_leased += slot.leased_seconds

    def record_reset(self, why: str) -> None:
        """Record why a replica must be reset; requests are counted by their methods."""
        self.reset_reasons[_ADDRESS.sub("", why)] += 1

    def report(self, app: AppManifest, slots: Iterable[Slot], now: float) -> AppReport:
        """Returns the figures so far, including those of living ``slots``."""
        slots = list(slots)
        life = self.past_life + sum(now - slot.created for slot in slots)
        leased = self.past_leased + sum(
            slot.leased_seconds + (now - slot.since if slot.state is State.LEASED else 0.0) for slot in slots
        )
        return AppReport(
            app=app.name,
            backend=app.backend,
            leases=self.leases,
            waits=Durations.of(self.waits),
            handovers=Durations.of(self.handovers),
            starts=Durations.of(self.starts),
            resets=Durations.of(self.resets),
            is_reset=app.backend != EXTERNAL or app.reset is not None or app.read_only,
            reset_reasons=dict(self.reset_reasons.most_common()),
            clean_hand_ons=self.clean,
            broken=self.broken,
            failed_starts=self.failed_starts,
            most_replicas=self.most,
            utilisation=leased / life if life > 0 else 0.0,
        )
