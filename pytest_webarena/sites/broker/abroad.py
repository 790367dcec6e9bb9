"""Leases of live sites: their gateway visits the world, on the terms of the lease's task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict

from pytest_webarena.errors import TaskError
from pytest_webarena.evidence import JsonValue
from pytest_webarena.gateway import GatewaySession
from pytest_webarena.live.guard import Guard
from pytest_webarena.sites.backends.base import Backend, WorldBackend
from pytest_webarena.sites.catalogues.live import LIVE, trial_terms
from pytest_webarena.sites.catalogues.manifest import AppManifest, SiteManifest
from pytest_webarena.sites.protocol.messages import LiveWishes

__all__ = ["enter_world", "is_live", "of_this_machine"]


def is_live(app: AppManifest, backend: Callable[[str], Backend]) -> bool:
    """Whether an app's sites are the world's."""
    return app.backend == LIVE or isinstance(backend(app.backend), WorldBackend)


def of_this_machine(
    sites: Iterable[SiteManifest], apps: Mapping[str, AppManifest], backend: Callable[[str], Backend]
) -> list[SiteManifest]:
    """Those that a replica serves."""
    return [site for site in sites if not is_live(apps[site.app], backend)]


def enter_world(
    session: GatewaySession,
    apps: Iterable[AppManifest],
    backend: Callable[[str], Backend],
    wishes: LiveWishes | None,
) -> Mapping[str, JsonValue]:
    """Open the world to a gateway if one of ``apps`` is live; the terms, for the record, empty without one.

    `TaskError` for two apps of that kind: their manners may differ. `UsageError` for addresses that are no site's.
    """
    live = [app for app in apps if is_live(app, backend)]
    if not live:
        return {}
    if len(live) > 1:
        raise TaskError(
            f"expected live sites of one app, found {' and '.join(app.name for app in live)}: put them into one"
        )
    maker = backend(live[0].backend)
    assert isinstance(maker, WorldBackend)
    wishes = wishes or LiveWishes()
    terms = trial_terms(live[0], wishes.terms, list(wishes.starts))
    world = maker.world(live[0])
    session.enter(Guard(world, terms))
    return {**asdict(world.manners), **terms.plain}
