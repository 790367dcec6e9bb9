"""Leased sites for ordinary Python tests, in combination with pytest-playwright's ``page``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import SiteMissing, UsageError, closest
from pytest_webarena.trials.live import absolute_url

if TYPE_CHECKING:
    from pytest_webarena.browser.session import Session
    from pytest_webarena.evidence import RequestRecord
    from pytest_webarena.sites.backends.base import Rows
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.trials.runtime import FittedRuntime, Runtime

__all__ = ["WebArena", "lease_for_test", "open_session"]

_USAGE = 'name the sites: @pytest.mark.webarena(sites=["homepage"])'


class WebArena:
    """Value of the ``webarena`` fixture: addresses, databases and traffic of the sites leased for one test."""

    def __init__(self, lease: Lease, storage_state: Mapping[str, Any] | None) -> None:
        self._lease = lease
        self._storage_state = storage_state

    @property
    def lease(self) -> Lease:
        """The lease of the sites, until the test has finished."""
        return self._lease

    @property
    def storage_state(self) -> Mapping[str, Any] | None:
        """Cookies and local storage that sign the users in; None when nobody is signed in."""
        return self._storage_state

    @property
    def sites(self) -> dict[str, str]:
        """Base URLs by site name."""
        return {name: site.url for name, site in self._lease.sites.items()}

    @property
    def proxy(self) -> str:
        """Address of the gateway port of this lease, the only way to the sites."""
        return self._lease.proxy

    def url(self, site: str, path: str = "") -> str:
        """Return the address of ``path`` on ``site``; without a path, that of its start page."""
        if site not in self._lease.sites:
            raise UsageError(f"webarena.url({site!r}): expected a leased site, {closest(site, self.sites)}; {_USAGE}")
        return absolute_url(self.sites, site, path) if path else self._lease.sites[site].start

    def query(self, site: str, sql: str, *, database: str = "") -> Rows:
        """Return the rows of a read-only SQL statement in the site's database."""
        return self._lease.query(site, sql, database=database)

    def requests(self) -> tuple[RequestRecord, ...]:
        """Return the browser's requests so far, as the gateway recorded them."""
        return self._lease.requests()

    def context_options(self) -> dict[str, Any]:
        """Return options for Playwright's ``browser.new_context``: the proxy and the signed-in state."""
        from pytest_webarena.gateway.egress import PROXY_BYPASS

        options: dict[str, Any] = {"proxy": {"server": self._lease.proxy, "bypass": PROXY_BYPASS}}
        if self._lease.trust is not None:  # the test's browser started before the lease's certificate existed
            options["ignore_https_errors"] = True
        if self._storage_state:
            options["storage_state"] = dict(self._storage_state)
        return options


@contextmanager
def lease_for_test(request: pytest.FixtureRequest, runtime: Runtime | FittedRuntime) -> Iterator[WebArena]:
    """Lease the sites in the test's mark, all at once, so that two tests can never block each other."""
    mark = request.node.get_closest_marker("webarena")
    sites = mark.kwargs.get("sites", ()) if mark else ()
    sites = (sites,) if isinstance(sites, str) else tuple(sites)
    if not sites:
        raise UsageError(
            f"{request.node.name} uses the webarena fixture: expected the sites to lease, found none; {_USAGE}"
        )
    users = mark.kwargs.get("user", {}) if mark else {}
    if isinstance(users, str):
        users = dict.fromkeys(sites, users)
    try:
        lease = runtime.lease(sites, users=users, holder=request.node.name)
    except SiteMissing as missing:
        pytest.skip(str(missing).partition("\n")[0])
    with lease:
        yield WebArena(lease, runtime.login_state(lease, users))


@contextmanager
def open_session(access: WebArena, runtime: Runtime | FittedRuntime) -> Iterator[Session]:
    """Open a session like a trial's, on the sites leased for a test."""
    config = runtime.session_config(access.lease, access.storage_state)
    with runtime.engine().session(config) as session:
        session.open_tabs([next(iter(access.lease.sites.values())).start])
        yield session
