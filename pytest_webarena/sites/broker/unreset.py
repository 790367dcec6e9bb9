"""Withdraws instances that a trial may have changed and that nothing resets."""

from __future__ import annotations

from pytest_webarena.gateway.possible_writes import possible_writes
from pytest_webarena.sites.broker.active_lease import ActiveLease
from pytest_webarena.sites.catalogues.external import is_unreset
from pytest_webarena.sites.catalogues.manifest import Catalogue

__all__ = ["mark_spoiled"]


def mark_spoiled(held: ActiveLease, catalogue: Catalogue | None) -> None:
    """Mark the replicas of a lease whose gateways are closed, if the trial's browser may have changed them and they
    have no reset. Without a ``catalogue``, none is.

    Requests of the harness do not count: its sign-ins are the same in each trial, and tasks with set-up do not run on
    such sites.
    """
    if catalogue is None:
        return
    unreset = [site for site in catalogue.sites.values() if is_unreset(catalogue, site.name)]
    reads = {site.host: catalogue.apps[site.app].reads for site in unreset if site.host in held.hosts}
    if not reads:
        return
    for session in held.sessions:
        for host, what in possible_writes(session.log.unsafe, reads).items():
            slot = held.slot(held.hosts[host])
            if slot is not None:
                slot.spoiled = slot.spoiled or f"{held.lease.holder} sent {what}"
