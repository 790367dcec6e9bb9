"""Sites that a lease can reach in addition to its own sites: each is leased with the first request to it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteAbsent, SiteError, SiteMissing, SiteUnreached, SiteUnready, WebArenaError
from pytest_webarena.evidence import ReachedSite
from pytest_webarena.gateway.off_archive import is_below
from pytest_webarena.gateway.server_certificates import client_tls
from pytest_webarena.gateway.session import GatewaySession
from pytest_webarena.gateway.upstream import Arrival, NotAvailable
from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.broker.ledgers import Ledger
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.pool_lease import PoolLease
from pytest_webarena.sites.catalogues.archived import ARCHIVE, unneeded_of
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.live import LIVE
from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue, SiteManifest
from pytest_webarena.sites.catalogues.units import unit_of

__all__ = ["ALL", "ReachableSites", "endpoint", "reachable", "serve", "unreached"]

_log = logging.getLogger(__name__)

ALL = "*"
"""Used instead of names: every site of the catalogue."""


def reachable(
    catalogue: Catalogue, names: Collection[str], *, leased: Iterable[SiteManifest], unreset: bool
) -> tuple[SiteManifest, ...]:
    """Returns the sites called ``names`` (`ALL`: every one) that a lease of the sites ``leased`` may visit.

    Left out are apps that others depend on, which are leased with these; live sites, which only tasks that list them
    may visit; and sites that run elsewhere, unless the run may leave them changed (``unreset``), they are reset, or
    they are read-only and reached by plain HTTP, so that the gateway can enforce it. Raises `UsageError` for an unknown
    name.
    """
    served = {site.host for site in leased}
    parts = {name for app in catalogue.apps.values() for name in app.depends_on}
    found: dict[str, SiteManifest] = {}
    for site in catalogue.sites.values() if ALL in names else map(catalogue.site, names):
        app = catalogue.apps[site.app]
        if site.host in served or site.host in found or app.name in parts or app.backend == LIVE:
            continue
        is_kept = app.reset is not None or (app.read_only and site.url.startswith("http:"))
        if app.backend == EXTERNAL and not unreset and not is_kept:
            continue
        found[site.host] = site
    return tuple(found.values())


@dataclass(slots=True, eq=False)
class _Visit:
    """The first visit of a unit, and its result."""

    began: float
    task: asyncio.Task[None] | None = None
    lease: PoolLease | None = None
    waited: float = 0.0
    """Seconds until it was available, or failed."""
    error: WebArenaError | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class ReachableSites:
    """The sites that one lease may visit in addition to its own. Lives on the broker's loop."""

    catalogue: Catalogue
    pool: Pool
    session: GatewaySession
    lease: PoolLease
    """Lease of the original sites."""
    sites: Sequence[SiteManifest]
    holder: str
    timeout: float
    """Seconds that a first visit may wait."""
    read: bool
    """Whether the gateway terminates TLS."""
    hosts: dict[str, str]
    """App by host, for everything that can be reached; new hosts are added here."""
    ledger: Ledger | None = None
    """Ledger that records the content of replicas when they are leased."""
    _visits: dict[str, _Visit] = field(default_factory=dict)
    """Visits by the unit's lead app."""

    def _unit(self, site: SiteManifest) -> str:
        """Returns the lead app of the site's unit; apps of one unit are leased together, whichever is visited first."""
        return unit_of(self.catalogue.apps, site.app).lead.name

    def open(self) -> None:
        """Let the gateway serve all sites: those that the lease holds at once, the others when they become
        available."""
        for site in self.sites:
            self.hosts[site.host] = site.app
            app = self.catalogue.apps[site.app]
            if self.lease.slot(app.name) is not None:
                serve(self.session, app, site, self.lease.replicas[app.name], read=self.read)
            else:
                serve(self.session, app, site, None, self._arrival(site), read=self.read)
                if len(site.hosted) == 1:
                    self.session.settle(site.host, site.hosted[0])

    def _arrival(self, site: SiteManifest) -> Arrival:
        async def arrive() -> tuple[str, int]:
            unit = self._unit(site)
            visit = self._visits.get(unit)
            if visit is None:
                visit = self._visits[unit] = _Visit(began=time.monotonic())
                visit.task = asyncio.get_running_loop().create_task(self._begin(site, visit))
            if visit.task is not None:
                # A browser that navigates away does not cancel it: the next request will need the same.
                await asyncio.shield(visit.task)
            if visit.error is not None or visit.lease is None:
                raise NotAvailable(str(visit.error or "its trial is over"))
            replica = visit.lease.replicas[site.app]
            self.session.settle(site.host, replica.addresses.get(site.name, ""))
            return endpoint(site, replica)

        return arrive

    async def _begin(self, site: SiteManifest, visit: _Visit) -> None:
        """Lease the site's app with its dependencies. `check` raises the error."""
        _log.info("%s visits %s for the first time", self.holder, site.name)
        apps = [app.name for app in self.catalogue.apps_of([site.name]) if self.lease.slot(app.name) is None]
        try:
            visit_holder = f"{self.holder}, on its first visit of {site.name}"
            visit.lease = await self.pool.lease(apps, holder=visit_holder, timeout=self.timeout, held=self.lease)
        except SiteUnreached as error:
            visit.error = error
        except (SiteMissing, SiteUnready) as error:
            visit.error = SiteAbsent(f"{_where(site)} is not on this machine: {error}")
        except WebArenaError as error:
            visit.error = SiteUnreached(f"{_where(site)} was not available: {error}")
        else:
            for app in apps[1:]:  # its pages may call its dependencies
                for other in self.catalogue.apps[app].sites:
                    self.hosts[other.host] = app
                    serve(self.session, self.catalogue.apps[app], other, visit.lease.replicas[app], read=self.read)
            if self.ledger is not None:
                await self.ledger.mark(visit.lease.replicas)
            self.pool.record_handover(visit.lease)
        finally:
            visit.waited = time.monotonic() - visit.began

    @property
    def leases(self) -> tuple[PoolLease, ...]:
        """Leases of first visits."""
        return tuple(visit.lease for visit in self._visits.values() if visit.lease is not None)

    def check(self) -> None:
        """Raise the error of a visited site that was not available."""
        for visit in self._visits.values():
            if visit.error is not None:
                raise visit.error

    async def over(self) -> None:
        """Wait until no first visit is running."""
        while under_way := [visit.task for visit in self._visits.values() if visit.task and not visit.task.done()]:
            await asyncio.wait(under_way)

    def reached(self) -> list[ReachedSite]:
        """Returns the sites that were visited so far, whether or not they were available."""
        found = []
        for site in self.sites:
            if site.host not in self.session.visited_hosts:
                continue
            visit = self._visits.get(self._unit(site))
            lease = visit.lease if visit is not None else self.lease
            replica = lease.replicas[site.app] if lease is not None else None
            found.append(
                ReachedSite(
                    site=site.name,
                    app=site.app,
                    url=site.url,
                    shared=self.catalogue.apps[site.app].read_only,
                    replica=replica.id if replica is not None else "",
                    digest=replica.digest if replica is not None else "",
                    waited=round(visit.waited, 4) if visit is not None else 0.0,
                    changed=self.session.unsafe_hosts.get(site.host, ""),
                )
            )
        return found

    async def close(self) -> None:
        """Cancel all first visits."""
        tasks = [visit.task for visit in self._visits.values() if visit.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _where(site: SiteManifest) -> str:
    return f"the site {site.name}, which is reachable although the task does not list it,"


def endpoint(site: SiteManifest, replica: Replica) -> tuple[str, int]:
    """Returns host and port at which a replica serves a site."""
    own = urlsplit(replica.addresses.get(site.name, ""))
    if not own.hostname:
        return replica.host, replica.ports.get(site.name) or site.port or replica.port
    return own.hostname, own.port or (443 if own.scheme == "https" else 80)


def serve(
    session: GatewaySession,
    app: AppManifest,
    site: SiteManifest,
    replica: Replica | None,
    arrival: Arrival | None = None,
    *,
    read: bool = True,
) -> None:
    """Let a gateway serve a site of ``app`` by ``replica``; without one, by the replica that ``arrival`` waits for.

    ``read``: whether the gateway terminates TLS, which requires a browser that trusts the run's certificate authority.
    """
    parts = urlsplit(site.url)
    tls = parts.scheme == "https"
    named = bool(site.hosted) and not site.base
    address = replica.addresses.get(site.name, "") if replica is not None else ""
    if site.https and not named:
        session.add_environment_header(site.host, "X-Forwarded-Proto", "https")
    if site.http_credentials is not None:
        session.add_environment_header(site.host, "Authorization", site.http_credentials.authorization)
    session.route(
        site.host,
        *(endpoint(site, replica) if replica is not None else ("", 0)),
        port=parts.port or (443 if parts.scheme == "https" else 80),
        tls=tls,
        read=tls and read,
        secure=client_tls(app.certificate_authority) if tls and app.backend == EXTERNAL else None,
        archived=app.backend == ARCHIVE,
        unneeded=app.backend == ARCHIVE and is_below(site.host, unneeded_of(app)),
        arrival=arrival,
        reads=app.reads if app.read_only and app.backend != ARCHIVE else None,
        address=address if named else None,
    )
    if replica is not None:
        unneeded = unneeded_of(app) if replica.origins else ()
        for origin in replica.origins:
            _serve_archived(session, origin, replica, read=read, unneeded=unneeded)


def _serve_archived(
    session: GatewaySession, origin: str, replica: Replica, *, read: bool, unneeded: tuple[str, ...]
) -> None:
    """Serve one address that an archive contains, and the same with the other scheme. Existing routes are kept."""
    parts = urlsplit(origin)
    at = (parts.hostname or "").lower()
    at = f"[{at}]" if ":" in at else at
    endpoints = {(parts.port or (443 if parts.scheme == "https" else 80), parts.scheme == "https")}
    if parts.port is None:
        endpoints |= {(80, False), (443, True)}
    for number, tls in endpoints:
        if not session.serves(at, number) and (read or not tls):
            session.route(
                at, replica.host, replica.port, port=number, tls=tls, read=tls, archived=True,
                unneeded=is_below(at, unneeded),
            )  # fmt: skip


def unreached(error: SiteError, listed_fault: bool) -> SiteError:
    """Returns the ``error`` of a lease of listed and other sites, converted to `SiteUnreached` or `SiteAbsent` unless
    the listed sites are at fault."""
    if listed_fault:
        return error
    kind = SiteAbsent if isinstance(error, SiteMissing | SiteUnready) else SiteUnreached
    return kind(f"a site that the task does not list, and that an earlier attempt visited, was not available: {error}")
