"""Lists of hosts in catalogues: what their entries mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["HostLists", "Origin", "origins_of"]

Origin = tuple[str, int, bool]
"""Host, port, and whether TLS is used."""


def origins_of(entry: str) -> tuple[Origin, ...]:
    """Return the origins that an entry of a catalogue names.

    >>> origins_of("cdn.example.com")
    (('cdn.example.com', 443, True), ('cdn.example.com', 80, False))
    >>> origins_of("http://cdn.example.com:8080")
    (('cdn.example.com', 8080, False),)
    """
    if "://" not in entry:
        return (entry, 443, True), (entry, 80, False)
    parts = urlsplit(entry)
    is_secure = parts.scheme == "https"
    return ((parts.hostname or "", parts.port or (443 if is_secure else 80), is_secure),)


@dataclass(frozen=True, slots=True)
class HostLists:
    """The hosts that the apps of a lease name."""

    loads: frozenset[Origin] = frozenset()
    sign_in: frozenset[Origin] = frozenset()
    private: frozenset[str] = frozenset()
    """Hosts that may have addresses of the user's own network."""
    authorities: frozenset[str] = frozenset()
    """PEM files of the certificate authorities that are trusted in addition to the machine's."""

    @classmethod
    def of(cls, loads: Iterable[str], sign_in: Iterable[str], private: Iterable[str], authority: str = "") -> HostLists:
        """Make the lists from entries of catalogues."""
        return cls(
            frozenset(origin for entry in loads for origin in origins_of(entry)),
            frozenset(origin for entry in sign_in for origin in origins_of(entry)),
            frozenset(private),
            frozenset([authority] if authority else []),
        )

    def __or__(self, other: HostLists) -> HostLists:
        return HostLists(
            self.loads | other.loads,
            self.sign_in | other.sign_in,
            self.private | other.private,
            self.authorities | other.authorities,
        )

    def __bool__(self) -> bool:
        return bool(self.loads or self.sign_in)
