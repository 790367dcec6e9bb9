"""Rules for a trial on live sites: allowed domains, allowed requests, pace and identification."""

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
    """How hosts of live sites are visited; the same for all trials of a catalogue."""

    pages_per_second: float = 1.0
    """Pages per second requested from one host, after an initial burst. A longer ``Crawl-delay`` in robots.txt takes
    precedence."""
    requests_per_second: float = 20.0
    """Requests per second of any kind sent to one host, after an initial burst."""
    patience: float = 12.0
    """Maximum time that a request is delayed by these limits, in seconds; after that it is not sent."""
    answer_within: float = 15.0
    """Maximum time until the head of a response, in seconds. It is shorter than browsers wait for a page, so that the
    failure is attributed to the site."""
    contact: str = ""
    """Address (mail or web) in the user agent, where people who run sites can complain."""
    user_agent: str = ""
    """The complete user agent, in place of the browser's own with this project's name appended."""
    robots: Literal["obey", "ignore"] = "obey"
    region: str = ""
    """Where visits come from, in the user's words; recorded, and a column of tables."""
    proxy: str = ""
    """``http://host:port`` of a proxy for all connections. It receives checked addresses, not names."""
    proxy_login: str = ""
    """Name of the environment variable with the proxy's ``user:password``."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What one trial may do. A domain includes its subdomains."""

    domains: frozenset[str] = frozenset()
    """Domains that the trial's tabs may visit."""
    starts: frozenset[str] = frozenset()
    """Start addresses of the trial. A site that redirects them to another site rejects its visitors."""
    reads: tuple[NamedRequest, ...] = ()
    """Requests that only read, although their method may write."""
    writes: tuple[NamedRequest, ...] = ()
    """Requests that are allowed to change something."""
    robots: Literal["obey", "ignore"] = "obey"
    ports: frozenset[tuple[str, int, bool]] = field(default_factory=frozenset)
    """Hosts and ports other than 80 and 443, and whether they use TLS."""

    def is_home(self, host: str) -> bool:
        """Whether a tab may go to ``host``."""
        return within(host, self.domains)

    def allows(self, method: str, url: str) -> str:
        """The permission for a request that may write: ``write``, ``read``, or empty for none."""
        for name, requests in (("write", self.writes), ("read", self.reads)):
            if any(self._matches(each, method, url) for each in requests):
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
        """The terms as plain data, for records."""
        return {
            "domains": sorted(self.domains),
            "reads": [str(each) for each in self.reads],
            "writes": [str(each) for each in self.writes],
            "robots": self.robots,
        }


def _is_plain(path: str) -> bool:
    """Whether a path has only one reading: no dot segments, no escaped dots, slashes or control characters, no empty
    segments."""
    if "//" in path or "\\" in path or any(part in (".", "..") for part in path.split("/")):
        return False
    return not any(chr(int(match[1], 16)) in "./\\%" or int(match[1], 16) < 32 for match in _UNRESERVED.finditer(path))


def terms_of(catalogue: LiveTerms, task: LiveTerms | None, urls: list[str]) -> Terms:
    """The terms of a trial from its catalogue and its task.

    ``urls`` are the addresses of its sites and first tabs, whose registrable domains it may visit. `UsageError` for an
    address without a registrable domain.
    """
    rules = [catalogue, *([task] if task is not None else [])]
    domains, ports = set(), set()
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            continue
        domains.add(_domain(parts.hostname, url))
        if parts.port not in (None, 80, 443):
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            ports.add((host, parts.port or 0, parts.scheme == "https"))
    domains |= {name.strip("[]").rstrip(".").lower() for each in rules for name in each.domains}
    robots_rules = [each.robots for each in rules if each.robots]
    return Terms(
        domains=frozenset(domains),
        starts=frozenset(url.partition("#")[0] if urlsplit(url).path else f"{url}/" for url in urls),
        reads=tuple(parse_named(text) for each in rules for text in each.reads),
        writes=tuple(parse_named(text) for each in rules for text in each.writes),
        robots=robots_rules[-1] if robots_rules else "obey",
        ports=frozenset(ports),
    )


def _domain(host: str, url: str) -> str:
    if domain := registrable(host):
        return domain
    raise UsageError(f"expected the address of a site, found {url!r}, whose host is a public suffix with many owners")
