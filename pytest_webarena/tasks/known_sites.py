"""Sites of a catalogue as the reader of task files knows them: names, accounts, and the hosts that exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from urllib.parse import urlsplit

__all__ = ["KnownSites"]


class KnownSites(dict[str, Collection[str] | None]):
    """Account names by site (None: any), as a mapping, and the addresses at which browsers visit the sites."""

    def __init__(
        self, accounts: Mapping[str, Collection[str] | None], addresses: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        """``addresses``: base addresses by site, the one that browsers visit first. None: other hosts may exist, as
        with live or archived sites."""
        super().__init__(accounts)
        self.addresses = None if addresses is None else {name: tuple(urls) for name, urls in addresses.items()}

    def merged(self, other: KnownSites) -> KnownSites:
        """Returns the sites of both."""
        if self.addresses is None or other.addresses is None:
            return KnownSites({**self, **other})
        return KnownSites({**self, **other}, {**self.addresses, **other.addresses})

    def foreign_host(self, url: str) -> tuple[str, str] | None:
        """Returns the host of a full address that no site has, and a hint; None when a site has it, or others may
        exist.

        >>> KnownSites({"shop": ()}, {"shop": ["http://shop.test"]}).foreign_host("http://shop.tset/basket")
        ('shop.tset', "write 'shop:/basket' for http://shop.test")
        """
        if self.addresses is None or "://" not in url:
            return None
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        visited = {urlsplit(urls[0]).hostname or "": (name, urls[0]) for name, urls in self.addresses.items()}
        if host in visited:
            return None
        own = next((name for name, urls in self.addresses.items() if any(_host(each) == host for each in urls)), "")
        import difflib  # late: most files have no such address

        close = difflib.get_close_matches(host, visited, n=1, cutoff=0.65)
        name = own or (visited[close[0]][0] if close else "")
        if not name:
            return host, "write site:/path for a page of a site; trials reach no other host"
        path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        return host, f"write '{name}:{path}' for {self.addresses[name][0]}"


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""
