"""The start order of replicas of different apps: dependencies start first, as within a unit."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_webarena.sites.broker.replica_set import ReplicaSet
from pytest_webarena.sites.catalogues.units import Unit

__all__ = ["must_wait"]


def must_wait(replica_set: ReplicaSet, replica_sets: Mapping[str, ReplicaSet], units: Mapping[str, Unit]) -> bool:
    """Whether a shared app on which ``replica_set`` depends is still starting, so that none of its replicas should
    start yet.

    ``replica_sets`` maps the lead app of each unit to its replicas. An app that was not requested, or that can't be
    started, is not waited for.
    """
    needed = {name for app in replica_set.unit.apps for name in app.depends_on if name in units} - {
        *replica_set.unit.names
    }
    others = (replica_sets.get(units[name].lead.name) for name in needed)
    return any(other is not None and other.app.read_only and _is_starting(other) for other in others)


def _is_starting(replica_set: ReplicaSet) -> bool:
    return not replica_set.available() and not replica_set.failure
