"""Connections to live sites: look up a name, check all of its addresses, connect to one of the checked addresses."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from pytest_webarena.gateway.upstream import tls_fault
from pytest_webarena.live.tunnelling import Proxy, tunnel

__all__ = ["Forbidden", "LookUp", "connect", "look_up", "permitted_addresses"]

P = TypeVar("P", bound=asyncio.Protocol)

_NEXT = 3.0
"""Seconds until the next address of a name is tried: IPv6 connections often fail without any response."""

LookUp = Callable[[str, int], Awaitable[Sequence[str]]]
"""Function that returns the addresses of a host and port; `OSError` when there are none."""


class Forbidden(Exception):
    """A host has, or connects to, an address that must not be used; the text names the address."""


async def look_up(host: str, port: int) -> Sequence[str]:
    """Addresses of ``host`` from the machine's own resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def permitted_addresses(host: str, port: int, find: LookUp, closed: Callable[[str], str]) -> Sequence[str]:
    """All addresses of ``host``. `Forbidden` when ``closed`` rejects any of them: a host that mixes public and other
    addresses is not used at all. `OSError` when it has no address."""
    try:
        addresses = await find(host.strip("[]"), port)
    except socket.gaierror as error:
        raise OSError(f"its name can't be looked up: {error.strerror}") from error
    except UnicodeError as error:
        raise OSError(f"its name is none: {error}") from error
    if not addresses:
        raise OSError("its name has no address")
    for address in addresses:
        if reason := closed(address):
            raise Forbidden(reason)
    return addresses


async def connect(
    make: Callable[[], P],
    host: str,
    port: int,
    *,
    find: LookUp,
    closed: Callable[[str], str],
    secure: ssl.SSLContext | None,
    proxy: Proxy | None = None,
) -> P:
    """A connection to one of the current addresses of ``host``. It uses the address that was checked, without a second
    lookup, also through a ``proxy``.

    Raises `Forbidden`, or the `OSError` of the last address that was tried.
    """
    last: OSError | None = None
    name = host.strip("[]").rstrip(".") if secure else None
    addresses = await permitted_addresses(host, port, find, closed)
    for number, address in enumerate(addresses, 1):
        try:
            async with asyncio.timeout(_NEXT if number < len(addresses) else None):
                transport, protocol = await _to(make, address, port, secure=secure, name=name, proxy=proxy)
        except ssl.SSLError as error:
            raise OSError(tls_fault(error)) from error
        except OSError as error:
            last = error if str(error) else OSError(f"no connection to {address} within {_NEXT:g} s")
            continue
        if transport is None:
            return protocol
        peer = transport.get_extra_info("peername")
        if reason := closed(str(peer[0])):  # checks the real peer, however the connection was made
            transport.abort()
            raise Forbidden(reason)
        return protocol
    assert last is not None
    raise last


async def _to(
    make: Callable[[], P],
    address: str,
    port: int,
    *,
    secure: ssl.SSLContext | None,
    name: str | None,
    proxy: Proxy | None,
) -> tuple[asyncio.Transport | None, P]:
    """A connection to one address; the transport is None when a ``proxy`` owns it."""
    if proxy is not None:
        return None, await tunnel(proxy, make, address, port, secure=secure, name=name)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_connection(make, address, port, ssl=secure, server_hostname=name)
    return transport, protocol
