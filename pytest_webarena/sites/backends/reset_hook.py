"""Resets instances of apps that run elsewhere, by a request or a program of this machine, and proves it."""

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
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.sites.backends.reset_proofs import ResetProofs
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.catalogues.running import HttpCall

__all__ = ["prove_reset", "reset_instance"]

_PLACEHOLDER = re.compile(r"\{(url|host|instance)(?::([A-Za-z0-9_-]+))?\}")
_PAUSE = 1.0
"""Seconds between two questions whether the reset has ended."""
_FIRST_PAUSE = 0.05
_SHOWN = 500
"""Characters of a response or of output in messages."""
_CONTEXT = 40
"""Characters on each side of a difference in messages."""
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Connects directly, as the gateway does."""


async def reset_instance(app: AppManifest, addresses: Mapping[str, str], number: int) -> None:
    """Reset the instance ``number`` of ``app``, whose sites have ``addresses``, within its ``start_timeout``.

    Raises `SiteError`, which says what was asked and what came back.
    """
    hook = app.reset
    assert hook is not None
    ends = time.monotonic() + app.start_timeout
    where, fill = _where(app, addresses), _filler(app, addresses, number)
    if hook.http is not None:
        problem, _ = await _ask(_filled(hook.http, fill), "POST", ends)
    else:
        problem = await _run([fill(word) for word in hook.run], app, ends)
    if problem:
        raise SiteError(f"{where} failed: {problem}")
    pause = _FIRST_PAUSE
    while hook.ready is not None and (problem := (await _ask(_filled(hook.ready, fill), "GET", ends))[0]):
        if time.monotonic() + pause >= ends:
            raise SiteError(f"{where} did not end within {app.start_timeout:g} s (start_timeout): {problem}")
        await asyncio.sleep(pause)
        pause = min(2 * pause, _PAUSE)


async def prove_reset(app: AppManifest, addresses: Mapping[str, str], number: int, proofs: ResetProofs) -> None:
    """Compare the response to the reset's ``proof``, with the sites' names in place of their ``addresses``.

    Raises `SiteError` if it is not the one in ``proofs``; if it is the first one, and not stable.
    """
    assert app.reset is not None
    proof = app.reset.proof
    assert proof is not None
    call = _filled(proof, _filler(app, addresses, number))
    where = f"{_where(app, addresses)} is not proved: {call.method or 'GET'} {call.url}"
    names = OwnAddresses({url: f"http://{name}.test" for name, url in addresses.items()})
    found = []
    for _ in range(1 if proofs.has(app.name, proof) else 2):
        problem, text = await _ask(call, "GET", time.monotonic() + app.start_timeout)
        if problem:
            raise SiteError(f"{_where(app, addresses)} is not proved: {problem}")
        found.append(names.named(text))
    if found[0] != found[-1]:
        raise SiteError(
            f"{where}: expected the same response twice after one reset, found {_difference(*found)}; choose a "
            "response without times and tokens"
        )
    if not proofs.equals(app.name, proof, found[0]):  # another instance may have been faster
        first = proofs.first(app.name, proof)
        other = _difference(first, found[0]) if first is not None else f"another: {found[0][:_SHOWN]!r}"
        raise SiteError(
            f"{where}: expected the response after the run's first reset, found {other}; the reset does not restore "
            f"all data, or the instances differ{f'; {proofs.remedy}' if first is None else ''}"
        )


def _difference(one: str, other: str) -> str:
    """Returns the first difference of two texts, for messages."""
    at = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    start = max(0, at - _CONTEXT)
    return f"{other[start : start + 2 * _CONTEXT]!r} in place of {one[start : start + 2 * _CONTEXT]!r}"


def _where(app: AppManifest, addresses: Mapping[str, str]) -> str:
    return f"the reset of {app.name} ({', '.join(addresses.values())})"


def _filler(app: AppManifest, addresses: Mapping[str, str], number: int) -> Callable[[str], str]:
    """Returns a function that replaces placeholders."""

    def value(match: re.Match[str]) -> str:
        if match[1] == "instance":
            return str(number)
        url = addresses.get(match[2], "") if match[2] else next(iter(addresses.values()))
        if not url:
            where = _where(app, addresses)
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


async def _ask(call: HttpCall, method: str, ends: float) -> tuple[str, str]:
    """Returns why a request did not succeed, empty when it did, and the response."""
    method = call.method or method
    data = json.dumps(call.body).encode() if call.body is not None else b"" if method != "GET" else None
    kind = {"Content-Type": "application/json"} if call.body is not None else {}
    try:
        request = urllib.request.Request(call.url, data=data, method=method, headers={**kind, **call.headers})
    except ValueError as error:
        return f"{method} {call.url}: {error}", ""
    timeout = max(0.1, ends - time.monotonic())
    try:
        status, text = await asyncio.to_thread(_response, request, timeout)
    except (OSError, http.client.HTTPException) as error:
        return f"{method} {call.url}: {getattr(error, 'reason', None) or error}", ""
    if status not in (call.status or range(200, 300)):
        wanted = "/".join(map(str, call.status)) or "200 to 299"
        return f"{method} {call.url}: expected status {wanted}, found {status}: {text[:_SHOWN]}", ""
    if call.includes not in text:
        return f"{method} {call.url}: expected {call.includes!r} in the response, found {text[:_SHOWN]!r}", ""
    return "", text


def _response(request: urllib.request.Request, timeout: float) -> tuple[int, str]:
    try:
        with _OPENER.open(request, timeout=timeout) as response:
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
    last = output.decode(errors="replace").strip()[-_SHOWN:]
    return f"{argv[0]} ended with exit code {process.returncode}: {last}" if process.returncode else ""
