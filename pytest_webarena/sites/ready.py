"""Waiting until an app answers: strategies with a deadline, cut short when it dies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.manifest import HttpReady, Readiness

__all__ = ["wait_ready"]

_FIRST_PAUSE = 0.01
_LAST_PAUSE = 0.25
_PATIENCE = 10.0
"""Seconds one probe may take."""
_BODY_LIMIT = 4 * 1024 * 1024


async def wait_ready(
    strategies: Sequence[Readiness],
    host: str,
    port: int,
    *,
    server_name: str,
    timeout: float,
    died: Callable[[], Awaitable[str]],
) -> None:
    """Return once all ``strategies`` hold for the app at ``host:port``, asked for as ``server_name``.

    Raises `SiteError` after ``timeout`` seconds, telling what was seen last, and at once when ``died`` gives a reason.
    """
    deadline = time.monotonic() + timeout
    for strategy in strategies:
        pause = _FIRST_PAUSE
        while problem := await _probe(strategy, host, port, server_name, deadline):
            if why := await died():
                raise SiteError(why)
            if time.monotonic() + pause >= deadline:
                raise SiteError(f"it was not ready within {timeout:g} s (start_timeout): {problem}")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LAST_PAUSE)


async def _probe(strategy: Readiness, host: str, port: int, server_name: str, deadline: float) -> str:
    """Why it does not hold yet."""
    try:
        async with asyncio.timeout(max(min(deadline - time.monotonic(), _PATIENCE), 0.1)):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                return await _ask(strategy, reader, writer, server_name) if isinstance(strategy, HttpReady) else ""
            finally:
                writer.close()
    except TimeoutError:
        what = f"GET {strategy.path} got no answer" if isinstance(strategy, HttpReady) else "it accepts no connections"
        return f"{what} on {host}:{port}"
    except OSError as error:
        return f"no connection to {host}:{port}: {error}"


async def _ask(
    strategy: HttpReady, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server_name: str
) -> str:
    head = f"GET {strategy.path} HTTP/1.0\r\nHost: {server_name}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    writer.write(head.encode("ascii"))
    first = await reader.readline()
    parts = first.split()
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/") or not parts[1].isdigit():
        return f"GET {strategy.path} was not answered in HTTP: {first[:80]!r}"
    status = int(parts[1])
    if status not in strategy.status if strategy.status else status >= 500:
        wanted = "/".join(map(str, strategy.status)) or "a status below 500"
        return f"GET {strategy.path} answered {status}, expected {wanted}"
    if strategy.includes:
        body = await _read(reader)
        if strategy.includes.encode() not in body:
            return f"GET {strategy.path} did not contain {strategy.includes!r}"
    return ""


async def _read(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while len(body) < _BODY_LIMIT and (chunk := await reader.read(65536)):
        body += chunk
    return body
