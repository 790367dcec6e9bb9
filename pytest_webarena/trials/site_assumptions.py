"""Tests what a catalogue and a suite assume about sites: addresses, sign-ins together, APIs, start pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess
    from pytest_webarena.suites.loading import Loaded

__all__ = ["Assumption", "examine_assumptions", "examine_pages", "report_of", "start_paths"]

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


def start_paths(suite: Loaded) -> Mapping[str, Sequence[str]]:
    """Returns the distinct start pages of a suite's tasks, by site."""
    found: dict[str, dict[str, None]] = {}
    for start in (start for task in suite.tasks for start in task.start if start.site):
        found.setdefault(start.site, {})[start.path or "/"] = None
    return {site: tuple(sorted(paths)) for site, paths in found.items()}


def examine_assumptions(
    engine: BrowserEngine, lease: Lease, starts: Mapping[str, Sequence[str]]
) -> Iterator[Assumption]:
    """Yields the result for each assumption about the sites of ``lease``; ``starts`` are further pages by site."""
    states: dict[str, Mapping[str, Any]] = {}
    for site in lease.sites.values():
        yield _start_page(site, lease, {})
        if site.login is not None and site.default_user:
            yield from _sign_in(engine, lease, site, states)
        if site.api is not None:
            yield _api(site, lease)
    joined = join(states.values())
    if states:
        yield _together(engine, lease, states, joined)
    for site in lease.sites.values():
        yield from _start_pages(site, lease, joined, starts.get(site.name, ()))
    yield from _opened(engine, lease, joined)


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
    if answer.status >= 400:
        return f"status {answer.status}"
    is_deep = urlsplit(url).path.rstrip("/") not in ("", urlsplit(site.url).path.rstrip("/"))
    if is_deep and not may_redirect and place_of(answer.url) != place_of(url):
        return f"a redirect to {answer.url}"
    return ""


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
