"""The broker's operations for clients: leases of sites, each with a gateway of its own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import SiteError, TaskError, WebArenaError
from pytest_webarena.gateway.authority import Authority
from pytest_webarena.gateway.hosted import OwnAddressRoute
from pytest_webarena.gateway.session import Gateway, GatewaySession
from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.broker.active_lease import ActiveLease
from pytest_webarena.sites.broker.backend_set import BackendSet
from pytest_webarena.sites.broker.lease_table import LeaseTable
from pytest_webarena.sites.broker.ledgers import Ledger
from pytest_webarena.sites.broker.live_leases import (
    observe_off_archive,
    open_live_sites,
    replica_sites,
    share_web_access,
)
from pytest_webarena.sites.broker.other_hosts import OtherHosts, share_other_hosts
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.pool_lease import PoolLease
from pytest_webarena.sites.broker.reachable_sites import ReachableSites, reachable, serve, unreached
from pytest_webarena.sites.broker.replica_set import ReplicaDied
from pytest_webarena.sites.broker.sessions import Problems, Sessions, SignInTurn, States, Visits
from pytest_webarena.sites.broker.settings import BrokerSettings
from pytest_webarena.sites.broker.sizing import Budget, ReplicaSetLimits, size_of
from pytest_webarena.sites.broker.slot import State
from pytest_webarena.sites.broker.traffic import unsafe_by_app
from pytest_webarena.sites.broker.trust import is_ours, require_trust
from pytest_webarena.sites.broker.unreset import mark_spoiled
from pytest_webarena.sites.catalogues.account_checks import unnamed_accounts
from pytest_webarena.sites.catalogues.manifest import Catalogue, SiteManifest
from pytest_webarena.sites.catalogues.units import Unit, units_of
from pytest_webarena.sites.cleanup.private_directory import ReaperProcess
from pytest_webarena.sites.protocol.messages import Grant, LiveWishes, ReleaseReport, ReplicaInfo, SiteAccess, Trust
from pytest_webarena.sites.protocol.report import BrokerReport, BrokerStatus
from pytest_webarena.sites.protocol.waits import Waiting, Waits

if TYPE_CHECKING:
    from pytest_webarena.sites.broker.recording import Recording

__all__ = ["LeaseService"]

_log = logging.getLogger(__name__)
_TICK = 0.2


class LeaseService:
    """Leases sites: a pool of replicas, and a gateway session for each lease. Lives on one event loop."""

    def __init__(self, catalogue: Catalogue, settings: BrokerSettings, guard: ReaperProcess, run: str) -> None:
        self.catalogue = catalogue
        self.settings = settings
        self._started = time.monotonic()
        self._backends = BackendSet(
            catalogue, settings.directory, guard, run, pulls=settings.pulls, note=self._note,
            reset_proofs=Path(settings.reset_proofs) if settings.reset_proofs else None,
        )  # fmt: skip
        self._authority = cache(Authority)
        self._recording = _recording(settings.record, catalogue)
        self._gateway = Gateway(
            authority=self._authority,
            keep=self._recording.keep if self._recording is not None else None,
            own_addresses=catalogue.own_addresses,
        )
        self._pool = Pool(catalogue.apps, self._backends.get, self._limits, budget=Budget(settings.memory))
        self._sessions = Sessions(catalogue, self._pool)
        self._other_hosts = OtherHosts()
        self.held = LeaseTable(catalogue, self._pool, self._backends.get)
        """The held leases, and their operations."""
        self._waits: tuple[Waiting, ...] = ()
        self._published = Waits(settings.directory.parent / "waits", "broker")
        self._work: set[asyncio.Task[Any]] = set()

    async def look(self, sites: Sequence[str]) -> Mapping[str, SiteAccess]:
        """Returns access information on sites without a lease."""
        return {name: self._access(self.catalogue.site(name)) for name in sites}

    async def lease(
        self,
        sites: Sequence[str],
        *,
        holder: str,
        timeout: float | None,
        register: Callable[[str], None],
        ahead: Sequence[str] = (),
        reach: Sequence[str] = (),
        now: Sequence[str] = (),
        trusts: bool = True,
        live: LiveWishes | None = None,
        max_age: float | None = None,
    ) -> Grant:
        """Lease the apps of ``sites`` and open a gateway to them. ``register`` receives the id before anything can
        fail.

        Args:
            ahead: sites that the client will lease next.
            reach: sites (`reachable_sites.ALL`: all) that may be visited in addition, and are leased on the first
                visit.
            now: those of ``reach`` that are leased at once.
            trusts: whether the client's browser can trust the run's certificate authority. Otherwise https sites that
                run elsewhere are tunnelled without being read, and other https sites can't be visited.
            live: what the lease may do on live sites.
            max_age: as in `Pool.lease`.
        """
        if not sites:
            raise TaskError("a lease needs at least one site")
        chosen = {name: self.catalogue.site(name) for name in sites}
        requested_apps = {site.app for site in chosen.values()}
        apps = [app.name for app in self.catalogue.apps_of(sites)]
        wait = self.settings.lease_timeout if timeout is None else timeout
        next_ones = [app.name for app in self.catalogue.apps_of(ahead)]
        parts = [
            site
            for app in apps
            for site in self.catalogue.apps[app].sites
            if app not in requested_apps or (site.stand_in and site.name not in chosen)
        ]
        served = [*chosen.values(), *parts]
        others = reachable(self.catalogue, reach, leased=served, unreset=self.settings.allow_unreset) if reach else ()
        if not trusts:
            require_trust(served, (self.catalogue.apps[app] for app in apps))
            others = tuple(site for site in others if not is_ours(site))
        leased_now = self.catalogue.apps_of([site.name for site in others if site.name in now])
        every = [*apps, *(app.name for app in leased_now if app.name not in apps)]
        try:
            lease = await self._pool.lease(every, holder=holder, timeout=wait, ahead=next_ones, max_age=max_age)
        except SiteError as error:
            raise unreached(error, self._pool.failing(apps) or len(every) == len(apps)) from None
        try:
            session = await self._gateway.open()
            live_restrictions = open_live_sites(
                session, (self.catalogue.apps[app] for app in apps), self._backends.get, live
            )
        except BaseException:
            self._background(self._pool.release(lease, unsafe={}))
            raise
        replicas = {app: lease.replicas[app] for app in apps}
        for site in replica_sites(
            served, self.catalogue.apps, self._backends.get
        ):  # also of dependencies, because pages may call them
            serve(session, self.catalogue.apps[site.app], site, replicas[site.app], read=trusts)
        visited = [self.catalogue.apps[app] for app in dict.fromkeys(site.app for site in (*served, *others))]
        observe_off_archive(session, visited, live, read=trusts)
        self._other_hosts.open(session, visited, read=trusts)
        reachable_names = ", ".join((*chosen, *(site.name for site in others)))
        for site in (*served, *others):
            if site.reach_header:
                session.add_environment_header(site.host, site.reach_header, reachable_names)
        hosts = {site.host: site.app for site in served}
        ledger = Ledger(apps=self.catalogue.apps, backend=self._backends.get)
        held = self.held.add(ActiveLease(lease=lease, session=session, sites=chosen, hosts=hosts, ledger=ledger))
        if others:
            held.reach = ReachableSites(
                catalogue=self.catalogue, pool=self._pool, session=session, lease=lease, sites=others, holder=holder,
                timeout=wait, hosts=hosts, read=trusts, ledger=ledger,
            )  # fmt: skip
            held.reach.open()
        register(lease.id)
        self._pool.record_handover(lease)
        return Grant(
            id=lease.id,
            port=session.port,
            harness_port=session.harness_port,
            sign_in_port=session.sign_in_port,
            waited=lease.waited,
            sites={name: self._access(site, replicas[site.app]) for name, site in chosen.items()},
            replicas=tuple(
                ReplicaInfo(
                    app=app,
                    id=replica.id,
                    generation=replica.generation,
                    backend=self.catalogue.apps[app].backend,
                    digest=replica.digest,
                    program=replica.program.digest if replica.program is not None else "",
                    program_changes=replica.program.changed if replica.program is not None else (),
                    addresses=replica.addresses,
                    reset_seconds=replica.reset_seconds,
                )
                for app, replica in replicas.items()
            ),
            reach={site.name: site.url for site in others},
            trust=self._trust(session),
            live=live_restrictions,
            own_addresses=self.catalogue.own_addresses,
        )

    def _trust(self, session: GatewaySession) -> Trust | None:
        """Returns what a browser must trust to visit the sites of a gateway; an authority is created when it is first
        needed."""
        routes = session.routes
        if routes.world is None and routes.other_hosts is None and not any(route.read for route in routes):
            return None
        authority = self._authority()
        return Trust(spki=authority.spki, certificate=authority.certificate)

    async def prepare(
        self,
        visits: Visits,
        *,
        holder: str,
        timeout: float | None,
        register: Callable[[str], None],
        trusts: bool = True,
    ) -> Grant | None:
        """Lease a replica on which to log in accounts of ``visits``, until `keep`; None when no account needs it."""
        wait = self.settings.lease_timeout if timeout is None else timeout
        turn = await self._sessions.turn(visits, wait=wait)
        if turn is None:
            return None
        try:
            grant = await self.lease(
                list(turn.missing), holder=holder, timeout=timeout, register=register, trusts=trusts
            )
        except BaseException:
            turn.end()
            raise
        self.held.find(grant.id).turn = turn
        return grant

    async def keep(self, lease: str, made: States, problems: Problems) -> None:
        """End a lease of `prepare`: later replicas start from its replica, on which ``made`` lists the logged-in
        accounts."""
        held = self.held.find(lease)
        if held.turn is None:
            raise TaskError(f"expected a lease to sign in on, found {lease}")
        self.held.take(lease)
        await asyncio.shield(self._background(self._keep(held, held.turn, made, problems)))

    async def _keep(self, held: ActiveLease, turn: SignInTurn, made: States, problems: Problems) -> None:
        sessions, name = turn.sessions, turn.sessions.app.name
        for site, users in turn.missing.items():
            for user in set(users) - set(made.get(site, ())):
                sessions.failed(site, user, problems.get(site, {}).get(user, "no session was stored"))
        if not any(made.values()):
            turn.end()
            await self._release(held)
            return
        born = held.lease.replicas[name].edition
        try:
            unsafe = await self._cut(held)
            edition = await self._pool.keep(held.lease, name, unsafe=unsafe)
        except ReplicaDied as error:  # another replica may work
            for site, states in made.items():
                for user in states:
                    sessions.failed(site, user, str(error))
        except WebArenaError as error:
            sessions.give_up(((site, user) for site, users in made.items() for user in users), str(error))
        else:
            sessions.keep(made, born=born, edition=edition)
        finally:
            turn.end()

    async def ended(self, lease: str, site: str, user: str, number: int, why: str) -> None:
        """Record that a leased replica did not accept a stored session that it had from its start."""
        held = self.held.find(lease)
        if site in held.sites:
            self._sessions.app(held.sites[site].app).ended(site, user, number, why)

    async def refused(self, lease: str, site: str) -> None:
        """Record that a leased replica did not accept a session made on another one."""
        held = self.held.find(lease)
        if site in held.sites:
            self._sessions.app(held.sites[site].app).refused(site)

    async def release(self, lease: str) -> ReleaseReport:
        """Close the lease's gateway, then release its replicas."""
        held = self.held.take(lease)
        if held is None:
            return ReleaseReport(problem=f"{lease} is not held")
        # Not cancelled with the client's connection, because half a release would lose replicas.
        return await asyncio.shield(self._background(self._release(held)))

    def release_soon(self, leases: Iterable[str]) -> None:
        """Release leases in the background after their client has disconnected."""
        for lease in leases:
            if (held := self.held.take(lease)) is not None:
                _log.info("%s went away with %s", held.lease.holder, lease)
                self._background(self._release(held))

    async def _release(self, held: ActiveLease) -> ReleaseReport:
        try:
            unsafe = await self._cut(held)
            reasons: dict[str, str] = {}
            for lease in held.leases:
                reasons |= await self._pool.release(lease, unsafe=unsafe)
        finally:
            if held.turn is not None:
                held.turn.end(why="whoever was to sign in gave the replica back")
        return ReleaseReport(reasons=reasons)

    async def _cut(self, held: ActiveLease) -> Mapping[str, str]:
        """Close the gateways of a lease. Returns, by app, why its traffic may have changed it, or may still do so."""
        if held.reach is not None:
            await held.reach.close()
        for session in held.sessions:
            await session.close()  # closing records what is in flight
        needs = {app.name: app.depends_on for app in self.catalogue.apps.values()}
        resets = [app.name for app in self.catalogue.apps.values() if app.reset is not None]  # too slow for sign-ins
        mark_spoiled(held, self.catalogue if self.settings.protect_unreset else None)
        return unsafe_by_app(held.sessions, held.hosts, needs, allows_sign_ins=resets)

    async def gateway(self, *, register: Callable[[str], None]) -> Grant:
        """Open a gateway that serves nothing yet. `join` adds sites to it, which may change while its port stays."""
        session = await self._gateway.open()
        name = f"gateway-{session.port}"
        lease = PoolLease(id=name, holder=name, waited=0.0, slots={})
        self.held.add(ActiveLease(lease=lease, session=session, sites={}))
        register(name)
        return Grant(
            id=name, port=session.port, harness_port=session.harness_port, sign_in_port=session.sign_in_port,
            waited=0.0, sites={}, replicas=(),
        )  # fmt: skip

    async def join(self, lease: str, other: str) -> None:
        """Serve the sites of ``other`` on the gateway of ``lease`` as well, replacing those with the same hosts."""
        held, more = self.held.find(lease), self.held.find(other)
        held.sites = {**held.sites, **more.sites}
        for route in more.session.routes:
            if isinstance(route, OwnAddressRoute):  # comes with the site's name
                continue
            to = route.upstream_host, route.upstream_port
            held.session.route(
                route.host, *to, port=route.port, tls=route.tls, read=route.read, secure=route.secure,
                archived=route.archived, unneeded=route.unneeded, arrival=route.arrival, reads=route.reads,
                address=route.own_address,
            )  # fmt: skip
        share_web_access(held.session, more.session)
        share_other_hosts(held.session, more.session)
        for slot in more.slots.values():  # its own gateway sees none of the traffic
            slot.touched = slot.touched or "it was visited through another gateway"

    def status(self, pid: int) -> BrokerStatus:
        """Returns the current status of everything."""
        apps, waiting = self._pool.status()
        seconds = time.monotonic() - self._started
        return BrokerStatus(pid=pid, catalogue=self.catalogue.name, seconds=seconds, apps=apps, waiting=waiting)

    async def watch(self) -> None:
        """Handle time-outs and dead replicas, for ever."""
        while True:
            await asyncio.sleep(_TICK)
            try:
                await self._pool.tick()
                self._report_broken()
                self._publish_waits()
            except Exception:
                _log.exception("the pool's tick failed")

    def _report_broken(self) -> None:
        """Let requests to a replica that has died fail at once instead of waiting for its port."""
        for held in self.held:
            for route in held.session.routes:
                slot = held.slot(held.hosts.get(route.host, ""))
                if slot is not None and slot.state is State.BROKEN:
                    route.mark_down()

    def _publish_waits(self) -> None:
        now = time.time()
        since_by_wait = {wait.what: wait.since for wait in self._waits}
        self._waits = tuple(
            Waiting(what=what, since=since_by_wait.get(what, now - seconds))
            for what, seconds in dict(self._pool.waits()).items()
        )
        self._published.publish(self._waits)

    def report(self) -> BrokerReport:
        """Returns the figures of the run so far."""
        apps = self._pool.report()
        leased = [name for name, app in apps.items() if app.leases]
        problems = (self._recording.problem,) if self._recording is not None and self._recording.problem else ()
        notes = (*self._pool.late_program_changes(), *self._sessions.notes, *unnamed_accounts(self.catalogue, leased))
        return BrokerReport(
            catalogue=self.catalogue.name,
            seconds=time.monotonic() - self._started,
            apps=apps,
            problems=(*problems, *(each for app in apps.values() for each in app.problems)),
            notes=notes,
        )

    async def close(self) -> None:
        """End all leases, replicas and gateways."""
        await self._pool.close()
        await self._gateway.close()
        if self._recording is not None:
            self._recording.close()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await self._backends.close()

    def _note(self, app: str, text: str) -> None:
        self._pool.note(app, text)

    def _access(self, site: SiteManifest, replica: Replica | None = None) -> SiteAccess:
        app = self.catalogue.apps[site.app]
        return SiteAccess(
            name=site.name,
            app=app.name,
            url=site.url,
            start=site.start_url,
            users=app.users,
            default_user=site.default_user,
            login=app.login.get(site.name),
            api=site.api,
            forbid_side_effects=app.forbid_side_effects and not app.read_only,
            engines=units_of(self.catalogue.apps)[app.name].engines(app.name),
            sessions=self._sessions.of(app.name, site.name, replica.edition if replica is not None else 0),
        )

    def _limits(self, unit: Unit) -> ReplicaSetLimits:
        app = unit.lead
        if app.read_only:
            return ReplicaSetLimits(replicas=1, spares=0)
        most = [one.max_replicas for one in unit.apps if one.max_replicas is not None]
        fixed = [one.spares for one in unit.apps if one.spares is not None]
        spares = max(fixed) if fixed else self.settings.spares
        return ReplicaSetLimits(
            replicas=min(most) if most else self.settings.max_replicas,
            spares=1 if spares is None else spares,
            grows=spares is None,
            size=sum(map(size_of, unit.apps)),
        )

    def _background(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, WebArenaError):
            _log.error("background work failed", exc_info=error)


def _recording(folder: str, catalogue: Catalogue) -> Recording | None:
    if not folder:
        return None
    from pytest_webarena.sites.broker.recording import Recording  # late: only for --record-archive

    return Recording(Path(folder), catalogue)
