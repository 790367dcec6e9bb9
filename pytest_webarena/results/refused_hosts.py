"""Hosts that pages of a trial needed and the gateway refused, as stored in records, and keys that would allow them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

__all__ = ["Key", "RefusedHost", "proposed_keys", "ways_to_allow"]

Key = Literal["loads", "sign_in_hosts", "site"]
"""What allows a request: a key of the app, or a site of the catalogue for anything else."""


class RefusedHost(TypedDict):
    """A host that pages needed, as stored in records."""

    keys: list[Key]
    """What would allow its requests."""
    example: str
    """Method and address of the first request, without its query."""
    why: str
    """The reason for the refusal."""


def _entry_of(host: str, example: str) -> str:
    """Return the entry of a list that names a refused host: its origin if it has a port of its own.

    >>> _entry_of("cdn.test", "GET http://cdn.test/a"), _entry_of("cdn.test:81", "GET http://cdn.test:81/a")
    ('cdn.test', 'http://cdn.test:81')
    """
    return f"{example.split(' ')[1].partition('://')[0]}://{host}" if ":" in host else host


def ways_to_allow(host: str, known: RefusedHost) -> str:
    """Return what would allow the requests to a refused host, for messages."""
    from pytest_webarena.sites.catalogues.proposed_hosts import is_listable, way_to_list  # late: few runs refuse hosts

    keys = known["keys"]
    listed = "sign_in_hosts" if "sign_in_hosts" in keys else "loads" if "loads" in keys else ""
    ways = [way_to_list(host, listed, _entry_of(host, known["example"]))] if listed else []
    if "site" in keys or not is_listable(host):
        ways.append("a site of the catalogue with this host")
    return " or ".join(ways)


def proposed_keys(found: Mapping[str, RefusedHost]) -> list[str]:
    """Return lines for an app of a catalogue that allow what was refused, as far as lists of hosts can."""
    from pytest_webarena.sites.catalogues.proposed_hosts import is_listable, local_names  # late, as above

    keys: tuple[Key, ...] = ("loads", "sign_in_hosts")
    found = {host: it for host, it in found.items() if is_listable(host) and it["keys"] != ["site"]}
    named: dict[str, list[str]] = {}
    for key in keys:
        named[key] = [_entry_of(host, it["example"]) for host, it in found.items() if key in it["keys"]]
    # A host can be in one list only, and pages that sign in load parts from there as well.
    named["loads"] = [entry for entry in named["loads"] if entry not in named["sign_in_hosts"]]
    named["private_hosts"] = local_names(found)
    return [f"{key}: [{', '.join(entries)}]" for key, entries in named.items() if entries]
