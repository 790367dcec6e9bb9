"""Attacks the ground of an impossible task on the sites of a running trial, for audits."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import Goto
from pytest_webarena.checks.ground import Ground
from pytest_webarena.errors import TrialError
from pytest_webarena.sites.client.visitor import Visitor
from pytest_webarena.text import clip
from pytest_webarena.trials.ground_crawl import Crawl, Fetched, Password

if TYPE_CHECKING:
    from pytest_webarena.browser.session import Session
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.trial_environment import Resources, TrialEnvironment

__all__ = ["attack_ground"]

_PATIENCE = 15.0
"""Seconds that one page may take."""
_LONGEST_PASSAGE = 160
_MOST_ELSEWHERE = 150
"""Maximum number of pages of reachable sites that the task does not list."""
_PAGES = ("text/html", "application/xhtml+xml", "text/plain")


def attack_ground(task: Task, ground: Ground, environment: TrialEnvironment, resources: Resources) -> dict[str, Any]:
    """Look for everything that should be absent, on all sites that the task's account can reach, and for the password
    of the account that sees it. Returns the facts for the trial's record, which `results.ground_audit` reads.

    Raises the errors of signing in. Pages that don't answer are left out.
    """
    lease = environment.lease
    if lease is None:
        return {}
    began = time.monotonic()
    passwords = tuple(_passwords(task, ground, lease))
    with _sources(task, lease, resources) as sources:
        crawls = [Crawl(sources=sources, sites=environment.sites, ground=ground, passwords=passwords)]
        crawls[0].run([*environment.start, *(f"{url}/" for url in environment.sites.values())])
        if environment.reach:
            _call_on(environment.reach.values(), lease)
            elsewhere = Crawl(
                sources=sources, sites=environment.reach, ground=ground, passwords=passwords, most=_MOST_ELSEWHERE
            )
            elsewhere.run([f"{url}/" for url in environment.reach.values()])
            crawls.append(elsewhere)
    found = {what: find for crawl in reversed(crawls) for what, find in crawl.found.items()}
    return {
        "account": _account(task, lease),
        "pages": sum(crawl.pages for crawl in crawls),
        "has_more": any(crawl.has_more for crawl in crawls),
        "names_subject": any(crawl.names_subject for crawl in crawls),
        "found": [{**asdict(find), "passage": clip(find.passage, _LONGEST_PASSAGE)} for find in found.values()],
        "seconds": round(time.monotonic() - began, 2),
    }


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

    def __init__(self, visitor: Visitor, browser: _Browser) -> None:
        self._visitor = visitor
        self._browser = browser

    def fetch(self, url: str) -> Fetched:
        """Request a page. Raises `SiteError` if it doesn't answer."""
        answer = self._visitor.call("GET", url, headers={"Accept": "text/html"})
        is_page = answer.status < 400 and answer.headers.get("content-type", "text/html").startswith(_PAGES)
        return Fetched(answer.url, answer.text if is_page else "")

    def open(self, url: str) -> str:
        """Open a page in the browser and return the HTML that it shows; empty if it can't be opened."""
        return self._browser.html(url)


class _Browser:
    """A session that is opened on first use."""

    def __init__(self, exits: ExitStack, resources: Resources, lease: Lease, state: Mapping[str, Any] | None) -> None:
        self._exits = exits
        self._resources = resources
        self._lease = lease
        self._state = state
        self._session: Session | None = None

    def html(self, url: str) -> str:
        """Returns the DOM of the page at ``url``, serialised; empty if it can't be opened."""
        if self._session is None:
            config = self._resources.session_config(self._lease, self._state)
            config = replace(config, proxy=self._lease.harness_proxy)
            self._session = self._exits.enter_context(self._resources.engine().session(config))
        with suppress(TrialError):
            outcome = self._session.execute(Goto(url))
            return "" if outcome.error else self._session.html()
        return ""


@contextmanager
def _sources(task: Task, lease: Lease, resources: Resources) -> Iterator[_Sources]:
    state = resources.login_state(lease, task.user)
    with ExitStack() as exits:
        home = next(iter(lease.sites.values())).url
        visitor = Visitor(home, proxy=lease.harness_proxy, state=state, timeout=_PATIENCE)
        yield _Sources(visitor, _Browser(exits, resources, lease, state))
