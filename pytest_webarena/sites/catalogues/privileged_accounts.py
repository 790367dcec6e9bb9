"""Finds impossible tasks whose privileged account proves nothing: the task's own one, or one of an unrelated site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_webarena.checks.ground import declared_ground

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import Catalogue
    from pytest_webarena.tasks.model import Task

__all__ = ["why_not_privileged"]


def why_not_privileged(catalogue: Catalogue, task: Task) -> str:
    """Returns why an account in `visible_to` can't be what the task lacks; empty if it can.

    The account must be another one than the task's, of one of its sites or of another site of the same app, which shows
    the same data.
    """
    ground = declared_ground(task)
    if ground is None:
        return ""
    apps = {catalogue.sites[name].app for name in task.sites if name in catalogue.sites}
    for name, account in ground.visible_to.items():
        site = catalogue.sites.get(name)
        if site is None or site.app not in apps:
            return (
                f"'visible_to' names the site {name}, but the task is about {', '.join(task.sites) or 'no site'}; name "
                "an account of one of these sites, or of a site of the same app"
            )
        if name in task.sites and account == task.user.get(name, site.default_user):
            return (
                f"'visible_to' names {account}, with whom the task visits {name}; name an account that sees what the "
                "task's account does not"
            )
    return ""
