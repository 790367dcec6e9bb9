"""The life of one replica in the pool as an explicit state machine."""

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
    """State of a replica, which determines what may be done with it."""

    STARTING = "starting"
    PRISTINE = "pristine"
    LEASED = "leased"
    DIRTY = "dirty"
    """Being reset: it was released, or is a spare of an older edition."""
    BROKEN = "broken"
    """Died, or could not be reset. Never used again; another replica takes its place."""


TRANSITIONS: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        State.STARTING: frozenset({State.PRISTINE, State.BROKEN}),
        State.PRISTINE: frozenset({State.LEASED, State.DIRTY, State.BROKEN}),
        State.LEASED: frozenset({State.PRISTINE, State.DIRTY, State.BROKEN}),
        State.DIRTY: frozenset({State.PRISTINE, State.BROKEN}),
        State.BROKEN: frozenset(),
    }
)
"""All allowed transitions between states."""


@dataclass(slots=True, eq=False)
class Slot:
    """A place in an app's replica set: its replica, state and holders."""

    id: str
    since: float
    """Time on the pool's clock when it entered its current state."""
    created: float
    state: State = State.STARTING
    replica: Replica | None = None
    """None until the replica has started."""
    holders: dict[str, str] = field(default_factory=dict)
    """Holders by lease id; at most one, unless the app is read-only."""
    why: str = ""
    touched: str = ""
    """Why it can't be clean, if known before its release: SQL written by a set-up step, or a change found before
    reuse."""
    spoiled: str = ""
    """Why no later trial may use it: a trial may have changed it, and nothing resets it."""
    visited: bool = False
    """Whether it had a holder since it was last made pristine; it was proved clean, and must be verified before
    reuse."""
    started: float = 0.0
    """Time on the pool's clock when its latest start or reset began."""
    signalled: bool = False
    """Whether a signal had ended or stopped one of its processes when it broke."""
    leased_seconds: float = 0.0
    paused: bool = False
    resting: asyncio.Future[None] | None = None
    """The running work of pausing or unpausing it."""

    def to(self, state: State, now: float, why: str = "") -> None:
        """Change the state. Raises `HarnessError` for a transition that `TRANSITIONS` does not allow."""
        if state not in TRANSITIONS[self.state]:
            raise HarnessError(f"replica {self.id} can't go from {self.state.value} to {state.value}")
        if self.state is State.LEASED:
            self.leased_seconds += now - self.since
        self.state, self.since, self.why = state, now, why
        if state in (State.PRISTINE, State.BROKEN):
            self.touched = ""

    def running(self) -> Replica:
        """Returns its replica. Raises `HarnessError` before there is one."""
        if self.replica is None:
            raise HarnessError(f"replica {self.id} has not started")
        return self.replica

    @property
    def edition(self) -> int:
        """Edition of its app's state that it started with (`base.Replica.edition`)."""
        return self.replica.edition if self.replica else 0

    def lease_order(self) -> tuple[int, bool, float]:
        """Returns the sort key for leasing: the latest edition first, then unpaused ones, then the longest ready."""
        return -self.edition, self.paused or self.resting is not None, self.since

    def status(self, now: float) -> ReplicaStatus:
        """Returns the current status."""
        return ReplicaStatus(
            id=self.id,
            state=self.state.value,
            seconds=now - self.since,
            holders=tuple(self.holders.values()),
            generation=self.replica.generation if self.replica else 0,
            why=self.why,
            paused=self.paused,
        )
