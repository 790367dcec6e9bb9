"""Tests what a catalogue and a suite assume about sites: addresses, sign-ins together, APIs, start pages."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.login import login, login_headers, passes_without_login, place_of, verify_together
from pytest_webarena.errors import BrowserError, SiteError, TaskError, WebArenaError
from pytest_webarena.sites.client.visitor import Visitor
from pytest_webarena.trials.live import absolute_url
from pytest_webarena.trials.page_policies import require_no_own_policy
from pytest_webarena.trials.session_joining import join
from pytest_webarena.trials.sign_in_checks import holds_for_everybody
from pytest_webarena.trials.site_facts import clock_error, fact_error, link_error, mark_left, write_error

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.catalogues.manifest import SiteManifest
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess
    from pytest_webarena.suites.loading import Loaded

__all__ = ["Assumption", "Mark", "examine_assumptions", "examine_pages", "examine_restored", "report_of", "start_paths"]

_PATIENCE = 60.0
"""Seconds for one request; the first request of a page may fill a cache."""
_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """One statement about a site, and what was found."""

    site: str
    """Empty for one about all sites."""
    claim: str
    state: Literal["confirmed", "refuted", "untested"]
    found: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An entry that the doctor added to a site."""

    text: str
    url: str
    """Page that shows it."""


def start_paths(suite: Loaded) -> Mapping[str, Sequence[str]]:
    """Returns the distinct start pages of a suite's tasks, for every site that a task lists."""
    found: dict[str, dict[str, None]] = {site: {} for task in suite.tasks for site in task.sites}
    for start in (start for task in suite.tasks for start in task.start if start.site):
        found.setdefault(start.site, {})[start.path or "/"] = None
    return {site: tuple(sorted(paths)) for site, paths in found.items()}


def examine_assumptions(
    engine: BrowserEngine,
    lease: Lease,
    starts: Mapping[str, Sequence[str]],
    *,
    known: Mapping[str, SiteManifest],
    resets: Sequence[str] = (),
    marks: MutableMapping[str, Mark] | None = None,
) -> Iterator[Assumption]:
    """Yields the result for each assumption about the sites of ``lease``.

    Args:
        starts: Further pages by site.
        known: What the catalogue knows about the sites.
        resets: Sites with a reset, to which entries may be added.
        marks: Receives the entries, for `examine_restored` after the reset.
    """
    states: dict[str, Mapping[str, Any]] = {}
    for site in lease.sites.values():
        yield _start_page(site, lease, {})
        yield _asked(site, "Its clock is right to the hour.", lambda site=site: clock_error(site, lease))
        if site.login is not None and site.default_user:
            yield from _sign_in(engine, lease, site, states)
        if site.api is not None:
            yield _api(site, lease)
    joined = join(states.values())
    if states:
        yield _together(engine, lease, states, joined)
    for site in lease.sites.values():
        yield from _start_pages(site, lease, joined, starts.get(site.name, ()))
        yield _links(site, lease, joined)
    yield from _opened(engine, lease, joined)
    yield from _facts(engine, lease, joined, known)
    for site in lease.sites.values():
        if site.name in states:
            yield _written(engine, lease, site, joined, known[site.name], resets, marks if marks is not None else {})


def examine_restored(engine: BrowserEngine, lease: Lease, marks: Mapping[str, Mark]) -> Iterator[Assumption]:
    """Yields whether the entries ``marks`` are gone from sites that were reset since."""
    states: dict[str, Mapping[str, Any]] = {}
    for site in (lease.sites[name] for name in marks):
        if site.login is not None and site.default_user:
            account = site.users[site.default_user]
            lease.set_headers(site.name, login_headers(site.login, account))
            with suppress(SiteError):  # the page without an account may show the entry, too
                states[site.name] = login(engine, site.login, account, url=site.url, proxy=lease.sign_in_proxy)
    config = SessionConfig(proxy=lease.harness_proxy, storage_state=join(states.values()))
    with engine.session(config, tab=False) as session:
        for name, mark in marks.items():
            claim = "The reset removes the entry that was added."
            yield _asked(lease.sites[name], claim, lambda mark=mark: mark_left(session, mark.url, mark.text))


def examine_pages(engine: BrowserEngine, lease: Lease) -> Iterator[Assumption]:
    """Yields whether the start pages of the sites of ``lease`` work, signed in where sign-in works."""
    states: dict[str, Mapping[str, Any]] = {}
    for site in lease.sites.values():
        if site.login is not None and site.default_user:
            account = site.users[site.default_user]
            lease.set_headers(site.name, login_headers(site.login, account))
            with suppress(SiteError):  # `examine_sign_in` reports it
                states[site.name] = login(engine, site.login, account, url=site.url, proxy=lease.sign_in_proxy)
    joined = join(states.values())
    for site in lease.sites.values():
        yield _start_page(site, lease, joined, may_redirect=True)
    yield from _opened(engine, lease, joined)


def _start_page(site: SiteAccess, lease: Lease, state: Mapping[str, Any], *, may_redirect: bool = False) -> Assumption:
    claim = f"The site answers at {_path(site.start)}."
    return _asked(site, claim, lambda: _unexpected(site, lease, site.start, state, may_redirect=may_redirect))


def _sign_in(
    engine: BrowserEngine, lease: Lease, site: SiteAccess, states: dict[str, Mapping[str, Any]]
) -> Iterator[Assumption]:
    recipe, user = site.login, site.default_user
    assert recipe is not None
    account = site.users[user]

    def alone() -> str:
        lease.set_headers(site.name, {})
        passes = passes_without_login(engine, recipe, account, url=site.url, proxy=lease.sign_in_proxy)
        return holds_for_everybody(recipe.check) if passes else ""

    yield _asked(site, f"Visitors who are not signed in fail the check ({recipe.check}).", alone)

    def sign_in() -> str:
        lease.set_headers(site.name, login_headers(recipe, account))
        states[site.name] = login(engine, recipe, account, url=site.url, proxy=lease.sign_in_proxy)
        return ""

    where = f" at {recipe.path}" if recipe.path else ""
    yield _asked(site, f"{user} can sign in by {recipe.kind}{where}.", sign_in)


def _api(site: SiteAccess, lease: Lease) -> Assumption:
    assert site.api is not None
    recipe = site.api

    def ask() -> str:
        Visitor(site.url, proxy=lease.sign_in_proxy, timeout=_PATIENCE).authenticated(recipe)
        return ""

    return _asked(site, f"The API returns a token ({recipe.method} {recipe.path}).", ask)


def _together(
    engine: BrowserEngine, lease: Lease, states: Mapping[str, Mapping[str, Any]], joined: Mapping[str, Any]
) -> Assumption:
    sign_ins = [
        (site.login, site.users[site.default_user], site.url)
        for name in states
        if (site := lease.sites[name]).login is not None
    ]
    others = [site.start for site in lease.sites.values() if site.name not in states]

    def ask() -> str:
        verify_together(engine, sign_ins, others=others, proxy=lease.harness_proxy, state=joined)
        return ""

    return _asked(None, f"The accounts of {', '.join(states)} are signed in together in one browser.", ask)


def _start_pages(
    site: SiteAccess, lease: Lease, joined: Mapping[str, Any], paths: Sequence[str]
) -> Iterator[Assumption]:
    for path in paths:
        url = absolute_url({site.name: site.url}, site.name, path)
        yield _asked(
            site, f"The start page {path} exists.", lambda url=url: _unexpected(site, lease, url, joined)
        )  # fmt: skip


def _links(site: SiteAccess, lease: Lease, joined: Mapping[str, Any]) -> Assumption:
    return _asked(site, "The links of its start page lead to its sites.", lambda: link_error(site, lease, joined))


def _facts(
    engine: BrowserEngine, lease: Lease, joined: Mapping[str, Any], known: Mapping[str, SiteManifest]
) -> Iterator[Assumption]:
    """Test what the catalogue knows about pages, in one browser for all."""
    config = SessionConfig(proxy=lease.harness_proxy, storage_state=joined)
    with engine.session(config) as session, session.own_pages(keep=True):
        for site in lease.sites.values():
            for fact in known[site.name].facts:
                yield _asked(site, f"{fact}.", lambda site=site, fact=fact: fact_error(session, site, fact))


def _written(
    engine: BrowserEngine,
    lease: Lease,
    site: SiteAccess,
    joined: Mapping[str, Any],
    manifest: SiteManifest,
    resets: Sequence[str],
    marks: MutableMapping[str, Mark],
) -> Assumption:
    claim, write = "An entry can be added.", manifest.trial_write
    if site.name not in resets or write is None:
        lacks = "the site has no reset" if site.name not in resets else "the catalogue has no 'trial_write' for it"
        return Assumption(site=site.name, claim=claim, state="untested", found=f"nothing was written: {lacks}")
    text = f"doctor{secrets.token_hex(6)}"

    def ask() -> str:
        problem, url = write_error(engine, lease, site, write, joined, text)
        if not problem:
            marks[site.name] = Mark(text=text, url=url)
        return problem

    return _asked(site, claim, ask)


def _opened(engine: BrowserEngine, lease: Lease, joined: Mapping[str, Any]) -> Iterator[Assumption]:
    """Open each site in a browser, where its scripts run."""
    config = SessionConfig(proxy=lease.harness_proxy, storage_state=joined)
    for site in lease.sites.values():

        def ask(site: SiteAccess = site) -> str:
            with engine.session(config) as session:
                session.open_tabs([site.start])
                require_no_own_policy(session, lease.own_addresses)
            lease.check()
            return ""

        yield _asked(site, "Its start page and scripts work in a browser.", ask)


def _asked(site: SiteAccess | None, claim: str, ask: Any) -> Assumption:
    """Returns the result of ``ask``, which returns or raises why the claim is wrong."""
    name = site.name if site is not None else ""
    try:
        found: str = ask()
    except BrowserError as error:
        return Assumption(site=name, claim=claim, state="untested", found=_line(error))
    except (SiteError, TaskError) as error:
        return Assumption(site=name, claim=claim, state="refuted", found=_line(error))
    except WebArenaError as error:
        return Assumption(site=name, claim=claim, state="untested", found=_line(error))
    return Assumption(site=name, claim=claim, state="refuted" if found else "confirmed", found=found)


def _unexpected(
    site: SiteAccess, lease: Lease, url: str, state: Mapping[str, Any], *, may_redirect: bool = False
) -> str:
    """Returns why the page at ``url`` is not as expected; empty if it is."""
    answer = Visitor(site.url, proxy=lease.harness_proxy, state=state, timeout=_PATIENCE).call("GET", url)
    moved = f" after a redirect to {answer.url}" if _origin(answer.url) != _origin(url) else ""
    if answer.status >= 400:
        return f"status {answer.status}{moved}"
    is_deep = urlsplit(url).path.rstrip("/") not in ("", urlsplit(site.url).path.rstrip("/"))
    if is_deep and not may_redirect and place_of(answer.url) != place_of(url):
        return f"a redirect to {answer.url}"
    return ""


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _path(url: str) -> str:
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "") or "/"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:_SHOWN]


def report_of(assumptions: Sequence[Assumption], *, title: str, facts: Mapping[str, str], hidden: Sequence[str]) -> str:
    """Returns a report in Markdown to share. ``facts`` describe the run; the addresses ``hidden`` are left out."""
    counts = {state: sum(each.state == state for each in assumptions) for state in ("confirmed", "refuted", "untested")}
    lines = [f"# {title}", "", *(f"* {name}: {value}" for name, value in facts.items())]
    lines += [f"* {', '.join(f'{count} {state}' for state, count in counts.items())}", ""]
    lines += ["| site | assumption | result | found |", "|---|---|---|---|"]
    for each in assumptions:
        cells = (each.site or "all", each.claim, each.state, each.found)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    text = "\n".join(lines) + "\n"
    for number, host in enumerate(dict.fromkeys(urlsplit(url).hostname or "" for url in hidden), 1):
        text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)", f"host-{number}", text)
    return text
