"""The cluster as Ray has it: one actor for each node, one for the run's books. The only module that imports Ray."""

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
_FAREWELL = 30.0
"""Seconds in which nodes give everything back at the end; whoever is later is killed, and its reaper tidies up."""
_JOIN = 180.0
"""Seconds in which a node gets ready: the project's files travel there, its process starts."""
_HEAD = 20.0
"""Seconds without an answer from the cluster's head after which it is given up. Nodes give up after 60."""
_ANSWER = 60.0
"""Seconds for an answer of the books."""


class NodeActor:
    """What an actor of Ray's is made of; the work is `Node`'s."""

    def __init__(self, setup: Setup, project: bytes, books: Any, holder: str) -> None:
        """``holder``: whom the books know this process as; the node's next one has another name there."""
        self._node: Node | None = None
        self._problem = ""
        self._lacks: tuple[tuple[tuple[str, ...], str], ...] = ()
        name = setup.name

        def ask(call: Call) -> Any:
            try:
                well, given = ray.get(books.answer.remote(holder, call), timeout=_ANSWER)
            except RayError as error:
                raise HarnessError(f"the run's books can't be reached from {name}: {type(error).__name__}") from None
            if not well:
                raise given
            return given

        try:
            self._node = Node(setup, project, ask)
            self._problem = self._node.problem()
            self._lacks = () if self._problem else self._node.lacks()
        except (HarnessError, UsageError, OSError) as error:
            self._problem = str(error)

    async def welcome(self) -> Welcome:
        slots = self._node.slots if self._node is not None else 0
        return Welcome(slots=slots, problem=self._problem, versions=versions(), lacks=self._lacks)

    async def play(self, token: str, parcel: Parcel | None, received: Sequence[str]) -> Delivery:
        assert self._node is not None, "a node with a problem gets no trials"
        self._node.forget(received)
        return await asyncio.wrap_future(self._node.play(token, parcel))

    async def break_off(self) -> None:
        if self._node is not None:
            await asyncio.to_thread(self._node.break_off)

    async def farewell(self) -> None:
        if self._node is not None:
            await asyncio.to_thread(self._node.close)


class CoordinatorActor:
    """The same for `CoordinatorState`."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._books = CoordinatorState(roots)

    async def answer(self, node: str, call: Call) -> Answer:
        return await asyncio.to_thread(self._books.answer, node, call)

    async def forget(self, node: str) -> None:
        self._books.forget(node)


def dumps(value: Any) -> bytes:
    """A value with what functions it has, made where it is used: fixtures give such."""
    data: bytes = ray.cloudpickle.dumps(value)
    return data


def connect(address: str) -> None:
    """Join the cluster as its driver. `UsageError` when it can't be had."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    # What Ray says of nodes that die, over several lines, in the middle of pytest's: we have a line of our own for it.
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
        told = " ".join(str(error).split())
        if "ersion" in told and "mismatch" in told.lower():
            raise UsageError(
                f"--ray: expected the cluster's own versions of Ray and Python here, found others: {told[:300]}"
            ) from None
        raise UsageError(
            f"--ray: expected a Ray cluster at {address} that takes this machine in, found: {told[:300]}"
        ) from None


@contextlib.contextmanager
def _without_stderr() -> Iterator[None]:
    """Inside, what Ray's C++ writes there, such as that it has read its own setting, is not seen."""
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
    """See `members.Cluster`. `connect` comes first.

    The project's files travel once, through the object store, and each node unpacks them into a directory of its own:
    Ray's ``working_dir`` would be shared by, and taken away under, what else runs on a machine.
    """

    def __init__(self, setup: Setup, *, address: str, project: bytes, roots: tuple[Path, ...]) -> None:
        self._setup, self._address = setup, address
        self._project = ray.put(project)
        self._lock = threading.Lock()
        self._actors: dict[str, Any] = {}
        self._holders: dict[str, str] = {}
        """By node: whom the books know its actor as."""
        self._names: dict[str, str] = {}
        self._there: Sequence[str] = ()
        self._unanswered = math.inf
        """Since when nobody has answered at the head, by the monotonic clock."""
        self._received: dict[str, list[str]] = {}
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._books = (
            ray.remote(CoordinatorActor)
            .options(num_cpus=0, max_concurrency=1000, scheduling_strategy=here, max_restarts=-1)
            .remote(roots)
        )

    def look(self) -> Sequence[str]:
        if not answers(self._address):  # asked by Ray's own means, it would keep us waiting, and then end this process
            self._unanswered = min(self._unanswered, time.monotonic())
            if time.monotonic() - self._unanswered >= _HEAD:
                raise ClusterLost(f"nobody has answered at the cluster's head, {self._address}, for {_HEAD:g} s")
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
            .remote(setup, self._project, self._books, holder := f"{name}-{uuid.uuid4().hex}")
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
            told = next((each["NodeManagerHostname"] for each in ray.nodes() if each["NodeID"] == node), "")
            self._names[node] = f"node{len(self._names) + 1}" + (f"@{told}" if told else "")
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

    def break_off(self, node: str) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            actor = self._actors.get(node)
        if actor is None:
            future.set_result(None)
        else:
            _chain(actor.break_off.remote(), future, lambda said: said)
        return future

    def drop(self, node: str) -> None:
        with self._lock:
            actor, holder = self._actors.pop(node, None), self._holders.pop(node, "")
        if actor is not None:
            ray.kill(actor)  # its reaper tidies up
            self._books.forget.remote(holder)

    def close(self) -> None:
        with self._lock:
            actors, self._actors = list(self._actors.values()), {}
        with contextlib.suppress(RayError, GetTimeoutError):
            ray.wait(
                [actor.farewell.remote() for actor in actors], num_returns=len(actors), timeout=_FAREWELL
            ) if actors else None
        for actor in (*actors, self._books):
            with contextlib.suppress(RayError):
                ray.kill(actor)
        ray.shutdown()


def _chain(reference: Any, future: Future[Any], then: Callable[[Any], Any]) -> None:
    """End ``future`` as the call that ``reference`` stands for has ended, in the words of `members`."""

    def over(done: Future[Any]) -> None:
        try:
            result = then(done.result())
        except (NodeRefused, NodeGone, NodeSilent) as error:
            _end(future, error=error)
        except ActorUnavailableError as error:
            _end(future, error=NodeSilent(_said(error)))
        except RayTaskError as error:
            _end(future, error=error.cause if isinstance(error.cause, Exception) else HarnessError(_said(error)))
        except (RayError, ObjectLostError) as error:  # the actor, its node, or what it had given
            _end(future, error=NodeGone(_said(error)))
        except BaseException as error:
            _end(future, error=error)
        else:
            _end(future, result=result)

    reference.future().add_done_callback(over)


def _end(future: Future[Any], *, result: Any = None, error: BaseException | None = None) -> None:
    with contextlib.suppress(Exception):  # it has ended otherwise
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
