"""Tests for public Internet addresses, and for host names that are addresses in an unusual spelling."""

from __future__ import annotations

import ipaddress
import re
from typing import TypeAlias

__all__ = ["address_problem", "host_problem", "is_local_name", "own_network_problem"]

IPv4: TypeAlias = ipaddress.IPv4Address
IPv6: TypeAlias = ipaddress.IPv6Address

# In addition to what Python calls not global, which differs by release: IANA's special-purpose registries (RFC 6890 and
# later).
_CLOSED_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
            "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
            "168.63.129.16/32",  # metadata service of a cloud, at a public address
        ),
    )
)  # fmt: skip
_OPEN_V6 = ipaddress.IPv6Network("2000::/3")
"""The range allocated to the public Internet; addresses outside it are not public."""
_CLOSED_V6 = tuple(
    map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20", "2620:4f:8000::/48", "5f00::/16"))
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_6TO4 = ipaddress.IPv6Network("2002::/16")
_ISATAP = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}:[0-9a-f]{4}:[0-9a-f]{4}:0[02]00:5efe:.*")
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


def address_problem(address: str) -> str:
    """Return why an address (IPv4 or IPv6, without port) must not be connected to; empty for a public Internet address.

    An address that embeds another one is judged by the inner address, and the outer one must be public as well:
    IPv4-mapped, 6to4, ISATAP, and NAT64 with the well-known prefix. A network's own NAT64 prefix cannot be
    distinguished from a public address.

    >>> address_problem("93.184.215.14"), address_problem("169.254.169.254")
    ('', '169.254.169.254 is link-local')
    >>> address_problem("::ffff:127.0.0.1")
    '::ffff:127.0.0.1 is 127.0.0.1, which is loopback'
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return f"{address[:80]!r} is no address"
    if isinstance(ip, IPv4):
        return _closed(ip)
    if ip.scope_id is not None:
        return f"{address} is of one network alone"
    if (inner := _within(ip)) is not None:
        return f"{address} is {inner}, which is {reason.partition(' is ')[2]}" if (reason := _closed(inner)) else ""
    if ip not in _OPEN_V6 or not ip.is_global or any(ip in net for net in _CLOSED_V6):
        return f"{address} is {_kind(ip)}"
    return ""


def _closed(ip: IPv4) -> str:
    closed = not ip.is_global or any(ip in net for net in _CLOSED_V4)
    return f"{ip} is {_kind(ip)}" if closed else ""


def _within(ip: IPv6) -> IPv4 | None:
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip in _6TO4:
        return ip.sixtofour
    if ip in _NAT64 or _ISATAP.fullmatch(ip.exploded):
        return IPv4(int(ip) & 0xFFFFFFFF)
    return None


def _kind(ip: IPv4 | IPv6) -> str:
    if ip.is_unspecified:
        return "no address of a host"
    for kind in ("loopback", "link_local", "multicast"):
        if getattr(ip, f"is_{kind}"):
            return kind.replace("_", "-")
    return "private" if ip.is_private else "not one of the public Internet"


_OWN_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"),
    )
)
"""Private networks, and this machine."""
_METADATA = IPv6("fd00:ec2::254")
"""Metadata service of a cloud, at a private address."""


def own_network_problem(address: str) -> str:
    """Return why an address must not be connected to even for a host of the user's own network; empty if it may be.

    Private and loopback addresses are allowed. Those that no host can have, link-local ones and metadata services of
    clouds are not.

    >>> own_network_problem("10.1.2.3"), own_network_problem("::ffff:169.254.169.254")
    ('', '::ffff:169.254.169.254 is 169.254.169.254, which is link-local')
    """
    problem = address_problem(address)
    if not problem:
        return ""
    try:
        ip: IPv4 | IPv6 = ipaddress.ip_address(address)
    except ValueError:
        return problem
    if isinstance(ip, IPv6):
        if ip.scope_id is not None:
            return problem
        ip = _within(ip) or ip
    return "" if ip != _METADATA and any(ip in network for network in _OWN_NETWORKS) else problem


def is_local_name(host: str) -> bool:
    """Return whether a host name belongs to a local network, so that it can't be on the public Internet.

    >>> is_local_name("localhost"), is_local_name("cdn.corp.internal"), is_local_name("example.com")
    (True, True, False)
    """
    return "." not in host or host.endswith((".localhost", ".local", ".internal", ".localdomain", ".home.arpa"))


def host_problem(host: str) -> str:
    """Return why a host cannot be on the public Internet, whatever its name resolves to; empty if it can.

    Spellings of an address that only some programs accept (``0x7f.1``, ``2130706433``, ``127.1``) are rejected. Names
    without a dot belong to a local network.

    >>> host_problem("www.example.com"), host_problem("93.184.215.14")
    ('', '')
    >>> host_problem("0x7f.1")
    '0x7f.1 is neither a name nor an address in the usual spelling'
    """
    if host.startswith("["):
        return address_problem(host.strip("[]"))
    last = host.rstrip(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        try:
            IPv4(host)
        except ValueError:
            return f"{host} is neither a name nor an address in the usual spelling"
        return address_problem(host)
    return f"{host} is a name of a local network" if is_local_name(host.strip(".")) else ""
