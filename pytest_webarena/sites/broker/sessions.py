"""Sessions that replicas have from their start, and whose turn it is to make them.

Some apps keep sessions in their own database, so that a session made on one replica means nothing to the others. Where
replicas can start from what was made of one (`base.KeepingBackend`), somebody signs in once on a fresh replica, and its
state is kept: the cookies are good on all replicas that started with that state or a later one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
from pytest_webarena.sites.catalogues.units import unit_of
from pytest_webarena.sites.protocol.messages import StoredSession

__all__ = ["AppSessions", "Problems", "Sessions", "SignInTurn", "States", "Visits"]

Visits = Mapping[str, Mapping[str, int]]
"""Site to account to how many trials will visit the site so."""
States = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Site to account to a storage state that signs the account in."""
Problems = Mapping[str, Mapping[str, str]]
"""Site to account to why signing in failed."""

_log = logging.getLogger(__name__)
_ATTEMPTS = 2
_LASTING = 600.0
"""Seconds that a session must last for another one to be made when it has ended."""
_TRIALS = 2
_BOOT = 10.0
"""A state is made for `_TRIALS` trials, and one more for every so many full seconds that the app takes to boot: the
first replica with the new state has to boot once more, while signing in takes seconds in each trial."""


class AppSessions:
    """The stored sessions of ``app``."""

    def __init__(self, app: AppManifest, clock: Callable[[], float] = time.monotonic) -> None:
        self.app = app
        self.turn = asyncio.Lock()
        """Held by whoever signs in."""
        self.notes: list[str] = []
        """What can't be kept, and why."""
        self._clock = clock
        self._stored: dict[tuple[str, str], StoredSession] = {}
        self._used: dict[tuple[str, str], float] = {}
        """When the first replica that has the session was handed out: booting until then may have taken long."""
        self._failures: Counter[tuple[str, str]] = Counter()
        self._given_up: set[tuple[str, str]] = set()
        self._refused: set[str] = set()
        """Sites whose replicas have refused what was made on another one, though nothing says that they would."""

    def missing(self, visits: Visits) -> dict[str, tuple[str, ...]]:
        """Site to accounts that should be signed in now; empty when nobody need be, or it would not be worth it."""
        found: dict[str, tuple[str, ...]] = {}
        trials = 0
        for site, accounts in visits.items():
            login = self.app.login.get(site)
            if login is None or login.kind == "header" or (login.portable and site not in self._refused):
                continue
            wanted = [
                user
                for user in accounts
                if user in self.app.users and (site, user) not in self._stored.keys() | self._given_up
            ]
            trials += sum(accounts[user] for user in wanted)
            if wanted:
                found[site] = tuple(wanted)
        return found if trials >= _TRIALS + self.app.boot_seconds // _BOOT else {}

    def of(self, site: str, edition: int) -> dict[str, StoredSession]:
        """Account to the session that replicas of this edition have from the start."""
        found = {
            user: session
            for (name, user), session in self._stored.items()
            if name == site and session.number <= edition
        }
        for user in found:
            self._used.setdefault((site, user), self._clock())
        return found

    def keep(self, made: States, *, born: int, edition: int) -> None:
        """Replicas from ``edition`` on have the sessions in ``made``, and those of the edition it was ``born`` from."""
        self._stored = {key: held for key, held in self._stored.items() if held.number <= born}
        for site, states in made.items():
            for user, state in states.items():
                self._stored[site, user] = StoredSession(state=state, number=edition)
                self._used.pop((site, user), None)

    def refused(self, site: str) -> None:
        """A replica did not accept a session made on another one, though its recipe says it would. Told once."""
        if site not in self._refused:
            self._refused.add(site)
            self.notes.append(
                f"{site}: its replicas refuse each other's sessions, which cost a sign-in to find out; "
                "say 'portable: false' in its 'sign_in'"
            )
            _log.warning("%s", self.notes[-1])

    def failed(self, site: str, user: str, why: str) -> None:
        """It could not be made; given up when that happens again."""
        self._failures[site, user] += 1
        _log.warning("signing %s in to %s for all replicas of %s: %s", user, site, self.app.name, why)
        if self._failures[site, user] >= _ATTEMPTS:
            self.give_up([(site, user)], why)

    def ended(self, site: str, user: str, number: int, why: str) -> None:
        """A replica that had session ``number`` from the start does not accept it: it is over."""
        session = self._stored.get((site, user))
        if session is None or session.number != number:
            return  # somebody has said so before
        del self._stored[site, user]
        now = self._clock()
        lasted = now - self._used.get((site, user), now)
        if lasted < _LASTING:
            self.give_up([(site, user)], f"after {lasted:.0f} s a new replica did not accept the session: {why}")

    def give_up(self, sessions: Iterable[tuple[str, str]], why: str) -> None:
        """Make these no more: trials sign in by themselves. Told once."""
        new = set(sessions) - self._given_up
        self._given_up |= new
        for site, user in sorted(new):
            first = (why.splitlines() or [""])[0]
            self.notes.append(f"{site}: each trial signs in as {user} of its own, because that can't be kept: {first}")
            _log.warning("%s: each trial signs in as %s, because that can't be kept: %s", site, user, why)


@dataclass(slots=True, eq=False, kw_only=True)
class SignInTurn:
    """Somebody's turn to sign in. To be ended, whatever happens."""

    sessions: AppSessions
    missing: Mapping[str, tuple[str, ...]]
    finish: Callable[[], None]
    over: bool = field(default=False, init=False)

    def end(self, *, why: str = "") -> None:
        """The next one's turn. ``why`` nothing came of it; empty: something did, or nobody got to try."""
        if self.over:
            return
        self.over = True
        if why:
            for site, users in self.missing.items():
                for user in users:
                    self.sessions.failed(site, user, why)
        self.finish()


class Sessions:
    """The stored sessions of all apps of ``pool``."""

    def __init__(self, catalogue: Catalogue, pool: Pool) -> None:
        self._catalogue = catalogue
        self._pool = pool
        self._apps: dict[str, AppSessions] = {}

    def of(self, app: str, site: str, edition: int) -> Mapping[str, StoredSession]:
        """Account to the session that an app's replicas of this edition have from the start."""
        return self._apps[app].of(site, edition) if app in self._apps else {}

    def app(self, app: str) -> AppSessions:
        """Those of one app."""
        return self._apps.setdefault(app, AppSessions(self._catalogue.apps[app]))

    @property
    def notes(self) -> tuple[str, ...]:
        """What can't be kept, and why."""
        return tuple(note for sessions in self._apps.values() for note in sessions.notes)

    async def turn(self, visits: Visits, *, wait: float) -> SignInTurn | None:
        """The turn to sign in somebody of ``visits`` for all replicas to come; None when there is nobody, now or later.

        While somebody else is at it, waits for up to ``wait`` seconds: what is missing then, trials do by themselves.
        """
        for name in dict.fromkeys(self._catalogue.site(site).app for site in visits):
            sites = {site.name for site in self._catalogue.apps[name].sites}
            of_app = {site: accounts for site, accounts in visits.items() if site in sites}
            sessions = self.app(name)
            if not (wanted := sessions.missing(of_app)):
                continue
            if not self._pool.keeps(name):
                sessions.give_up(
                    ((site, user) for site, users in wanted.items() for user in users),
                    _why_not_kept(self._catalogue, name),
                )
                continue
            try:
                async with asyncio.timeout(wait):
                    await sessions.turn.acquire()
            except TimeoutError:
                continue
            if missing := sessions.missing(of_app):
                self._pool.preparing(name, True)
                return SignInTurn(sessions=sessions, missing=missing, finish=partial(self._over, sessions))
            sessions.turn.release()
        return None

    def _over(self, sessions: AppSessions) -> None:
        sessions.turn.release()
        self._pool.preparing(sessions.app.name, False)


def _why_not_kept(catalogue: Catalogue, name: str) -> str:
    """Why replicas of an app can't start from one on which somebody has signed in, as far as its manifest tells."""
    for app in unit_of(catalogue.apps, name).apps:
        docker = app.docker
        if app.backend == "docker" and docker is not None:
            if docker.reset:
                return f"the 'reset' programs of {app.name} would take the session away again"
            if any(volume.mutable for volume in docker.volumes):
                return f"{app.name} has a volume of its own on each replica, which no snapshot holds"
    if catalogue.apps[name].backend == "docker":
        return f"say 'snapshot: true' in the docker section of {name}"
    return f"its backend, {catalogue.apps[name].backend}, can't keep it"
