"""A worker's side of the broker: leases sites, blocking and thread-safe, with the standard library only."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pytest_webarena.changes import SiteChanges, changes_from_json
from pytest_webarena.errors import SiteError, WebArenaError
from pytest_webarena.evidence import ReachedSite, RequestRecord, Unfinished, Unrecorded
from pytest_webarena.sites.backends.base import Rows
from pytest_webarena.sites.cleanup.private_directory import abandon_after_fork
from pytest_webarena.sites.protocol import keys
from pytest_webarena.sites.protocol.messages import (
    VERSION,
    Grant,
    LiveWishes,
    ReleaseReport,
    ReplicaInfo,
    SiteAccess,
    Trust,
    error_from,
    line,
)
from pytest_webarena.sites.protocol.report import BrokerStatus
from pytest_webarena.sites.protocol.wire import decode

__all__ = ["BrokerClient", "Lease", "ReleaseReport", "ReplicaInfo", "SiteAccess", "Trust"]

Waiting = Callable[[str], AbstractContextManager[Any]]

_ANSWER = 60.0
"""Seconds the broker may take for anything that does not wait for a replica."""
_PATIENCE = 5.0
"""Seconds after which it is told that the broker is waited for. Of what it waits for itself, the broker tells."""

_CLOSED = "this client was closed"


class BrokerClient:
    """Speaks to the broker at ``address``; ``name`` (e.g. ``gw0``) tells others who holds what, and which key it has.

    Connects on first use, and again after the broker has died and been replaced. Closing it, or the end of the
    process in any way, frees its leases.
    """

    def __init__(self, address: str, *, name: str, waiting: Waiting = nullcontext, trusts: bool = True):
        """``trusts``: whether what visits its leases can be told to trust the run's authority (`Lease.trust`).
        ``waiting``: within it, something is waited for that has taken a while, for whoever shows what is."""
        self._address = address
        self._name = name
        self._waiting = waiting
        self._trusts = trusts
        self._lock = threading.Lock()
        self._greeting = threading.Lock()
        """Held while a connection is made, which may take long: who closes this client must not wait for it."""
        self._connection: _Connection | None = None
        self._over = False
        abandon_after_fork(self)

    def __enter__(self) -> BrokerClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def lease(
        self,
        sites: Sequence[str],
        *,
        holder: str,
        timeout: float | None = None,
        ahead: Sequence[str] = (),
        reach: Sequence[str] = (),
        now: Sequence[str] = (),
        live: LiveWishes | None = None,
    ) -> Lease:
        """Lease the apps behind ``sites``, all in one atomic request, first come, first served.

        ``holder`` is what others are told they wait for. Waits up to ``timeout`` seconds, or as long as the run's
        lease time-out. Replicas of the sites ``ahead``, which will be leased next, are started meanwhile. ``reach``
        names sites (``*``: all there are) that can be visited beside and are leased when that is done, each with the
        browser's first request for it; those of them in ``now`` are leased at once. ``live``: what may be done on live
        sites. Raises `SiteError` (who holds what; why an app can't start) and `UsageError` (unknown site).
        """
        more: dict[str, Any] = {name: list(value) for name, value in (("reach", reach), ("now", now)) if value}
        if live is not None:
            more["live"] = live
        lease = self._granted("lease", sites=list(sites), holder=holder, timeout=timeout, ahead=list(ahead), **more)
        assert lease is not None
        return lease

    def look(self, sites: Sequence[str]) -> Mapping[str, SiteAccess]:
        """What is known of sites without a lease. `UsageError` for an unknown one."""
        return decode(Mapping[str, SiteAccess], self._connected().call("look", sites=list(sites)))  # type: ignore[type-abstract]

    def prepare(
        self, visits: Mapping[str, Mapping[str, int]], *, holder: str, timeout: float | None = None
    ) -> Lease | None:
        """A lease on which to sign accounts in before all later replicas start; end it with `Lease.keep`.

        ``visits`` says how many trials will visit a site as which account. None when there is nothing to do: all are
        signed in, or can't be for all replicas, or it would not be worth it. While another worker is at it, waits.
        """
        return self._granted("prepare", visits=visits, holder=holder, timeout=timeout)

    def _granted(self, operation: str, **arguments: Any) -> Lease | None:
        connection = self._connected()
        if not self._trusts:
            arguments["trusts"] = False
        answer = connection.send(operation, **arguments)
        try:
            # The broker watches the time; its word on who holds what is better than ours.
            grant = connection.wait_long(answer)
        except BaseException:
            answer.add_done_callback(lambda done: _release_late(connection, done))
            raise
        return Lease(connection, decode(Grant, grant)) if grant is not None else None

    def gateway(self) -> Lease:
        """A lease of no site, to which others are joined: its proxy stays while they come and go."""
        connection = self._connected()
        return Lease(connection, decode(Grant, connection.call("gateway")))

    def status(self) -> BrokerStatus:
        """Replicas, holders and waiting requests, now."""
        return decode(BrokerStatus, self._connected().call("status"))

    def close(self, *, for_good: bool = False) -> None:
        """Free all leases made by this client, at once; whoever waits for the broker waits no longer.

        It may be used again, unless it is closed ``for_good``: then there is a `SiteError` for who comes later.
        """
        with self._lock:
            self._over = self._over or for_good
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(_CLOSED)

    def abandon(self) -> None:
        """In a forked child: the leases are the parent's."""
        self._lock, self._greeting = threading.Lock(), threading.Lock()
        if self._connection is not None:
            self._connection.abandon()
            self._connection = None

    def _connected(self) -> _Connection:
        with self._greeting:
            with self._lock:
                if self._over:
                    raise SiteError(_CLOSED)
                if self._connection is not None and not self._connection.ended:
                    return self._connection
                made = self._connection = _Connection(self._address, self._name, self._waiting)
            try:
                made.greet(self._name)
            except BaseException:
                made.close("it was not greeted")
                raise
            return made


class Lease:
    """Sites held by one task. A context manager; leaving it releases them."""

    def __init__(self, connection: _Connection, grant: Grant) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._report: ReleaseReport | None = None
        self.id = grant.id
        self.proxy = f"http://127.0.0.1:{grant.port}"
        """The gateway of this lease alone: set it as the HTTP proxy of the agent's browser."""
        self.harness_proxy = f"http://127.0.0.1:{grant.harness_port}"
        """The same sites for all that is not the agent's: what comes through it is not among `requests`."""
        self.sites: Mapping[str, SiteAccess] = grant.sites
        self.reach: Mapping[str, str] = grant.reach
        """Other sites that can be visited: name to base URL."""
        self.replicas: tuple[ReplicaInfo, ...] = grant.replicas
        self.trust = grant.trust
        """Whom a visitor of its https sites must trust; None: it has none."""
        self.live = grant.live
        """On which terms live sites are visited; empty: there are none."""
        self.waited = grant.waited
        """Seconds from asking to granting."""

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release()

    def requests(self) -> tuple[RequestRecord, ...]:
        """What came through `proxy` so far, in order of arrival. Not after the release.

        Raises `SiteError` like `check` when a replica has died: what it answered is no evidence of anything.
        """
        return tuple(decode(RequestRecord, record) for record in self._connection.call("requests", lease=self.id))

    def visited(self) -> tuple[ReachedSite, ...]:
        """What was visited of `reach` so far; waits until all of that is there. Raises what keeps a site from it."""
        if not self.reach:
            return ()
        found = self._connection.wait_long(self._connection.send("visited", lease=self.id))
        return tuple(decode(ReachedSite, each) for each in found)

    def reached(self) -> tuple[ReachedSite, ...]:
        """The same as it is now, whether or not it could be had."""
        if not self.reach:
            return ()
        return tuple(decode(ReachedSite, each) for each in self._connection.call("reached", lease=self.id))

    def writes_over(
        self, seconds: float, *, quiet: float = 0.0, reads: float = 0.0, acted: float = 0.0
    ) -> tuple[Unfinished, ...]:
        """Wait until every request that may change a site is over, at most ``seconds``; those that are not.

        So are others that were begun within the last ``reads`` seconds and that no site has begun to answer.
        Those are not that a page makes by itself, as before the agent first acted, ``acted`` seconds ago.
        ``quiet``: and until nothing that pages may act on has been over for so long. Polling is no such thing.
        """
        answer = self._connection.send("writes", lease=self.id, timeout=seconds, quiet=quiet, reads=reads, acted=acted)
        left = self._connection.wait(answer, seconds + _ANSWER)
        return tuple(decode(Unfinished, each) for each in left)

    def unrecorded(self) -> tuple[Unrecorded, ...]:
        """What is missing in `requests`, for want of room."""
        return tuple(decode(Unrecorded, each) for each in self._connection.call("unrecorded", lease=self.id))

    def mark(self, *, asked: bool = False) -> None:
        """Note what the sites hold, for `changes`: where that is cheap, or their manifest wants it, or ``asked``."""
        self._connection.wait_long(self._connection.send("mark", lease=self.id, asked=asked))

    def changes(self) -> tuple[SiteChanges, ...]:
        """What differs since `mark`; of sites that were visited later, since they were leased. Raises like `check`."""
        found = self._connection.wait_long(self._connection.send("changes", lease=self.id))
        return tuple(changes_from_json(each) for each in found)

    def query(self, site: str, sql: str, *, database: str = "", write: bool = False) -> Rows:
        """Run one SQL statement in the database of the app behind ``site``; ``""`` is its first database.

        Read-only unless ``write`` (set-up steps), which may be a script of several statements. Raises `TaskError` for
        a bad statement, `SiteError` when the database or the replica can't be reached.
        """
        arguments = {"site": site, "sql": sql, "database": database, "write": write}
        return decode(Rows, self._connection.call("query", lease=self.id, **arguments))

    def set_headers(self, site: str, headers: Mapping[str, str]) -> None:
        """Have the gateway add ``headers`` to every request to ``site``, and to no other; empty: none any more."""
        self._connection.call("headers", lease=self.id, site=site, headers=dict(headers))

    def join(self, other: Lease) -> None:
        """Serve the sites of ``other`` on this lease's gateway as well."""
        self._connection.call("join", lease=self.id, other=other.id)
        self.sites = {**self.sites, **other.sites}

    def logs(self, site: str, lines: int) -> str:
        """The last lines that the app behind ``site`` wrote."""
        text: str = self._connection.call("logs", lease=self.id, site=site, lines=lines)
        return text

    def check(self, *, ask: bool = False) -> None:
        """Raise `SiteError`, with exit code and last log lines, when a replica of this lease has died or hangs.

        ``ask`` has them asked in any case (a replica that hangs is given some 10 s); without it, that is done when the
        traffic gives reason to.
        """
        self._connection.call("check", lease=self.id, ask=ask)

    def own_answer(self, url: str, *, harness: bool = False) -> str:
        """What the gateway itself said when ``url`` was last requested by the agent's browser, or by the ``harness``:
        why it is refused, or that its site failed. Empty when a site answered."""
        said: str = self._connection.call("own_answer", lease=self.id, url=url, harness=harness)
        return said

    def answers(
        self, method: str, url: str, since: float = 0.0, *, harness: bool = False
    ) -> tuple[tuple[str, int | None], ...]:
        """State and status of the answers to such requests of the agent's browser, or of the ``harness``, since a Unix
        time: see `gateway.log.RequestLog.answers`."""
        said = self._connection.call("answers", lease=self.id, method=method, url=url, since=since, harness=harness)
        return tuple((state, status) for state, status in said)

    def keep(
        self, made: Mapping[str, Mapping[str, Mapping[str, Any]]], problems: Mapping[str, Mapping[str, str]]
    ) -> None:
        """End a lease of `BrokerClient.prepare`: later replicas start from this one, with these sessions.

        ``made`` are storage states and ``problems`` why there is none, both by site and account. Takes as long as the
        app's end and the copy of its state. That nothing can be kept is no error: then trials sign in by themselves.
        """
        with self._lock:
            if self._report is None:
                answer = self._connection.send("keep", lease=self.id, made=made, problems=problems)
                self._connection.wait_long(answer)
                self._report = ReleaseReport(clean=False, reason="later replicas start from it")

    def session_ended(self, site: str, user: str, number: int, why: str) -> None:
        """Tell that a session with which the replica started (`SiteAccess.sessions`) is not accepted."""
        self._connection.call("ended", lease=self.id, site=site, user=user, number=number, why=why)

    def session_refused(self, site: str) -> None:
        """Tell that a session made on another replica is not accepted, though the manifest says that it would be."""
        self._connection.call("refused", lease=self.id, site=site)

    def release(self) -> ReleaseReport:
        """Give the sites back; whether they were proved unchanged. Never raises, so that teardown hides no error."""
        with self._lock:
            if self._report is None:
                try:
                    self._report = decode(ReleaseReport, self._connection.call("release", lease=self.id))
                except WebArenaError as error:
                    self._report = ReleaseReport(clean=False, reason=str(error))
            return self._report


class _Connection:
    """One socket and the thread that reads it."""

    def __init__(self, address: str, name: str, waiting: Waiting) -> None:
        self._waiting = waiting
        self._numbers = itertools.count(1)
        self._answers: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._end: WebArenaError | None = None
        self._log = ""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(address)
        except OSError as error:
            self._socket.close()
            raise SiteError(f"expected the site broker at {address}, found nobody there: {error}") from error
        self._address = address
        threading.Thread(target=self._read, name=f"webarena-broker-client-{name}", daemon=True).start()

    def greet(self, name: str) -> None:
        """Say who is there, which comes before all else."""
        self._log = self.call("hello", version=VERSION, name=name, key=keys.key_for(self._address, name))["log"]

    @property
    def ended(self) -> bool:
        """Whether it is of no use any more."""
        return self._end is not None

    def call(self, operation: str, **arguments: Any) -> Any:
        """Send a request and wait for its result."""
        return self.wait(self.send(operation, **arguments), _ANSWER)

    def send(self, operation: str, **arguments: Any) -> Future[Any]:
        """Send a request; its result comes in the future."""
        answer: Future[Any] = Future()
        with self._lock:
            if self._end is not None:
                raise self._end
            number = next(self._numbers)
            self._answers[number] = answer
            # The reader tells why the other end went away, and fails this answer too.
            with contextlib.suppress(OSError):
                self._socket.sendall(line({"id": number, "op": operation, **arguments}))
        return answer

    def wait(self, answer: Future[Any], timeout: float) -> Any:
        """The result; `SiteError` when there is none within ``timeout`` seconds."""
        with contextlib.suppress(FutureTimeout):
            return answer.result(max(0.0, timeout - _ANSWER) + _PATIENCE)
        try:
            if answer.done():  # and raised a TimeoutError of its own
                return answer.result()
            with self._waiting("the site broker to answer"):
                return answer.result(_ANSWER - _PATIENCE)
        except FutureTimeout as error:
            if answer.done():  # a TimeoutError of its own, not ours
                raise
            raise SiteError(f"the site broker did not answer within {timeout:g} s; it may be overloaded") from error

    def wait_long(self, answer: Future[Any]) -> Any:
        """The result of what takes as long as it takes, such as a boot; `SiteError` when the broker is silent on all
        questions."""
        while True:
            try:
                return answer.result(_PATIENCE)
            except FutureTimeout:
                if answer.done():
                    raise
                self.call("status")

    def close(self, why: str) -> None:
        """End it; whoever waits is told ``why``."""
        self._end = self._end or SiteError(why)  # before the reader finds out; its lock may be a stuck sender's
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the reader, which closes
        self._finish(self._end)

    def abandon(self) -> None:
        """Close our copy of the descriptor only."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def _read(self) -> None:
        refused: WebArenaError | None = None
        with contextlib.suppress(OSError), self._socket.makefile("rb") as lines:
            for text in lines:
                message = json.loads(text)
                if message.get("id") is None:
                    refused = error_from(message["error"])
                    continue
                answer = self._answers.pop(message["id"], None)
                if answer is not None and "error" in message:
                    answer.set_exception(error_from(message["error"]))
                elif answer is not None:
                    answer.set_result(message["result"])
        log = f"; its log: {self._log}" if self._log else ""
        self._finish(refused or SiteError(f"the site broker ended while it was needed{log}"))
        self._socket.close()

    def _finish(self, end: WebArenaError) -> None:
        with self._lock:
            self._end = self._end or end
            answers, self._answers = self._answers, {}
        for answer in answers.values():
            answer.set_exception(self._end)


def _release_late(connection: _Connection, answer: Future[Any]) -> None:
    """Nobody waits for this lease any more: hand it back as soon as it is granted."""
    if not answer.cancelled() and answer.exception() is None and answer.result() is not None:
        with contextlib.suppress(WebArenaError):
            connection.send("release", lease=answer.result()["id"])
