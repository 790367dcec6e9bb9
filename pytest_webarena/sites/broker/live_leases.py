"""Web access of leases: live sites with the restrictions of the task, and requests that leave an archive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_webarena.errors import TaskError, UsageError
from pytest_webarena.evidence import JsonValue
from pytest_webarena.gateway.off_archive import OffArchive
from pytest_webarena.gateway.session import GatewaySession
from pytest_webarena.sites.backends.base import Backend, WorldBackend
from pytest_webarena.sites.catalogues.archived import ARCHIVE, unneeded_of
from pytest_webarena.sites.catalogues.live import LIVE, trial_terms
from pytest_webarena.sites.catalogues.manifest import AppManifest, SiteManifest
from pytest_webarena.sites.protocol.messages import LiveWishes
from pytest_webarena.tasks.live_form import parse_named
from pytest_webarena.tasks.model import LiveTerms

if TYPE_CHECKING:
    from pytest_webarena.live.visit_rules import Terms

__all__ = ["is_live", "observe_off_archive", "open_live_sites", "replica_sites", "share_web_access"]


def is_live(app: AppManifest, backend: Callable[[str], Backend]) -> bool:
    """Whether an app's sites are live sites."""
    return app.backend == LIVE or isinstance(backend(app.backend), WorldBackend)


def replica_sites(
    sites: Iterable[SiteManifest], apps: Mapping[str, AppManifest], backend: Callable[[str], Backend]
) -> list[SiteManifest]:
    """Returns the sites that a replica serves."""
    return [site for site in sites if not is_live(apps[site.app], backend)]


def observe_off_archive(
    session: GatewaySession, apps: Iterable[AppManifest], wishes: LiveWishes | None, *, read: bool
) -> None:
    """Make a gateway report requests that leave the archive, if one of ``apps`` is archived.

    They are answered as unavailable, unless the gateway has access to live sites. ``read``: whether the gateway
    terminates TLS.
    """
    archived = [app for app in apps if app.backend == ARCHIVE]
    if archived:
        session.routes.allows = _terms_of_archived(archived, wishes).allows
    if archived and session.routes.world is None:
        unneeded = tuple(host for app in archived for host in unneeded_of(app))
        session.enter(OffArchive(session.routes, read=read, unneeded=unneeded, home=_home_domains(wishes)))


def _terms_of_archived(apps: Iterable[AppManifest], wishes: LiveWishes | None) -> Terms:
    """Returns the restrictions that the task states for the live sites that were archived."""
    from pytest_webarena.live.visit_rules import Terms  # late, as in `open_live_sites`

    task = wishes.terms if wishes is not None and wishes.terms is not None else LiveTerms()
    hosts = [site.host for app in apps for site in app.sites]
    return Terms(
        domains=frozenset((*_home_domains(wishes), *hosts, *_registrable(hosts))),
        reads=tuple(map(parse_named, task.reads)),
        writes=tuple(map(parse_named, task.writes)),
    )


def _home_domains(wishes: LiveWishes | None) -> tuple[str, ...]:
    """Returns the domains that a task's tabs may visit on live sites: those of its start addresses, and those it
    names."""
    if wishes is None:
        return ()
    hosts = [host for start in wishes.starts if (host := urlsplit(start).hostname)]
    return (*hosts, *_registrable(hosts), *(wishes.terms.domains if wishes.terms is not None else ()))


def _registrable(hosts: Iterable[str]) -> list[str]:
    """Returns the registrable domains of hosts; empty without the list of domains, which archives do not require."""
    from pytest_webarena.live.domains import registrable  # late, as in `open_live_sites`

    with suppress(UsageError):
        return [domain for host in hosts if (domain := registrable(host))]
    return []


def share_web_access(session: GatewaySession, other: GatewaySession) -> None:
    """Give one gateway the access of another one to hosts that no site serves."""
    world = other.routes.world
    if any(route.archived for route in other.routes):
        session.routes.allows = other.routes.allows
    if isinstance(world, OffArchive):
        if session.routes.world is None:
            session.enter(world.of(session.routes))
    elif world is not None:
        session.enter(world)


def open_live_sites(
    session: GatewaySession,
    apps: Iterable[AppManifest],
    backend: Callable[[str], Backend],
    wishes: LiveWishes | None,
) -> Mapping[str, JsonValue]:
    """Open live sites to a gateway if one of ``apps`` is live. Returns the restrictions for the record; empty without a
    live app.

    Raises `TaskError` for two live apps, because their visit policies may differ, and `UsageError` for addresses that
    no site can have.
    """
    live = [app for app in apps if is_live(app, backend)]
    if not live:
        return {}
    if len(live) > 1:
        raise TaskError(
            f"expected live sites of one app, found {' and '.join(app.name for app in live)}; declare them in one app"
        )
    from pytest_webarena.live.guard import Guard  # late: most runs visit no live site

    world_backend = backend(live[0].backend)
    assert isinstance(world_backend, WorldBackend)
    wishes = wishes or LiveWishes()
    terms = trial_terms(live[0], wishes.terms, list(wishes.starts))
    world = world_backend.world(live[0])
    session.enter(Guard(world, terms))
    return {**asdict(world.policy), **terms.plain}
