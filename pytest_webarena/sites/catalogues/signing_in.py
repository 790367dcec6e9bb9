"""Finds tasks that would visit a site logged out although they need an account."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.shipped import shipped
from pytest_webarena.sites.catalogues.archived import ARCHIVE
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.live import LIVE
from pytest_webarena.suites.published import SUITES

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import Catalogue
    from pytest_webarena.tasks.model import Task

__all__ = ["why_not_signed_in"]


def why_not_signed_in(catalogue: Catalogue, task: Task) -> str:
    """Returns why ``task`` must not run: an account that it needs could not be logged in. Empty when it may run.

    A suite's task without an account uses the one of the suite's own catalogue. ``user: ''`` means no account. Archived
    pages show the account of the recording, and live sites have no accounts of ours.
    """
    sites, home, missing_users = catalogue.sites, _home(task), {}
    # Authors of both a catalogue and tasks in a suite's format state there who is logged in.
    published = task.source.get("suite") in SUITES
    for name in task.leased:
        if name not in sites:
            continue
        app = catalogue.apps[sites[name].app]
        if app.backend in (ARCHIVE, LIVE) or task.user.get(name) == "":
            continue
        user = task.user.get(name, sites[name].default_user)
        if user and name not in app.login:
            missing_users[name] = user
        elif not user and (suite_user := _accounts(home).get(name, "")) and (published or app.backend == EXTERNAL):
            missing_users[name] = suite_user
    if not missing_users:
        return ""
    users = ", ".join(f"{name} ({user})" for name, user in missing_users.items())
    way_out = "give it a 'user' and a 'sign_in' in the catalogue"
    if home and all(catalogue.apps[sites[name].app].backend == EXTERNAL for name in missing_users):
        urls = " ".join(f"--site-url {name}={sites[name].hosted[0]}" for name in missing_users)
        way_out = f"--sites={home} {urls} keeps the suite's accounts"
    return f"needs an account signed in to {users}, which {catalogue.option!r} does not define; {way_out}"


def _home(task: Task) -> str:
    """Returns the catalogue that a suite's tasks are written for; empty for users' own tasks."""
    suite = str(task.source.get("suite", ""))
    if suite:
        return SUITES[suite].sites if suite in SUITES else "webarena"
    folder = shipped("tasks")
    if folder is None:
        return ""
    # Commands load files by the given path, which is often relative or a link.
    return "embedded" if Path(task.location.path).resolve().is_relative_to(folder.resolve()) else ""


@functools.cache
def _accounts(catalogue: str) -> Mapping[str, str]:
    """Returns the default account of each site; sites without a login are missing."""
    if not catalogue:
        return {}
    from pytest_webarena.sites.catalogues.loading import load_catalogue

    known = load_catalogue(catalogue)
    return {
        name: site.default_user
        for name, site in known.sites.items()
        if site.default_user and name in known.apps[site.app].login
    }
