"""The view that checks have of a running trial: pages, databases and APIs of the leased sites."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pytest_webarena.browser.login import address_of, doubt_from_response, login, sign_in_doubt
from pytest_webarena.browser.pageless import Pageless
from pytest_webarena.browser.reading.missing_resources import CLIENTS_FAULT, unresolved_doubt
from pytest_webarena.checks.kind import no_answer
from pytest_webarena.errors import SiteError, TaskError, closest
from pytest_webarena.sites.client.visitor import Answer, Visitor
from pytest_webarena.text import shorten
from pytest_webarena.trials.login_redirect import redirected_to_login
from pytest_webarena.trials.session_joining import cookies_at, is_of, join, paths_elsewhere

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import PageReading, Session
    from pytest_webarena.sites.backends.base import Rows
    from pytest_webarena.sites.catalogues.manifest import Account, LoginCheck, LoginRecipe
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["LiveTrial", "absolute_url", "as_requested", "visitor_account"]

Way = Literal["page", "api"]
"""How a check reads a site: by opening pages, or by plain requests."""

_API_TIMEOUT = 30.0
_REFUSALS = (401, 403)
_MOST_PATHS = 10
"""Maximum number of paths whose cookies are used to test a sign-in."""


def absolute_url(sites: Mapping[str, str], site: str, path: str) -> str:
    """The address of ``path`` on ``site``; a full address is returned unchanged. `TaskError` for a site that is not
    leased."""
    if "://" in path or path.startswith("about:"):
        return path
    if site not in sites:
        raise TaskError(f"expected a site of this task, found {site!r}; {closest(site, sites)}")
    return sites[site] + (path if path.startswith("/") else f"/{path}")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def as_requested(url: str) -> str:
    """``url`` in the form in which the gateway receives it: without fragment, with a path."""
    parts = urlsplit(url)
    return url.partition("#")[0] if parts.path else f"{url.partition('#')[0]}/"


def visitor_account(site: SiteAccess, users: Mapping[str, str]) -> str:
    """The account that visits the site; empty for an anonymous visitor.

    Sites that sign in by a header are included: they may ignore it after a sign-out, or because of a cookie.
    """
    user = users.get(site.name, site.default_user)
    return user if site.login is not None and user in site.users else ""


def _is_on(site: SiteAccess, url: str) -> bool:
    """Whether ``url`` is below the site's address."""
    root = urlsplit(site.url).path.rstrip("/")
    return _origin(site.url) == _origin(url) and f"{urlsplit(url).path}/".startswith(f"{root}/")


def _names(headers: Mapping[str, str]) -> set[str]:
    return {name.lower() for name in headers}


def _has_own_account(site: SiteAccess, headers: Mapping[str, str]) -> bool:
    """Whether the harness signs in to the site's API by the API's recipe; ``headers`` of the check that set the same
    fields prevent that."""
    return site.api is not None and not _names(site.api.headers) & _names(headers)


def _names_account(site: SiteAccess, headers: Mapping[str, str]) -> bool:
    """Whether a check's own ``headers`` identify an account: by standard HTTP fields, or by those of the API's
    recipe."""
    own = site.api.headers if site.api is not None else {}
    return bool({"authorization", "cookie", *_names(own)} & _names(headers))


def _ids(cookies: Iterable[Mapping[str, Any]]) -> set[tuple[str, str, str]]:
    return {(each["name"], each["domain"], each["path"]) for each in cookies}


def _kept(state: Mapping[str, Any], url: str) -> set[tuple[str, ...]]:
    """The cookies and stored items for the site at ``url``."""
    host, origin = urlsplit(url).hostname or "", _origin(url)
    kept = {
        (cookie["domain"], cookie["path"], cookie["name"], cookie["value"])
        for cookie in state.get("cookies", ())
        if is_of(cookie, host)
    }
    stored = (each for each in state.get("origins", ()) if _origin(each["origin"]) == origin)
    return kept | {(item["name"], item["value"]) for each in stored for item in each.get("localStorage", ())}


class LiveTrial:
    """A session and its lease, as checks see them (`checks.Live`)."""

    def __init__(
        self,
        session: Session | Pageless,
        lease: Lease | None,
        users: Mapping[str, str] = MappingProxyType({}),
        *,
        driven: bool = False,
        engine: Callable[[], BrowserEngine] | None = None,
    ) -> None:
        """Combine the session and the lease of one trial.

        ``driven`` says whether an agent drives the browser itself. ``engine`` returns a browser in which accounts can
        be signed in again.
        """
        self._session = session
        self._engine = engine
        self._discerns_cache: dict[tuple[str, str], bool] = {}
        """Results of `_discerns`, by site and path."""
        self._driven = driven
        self._lease = lease
        self._users = users
        self.sites: dict[str, str] = {name: site.url for name, site in lease.sites.items()} if lease else {}

    def start(self, site: str) -> str:
        """The address at which a visit to ``site`` begins."""
        return self._leased(site).sites[site].start

    def read_page(
        self, *, open: str | None, locate: str | None, prepare: Sequence[str] = (), late: bool = False
    ) -> PageReading:
        """Read the current tab, or ``open`` in a page of the harness; ``/path`` is on the task's first site."""
        if not open:
            reading = self._session.read_page(open=None, locate=locate, prepare=prepare, late=late)
            reading = self._decided(reading, harness=False)
            refusal = self._lease.own_answer(as_requested(reading.url)) if self._lease is not None else ""
            # The tab shows a response of the gateway, which is no content of any site.
            return replace(reading, texts=(), html="", value=None, refused=refusal) if refusal else reading
        url = absolute_url(self.sites, next(iter(self.sites), ""), open)
        try:
            reading = self._session.read_page(open=url, locate=locate, prepare=prepare, late=late)
        except SiteError:
            self._require_a_site(url, url)
            raise
        self._require_a_site(url, reading.url)
        reading = self._decided(reading, harness=True)
        return replace(
            reading, signed_out=self._login_redirect_reason(url, reading.url), shut_out=self._refusal_reason(reading)
        )

    def read_page_late(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> PageReading:
        """Like `read_page`, for content that must be absent: the page gets a moment longer to show it."""
        return self.read_page(open=open, locate=locate, prepare=prepare, late=True)

    def query(self, site: str, sql: str, *, database: str = "") -> Rows:
        """Run a read-only statement in the database of ``site`` (of the first site if empty)."""
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
        """Call a site's API through the harness's port of the lease's gateway; return status and text of the response.

        Sends the session's cookies and the credentials of the site's manifest, unless ``headers`` contain some.
        """
        site = site or next(iter(self.sites), "")
        lease = self._leased(site)
        access = lease.sites[site]
        url = absolute_url(self.sites, site, path)
        sent = dict(headers or {})
        if _has_own_account(access, sent):
            assert access.api is not None
            # Sent without cookies, so that a session in the browser cannot affect what the API's own account may do.
            sent = {
                **Visitor(access.url, proxy=lease.harness_proxy, timeout=_API_TIMEOUT).authenticated(access.api),
                **sent,
            }
        answer = self._visit(lease, method, url, headers=sent, body=body, follow=False)
        return answer.status, answer.text

    def visitor(self, url: str) -> tuple[str, str] | None:
        """The site that ``url`` is on and the account that visits it; None if no session that can end is involved."""
        on = [site for site in (self._lease.sites.values() if self._lease is not None else ()) if _is_on(site, url)]
        site = max(on, key=lambda each: len(each.url), default=None)
        user = visitor_account(site, self._users) if site is not None else ""
        return (site.name, user) if site is not None and user else None

    def caller(self, site: str, path: str, headers: Mapping[str, str] | None) -> tuple[str, str] | None:
        """Like `visitor`, for the API call that `fetch` would send; None where it uses an account of the API's own."""
        site = site or next(iter(self.sites), "")
        access = self._leased(site).sites[site]
        if _has_own_account(access, headers or {}) or _names_account(access, headers or {}):
            return None
        return self.visitor(absolute_url(self.sites, site, path))

    def current_address(self) -> str:
        """Address of the current tab."""
        return self._session.read_page(open=None, locate="js=0").url

    def sign_in_doubt(self, site: str, *, way: Way = "page", agents: bool = True) -> tuple[str, bool]:
        """Why the visitor of ``site`` may not be signed in where checks read pages or call APIs (``way``), empty if the
        visitor is signed in; and whether the reason is that the site does not answer now.

        A plain request decides if one without cookies gets a different answer; otherwise, for pages, the browser
        decides. ``agents`` says whether the cookies are those that the agent left.
        """
        access, recipe, account = self._recipe(site)
        check = (recipe.api_check if way == "api" else None) or recipe.check
        doubt, status = "", None
        asks = way == "api" or (recipe.kind != "header" and not check.locate)
        if asks:
            answer = self._visit(self._leased(site), "GET", address_of(check, account, access.url))
            doubt, status = doubt_from_response(answer, check, account, url=access.url), answer.status
            if not doubt and not self._discerns(site, check):
                asks, doubt = False, "visitors who are not signed in get the same answer"
        opens = way == "page" and (bool(doubt) or not asks)
        if opens:
            assert not isinstance(self._session, Pageless)
            doubt, status = sign_in_doubt(self._session, recipe, account, url=access.url)
        if agents and not doubt:
            doubt, status = self._doubt_elsewhere(site, check, opens=opens)
        return doubt, bool(doubt) and no_answer(status or 200) == "site"

    def _discerns(self, site: str, check: LoginCheck) -> bool:
        """Whether a plain request without cookies gets a different answer from the account's. Assumed for sites that
        sign in by a header, because the gateway adds it to every request."""
        if (site, check.path) not in self._discerns_cache:
            recipe = self._recipe(site)[1]
            self._discerns_cache[site, check.path] = recipe.kind == "header" or bool(
                self._request_with([], site, check)[0]
            )
        return self._discerns_cache[site, check.path]

    def _doubt_elsewhere(self, site: str, check: LoginCheck, *, opens: bool) -> tuple[str, int | None]:
        """Repeat ``check`` with the cookies that other paths of the site receive. Returns why the visitor may not be
        signed in there, and the status of that response. ``opens`` says whether the check needs a browser."""
        assert not isinstance(self._session, Pageless)
        access, _, account = self._recipe(site)
        place = urlsplit(address_of(check, account, access.url)).path or "/"
        began = (self._session.config.storage_state or {}).get("cookies", ())
        now, host = self._session.own_cookies(), urlsplit(access.url).hostname or ""
        ask = self._page_with if opens else self._request_with
        tried = 0
        for path in paths_elsewhere(began, now, access.url):
            sent, at_check = cookies_at(now, access.url, path), cookies_at(now, access.url, place)
            if sent == at_check and (not opens or len(sent) == sum(is_of(each, host) for each in now)):
                continue  # the check itself was sent with the same cookies
            if tried == _MOST_PATHS:
                return f"more than {tried} paths have cookies other than at the sign-in", None
            tried += 1
            first = cookies_at(began, access.url, path)
            if not _ids(cookies_at(began, access.url, place)) <= _ids(first) and ask(first, site, check)[0]:
                continue  # nobody was signed in there at the beginning either
            doubt, status = ask(sent, site, check)
            if doubt:
                return f"with the cookies for addresses at {path}: {doubt}", status
            now = self._session.own_cookies()
        return "", None

    def _request_with(
        self, cookies: Sequence[Mapping[str, Any]], site: str, check: LoginCheck
    ) -> tuple[str, int | None]:
        """Send a plain request with ``cookies``, regardless of the paths they belong to. Returns why the account may
        not be signed in, and the status. Cookies that the response sets are kept if the account is signed in."""
        access, _, account = self._recipe(site)
        known = self._session.own_cookies() if cookies else []
        visitor = Visitor(
            access.url, proxy=self._leased(site).harness_proxy, state={"cookies": known}, timeout=_API_TIMEOUT
        )
        sent = "; ".join(f"{each['name']}={each['value']}" for each in cookies)
        address = address_of(check, account, access.url)
        answer = visitor.call("GET", address, headers={"Cookie": sent} if sent else {})
        self._session.note_received(visitor.received)
        doubt = doubt_from_response(answer, check, account, url=access.url)
        if known and not doubt and (updated := visitor.updated(known)) != known:
            self._session.keep_own_cookies(updated)
        return doubt, answer.status

    def _page_with(self, cookies: Sequence[Mapping[str, Any]], site: str, check: LoginCheck) -> tuple[str, int | None]:
        """Like `_request_with`, for a page in a browser that has no other cookies of the site."""
        assert not isinstance(self._session, Pageless)
        access, recipe, account = self._recipe(site)
        given = {each["name"]: {**each, "path": "/"} for each in cookies}
        if len(given) < len(cookies):  # a browser stores one cookie per name and path, so it cannot send them all
            return self._request_with(cookies, site, check)
        host, known = urlsplit(access.url).hostname or "", self._session.own_cookies()
        others = [each for each in known if not is_of(each, host)]
        with self._session.own_pages(cookies=[*others, *given.values()]):
            doubt, status = sign_in_doubt(self._session, recipe, account, url=access.url)
            cookies_after = self._session.own_cookies()
        if not doubt:
            own = {(each["name"], each["value"]) for each in cookies}
            fresh = [each for each in cookies_after if is_of(each, host) and (each["name"], each["value"]) not in own]
            ids = _ids(fresh)
            self._session.keep_own_cookies([*(each for each in known if not _ids([each]) & ids), *fresh])
        return doubt, status

    def _recipe(self, site: str) -> tuple[SiteAccess, LoginRecipe, Account]:
        access = self._leased(site).sites[site]
        assert access.login is not None
        return access, access.login, access.users[visitor_account(access, self._users)]

    @contextmanager
    def signed_in_again(self, sites: Sequence[str]) -> Iterator[Mapping[str, tuple[str, bool]]]:
        """Within the block the harness visits ``sites`` with new sign-ins of its own, and other sites with the agent's
        cookies. Yields, for each site whose sign-in failed, the reason and whether the site does not answer."""
        refused: dict[str, tuple[str, bool]] = {}
        states: list[Mapping[str, Any]] = []
        hosts: list[str] = []
        for site in sites:
            access, recipe, account = self._recipe(site)
            try:
                states.append(self._login(site, recipe, account, access.url))
                hosts.append(urlsplit(access.url).hostname or "")
            except SiteError as error:
                refused[site] = str(error).partition("\n")[0], self._has_no_answer(site)
        if not states:
            yield refused
            return
        assert not isinstance(self._session, Pageless)
        stored = self._session.storage_state()["origins"]
        agents = {
            "cookies": [each for each in self._session.own_cookies() if not any(is_of(each, host) for host in hosts)],
            "origins": [each for each in stored if urlsplit(each["origin"]).hostname not in hosts],
        }
        with self._session.own_pages(state=join([agents, *states])):
            yield refused

    def _login(self, site: str, recipe: LoginRecipe, account: Account, url: str) -> Mapping[str, Any]:
        if self._engine is None:
            raise SiteError("there is no browser for that")
        deadlines = self._session.config.deadlines if not isinstance(self._session, Pageless) else None
        proxy = self._leased(site).harness_proxy
        return login(self._engine(), recipe, account, url=url, proxy=proxy, deadlines=deadlines)

    def _has_no_answer(self, site: str) -> bool:
        access = self._leased(site).sites[site]
        try:
            answer = Visitor(access.url, proxy=self._leased(site).harness_proxy).call("GET", access.start)
        except SiteError:
            return True
        return no_answer(answer.status) == "site"

    def keeps_sign_in(self, site: str) -> bool:
        """Whether the agent's browser still has all cookies and stored items that signed in the visitor of ``site``,
        and no agent drives the browser itself, which could have restored them. For a site that signs in by a header,
        also whether it has no further ones, which could override the header."""
        if self._driven or isinstance(self._session, Pageless):
            return False
        access = self._leased(site).sites[site]
        assert access.login is not None
        began, now = (
            _kept(state, access.url)
            for state in (self._session.config.storage_state or {}, self._session.storage_state())
        )
        return began == now if access.login.kind == "header" else began <= now

    def download(self, site: str, path: str) -> tuple[int, bytes]:
        """Status and body of ``path`` (or a full address) on ``site`` for the session's visitor."""
        lease = self._leased(site)
        answer = self._visit(lease, "GET", absolute_url(self.sites, site, path))
        return answer.status, answer.data

    def account(self, site: str) -> tuple[str, str] | None:
        """User name and password of the administrator of ``site``; None when the catalogue has none."""
        sites = self._lease.sites if self._lease is not None else {}
        for name in (site, f"{site}_admin"):
            if name in sites:
                for account in sites[name].users.values():
                    if account.role == "admin" or name != site:
                        return account.username, account.password
        return None

    def _visit(self, lease: Lease, method: str, url: str, **request: Any) -> Answer:
        """A request in the harness's session. Cookies that the response sets apply to its next requests and pages."""
        cookies = self._session.own_cookies()
        visitor = Visitor(url, proxy=lease.harness_proxy, state={"cookies": cookies}, timeout=_API_TIMEOUT)
        answer = visitor.call(method, url, **request)
        self._session.note_received(visitor.received)
        if (updated := visitor.updated(cookies)) != cookies:
            self._session.keep_own_cookies(updated)
        self._require_a_site(url, answer.url)
        return answer

    def _login_redirect_reason(self, requested: str, landed: str) -> str:
        """Why the sign-in page of a site that the task visits signed in was shown in place of ``requested``; empty when
        it was not."""
        sites = self._lease.sites.values() if self._lease is not None else ()
        known = {site.name: user for site in sites if (user := visitor_account(site, self._users))}
        login_site = redirected_to_login([site for site in sites if site.name in known], requested, landed)
        if login_site is None:
            return ""
        return (
            f"the site {login_site.name} leads to its sign-in page, as if {known[login_site.name]} were not signed in"
        )

    def _decided(self, reading: PageReading, *, harness: bool) -> PageReading:
        """``reading`` after the gateway's record has decided which requests are pending for which the browser reported
        no end."""
        if reading.waiting or not reading.doubts:
            return reading
        if self._lease is None:
            return replace(reading, waiting=str(reading.doubts[0]))
        ask = partial(self._lease.answers, harness=harness)
        return replace(reading, waiting=unresolved_doubt(reading.doubts, ask))

    def _refusal_reason(self, page: PageReading) -> str:
        """The refusal of a request of an opened page, or its redirect to a sign-in page; empty when there was none."""
        sites = self._lease.sites.values() if self._lease is not None else ()
        signed_in_sites = [site for site in sites if visitor_account(site, self._users)]
        for requested, status, landed in page.refused_requests:
            is_task_site = _origin(requested) in map(_origin, self.sites.values())
            if is_task_site and status in CLIENTS_FAULT:
                return f"got status {status} for {shorten(requested, 100)}, as for a visitor's cookies"
            if not signed_in_sites:
                continue
            if redirected_to_login(signed_in_sites, requested, landed) is not None:
                return f"was led to a sign-in page for {shorten(requested, 100)}"
            if is_task_site and status in _REFUSALS:
                return f"got status {status} for {shorten(requested, 100)}"
        return ""

    def _require_a_site(self, requested: str, landed: str) -> None:
        """Raise when the gateway itself answered, because its response is no site's.

        `SiteError` when the site failed, or redirects to an address without a site; `TaskError` when the check asks for
        an address of no site.
        """
        if self._lease is None:
            return
        answers = (self._lease.own_answer(as_requested(url), harness=True) for url in (landed, requested))
        own_answer = next(filter(None, answers), "")
        if not own_answer:
            return
        self._lease.check()
        if _origin(requested) not in map(_origin, self.sites.values()):
            raise TaskError(
                f"expected a page of this task's sites ({', '.join(self.sites)}), found {requested}: {own_answer}"
            )
        where = f", which leads to {landed}" if landed != requested else ""
        raise SiteError(f"expected an answer of a site to {requested}{where}; found the gateway's: {own_answer}")

    def _leased(self, site: str) -> Lease:
        if self._lease is None or site not in self._lease.sites:
            raise TaskError(f"expected a site of this task, found {site!r}; {closest(site, self.sites)}")
        return self._lease
