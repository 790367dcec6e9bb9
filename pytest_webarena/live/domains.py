"""Registrable domains of hosts, by the public suffix list of the package ``publicsuffixlist``."""

from __future__ import annotations

import ipaddress
from functools import cache
from typing import TYPE_CHECKING

from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

__all__ = ["registrable", "within"]


def registrable(host: str) -> str:
    """Return the registrable domain of ``host``: one level below a public suffix; empty for a public suffix itself.

    An IP address is its own domain. `UsageError` when the list is not installed.

    >>> registrable("www.shop.example.co.uk"), registrable("me.github.io"), registrable("co.uk")
    ('example.co.uk', 'me.github.io', '')
    """
    host = host.strip("[]").rstrip(".").lower()
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return _list().privatesuffix(host) or ""


def within(host: str, domains: frozenset[str]) -> bool:
    """Return whether ``host`` is one of ``domains`` or a subdomain of one.

    >>> within("www.example.com", frozenset({"example.com"})), within("badexample.com", frozenset({"example.com"}))
    (True, False)
    """
    host = host.strip("[]").rstrip(".").lower()
    return host in domains or any(host.endswith(f".{domain}") for domain in domains)


@cache
def _list() -> PublicSuffixList:
    try:
        from publicsuffixlist import PublicSuffixList
    except ImportError as error:
        raise UsageError(
            "live sites need publicsuffixlist, which is not installed; run: pip install 'pytest-webarena[live]'"
        ) from error
    return PublicSuffixList()  # the list included in the release, so that nothing is downloaded
