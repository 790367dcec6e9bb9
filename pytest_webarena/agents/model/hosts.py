"""Maps the host names of sites to those shown to a model, in both directions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from pytest_webarena.actions import Action, Goto, Stop, Type

__all__ = ["PAPER_NAMES", "HostMap"]

PAPER_NAMES: Mapping[str, str] = {
    "shopping": "http://onestopmarket.com",
    "shopping_admin": "http://luma.com/admin",
    "reddit": "http://reddit.com",
    "gitlab": "http://gitlab.com",
    "map": "http://openstreetmap.org",
    "wikipedia": "http://wikipedia.org",
    "homepage": "http://homepage.com",
}
"""Addresses that the agents of WebArena's paper saw."""


class HostMap:
    """Maps addresses of sites to those shown to a model, and back.

    >>> hosts = HostMap({"shopping": "http://shopping.test"}, PAPER_NAMES)
    >>> hosts.to_shown("see http://shopping.test/cart")
    'see http://onestopmarket.com/cart'
    >>> hosts.to_real(Goto("https://onestopmarket.com/cart"))
    Goto(url='http://shopping.test/cart')
    """

    def __init__(self, sites: Mapping[str, str], names: Mapping[str, str]) -> None:
        pairs = {sites[site].rstrip("/"): names[site].rstrip("/") for site in sites if site in names}
        self._there = _replacer(pairs)
        to_real: dict[str, str] = {}
        for own, shown in pairs.items():
            to_real[shown] = own
            to_real[re.sub("^http:", "https:", shown)] = own
        self._back = _replacer(to_real)
        self._bare = [shown.partition("://")[2] for shown in pairs.values()]
        self.sites = {site: self.to_shown(url) for site, url in sites.items()}
        """Site name to address, as shown."""

    def to_shown(self, text: str) -> str:
        """``text`` with the sites' addresses as the model sees them."""
        return self._there(text)

    def to_real(self, action: Action) -> Action:
        """An action of the model with real addresses. A goto may omit the scheme, as in ``onestopmarket.com/cart``."""
        if isinstance(action, Goto):
            url = action.url.strip()
            bare = any(url == name or url.startswith((f"{name}/", f"{name}?")) for name in self._bare)
            return replace(action, url=self._back(f"http://{url}" if bare else url))
        if isinstance(action, Stop):
            return replace(action, answer=self._back(action.answer))
        if isinstance(action, Type):
            return replace(action, text=self._back(action.text))
        return action


def _replacer(pairs: Mapping[str, str]) -> Callable[[str], str]:
    if not pairs:
        return lambda text: text
    # Longest first, because one site's address may begin another's (a store and its back office). The name must end
    # there: http://homepage.test does not occur in http://homepage.testing.
    names = sorted(pairs, key=len, reverse=True)
    pattern = re.compile("(?:" + "|".join(map(re.escape, names)) + r")(?![\w-]|\.\w|:\d)")
    return lambda text: pattern.sub(lambda match: pairs[match[0]], text)
