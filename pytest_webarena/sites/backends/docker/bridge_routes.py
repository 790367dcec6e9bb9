"""Tells whether packets to a container's address reach a bridge of this machine, and no other network."""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path

__all__ = ["kernel_address", "unrouted"]

_ROUTES = Path("/proc/net/route")
_INTERFACES = Path("/sys/class/net")


def unrouted(address: str, *, routes: Path = _ROUTES, interfaces: Path = _INTERFACES) -> str:
    """Return where packets to ``address`` go if that is no bridge of this machine; empty if it is, or is unknown.

    An engine that runs elsewhere, or keeps its networks to itself, gives addresses that mean nothing here: a request
    would leave by the default route, or reach something else that has the address.
    """
    try:
        target = ipaddress.IPv4Address(address)
        lines = routes.read_text().splitlines()[1:]
    except (OSError, ValueError):  # not Linux; IPv6
        return ""
    best: tuple[int, str] | None = None
    for words in map(str.split, lines):
        if len(words) <= 7:
            continue
        network = ipaddress.IPv4Network((kernel_address(words[1]), str(kernel_address(words[7]))), strict=False)
        if target in network and (best is None or network.prefixlen > best[0]):
            best = network.prefixlen, words[0]
    if best is None:
        return "nowhere"
    return "" if (interfaces / best[1] / "bridge").is_dir() else f"out by {best[1]}"


def kernel_address(text: str) -> ipaddress.IPv4Address:
    """Parse an address of the kernel's table, whose bytes are in native order."""
    return ipaddress.IPv4Address(int.from_bytes(bytes.fromhex(text), sys.byteorder))
