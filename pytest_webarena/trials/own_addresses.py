"""Puts names of hosted sites in place of their own addresses, which pages contain and agents repeat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pytest_webarena.browser.reports import PageReading
    from pytest_webarena.evidence import JsonValue, TabState
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["named", "named_reading", "named_tab"]

_END = r"(?![\w:-]|\.\w)"
"""What must not follow an origin: more of the host name or of the port."""


def named(text: str, sites: Iterable[SiteAccess]) -> str:
    """Returns a text in which hosted ``sites`` have the addresses that browsers see.

    >>> from pytest_webarena.sites.protocol.messages import SiteAccess
    >>> shop = SiteAccess(name="shop", app="shop", url="http://shop.test", start="", users={}, default_user="",
    ...                   login=None, own_address="http://h:7770")
    >>> named("see http://h:7770/a.", [shop]), named("http://h:77701/a", [shop])
    ('see http://shop.test/a.', 'http://h:77701/a')
    """
    hosted = [site for site in sites if site.own_address]
    # Of sites at one origin, those below a path come first.
    for site in sorted(hosted, key=lambda each: -len(urlsplit(each.own_address).path)):
        own = _origin(site.own_address)
        path = urlsplit(site.own_address).path.rstrip("/")
        is_shared = sum(_origin(each.own_address) == own for each in hosted) > 1
        below = rf"(?={re.escape(path)}(?![\w-]))" if path and is_shared else ""
        text = re.sub(re.escape(own) + _END + below, _origin(site.url), text)
    return text


def _named_value(value: JsonValue, sites: Sequence[SiteAccess]) -> JsonValue:
    match value:
        case str():
            return named(value, sites)
        case list() | tuple():
            return [_named_value(each, sites) for each in value]
        case dict():
            return {key: _named_value(each, sites) for key, each in value.items()}
        case _:
            return value


def named_reading(reading: PageReading, sites: Iterable[SiteAccess]) -> PageReading:
    """Returns a reading of a page in which hosted sites have the addresses that browsers see."""
    hosted = [site for site in sites if site.own_address]
    if not hosted:
        return reading
    texts = tuple(named(text, hosted) for text in reading.texts)
    return replace(reading, texts=texts, html=named(reading.html, hosted), value=_named_value(reading.value, hosted))


def named_tab(tab: TabState, sites: Iterable[SiteAccess]) -> TabState:
    """Returns a tab in which hosted sites have the addresses that browsers see."""
    return replace(tab, html=named(tab.html, sites))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
