"""In which order replicas of different apps start: what others depend on comes first, as within a unit."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_webarena.sites.broker.replica_set import ReplicaSet
from pytest_webarena.sites.catalogues.units import Unit

__all__ = ["too_early"]


def too_early(fleet: ReplicaSet, fleets: Mapping[str, ReplicaSet], units: Mapping[str, Unit]) -> bool:
    """Whether a shared app that ``fleet``'s depend on is still to come, so that none of its replicas should start yet.

    ``fleets``: those there are, by the app that stands for the unit. An app that nobody has asked for is not waited
    for, nor one that can't be started: those who wait for that are told so.
    """
    needed = {name for app in fleet.unit.apps for name in app.depends_on if name in units} - {*fleet.unit.names}
    others = (fleets.get(units[name].lead.name) for name in needed)
    return any(other is not None and other.app.read_only and _to_come(other) for other in others)


def _to_come(fleet: ReplicaSet) -> bool:
    return not fleet.available() and not fleet.failure
