"""Counts how often each account visits each site in a run; with this, workers sign accounts in for all trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_webarena.tasks.setup_form import BrowserSetup

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import Catalogue
    from pytest_webarena.tasks.model import Task

__all__ = ["count_visits"]


def count_visits(tasks: Iterable[Task], catalogue: Catalogue) -> Mapping[str, Mapping[str, int]]:
    """Site to account to the number of ``tasks``, one per trial, that visit the site with it. Anonymous visits are not
    counted."""
    sites = catalogue.sites
    found: dict[str, Counter[str]] = {}
    for task in tasks:
        others = {
            step.spec.user for step in task.setup if isinstance(step.spec, BrowserSetup) and step.spec.user is not None
        }
        for name in task.sites:
            if name in sites:
                users = {task.user.get(name, sites[name].default_user), *others} - {""}
                found.setdefault(name, Counter()).update(users)
    return found
