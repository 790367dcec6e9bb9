"""Knows a site's sign-in page when visitors are sent there in place of what they asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urljoin, urlsplit

if TYPE_CHECKING:
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["sent_to_the_door"]


def sent_to_the_door(sites: Iterable[SiteAccess], asked: str, landed: str) -> SiteAccess | None:
    """The site on whose sign-in page a visit of ``asked`` ended; None when it did not, or that page was asked for."""
    for site in sites:
        if site.login is None or not site.login.path:
            continue
        door = urljoin(f"{site.url}/", site.login.path)
        # Where it is the start page as well, its address tells nothing.
        if _tells(door) and _leads_to(door, landed) and not _leads_to(door, asked):
            return site
    return None


def _tells(door: str) -> bool:
    parts = urlsplit(door)
    return bool(parts.path.rstrip("/") or parts.query or parts.fragment)


def _leads_to(door: str, url: str) -> bool:
    """Whether both are one page: what else ``url`` says (where to go on) makes no difference."""
    one, other = urlsplit(door), urlsplit(url)
    return (
        (one.hostname, one.path.rstrip("/")) == (other.hostname, other.path.rstrip("/"))
        and set(parse_qsl(one.query, keep_blank_values=True)) <= set(parse_qsl(other.query, keep_blank_values=True))
        and (not one.fragment or one.fragment.partition("?")[0] == other.fragment.partition("?")[0])
    )
