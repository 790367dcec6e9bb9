"""Addresses for key nodes: which site they belong to, and which part of them counts."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_webarena.checks.hosts import ascii_host, unicode_host
from pytest_webarena.checks.key_nodes.model import ANY_SITE, UrlTarget, site_label
from pytest_webarena.checks.urls import parse_url, same_place

__all__ = ["base_of", "has_label", "is_page", "is_within", "lacks", "on_site", "values_of"]


def is_page(url: str) -> bool:
    """Whether a server answers this address: not ``about:``, ``data:``, ``blob:`` or a browser's own.

    >>> is_page("http://shop.test/"), is_page("blob:http://shop.test/1"), is_page("chrome-error://chromewebdata/")
    (True, False, False)
    """
    parsed = parse_url(url)
    return parsed is not None and parsed.scheme in ("http", "https") and bool(parsed.host)


def base_of(site: str, sites: Mapping[str, str]) -> str | None:
    """Returns the base address of a site; None when it was not recorded."""
    return "" if site == ANY_SITE else sites.get(site)


def on_site(url: str, base: str) -> bool:
    """Whether ``url`` is a page of the site at ``base``; for an empty ``base``, a page of any site."""
    if not is_page(url):
        return False
    parsed, begin = parse_url(url), parse_url(base)
    if not base or parsed is None or begin is None:
        return not base
    folder = begin.path.rstrip("/")
    return parsed.origin == begin.origin and (parsed.path == folder or f"{parsed.path}/".startswith(f"{folder}/"))


def has_label(url: str, label: str) -> bool:
    """Whether the address has a host with this label."""
    parsed = parse_url(url)
    return parsed is not None and is_page(url) and site_label(parsed.host) == ascii_host(label)


def is_within(target: UrlTarget, url: str, base: str) -> bool:
    """Whether a page's address contains the target's text, in a part where the text may be."""
    assert target.match is not None
    wanted = target.match.text
    parts = urlsplit(url.strip())
    path, wanted = _path(parts.path or "/"), _path(wanted)
    if "#" in wanted:
        path += f"#{unquote(parts.fragment)}"
    host = "" if base else ascii_host(parts.hostname or "")
    subjects = {f"{name}{path}" for name in (host, unicode_host(host))}
    return any(wanted in each or (wanted.endswith("/") and wanted in f"{each}/") for each in subjects)


def _path(text: str) -> str:
    """Decode a path except for escapes that would change its parts: ``%2F`` does not separate parts.

    >>> _path("/caf%C3%A9/a%2Fb")
    '/café/a%2Fb'
    """
    parts = (unquote(part) for part in text.split("/"))
    return "/".join(part.replace("/", "%2F") for part in parts)


def lacks(target: UrlTarget, url: str, sites: Mapping[str, str]) -> str:
    """Returns why a page is not at the target's address; empty when it is, or the target has none."""
    actual = parse_url(url)
    for address, exact in ((target.exact, True), (target.at, False)):
        wanted = parse_url(address.resolve(sites) or "") if address is not None else None
        if address is not None and (wanted is None or actual is None):
            return "it can't be compared"
        if wanted is not None and actual is not None and (why := same_place(actual, wanted, exact=exact)):
            return why
    return ""


def values_of(url: str, name: str) -> tuple[str, ...]:
    """Returns all values of a query parameter, decoded.

    >>> values_of("http://shop.test/?q=a+b&q=%252F&x=1", "q")
    ('a b', '%2F')
    """
    try:
        query = urlsplit(url.strip()).query
        pairs = parse_qsl(query, keep_blank_values=True)
    except ValueError:
        return ()
    return tuple(value for key, value in pairs if key == name)
