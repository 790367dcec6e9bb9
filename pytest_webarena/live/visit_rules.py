"""What a trial may do on live sites: where it may go, which requests are let through, how it behaves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal
from urllib.parse import urlsplit

from pytest_webarena.errors import UsageError
from pytest_webarena.live.domains import registrable, within
from pytest_webarena.tasks.live_form import NamedRequest, parse_named
from pytest_webarena.tasks.model import LiveTerms

__all__ = ["Terms", "VisitPolicy", "terms_of"]

_UNRESERVED = re.compile(r"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitPolicy:
    """How hosts of the world are asked, for all trials of a catalogue alike."""

    pages_per_second: float = 1.0
    """Pages that are asked of one host, after a few at once; a longer ``Crawl-delay`` of its robots.txt wins."""
    requests_per_second: float = 20.0
    """The same for requests of any kind."""
    patience: float = 12.0
    """Seconds that a request may be held back for that; then it is not sent."""
    answer_within: float = 15.0
    """Seconds until the head of an answer. Less than browsers wait for a page, so that it is told whose fault it is."""
    contact: str = ""
    """An address (mail or web) that the user agent tells, where people who run sites can complain."""
    user_agent: str = ""
    """The user agent as a whole, in place of the browser's own with our name behind it."""
    robots: Literal["obey", "ignore"] = "obey"
    region: str = ""
    """Where visits come from, in the user's words: recorded, and a column of tables."""
    proxy: str = ""
    """``http://host:port`` of a proxy through which all is asked. It is told addresses that were judged, not names."""
    proxy_login: str = ""
    """Name of the environment variable that holds ``user:password`` for it."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What one trial may do. Domains stand for themselves and all that is below."""

    domains: frozenset[str] = frozenset()
    """Where its tabs may go."""
    starts: frozenset[str] = frozenset()
    """Addresses that it begins with: a site that sends their visitors elsewhere turns them away."""
    reads: tuple[NamedRequest, ...] = ()
    """Requests that only read although their method says otherwise."""
    writes: tuple[NamedRequest, ...] = ()
    """Requests that really may change something."""
    robots: Literal["obey", "ignore"] = "obey"
    ports: frozenset[tuple[str, int, bool]] = field(default_factory=frozenset)
    """Hosts and ports besides 80 and 443, and whether TLS is spoken there."""

    def is_home(self, host: str) -> bool:
        """Whether a tab may go to ``host``."""
        return within(host, self.domains)

    def allows(self, method: str, url: str) -> str:
        """Whether a request that may write is let through: ``write``, ``read``, or empty for no."""
        for name, named in (("write", self.writes), ("read", self.reads)):
            if any(self._matches(each, method, url) for each in named):
                return name
        return ""

    def _matches(self, named: NamedRequest, method: str, url: str) -> bool:
        parts = urlsplit(url)
        if named.method != method:
            return False
        if named.origin:
            if named.origin != f"{parts.scheme}://{parts.netloc}":
                return False
        elif not self.is_home(parts.hostname or ""):
            return False
        return _is_plain(parts.path) and named.path_matches(parts.path)

    @cached_property
    def plain(self) -> dict[str, object]:
        """For records."""
        return {
            "domains": sorted(self.domains),
            "reads": [str(each) for each in self.reads],
            "writes": [str(each) for each in self.writes],
            "robots": self.robots,
        }


def _is_plain(path: str) -> bool:
    """Whether nobody can read it otherwise than it stands here: no dots to climb by, no escaped ones, no slashes in
    disguise."""
    if "//" in path or "\\" in path or any(part in (".", "..") for part in path.split("/")):
        return False
    return not any(chr(int(match[1], 16)) in "./\\%" or int(match[1], 16) < 32 for match in _UNRESERVED.finditer(path))


def terms_of(catalogue: LiveTerms, task: LiveTerms | None, urls: list[str]) -> Terms:
    """What a trial may do, by what its catalogue and its task say; ``urls``: addresses of its sites and its first tabs,
    whose registrable domains it may visit. `UsageError` for one that is of none."""
    given = [catalogue, *([task] if task is not None else [])]
    domains, ports = set(), set()
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            continue
        domains.add(_domain(parts.hostname, url))
        if parts.port not in (None, 80, 443):
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            ports.add((host, parts.port or 0, parts.scheme == "https"))
    domains |= {name.strip("[]").rstrip(".").lower() for each in given for name in each.domains}
    ways = [each.robots for each in given if each.robots]
    return Terms(
        domains=frozenset(domains),
        starts=frozenset(url.partition("#")[0] if urlsplit(url).path else f"{url}/" for url in urls),
        reads=tuple(parse_named(text) for each in given for text in each.reads),
        writes=tuple(parse_named(text) for each in given for text in each.writes),
        robots=ways[-1] if ways else "obey",
        ports=frozenset(ports),
    )


def _domain(host: str, url: str) -> str:
    if domain := registrable(host):
        return domain
    raise UsageError(f"expected the address of a site, found {url!r}, whose host anybody's sites are below")
