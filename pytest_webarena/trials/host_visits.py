"""Visits pages of sites to find the hosts that they need and no key of the catalogue allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.login import login, login_headers
from pytest_webarena.errors import SiteError
from pytest_webarena.html_pages.links import Frontier, links_of
from pytest_webarena.results.refused_hosts import RefusedHost, proposed_keys, ways_to_allow
from pytest_webarena.sites.catalogues.proposed_hosts import is_listable
from pytest_webarena.sites.doctor import Diagnosis
from pytest_webarena.trials.refused_hosts import refused_hosts
from pytest_webarena.trials.refused_requests import with_browsers_record

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session
    from pytest_webarena.sites.client.lease import Lease

__all__ = ["examine_hosts", "visit_for_hosts"]

_PAGES = 12
"""Default number of pages that are visited."""
_NONE: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
_IDLE = 5.0
"""Seconds that a page has to load its parts."""


def visit_for_hosts(
    session: Session,
    lease: Lease,
    starts: Iterable[str],
    sites: Mapping[str, str],
    *,
    pages: int = _PAGES,
    on_page: Callable[[Session, str], None] | None = None,
) -> dict[str, RefusedHost]:
    """Visit pages of leased sites and return the hosts that they need and no key allows.

    Args:
        session: A browser context that uses the proxy of ``lease``, signed in or not.
        lease: The lease of the sites.
        starts: Addresses of the first pages.
        sites: Addresses of the sites, by name; links to other addresses are not followed.
        pages: Maximum number of pages.
        on_page: Called with each page that is open, and the address that led to it.
    """
    before = len(lease.requests())
    frontier = Frontier(sites.values())
    frontier.add(starts)
    for _, address in zip(range(pages), frontier, strict=False):
        session.open_tabs([address])
        session.wait_for_idle(_IDLE)
        frontier.add(links_of(session.html(), address))
        if on_page is not None:
            on_page(session, address)
    return refused_hosts(with_browsers_record(lease.requests()[before:], session.signals.refused))


def examine_hosts(
    engine: BrowserEngine, lease: Lease, *, states: Mapping[str, Mapping[str, Any]] = _NONE, pages: int = _PAGES
) -> Iterator[Diagnosis]:
    """Yield what pages of leased sites need of other hosts and no key allows, as a signed-in account sees them.

    ``states`` are storage states by site; other sites are signed in on. `WebArenaError` when the sites or the browser
    fail.
    """
    for site in lease.sites.values():
        state = states.get(site.name)
        user = site.default_user or next(iter(site.users), "")
        if state is None and site.login is not None and user:
            lease.set_headers(site.name, login_headers(site.login, site.users[user]))
            with suppress(SiteError):  # reported by the examination of sign-ins
                state = login(engine, site.login, site.users[user], url=site.url, proxy=lease.harness_proxy)
        with engine.session(SessionConfig(proxy=lease.proxy, storage_state=state)) as session:
            found = visit_for_hosts(session, lease, [site.start], {site.name: site.url}, pages=pages)
        for host, known in found.items():
            if known["keys"] == ["site"] or not is_listable(host):
                text = f"its pages send {known['example']}, which would be allowed by {ways_to_allow(host, known)}"
                yield Diagnosis(subject=site.name, state="note", text=text)
        if lines := proposed_keys(found):
            hosts = ", ".join(host for host, it in found.items() if it["keys"] != ["site"] and is_listable(host))
            text = f"its pages need {hosts}, which no key of the app {site.app} allows. To allow it:"
            yield Diagnosis(subject=site.name, state="note", text="\n".join([text, *lines]))
