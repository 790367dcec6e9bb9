"""A catalogue as the reader of task files knows it."""

from __future__ import annotations

from pytest_webarena.sites.catalogues.manifest import Catalogue
from pytest_webarena.sites.catalogues.units import units_of
from pytest_webarena.tasks.known_sites import KnownSites

__all__ = ["sites_for_tasks"]

_RECORDED_OR_LIVE = ("archive", "live")
_WITHOUT_DATABASES = (*_RECORDED_OR_LIVE, "external")
"""Backends on which tasks of other catalogues run, too; they are refused one by one, and not their whole file."""


def sites_for_tasks(catalogue: Catalogue) -> KnownSites:
    """Returns names of accounts that can log in by site; None for archived sites, whose pages show the account of the
    recording. Also the sites' addresses, unless browsers can visit further hosts, and databases where the harness runs
    the app."""
    units = units_of(catalogue.apps)
    apps = [(site, app) for app in catalogue.apps.values() for site in app.sites]
    accounts = {site.name: tuple(app.users) if app.backend != "archive" else None for site, app in apps}
    databases = {
        site.name: {name: [one.name for one in found] for name, found in units[app.name].holders(app.name).items()}
        for site, app in apps
        if app.backend not in _WITHOUT_DATABASES
    }
    if any(app.backend in _RECORDED_OR_LIVE for app in catalogue.apps.values()):
        return KnownSites(accounts, None, databases)
    return KnownSites(accounts, {site.name: (site.url, *site.hosted) for site, _ in apps}, databases)
