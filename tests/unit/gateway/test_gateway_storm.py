"""Many rude browsers on one rude site: nobody gets another's answer, and nothing is left behind."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_webarena.gateway.session import GatewaySession
    from tests.unit.gateway.conftest import World

HOME = "http://homepage.test"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"


class RudeSite:
    """Answers with the path it was asked for, or breaks off in one of many ways."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if b"Content-Length: " in head:
                size = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
                if size and self.dice.random() < 0.2:
                    # An answer that does not wait for the upload.
                    writer.write(SIZED % (5, b"early"))
                    return
                await reader.readexactly(size)
            elif b"chunked" in head:
                await reader.readuntil(b"0\r\n\r\n")
            body = head.split(b" ")[1] + b";" + b"x" * self.dice.choice([0, 10, 70_000, 300_000])
            if b"websocket" in head and self.dice.random() < 0.5:
                writer.write(SWITCH)
                while data := await reader.read(9999):
                    writer.write(data)
                    await writer.drain()
                return
            goes_on = await self._answer(self.dice.randrange(12), body, writer)
            await writer.drain()
            if not goes_on:
                return

    async def _answer(self, roll: int, body: bytes, writer: asyncio.StreamWriter) -> bool:
        """Write something; whether the connection lives on."""
        if roll == 0:
            return False
        if roll == 1:
            writer.transport.abort()
            return False
        if roll == 2:
            writer.write(b"garbage\r\n\r\n")
            return False
        if roll == 3:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + body)
            return False
        if roll == 4:
            writer.write(SIZED % (len(body) + 5, body))
            return False
        if roll == 5:
            # Bytes too many: they must not become the next answer.
            writer.write(SIZED % (len(body), body) + SIZED % (6, b"forged"))
            return True
        if roll < 9:
            writer.write(CHUNKED % (len(body), body))
            return True
        writer.write(SIZED % (len(body), body))
        return True


class RudeBrowser:
    """Sends good and bad requests, reads some of the answers, leaves when it likes."""

    def __init__(self, number: int, dice: random.Random) -> None:
        self.number = number
        self.dice = dice
        self.answers = 0

    async def run(self, port: int) -> None:
        for visit in range(5):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                for turn in range(self.dice.randint(1, 5)):
                    path = f"/{self.number}-{visit}-{turn}"
                    message, complete = self._request(path)
                    writer.write(message)
                    if not complete or self.dice.random() < 0.2 or not await self._read(reader, path.encode()):
                        break
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            if self.dice.random() < 0.5:
                writer.transport.abort()
            else:
                writer.close()

    def _request(self, path: str) -> tuple[bytes, bool]:
        """Some bytes, and whether they are a request that must be answered."""
        host = self.dice.choice(["homepage.test"] * 4 + ["dead.test", "foreign.test"])
        start = f"http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n"
        whole = self.dice.random() < 0.8
        roll = self.dice.randrange(10)
        if roll < 5:
            return f"GET {start}\r\n".encode(), True
        if roll < 7:
            size = self.dice.choice([0, 5, 100_000, 500_000])
            sent = size if whole else size // 2
            return f"POST {start}Content-Length: {size}\r\n\r\n".encode() + bytes(sent), whole
        if roll == 7:
            return f"GET {start}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n".encode(), True
        if roll == 8:
            end = "0\r\n\r\n" if whole else "zz\r\n"
            return f"PUT {start}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n{end}".encode(), True
        return bytes(self.dice.randrange(256) for _ in range(50)), False

    async def _read(self, reader: asyncio.StreamReader, path: bytes) -> bool:
        """Read an answer; whether the connection is good for another request."""
        head = await reader.readuntil(b"\r\n\r\n")
        if b"Content-Length: " in head:
            body = await reader.readexactly(int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0]))
        elif b"chunked" in head:
            body = await reader.readexactly(int(await reader.readline(), 16))
            await reader.readexactly(7)
        else:
            return False
        if head.startswith(b"HTTP/1.1 200") and body != b"early":
            assert body.startswith(path + b";")
            self.answers += 1
        return b"Connection: close" not in head


@pytest.mark.matrix(1)
@pytest.mark.parametrize("seed", range(2))
def test_storm(world: World, seed: int) -> None:
    dice = random.Random(seed)
    session, _ = world.serve_raw(RudeSite(dice), linger=0.2)
    world.route(session, 1, "dead.test")
    browsers = [RudeBrowser(number, dice) for number in range(20)]

    async def storm(session: GatewaySession) -> None:
        await asyncio.gather(*(browser.run(session.port) for browser in browsers))

    world.run(storm(session))
    assert sum(browser.answers for browser in browsers) > 20
    world.until(lambda: session.in_flight == 0 and not session.connections and not session.pipes)
    # As good as new, with a better site.
    world.route(session, world.site().port)
    assert world.browser(session).get(f"{HOME}/after")[2] == b"/after"
