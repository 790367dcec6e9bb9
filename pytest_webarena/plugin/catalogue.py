"""The run's catalogue: read once, with the rules that decide which tasks can be run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.plugin.policies import before_collection, overridden
from pytest_webarena.plugin.stash import CATALOGUE, SETTINGS, SITES
from pytest_webarena.tasks.images import why_not_shown

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Task

__all__ = ["check_reachable", "known_sites", "refusal", "sites_with_ledger"]

_WANTED: pytest.StashKey[tuple[str, Mapping[str, str]]] = pytest.StashKey()
"""Name or path of the catalogue that was read, and addresses of sites that run elsewhere."""


def known_sites(
    config: pytest.Config, node: pytest.Collector | None = None
) -> Mapping[str, Collection[str] | None] | None:
    """Return the sites of the run's catalogue, with the names of their accounts.

    The catalogue is that of the fixtures where ``node`` is, and it is read once. Raises `pytest.UsageError` for a bad
    catalogue, which ends the run at its start if it was named on the command line, and otherwise is an error of each
    task file. Returns None when a finished run is rescored or replayed, which needs no sites.
    """
    if config.stash[SETTINGS].offline:
        return None
    settings = config.stash[SETTINGS]
    wanted: tuple[str, Mapping[str, str]] = settings.catalogue, settings.site_urls
    if node is not None:
        wanted = _wanted_catalogue(node)
    if SITES not in config.stash or config.stash[_WANTED] != wanted:
        from pytest_webarena.sites.catalogues.loading import load_catalogue
        from pytest_webarena.sites.catalogues.sites_for_tasks import sites_for_tasks

        try:
            config.stash[CATALOGUE] = load_catalogue(wanted[0], site_urls=wanted[1])
            config.stash[SITES] = sites_for_tasks(config.stash[CATALOGUE])
            config.stash[_WANTED] = wanted
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[SITES]


def check_reachable(config: pytest.Config) -> None:
    """Raise `UsageError` if ``--reachable-sites`` names a site that the catalogue of the collected tasks lacks."""
    names, known = config.stash[SETTINGS].options.reach or (), config.stash.get(SITES, None)
    unknown = sorted(set(names) - {"*"} - set(known or names))
    if unknown:
        raise UsageError(
            f"--reachable-sites: expected sites of the catalogue, found {', '.join(unknown)}; "
            f"{closest(unknown[0], known or ())}"
        )


def _wanted_catalogue(node: pytest.Collector) -> tuple[str, Mapping[str, str]]:
    name = before_collection(node, "webarena_catalogue")
    if not isinstance(name, str | Path):
        raise UsageError(
            "fixture webarena_catalogue: expected the name of a catalogue or the path of a YAML file, because the "
            f"broker reads it in another process; found {name!r}"
        )
    return str(name), before_collection(node, "webarena_site_urls")


def sites_with_ledger(config: pytest.Config) -> frozenset[str]:
    """Return the names of the sites whose manifest declares that nothing in them changes automatically."""
    if CATALOGUE not in config.stash:
        known_sites(config)  # as in the controller of workers, which does not collect
    if CATALOGUE not in config.stash:
        return frozenset()
    apps = config.stash[CATALOGUE].apps.values()
    return frozenset(site.name for app in apps if app.forbid_side_effects and not app.read_only for site in app.sites)


def refusal(task: Task, node: pytest.Collector) -> str:
    """Return why this run must not run ``task``; empty when it may.

    Reasons are sites that can't be reset, archived sites that were recorded as another user, users who can't be signed
    in, privileged accounts that are none, and images that can't be loaded. A project's own fixture may sign in users in
    another way.
    """
    config = node.config
    settings = config.stash[SETTINGS]
    if settings.offline:
        return ""
    # Late, as the catalogue itself: who only judges again has none.
    from pytest_webarena.sites.catalogues.archived import account_mismatch
    from pytest_webarena.sites.catalogues.external import untranslated_address, why_not_lent
    from pytest_webarena.sites.catalogues.privileged_accounts import why_not_privileged
    from pytest_webarena.sites.catalogues.signing_in import why_not_signed_in

    catalogue = config.stash[CATALOGUE]
    if not settings.allow_unreset and (refused := why_not_lent(catalogue, task)):
        return refused
    if wrong := untranslated_address(catalogue, task):
        return wrong
    if other := account_mismatch(catalogue, task):
        return other
    if (unknown := why_not_signed_in(catalogue, task)) and not overridden(node, "webarena_sign_in"):
        return unknown
    if wrong := why_not_privileged(catalogue, task):
        return wrong
    if settings.options.fetch_images or not task.images:
        return ""
    return why_not_shown(task, {catalogue.sites[site].host for site in task.leased if site in catalogue.sites})
