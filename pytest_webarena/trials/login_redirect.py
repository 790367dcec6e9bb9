"""Detects redirects to a site's sign-in page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urljoin, urlsplit

if TYPE_CHECKING:
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["redirected_to_login"]


def redirected_to_login(sites: Iterable[SiteAccess], requested: str, landed: str) -> SiteAccess | None:
    """The site on whose sign-in page a request for ``requested`` ended; None when it did not, or when that page was
    requested."""
    for site in sites:
        if site.login is None or not site.login.path:
            continue
        login_url = urljoin(f"{site.url}/", site.login.path)
        # If the sign-in page is also the start page, its address proves nothing.
        if _is_specific(login_url) and _leads_to(login_url, landed) and not _leads_to(login_url, requested):
            return site
    return None


def _is_specific(login_url: str) -> bool:
    parts = urlsplit(login_url)
    return bool(parts.path.rstrip("/") or parts.query or parts.fragment)


def _leads_to(login_url: str, url: str) -> bool:
    """Whether both addresses are the same page. Further parameters of ``url``, such as a return address, are
    ignored."""
    one, other = urlsplit(login_url), urlsplit(url)
    return (
        (one.hostname, one.path.rstrip("/")) == (other.hostname, other.path.rstrip("/"))
        and set(parse_qsl(one.query, keep_blank_values=True)) <= set(parse_qsl(other.query, keep_blank_values=True))
        and (not one.fragment or one.fragment.partition("?")[0] == other.fragment.partition("?")[0])
    )
