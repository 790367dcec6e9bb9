"""Hosts that pages of a trial needed and the gateway refused, as stored in records, and keys that would allow them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

__all__ = ["Key", "RefusedHost", "entry_of", "proposed_keys"]

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


def entry_of(host: str, example: str) -> str:
    """Return the entry of a list that names a refused host: its origin if it has a port of its own.

    >>> entry_of("cdn.test", "GET http://cdn.test/a"), entry_of("cdn.test:81", "GET http://cdn.test:81/a")
    ('cdn.test', 'http://cdn.test:81')
    """
    return f"{example.split(' ')[1].partition('://')[0]}://{host}" if ":" in host else host


def proposed_keys(found: Mapping[str, RefusedHost]) -> list[str]:
    """Return lines for an app of a catalogue that allow what was refused."""
    keys: tuple[Key, ...] = ("loads", "sign_in_hosts")
    named = {key: [entry_of(host, it["example"]) for host, it in found.items() if key in it["keys"]] for key in keys}
    # A host can be in one list only, and pages that sign in load parts from there as well.
    named["loads"] = [entry for entry in named["loads"] if entry not in named["sign_in_hosts"]]
    return [f"{key}: [{', '.join(entries)}]" for key, entries in named.items() if entries]
