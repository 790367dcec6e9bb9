"""Signs accounts in, once per worker where replicas accept each other's sessions, and joins the cookies of sites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from pytest_webarena.browser.login import login
from pytest_webarena.errors import TaskError, closest

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.client import Lease
    from pytest_webarena.sites.protocol import SiteAccess

__all__ = ["Logins"]

Lend = Callable[[Sequence[str], str], AbstractContextManager["Lease"]]
"""Leases sites for a holder."""


class Logins:
    """A worker's signed-in states, by app and account.

    Where sessions are portable, signing in happens on a replica of its own that is handed back at once: it leaves no
    trace on the replica that a trial gets. That is why `prepare` comes before the trial's own lease, which must not be
    held while waiting for another one.
    """

    def __init__(self, engine: Callable[[], BrowserEngine], lend: Lend) -> None:
        self._engine = engine
        self._lend = lend
        self._states: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._access: dict[str, SiteAccess] = {}

    def prepare(self, sites: Sequence[str], users: Mapping[str, str]) -> None:
        """Sign in wherever the state can be kept and is not there yet."""
        for site in sites:
            known = self._access.get(site)
            if known is not None and not self._wanted(known, users):
                continue
            with self._lend([site], f"signing in to {site}") as lease:
                self._access[site] = known = lease.sites[site]
                if user := self._wanted(known, users):
                    self._states[site, user] = self._sign_in(known, user, lease)

    def _wanted(self, site: SiteAccess, users: Mapping[str, str]) -> str:
        """The account to sign in and keep; empty when there is nothing to do."""
        user = _user(site, users)
        return user if site.login_state_portable and (site.name, user) not in self._states else ""

    def state(self, lease: Lease, users: Mapping[str, str]) -> dict[str, Any] | None:
        """The storage state for a context on ``lease``; None when nobody is signed in anywhere.

        Signs in on the lease itself where sessions are not portable.
        """
        states = []
        for name, site in lease.sites.items():
            user = _user(site, users)
            if not user:
                continue
            kept = self._states.get((name, user)) if site.login_state_portable else None
            states.append(kept if kept is not None else self._sign_in(site, user, lease))
            if site.login_state_portable:
                self._states[name, user] = states[-1]
        if not states:
            return None
        return {
            "cookies": [cookie for state in states for cookie in state.get("cookies", ())],
            "origins": [origin for state in states for origin in state.get("origins", ())],
        }

    def _sign_in(self, site: SiteAccess, user: str, lease: Lease) -> Mapping[str, Any]:
        assert site.login is not None  # `_user` is empty for sites without a recipe
        return login(self._engine(), site.login, site.users[user], url=site.url, proxy=lease.proxy)


def _user(site: SiteAccess, users: Mapping[str, str]) -> str:
    """Who visits the site; empty for nobody. `TaskError` for an account it does not have."""
    if site.login is None:
        return ""
    user = users.get(site.name, site.default_user)
    if user and user not in site.users:
        raise TaskError(f"site {site.name} has no account {user!r}; {closest(user, site.users)}")
    return user
