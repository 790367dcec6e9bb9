"""What checks may ask of a running trial: pages, databases and APIs of the leased sites."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_webarena.browser.login import signed_in
from pytest_webarena.browser.pageless import Pageless
from pytest_webarena.browser.reading.missing_parts import CLIENTS_FAULT, doubts_left
from pytest_webarena.errors import SiteError, TaskError, closest
from pytest_webarena.sites.client.visitor import Answer, Visitor
from pytest_webarena.text import shorten
from pytest_webarena.trials.doors import sent_to_the_door

if TYPE_CHECKING:
    from pytest_webarena.browser.session import PageReading, Session
    from pytest_webarena.sites.backends.base import Rows
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["LiveTrial", "absolute_url", "as_requested"]

_API_TIMEOUT = 30.0
_REFUSALS = (401, 403)
_PASSWORD_FIELD = re.compile(r"<input\b[^>]*\btype\s*=\s*[\"']?password\b", re.IGNORECASE)


def absolute_url(sites: Mapping[str, str], site: str, path: str) -> str:
    """``path`` on ``site``; a full address stays what it is. `TaskError` for a site that is not leased."""
    if "://" in path or path.startswith("about:"):
        return path
    if site not in sites:
        raise TaskError(f"expected a site of this task, found {site!r}; {closest(site, sites)}")
    return sites[site] + (path if path.startswith("/") else f"/{path}")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def as_requested(url: str) -> str:
    """As the gateway was asked for ``url``."""
    parts = urlsplit(url)
    return url.partition("#")[0] if parts.path else f"{url.partition('#')[0]}/"


def _visitor(site: SiteAccess, users: Mapping[str, str]) -> str:
    """Whom the site can end the session of; empty for nobody: what the gateway adds to requests, no site takes away."""
    user = users.get(site.name, site.default_user)
    return user if site.login is not None and site.login.kind != "header" and user in site.users else ""


class _Fetched(tuple[int, str]):
    """Status and text of an answer, and why it is a sign-in page's and not what was asked for; empty if it is."""

    signed_out: str

    def __new__(cls, answer: Answer, signed_out: str) -> _Fetched:
        made = super().__new__(cls, (answer.status, answer.text))
        made.signed_out = signed_out
        return made


class LiveTrial:
    """A session and its lease, as checks see them (`checks.Live`)."""

    def __init__(
        self, session: Session | Pageless, lease: Lease | None, users: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._session = session
        self._lease = lease
        self._users = users
        self.sites: dict[str, str] = {name: site.url for name, site in lease.sites.items()} if lease else {}

    def start(self, site: str) -> str:
        """The address where a visit to ``site`` begins."""
        return self._leased(site).sites[site].start

    def read_page(
        self, *, open: str | None, locate: str | None, prepare: Sequence[str] = (), late: bool = False
    ) -> PageReading:
        """Read the current tab, or ``open`` in a page of the harness's own; ``/path`` is on the task's first site."""
        if not open:
            reading = self._session.read_page(open=None, locate=locate, prepare=prepare, late=late)
            reading = self._decided(reading, harness=False)
            said = self._lease.own_answer(as_requested(reading.url)) if self._lease is not None else ""
            # The agent has gone there: a page of no site, which shows nothing. What the gateway wrote is no content.
            return replace(reading, texts=(), html="", value=None, refused=said) if said else reading
        url = absolute_url(self.sites, next(iter(self.sites), ""), open)
        try:
            reading = self._session.read_page(open=url, locate=locate, prepare=prepare, late=late)
        except SiteError:
            self._require_a_site(url, url)
            raise
        self._require_a_site(url, reading.url)
        reading = self._decided(reading, harness=True)
        signed_out = self._shut_out(url, reading.url, asks_password=reading.asks_password)
        return replace(reading, signed_out=signed_out, shut_out=self._kept_from(reading))

    def read_page_late(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> PageReading:
        """The same for what must not be there: the page is given a moment more to show it."""
        return self.read_page(open=open, locate=locate, prepare=prepare, late=True)

    def query(self, site: str, sql: str, *, database: str = "") -> Rows:
        """Run a read-only statement in the database of ``site`` (the first site's when empty)."""
        site = site or next(iter(self.sites), "")
        return self._leased(site).query(site, sql, database=database)

    def fetch(
        self,
        site: str,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> tuple[int, str]:
        """Call a site's API through the harness's port of the lease's gateway; status and text of the answer.

        With the session's cookies and, unless ``headers`` say so themselves, what the site's manifest asks for.
        """
        site = site or next(iter(self.sites), "")
        lease = self._leased(site)
        access = lease.sites[site]
        url = absolute_url(self.sites, site, path)
        sent = dict(headers or {})
        if access.api is not None and not {name.lower() for name in access.api.headers} & {
            name.lower() for name in sent
        }:
            # Without cookies: a session in the browser must not decide what the API's own account may do.
            sent = {
                **Visitor(access.url, proxy=lease.harness_proxy, timeout=_API_TIMEOUT).authenticated(access.api),
                **sent,
            }
        answer = self._visit(lease, method, url, headers=sent, body=body, follow=False)
        form = _PASSWORD_FIELD.search(answer.text) is not None and "json" not in answer.headers.get("content-type", "")
        return _Fetched(answer, self._shut_out(url, url, asks_password=form))

    def download(self, site: str, path: str) -> tuple[int, bytes]:
        """What is at ``path`` (or a full address) of ``site`` for the session's visitor; status and body."""
        lease = self._leased(site)
        answer = self._visit(lease, "GET", absolute_url(self.sites, site, path))
        return answer.status, answer.data

    def account(self, site: str) -> tuple[str, str] | None:
        """Name and password of who administers ``site``; None when the catalogue names nobody for it."""
        sites = self._lease.sites if self._lease is not None else {}
        for name in (site, f"{site}_admin"):
            if name in sites:
                for account in sites[name].users.values():
                    if account.role == "admin" or name != site:
                        return account.username, account.password
        return None

    def _visit(self, lease: Lease, method: str, url: str, **request: Any) -> Answer:
        """A request of the harness's own session: what answers set as cookies, its next requests and pages have."""
        cookies = self._session.own_cookies()
        visitor = Visitor(url, proxy=lease.harness_proxy, state={"cookies": cookies}, timeout=_API_TIMEOUT)
        answer = visitor.call(method, url, **request)
        if (left := visitor.left(cookies)) != cookies:
            self._session.keep_own_cookies(left)
        self._require_a_site(url, answer.url)
        return answer

    def _shut_out(self, asked: str, landed: str, *, asks_password: bool) -> str:
        """Why the sign-in page of a site that the task visits as somebody was shown in place of ``asked``; empty when
        it was not."""
        sites = self._lease.sites.values() if self._lease is not None else ()
        known = {site.name: user for site in sites if (user := _visitor(site, self._users))}
        door = sent_to_the_door([site for site in sites if site.name in known], asked, landed)
        if door is not None:
            return f"the site {door.name} leads to its sign-in page, as if {known[door.name]} were not signed in"
        site = next((site for site in sites if site.name in known and _origin(site.url) == _origin(landed)), None)
        if not asks_password or site is None or site.login is None or isinstance(self._session, Pageless):
            return ""
        # Any page may have such a field; whether it is there to sign in, the check of signing in tells.
        if signed_in(self._session, site.login, site.users[known[site.name]], url=site.url):
            return ""
        return f"it asks for a password, and {known[site.name]} is not signed in to the site {site.name} any more"

    def _decided(self, reading: PageReading, *, harness: bool) -> PageReading:
        """With what the gateway knows of requests of which the browser does not tell the end."""
        if reading.waiting or not reading.doubts:
            return reading
        if self._lease is None:
            return replace(reading, waiting=str(reading.doubts[0]))
        ask = partial(self._lease.answers, harness=harness)
        return replace(reading, waiting=doubts_left(reading.doubts, ask))

    def _kept_from(self, page: PageReading) -> str:
        """What a page that was opened was refused, or was led to a sign-in page for; empty for nothing."""
        sites = self._lease.sites.values() if self._lease is not None else ()
        doors = [site for site in sites if _visitor(site, self._users)]
        for asked, status, landed in page.turned_away:
            ours = _origin(asked) in map(_origin, self.sites.values())
            if ours and status in CLIENTS_FAULT:
                return f"got status {status} for {shorten(asked, 100)}, as for a visitor's cookies"
            if not doors:
                continue
            if sent_to_the_door(doors, asked, landed) is not None:
                return f"was led to a sign-in page for {shorten(asked, 100)}"
            if ours and status in _REFUSALS:
                return f"got status {status} for {shorten(asked, 100)}"
        return ""

    def _require_a_site(self, asked: str, landed: str) -> None:
        """Raise when it was the gateway itself that answered: what it says is no word of a site.

        `SiteError` when the site has failed, or leads to where there is none; `TaskError` when the check asks for what
        is no site's in the first place.
        """
        if self._lease is None:
            return
        answers = (self._lease.own_answer(as_requested(url), harness=True) for url in (landed, asked))
        said = next(filter(None, answers), "")
        if not said:
            return
        self._lease.check()
        if _origin(asked) not in map(_origin, self.sites.values()):
            raise TaskError(f"expected a page of this task's sites ({', '.join(self.sites)}), found {asked}: {said}")
        where = f", which leads to {landed}" if landed != asked else ""
        raise SiteError(f"expected an answer of a site to {asked}{where}; found the gateway's: {said}")

    def _leased(self, site: str) -> Lease:
        if self._lease is None or site not in self._lease.sites:
            raise TaskError(f"expected a site of this task, found {site!r}; {closest(site, self.sites)}")
        return self._lease
