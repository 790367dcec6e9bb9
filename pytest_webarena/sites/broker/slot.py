"""One replica's life in the pool, as an explicit state machine."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pytest_webarena.errors import HarnessError
from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.protocol.report import ReplicaStatus

__all__ = ["TRANSITIONS", "Slot", "State"]


class State(enum.Enum):
    """What may be done with a replica."""

    STARTING = "starting"
    PRISTINE = "pristine"
    LEASED = "leased"
    DIRTY = "dirty"
    """Being reset: it was released, or is a spare that lacks what later ones start with."""
    BROKEN = "broken"
    """Died, or could not be reset. Never used again; another one takes its place."""


TRANSITIONS: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.STARTING: frozenset({State.PRISTINE, State.BROKEN}),
        State.PRISTINE: frozenset({State.LEASED, State.DIRTY, State.BROKEN}),
        State.LEASED: frozenset({State.PRISTINE, State.DIRTY, State.BROKEN}),
        State.DIRTY: frozenset({State.PRISTINE, State.BROKEN}),
        State.BROKEN: frozenset(),
    }
)
"""Every step a replica's state may take."""


@dataclass(slots=True, eq=False)
class Slot:
    """A place in an app's replica_set: the replica in it, its state, who holds it."""

    id: str
    since: float
    """When it came into its present state, on the pool's clock."""
    created: float
    state: State = State.STARTING
    replica: Replica | None = None
    """None until it has started."""
    holders: dict[str, str] = field(default_factory=dict)
    """Lease id to who holds it; at most one, unless the app is read-only."""
    why: str = ""
    touched: str = ""
    """Why it can't be clean, known before its release: SQL written by a set-up step, a change found at hand-over."""
    visited: bool = False
    """Whether somebody has had it since it was last made pristine: it was proved clean, and has to be once more."""
    leased_seconds: float = 0.0
    paused: bool = False
    resting: asyncio.Future[None] | None = None
    """The work of pausing it or having it go on."""

    def to(self, state: State, now: float, why: str = "") -> None:
        """Take a step. `HarnessError` for one that `TRANSITIONS` does not allow."""
        if state not in TRANSITIONS[self.state]:
            raise HarnessError(f"replica {self.id} can't go from {self.state.value} to {state.value}")
        if self.state is State.LEASED:
            self.leased_seconds += now - self.since
        self.state, self.since, self.why = state, now, why
        if state in (State.PRISTINE, State.BROKEN):
            self.touched = ""

    def running(self) -> Replica:
        """Its replica; `HarnessError` before there is one."""
        if self.replica is None:
            raise HarnessError(f"replica {self.id} has not started")
        return self.replica

    @property
    def edition(self) -> int:
        """Which of its app's states it started with (`base.Replica.edition`)."""
        return self.replica.edition if self.replica else 0

    def place_in_line(self) -> tuple[int, bool, float]:
        """Who is taken first: the latest edition, those awake before those paused, then who has waited for longest."""
        return -self.edition, self.paused or self.resting is not None, self.since

    def status(self, now: float) -> ReplicaStatus:
        """How it is now."""
        return ReplicaStatus(
            id=self.id,
            state=self.state.value,
            seconds=now - self.since,
            holders=tuple(self.holders.values()),
            generation=self.replica.generation if self.replica else 0,
            why=self.why,
            paused=self.paused,
        )
