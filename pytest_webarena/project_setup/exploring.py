"""Explores an app that runs: its pages, sign-in and its check, hosts that pages need, data that visits change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from pytest_webarena.actions import Action, Press, Selector, Type
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.login import login, passes_without_login
from pytest_webarena.changes import FILES, SiteChanges
from pytest_webarena.errors import SiteError, WebArenaError
from pytest_webarena.gateway.log_entry import SAFE_METHODS
from pytest_webarena.html_pages.page_text import read_html
from pytest_webarena.html_pages.page_tree import walk
from pytest_webarena.project_setup.sign_in_form import SignInForm, find_form
from pytest_webarena.results.refused_hosts import proposed_keys
from pytest_webarena.sites.catalogues.manifest import LoginCheck, LoginRecipe
from pytest_webarena.sites.client.visitor import Visitor
from pytest_webarena.trials.host_visits import visit_for_hosts
from pytest_webarena.trials.sign_in_checks import examine_sign_in

if TYPE_CHECKING:
    from pytest_webarena.browser.session import Session
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess
    from pytest_webarena.trials.runtime import Runtime

__all__ = ["Explored", "Missing", "Page", "explore"]

_USUAL = ("/login", "/signin", "/sign-in", "/accounts/login/", "/users/sign_in", "/auth/login")
"""Addresses of sign-in pages that no link may lead to."""
_LONGEST_HEADING = 80
_IDLE = 5.0
"""Seconds that a page has to load its parts."""
_LEAVE = ("Log out", "Logout", "Sign out", "Log off", "Sign off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page that was visited."""

    path: str
    heading: str
    """Its main heading, else its title."""
    is_title: bool = False
    """Whether that is the title, which is not displayed on the page."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that was not found, and what to do."""

    subject: str
    text: str


@dataclass(slots=True, kw_only=True)
class Explored:
    """The result of exploring one site."""

    pages: list[Page] = field(default_factory=list)
    """Pages that looked the same on two replicas, the start page first."""
    changed: list[str] = field(default_factory=list)
    """Paths of pages whose texts differed between the two visits."""
    form: SignInForm | None = None
    check: LoginCheck | None = None
    hosts: dict[str, list[str]] = field(default_factory=dict)
    """Keys of the app that allow the hosts that its pages need."""
    ignore: list[str] = field(default_factory=list)
    """Tables and columns that changed although nobody changed anything."""
    ignore_files: list[str] = field(default_factory=list)
    ledger: bool = False
    """Whether changes of its data can be seen."""
    writes: dict[str, str] = field(default_factory=dict)
    """Requests that pages send on their own and that may change something, with their paths."""
    notes: list[str] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)


def explore(runtime: Runtime, site: str, *, sign_in: str = "", ledger: bool) -> Explored:
    """Explore ``site`` on two replicas, one after the other.

    Args:
        runtime: A runtime for a catalogue that has the site.
        site: The site's name.
        sign_in: Path of the page with the sign-in form; empty: it is looked for.
        ledger: Whether changes of its data can be seen.

    Raises the errors of starting the app.
    """
    found = Explored(ledger=ledger)
    first = _Visit(runtime, ledger=ledger)
    with runtime.lease([site], users={site: ""}, holder="webarena init") as lease:
        access = lease.sites[site]
        _require_start_page(access, lease, found)
        first.begin(lease)
        pages, html = first.crawl(lease, access, None, found)
        before = html
        found.form = _form(first, lease, access, sign_in, html, found)
        recipe = None
        if found.form is not None and access.users:
            recipe = _find_check(runtime, lease, access, found)
        signed = _signed_in(runtime, lease, access, recipe)
        if signed is not None:
            pages, before = first.crawl(lease, access, signed, found)
        first.end(lease, found)
    second = _Visit(runtime, ledger=ledger)
    with runtime.lease([site], users={site: ""}, holder="webarena init") as lease:
        access = lease.sites[site]
        signed = _signed_in(runtime, lease, access, recipe)
        second.begin(lease)  # after the sign-in, as in trials: what changes its session shows now
        again, after = second.crawl(lease, access, signed, found)
        second.end(lease, found)
    found.pages = [page for page in pages if page in again]
    found.changed = [path for path in before if path in after and _passages(before, path) != _passages(after, path)]
    return found


def _require_start_page(access: SiteAccess, lease: Lease, found: Explored) -> None:
    answer = Visitor(access.url, proxy=lease.harness_proxy).call("GET", access.start)
    if answer.status >= 400:
        host = urlsplit(access.url).netloc
        text = f"expected a start page at {access.start}, found status {answer.status}"
        if answer.status == 401 and answer.headers.get("www-authenticate", "").lower().startswith("basic"):
            text += "; it asks for HTTP Basic: add 'sign_in' with 'http_basic: true' and a 'check' to the site"
        if answer.status == 400:
            text += f"; an app that accepts known hosts only must accept {host}"
        found.missing.append(Missing("start page", f"{text}. Name another one: --start=/PATH"))


class _Visit:
    """What happens on one replica."""

    def __init__(self, runtime: Runtime, *, ledger: bool) -> None:
        self.runtime, self._ledger = runtime, ledger

    def begin(self, lease: Lease) -> None:
        if self._ledger:
            lease.mark(required=True)

    def end(self, lease: Lease, found: Explored) -> None:
        """Note what differs on the replica, which nobody meant to change."""
        for changes in lease.changes() if self._ledger else ():
            _note_changes(changes, found)

    def crawl(
        self, lease: Lease, access: SiteAccess, state: Mapping[str, Any] | None, found: Explored
    ) -> tuple[list[Page], dict[str, str]]:
        """Returns the pages that visitors with a storage state can read, and the content of all by path."""
        pages: list[Page] = []
        html: dict[str, str] = {}

        def see(session: Session, address: str) -> None:
            path = _path(session.address, access.url)
            if not path or path in html:
                return
            html[path] = session.html()
            if session.address == address or _path(address, access.url) == path:
                pages.append(_page(html[path], path))

        with self.runtime.engine().session(SessionConfig(proxy=lease.proxy, storage_state=state)) as session:
            refused = visit_for_hosts(
                session, lease, [access.start, f"{access.url}/"], {access.name: access.url}, on_page=see
            )
        for key, entries in yaml.safe_load("\n".join(proposed_keys(refused)) or "{}").items():
            found.hosts[key] = list(dict.fromkeys([*found.hosts.get(key, ()), *map(str, entries)]))
        requests = [each for each in lease.requests() if not each.refused]
        for each in requests:
            if each.method not in SAFE_METHODS and (path := _path(each.url, access.url).partition("?")[0]):
                found.writes[f"{each.method} {path}"] = path
        good = {_path(each.url, access.url) for each in requests if each.status is not None and each.status < 300}
        return [page for page in pages if page.heading and page.path in good], html


def _form(
    visit: _Visit, lease: Lease, access: SiteAccess, given: str, html: Mapping[str, str], found: Explored
) -> SignInForm | None:
    """Returns the sign-in form: that of the page ``given``, else of a crawled page, else of a usual address."""
    if not given and (form := next((form for path in html if (form := find_form(html[path], path))), None)):
        return form
    with visit.runtime.engine().session(SessionConfig(proxy=lease.harness_proxy)) as session:
        for path in [given] if given else _USUAL:
            with suppress(SiteError):
                session.open_tabs([f"{access.url}{path}"])
                session.wait_for_idle(_IDLE)
                if form := find_form(session.html(), path):
                    return form
    if given:
        text = f"expected a form with one password on the page {given}, found none; name its page: --login=/PATH"
        found.missing.append(Missing("sign-in", f"{text}, or write 'sign_in' into sites.yaml"))
    return None


def _find_check(runtime: Runtime, lease: Lease, access: SiteAccess, found: Explored) -> LoginRecipe | None:
    """Sign in and look for what only the signed-in account sees. Returns the recipe with this check."""
    assert found.form is not None
    user = access.default_user or next(iter(access.users))
    account = access.users[user]
    engine = runtime.engine()
    steps = _actions(found.form)
    anything = LoginRecipe(
        kind="form", site=access.name, path=found.form.path, steps=steps, check=LoginCheck(path="/", redirects=True)
    )
    try:
        state = login(engine, anything, account, url=access.url, proxy=lease.harness_proxy)
    except WebArenaError as error:
        found.missing.append(Missing("sign-in", f"{str(error).splitlines()[0]}; correct --login and --user"))
        return None
    _, html = _Visit(runtime, ledger=False).crawl(lease, access, state, Explored())
    for check in _candidates(html, account.username):
        recipe = replace(anything, check=check)
        with suppress(WebArenaError):
            if passes_without_login(engine, recipe, account, url=access.url, proxy=lease.harness_proxy):
                continue
            diagnoses = list(examine_sign_in(engine, lease, replace(access, login=recipe)))
            if not any(each.state == "failed" for each in diagnoses):
                found.check = check
                found.notes += [f"sign-in: {each.text.splitlines()[0]}" for each in diagnoses]
                return recipe
    text = (
        f"after the steps on {found.form.path} as {user}, no page shows what others don't see, so the sign-in can't be "
        "proved. Check name and password (--user=NAME:PASSWORD)"
    )
    found.missing.append(Missing("sign-in", f"{text}, or write 'sign_in' with a 'check' into sites.yaml"))
    return None


def _candidates(html: Mapping[str, str], username: str) -> Iterator[LoginCheck]:
    """Yields checks, best first: a page with the account's name, then with a way to sign out."""
    texts = {path: " ".join(_passages(html, path)) for path in html}
    for path, text in texts.items():
        if username in text:
            yield LoginCheck(path=path, includes="{username}")
    for path, text in texts.items():
        if leave := next((words for words in _LEAVE if words.lower() in text.lower()), ""):
            at = text.lower().index(leave.lower())
            yield LoginCheck(path=path, includes=text[at : at + len(leave)])


def _passages(html: Mapping[str, str], path: str) -> Sequence[str]:
    return read_html(html[path], f"http://site.test{path}").passages


def _actions(form: SignInForm) -> tuple[Action, ...]:
    return (
        Type(Selector(form.name), "{username}", clear=True),
        Type(Selector(form.password), "{password}", clear=True),
        Press("Enter", Selector(form.password)),
    )


def _signed_in(
    runtime: Runtime, lease: Lease, access: SiteAccess, recipe: LoginRecipe | None
) -> Mapping[str, Any] | None:
    if recipe is None:
        return None
    account = access.users[access.default_user or next(iter(access.users))]
    return login(runtime.engine(), recipe, account, url=access.url, proxy=lease.harness_proxy)


def _note_changes(changes: SiteChanges, found: Explored) -> None:
    if changes.unknown:
        found.ledger = False
        found.missing.append(Missing("side effects", f"changes of its data can't be seen: {changes.unknown}"))
    for table in changes.tables:
        if table.table == FILES:
            names = [str(row.key.get("path")) for row in table.rows]
            found.ignore_files += [name for name in names if name not in found.ignore_files]
            continue
        entries = [f"+{table.table}"] if table.added else []
        entries += [f"{table.table}.{column}" for column in table.columns]
        entries = [table.table] if table.removed else entries
        found.ignore += [entry for entry in entries if entry not in found.ignore]


def _page(html: str, path: str) -> Page:
    heading, title, inside = "", "", ""
    for step in walk(html):
        if step.kind == "start" and step.tag in ("h1", "title"):
            inside = step.tag
        elif step.kind == "end" and step.tag == inside:
            if inside == "h1" and heading:
                break
            inside = ""
        elif step.kind == "text" and inside == "h1":
            heading += step.text
        elif step.kind == "text" and inside == "title":
            title += step.text
    text = " ".join((heading or title).split())
    return Page(path=path, heading=text if len(text) <= _LONGEST_HEADING else "", is_title=not heading.strip())


def _path(address: str, home: str) -> str:
    """Returns the path of an address on the site ``home``, with its query; empty for other addresses."""
    parts, own = urlsplit(address), urlsplit(home)
    if (parts.scheme, parts.netloc) != (own.scheme, own.netloc):
        return ""
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
