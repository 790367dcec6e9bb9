"""Sessions that replicas have from their start, and the coordination of who creates them.

Some apps keep sessions in their own database, so that a session made on one replica is invalid on others. If replicas
can start from the state of one (`base.KeepingBackend`), a trial logs in once on a fresh replica, and its state is kept:
the cookies are valid on all replicas that started with that state or a later one.
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
"""Maps site to account to the number of trials that will visit the site with it."""
States = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Maps site to account to a storage state in which the account is logged in."""
Problems = Mapping[str, Mapping[str, str]]
"""Maps site to account to why logging in failed."""

_log = logging.getLogger(__name__)
_ATTEMPTS = 2
_LASTING = 600.0
"""Seconds that a session must have lasted for another one to be made after it has expired."""
_TRIALS = 2
_BOOT = 10.0
"""A state is made for at least `_TRIALS` trials, and one more for each full `_BOOT` seconds that the app takes to boot,
because the first replica with the new state has to boot once more, while logging in takes seconds in each trial."""


class AppSessions:
    """The stored sessions of ``app``."""

    def __init__(self, app: AppManifest, clock: Callable[[], float] = time.monotonic) -> None:
        self.app = app
        self.turn = asyncio.Lock()
        """Held while a trial logs in."""
        self.notes: list[str] = []
        """Messages about what can't be kept, and why."""
        self._clock = clock
        self._stored: dict[tuple[str, str], StoredSession] = {}
        self._used: dict[tuple[str, str], float] = {}
        """Time when the first replica with the session was leased, because booting may have taken long until then."""
        self._failures: Counter[tuple[str, str]] = Counter()
        self._given_up: set[tuple[str, str]] = set()
        self._refused: set[str] = set()
        """Sites whose replicas have refused sessions of others although their recipe does not say so."""

    def missing(self, visits: Visits) -> dict[str, tuple[str, ...]]:
        """Returns the accounts by site that should be logged in now; empty when none needs it, or it is not worth
        it."""
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
        """Returns, by account, the sessions that replicas of this edition have from their start."""
        found = {
            user: session
            for (name, user), session in self._stored.items()
            if name == site and session.number <= edition
        }
        for user in found:
            self._used.setdefault((site, user), self._clock())
        return found

    def keep(self, made: States, *, born: int, edition: int) -> None:
        """Store the sessions in ``made`` for replicas from ``edition`` on; they also have those of the edition
        ``born``."""
        self._stored = {key: held for key, held in self._stored.items() if held.number <= born}
        for site, states in made.items():
            for user, state in states.items():
                self._stored[site, user] = StoredSession(state=state, number=edition)
                self._used.pop((site, user), None)

    def refused(self, site: str) -> None:
        """Record, once, that a replica did not accept a session made on another one although its recipe says it
        would."""
        if site not in self._refused:
            self._refused.add(site)
            self.notes.append(
                f"{site}: sessions do not work across replicas; set 'portable: false' in its 'sign_in' to avoid an "
                "extra login per replica"
            )
            _log.warning("%s", self.notes[-1])

    def failed(self, site: str, user: str, why: str) -> None:
        """Record a failure to create a session; after repeated failures it is given up."""
        self._failures[site, user] += 1
        _log.warning("signing %s in to %s for all replicas of %s: %s", user, site, self.app.name, why)
        if self._failures[site, user] >= _ATTEMPTS:
            self.give_up([(site, user)], why)

    def ended(self, site: str, user: str, number: int, why: str) -> None:
        """Remove session ``number``, because a replica that had it from its start does not accept it any more."""
        session = self._stored.get((site, user))
        if session is None or session.number != number:
            return  # already reported by another trial
        del self._stored[site, user]
        now = self._clock()
        lasted = now - self._used.get((site, user), now)
        if lasted < _LASTING:
            self.give_up([(site, user)], f"after {lasted:.0f} s a new replica did not accept the session: {why}")

    def give_up(self, sessions: Iterable[tuple[str, str]], why: str) -> None:
        """Stop creating these sessions, so that each trial logs in itself. Noted once."""
        new = set(sessions) - self._given_up
        self._given_up |= new
        for site, user in sorted(new):
            first = (why.splitlines() or [""])[0]
            self.notes.append(
                f"{site}: each trial signs in as {user} again, because the session can't be stored: {first}"
            )
            _log.warning(
                "%s: each trial signs in as %s again, because the session can't be stored: %s", site, user, why
            )


@dataclass(slots=True, eq=False, kw_only=True)
class SignInTurn:
    """The exclusive right to log in. It must be ended in any case."""

    sessions: AppSessions
    missing: Mapping[str, tuple[str, ...]]
    finish: Callable[[], None]
    over: bool = field(default=False, init=False)

    def end(self, *, why: str = "") -> None:
        """End the turn. ``why`` is the reason if nothing was created; empty if something was, or nobody tried."""
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
        """Returns, by account, the sessions that an app's replicas of this edition have from their start."""
        return self._apps[app].of(site, edition) if app in self._apps else {}

    def app(self, app: str) -> AppSessions:
        """Returns the sessions of one app."""
        return self._apps.setdefault(app, AppSessions(self._catalogue.apps[app]))

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about what can't be kept, and why."""
        return tuple(note for sessions in self._apps.values() for note in sessions.notes)

    async def turn(self, visits: Visits, *, wait: float) -> SignInTurn | None:
        """Returns the right to log in an account of ``visits`` for all later replicas; None when no account needs it.

        If another trial has the right, this waits up to ``wait`` seconds; trials then log in to what is still missing
        themselves.
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
    """Returns why an app's replicas can't start from one with a logged-in account, as far as the manifest shows."""
    for app in unit_of(catalogue.apps, name).apps:
        docker = app.docker
        if app.backend == "docker" and docker is not None:
            if docker.reset:
                return f"the 'reset' programs of {app.name} would remove the session"
            if any(volume.mutable for volume in docker.volumes):
                return f"{app.name} has a volume on each replica, which snapshots exclude"
    if catalogue.apps[name].backend == "docker":
        return f"set 'snapshot: true' in the docker section of {name}"
    return f"its backend, {catalogue.apps[name].backend}, can't store it"
