"""Attacks the ground of an impossible task on the sites of a running trial, for audits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_webarena.browser.control_probe import ControlProbe
from pytest_webarena.checks.ground import Ground
from pytest_webarena.errors import TrialError
from pytest_webarena.html_pages.links import kind_of
from pytest_webarena.sites.client.visitor import Visitor
from pytest_webarena.text import clip
from pytest_webarena.trials.ground_crawl import Crawl, Password
from pytest_webarena.trials.shared_walks import SharedWalks
from pytest_webarena.trials.site_walk import MOST_PAGES, MOST_SECONDS, Fetched, Shown, Walk
from pytest_webarena.trials.trial_environment import Resources

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["attack_ground"]

_PATIENCE = 15.0
"""Seconds that one page may take."""
_LONGEST_PASSAGE = 160
_MOST_ELSEWHERE = 1_000
"""Maximum number of pages of reachable sites that the task does not list."""
_MOST_UNREAD = 20
"""Maximum number of unread things that are recorded one by one."""
_TEXTS = ("application/json", "application/xml")
_NO_TEXTS = ("image/", "font/")
_SHARED: WeakKeyDictionary[BrowserEngine, SharedWalks] = WeakKeyDictionary()
"""Walks by the browser of the worker, which its trials share even if each has settings of its own."""


def attack_ground(task: Task, ground: Ground, environment: TrialEnvironment, resources: Resources) -> dict[str, Any]:
    """Look for everything that should be absent, on all sites that the task's account can reach, and for the password
    of the account that sees it. Returns the facts for the trial's record, which `results.ground_audit` reads.

    Raises the errors of signing in. What can't be read is noted.
    """
    lease = environment.lease
    if lease is None:
        return {}
    began = time.monotonic()
    passwords = tuple(_passwords(task, ground, lease))
    is_privileged = bool(ground.visible_to) and ground.visible_to.items() <= task.user.items()
    homes = [(environment.sites, [*environment.start], MOST_PAGES)]
    if environment.reach:
        _call_on(environment.reach.values(), lease)
        homes.append((environment.reach, [], _MOST_ELSEWHERE))
    crawls = []
    with _sources(task, lease, resources) as sources:
        for sites, start, most in homes:
            if is_privileged:  # it ends as soon as everything is found
                walk = Walk(sources=sources, sites=sites)
                crawl = Crawl(walk=walk, sources=sources, ground=ground, most=most, seconds=MOST_SECONDS)
                start = [*start, *_homes(sites)]
            else:
                walk = _walk(task, sites, most, sources, resources)
                crawl = Crawl(walk=walk, sources=sources, ground=ground, passwords=passwords)
            crawl.run(start)
            crawls.append(crawl)
    found = {what: find for crawl in reversed(crawls) for what, find in crawl.found.items()}
    unread = list(dict.fromkeys(each for crawl in crawls for each in crawl.unread))
    return {
        "account": _account(task, lease),
        "pages": sum(crawl.visited for crawl in crawls),
        "unread": unread[:_MOST_UNREAD],
        "number_unread": len(unread),
        "names_subject": any(crawl.names_subject for crawl in crawls),
        "found": [{**asdict(find), "passage": clip(find.passage, _LONGEST_PASSAGE)} for find in found.values()],
        "seconds": round(time.monotonic() - began, 2),
    }


def _walk(task: Task, sites: Mapping[str, str], most: int, sources: _Sources, resources: Resources) -> Walk:
    """Returns the walk of these sites as the task's accounts, which tasks share if nothing was set up before and they
    have the same browser settings."""

    def make() -> Walk:
        walk = Walk(sources=sources, sites=sites, most=most)
        walk.run(_homes(sites))
        return walk

    if task.setup:
        return make()
    shared = _SHARED.setdefault(resources.engine(), SharedWalks())
    return shared.get((dict(sites), dict(task.user), resources.session_config(None, None)), make)


def _homes(sites: Mapping[str, str]) -> list[str]:
    return [f"{url}/" for url in sites.values()]


def _account(task: Task, lease: Lease) -> str:
    """The account that visits the first site with one; empty if nobody is signed in."""
    users = (task.user.get(name, site.default_user) for name, site in lease.sites.items())
    return next(filter(None, users), "")


def _passwords(task: Task, ground: Ground, lease: Lease) -> Iterator[Password]:
    """Yields what would sign in the privileged accounts, except where the task's account is one."""
    foreign = {site: user for site, user in ground.visible_to.items() if task.user.get(site) != user}
    for name, site in lease.look(list(foreign)).items() if foreign else ():
        account = site.users.get(foreign[name])
        if account is not None and account.password:
            yield Password(account.username, account.password)


def _call_on(homes: Iterable[str], lease: Lease) -> None:
    """Visit reachable sites as the agent's browser does, which starts them. Those that do not start are left out."""
    for home in homes:
        with suppress(TrialError):
            Visitor(home, proxy=lease.proxy, timeout=_PATIENCE).call("GET", "/")
    with suppress(TrialError):
        lease.visited()


class _Sources:
    """Reads pages by plain requests and, on demand, in a browser; as one account, apart from the agent's browser."""

    def __init__(self, renew: Callable[[], Visitor], probe: Callable[[], ControlProbe]) -> None:
        self._renew = renew
        self._visitor = renew()
        self._signed_in = self._cookies()
        self._make_probe = probe
        self._probe: ControlProbe | None = None

    def fetch(self, url: str) -> Fetched:
        """Request a page or a file. Raises `SiteError` if it doesn't answer."""
        answer = self._visitor.call("GET", url, headers={"Accept": "text/html,*/*"})
        if ended := not self._signed_in <= self._cookies():
            self._visitor = self._renew()
        kind = answer.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
        if answer.status >= 500:
            return Fetched(answer.url, "", failure=f"status {answer.status}", ended=ended)
        if kind in _TEXTS or kind.startswith("text/") or kind.endswith(("+json", "+xml")):
            return Fetched(answer.url, answer.text, kind, ended=ended)
        if kind == "application/octet-stream" and b"\0" not in answer.data:
            return Fetched(answer.url, answer.text, "text/plain", ended=ended)
        failure = "" if kind.startswith(_NO_TEXTS) or answer.status >= 400 else f"a file of type {kind}"
        return Fetched(answer.url, "", kind, failure, ended=ended)

    def show(self, url: str) -> Shown:
        """Open a page in the browser and use its controls."""
        with suppress(TrialError):
            look = self._browser.look(url, kind_of(url))
            views = tuple((view.url, view.html) for view in look.views)
            return Shown(views=views, untried=look.untried, fields=look.fields, requests=look.requests)
        return Shown()

    def type(self, url: str, field: str, word: str) -> tuple[str, str] | None:
        """Type a word into a field that only scripts read; return the address and HTML that are shown then."""
        with suppress(TrialError):
            view = self._browser.type(url, field, word)
            return (view.url, view.html) if view is not None else None
        return None

    def close(self) -> None:
        """Close the browser's context."""
        if self._probe is not None:
            self._probe.close()

    @property
    def _browser(self) -> ControlProbe:
        if self._probe is None:
            self._probe = self._make_probe()
        return self._probe

    def _cookies(self) -> set[tuple[str, str]]:
        return {(cookie["domain"], cookie["name"]) for cookie in self._visitor.state()["cookies"]}


@contextmanager
def _sources(task: Task, lease: Lease, resources: Resources) -> Iterator[_Sources]:
    state = resources.login_state(lease, task.user)
    home = next(iter(lease.sites.values())).url
    sources = _Sources(
        lambda: Visitor(home, proxy=lease.harness_proxy, state=state, timeout=_PATIENCE),
        lambda: ControlProbe(resources.engine(), resources.session_config(lease, state), state),
    )
    try:
        yield sources
    finally:
        sources.close()
