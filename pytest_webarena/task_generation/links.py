"""Selects which links of pages are followed, and in what order: few of each kind, and none that logs out."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urldefrag, urlencode, urljoin, urlsplit, urlunsplit

__all__ = ["Frontier", "links_of"]

_ALIKE = 3
"""Maximum number of pages of one kind: three products show as much as twenty."""
_MOST_LINKS = 2_000
"""Maximum number of links of one page, because a page may be endless."""
_LONGEST = 2_000
"""Maximum length of an address in characters."""
_NOT_PAGES = re.compile(
    r"\.(?:atom|avi|bz2|css|csv|docx?|gif|gz|ico|iso|jpe?g|js|json|mp[34]|ods|odt|patch|pdf|png|pptx?|rss|svg|tar|tgz|"
    r"tiff?|txt|wav|webm|webp|xlsx?|xml|zip)\Z",
    re.IGNORECASE,
)
_LEAVES = re.compile(r"(?:log|sign)[-_. ]?(?:out|off)|switch[-_]user", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")


class _Links(HTMLParser):
    """Collects the targets of a page's links."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base = url
        self.found: dict[str, None] = {}

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
    parser = _Links(url)
    parser.feed(html)
    return tuple(parser.found)


class Frontier:
    """Addresses still to visit on these sites: each site in turn, first found first, and few of each kind.

    ``sites`` are the sites' addresses.
    """

    def __init__(self, sites: Iterable[str]) -> None:
        self._waiting: dict[tuple[str, str], deque[str]] = {_home(url): deque() for url in sites}
        self._known: set[str] = set()
        self._kinds: Counter[str] = Counter()

    def add(self, addresses: Iterable[str]) -> None:
        """Add those of the links that lead to pages of the sites."""
        for address in addresses:
            found = _plain(address)
            if found is None or found in self._known or _home(found) not in self._waiting:
                continue
            self._known.add(found)
            if not _LEAVES.search(found) and not _NOT_PAGES.search(urlsplit(found).path):
                self._waiting[_home(found)].append(found)

    def __iter__(self) -> Iterator[str]:
        """Yields the next addresses, of each site in turn; what `add` brings in the meantime comes last."""
        while any(self._waiting.values()):
            for waiting in self._waiting.values():
                while waiting:
                    address = waiting.popleft()
                    kind = _kind(address)
                    if self._kinds[kind] < _ALIKE:
                        self._kinds[kind] += 1
                        yield address
                        break


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


def _kind(address: str) -> str:
    """Returns what addresses of pages of one kind share: everything but the last part, numbers and values.

    >>> _kind("http://a.test/products/kettle_7?page=2") == _kind("http://a.test/products/pot_9?page=3")
    True
    """
    parts = urlsplit(address)
    folder, _, last = parts.path.rstrip("/").rpartition("/")
    names = ",".join(sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}))
    # Below the first folder the last part identifies an item; directly below the root it names the kind.
    path = f"{folder}/*" if folder else f"/{last}"
    return f"{parts.netloc}{_DIGITS.sub('0', path)}?{names}"
