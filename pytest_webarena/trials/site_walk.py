"""Reads all pages of sites that an account can reach without typing anything, and notes what it could not read."""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import parse_qsl, urlsplit

from pytest_webarena.errors import TrialError
from pytest_webarena.html_pages.get_forms import GetForm, choices
from pytest_webarena.html_pages.links import Frontier, kind_of
from pytest_webarena.html_pages.page_text import PageText, read_html, read_text
from pytest_webarena.html_pages.search_forms import form_key
from pytest_webarena.text import clip

__all__ = ["Fetched", "Shown", "Sources", "Walk"]

MOST_PAGES = 12_000
"""Maximum number of pages that one walk visits."""
MOST_SECONDS = 900.0
_ALIKE_FORMS = 2
"""Maximum number of forms of one kind, such as the filters of each project's list."""
_MOST_CHOICES = 64
"""Maximum number of requests for the choices of one form."""
_ALIKE_DRAWN = 3
"""Number of successive pages of one kind on which scripts show no new word and request no new data, after which others
are not opened in a browser."""
_STALE = 12
"""Number of successive pages of one kind with nothing new, after which other combinations of the same values are
variants."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The response to a plain request."""

    url: str
    """Address after redirects."""
    text: str
    """Empty for what has no text, such as a picture."""
    kind: str = "text/html"
    """Type of content."""
    failure: str = ""
    """Why there is no text although there may be something to read."""
    ended: bool = False
    """Whether it ended the account's session, which goes on with the next request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a browser shows of a page: at first, and after each of its controls was used."""

    views: tuple[tuple[str, str], ...] = ()
    """Addresses and HTML; none if the page can't be opened."""
    untried: tuple[str, ...] = ()
    """Controls that were not used."""
    fields: tuple[str, ...] = ()
    """Keys of fields that only scripts read."""
    requests: tuple[str, ...] = ()
    """Addresses from which scripts requested data."""


class Sources(Protocol):
    """How pages are read."""

    def fetch(self, url: str) -> Fetched:
        """Request a page or a file. Raises `TrialError` if it doesn't answer."""

    def show(self, url: str) -> Shown:
        """Open a page in a browser and use its controls."""

    def type(self, url: str, field: str, word: str) -> tuple[str, str] | None:
        """Type a word into a field that only scripts read; return the address and HTML that are shown then."""


@dataclass(slots=True, kw_only=True)
class Walk:
    """A visit of sites by one account."""

    sources: Sources
    sites: Mapping[str, str]
    """Addresses of the sites, by name."""
    most: int = MOST_PAGES
    seconds: float = MOST_SECONDS
    clock: Callable[[], float] = time.monotonic
    visited: int = 0
    """Number of addresses visited."""
    pages: dict[tuple[str, int], PageText] = field(default_factory=dict)
    """Views of pages by final address and number."""
    forms: list[tuple[GetForm, str]] = field(default_factory=list)
    """Forms into which a person types, and their pages."""
    fields: dict[tuple[str, str], str] = field(default_factory=dict)
    """Pages of fields that only scripts read, by kind of page and key of field."""
    unread: dict[str, None] = field(default_factory=dict)
    """What could not be read, and where."""
    frontier: Frontier = field(init=False)
    _read: set[str] = field(default_factory=set)
    _forms: Counter[str] = field(default_factory=Counter)
    """Number of forms by kind."""
    _undrawn: Counter[str] = field(default_factory=Counter)
    """Number of successive pages to which scripts added nothing, by kind and scripts."""
    _requests: set[str] = field(default_factory=set)
    """Addresses from which scripts requested data."""
    _words: set[str] = field(default_factory=set)
    """All words so far."""
    _texts: set[str] = field(default_factory=set)
    """All passages so far."""
    _stale: Counter[str] = field(default_factory=Counter)
    """Number of successive pages with nothing new, by kind."""
    _endings: set[str] = field(default_factory=set)
    """Kinds of addresses that log out."""
    _values: set[tuple[str, str, str]] = field(default_factory=set)
    """Path, name and value of parameters of visited pages."""

    def __post_init__(self) -> None:
        self.frontier = Frontier(self.sites.values(), exhaustive=True)

    def fork(self, *, most: int, seconds: float, sources: Sources) -> Walk:
        """Returns a walk that goes on from here on its own, and has read no page yet."""
        other = Walk(sources=sources, sites=self.sites, most=most, seconds=seconds, clock=self.clock)
        other.frontier = self.frontier.emptied()
        for name in ("_read", "_forms", "_undrawn", "_texts", "_stale", "_values", "_endings", "_words", "_requests"):
            setattr(other, name, copy.copy(getattr(self, name)))
        return other

    def run(self, start: Sequence[str]) -> None:
        """Visit pages from the addresses ``start`` on, until nothing is left or a bound is reached."""
        began = self.clock()
        self.frontier.add(start)
        while True:
            for address in self.frontier:
                if self.is_over(began, "pages"):
                    return
                self.visit(address)
            if not self.frontier.departures:
                return
            if not self._depart(self.frontier.departures.pop(0)):
                return

    def is_over(self, began: float, what: str) -> bool:
        """Whether a bound has been reached, which is noted."""
        if self.visited >= self.most:
            self.unread[f"more than {self.most:,} {what}"] = None
        elif self.clock() - began > self.seconds:
            self.unread[f"{what} left after {self.seconds:g} s"] = None
        else:
            return False
        return True

    def visit(self, address: str) -> list[tuple[str, PageText]]:
        """Visit an address, and note what the page leads to. Returns its views that are new."""
        if self._is_variant(address):
            return []
        found, fresh = self.read(address), []
        self.visited += 1
        self._values |= set(_parameters(address))
        for number, (url, page) in enumerate(found):
            if (url, number) in self.pages or (not number and url in self._read):
                continue
            self.pages[url, number] = replace(page, links=(), forms=())
            self._read.add(url)
            self.frontier.add([*page.links, *([url] if number else [])])
            self._note_forms(page, url)
            for what in page.unread:
                self.unread[f"{what} at {clip(url, 100)}"] = None
            fresh.append((url, page))
        texts = {text for _, page in fresh for text in page.passages} - self._texts
        self._texts |= texts
        kind = kind_of(address)
        self._stale[kind] = 0 if texts else self._stale[kind] + 1
        return fresh

    def read(self, address: str) -> list[tuple[str, PageText]]:
        """Returns the views of a page and their addresses: its HTML, and what a browser shows if it has scripts."""
        try:
            answer = self.sources.fetch(address)
        except TrialError as error:
            self.unread[f"no answer at {clip(address, 100)}: {clip(str(error), 80)}"] = None
            return []
        if answer.failure:
            self.unread[f"{answer.failure} at {clip(answer.url, 100)}"] = None
        if answer.ended:
            self._endings.add(kind_of(address))
        if not answer.text or answer.ended or not self.is_here(answer.url):
            return []
        if not answer.kind.endswith(("html", "xml")):
            return [(answer.url, read_text(answer.text, answer.kind, answer.url))]
        page = read_html(answer.text, answer.url)
        return [(answer.url, page), *self._drawn(page, answer.url)]

    def is_here(self, url: str) -> bool:
        """Whether an address is on one of the sites."""
        parts = urlsplit(url)
        return any((parts.scheme, parts.netloc) == urlsplit(site)[:2] for site in self.sites.values())

    def _drawn(self, page: PageText, url: str) -> list[tuple[str, PageText]]:
        """Returns what a browser shows of a page with scripts, unless those add nothing to pages of its kind."""
        kind = f"{kind_of(url)} {page.scripts}"
        if not page.scripts or self._undrawn[kind] >= _ALIKE_DRAWN:
            return []
        shown = self.sources.show(url)
        if not shown.views:
            self.unread[f"what scripts draw at {clip(url, 100)}"] = None
        for control in shown.untried:
            self.unread[f"what the control {clip(control, 60)!r} shows at {clip(url, 100)}"] = None
        for key in shown.fields:
            self.fields.setdefault((kind_of(url), key), url)
        views = [(address, read_html(html, address)) for address, html in shown.views if self.is_here(address)]
        self._words.update(word for text in page.passages for word in text.split())
        known = len(self._words), len(self._requests)
        self._words.update(word for _, view in views for text in view.passages for word in text.split())
        self._requests.update(shown.requests)
        adds = known != (len(self._words), len(self._requests))
        self._undrawn[kind] = 0 if adds else self._undrawn[kind] + 1
        return views

    def _note_forms(self, page: PageText, url: str) -> None:
        for form in page.forms:
            key = form_key(form, url)
            if self._forms[key] >= _ALIKE_FORMS:
                continue
            self._forms[key] += 1
            if form.types:
                self.forms.append((form, url))
            addresses, is_whole = choices(form, url, _MOST_CHOICES)
            if not (is_whole or form.types):
                self.unread[f"combined choices of a form at {clip(url, 100)}"] = None
            self.frontier.add(addresses)

    def _is_variant(self, address: str) -> bool:
        """Whether an address only combines values that were visited, where the last combinations showed nothing new."""
        given = _parameters(address)
        return len(given) > 1 and self._stale[kind_of(address)] >= _STALE and self._values.issuperset(given)

    def _depart(self, address: str) -> bool:
        """Visit an address that looks as if it logs out, last. Returns whether the account is still signed in."""
        if kind_of(address) in self._endings:
            return True
        home = next(url for url in self.sites.values() if urlsplit(url)[:2] == urlsplit(address)[:2])
        before = self._labels(f"{home}/")
        self.visit(address)
        if before <= self._labels(f"{home}/"):
            return True
        left = sum(kind_of(each) != kind_of(address) for each in self.frontier.departures)
        if left:
            self.unread[f"{left} addresses that look as if they log out"] = None
        return False

    def _labels(self, url: str) -> set[str]:
        try:
            page = read_html(self.sources.fetch(url).text, url)
        except TrialError:
            return set()
        return {control.label for control in page.controls}


def _parameters(address: str) -> list[tuple[str, str, str]]:
    parts = urlsplit(address)
    return [(parts.path, name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True)]
