"""An example of a check of one's own: a task file names it as ``python: {function: store_visits:opened, args: …}``."""

from __future__ import annotations

from urllib.parse import urlsplit

from pytest_webarena.evidence import Evidence

__all__ = ["opened"]


def opened(evidence: Evidence, *, site: str, path: str, least: int = 1) -> tuple[bool, str]:
    """Whether the browser got at least ``least`` different pages of ``site`` whose path begins with ``path``."""
    host = urlsplit(evidence.sites.get(site, "")).netloc
    found = set()
    for request in evidence.requests:
        parts = urlsplit(request.url)
        if parts.netloc == host and parts.path.startswith(path) and request.status == 200:
            found.add((parts.path, parts.query))
    return len(found) >= least, f"{len(found)} pages below {site}:{path} were opened, expected at least {least}"
