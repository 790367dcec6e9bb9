"""Tests whether a node can run sites: container engine, images, packages, memory. Starts nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_webarena.errors import WebArenaError
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.doctor import examine, shortage

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
    from pytest_webarena.sites.catalogues.running import Pulls

__all__ = ["unmet_site_needs"]


def unmet_site_needs(
    catalogue: str, site_urls: Mapping[str, str], sites: Sequence[str], *, pulls: Pulls
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Those of ``sites`` that this node cannot run, one entry each, with the reason.

    Advisory scheduling hint: if no node reports that it can run them, a trial is tried anyway.
    """
    try:
        known = load_catalogue(catalogue, site_urls=dict(site_urls))
        apps = _needed(known, sites)
        lost = _unavailable(apps, pulls)
    except WebArenaError:
        return  # the trials report it better
    for app in apps:
        if why := next((lost[name] for name in (app.name, *app.depends_on) if name in lost), ""):
            yield from (((site.name,), why) for site in app.sites if site.name in sites)


def _needed(catalogue: Catalogue, sites: Sequence[str]) -> list[AppManifest]:
    """The apps of these sites and their dependencies, without those that run outside the harness."""
    wanted = {app.name for app in catalogue.apps.values() if any(site.name in sites for site in app.sites)}
    wanted |= {other for name in wanted for other in catalogue.apps[name].depends_on}
    return [app for name, app in catalogue.apps.items() if name in wanted and app.backend != EXTERNAL]


def _unavailable(apps: Sequence[AppManifest], pulls: Pulls) -> dict[str, str]:
    lost: dict[str, str] = {}
    for found in examine(apps):
        if found.state == "missing" and found.app and not (pulls == "all" and _in_container(apps, found.app)):
            lost[found.app] = found.text
        elif found.state == "missing" and found.subject == "docker":
            lost |= {app.name: found.text for app in apps if app.backend == "docker"}
    return lost | {app.name: why for app in apps if (why := shortage(app)) and app.name not in lost}


def _in_container(apps: Sequence[AppManifest], name: str) -> bool:
    return any(app.name == name and app.backend == "docker" for app in apps)
