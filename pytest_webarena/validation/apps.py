"""Examines apps on running replicas: start, start pages, databases, sign-ins, APIs, queued work, resets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_webarena.browser.login import login, login_headers, passes_without_login
from pytest_webarena.errors import BrowserError, Problem, SiteError, SiteMissing, SiteUnready, WebArenaError
from pytest_webarena.sites.catalogues.live import LIVE
from pytest_webarena.sites.catalogues.units import unit_of
from pytest_webarena.sites.client.visitor import Visitor
from pytest_webarena.sites.doctor import examine_resets
from pytest_webarena.trials.host_visits import examine_hosts
from pytest_webarena.trials.sign_in_checks import holds_for_everybody
from pytest_webarena.validation.places import Places, problem_at
from pytest_webarena.validation.statements import Statement, database_problems, statement_problems

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess
    from pytest_webarena.tasks.model import Location
    from pytest_webarena.trials.runtime import Runtime

__all__ = ["Examination", "examine_app"]

_ALL_ACCOUNTS = 8
"""Number of accounts of a site up to which all are signed in, and not only those that tasks use."""
_PAGES = 3
"""Number of pages of each site that are visited for the hosts that they need."""
_FAILURES = 2
"""Number of failures of the first accounts after which no further account is tried."""


@dataclass(slots=True, kw_only=True)
class Examination:
    """What was found about one app."""

    app: str
    problems: list[Problem] = field(default_factory=list)
    """Problems of the app."""
    statements: list[Problem] = field(default_factory=list)
    """Problems of tasks' SQL."""
    unexamined: str = ""
    """Why the app could not be examined on this machine; empty if it was."""
    notes: list[str] = field(default_factory=list)
    """What its pages need of other hosts and no key allows."""
    signed_in: int = 0
    """Number of accounts that were signed in."""


def examine_app(
    app: AppManifest,
    catalogue: Catalogue,
    runtime: Runtime,
    places: Places,
    *,
    statements: Sequence[Statement],
    users: Mapping[str, Collection[str]],
) -> Examination:
    """Start a replica of ``app`` and examine it. ``users`` are the accounts by site that tasks use."""
    found = Examination(app=app.name)
    if app.backend == LIVE:
        found.unexamined = "live sites are not visited"
        return found

    def place(*keys: str) -> Location:
        return places.app_key(catalogue.path, app.name, *keys)

    found.problems += [
        problem_at(place("reset"), f"a reset of {app.name!r} that succeeds", each.text)
        for each in examine_resets([app])
        if each.state == "failed"
    ]
    if found.problems:
        return found
    sites = [site.name for site in app.sites]
    try:
        with runtime.lease(sites, users=dict.fromkeys(sites, ""), holder=f"validating {app.name}") as lease:
            found.problems += database_problems(
                app, lease, [(name, place("databases", name)) for name in app.databases]
            )
            if not found.problems:
                found.statements += statement_problems(unit_of(catalogue.apps, app.name), app, lease, statements)
                found.problems += _queue_problems(app, lease, place("quiet"))
            states: dict[str, Mapping[str, Any]] = {}
            for site in lease.sites.values():
                found.problems += _api_problems(site, lease, place("sites", site.name, "api"))
                sign_ins = _SignIns(site, runtime, lease)
                found.problems += sign_ins.problems(place, users.get(site.name, ()))
                found.signed_in += len(sign_ins.states)
                state = sign_ins.states.get(site.default_user, {})
                states[site.name] = state
                found.problems += _start_page_problems(site, lease, state, place("sites", site.name, "start"))
            if not found.problems:
                needed = examine_hosts(runtime.engine(), lease, states=states, pages=_PAGES)
                found.notes += [f"{each.subject}: {each.text}" for each in needed]
    except (SiteMissing, SiteUnready) as error:
        found.unexamined = _line(error)
    except BrowserError as error:
        found.unexamined = f"the browser failed: {_line(error)}"
    except WebArenaError as error:
        found.problems.append(problem_at(place(), f"the app {app.name!r} to start and answer", str(error)))
    return found


def _line(error: WebArenaError) -> str:
    return str(error).partition("\n")[0]


def _queue_problems(app: AppManifest, lease: Lease, place: Location) -> Iterator[Problem]:
    if app.quiet is None:
        return
    try:
        for each in lease.wait_until_quiet(strict=True):
            if each.busy:
                yield problem_at(place, "no queued work without an agent", str(each))
    except SiteError:
        raise
    except WebArenaError as error:
        yield problem_at(place, "a question whether work is queued", str(error))


def _start_page_problems(
    site: SiteAccess, lease: Lease, state: Mapping[str, Any], place: Location
) -> Iterator[Problem]:
    answer = Visitor(site.url, proxy=lease.harness_proxy, state=state).call("GET", site.start)
    if answer.status >= 400 and answer.status not in (401, 403):
        yield problem_at(place, f"a start page of {site.name!r}", f"status {answer.status} for {site.start}")


def _api_problems(site: SiteAccess, lease: Lease, place: Location) -> Iterator[Problem]:
    if site.api is None:
        return
    try:
        Visitor(site.url, proxy=lease.harness_proxy).authenticated(site.api)
    except WebArenaError as error:
        yield problem_at(place, f"a token for the API of {site.name!r}", str(error))


class _SignIns:
    """Signs accounts in on one leased site."""

    def __init__(self, site: SiteAccess, runtime: Runtime, lease: Lease) -> None:
        self._site = site
        self._runtime = runtime
        self._lease = lease
        self.states: dict[str, Mapping[str, Any]] = {}
        """Storage states of the accounts that are signed in."""

    def problems(self, place: Callable[..., Location], used: Collection[str]) -> Iterator[Problem]:
        """Sign in the ``used`` accounts and the default one, or all of a few. Yields a problem at the recipe if none
        can sign in, else at each account that can't."""
        site, recipe, names = self._site, self._site.login, _accounts(self._site, used)
        if recipe is None or not names:
            return
        engine, proxy, first = self._runtime.engine(), self._lease.harness_proxy, site.users[names[0]]
        self._lease.set_headers(site.name, {})
        if passes_without_login(engine, recipe, first, url=site.url, proxy=proxy):
            check = place("sites", site.name, "sign_in", "check")
            yield problem_at(check, "a check that only signed-in visitors pass", holds_for_everybody(recipe.check))
            return
        failures: dict[str, str] = {}
        for name in names:
            if not self.states and len(failures) == _FAILURES:
                break  # the recipe is wrong; each failure takes seconds
            self._lease.set_headers(site.name, login_headers(recipe, site.users[name]))
            try:
                self.states[name] = login(engine, recipe, site.users[name], url=site.url, proxy=proxy)
            except SiteError as error:
                failures[name] = str(error)
        self._lease.set_headers(site.name, {})
        for name, why in failures.items():
            at = place("users", name) if self.states else place("sites", site.name, "sign_in")
            yield problem_at(at, f"a sign-in of {name} to {site.name}", why)
            if not self.states:
                return


def _accounts(site: SiteAccess, used: Collection[str]) -> list[str]:
    """Returns the accounts to sign in: all of a few, else the default one and those that tasks use."""
    known = list(site.users)
    wanted = known if len(known) <= _ALL_ACCOUNTS else [name for name in known if name in used]
    default = [site.default_user] if site.default_user else []
    return list(dict.fromkeys([*default, *wanted]))
