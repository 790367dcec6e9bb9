"""Waits until an app answers: strategies with a deadline, which end early when the app dies."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError
from pytest_webarena.gateway.upstream import tls_fault
from pytest_webarena.sites.catalogues.manifest import ExecReady, HttpReady, Readiness

__all__ = ["answers", "end_connection", "unmet", "wait_ready"]

_FIRST_PAUSE = 0.01
_LAST_PAUSE = 0.25
_PATIENCE = 10.0
"""Time limit of one probe in seconds."""
_BODY_LIMIT = 4 * 1024 * 1024

Execute = Callable[[Sequence[str]], Awaitable[str]]
"""Runs a program next to the app; returns an empty text if it exits with 0, otherwise its output."""

_UNREACHED = "no connection to"
"""Beginning of the problem while nothing listens."""


async def wait_ready(
    strategies: Sequence[Readiness],
    host: str,
    port: int,
    *,
    server_name: str,
    timeout: float,
    died: Callable[[], Awaitable[str]],
    execute: Execute | None = None,
    of: float | None = None,
    secure: ssl.SSLContext | None = None,
) -> None:
    """Return once all ``strategies`` pass for the app at ``host:port``, requested as ``server_name``.

    ``execute`` is for strategies that run a program. Raises `SiteError` after ``timeout`` seconds, with the last
    problem, and at once when ``died`` returns a reason. ``of`` is the start time-out in seconds, if a part of it has
    passed. ``secure``: TLS settings of an app that is asked by https; None: by http.
    """
    deadline = time.monotonic() + timeout
    whole = timeout if of is None else of
    start_share = "" if whole - timeout < 1 else f", with {timeout:.3g} s left after its start"
    for strategy in strategies:
        pause, problem = _FIRST_PAUSE, ""
        while problem := await _probe(strategy, host, port, server_name, deadline, execute, problem, secure):
            if why := await died():
                raise SiteError(why)
            if time.monotonic() + pause >= deadline:
                raise SiteError(f"it was not ready within {whole:.3g} s (start_timeout{start_share}): {problem}")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LAST_PAUSE)


async def answers(
    strategies: Sequence[Readiness],
    host: str,
    port: int,
    *,
    server_name: str,
    timeout: float,
    secure: ssl.SSLContext | None = None,
    visited: bool = True,
    execute: Execute | None = None,
) -> str:
    """Returns why the app at ``host:port`` does not answer a request within ``timeout`` seconds; empty when it does.

    The requests are those of its HTTP strategies, without conditions that visitors may have changed (texts, redirects).
    An app without one is asked for ``/``, where any response counts; a connection alone proves nothing, because the
    kernel accepts it for a frozen app, too. ``secure`` as for `wait_ready`. Strategies that run a program must pass
    as well, if there is ``execute``; an app that is not ``visited`` gets no other requests.
    """
    http_checks = [HttpReady(path=each.path, status=each.status) for each in strategies if isinstance(each, HttpReady)]
    questions: Sequence[Readiness] = http_checks or [HttpReady(path="/", status=tuple(range(100, 600)))]
    programs = [each for each in strategies if isinstance(each, ExecReady)] if execute is not None else []
    if not visited:
        questions = http_checks
    deadline = time.monotonic() + timeout
    for question in [*questions, *programs]:
        problem = ""
        while problem := await _asked(question, host, port, server_name, deadline, execute, problem, secure):
            if time.monotonic() + _LAST_PAUSE >= deadline:
                return f"no success within {timeout:.3g} s: {problem}"
            await asyncio.sleep(_LAST_PAUSE)
    return ""


async def unmet(
    strategy: Readiness, host: str, port: int, *, server_name: str, timeout: float, execute: Execute | None = None
) -> str:
    """Returns why a strategy does not pass when it is tried once, for at most ``timeout`` seconds; empty when it
    does."""
    return await _asked(strategy, host, port, server_name, time.monotonic() + timeout, execute, "")


async def _asked(strategy: Readiness, *question: Any) -> str:
    """Like `_probe`, but a program that can't be run is a problem, too."""
    try:
        return await _probe(strategy, *question)
    except SiteError as error:
        return str(error)


async def _probe(
    strategy: Readiness,
    host: str,
    port: int,
    server_name: str,
    deadline: float,
    execute: Execute | None,
    before: str,
    secure: ssl.SSLContext | None = None,
) -> str:
    """Returns why the strategy does not pass yet. A probe that the deadline interrupts returns the problem ``before``,
    which says more."""
    remaining = deadline - time.monotonic()
    try:
        async with asyncio.timeout(max(min(remaining, _PATIENCE), 0.1)):
            if isinstance(strategy, ExecReady):
                return await _execute(strategy, execute)
            reader, writer = await asyncio.open_connection(host, port, ssl=secure)
            try:
                return await _ask(strategy, reader, writer, server_name) if isinstance(strategy, HttpReady) else ""
            finally:
                await end_connection(writer)
    except TimeoutError:
        is_known = before and not before.startswith(_UNREACHED) and remaining < _PATIENCE
        return before if is_known else f"{_what(strategy)} on {host}:{port}"
    except ssl.SSLError as error:
        return f"{host}:{port} can't be asked by https: {tls_fault(error)}"
    except OSError as error:
        return f"{_UNREACHED} {host}:{port}: {error}"


async def end_connection(writer: asyncio.StreamWriter) -> None:
    """End a connection at once: TLS would otherwise wait for the server's farewell."""
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


def _what(strategy: Readiness) -> str:
    """Returns what took too long."""
    if isinstance(strategy, HttpReady):
        return f"GET {strategy.path} got no answer"
    if isinstance(strategy, ExecReady):
        return f"{strategy.run[0]} did not end"
    return "it accepts no connections"


async def _execute(strategy: ExecReady, execute: Execute | None) -> str:
    if execute is None:
        raise SiteError(f"only apps in containers can be asked by a program whether they are ready: {strategy.run[0]}")
    return await execute(strategy.run)


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
    if strategy.redirect:
        location = (await _headers(reader)).get(b"location", b"").decode("latin-1")
        target = urlsplit(location)._replace(scheme="", netloc="").geturl() or "/"
        if not 300 <= status < 400 or not location or target != strategy.redirect:
            found = f"{status} to {location}" if location else str(status)
            return f"GET {strategy.path} answered {found}, expected a redirect to {strategy.redirect}"
    if (strategy.status and status not in strategy.status) or (not strategy.status and status >= 500):
        wanted = "/".join(map(str, strategy.status)) or "a status below 500"
        return f"GET {strategy.path} answered {status}, expected {wanted}"
    if strategy.includes:
        body = await _read(reader)
        if strategy.includes.encode() not in body:
            return f"GET {strategy.path} did not contain {strategy.includes!r}"
    return ""


async def _headers(reader: asyncio.StreamReader) -> Mapping[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.partition(b":")
        headers.setdefault(name.strip().lower(), value.strip())
    return headers


async def _read(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while len(body) < _BODY_LIMIT and (chunk := await reader.read(65536)):
        body += chunk
    return body
