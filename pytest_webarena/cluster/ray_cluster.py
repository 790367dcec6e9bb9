"""The cluster interface implemented with Ray: one actor per node, one for the coordinator state. Only this module
imports Ray."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import ActorUnavailableError, GetTimeoutError, ObjectLostError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pytest_webarena.cluster.cluster_address import answers
from pytest_webarena.cluster.coordinator_state import CoordinatorState
from pytest_webarena.cluster.interface import ClusterLost, Delivery, Member, NodeGone, NodeRefused, NodeSilent, Parcel
from pytest_webarena.cluster.node import Node, Setup, Welcome, differences, versions
from pytest_webarena.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from pytest_webarena.cluster.coordinator_state import Answer
    from pytest_webarena.rpc_proxies import Call

__all__ = ["RayCluster", "connect", "dumps"]

_NAMESPACE = "pytest-webarena"
_CLEANUP_SECONDS = 30.0
"""Seconds that nodes get to clean up at the end; slower ones are killed, and their reapers clean up."""
_JOIN = 180.0
"""Seconds that a node gets to become ready: it receives the project's files and starts its process."""
_HEAD = 20.0
"""Seconds without an answer from the cluster's head after which the cluster is given up. Nodes give up after 60 s."""
_ANSWER = 60.0
"""Maximum time for an answer of the coordinator state, in seconds."""


class NodeActor:
    """Class of a node's Ray actor, a wrapper of `Node`."""

    def __init__(self, setup: Setup, project: bytes, books: Any, holder: str) -> None:
        """``holder`` identifies this process to the coordinator state; a later process of the same node has another
        identifier."""
        self._node: Node | None = None
        self._problem = ""
        self._missing_sites: tuple[tuple[tuple[str, ...], str], ...] = ()
        name = setup.name

        def ask(call: Call) -> Any:
            try:
                well, given = ray.get(books.answer.remote(holder, call), timeout=_ANSWER)
            except RayError as error:
                raise HarnessError(
                    f"the run's coordinator can't be reached from {name}: {type(error).__name__}"
                ) from None
            if not well:
                raise given
            return given

        try:
            self._node = Node(setup, project, ask)
            self._problem = self._node.problem()
            self._missing_sites = () if self._problem else self._node.lacks()
        except (HarnessError, UsageError, OSError) as error:
            self._problem = str(error)

    async def welcome(self) -> Welcome:
        slots = self._node.slots if self._node is not None else 0
        return Welcome(slots=slots, problem=self._problem, versions=versions(), lacks=self._missing_sites)

    async def play(self, token: str, parcel: Parcel | None, received: Sequence[str]) -> Delivery:
        assert self._node is not None, "a node with a problem gets no trials"
        self._node.forget(received)
        return await asyncio.wrap_future(self._node.play(token, parcel))

    async def cancel_trials(self) -> None:
        if self._node is not None:
            await asyncio.to_thread(self._node.cancel_trials)

    async def farewell(self) -> None:
        if self._node is not None:
            await asyncio.to_thread(self._node.close)


class CoordinatorActor:
    """Class of the coordinator's Ray actor, a wrapper of `CoordinatorState`."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._coordinator_state = CoordinatorState(roots)

    async def answer(self, node: str, call: Call) -> Answer:
        return await asyncio.to_thread(self._coordinator_state.answer, node, call)

    async def forget(self, node: str) -> None:
        self._coordinator_state.forget(node)


def dumps(value: Any) -> bytes:
    """Pickle a value including functions defined locally, which fixtures may return."""
    data: bytes = ray.cloudpickle.dumps(value)
    return data


def connect(address: str) -> None:
    """Join the cluster as its driver. `UsageError` when that is impossible."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    # Ray would print several lines about dead nodes into pytest's output; this project prints one of its own.
    ray._private.worker.print_to_stdstream = lambda *args, **kwargs: None
    try:
        with _without_stderr():
            ray.init(
                address=address,
                namespace=f"{_NAMESPACE}-{os.getpid()}",
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
                include_dashboard=None,
            )
    except Exception as error:
        message = " ".join(str(error).split())
        if "ersion" in message and "mismatch" in message.lower():
            raise UsageError(
                f"--ray: expected the cluster's own versions of Ray and Python here, found others: {message[:300]}"
            ) from None
        raise UsageError(
            f"--ray: expected a Ray cluster at {address} that this machine can join, found: {message[:300]}"
        ) from None


@contextlib.contextmanager
def _without_stderr() -> Iterator[None]:
    """Within the block, hide what Ray's C++ code writes to stderr, such as a note on its settings."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class RayCluster:
    """Implements `interface.Cluster`. Call `connect` first.

    The project's files travel once, through the object store, and each node unpacks them into its own directory. Ray's
    ``working_dir`` would be shared with other jobs on a machine and could be removed while in use.
    """

    def __init__(self, setup: Setup, *, address: str, project: bytes, roots: tuple[Path, ...]) -> None:
        self._setup, self._address = setup, address
        self._project = ray.put(project)
        self._lock = threading.Lock()
        self._actors: dict[str, Any] = {}
        self._holders: dict[str, str] = {}
        """Identifier of each node's actor in the coordinator state, by node."""
        self._names: dict[str, str] = {}
        self._there: Sequence[str] = ()
        self._unanswered = math.inf
        """Monotonic time since which the cluster's head has not answered."""
        self._received: dict[str, list[str]] = {}
        on_driver = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._coordinator_state = (
            ray.remote(CoordinatorActor)
            .options(num_cpus=0, max_concurrency=1000, scheduling_strategy=on_driver, max_restarts=-1)
            .remote(roots)
        )

    def look(self) -> Sequence[str]:
        if not answers(self._address):  # Ray's own test would block, and then end this process
            self._unanswered = min(self._unanswered, time.monotonic())
            if time.monotonic() - self._unanswered >= _HEAD:
                raise ClusterLost(f"the cluster's head, {self._address}, has not answered for {_HEAD:g} s")
            return self._there
        self._unanswered = math.inf
        self._there = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
        return self._there

    def join(self, node: str) -> Future[Member]:
        future: Future[Member] = Future()
        name = self._name(node)
        setup = replace(self._setup, name=name)
        where = NodeAffinitySchedulingStrategy(node, soft=False)
        actor = (
            ray.remote(NodeActor)
            .options(num_cpus=1, max_concurrency=10_000, scheduling_strategy=where, max_restarts=0)
            .remote(setup, self._project, self._coordinator_state, holder := f"{name}-{uuid.uuid4().hex}")
        )
        with self._lock:
            self._actors[node] = actor
            self._holders[node] = holder
            self._received[node] = []

        def welcomed(welcome: Welcome) -> Member:
            if different := differences(versions(), welcome.versions):
                raise NodeRefused(f"{name} has {different}; have the same on all machines")
            if welcome.problem:
                raise NodeRefused(f"{name}: {welcome.problem}")
            return Member(id=node, name=name, slots=welcome.slots, lacks=welcome.lacks)

        timer = threading.Timer(_JOIN, lambda: self._too_late(name, future))
        timer.daemon = True
        timer.start()
        future.add_done_callback(lambda done: timer.cancel())
        _chain(actor.welcome.remote(), future, welcomed)
        return future

    def _too_late(self, name: str, future: Future[Member]) -> None:
        with contextlib.suppress(Exception):
            future.set_exception(NodeRefused(f"{name} did not get ready within {_JOIN:g} s"))

    def _name(self, node: str) -> str:
        if node not in self._names:
            message = next((each["NodeManagerHostname"] for each in ray.nodes() if each["NodeID"] == node), "")
            self._names[node] = f"node{len(self._names) + 1}" + (f"@{message}" if message else "")
        return self._names[node]

    def play(self, node: str, token: str, parcel: Parcel | None) -> Future[Delivery]:
        future: Future[Delivery] = Future()
        with self._lock:
            actor = self._actors.get(node)
            received, self._received[node] = self._received.get(node, []), []
        if actor is None:
            future.set_exception(NodeGone(f"{self._names.get(node, node)} is gone"))
            return future

        def arrived(delivery: Delivery) -> Delivery:
            with self._lock:
                self._received.setdefault(node, []).append(token)
            return delivery

        _chain(actor.play.remote(token, parcel, received), future, arrived)
        return future

    def cancel_trials(self, node: str) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            actor = self._actors.get(node)
        if actor is None:
            future.set_result(None)
        else:
            _chain(actor.cancel_trials.remote(), future, lambda result: result)
        return future

    def drop(self, node: str) -> None:
        with self._lock:
            actor, holder = self._actors.pop(node, None), self._holders.pop(node, "")
        if actor is not None:
            ray.kill(actor)  # the actor's reaper cleans up
            self._coordinator_state.forget.remote(holder)

    def close(self) -> None:
        with self._lock:
            actors, self._actors = list(self._actors.values()), {}
        with contextlib.suppress(RayError, GetTimeoutError):
            ray.wait(
                [actor.farewell.remote() for actor in actors], num_returns=len(actors), timeout=_CLEANUP_SECONDS
            ) if actors else None
        for actor in (*actors, self._coordinator_state):
            with contextlib.suppress(RayError):
                ray.kill(actor)
        ray.shutdown()


def _chain(reference: Any, future: Future[Any], then: Callable[[Any], Any]) -> None:
    """End ``future`` when the call behind ``reference`` ends, with its errors converted to those of `interface`."""

    def over(done: Future[Any]) -> None:
        try:
            result = then(done.result())
        except (NodeRefused, NodeGone, NodeSilent) as error:
            _end(future, error=error)
        except ActorUnavailableError as error:
            _end(future, error=NodeSilent(_summary(error)))
        except RayTaskError as error:
            _end(future, error=error.cause if isinstance(error.cause, Exception) else HarnessError(_summary(error)))
        except (RayError, ObjectLostError) as error:  # the actor, its node or its result is lost
            _end(future, error=NodeGone(_summary(error)))
        except BaseException as error:
            _end(future, error=error)
        else:
            _end(future, result=result)

    reference.future().add_done_callback(over)


def _end(future: Future[Any], *, result: Any = None, error: BaseException | None = None) -> None:
    with contextlib.suppress(Exception):  # the future is done already
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)


def _summary(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
