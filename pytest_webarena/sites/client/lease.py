"""A worker's side of the broker: leases sites, blocking and thread-safe, with the standard library only."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any

from pytest_webarena.changes import SiteChanges, changes_from_json
from pytest_webarena.errors import SiteError, WebArenaError
from pytest_webarena.evidence import QuietWait, ReachedSite, RequestRecord, Unfinished, Unrecorded
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.sites.backends.base import Rows
from pytest_webarena.sites.cleanup.private_directory import abandon_after_fork
from pytest_webarena.sites.client.connection import ANSWER, Connection, Waiting
from pytest_webarena.sites.protocol.messages import (
    Grant,
    LiveWishes,
    ReleaseReport,
    ReplicaInfo,
    SiteAccess,
    Trust,
)
from pytest_webarena.sites.protocol.report import BrokerStatus
from pytest_webarena.sites.protocol.wire import decode

__all__ = ["BrokerClient", "Lease", "ReleaseReport", "ReplicaInfo", "SiteAccess", "Trust"]

_CLOSED = "this client was closed"


class BrokerClient:
    """A client of the broker at ``address``. ``name`` (e.g. ``gw0``) identifies it to others, and selects its key.

    It connects on first use, and again after the broker has died and been replaced. Closing it, or the end of the
    process for any reason, releases its leases.
    """

    def __init__(self, address: str, *, name: str, waiting: Waiting = nullcontext, trusts: bool = True):
        """``trusts``: whether visitors of its leases can trust the run's certificate authority (`Lease.trust`).
        ``waiting`` returns a context manager that is active while a long wait should be reported."""
        self._address = address
        self._name = name
        self._waiting = waiting
        self._trusts = trusts
        self._lock = threading.Lock()
        self._greeting = threading.Lock()
        """Held while connecting, which may take long; closing this client must not wait for it."""
        self._connection: Connection | None = None
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
        max_age: float | None = None,
    ) -> Lease:
        """Lease the apps of ``sites`` in one atomic request, first come, first served.

        It waits up to ``timeout`` seconds, by default the run's lease time-out.

        Args:
            holder: name shown to others that wait for the sites.
            ahead: sites that will be leased next; their replicas start in the meantime.
            reach: further sites (``*``: all) that can be visited; each is leased with the browser's first request to
                it.
            now: those of ``reach`` that are leased at once.
            live: what the trial may do on live sites.
            max_age: maximum seconds since its replicas began to start (`Lease.undisturbed`).

        Raises `SiteError` (who holds what; why an app can't start) and `UsageError` (unknown site).
        """
        more: dict[str, Any] = {name: list(value) for name, value in (("reach", reach), ("now", now)) if value}
        if live is not None:
            more["live"] = live
        if max_age is not None:
            more["max_age"] = max_age
        lease = self._granted("lease", sites=list(sites), holder=holder, timeout=timeout, ahead=list(ahead), **more)
        assert lease is not None
        return lease

    def look(self, sites: Sequence[str]) -> Mapping[str, SiteAccess]:
        """Returns access information on sites without a lease. Raises `UsageError` for an unknown one."""
        return decode(Mapping[str, SiteAccess], self._connected().call("look", sites=list(sites)))  # type: ignore[type-abstract]

    def prepare(
        self, visits: Mapping[str, Mapping[str, int]], *, holder: str, timeout: float | None = None
    ) -> Lease | None:
        """Lease a replica on which to log accounts in before all later replicas start; end it with `Lease.keep`.

        ``visits`` is the number of trials per site and account. Returns None when there is nothing to do: all accounts
        are logged in, or can't be for all replicas, or it is not worth it. Waits while another worker does it.
        """
        return self._granted("prepare", visits=visits, holder=holder, timeout=timeout)

    def _granted(self, operation: str, **arguments: Any) -> Lease | None:
        connection = self._connected()
        if not self._trusts:
            arguments["trusts"] = False
        answer = connection.send(operation, **arguments)
        try:
            # The broker enforces the time limit, because its message says who holds what.
            grant = connection.wait_long(answer)
        except BaseException:
            answer.add_done_callback(lambda done: _release_late(connection, done))
            raise
        return Lease(connection, decode(Grant, grant)) if grant is not None else None

    def gateway(self) -> Lease:
        """Lease no site: a gateway to which other leases are joined, and whose proxy stays while they change."""
        connection = self._connected()
        return Lease(connection, decode(Grant, connection.call("gateway")))

    def status(self) -> BrokerStatus:
        """Returns the current replicas, holders and waiting requests."""
        return decode(BrokerStatus, self._connected().call("status"))

    def close(self, *, for_good: bool = False) -> None:
        """Release all leases of this client at once, and end all waiting for the broker.

        The client may be used again, unless it is closed ``for_good``: then later calls raise `SiteError`.
        """
        with self._lock:
            self._over = self._over or for_good
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(_CLOSED)

    def abandon(self) -> None:
        """Detach a forked child: the leases are the parent's."""
        self._lock, self._greeting = threading.Lock(), threading.Lock()
        if self._connection is not None:
            self._connection.abandon()
            self._connection = None

    def _connected(self) -> Connection:
        with self._greeting:
            with self._lock:
                if self._over:
                    raise SiteError(_CLOSED)
                if self._connection is not None and not self._connection.ended:
                    return self._connection
                made = self._connection = Connection(self._address, self._name, self._waiting)
            try:
                made.greet(self._name)
            except BaseException:
                made.close("it was not greeted")
                raise
            return made


class Lease:
    """Sites held by one task. A context manager; leaving it releases them."""

    def __init__(self, connection: Connection, grant: Grant) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._report: ReleaseReport | None = None
        self.id = grant.id
        self.proxy = f"http://127.0.0.1:{grant.port}"
        """Address of this lease's own gateway, to be set as the HTTP proxy of the agent's browser."""
        self.harness_proxy = f"http://127.0.0.1:{grant.harness_port}"
        """Proxy to the same sites for the harness's own requests, which `requests` leaves out."""
        self.sign_in_proxy = f"http://127.0.0.1:{grant.sign_in_port}"
        """The same for sign-ins, after which hosted apps need no reset."""
        self.sites: Mapping[str, SiteAccess] = grant.sites
        self.reach: Mapping[str, str] = grant.reach
        """Other sites that can be visited: base URLs by name."""
        self.replicas: tuple[ReplicaInfo, ...] = grant.replicas
        self.trust = grant.trust
        """Certificate authority that visitors of its https sites must trust; None: it has none."""
        self.live = grant.live
        """Restrictions for live sites; empty: it has none."""
        self.own_addresses = OwnAddresses(grant.own_addresses)
        """Names of all hosted sites of the catalogue."""
        self.waited = grant.waited
        """Seconds from the request to the grant."""

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release()

    def requests(self) -> tuple[RequestRecord, ...]:
        """Returns the requests through `proxy` so far, in order of arrival. Not available after the release.

        Raises `SiteError`, as `check` does, when a replica has died, because its responses are no evidence.
        """
        return tuple(decode(RequestRecord, record) for record in self._connection.call("requests", lease=self.id))

    def look(self, sites: Sequence[str]) -> Mapping[str, SiteAccess]:
        """Returns access information on sites of the catalogue, which this lease need not include."""
        return decode(Mapping[str, SiteAccess], self._connection.call("look", sites=list(sites)))  # type: ignore[type-abstract]

    def visited(self) -> tuple[ReachedSite, ...]:
        """Returns the sites of `reach` that were visited so far, after waiting until all are available. Raises the
        error of one that is not."""
        if not self.reach:
            return ()
        found = self._connection.wait_long(self._connection.send("visited", lease=self.id))
        return tuple(decode(ReachedSite, each) for each in found)

    def reached(self) -> tuple[ReachedSite, ...]:
        """Returns the sites of `reach` that were visited so far, whether or not they are available."""
        if not self.reach:
            return ()
        return tuple(decode(ReachedSite, each) for each in self._connection.call("reached", lease=self.id))

    def wait_for_writes(
        self, seconds: float, *, quiet: float = 0.0, reads: float = 0.0, acted: float = 0.0
    ) -> tuple[Unfinished, ...]:
        """Wait at most ``seconds`` until all requests that may change a site have finished. Returns the unfinished
        ones.

        Also waited for are other requests that began within the last ``reads`` seconds and have no response yet, but
        not those that pages repeat without the agent, as before the agent's first action, ``acted`` seconds ago.
        ``quiet`` is the number of seconds without a finished request that pages may react to; polling does not count.
        """
        answer = self._connection.send("writes", lease=self.id, timeout=seconds, quiet=quiet, reads=reads, acted=acted)
        unfinished = self._connection.wait(answer, seconds + ANSWER)
        return tuple(decode(Unfinished, each) for each in unfinished)

    def wait_until_quiet(self, *, spent: float = 0, once: bool = False, strict: bool = False) -> tuple[QuietWait, ...]:
        """Wait until apps have no queued work left, as `QueuedWork` does; ``strict`` raises its `TaskError`."""
        answer = self._connection.send("quiet", lease=self.id, spent=spent, once=once, strict=strict)
        return tuple(decode(QuietWait, each) for each in self._connection.wait_long(answer))

    def unrecorded(self) -> tuple[Unrecorded, ...]:
        """Returns what is missing in `requests` because of the size limit."""
        return tuple(decode(Unrecorded, each) for each in self._connection.call("unrecorded", lease=self.id))

    def mark(self, *, required: bool = False) -> None:
        """Record the content of the sites for `changes`: where that is cheap, or the manifest requires it, or
        ``required``."""
        self._connection.wait_long(self._connection.send("mark", lease=self.id, required=required))

    def changes(self) -> tuple[SiteChanges, ...]:
        """Returns what differs since `mark`; for sites that were visited later, since they were leased. Raises as
        `check` does."""
        found = self._connection.wait_long(self._connection.send("changes", lease=self.id))
        return tuple(changes_from_json(each) for each in found)

    def query(self, site: str, sql: str, *, database: str = "", write: bool = False) -> Rows:
        """Run one SQL statement in the database of the app of ``site``; ``""`` is its first database.

        It is read-only unless ``write`` (for set-up steps), which allows a script of several statements. Raises
        `TaskError` for a bad statement, `SiteError` when the database or the replica can't be reached.
        """
        arguments = {"site": site, "sql": sql, "database": database, "write": write}
        return decode(Rows, self._connection.call("query", lease=self.id, **arguments))

    def flip(self, site: str, path: str) -> None:
        """Invert the last bit of a file of the app of ``site``, by its path in the data folder; again to restore it.

        Raises `TaskError` if that is impossible.
        """
        self._connection.call("flip", lease=self.id, site=site, path=path)

    def set_headers(self, site: str, headers: Mapping[str, str]) -> None:
        """Let the gateway add ``headers`` to every request to ``site`` only; an empty mapping removes them."""
        self._connection.call("headers", lease=self.id, site=site, headers=dict(headers))

    def join(self, other: Lease) -> None:
        """Serve the sites of ``other`` on this lease's gateway as well."""
        self._connection.call("join", lease=self.id, other=other.id)
        self.sites = {**self.sites, **other.sites}

    def logs(self, site: str, lines: int) -> str:
        """Returns the last log lines of the app of ``site``."""
        text: str = self._connection.call("logs", lease=self.id, site=site, lines=lines)
        return text

    def check(self, *, ask: bool = False) -> None:
        """Raise `SiteError`, with exit code and last log lines, when a replica of this lease has died or hangs.

        With ``ask`` all replicas are probed (a hung one gets some 10 s); without it, only if the traffic is suspicious.
        """
        self._connection.call("check", lease=self.id, ask=ask)

    def undisturbed(self) -> bool:
        """Returns whether its replicas began to start at most ``max_age`` seconds before the request, and no signal
        ended or stopped one of their processes. False for sites that run elsewhere, and for older shared replicas."""
        answer: bool = self._connection.call("undisturbed", lease=self.id)
        return answer

    def instance_problem(self) -> str:
        """Returns which instance that runs elsewhere can't be used after its reset, and why; empty if all can be.

        Also available after the release.
        """
        for replica in self.replicas:
            if replica.addresses:
                answer = self._connection.send("instance", app=replica.app, addresses=dict(replica.addresses))
                if problem := self._connection.wait_long(answer):
                    return f"{replica.app} at {', '.join(replica.addresses.values())}: {problem}"
        return ""

    def own_answer(self, url: str, *, harness: bool = False) -> str:
        """Returns the gateway's own answer to the last request for ``url`` by the agent's browser, or by the
        ``harness``: why it was refused, or that its site failed. Empty when a site answered."""
        answer: str = self._connection.call("own_answer", lease=self.id, url=url, harness=harness)
        return answer

    def answers(
        self, method: str, url: str, since: float = 0.0, *, harness: bool = False
    ) -> tuple[tuple[str, int | None], ...]:
        """Returns state and status of the responses to such requests of the agent's browser, or of the ``harness``,
        since a Unix time: see `gateway.log.RequestLog.answers`."""
        replies = self._connection.call("answers", lease=self.id, method=method, url=url, since=since, harness=harness)
        return tuple((state, status) for state, status in replies)

    def keep(
        self, made: Mapping[str, Mapping[str, Mapping[str, Any]]], problems: Mapping[str, Mapping[str, str]]
    ) -> None:
        """End a lease of `BrokerClient.prepare`: later replicas start from this one, with these sessions.

        ``made`` are storage states and ``problems`` why there is none, both by site and account. It takes as long as
        the app's end and the copy of its state. A failure is no error: trials then log in themselves.
        """
        with self._lock:
            if self._report is None:
                answer = self._connection.send("keep", lease=self.id, made=made, problems=problems)
                self._connection.wait_long(answer)
                self._report = ReleaseReport(problem="later replicas start from it")

    def session_ended(self, site: str, user: str, number: int, why: str) -> None:
        """Report that a replica does not accept a session with which it started (`SiteAccess.sessions`)."""
        self._connection.call("ended", lease=self.id, site=site, user=user, number=number, why=why)

    def session_refused(self, site: str) -> None:
        """Report that a replica does not accept a session made on another one, although the manifest says that it
        would."""
        self._connection.call("refused", lease=self.id, site=site)

    def release(self) -> ReleaseReport:
        """Release the sites, and return whether they were proved unchanged. Never raises, so that it hides no error in
        teardown."""
        with self._lock:
            if self._report is None:
                try:
                    self._report = decode(ReleaseReport, self._connection.call("release", lease=self.id))
                except WebArenaError as error:
                    self._report = ReleaseReport(problem=str(error))
            return self._report


def _release_late(connection: Connection, answer: Future[Any]) -> None:
    """Release a lease that is granted after its requester stopped waiting."""
    if not answer.cancelled() and answer.exception() is None and answer.result() is not None:
        with contextlib.suppress(WebArenaError):
            connection.send("release", lease=answer.result()["id"])
