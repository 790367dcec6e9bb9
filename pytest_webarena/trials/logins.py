"""Signs accounts in, as seldom as replicas allow, and joins the cookies of sites."""

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

from pytest_webarena.browser.login import glance, holds_for_visitors, login, login_headers, verify
from pytest_webarena.errors import SiteError, TaskError, closest
from pytest_webarena.trials.session_joining import AccountState, join, prove, shared_cookies
from pytest_webarena.trials.sign_in_checks import holds_for_everybody

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["Logins"]

Lend = Callable[[Sequence[str], str, Sequence[str]], AbstractContextManager["Lease"]]
"""Leases sites for a holder, who will then lease the other ones."""
Waiting = Callable[[str], AbstractContextManager[None]]
"""Tells of what is waited for inside."""
Look = Callable[[Sequence[str]], Mapping[str, "SiteAccess"]]
"""Tells of sites what needs no lease of them."""
Visits = Mapping[str, Mapping[str, int]]
"""Site to account to how many trials of the run visit the site so."""
Prepare = Callable[[Visits, str], "Lease | None"]
"""A lease for a holder on which to sign some of the visitors in, before all later replicas start; None: no need."""

_FRESH = 300.0
"""Seconds for which a session that worked is trusted to work still, as long as nothing speaks against it."""


@dataclass(slots=True)
class _Kept:
    """A state that signed an account in, and when it was last seen to."""

    state: Mapping[str, Any]
    proved: float


@dataclass(slots=True)
class _Held:
    """What was done on one lease."""

    states: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    """Of sites whose sessions are not portable."""
    headers: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """What the gateway adds, by site."""


class Logins:
    """A worker's signed-in states, by site and account.

    Where sessions are portable, signing in happens on a replica of its own that is handed back at once: it leaves no
    trace on the replica that a trial gets. That is why `prepare` comes before the trial's own lease, which must not be
    held while waiting for another one. Each trial that gets a kept state asks the site first, by one plain request on
    its own lease. When the answer raises doubts or the last look was some minutes ago, a browser looks, and the state
    is made anew when the site has ended it. So it does, once, whether another replica of a site accepts a session at
    all: one that keeps its sessions in its database would show the agent the sign-in form. Such a site is treated from
    then on as if its sessions were known not to be portable.

    Where sessions are not portable, accounts are signed in on a replica that later ones start from, if the run's
    ``visits`` are worth it; else on the trial's own lease, each time.

    Thread-safe: of trials that need the same account of a site, one signs it in, and the others wait for that. Who
    waits for a lease to sign in on never keeps those waiting who have theirs: these locks are others.
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
        self._asked: set[str] = set()
        """Sites for which nobody need be signed in on a replica that later ones start from, as far as we know."""
        self._proved: dict[tuple[str, str, int], float] = {}
        """When a session that replicas have from their start was last seen to be good; by site, account and number."""
        self._states: dict[tuple[str, str], _Kept] = {}
        self._access: dict[str, SiteAccess] = {}
        self._accepting: dict[str, bool] = {}
        """Of sites whose sessions ought to be portable, by name: whether another replica took one."""
        self._discerning: set[tuple[str, str]] = set()
        """Sites and accounts whose check was seen not to hold for visitors who are not signed in."""
        self._together: set[object] = set()
        """Sites, accounts and cookies that were seen to sign everybody in although the sites share cookies."""
        self._held: WeakKeyDictionary[Lease, _Held] = WeakKeyDictionary()
        self._lock = threading.Lock()
        """For the dictionaries themselves."""
        self._ahead: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)
        """By site and account, for signing in before the trial's own lease; by site alone, for its later replicas."""
        self._here: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)
        """By site and account, for signing in on the trial's own lease."""

    def prepare(self, sites: Sequence[str], users: Mapping[str, str]) -> None:
        """Sign in wherever the state can be kept and is not there yet."""
        with ExitStack() as locks:
            for site in sorted(set(sites)):  # in one order, so that nobody waits for who waits for it
                locks.enter_context(self._turn(self._ahead, site, ""))
            self._prepare_replicas(sites)
        if unknown := [site for site in sites if site not in self._access]:
            self._access.update(self._look(unknown))
        for site in sites:
            if user := self._wanted(self._access[site], users):
                with self._turn(self._ahead, site, user):
                    if not self._wanted(self._access[site], users):
                        continue  # somebody else has just done it
                    with self._lend([site], f"signing in to {site}", sites) as lease:
                        known = lease.sites[site]
                        self._keep(known, user, self._sign_in(known, user, lease))

    def _prepare_replicas(self, sites: Sequence[str]) -> None:
        """See to it that later replicas have the sessions that the run's trials need."""
        visits = {site: self._visits[site] for site in sites if self._visits.get(site) and site not in self._asked}
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
        self._asked.update(visits)

    def _wanted(self, site: SiteAccess, users: Mapping[str, str]) -> str:
        """The account to sign in and keep; empty when there is nothing to do."""
        user = _user(site, users)
        return user if self._portable(site) and (site.name, user) not in self._states else ""

    def _portable(self, site: SiteAccess) -> bool:
        return site.login_state_portable and self._accepting.get(site.name, True)

    def state(self, lease: Lease, users: Mapping[str, str]) -> dict[str, Any] | None:
        """The storage state for a context on ``lease``; None when nobody is signed in anywhere.

        Signs in on the lease itself where sessions are not portable. From now on the gateway adds to requests what
        signs these users in by headers, and only these. Sites that share cookies are looked at together, once for each
        set of accounts and cookies: one sign-in may have overwritten another.
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
        """Whether ``state``, a browser's at present, no longer signs the site's user in."""
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
        """Sign the site's user in again on ``lease``; the new state of this site."""
        access = lease.sites[site]
        user = _user(access, users)
        if self._portable(access):
            with self._turn(self._here, site, user):
                self._keep(access, user, self._sign_in(access, user, lease))
                return self._states[site, user].state
        # Other replicas may accept the session that this one started with; the next trial looks.
        self._proved = {key: when for key, when in self._proved.items() if key[:2] != (site, user)}
        state = self._of(lease).states[site, user] = self._sign_in(access, user, lease)
        return state

    def _signed_in(self, site: SiteAccess, user: str, lease: Lease) -> Mapping[str, Any]:
        if self._portable(site):
            kept = self._states.get((site.name, user))
            if kept is not None and (state := self._kept_state(kept, site, user, lease)) is not None:
                return state
            with self._turn(self._here, site.name, user):
                if self._portable(site):  # else somebody else has just found out
                    return self._made_anew(site, user, lease, kept)
        own, key = self._of(lease).states, (site.name, user)
        if key not in own:
            own[key] = self._from_the_start(site, user, lease) or self._sign_in(site, user, lease)
        return own[key]

    def _kept_state(self, kept: _Kept, site: SiteAccess, user: str, lease: Lease) -> Mapping[str, Any] | None:
        """The state that was kept, as it is now; None when a browser has to look at it again."""
        self._send_headers(lease, site, self._headers_of(site, user))
        if site.name not in self._accepting:
            return None
        if (state := self._glanced_at(kept.state, kept.proved, site, user, lease)) is not None:
            kept.state = state
        return state

    def _made_anew(self, site: SiteAccess, user: str, lease: Lease, before: _Kept | None) -> Mapping[str, Any]:
        """A state that a browser has just seen to sign the account in. ``before``: the one that was doubted."""
        key = site.name, user
        kept = self._states.get(key)
        if kept is None:
            self._keep(site, user, self._sign_in(site, user, lease))
        elif kept is not before and (state := self._kept_state(kept, site, user, lease)) is not None:
            return state  # somebody else has looked meanwhile
        else:
            self._send_headers(lease, site, self._headers_of(site, user))
            first = site.name not in self._accepting
            state, good = self._looked_at(kept.state, site, user, lease)
            if first:
                self._accepting[site.name] = good
                if not good:
                    lease.session_refused(site.name)
                    self._asked.discard(site.name)  # from now on it is kept as if the manifest said so
                    self._of(lease).states[key] = state
                    return state
            self._keep(site, user, state)
        return self._states[key].state

    def _from_the_start(self, site: SiteAccess, user: str, lease: Lease) -> Mapping[str, Any] | None:
        """The session that the replica has had from its start; None when it has none, or another one was needed."""
        stored = site.sessions.get(user)
        if stored is None:
            self._asked.discard(site.name)  # an old replica, or there is one to be made again
            return None
        proof = site.name, user, stored.number
        proved = self._proved.get(proof)
        if proved is not None and (state := self._glanced_at(stored.state, proved, site, user, lease)) is not None:
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
            made = self._sign_in(site, user, lease)  # if this fails too, the session is not to blame
            lease.session_ended(site.name, user, stored.number, str(error))
            self._asked.discard(site.name)
            return made
        self._proved[proof] = self._clock()
        return state

    def _glanced_at(
        self, state: Mapping[str, Any], proved: float, site: SiteAccess, user: str, lease: Lease
    ) -> Mapping[str, Any] | None:
        """``state``, seen to work at the time ``proved``, as it is now; None when a browser has to look at it again."""
        assert site.login is not None
        if self._clock() - proved > _FRESH or _expired(state):
            return None
        return glance(site.login, site.users[user], url=site.url, proxy=lease.harness_proxy, state=state)

    def _looked_at(
        self, state: Mapping[str, Any], site: SiteAccess, user: str, lease: Lease
    ) -> tuple[Mapping[str, Any], bool]:
        """``state`` after looking, or another one where the site no longer accepts it; whether it did."""
        assert site.login is not None
        account = site.users[user]
        try:
            url, proxy = site.url, lease.harness_proxy
            return verify(self._engine(), site.login, account, url=url, proxy=proxy, state=state), True
        except SiteError:
            return self._sign_in(site, user, lease), False

    def _keep(self, site: SiteAccess, user: str, state: Mapping[str, Any]) -> None:
        self._states[site.name, user] = _Kept(state, self._clock())

    def _sign_in(self, site: SiteAccess, user: str, lease: Lease) -> Mapping[str, Any]:
        assert site.login is not None  # `_user` is empty for sites without a recipe
        account, proxy = site.users[user], lease.harness_proxy
        with self._waiting(f"the sign-in of {user} to {site.name}"):
            if (site.name, user) not in self._discerning:
                self._send_headers(lease, site, {})
                if holds_for_visitors(self._engine(), site.login, account, url=site.url, proxy=proxy):
                    why = holds_for_everybody(site.login.check)
                    raise SiteError(f"signing in to {site.name} as {user}: {why}")
                self._discerning.add((site.name, user))
            self._send_headers(lease, site, self._headers_of(site, user))
            return login(self._engine(), site.login, account, url=site.url, proxy=proxy)

    def _headers_of(self, site: SiteAccess, user: str) -> Mapping[str, str]:
        return login_headers(site.login, site.users[user]) if site.login is not None else {}

    def _send_headers(self, lease: Lease, site: SiteAccess, headers: Mapping[str, str]) -> None:
        sent = self._of(lease).headers
        if sent.get(site.name, {}) != headers:
            lease.set_headers(site.name, headers)
            sent[site.name] = headers

    def _of(self, lease: Lease) -> _Held:
        with self._lock:
            return self._held.setdefault(lease, _Held())

    def _turn(
        self, locks: defaultdict[tuple[str, str], threading.Lock], site: str, user: str
    ) -> AbstractContextManager[object]:
        with self._lock:
            return locks[site, user]


def _expired(state: Mapping[str, Any]) -> bool:
    """Whether a cookie that had an end has come to it."""
    return any(0 < cookie.get("expires", -1) <= time.time() for cookie in state.get("cookies", ()))


def _user(site: SiteAccess, users: Mapping[str, str]) -> str:
    """Who visits the site; empty for nobody. `TaskError` for an account it does not have."""
    if site.login is None:
        return ""
    user = users.get(site.name, site.default_user)
    if user and user not in site.users:
        raise TaskError(f"site {site.name} has no account {user!r}; {closest(user, site.users)}")
    return user
