"""Looks for the ground of an impossible task: visits the pages that an account can reach, and searches them."""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args
from urllib.parse import urlsplit

from pytest_webarena.checks.ground import Ground, Term
from pytest_webarena.errors import TrialError
from pytest_webarena.html_pages.finding import MASK, Hit, hits, is_about, masked, mentions
from pytest_webarena.html_pages.links import Frontier, kind_of
from pytest_webarena.html_pages.page_text import PageText, read_html
from pytest_webarena.html_pages.search_forms import form_key, in_place_of, searches

__all__ = ["Crawl", "Fetched", "Find", "Password", "Sources"]

MOST_PAGES = 300
"""Maximum number of pages that one crawl visits."""
MOST_SECONDS = 180.0
_MOST_SEARCHES = 80
"""Maximum number of searches among the pages."""
_ALIKE_FORMS = 2
"""Maximum number of forms of one kind, such as the filters of each project's list."""
_MOST_RESULTS = 8
"""Maximum number of results of a search that are visited at once; further ones wait with other pages."""
_MOST_VARIANTS = 6
"""The same for links to the same search with other filters."""
_LONGEST = 3_000_000
"""Maximum length of a page in characters."""
_NONSENSE = "zqvxkjw"
"""A word that no page has, except where it repeats what was searched for."""
_OTHER_NUMBER = "918273"
"""A number for pages that calculate with the one that they are given."""
_Part = Literal["headings", "passages", "labels"]
_SHOWN: tuple[_Part, ...] = ("headings", "passages")
_Repeated = Counter[tuple[_Part, tuple[str, ...]]]
"""Number of texts by part of a page and masked words."""
_FEW_WORDS = 1.2
"""Factor by which a browser must show more words of a page than its HTML has, for pages of its kind to be opened."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The response to a plain request."""

    url: str
    """Address after redirects."""
    html: str
    """Empty if it is no page: an error, or another type of content."""


class Sources(Protocol):
    """How pages are read."""

    def fetch(self, url: str) -> Fetched:
        """Request a page. Raises `TrialError` if it doesn't answer."""

    def open(self, url: str) -> str:
        """Open a page in a browser and return the HTML that it shows; empty if it can't be opened."""


@dataclass(frozen=True, slots=True)
class Password:
    """What signs in a privileged account."""

    user: str
    password: str

    def passage(self, page: PageText) -> str:
        """Returns the passage of a page with the password, if the page has the user's name, too; otherwise empty.

        A password of letters alone may be a word, and one that equals the name is the name: these count only in a
        passage that also has the name.
        """
        user, password = _whole(self.user, re.IGNORECASE), _whole(self.password)
        texts = [text for text in page.passages if password.search(text)]
        together = [text for text in texts if len(user.findall(text)) > (self.user == self.password)]
        if together or self.password.isalpha() or self.user == self.password:
            return next(iter(together), "")
        return next(iter(texts), "") if any(user.search(text) for text in page.passages) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """Something that should be absent, and where it is."""

    what: str
    way: str
    """``text``, ``control``, ``sum`` or ``password``."""
    url: str
    passage: str


@dataclass(slots=True, kw_only=True)
class Crawl:
    """A visit of sites by one account."""

    sources: Sources
    sites: Mapping[str, str]
    """Addresses of the sites, by name."""
    ground: Ground
    passwords: Sequence[Password] = ()
    most: int = MOST_PAGES
    seconds: float = MOST_SECONDS
    clock: Callable[[], float] = time.monotonic
    pages: int = 0
    """Number of pages visited."""
    has_more: bool = False
    """Whether pages, or searches, were left out."""
    names_subject: bool = False
    """Whether a page has the name that the ground is about."""
    found: dict[Term | Password, Find] = field(default_factory=dict)
    """The first place of each thing."""
    _frontier: Frontier = field(init=False)
    _known_pages: set[str] = field(default_factory=set)
    _searches: deque[str] = field(default_factory=deque)
    _results: deque[str] = field(default_factory=deque)
    _asked: set[str] = field(default_factory=set)
    """Addresses of searches."""
    _forms: Counter[str] = field(default_factory=Counter)
    """Number of forms by kind."""
    _drawn: dict[str, bool] = field(default_factory=dict)
    """Whether scripts draw pages of a kind."""
    _echoes: dict[str, list[_Repeated]] = field(default_factory=dict)
    """For each address of a search, the texts that repeat other words in its place, one table for each of these."""
    _known_word: str = ""
    """A word that a search finds."""

    def __post_init__(self) -> None:
        self._frontier = Frontier(self.sites.values(), exhaustive=True)

    def run(self, start: Sequence[str]) -> None:
        """Visit pages from the addresses ``start`` on, until everything is found, or nothing is left, or a bound is
        reached."""
        began = self.clock()
        self._frontier.add(start)
        for address in self._addresses():
            if self.pages >= self.most or self.clock() - began > self.seconds:
                self.has_more = True
                return
            self._visit(address)
            if len(self.found) == self._wanted:
                return

    @property
    def _wanted(self) -> int:
        return len({*self.ground.terms, *self.passwords})

    def _addresses(self) -> Iterator[str]:
        """Yields addresses: results of searches, searches and other pages in turn."""
        while self._frontier or self._searches or self._results:
            walk = iter(self._frontier)
            while True:
                if self._results:
                    yield self._results.popleft()
                if self._searches:
                    yield self._searches.popleft()
                address = next(walk, None)
                if address is not None:
                    yield address
                elif not (self._results or self._searches):
                    break

    def _visit(self, address: str) -> None:
        page, url = self._read(address)
        self.pages += 1
        if page is None or url in self._known_pages:
            return
        self._known_pages.add(url)
        self._note_links(page, url)
        self._note_forms(page, url)
        self._note_finds(page, url)

    def _read(self, address: str) -> tuple[PageText | None, str]:
        """Returns the page, as a browser shows it if scripts draw it, and its final address; None if there is none."""
        try:
            answer = self.sources.fetch(address)
        except TrialError:
            return None, address
        if not answer.html or not self._is_here(answer.url):
            return None, answer.url
        page = read_html(answer.html[:_LONGEST], answer.url)
        kind = kind_of(answer.url)
        if not page.has_scripts or not self._drawn.get(kind, True):
            return page, answer.url
        shown = self.sources.open(answer.url)
        if not shown:
            return page, answer.url
        drawn = read_html(shown[:_LONGEST], answer.url)
        self._drawn.setdefault(kind, _words(drawn) > _FEW_WORDS * _words(page))
        return drawn, answer.url

    def _is_here(self, url: str) -> bool:
        parts = urlsplit(url)
        return any((parts.scheme, parts.netloc) == urlsplit(site)[:2] for site in self.sites.values())

    def _note_links(self, page: PageText, url: str) -> None:
        if any(in_place_of(url, words, _NONSENSE) for words in self._words):
            fresh = self._frontier.take(page.links)
            # Links to the same path sort and filter the results, or search for other things.
            elsewhere = [link for link in fresh if urlsplit(link).path != urlsplit(url).path]
            variants = [link for link in fresh if link not in elsewhere] if url in self._asked else []
            results = [*elsewhere[:_MOST_RESULTS], *variants[:_MOST_VARIANTS]]
            self._results.extend(results)
            self._frontier.put([link for link in fresh if link not in results])
        else:
            self._frontier.add(page.links)

    @property
    def _words(self) -> list[str]:
        """What is searched for."""
        return list(dict.fromkeys([*(term.text for term in self.ground.absent), *filter(None, [self.ground.about])]))

    def _note_forms(self, page: PageText, url: str) -> None:
        for form in page.forms:
            key = form_key(form, url)
            if self._forms[key] >= _ALIKE_FORMS:
                continue
            self._forms[key] += 1
            self._known_word = self._known_word or max(" ".join(page.headings).split(), key=len, default="")
            for address in self._frontier.take(searches(form, url, self._words)):
                if len(self._asked) >= _MOST_SEARCHES:
                    self.has_more = True
                    break
                self._asked.add(address)
                self._searches.append(address)

    def _note_finds(self, page: PageText, url: str) -> None:
        about, subject = self.ground.about, Term(self.ground.about)
        if about and not self.names_subject:
            self.names_subject = any(
                mentions(text, subject) and not self._is_echo(page, part, text, url, subject)
                for part in _SHOWN
                for text in _texts(page, part)
            )
        # A list of results for this name is about everything that was found.
        everywhere = not about or is_about(
            page, about, counts=lambda heading: not self._is_echo(page, "headings", heading, url, subject)
        )
        for hit in hits(page, self.ground, everywhere=everywhere):
            part: _Part = "labels" if hit.way == "control" else "passages"
            if hit.term not in self.found and not self._is_echo(page, part, hit.passage, url, hit.term):
                self.found[hit.term] = _find(hit, url)
        for each in self.passwords:
            if passage := each.passage(page):
                self.found.setdefault(each, Find(what=each.user, way="password", url=url, passage=passage))

    def _is_echo(self, page: PageText, part: _Part, text: str, url: str, term: Term) -> bool:
        """Whether a text in a part of a page only repeats the words that were searched for.

        The answers to searches for nonsense, and for a known word, show where the page repeats them. A text of these
        words alone repeats them if it is there as often as in such an answer. Any other text does if all of its words
        are in a text of the answer that repeats them: "7 results for …" and "No result for …".
        """
        if not in_place_of(url, term.text, _NONSENSE):
            return False
        key = f"{term.text} {url}"
        if key not in self._echoes:
            others = [_NONSENSE, f"{term.text} {_NONSENSE}", self._known_word]
            others += [_OTHER_NUMBER] if term.number is not None else []
            self._echoes[key] = [self._repeated(url, term, other) for other in others if other]
        own = masked(text, term.text)
        words = set(own) - {"#"}
        if words <= {MASK}:
            count = sum(masked(each, term.text) == own for each in _texts(page, part))
            return any(count <= answer[part, own] for answer in self._echoes[key])
        return any(words <= set(each) for answer in self._echoes[key] for _, each in answer)

    def _repeated(self, url: str, term: Term, other: str) -> _Repeated:
        """Returns how often each text with ``other`` is in each part of the page that answers to it instead."""
        page, _ = self._read(in_place_of(url, term.text, other))
        if page is None:
            return Counter()
        found = ((part, masked(text, other)) for part in get_args(_Part) for text in _texts(page, part))
        return Counter((part, words) for part, words in found if MASK in words)


def _texts(page: PageText, part: _Part) -> Sequence[str]:
    if part == "labels":
        return [control.label for control in page.controls]
    return page.headings if part == "headings" else page.passages


def _find(hit: Hit, url: str) -> Find:
    return Find(what=hit.term.text, way=hit.way, url=url, passage=hit.passage)


def _whole(text: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", flags)


def _words(page: PageText) -> int:
    return sum(len(passage.split()) for passage in page.passages)
