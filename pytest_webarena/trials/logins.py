"""Signs accounts in as seldom as replicas allow, and joins the cookies of sites."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_webarena.browser.login import login, login_headers, passes_without_login, request_check_page, verify
from pytest_webarena.errors import SiteError, TaskError, closest
from pytest_webarena.trials.session_joining import AccountState, join, prove, shared_cookies
from pytest_webarena.trials.sign_in_checks import holds_for_everybody

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["Logins"]

Lend = Callable[[Sequence[str], str, Sequence[str]], AbstractContextManager["Lease"]]
"""Function that leases sites for a holder who will then lease the other sites."""
Waiting = Callable[[str], AbstractContextManager[None]]
"""Function that reports what is waited for inside the block."""
Look = Callable[[Sequence[str]], Mapping[str, "SiteAccess"]]
"""Function that returns data of sites for which no lease is needed."""
Visits = Mapping[str, Mapping[str, int]]
"""Site to account to the number of trials of the run that visit the site with it."""
Prepare = Callable[[Visits, str], "Lease | None"]
"""Function that leases a replica for a holder, to sign in some of the visitors before all later replicas start; None if
that is not needed."""

_FRESH = 300.0
"""Seconds for which a session that worked is assumed to work, unless there is evidence to the contrary."""


@dataclass(slots=True)
class _StoredState:
    """A storage state that signed an account in, and the time when it was last seen to work."""

    state: Mapping[str, Any]
    proved: float


@dataclass(slots=True)
class _LeaseState:
    """Sign-ins of one lease."""

    states: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    """Storage states of sites whose sessions are not portable, by site and account."""
    headers: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Headers that the gateway adds, by site."""


class Logins:
    """A worker's signed-in states, by site and account.

    Where sessions are portable, an account is signed in on a separate replica that is released at once, so that the
    replica of a trial shows no trace of it. That is why `prepare` comes before the trial's own lease, which must not be
    held while waiting for another one. Each trial that gets a kept state first sends one plain request on its own
    lease. When the response raises doubts, or the last check was some minutes ago, a browser checks, and the account is
    signed in again if the site has ended the session. A browser also checks once whether another replica of a site
    accepts a session at all: a site that keeps its sessions in its database would show the agent the sign-in form. From
    then on such a site is treated as one whose sessions are not portable.

    Where sessions are not portable, accounts are signed in on a replica that later ones start from, if the run has
    enough ``visits``; otherwise on each trial's own lease.

    Thread-safe: of trials that need the same account of a site, one signs it in and the others wait for it. Waiting for
    a lease to sign in on never delays trials that have theirs, because the locks are separate.
    """

    def __init__(
        self,
        engine: Callable[[], BrowserEngine],
        lend: Lend,
        *,
        look: Look = lambda sites: {},
        visits: Visits = MappingProxyType({}),
        prepare: Prepare = lambda visits, holder: None,
        waiting: Waiting = lambda what: nullcontext(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._lend = lend
        self._look = look
        self._visits = visits
        self._prepare = prepare
        self._waiting = waiting
        self._clock = clock
        self._prepared: set[str] = set()
        """Sites for which no sign-in on a replica that later ones start from is known to be needed."""
        self._proved: dict[tuple[str, str, int], float] = {}
        """When a session that replicas have from their start was last seen to work; by site, account and number."""
        self._states: dict[tuple[str, str], _StoredState] = {}
        self._access: dict[str, SiteAccess] = {}
        self._accepting: dict[str, bool] = {}
        """Whether another replica accepted a session, by name of a site whose sessions should be portable."""
        self._discerning: set[tuple[str, str]] = set()
        """Sites and accounts whose check is known to fail for visitors who are not signed in."""
        self._together: set[object] = set()
        """Combinations of sites, accounts and cookies that are known to sign every account in although the sites share
        cookies."""
        self._lease_states: WeakKeyDictionary[Lease, _LeaseState] = WeakKeyDictionary()
        self._dictionary_lock = threading.Lock()
        """Protects the dictionaries."""
        self._prepare_locks: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)
        """Locks by site and account for signing in before the trial's own lease; by site only for its later
        replicas."""
        self._lease_locks: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)
        """Locks by site and account for signing in on the trial's own lease."""

    def prepare(self, sites: Sequence[str], users: Mapping[str, str]) -> None:
        """Sign in the accounts whose state can be kept and is missing."""
        with ExitStack() as locks:
            for site in sorted(set(sites)):  # in sorted order, so that trials cannot deadlock
                locks.enter_context(self._lock_for(self._prepare_locks, site, ""))
            self._prepare_replicas(sites)
        if unknown := [site for site in sites if site not in self._access]:
            self._access.update(self._look(unknown))
        for site in sites:
            if user := self._wanted(self._access[site], users):
                with self._lock_for(self._prepare_locks, site, user):
                    if not self._wanted(self._access[site], users):
                        continue  # another thread has just signed it in
                    with self._lend([site], f"signing in to {site}", sites) as lease:
                        known = lease.sites[site]
                        self._keep(known, user, self._sign_in(known, user, lease))

    def _prepare_replicas(self, sites: Sequence[str]) -> None:
        """Make later replicas start with the sessions that the run's trials need."""
        visits = {site: self._visits[site] for site in sites if self._visits.get(site) and site not in self._prepared}
        while visits and (lease := self._prepare(visits, f"signing in to {', '.join(visits)} for all")) is not None:
            made: dict[str, dict[str, Mapping[str, Any]]] = {}
            problems: dict[str, dict[str, str]] = {}
            with lease:
                for name, site in lease.sites.items():
                    for user in visits[name]:
                        if user not in site.users or user in site.sessions:
                            continue
                        try:
                            made.setdefault(name, {})[user] = self._sign_in(site, user, lease)
                        except SiteError as error:
                            problems.setdefault(name, {})[user] = str(error)
                lease.keep(made, problems)
        self._prepared.update(visits)

    def _wanted(self, site: SiteAccess, users: Mapping[str, str]) -> str:
        """The account to sign in and keep; empty when none is needed."""
        user = _user(site, users)
        return user if self._portable(site) and (site.name, user) not in self._states else ""

    def _portable(self, site: SiteAccess) -> bool:
        return site.login_state_portable and self._accepting.get(site.name, True)

    def state(self, lease: Lease, users: Mapping[str, str]) -> dict[str, Any] | None:
        """The storage state for a browser context on ``lease``; None when no account is signed in.

        Signs in on the lease itself where sessions are not portable. From now on the gateway adds the headers that sign
        in these users, and no others. Sites that share cookies are checked together, once for each set of accounts and
        cookies, because one sign-in may have overwritten another.
        """
        visits: list[AccountState] = []
        for site in lease.sites.values():
            user = _user(site, users)
            if not user:
                self._send_headers(lease, site, {})
                continue
            visits.append(AccountState(site=site, user=user, state=self._signed_in(site, user, lease)))
        if not visits:
            return None
        joined = join(visit.state for visit in visits)
        sites = list(lease.sites.values())
        if not (shared := shared_cookies(visits, sites)):
            return joined
        key = (
            frozenset((site.name, site.url) for site in sites),
            frozenset((visit.site.name, visit.user) for visit in visits),
            frozenset((each.get("name"), each.get("domain"), each.get("path")) for each in joined["cookies"]),
        )
        if key not in self._together:
            joined = prove(self._engine(), visits, sites, joined, proxy=lease.harness_proxy, shared=shared)
            self._together.add(key)
        return joined

    def ended(self, lease: Lease, site: str, users: Mapping[str, str], state: Mapping[str, Any]) -> bool:
        """Whether ``state``, the current state of a browser, no longer signs the site's user in."""
        access = lease.sites[site]
        user = _user(access, users)
        if not user:
            return False
        assert access.login is not None
        account = access.users[user]
        try:
            verify(self._engine(), access.login, account, url=access.url, proxy=lease.harness_proxy, state=state)
        except SiteError:
            return True
        return False

    def renew(self, lease: Lease, site: str, users: Mapping[str, str]) -> Mapping[str, Any]:
        """Sign the site's user in again on ``lease``; return the new storage state of this site."""
        access = lease.sites[site]
        user = _user(access, users)
        if self._portable(access):
            with self._lock_for(self._lease_locks, site, user):
                self._keep(access, user, self._sign_in(access, user, lease))
                return self._states[site, user].state
        # Other replicas may still accept the session that this one started with; the next trial checks that.
        self._proved = {key: when for key, when in self._proved.items() if key[:2] != (site, user)}
        state = self._state_of(lease).states[site, user] = self._sign_in(access, user, lease)
        return state

    def _signed_in(self, site: SiteAccess, user: str, lease: Lease) -> Mapping[str, Any]:
        if self._portable(site):
            kept = self._states.get((site.name, user))
            if kept is not None and (state := self._kept_state(kept, site, user, lease)) is not None:
                return state
            with self._lock_for(self._lease_locks, site.name, user):
                if self._portable(site):  # otherwise another thread has just found that it is not portable
                    return self._checked_again(site, user, lease, kept)
        own, key = self._state_of(lease).states, (site.name, user)
        if key not in own:
            own[key] = self._initial_session(site, user, lease) or self._sign_in(site, user, lease)
        return own[key]

    def _kept_state(self, kept: _StoredState, site: SiteAccess, user: str, lease: Lease) -> Mapping[str, Any] | None:
        """The kept state with its current cookies; None when a browser has to check it again."""
        self._send_headers(lease, site, self._headers_of(site, user))
        if site.name not in self._accepting:
            return None
        if (state := self._still_valid(kept.state, kept.proved, site, user, lease)) is not None:
            kept.state = state
        return state

    def _checked_again(
        self, site: SiteAccess, user: str, lease: Lease, before: _StoredState | None
    ) -> Mapping[str, Any]:
        """A state that a browser has just seen to sign the account in. ``before`` is the kept state that raised
        doubts."""
        key = site.name, user
        kept = self._states.get(key)
        if kept is None:
            self._keep(site, user, self._sign_in(site, user, lease))
        elif kept is not before and (state := self._kept_state(kept, site, user, lease)) is not None:
            return state  # another thread has checked it in the meantime
        else:
            self._send_headers(lease, site, self._headers_of(site, user))
            first = site.name not in self._accepting
            state, good = self._verified(kept.state, site, user, lease)
            if first:
                self._accepting[site.name] = good
                if not good:
                    lease.session_refused(site.name)
                    self._prepared.discard(site.name)  # replicas are to start with sessions from now on
                    self._state_of(lease).states[key] = state
                    return state
            self._keep(site, user, state)
        return self._states[key].state

    def _initial_session(self, site: SiteAccess, user: str, lease: Lease) -> Mapping[str, Any] | None:
        """The session that the replica has had from its start; None when it has none, or a new one if it no longer
        works."""
        stored = site.sessions.get(user)
        if stored is None:
            self._prepared.discard(site.name)  # an old replica, or its session has to be made again
            return None
        proof = site.name, user, stored.number
        proved = self._proved.get(proof)
        if proved is not None and (state := self._still_valid(stored.state, proved, site, user, lease)) is not None:
            return state
        assert site.login is not None
        try:
            state = verify(
                self._engine(),
                site.login,
                site.users[user],
                url=site.url,
                proxy=lease.harness_proxy,
                state=stored.state,
            )
        except SiteError as error:
            made = self._sign_in(site, user, lease)  # if this fails too, the session is not the cause
            lease.session_ended(site.name, user, stored.number, str(error))
            self._prepared.discard(site.name)
            return made
        self._proved[proof] = self._clock()
        return state

    def _still_valid(
        self, state: Mapping[str, Any], proved: float, site: SiteAccess, user: str, lease: Lease
    ) -> Mapping[str, Any] | None:
        """``state``, seen to work at the time ``proved``, with its current cookies; None when a browser has to check it
        again."""
        assert site.login is not None
        if self._clock() - proved > _FRESH or _expired(state):
            return None
        return request_check_page(site.login, site.users[user], url=site.url, proxy=lease.harness_proxy, state=state)

    def _verified(
        self, state: Mapping[str, Any], site: SiteAccess, user: str, lease: Lease
    ) -> tuple[Mapping[str, Any], bool]:
        """``state`` after a browser has checked it, or a new one if the site no longer accepts it; and whether it
        did."""
        assert site.login is not None
        account = site.users[user]
        try:
            url, proxy = site.url, lease.harness_proxy
            return verify(self._engine(), site.login, account, url=url, proxy=proxy, state=state), True
        except SiteError:
            return self._sign_in(site, user, lease), False

    def _keep(self, site: SiteAccess, user: str, state: Mapping[str, Any]) -> None:
        self._states[site.name, user] = _StoredState(state, self._clock())

    def _sign_in(self, site: SiteAccess, user: str, lease: Lease) -> Mapping[str, Any]:
        assert site.login is not None  # `_user` is empty for sites without a recipe
        account, proxy = site.users[user], lease.sign_in_proxy
        with self._waiting(f"the sign-in of {user} to {site.name}"):
            if (site.name, user) not in self._discerning:
                self._send_headers(lease, site, {})
                if passes_without_login(self._engine(), site.login, account, url=site.url, proxy=proxy):
                    why = holds_for_everybody(site.login.check)
                    raise SiteError(f"signing in to {site.name} as {user}: {why}")
                self._discerning.add((site.name, user))
            self._send_headers(lease, site, self._headers_of(site, user))
            return login(self._engine(), site.login, account, url=site.url, proxy=proxy)

    def _headers_of(self, site: SiteAccess, user: str) -> Mapping[str, str]:
        return login_headers(site.login, site.users[user]) if site.login is not None else {}

    def _send_headers(self, lease: Lease, site: SiteAccess, headers: Mapping[str, str]) -> None:
        sent = self._state_of(lease).headers
        if sent.get(site.name, {}) != headers:
            lease.set_headers(site.name, headers)
            sent[site.name] = headers

    def _state_of(self, lease: Lease) -> _LeaseState:
        with self._dictionary_lock:
            return self._lease_states.setdefault(lease, _LeaseState())

    def _lock_for(
        self, locks: defaultdict[tuple[str, str], threading.Lock], site: str, user: str
    ) -> AbstractContextManager[object]:
        with self._dictionary_lock:
            return locks[site, user]


def _expired(state: Mapping[str, Any]) -> bool:
    """Whether a cookie with an expiry time has expired."""
    return any(0 < cookie.get("expires", -1) <= time.time() for cookie in state.get("cookies", ()))


def _user(site: SiteAccess, users: Mapping[str, str]) -> str:
    """The account that visits the site; empty for an anonymous visitor. `TaskError` for an account that the site does
    not have."""
    if site.login is None:
        return ""
    user = users.get(site.name, site.default_user)
    if user and user not in site.users:
        raise TaskError(f"site {site.name} has no account {user!r}; {closest(user, site.users)}")
    return user
