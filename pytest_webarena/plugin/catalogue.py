"""The run's catalogue: read once, and what of it decides which tasks can be run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.stash import CATALOGUE, SETTINGS, SITES
from pytest_webarena.sites.catalogues.external import why_not_lent
from pytest_webarena.tasks.images import why_not_shown

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Task

__all__ = ["known_sites", "refusal"]


def known_sites(config: pytest.Config) -> Mapping[str, Collection[str]] | None:
    """The catalogue's sites with the names of their accounts.

    Read once. Raises `pytest.UsageError` for a bad catalogue, which ends the run at its start if it was named on the
    command line, and else is an error of each task file. None when a finished run is judged again: that
    needs no sites, nor the catalogue that it was run with.
    """
    if config.stash[SETTINGS].rescore is not None:
        return None
    if SITES not in config.stash:
        from pytest_webarena.sites.catalogues.loading import load_catalogue

        try:
            settings = config.stash[SETTINGS]
            config.stash[CATALOGUE] = load_catalogue(settings.catalogue, site_urls=settings.site_urls)
            config.stash[SITES] = config.stash[CATALOGUE].accounts
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[SITES]


def refusal(task: Task, config: pytest.Config) -> str:
    """Why this run must not run ``task``: its sites can't be reset, its images not be loaded; empty when it may."""
    settings = config.stash[SETTINGS]
    if known_sites(config) is None:
        return ""
    catalogue = config.stash[CATALOGUE]
    if not settings.allow_unreset and (refused := why_not_lent(catalogue, task)):
        return refused
    if settings.fetch_images or not task.images:
        return ""
    return why_not_shown(task, {catalogue.sites[site].host for site in task.leased if site in catalogue.sites})
