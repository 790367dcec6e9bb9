"""The state of a cluster's nodes: joined, ready, dead, silent, answering again."""

from __future__ import annotations

import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_webarena.cluster.interface import ClusterLost, NodeGone, NodeRefused, NodeSilent
from pytest_webarena.cluster.jobs import Helper, Job, Tally

if TYPE_CHECKING:
    from pytest_webarena.cluster.interface import Cluster, Delivery, Member

__all__ = ["SILENT", "Watch"]

SILENT = "gave no answer"

_SILENCE = 300.0
"""Seconds without an answer after which a node's trials end that no other node may run."""
_DEATHS = 5
"""Number of consecutive deaths of a node's trial process after which the node is not used any more."""


class Watch(ABC):
    """The part of `ClusterExecutor` that tracks nodes. Except for its properties it is used by the executor's thread
    only."""

    def __init__(self, cluster: Cluster, announce: Callable[[str], None]) -> None:
        self._cluster, self._announce = cluster, announce
        self.tally = Tally()
        self.ready = threading.Event()
        """Set when it is known for every node present at the start whether it can be used."""
        self._helpers: dict[str, Helper] = {}
        self._refused: dict[str, str] = {}
        self._deaths: dict[str, int] = {}
        self._joining: dict[str, Future[Member]] = {}
        self._looked = False
        self._alone_since = time.monotonic()
        self.lost = ""
        """Why the cluster is unavailable; a run on it has to be cancelled. Empty while it is available."""

    @abstractmethod
    def _later(self, future: Future[Any], then: Callable[[Future[Any]], None]) -> None:
        """Call ``then`` in the executor's thread when the future is done."""

    @abstractmethod
    def _give_back(self, job: Job, helper: Helper, why: str) -> None:
        """Send a trial of ``helper`` to another node."""

    @abstractmethod
    def _is_agents(self, job: Job) -> bool:
        """Return whether the agent of a trial may have caused the end of its node."""

    @abstractmethod
    def _end_undecided(self, job: Job) -> None:
        """End a trial whose agent may have caused the end of its node."""

    @abstractmethod
    def _delivered(self, job: Job, helper: Helper, playing: Future[Delivery]) -> None:
        """Process the delivery of a trial."""

    @property
    def width(self) -> int:
        """Number of trials that can run at a time now."""
        return sum(helper.member.slots for helper in list(self._helpers.values()) if not helper.silent) or 1

    @property
    def members(self) -> list[Member]:
        """The nodes in use now."""
        return [helper.member for helper in list(self._helpers.values()) if not helper.silent]

    @property
    def refused(self) -> list[str]:
        """Why nodes are not used."""
        return list(self._refused.values())

    def _look(self) -> None:
        if self.lost:
            return
        try:
            present = self._cluster.look()
        except ClusterLost as error:
            self.lost = str(error)
            self.ready.set()
            return
        for node in [*self._helpers]:
            if node not in present:
                self._lose(node, "has died")
        for node in present:
            if node not in self._helpers and node not in self._joining and node not in self._refused:
                self._joining[node] = joining = self._cluster.join(node)
                self._later(joining, partial(self._joined, node))
            elif node in self._helpers and self._helpers[node].silent:
                self._await(self._helpers[node])
                self._recall(self._helpers[node])
        for node in [node for node in self._refused if node not in present]:
            del self._refused[node]
        self._looked = True
        if self._helpers or self._joining:
            self._alone_since = time.monotonic()
        if not self._joining:
            self.ready.set()

    def _joined(self, node: str, joining: Future[Member]) -> None:
        del self._joining[node]
        try:
            member = joining.result()
        except NodeRefused as error:
            self._refused[node] = str(error)
            self.tally.refused += 1
            self._announce(f"a node is not used: {error}")
        except Exception as error:  # joining is repeated while the node exists
            self._died(node, str(error))
        else:
            self._helpers[node] = Helper(member=member)
            self.tally.gained += self.ready.is_set()
            if self.ready.is_set():
                self._announce(f"gained {member.name} × {member.slots}, now {self._counted()}")
        if not self._joining and self._looked:
            self.ready.set()

    def _died(self, node: str, why: str) -> None:
        self._deaths[node] = self._deaths.get(node, 0) + 1
        if self._deaths[node] >= _DEATHS:
            self._refused[node] = f"{why} ({_DEATHS} times in a row)"
            self._announce(f"a node is not used any more: {self._refused[node]}")

    def _lose(self, node: str, why: str) -> None:
        helper = self._helpers.pop(node, None)
        if helper is None:
            return
        self.tally.lost += 1
        elsewhere, undecided = self._divided(helper)
        undecided += [job for job in helper.awaited if not job.resolved]
        counts = _counts((elsewhere, "given back"), (undecided, "undecided, because an agent may have caused it"))
        self._announce(f"lost {helper.member.name}, which {why}; {counts}now {self._counted()}")
        self._cluster.drop(node)
        for job in undecided:
            self._end_undecided(job)
        for job in elsewhere:
            self._give_back(job, helper, why)

    def _divided(self, helper: Helper) -> tuple[list[Job], list[Job]]:
        """The running trials of a node that others may run, and those whose agents may have caused its end."""
        jobs = [job for job in helper.playing.values() if not job.resolved]
        agents = [job for job in jobs if self._is_agents(job)]
        return [job for job in jobs if job not in agents], agents

    def _counted(self) -> str:
        count = len(self.members)
        return f"{count} node{'s' * (count != 1)}"

    def _fall_silent(self, helper: Helper) -> None:
        """Give the trials of a node that does not answer to others, if their agents cannot have caused that, and
        remember to ask for them when it answers again."""
        if helper.silent:
            return
        helper.silent, helper.silent_since = True, time.monotonic()
        elsewhere, agents = self._divided(helper)
        helper.awaited.update(agents)
        counts = _counts((elsewhere, "given back"), (agents, "awaited, because an agent may have caused it"))
        self._announce(f"no answer from {helper.member.name}; {counts}now {self._counted()}")
        helper.in_doubt.update(helper.playing)
        helper.playing.clear()
        for job in elsewhere:
            self._give_back(job, helper, SILENT)

    def _await(self, helper: Helper) -> None:
        """End the trials that a silent node could still deliver, after a time limit."""
        if time.monotonic() - helper.silent_since > _SILENCE:
            for job in helper.awaited:
                self._end_undecided(job)
            helper.awaited.clear()

    def _recall(self, helper: Helper) -> None:
        if None not in helper.in_doubt.values():  # an unknown token is answered at once, others when a trial has ended
            helper.in_doubt[uuid.uuid4().hex] = None
        for token in [token for token in helper.in_doubt if token not in helper.asking]:
            helper.asking.add(token)
            recalled = self._cluster.play(helper.member.id, token, None)
            self._later(recalled, partial(self._recalled, helper, token))

    def _recalled(self, helper: Helper, token: str, recalled: Future[Delivery]) -> None:
        helper.asking.discard(token)
        if isinstance(recalled.exception(), NodeSilent):
            self._fall_silent(helper)
            return
        job = helper.in_doubt.pop(token, None)
        if isinstance(recalled.exception(), NodeGone):
            self._end_of(helper)
            return
        if helper.silent:
            helper.silent = False
            self._announce(f"{helper.member.name} answers again, now {self._counted()}")
        if job is not None and (recalled.exception() is not None or not recalled.result().is_empty):
            self._delivered(job, helper, recalled)
        elif job in helper.awaited:  # the node does not know it any more; one that never arrived was given back
            self._end_undecided(job)

    def _end_of(self, helper: Helper) -> None:
        """Handle the death of a node's trial process. The node itself may still exist and is then prepared again."""
        node = helper.member.id
        if self._helpers.get(node) is helper:
            self._died(node, f"trials' process on {helper.member.name} has died")
            self._lose(node, "has died")


def _counts(*groups: tuple[list[Job], str]) -> str:
    """The numbers of trials with what becomes of them, as clauses; empty when there are none."""
    return "".join(f"{len(jobs)} trial{'s' * (len(jobs) != 1)} {what}; " for jobs, what in groups if jobs)
