"""The interface between distribution and cluster: nodes that come and go, trials sent to them, results."""

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
    """The cluster as a whole is unavailable. ``str()`` is the reason, in one sentence."""


class NodeGone(HarnessError):
    """The node, or its trial process, has died."""


class NodeSilent(HarnessError):
    """The node does not answer; its trials may still be running."""


class NodeRefused(HarnessError):
    """The node cannot be used in this run. ``str()`` is the reason, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A node that is ready to run trials."""

    id: str
    name: str
    """Name for display."""
    slots: int
    """Number of trials that it runs at a time."""
    lacks: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Groups of sites that the node reports as unavailable together, with the reason, before any trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One trial, as sent to a node."""

    task: Task
    agent: str
    trial: int
    browser: str
    node_id: str
    more: bytes = b""
    """Further data for the trial's runner, opaque to the carrier (`node.Terms`)."""
    earlier: bytes = b""
    """Existing files of the trial in the run (`shipping.pack`), so that attempts are numbered on and first verdicts
    stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The result of a parcel."""

    record: TrialRecord | None = None
    error: BaseException | None = None
    """Why there is no record."""
    archive: bytes = b""
    """The trial's folder (`shipping.pack`); empty if there is none."""
    printed: Mapping[str, str] = field(default_factory=dict)
    """What the trial printed and logged, by pytest's section names."""

    @property
    def is_empty(self) -> bool:
        """Whether the node knows nothing of the trial: it never received it, or has delivered it already."""
        return self.record is None and self.error is None and not self.archive


class Cluster(Protocol):
    """Nodes by id. Every future ends with its result, `NodeGone`, `NodeSilent`, or an error of the trial itself."""

    def look(self) -> Sequence[str]:
        """Ids of the nodes that exist now and might be used. Fast; may raise `ClusterLost`."""

    def join(self, node: str) -> Future[Member]:
        """Prepare the node; the future may raise `NodeRefused`."""

    def play(self, node: str, token: str, parcel: Parcel | None) -> Future[Delivery]:
        """Run a trial on the node. A token that the node knows is not run again: its delivery is returned once more
        when the trial has finished. With None as parcel only that happens, and an unknown token gives an empty
        delivery."""

    def cancel_trials(self, node: str) -> Future[Any]:
        """End the running trials of the node: the futures of `play` end, with the existing files of the trials."""

    def drop(self, node: str) -> None:
        """Release the node: its files of this run are removed now."""

    def close(self) -> None:
        """Release all nodes, letting them clean up."""
