"""Connections through a proxy, by a tunnel to a checked address (CONNECT, RFC 9110 §9.3.6)."""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Proxy", "tunnel"]

P = TypeVar("P", bound=asyncio.Protocol)

_HEAD = 65536
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})(?: ([^\r\n]{0,80}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """Address and credentials (``user:password``) of a proxy."""

    host: str
    port: int
    login: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def request(self, authority: str) -> bytes:
        """The request for a tunnel to ``authority``."""
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if self.login:
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(self.login.encode()).decode()}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


class _TunnelRequest(asyncio.Protocol):
    """Protocol of the connection until the proxy has answered."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy, self._data = proxy, b""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, separator, rest = self._data.partition(b"\r\n\r\n")
        status = _STATUS.match(head)
        if separator and status is not None and status[1].startswith(b"2") and not rest:
            self._end("")
        elif separator and status is not None:
            status_line = b" ".join(part for part in status.groups() if part).decode("latin-1")
            self._end(
                "sends bytes that belong to no tunnel" if status[1].startswith(b"2") else f"answers {status_line}"
            )
        elif separator or len(self._data) > _HEAD:
            self._end("speaks no HTTP")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end("ended the connection without an answer")

    def _end(self, reason: str) -> None:
        if self.over.done():
            return
        if reason:
            self.over.set_exception(OSError(f"the proxy {self._proxy} {reason}"))
        else:
            self.over.set_result(None)


async def tunnel(
    proxy: Proxy, make: Callable[[], P], address: str, port: int, *, secure: ssl.SSLContext | None, name: str | None
) -> P:
    """A connection to ``address`` through ``proxy``; with ``secure``, TLS for the host ``name``.

    `OSError` when the proxy or the address behind it is unavailable; `ssl.SSLError` for an invalid certificate.
    """
    loop = asyncio.get_running_loop()
    try:
        transport, asking = await loop.create_connection(lambda: _TunnelRequest(proxy), proxy.host, proxy.port)
    except OSError as error:
        raise OSError(f"the proxy {proxy} can't be had: {error.strerror or error}") from error
    try:
        transport.write(proxy.request(f"[{address}]:{port}" if ":" in address else f"{address}:{port}"))
        await asking.over
        protocol = make()
        if secure is None:
            transport.set_protocol(protocol)
            protocol.connection_made(transport)
            return protocol
        encrypted = await loop.start_tls(transport, protocol, secure, server_hostname=name)
        if encrypted is None:
            raise OSError(f"the connection through the proxy {proxy} ended before it was encrypted")
        protocol.connection_made(encrypted)
        return protocol
    except BaseException:
        transport.abort()
        raise
