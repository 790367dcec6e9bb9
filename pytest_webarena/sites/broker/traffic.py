"""Determines from the gateways of a lease which replicas may have been changed, or may still be at work."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

__all__ = ["Traffic", "unsafe_by_app"]


class Traffic(Protocol):
    """The part of a `GatewaySession` that is used here."""

    unsafe_hosts: dict[str, str]
    unfinished_hosts: dict[str, str]
    sign_in_hosts: dict[str, str]


def unsafe_by_app(
    sessions: Sequence[Traffic],
    hosts: Mapping[str, str],
    needs: Mapping[str, Sequence[str]] = MappingProxyType({}),
    allows_sign_ins: Collection[str] = (),
) -> Mapping[str, str]:
    """Returns, by app, why its traffic may have changed it, or may still do so; apps without such traffic are missing.

    ``sessions`` are all closed gateways of a lease, ``hosts`` maps host names to apps. Hosts of other apps can't have
    been reached and are left out. ``needs`` maps apps to those they call without a gateway: what may have changed an
    app may have changed these, too. ``allows_sign_ins`` are apps for which sign-ins count as no change.
    """
    found: dict[str, str] = {}
    for words in [session.unsafe_hosts for session in sessions] + [session.unfinished_hosts for session in sessions]:
        for host, what in words.items():
            if (app := hosts.get(host)) is not None:
                found.setdefault(app, what)
    for host, what in [each for session in sessions for each in session.sign_in_hosts.items()]:
        if (app := hosts.get(host)) is not None and app not in allows_sign_ins:
            found.setdefault(app, what)
    reached = list(found)
    for app in reached:  # grows during the iteration
        for needed in needs.get(app, ()):
            if needed not in found:
                found[needed] = f"{app} may have called it: {found[app]}"
                reached.append(needed)
    return found
