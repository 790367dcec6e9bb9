"""The held leases, and the operations of their holders: traffic, changes, queries, logs, health."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytest_webarena.changes import SiteChanges
from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.evidence import QuietWait, ReachedSite, RequestRecord, Unfinished, Unrecorded
from pytest_webarena.sites.backends.base import Backend, InstancesBackend, KeepsLogs, Rows
from pytest_webarena.sites.broker.active_lease import ActiveLease
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.queued_work import QueuedWork
from pytest_webarena.sites.catalogues.archived import ARCHIVE
from pytest_webarena.sites.catalogues.manifest import Catalogue

__all__ = ["LeaseTable"]


class LeaseTable:
    """Held leases by id, with their operations. Lives on the broker's loop.

    Every operation raises `TaskError` for a lease that is not held, or no longer.
    """

    def __init__(self, catalogue: Catalogue, pool: Pool, backend: Callable[[str], Backend]) -> None:
        self._catalogue = catalogue
        self._pool = pool
        self._backend = backend
        self._held: dict[str, ActiveLease] = {}

    def __iter__(self) -> Iterator[ActiveLease]:
        return iter(self._held.values())

    def add(self, held: ActiveLease) -> ActiveLease:
        """Add a lease under its id."""
        self._held[held.lease.id] = held
        return held

    def find(self, lease: str) -> ActiveLease:
        """Returns the lease with this id."""
        if lease not in self._held:
            raise TaskError(f"{lease} has been released")
        return self._held[lease]

    def take(self, lease: str) -> ActiveLease | None:
        """Remove and return the lease with this id; None if there is none."""
        return self._held.pop(lease, None)

    async def visited(self, lease: str) -> list[ReachedSite]:
        """Returns the reachable sites that were visited so far, once all of them are available. Raises the error of one
        that is not."""
        held = self.find(lease)
        if held.reach is None:
            return []
        await held.reach.over()
        held.reach.check()
        return held.reach.reached()

    async def reached(self, lease: str) -> list[ReachedSite]:
        """Returns the reachable sites that were visited so far, whether or not they are available."""
        reach = self.find(lease).reach
        return reach.reached() if reach is not None else []

    async def requests(self, lease: str) -> list[RequestRecord]:
        """Returns the traffic of a lease's browser so far. Raises `SiteError` when a replica has died, because the
        traffic is then no evidence."""
        await self.check(lease)
        return self.find(lease).session.requests()

    async def writes(
        self, lease: str, timeout: float, quiet: float, reads: float, acted: float = 0.0
    ) -> list[Unfinished]:
        """Wait at most ``timeout`` seconds until no request that may change a site is in flight. Returns those that
        still are."""
        return await self.find(lease).session.wait_for_writes(timeout, quiet=quiet, reads=reads, acted=acted)

    async def quiet(self, lease: str, spent: float, once: bool, strict: bool) -> list[QuietWait]:
        """Wait until the lease's apps with the key ``quiet`` have no queued work left: see `QueuedWork.end`."""
        work = QueuedWork(pool=self._pool, apps=self._catalogue.apps, backend=self._backend, strict=strict)
        return await work.end(self.find(lease).leases, spent=spent, once=once)

    async def unrecorded(self, lease: str) -> list[Unrecorded]:
        """Returns what is missing in `requests` because of the size limit."""
        return self.find(lease).session.unrecorded()

    async def mark(self, lease: str, required: bool = False) -> None:
        """Mark the agent's start; `changes` compares with this moment. ``required`` records the data even where that
        is expensive."""
        held = self.find(lease)
        if held.ledger is not None:
            held.ledger.required = required
            for each in held.leases:
                await held.ledger.mark(each.replicas)

    async def changes(self, lease: str) -> list[SiteChanges]:
        """Returns what differs in the lease's replicas since `mark`, or since they were leased on a first visit.

        Raises `SiteError` when one has died.
        """
        await self.check(lease)
        held = self.find(lease)
        if held.ledger is None:
            return []
        found = []
        for each in held.leases:
            found += await held.ledger.changes(each.replicas, listed=each is held.lease)
        return found

    async def query(self, lease: str, site: str, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL in the database of a leased site's app; without a name, of the first site's app."""
        held = self.find(lease)
        name = site or next(iter(held.sites))
        if name not in held.sites:
            raise TaskError(f"expected a site of this lease ({', '.join(held.sites)}), found {name!r}")
        app = self._catalogue.apps[held.sites[name].app]
        if app.backend == ARCHIVE:
            raise SiteError(f"{name} is archived, and an archive has no database: only the site itself can be asked")
        return await self._pool.query(held.lease, app.name, database, sql, write=write)

    async def flip(self, lease: str, site: str, path: str) -> None:
        """Invert the last bit of a file of a leased site's app."""
        held = self.find(lease)
        if held.ledger is None or site not in held.sites:
            raise TaskError(f"expected a site of this lease whose data are compared, found {site!r}")
        await held.ledger.flip(held.lease.replicas, held.sites[site].app, path)

    async def logs(self, lease: str, site: str, lines: int) -> str:
        """Returns the end of the log of a leased site's app."""
        held = self.find(lease)
        app = self._catalogue.apps[self._catalogue.site(site).app]
        if app.name not in (replicas := held.lease.replicas):
            raise TaskError(f"expected a site of this lease ({', '.join(held.sites)}), found {site!r}")
        backend = self._backend(app.backend)
        if not isinstance(backend, KeepsLogs):
            return f"the backend {app.backend} keeps no logs"
        return await backend.logs(app, replicas[app.name], lines)

    async def headers(self, lease: str, site: str, headers: Mapping[str, str]) -> None:
        """Add headers to every request of the lease to one of its sites, e.g. to log a visitor in."""
        held = self.find(lease)
        if site not in held.sites:
            raise TaskError(f"expected a site of this lease ({', '.join(held.sites)}), found {site!r}")
        if any(route.host == held.sites[site].host and route.tls and not route.read for route in held.session.routes):
            raise SiteError(
                f"{site} comes by https unread, where no header can be added to requests: sign in by a form"
            )
        try:
            held.session.set_headers(held.sites[site].host, headers)
        except ValueError as error:
            raise SiteError(f"signing in to {site} by a header: {error}") from None

    async def check(self, lease: str, ask: bool = False) -> None:
        """Raise `SiteError` when a replica of the lease has died, or did not answer a request as a web server does.

        With ``ask``, or when its traffic is suspicious, all replicas are probed, which a frozen one does not pass.
        """
        await self.find(lease).check(self._pool, ask=ask)

    async def instance_problem(self, app: str, addresses: Mapping[str, str]) -> str:
        """Returns why an instance of an app that runs elsewhere can't be used, after its running reset; empty if it can
        be."""
        manifest = self._catalogue.apps[app]
        backend = self._backend(manifest.backend)
        return await backend.instance_problem(manifest, addresses) if isinstance(backend, InstancesBackend) else ""

    async def undisturbed(self, lease: str) -> bool:
        """Returns whether all replicas of the lease are as in `Pool.undisturbed`."""
        return all([await self._pool.undisturbed(each) for each in self.find(lease).leases])

    async def own_answer(self, lease: str, url: str, harness: bool = False) -> str:
        """Returns what the lease's gateway itself answered to the latest request for ``url``; empty when a site
        answered."""
        return self.find(lease).session.own_answer(url, harness=harness)

    async def answers(
        self, lease: str, method: str, url: str, since: float, harness: bool = False
    ) -> list[tuple[str, int | None]]:
        """Returns the results of such requests since a Unix time: see `gateway.log.RequestLog.answers`."""
        return self.find(lease).session.logs[-1 if harness else 0].answers(method, url, since)
