"""Hosts that pages of a trial's sites needed and the gateway refused, with the key of a catalogue that allows each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from urllib.parse import urldefrag, urljoin, urlsplit

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.login import login, login_headers
from pytest_webarena.errors import SiteError
from pytest_webarena.gateway.archive_misses import is_browser_service, resource_kind
from pytest_webarena.html_pages.links import Frontier, links_of
from pytest_webarena.sites.doctor import Diagnosis
from pytest_webarena.text import shorten
from pytest_webarena.trials.refused_requests import with_browsers_record

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session
    from pytest_webarena.evidence import RequestRecord
    from pytest_webarena.sites.client.lease import Lease

__all__ = ["RefusedHost", "entry_of", "examine_hosts", "proposed_keys", "refused_hosts", "visit_for_hosts"]

_LISTED = 50
"""Maximum number of hosts of one trial, because pages can invent any number."""
_PAGES = 12
"""Default number of pages that are visited to find hosts."""
_IDLE = 5.0
"""Seconds that a page has to load its parts."""

Key = Literal["loads", "sign_in_hosts", "site"]
"""What allows a request: a key of the app, or a site of the catalogue for anything else."""


class RefusedHost(TypedDict):
    """A host that pages needed, as stored in records."""

    keys: list[Key]
    """What would allow its requests."""
    example: str
    """Method and address of the first request, without its query."""
    why: str
    """The reason for the refusal."""


def refused_hosts(requests: Sequence[RequestRecord]) -> dict[str, RefusedHost]:
    """Return what pages needed of other hosts and did not get, by host, with the port if that is not the default.

    Addresses that the agent opened itself, links that it followed and requests of the browser's own services are left
    out: no page is incomplete without them.
    """
    found: dict[str, RefusedHost] = {}
    senders: set[str] = set()
    for request in requests:
        senders.update(_targets(request))
        key = _key_for(request, sent_on=urldefrag(request.url).url in senders)
        if key is None:
            continue
        parts = urlsplit(request.url)
        host = parts.netloc.rpartition("@")[2]
        if host not in found and len(found) >= _LISTED:
            continue
        example = shorten(f"{request.method} {parts.scheme}://{host}{parts.path}", 150)
        known = found.setdefault(host, RefusedHost(keys=[], example=example, why=request.refused))
        if key not in known["keys"]:
            known["keys"].append(key)
    return found


def _key_for(request: RequestRecord, *, sent_on: bool) -> Key | None:
    """Return what would allow a refused request; None if it was not refused, or if no page needs its answer.

    ``sent_on``: whether a page redirected to its address.
    """
    fields = [f"{name}: {value}" for name, value in request.request_headers]
    if not request.refused or request.intercepted or request.method in ("", "CONNECT", "OPTIONS"):
        return None
    if is_browser_service(fields):
        return None
    if resource_kind(request.method, fields) == "page":
        return "sign_in_hosts" if sent_on or request.method == "POST" else None
    return "loads" if request.method == "GET" and not _is_websocket(request) else "site"


def _is_websocket(request: RequestRecord) -> bool:
    return any(name.lower() == "upgrade" and "websocket" in value.lower() for name, value in request.request_headers)


def _targets(request: RequestRecord) -> Iterator[str]:
    """Yield the address to which the answer to a request redirects."""
    if request.status is not None and 300 <= request.status < 400:
        for name, value in request.response_headers:
            if name.lower() == "location":
                yield urldefrag(urljoin(request.url, value)).url


def visit_for_hosts(
    session: Session, lease: Lease, starts: Iterable[str], sites: Mapping[str, str], *, pages: int = _PAGES
) -> dict[str, RefusedHost]:
    """Visit pages of leased sites and return the hosts that they need and no key allows.

    Args:
        session: A browser context that uses the proxy of ``lease``, signed in or not.
        lease: The lease of the sites.
        starts: Addresses of the first pages.
        sites: Addresses of the sites, by name; links to other addresses are not followed.
        pages: Maximum number of pages.
    """
    before = len(lease.requests())
    frontier = Frontier(sites.values())
    frontier.add(starts)
    for _, address in zip(range(pages), frontier, strict=False):
        session.open_tabs([address])
        session.wait_for_idle(_IDLE)
        frontier.add(links_of(session.html(), address))
    return refused_hosts(with_browsers_record(lease.requests()[before:], session.signals.refused))


def entry_of(host: str, example: str) -> str:
    """Return the entry of a list that names a refused host: its origin if it has a port of its own.

    >>> entry_of("cdn.test", "GET http://cdn.test/a"), entry_of("cdn.test:81", "GET http://cdn.test:81/a")
    ('cdn.test', 'http://cdn.test:81')
    """
    return f"{example.split(' ')[1].partition('://')[0]}://{host}" if ":" in host else host


def proposed_keys(found: Mapping[str, RefusedHost]) -> list[str]:
    """Return lines for an app of a catalogue that allow what was refused."""
    keys: tuple[Key, ...] = ("loads", "sign_in_hosts")
    named = {key: [entry_of(host, it["example"]) for host, it in found.items() if key in it["keys"]] for key in keys}
    # A host can be in one list only, and pages that sign in load parts from there as well.
    named["loads"] = [entry for entry in named["loads"] if entry not in named["sign_in_hosts"]]
    return [f"{key}: [{', '.join(entries)}]" for key, entries in named.items() if entries]


def examine_hosts(engine: BrowserEngine, lease: Lease) -> Iterator[Diagnosis]:
    """Yield what pages of leased sites need of other hosts and no key allows, as a signed-in account sees them.

    `WebArenaError` when the sites or the browser fail.
    """
    for site in lease.sites.values():
        state: Mapping[str, Any] | None = None
        user = site.default_user or next(iter(site.users), "")
        if site.login is not None and user:
            lease.set_headers(site.name, login_headers(site.login, site.users[user]))
            with suppress(SiteError):  # reported by the examination of sign-ins
                state = login(engine, site.login, site.users[user], url=site.url, proxy=lease.harness_proxy)
        with engine.session(SessionConfig(proxy=lease.proxy, storage_state=state)) as session:
            found = visit_for_hosts(session, lease, [site.start], {site.name: site.url})
        for known in found.values():
            if known["keys"] == ["site"]:
                text = f"its pages send {known['example']}, which only a site of the catalogue with this host answers"
                yield Diagnosis(subject=site.name, state="note", text=text)
        if lines := proposed_keys(found):
            hosts = ", ".join(host for host, known in found.items() if known["keys"] != ["site"])
            text = f"its pages need {hosts}, which no key of the app {site.app} allows. To allow it:"
            yield Diagnosis(subject=site.name, state="note", text="\n".join([text, *lines]))
