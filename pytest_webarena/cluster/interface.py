"""What handing out needs of a cluster, whatever carries it: nodes that come and go, parcels that are played there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pytest_webarena.errors import HarnessError

if TYPE_CHECKING:
    from pytest_webarena.results import TrialRecord
    from pytest_webarena.tasks.model import Task

__all__ = ["Cluster", "ClusterLost", "Delivery", "Member", "NodeGone", "NodeRefused", "NodeSilent", "Parcel"]


class ClusterLost(HarnessError):
    """The cluster as a whole can't be had any more. ``str()`` is the reason, one sentence."""


class NodeGone(HarnessError):
    """The node, or what plays trials there, has died."""


class NodeSilent(HarnessError):
    """The node can't be reached; what it plays may go on."""


class NodeRefused(HarnessError):
    """The node can't help in this run. ``str()`` is the reason, one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A node that is ready to play trials."""

    id: str
    name: str
    """For people."""
    slots: int
    """How many trials it has in flight at a time."""
    lacks: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Sites that it says it can't have, together, and why: known before anything was tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One trial, as it is sent to a node."""

    task: Task
    agent: str
    trial: int
    browser: str
    node_id: str
    more: bytes = b""
    """What else its runner there is to know, for the carrier alone (`node.Terms`)."""
    earlier: bytes = b""
    """What the run has of the trial already (`shipping.pack`): attempts are counted on, first verdicts stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What came of a parcel."""

    record: TrialRecord | None = None
    error: BaseException | None = None
    """Why there is no record."""
    archive: bytes = b""
    """The trial's folder (`shipping.pack`); empty: there is none."""
    printed: Mapping[str, str] = field(default_factory=dict)
    """What the trial has printed and logged, by pytest's names for it."""

    @property
    def is_empty(self) -> bool:
        """Whether the node knows nothing of the trial: it was never told to play it, or has delivered it."""
        return self.record is None and self.error is None and not self.archive


class Cluster(Protocol):
    """Nodes by their ids. Every future ends in its result, `NodeGone`, `NodeSilent`, or an error of the trial's own."""

    def look(self) -> Sequence[str]:
        """The nodes that are there now and might help. Quick; also `ClusterLost`."""

    def join(self, node: str) -> Future[Member]:
        """Have the node get ready; also `NodeRefused`."""

    def play(self, node: str, token: str, parcel: Parcel | None) -> Future[Delivery]:
        """Have a trial played there. A token that the node knows is not played again: its delivery is given once more,
        when it is over; None for the parcel asks for just that, and gets an empty one of what is not known there."""

    def break_off(self, node: str) -> Future[Any]:
        """End what is under way there: the futures of `play` end, with what there is of the trials' folders."""

    def drop(self, node: str) -> None:
        """Nothing more is wanted of the node: what is there of this run is to go, now."""

    def close(self) -> None:
        """The same for all nodes, in good order."""
