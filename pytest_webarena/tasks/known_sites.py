"""Sites of a catalogue as the reader of task files knows them: names, accounts, databases, and the hosts that
exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from pytest_webarena.own_addresses import origin_of
from pytest_webarena.text import clip

__all__ = ["KnownSites"]


class KnownSites(dict[str, Collection[str] | None]):
    """Account names by site (None: any), as a mapping, and the addresses at which browsers visit the sites."""

    def __init__(
        self,
        accounts: Mapping[str, Collection[str] | None],
        addresses: Mapping[str, Iterable[str]] | None = None,
        databases: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    ) -> None:
        """``addresses``: base addresses by site, the one that browsers visit first. None: other hosts may exist, as
        with live or archived sites. ``databases``: by site, the apps that may hold a database, by its name (``""``: the
        main one); sites whose databases are not known are left out."""
        super().__init__(accounts)
        self.addresses = None if addresses is None else {name: tuple(urls) for name, urls in addresses.items()}
        self.databases = dict(databases or {})

    def merged(self, other: KnownSites) -> KnownSites:
        """Returns the sites of both."""
        some_unknown = self.addresses is None or other.addresses is None
        addresses = None if some_unknown else {**(self.addresses or {}), **(other.addresses or {})}
        return KnownSites({**self, **other}, addresses, {**self.databases, **other.databases})

    def wrong_database(self, site: str, database: str) -> tuple[str, str, str] | None:
        """Returns what is expected, what is found, and a hint if SQL on ``site`` has not exactly one database to run
        in; None when it has, or when that is not known."""
        known = self.databases.get(site)
        if known is None or len(holders := known.get(database, ())) == 1:
            return None
        if not known:
            return "a site with databases", f"'{site}' without", "add 'databases' to its app in the catalogue"
        from pytest_webarena.tasks.nodes import near  # late: apps are read without task files, too

        names = sorted(name for name, apps in known.items() if name and len(apps) == 1)
        if database and not holders:
            return f"a database of {site}", f"'{clip(database)}'", near(database, names)
        hint = f"known: {', '.join(names)}" if names else "give them different names in the catalogue"
        if database:
            return "a database of one app", f"'{clip(database)}' of {' and '.join(holders)}", hint
        return f"'database', as {' and '.join(holders)} have some", "none", hint

    def foreign_host(self, url: str) -> tuple[str, str] | None:
        """Returns the host of a full address that no site has, and a hint; None when a site has it, or others may
        exist. Own addresses of hosted sites belong to them, and are translated in trials.

        >>> KnownSites({"shop": ()}, {"shop": ["http://shop.test"]}).foreign_host("http://shop.tset/basket")
        ('shop.tset', "write 'shop:/basket' for http://shop.test")
        """
        if self.addresses is None or "://" not in url:
            return None
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        visited = {urlsplit(urls[0]).hostname or "": (name, urls[0]) for name, urls in self.addresses.items()}
        own = [each for urls in self.addresses.values() for each in urls[1:]]
        if host in visited or origin_of(url) in map(origin_of, own):
            return None
        import difflib  # late: most files have no such address

        close = difflib.get_close_matches(host, visited, n=1, cutoff=0.65)
        name = visited[close[0]][0] if close else ""
        if not name:
            return host, "write site:/path for a page of a site; trials reach no other host"
        path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        return host, f"write '{name}:{path}' for {self.addresses[name][0]}"
