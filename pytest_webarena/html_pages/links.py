"""Selects which links of pages are followed, and in what order: few of each kind, and none that logs out."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urldefrag, urlencode, urljoin, urlsplit, urlunsplit

__all__ = ["Frontier", "LinkParser", "kind_of", "links_of"]

_ALIKE = 3
"""Maximum number of pages of one kind: three products show as much as twenty."""
_WIDER = 4
"""Factor by which that number grows when an exhaustive search has visited as many of each kind."""
_MOST_LINKS = 2_000
"""Maximum number of links of one page, because a page may be endless."""
_LONGEST = 2_000
"""Maximum length of an address in characters."""
_NOT_PAGES = re.compile(
    r"\.(?:atom|avi|bz2|css|csv|docx?|gif|gz|ico|iso|jpe?g|js|json|mp[34]|ods|odt|patch|pdf|png|pptx?|rss|svg|tar|tgz|"
    r"tiff?|txt|wav|webm|webp|xlsx?|xml|zip)\Z",
    re.IGNORECASE,
)
_PICTURES = re.compile(r"\.(?:avif|bmp|css|gif|ico|jpe?g|js|png|tiff?|webp|woff2?)\Z", re.IGNORECASE)
"""What an exhaustive search leaves out."""
_LEAVES = re.compile(r"(?:log|sign)[-_. ]?(?:out|off)|switch[-_]user", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


class LinkParser(HTMLParser):
    """Collects the targets of a page's links."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base = url
        self.found: dict[str, None] = {}
        """The addresses so far, in order, without fragments."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        href = (attributes.get("href") or "").strip()
        if not href or len(href) > _LONGEST or len(self.found) >= _MOST_LINKS:
            return
        try:
            address = urldefrag(urljoin(self.base, href)).url
        except ValueError:  # e.g. [ in a host's name
            return
        if tag == "base":
            self.base = address
        elif tag in ("a", "area") and "download" not in attributes and attributes.get("data-method") in (None, "get"):
            self.found[address] = None


def links_of(html: str, url: str) -> tuple[str, ...]:
    """Returns the addresses of a page's links in order, without fragments.

    >>> links_of('<a href="/b#part">b</a> <a href="mailto:x@y.z">x</a>', "http://a.test/")
    ('http://a.test/b', 'mailto:x@y.z')
    """
    parser = LinkParser(url)
    parser.feed(html)
    return tuple(parser.found)


class Frontier:
    """Addresses still to visit on these sites: each site in turn, first found first, and few of each kind.

    ``sites`` are the sites' addresses. With ``exhaustive``, the further pages of each kind are not dropped: they come
    when all kinds have had their few, again few of each. Files are visited, too, and `departures` has what may log out.
    """

    def __init__(self, sites: Iterable[str], *, exhaustive: bool = False) -> None:
        self._waiting: dict[tuple[str, str], deque[str]] = {_home(url): deque() for url in sites}
        self._postponed: dict[tuple[str, str], deque[str]] = {home: deque() for home in self._waiting}
        self._exhaustive = exhaustive
        self._alike = _ALIKE
        self._known: set[str] = set()
        self.departures: list[str] = []
        """Addresses that look as if they log out; they are not yielded."""
        self._kinds: Counter[str] = Counter()

    def __bool__(self) -> bool:
        """Whether addresses may still be left."""
        return any(self._waiting.values()) or any(self._postponed.values())

    def emptied(self) -> Frontier:
        """Returns a frontier that knows the same addresses, none of which is left."""
        other = Frontier([urlunsplit((*home, "", "", "")) for home in self._waiting], exhaustive=self._exhaustive)
        other._known, other._kinds, other._alike = set(self._known), self._kinds.copy(), self._alike
        return other

    def add(self, addresses: Iterable[str]) -> None:
        """Add those of the links that lead to pages of the sites."""
        self.put(self.take(addresses))

    def put(self, taken: Iterable[str]) -> None:
        """Add addresses that `take` returned."""
        for address in taken:
            self._waiting[_home(address)].append(address)

    def take(self, addresses: Iterable[str]) -> list[str]:
        """Returns those that `add` would add, in normal form; they count as known from then on, and are not
        yielded."""
        taken = []
        for address in addresses:
            found = _plain(address)
            if found is None or found in self._known or _home(found) not in self._waiting:
                continue
            self._known.add(found)
            if _LEAVES.search(found):
                self.departures.append(found)
            elif not (_PICTURES if self._exhaustive else _NOT_PAGES).search(urlsplit(found).path):
                taken.append(found)
        return taken

    def __iter__(self) -> Iterator[str]:
        """Yields the next addresses, of each site in turn; what `add` brings in the meantime comes last."""
        while self:
            if not any(self._waiting.values()):
                self._waiting, self._postponed = self._postponed, self._waiting
                self._alike *= _WIDER
            for home, waiting in self._waiting.items():
                while waiting:
                    address = waiting.popleft()
                    kind = kind_of(address)
                    if self._kinds[kind] < self._alike:
                        self._kinds[kind] += 1
                        yield address
                        break
                    if self._exhaustive:
                        self._postponed[home].append(address)


def _home(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc.lower()


def _plain(address: str) -> str | None:
    """Returns the normal form of a page's address; None for what no browser would load as a page."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        return None
    query = urlencode(sorted(parse_qsl(parts.query, keep_blank_values=True)))
    return urlunsplit((parts.scheme, parts.netloc.lower(), parts.path or "/", query, ""))


def kind_of(address: str) -> str:
    """Returns what addresses of pages of one kind share: everything but the last part, numbers and values.

    >>> kind_of("http://a.test/products/kettle_7?page=2") == kind_of("http://a.test/products/pot_9?page=3")
    True
    """
    parts = urlsplit(address)
    folder, _, last = parts.path.rstrip("/").rpartition("/")
    names = ",".join(sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}))
    # Below the first folder the last part identifies an item; directly below the root it names the kind.
    path = f"{folder}/*" if folder else f"/{last}"
    return f"{parts.netloc}{_DIGITS.sub('0', path)}?{names}"
