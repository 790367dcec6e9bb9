"""Bridge between Playwright and a stock Firefox: starts it, forwards WebDriver BiDi, and adds missing commands.

``bidi_bridge.py FIREFOX ARGUMENT…`` is a separate program, which Playwright starts in place of the browser (by
``bidi_bridge.sh``). Playwright connects to the address of this program instead of the browser's. Playwright sends some
commands without checking that the browser supports them; the bridge reports success for optional ones. It ends with the
browser, and the browser ends with it and with Playwright, whatever the cause.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import signal
import sys
from functools import partial
from http import HTTPStatus

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from pytest_webarena.death_signal import die_with_parent

OPTIONAL = ("emulation.setMediaFeaturesOverride",)
"""Commands that may be missing: they set the colour scheme and reduced motion that the user prefers."""

_LISTENING = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")
_WAIT = 10.0
"""Seconds that the browser has to exit after Playwright has disconnected."""


class Bridge:
    """Connection between one client and the browser at ``address``."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._token = secrets.token_urlsafe(16)
        self._optional: set[int] = set()
        self._taken = False
        self.over = asyncio.Event()
        """Set when the client has disconnected."""

    async def start(self) -> str:
        """Listen; return the address for the client, which adds ``/session`` to it."""
        server = await serve(
            self._serve,
            "127.0.0.1",
            0,
            process_request=self._check,
            origins=[None],  # web pages may not connect
            compression=None,
            max_size=None,
            ping_interval=None,
        )
        port = next(iter(server.sockets)).getsockname()[1]
        return f"ws://127.0.0.1:{port}/{self._token}"

    def _check(self, connection: ServerConnection, request: Request) -> Response | None:
        if self._taken or request.path != f"/{self._token}/session":
            return connection.respond(HTTPStatus.FORBIDDEN, "")
        self._taken = True
        return None

    async def _serve(self, client: ServerConnection) -> None:
        try:
            async with connect(
                f"{self._address}/session", compression=None, max_size=None, ping_interval=None
            ) as browser:
                directions = {
                    asyncio.ensure_future(self._to_browser(client, browser)),
                    asyncio.ensure_future(self._to_client(browser, client)),
                }
                await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
                for direction in directions:
                    direction.cancel()
        finally:
            self.over.set()

    async def _to_browser(self, client: ServerConnection, browser: ClientConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for message in client:
                text = str(message) if isinstance(message, str) else message.decode()
                if any(command in text for command in OPTIONAL):
                    command = json.loads(text)
                    if command.get("method") in OPTIONAL:
                        self._optional.add(command["id"])
                await browser.send(text)

    async def _to_client(self, browser: ClientConnection, client: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for message in browser:
                text = str(message) if isinstance(message, str) else message.decode()
                await client.send(self._answer(text) if self._optional else text)

    def _answer(self, text: str) -> str:
        """Return ``text``, or a success message if an optional command is missing."""
        if '"unknown command"' in text:
            answer = json.loads(text)
            if answer.get("id") in self._optional and answer.get("error") == "unknown command":
                self._optional.discard(answer["id"])
                return json.dumps({"type": "success", "id": answer["id"], "result": {}})
        return text


async def main(command: list[str]) -> int:
    """Run the browser until it ends; return its exit status."""
    browser = await asyncio.create_subprocess_exec(
        *command, stderr=asyncio.subprocess.PIPE, preexec_fn=partial(die_with_parent, os.getpid()), limit=1 << 20
    )
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]  # proxies are for web pages, not for the connection to the browser
    die_with_parent(os.getppid())
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(sign, _stop, browser)
    forwarding = asyncio.ensure_future(_forward(browser))
    ended = asyncio.ensure_future(browser.wait())
    await asyncio.wait({forwarding, ended}, return_when=asyncio.FIRST_COMPLETED)
    return await ended


async def _forward(browser: asyncio.subprocess.Process) -> None:
    """Forward the browser's output to Playwright, with the bridge's address in place of the browser's."""
    assert browser.stderr is not None
    watching: asyncio.Task[None] | None = None
    while line := await browser.stderr.readline():
        if watching is None and (match := _LISTENING.search(line)):
            bridge = Bridge(match[1].decode())
            line = line.replace(match[1], (await bridge.start()).encode())
            watching = asyncio.ensure_future(_end_with_client(bridge, browser))
        try:
            sys.stderr.buffer.write(line)
            sys.stderr.flush()
        except OSError:  # Playwright has closed the pipe
            _stop(browser)


async def _end_with_client(bridge: Bridge, browser: asyncio.subprocess.Process) -> None:
    await bridge.over.wait()
    try:
        async with asyncio.timeout(_WAIT):
            await browser.wait()
    except TimeoutError:
        _stop(browser)


def _stop(browser: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        browser.kill()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
