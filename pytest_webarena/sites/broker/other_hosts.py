"""Access of leases to hosts that their apps name in addition to their sites."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_webarena.gateway.session import GatewaySession
from pytest_webarena.sites.catalogues.manifest import AppManifest

if TYPE_CHECKING:
    from pytest_webarena.live.host_lists import HostLists
    from pytest_webarena.live.other_hosts import LoadNetwork

__all__ = ["OtherHosts", "share_other_hosts"]


class OtherHosts:
    """What all leases of a broker share: the kept answers of hosts from which pages load parts."""

    @cached_property
    def _network(self) -> LoadNetwork:
        from pytest_webarena.live.other_hosts import LoadNetwork  # late: most catalogues name no other hosts

        return LoadNetwork()

    def open(self, session: GatewaySession, apps: Iterable[AppManifest], *, read: bool) -> None:
        """Let a gateway send requests to the hosts that ``apps`` name. ``read``: whether it terminates TLS."""
        naming = [app for app in apps if app.loads or app.sign_in_hosts]
        if naming:
            from pytest_webarena.live.other_hosts import NamedHosts

            session.admit_hosts(NamedHosts(_lists_of(naming), self._network, read=read))


def _lists_of(apps: Iterable[AppManifest]) -> HostLists:
    from pytest_webarena.live.host_lists import HostLists

    lists = HostLists()
    for app in apps:
        lists |= HostLists.of(app.loads, app.sign_in_hosts, app.private_hosts, app.certificate_authority)
    return lists


def share_other_hosts(session: GatewaySession, other: GatewaySession) -> None:
    """Let one gateway send requests to the hosts of another one, in addition to its own."""
    more = other.routes.other_hosts
    if more is not None:
        from pytest_webarena.live.other_hosts import NamedHosts

        own = session.routes.other_hosts
        if isinstance(own, NamedHosts) and isinstance(more, NamedHosts):
            more = own.joined(more)
        session.admit_hosts(more)
