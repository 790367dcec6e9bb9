"""Leases of live sites: their gateway visits the web with the restrictions of the lease's task."""

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

__all__ = ["enter_beyond", "enter_world", "is_live", "join_worlds", "of_this_machine"]


def is_live(app: AppManifest, backend: Callable[[str], Backend]) -> bool:
    """Whether an app's sites are live sites."""
    return app.backend == LIVE or isinstance(backend(app.backend), WorldBackend)


def of_this_machine(
    sites: Iterable[SiteManifest], apps: Mapping[str, AppManifest], backend: Callable[[str], Backend]
) -> list[SiteManifest]:
    """Returns the sites that a replica serves."""
    return [site for site in sites if not is_live(apps[site.app], backend)]


def enter_beyond(
    session: GatewaySession, apps: Iterable[AppManifest], wishes: LiveWishes | None, *, read: bool
) -> None:
    """Let a gateway report requests from archived pages to other hosts, and requests of a task with restrictions of its
    own, if one of ``apps`` is archived. If live sites are open, these are visited. ``read``: whether the gateway
    terminates TLS."""
    archived = [app for app in apps if app.backend == ARCHIVE]
    if archived:
        session.routes.allows = _terms_of_archived(archived, wishes).allows
    if archived and session.routes.world is None:
        unneeded = tuple(host for app in archived for host in unneeded_of(app))
        session.enter(OffArchive(session.routes, read=read, unneeded=unneeded, home=_home(wishes)))


def _terms_of_archived(apps: Iterable[AppManifest], wishes: LiveWishes | None) -> Terms:
    """Returns what a task's trials might do on the live sites, as far as the task states it."""
    from pytest_webarena.live.visit_rules import Terms  # late, as in `enter_world`

    task = wishes.terms if wishes is not None and wishes.terms is not None else LiveTerms()
    hosts = [site.host for app in apps for site in app.sites]
    return Terms(
        domains=frozenset((*_home(wishes), *hosts, *_registrable(hosts))),
        reads=tuple(map(parse_named, task.reads)),
        writes=tuple(map(parse_named, task.writes)),
    )


def _home(wishes: LiveWishes | None) -> tuple[str, ...]:
    """Returns the domains that a task's tabs may visit on live sites: those of its start addresses, and those it
    names."""
    if wishes is None:
        return ()
    hosts = [host for start in wishes.starts if (host := urlsplit(start).hostname)]
    return (*hosts, *_registrable(hosts), *(wishes.terms.domains if wishes.terms is not None else ()))


def _registrable(hosts: Iterable[str]) -> list[str]:
    """Returns the registrable domains of hosts; none without the list of domains, which users of archives alone need
    not install."""
    from pytest_webarena.live.domains import registrable  # late, as in `enter_world`

    with suppress(UsageError):
        return [domain for host in hosts if (domain := registrable(host))]
    return []


def join_worlds(session: GatewaySession, other: GatewaySession) -> None:
    """Let one gateway use another one's access to hosts that no site serves."""
    world = other.routes.world
    if any(route.archived for route in other.routes):
        session.routes.allows = other.routes.allows
    if isinstance(world, OffArchive):
        if session.routes.world is None:
            session.enter(world.of(session.routes))
    elif world is not None:
        session.enter(world)


def enter_world(
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
            f"expected live sites of one app, found {' and '.join(app.name for app in live)}: put them into one"
        )
    from pytest_webarena.live.guard import Guard  # late: most runs visit no live site

    maker = backend(live[0].backend)
    assert isinstance(maker, WorldBackend)
    wishes = wishes or LiveWishes()
    terms = trial_terms(live[0], wishes.terms, list(wishes.starts))
    world = maker.world(live[0])
    session.enter(Guard(world, terms))
    return {**asdict(world.policy), **terms.plain}
