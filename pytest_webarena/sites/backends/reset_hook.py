"""Resets instances of apps that run elsewhere, by a request or a program of this machine."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError
from pytest_webarena.evidence import JsonValue
from pytest_webarena.gateway.server_certificates import certificate_problem, client_tls
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.catalogues.running import HttpCall

__all__ = ["SHOWN", "ask", "call_of", "reset_instance", "reset_of"]

_PLACEHOLDER = re.compile(r"\{(url|host|instance)(?::([A-Za-z0-9_-]+))?\}")
_PAUSE = 1.0
"""Seconds between two questions whether the reset has ended."""
_FIRST_PAUSE = 0.05
SHOWN = 500
"""Characters of a response or of output in messages."""


async def reset_instance(app: AppManifest, addresses: Mapping[str, str], number: int) -> None:
    """Reset the instance ``number`` of ``app``, whose sites have ``addresses``, within its ``start_timeout``.

    Raises `SiteError`, which says what was asked and what came back.
    """
    hook = app.reset
    assert hook is not None
    ends = time.monotonic() + app.start_timeout
    where, fill = reset_of(app, addresses), _filler(app, addresses, number)
    if hook.http is not None:
        problem, _ = await ask(app, _filled(hook.http, fill), "POST", ends)
    else:
        problem = await _run([fill(word) for word in hook.run], app, ends)
    if problem:
        raise SiteError(f"{where} failed: {problem}")
    pause = _FIRST_PAUSE
    while hook.ready is not None and (problem := (await ask(app, _filled(hook.ready, fill), "GET", ends))[0]):
        if time.monotonic() + pause >= ends:
            raise SiteError(f"{where} did not end within {app.start_timeout:g} s (start_timeout): {problem}")
        await asyncio.sleep(pause)
        pause = min(2 * pause, _PAUSE)


def reset_of(app: AppManifest, addresses: Mapping[str, str]) -> str:
    """Returns a name for the reset of an instance, for messages."""
    return f"the reset of {app.name} ({', '.join(addresses.values())})"


def call_of(call: HttpCall, app: AppManifest, addresses: Mapping[str, str], number: int) -> HttpCall:
    """Returns a request of the reset for the instance ``number``, with its placeholders replaced."""
    return _filled(call, _filler(app, addresses, number))


def _filler(app: AppManifest, addresses: Mapping[str, str], number: int) -> Callable[[str], str]:
    """Returns a function that replaces placeholders."""

    def value(match: re.Match[str]) -> str:
        if match[1] == "instance":
            return str(number)
        url = addresses.get(match[2], "") if match[2] else next(iter(addresses.values()))
        if not url:
            where = reset_of(app, addresses)
            raise SiteError(f"{where}: expected a site of the app in {match[0]}, found {match[2]!r}")
        return url if match[1] == "url" else urlsplit(url).hostname or ""

    return lambda text: _PLACEHOLDER.sub(value, text)


def _filled(call: HttpCall, fill: Callable[[str], str]) -> HttpCall:
    def value(of: JsonValue) -> JsonValue:
        match of:
            case str():
                return fill(of)
            case list() | tuple():
                return [value(each) for each in of]
            case dict():
                return {key: value(each) for key, each in of.items()}
            case _:
                return of

    headers = {name: fill(text) for name, text in call.headers.items()}
    return replace(call, url=fill(call.url), headers=headers, body=value(call.body))


async def ask(app: AppManifest, call: HttpCall, method: str, ends: float) -> tuple[str, str]:
    """Returns why a request of ``app`` did not succeed, empty when it did, and the response."""
    method = call.method or method
    data = json.dumps(call.body).encode() if call.body is not None else b"" if method != "GET" else None
    kind = {"Content-Type": "application/json"} if call.body is not None else {}
    token = os.environ.get(call.token_env, "").strip() if call.token_env else ""
    if call.token_env and not token:
        return f"{method} {call.url}: expected a token in the environment variable {call.token_env}, found none", ""
    kind |= {"Authorization": f"Bearer {token}"} if token else {}
    try:
        request = urllib.request.Request(call.url, data=data, method=method, headers={**kind, **call.headers})
    except ValueError as error:
        return f"{method} {call.url}: {error}", ""
    timeout = max(0.1, ends - time.monotonic())
    try:
        status, text = await asyncio.to_thread(_response, request, timeout, app.certificate_authority)
    except (OSError, http.client.HTTPException) as error:
        cause = getattr(error, "reason", None)
        cause = cause if isinstance(cause, Exception) else error
        fault = certificate_problem(cause, [app.certificate_authority])
        return f"{method} {call.url}: {fault or getattr(error, 'reason', None) or error}", ""
    if status not in (call.status or range(200, 300)):
        wanted = "/".join(map(str, call.status)) or "200 to 299"
        return f"{method} {call.url}: expected status {wanted}, found {status}: {text[:SHOWN]}", ""
    if call.includes not in text:
        return f"{method} {call.url}: expected {call.includes!r} in the response, found {text[:SHOWN]!r}", ""
    return "", text


def _response(request: urllib.request.Request, timeout: float, authority: str) -> tuple[int, str]:
    direct = urllib.request.ProxyHandler({})  # as the gateway connects
    opener = urllib.request.build_opener(direct, urllib.request.HTTPSHandler(context=client_tls(authority)))
    try:
        with opener.open(request, timeout=timeout) as response:
            return response.status, response.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace")


async def _run(argv: list[str], app: AppManifest, ends: float) -> str:
    """Returns why a program did not succeed; empty when it did."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=app.folder, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return f"{argv[0]} could not be run: {error.strerror or error}"
    try:
        async with asyncio.timeout_at(asyncio.get_running_loop().time() + ends - time.monotonic()):
            output, _ = await process.communicate()
    except TimeoutError:
        return f"{argv[0]} did not end within {app.start_timeout:g} s (start_timeout)"
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    last = output.decode(errors="replace").strip()[-SHOWN:]
    return f"{argv[0]} ended with exit code {process.returncode}: {last}" if process.returncode else ""
