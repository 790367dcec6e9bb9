"""Tests what a catalogue knows about the content, links, clock and writes of sites; each returns what is wrong."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin, urlsplit

from pytest_webarena.actions import Action, Goto, Type
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.login import place_of
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.catalogues.facts import MARK
from pytest_webarena.sites.client.visitor import Visitor
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session
    from pytest_webarena.sites.catalogues.facts import SiteFact, TrialWrite
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["clock_error", "fact_error", "link_error", "mark_left", "write_error"]

_Read = TypeVar("_Read")

_CLOCK_SECONDS = 3600.0
"""Largest difference of the clocks: tasks name days, and a request takes its time."""
_PATIENCE = 20.0
"""Seconds until a fact must be shown: scripts ask other servers for it."""
_POLL = 0.25
_SHOWN = 200


def fact_error(session: Session, site: SiteAccess, fact: SiteFact) -> str:
    """Returns how the page of ``fact`` differs from it, after waiting for the page's scripts; empty if it does not."""
    address = urljoin(f"{site.url}/", fact.path)
    found = _read_fact(session, address, fact, open=address)
    if not found or not fact.locate:
        return found
    if outcome := session.execute(Goto(address)).error:
        return outcome
    return _wait_for(lambda: _read_fact(session, address, fact, open=None), lambda found: not found, _PATIENCE)


def _read_fact(session: Session, address: str, fact: SiteFact, *, open: str | None) -> str:
    reading = session.read_page(open=open, locate=fact.locate or None)
    missing = reading.status is not None and reading.status >= 400
    if fact.absent:
        return "" if missing else "it exists: the site is not in its initial state"
    if missing:
        return f"status {reading.status}"
    if place_of(reading.url) != place_of(address):
        return f"a redirect to {reading.url}"
    if reading.texts and any(fact.includes in text for text in reading.texts):
        return ""
    shown = "; ".join(shorten(text, _SHOWN) for text in reading.texts[:3])
    return f"the page shows {shown!r}" if shown else "no such element"


def clock_error(site: SiteAccess, lease: Lease) -> str:
    """Returns by how much the site's clock differs from this machine's; empty if by less than an hour."""
    answer = Visitor(site.url, proxy=lease.harness_proxy).call("GET", site.start, follow=False)
    given = answer.headers.get("date", "")
    try:
        ahead = parsedate_to_datetime(given).timestamp() - time.time()
    except ValueError:
        return ""  # a server need not have a clock
    if abs(ahead) < _CLOCK_SECONDS:
        return ""
    hours = f"{abs(ahead) / 3600:,.0f} hours {'ahead' if ahead > 0 else 'behind'}"
    return f"its clock is {hours} of this machine's ({given})"


def link_error(site: SiteAccess, lease: Lease, state: Mapping[str, Any]) -> str:
    """Returns which links and forms of the start page can't work, because of the address they name."""
    answer = Visitor(site.url, proxy=lease.harness_proxy, state=state).call("GET", site.start)
    parser = _Targets(answer.url)
    parser.feed(answer.text)
    if parser.placeholders:
        return f"addresses with placeholders that nobody filled in, such as {parser.placeholders[0]!r}"
    # A page of a hosted site names the own address of the site, or its name.
    own = {urlsplit(url).netloc for url in (answer.url, site.url, *lease.own_addresses.names)}
    own |= {urlsplit(each.url).netloc for each in lease.sites.values()}
    for kind, targets in (("links", parser.links), ("forms", parser.forms)):
        hosts = [urlsplit(target).netloc for target in targets if urlsplit(target).scheme in ("http", "https")]
        if hosts and not own & set(hosts):
            return f"all of its {kind} lead to {', '.join(dict.fromkeys(hosts))}: the site has another base address"
    return ""


class _Targets(HTMLParser):
    """Collects the addresses of a page's links and forms."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._url = url
        self.links: list[str] = []
        self.forms: list[str] = []
        self.placeholders: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name, found = {"a": ("href", self.links), "form": ("action", self.forms)}.get(tag, ("", []))
        given = (dict(attrs).get(name) or "").strip()
        if not given:
            return
        if re.search(r"<[^>]*>", given):
            self.placeholders.append(given)
            return
        try:
            found.append(urljoin(self._url, given))
        except ValueError:  # e.g. [ in a host's name
            self.placeholders.append(given)


def write_error(
    engine: BrowserEngine, lease: Lease, site: SiteAccess, write: TrialWrite, state: Mapping[str, Any], mark: str
) -> tuple[str, str]:
    """Add an entry with the text ``mark`` to a site, as a trial does. Returns what is wrong, and the page with it."""
    config = SessionConfig(proxy=lease.proxy, storage_state=state)
    with engine.session(config) as session:
        session.open_tabs([urljoin(f"{site.url}/", write.path)])
        for number, step in enumerate(write.steps, start=1):
            outcome = session.execute(_marked(step, mark))
            if outcome.error:
                return f"step {number} of {len(write.steps)} on {write.path}: {outcome.error}", ""
        shown = _wait_for(
            lambda: session.read_page(open=None, locate=None), lambda page: mark in "".join(page.texts), _PATIENCE / 4
        )
        if mark in "".join(shown.texts):
            return "", shown.url
        status = f"status {shown.status}, " if shown.status is not None and shown.status >= 400 else ""
        return f"{status}{shown.url} shows {shorten(' '.join(shown.texts), _SHOWN)!r}", ""


def mark_left(session: Session, url: str, mark: str) -> str:
    """Returns where the entry of `write_error` is still shown after a reset; empty if it is gone."""
    try:
        reading = session.read_page(open=url, locate=None)
    except SiteError:
        return ""  # there is no such page any more
    return f"{url} still shows the entry: the reset did not restore the data" if mark in "".join(reading.texts) else ""


def _marked(step: Action, mark: str) -> Action:
    return replace(step, text=step.text.replace(MARK, mark)) if isinstance(step, Type) else step


def _wait_for(read: Callable[[], _Read], done: Callable[[_Read], bool], seconds: float) -> _Read:
    """Returns the first reading that is ``done``, or the last one before the time is over."""
    deadline = time.monotonic() + seconds
    while not done(found := read()) and time.monotonic() < deadline:
        time.sleep(_POLL)
    return found
