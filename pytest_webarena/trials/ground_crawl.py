"""Looks for the ground of an impossible task: on the pages that an account can reach, and by searches for its words."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from pytest_webarena.checks.ground import Ground, Term
from pytest_webarena.html_pages.finding import MASK, hits, is_about, masked, mentions
from pytest_webarena.html_pages.get_forms import GetForm
from pytest_webarena.html_pages.links import kind_of
from pytest_webarena.html_pages.page_text import PageText, read_html
from pytest_webarena.html_pages.search_forms import in_place_of, searches
from pytest_webarena.text import clip
from pytest_webarena.trials.site_walk import Sources, Walk

__all__ = ["Crawl", "Find", "Password"]

MOST_PAGES = 400
"""Maximum number of pages of searches and their results."""
MOST_SECONDS = 180.0
_MOST_SEARCHES = 80
"""Maximum number of searches among the pages."""
_NONSENSE = "zqvxkjw"
"""A word that no page has, except where it repeats what was searched for."""
_OTHER_NUMBER = "918273"
"""A number for pages that calculate with the one that they are given."""
_Part = Literal["headings", "passages", "labels"]
_SHOWN: tuple[_Part, ...] = ("headings", "passages")
_Repeated = Counter[tuple[_Part, tuple[str, ...]]]
"""Number of texts by part of a page and masked words."""


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
    """A search for a ground on sites that were walked as one account."""

    walk: Walk
    """A finished walk, which may be shared. It is not changed."""
    sources: Sources
    ground: Ground
    passwords: Sequence[Password] = ()
    most: int = MOST_PAGES
    seconds: float = MOST_SECONDS
    names_subject: bool = False
    """Whether a page has the name that the ground is about."""
    found: dict[Term | Password, Find] = field(default_factory=dict)
    """The first place of each thing."""
    _own: Walk = field(init=False)
    """The pages of searches and their results."""
    _searches: deque[str] = field(default_factory=deque)
    _asked: dict[str, str] = field(default_factory=dict)
    """Addresses of searches, and the words that were searched for."""
    _echoes: dict[str, list[_Repeated]] = field(default_factory=dict)
    """For each page and term, the texts that repeat other words in its place, one table for each of these."""
    _typed: dict[tuple[str, str], tuple[str, str] | None] = field(default_factory=dict)
    """What pages show when nonsense is typed into their fields."""
    _known_word: str = ""
    """A word that a search finds."""

    def __post_init__(self) -> None:
        self._own = self.walk.fork(most=self.most, seconds=self.seconds, sources=self.sources)

    @property
    def visited(self) -> int:
        """Number of addresses visited."""
        return self.walk.visited + self._own.visited

    @property
    def unread(self) -> list[str]:
        """What could not be read, and where."""
        return [*(self.walk.unread | self._own.unread)]

    def run(self, start: Sequence[str]) -> None:
        """Look at all pages of the walk, then search from the addresses ``start`` on, until everything is found, or
        nothing is left, or a bound is reached."""
        for (url, _), page in self.walk.pages.items():
            self._note_finds(page, url)
            self._known_word = self._known_word or max(" ".join(page.headings).split(), key=len, default="")
        began = self._own.clock()
        self._own.frontier.add(start)
        self._search(self.walk.forms)
        while not self._is_done and (address := self._next()):
            if self._own.is_over(began, "results of searches"):
                return
            known = len(self._own.forms)
            for url, page in self._own.visit(address):
                self._note_finds(page, url)
            self._search(self._own.forms[known:])
        for (_, key), url in (self.walk.fields | self._own.fields).items():
            for words in self._words:
                if self._is_done or self._own.is_over(began, "fields that only scripts read"):
                    return
                self._type(url, key, words)

    @property
    def _is_done(self) -> bool:
        return len(self.found) == len({*self.ground.terms, *self.passwords})

    def _next(self) -> str:
        """Returns the next address: searches first, then what they lead to; empty if nothing is left."""
        return self._searches.popleft() if self._searches else next(iter(self._own.frontier), "")

    @property
    def _words(self) -> list[str]:
        """What is searched for."""
        return list(dict.fromkeys([*(term.text for term in self.ground.absent), *filter(None, [self.ground.about])]))

    def _search(self, forms: Sequence[tuple[GetForm, str]]) -> None:
        for form, url in forms:
            for words in self._words:
                for address in self._own.frontier.take(searches(form, url, [words])):
                    if len(self._asked) >= _MOST_SEARCHES:
                        self._own.unread[f"more than {_MOST_SEARCHES} searches"] = None
                        return
                    self._asked[address] = words
                    self._searches.append(address)

    def _type(self, url: str, key: str, words: str) -> None:
        shown = self.sources.type(url, key, words)
        if (url, key) not in self._typed:
            self._typed[url, key] = self.sources.type(url, key, _NONSENSE)
        other = self._typed[url, key]
        self._own.visited += 1
        if shown is None or other is None:
            self._own.unread[f"what the field {clip(key, 60)!r} finds at {clip(url, 100)}"] = None
            return
        repeated = _repetitions(read_html(other[1], other[0]), _NONSENSE)
        for term in (*self.ground.terms, Term(self.ground.about)):
            self._echoes[f"{term.text} {shown[0]}"] = [repeated]
        page = read_html(shown[1], shown[0])
        self._note_finds(page, shown[0])
        self._own.frontier.add(page.links)

    def _note_finds(self, page: PageText, url: str) -> None:
        about, subject = self.ground.about, Term(self.ground.about)

        def counts(text: str, part: _Part = "passages") -> bool:
            return not self._is_echo(page, part, text, url, subject)

        if about and not self.names_subject:
            self.names_subject = any(
                mentions(text, subject) and counts(text, part) for part in _SHOWN for text in _texts(page, part)
            )
        # A list of results for this name is about everything that was found.
        everywhere = not about or is_about(page, about, counts=lambda heading: counts(heading, "headings"))
        for hit in hits(page, self.ground, everywhere=everywhere, counts=counts):
            part: _Part = "labels" if hit.way == "control" else "passages"
            if hit.term not in self.found and not self._is_echo(page, part, hit.passage, url, hit.term):
                self.found[hit.term] = Find(what=hit.term.text, way=hit.way, url=url, passage=hit.passage)
        for each in self.passwords:
            if passage := each.passage(page):
                self.found.setdefault(each, Find(what=each.user, way="password", url=url, passage=passage))

    def _is_echo(self, page: PageText, part: _Part, text: str, url: str, term: Term) -> bool:
        """Whether a text in a part of a page only repeats the words that were searched for.

        The answers to searches for nonsense, and for a known word, show where the page repeats them, and so does the
        page after a search for nonsense, if it lists earlier searches. A text of these words alone repeats them if it
        is there as often as in such an answer. Any other text does if all of its words are in a text of the answer that
        repeats them: "7 results for …" and "No result for …".
        """
        key = f"{term.text} {url}"
        if key not in self._echoes:
            self._echoes[key] = self._answers(url, term)
        own = masked(text, term.text)
        words = set(own) - {"#"}
        if words <= {MASK}:
            count = sum(masked(each, term.text) == own for each in _texts(page, part))
            return any(count <= answer[part, own] for answer in self._echoes[key])
        return any(words <= set(each) for answer in self._echoes[key] for _, each in answer)

    def _answers(self, url: str, term: Term) -> list[_Repeated]:
        """Returns what the page says with other words in place of the term."""
        if in_place_of(url, term.text, _NONSENSE):
            others = [_NONSENSE, f"{term.text} {_NONSENSE}", self._known_word]
            others += [_OTHER_NUMBER] if term.number is not None else []
            addresses = [(in_place_of(url, term.text, other), other) for other in others if other]
        elif asked := {kind_of(address): (address, words) for address, words in self._asked.items()}:
            for address, words in asked.values():
                self._own.read(in_place_of(address, words, _NONSENSE))
            addresses = [(url, _NONSENSE)]
        else:
            return []
        found = ((self._own.read(address), other) for address, other in addresses)
        return [_repetitions(page, other) for views, other in found for _, page in views]


def _repetitions(page: PageText, words: str) -> _Repeated:
    """Returns how often each text with these words is in each part of a page."""
    found = ((part, masked(text, words)) for part in get_args(_Part) for text in _texts(page, part))
    return Counter((part, text) for part, text in found if MASK in text)


def _texts(page: PageText, part: _Part) -> Sequence[str]:
    if part == "labels":
        return [control.label for control in page.controls]
    return page.headings if part == "headings" else page.passages


def _whole(text: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", flags)
