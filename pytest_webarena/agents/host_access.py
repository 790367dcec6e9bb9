"""Whether an address is this machine's."""

from __future__ import annotations

import socket
from functools import lru_cache

__all__ = ["is_this_machine"]


@lru_cache
def is_this_machine(host: str) -> bool:
    """Return whether a host name is this machine's, or has no known address."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except OSError:
        return True
    return any(_is_own(family, address) for family, _, _, _, address in found)


def _is_own(family: int, address: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]) -> bool:
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(address)  # port 0; only own addresses can be bound
        except OSError:
            return False
    return True
