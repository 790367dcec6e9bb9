"""Proposes entries for the lists of other hosts in catalogues, of the forms that catalogues accept."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_webarena.live.addresses import is_local_name
from pytest_webarena.sites.catalogues.format_parts import OTHER_HOST

__all__ = ["is_listable", "local_names", "way_to_list"]


def is_listable(host: str) -> bool:
    """Whether catalogues accept a host, which may have a port, in their lists: names only, no IP addresses.

    >>> is_listable("localhost:9999"), is_listable("127.0.0.8"), is_listable("[::1]:80")
    (True, False, False)
    """
    return bool(re.fullmatch(OTHER_HOST.pattern, f"http://{host}"))


def local_names(hosts: Iterable[str]) -> list[str]:
    """Returns the names of a local network among ``hosts``, which catalogues accept only in ``private_hosts``, too."""
    return list(dict.fromkeys(name for host in hosts if is_local_name(name := host.partition(":")[0])))


def way_to_list(host: str, key: str, entry: str) -> str:
    """Returns how the list ``key`` can allow a host, whose entry is ``entry``; for messages."""
    if not is_listable(host):
        return f"a name in its place, in '{key}' and 'private_hosts', since lists take no IP addresses"
    return f"'{key}: [{entry}]'" + "".join(f" with 'private_hosts: [{name}]'" for name in local_names([host]))
