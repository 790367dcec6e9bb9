"""Flow control: many requests, slow senders, large bodies and readers that are too slow."""

from __future__ import annotations

import asyncio
import hashlib
import socket
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.gateway.conftest import World

HOME = "http://homepage.test"


def test_thousands_of_pipelined_requests_are_answered(world: World) -> None:
    session, _ = world.serve()
    browser = world.browser(session)
    count = 3000
    foreign = b"GET http://foreign.test/ HTTP/1.1\r\nHost: foreign.test\r\n\r\n"
    browser.send(foreign * count + b"GET http://homepage.test/last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    answers = browser.rest()
    assert answers.count(b"HTTP/1.1 403 Forbidden") == count
    assert answers.endswith(b"/last")


def test_request_sent_byte_by_byte_is_relayed(world: World) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    browser.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    message = (
        b"\r\nPOST http://homepage.test/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n1;x\r\nd\r\n0\r\nA: b\r\n\r\n"
    )
    for index in range(len(message)):
        browser.send(message[index : index + 1])
    assert browser.response()[2] == b"abcd"
    assert site.seen[0].body == b"abcd"


def test_response_sent_byte_by_byte_is_relayed(world: World) -> None:
    message = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\nA: b\r\n\r\n"

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            for index in range(len(message)):
                writer.write(message[index : index + 1])
                await writer.drain()
                await asyncio.sleep(0)

    session, site = world.serve_raw(handler)
    client = world.http(session)
    for _ in range(2):
        client.request("GET", f"{HOME}/")
        assert client.getresponse().read() == b"abcd"
    assert site.connections == 1


@pytest.mark.parametrize("chunked", [False, True])
def test_large_bodies_arrive_whole(world: World, chunked: bool) -> None:
    block = bytes(range(256)) * 1024
    count = 64

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"chunked" in head:
            got = hashlib.sha256()
            while size := int(await reader.readline(), 16):
                got.update((await reader.readexactly(size + 2))[:-2])
            await reader.readline()
        else:
            got = hashlib.sha256(await reader.readexactly(len(block) * count))
        writer.write(b"HTTP/1.1 200 OK\r\nX-Sum: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % got.hexdigest().encode())
        for _ in range(count):
            writer.write(b"%x\r\n%s\r\n" % (len(block), block))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    session, _ = world.serve_raw(handler)
    client = world.http(session)
    if chunked:
        client.request("POST", f"{HOME}/", body=iter([block] * count), encode_chunked=True)
    else:
        client.request("POST", f"{HOME}/", body=block * count)
    response = client.getresponse()
    whole = hashlib.sha256(block * count).hexdigest()
    assert response.headers["X-Sum"] == whole
    assert hashlib.sha256(response.read()).hexdigest() == whole
    assert world.totals(session).request_bytes == world.totals(session).response_bytes == len(block) * count


def test_site_that_does_not_read_stops_the_upload(world: World) -> None:
    release = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await release.wait()
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(total)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    total = 64 * 1024 * 1024
    session, _ = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(f"PUT {HOME}/ HTTP/1.1\r\nHost: h\r\nContent-Length: {total}\r\n\r\n".encode())
    sent = _send_until_full(browser.sock, total)
    # Kernel buffers on both hops and a little in the gateway; without backpressure everything would fit.
    assert sent < total / 2
    world.call(release.set)
    browser.send(bytes(total - sent))
    assert browser.response()[2] == b"hi"


def test_pipelined_requests_wait_in_the_browser(world: World) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    session, _ = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(f"GET {HOME}/ HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    total = 64 * 1024 * 1024
    assert _send_until_full(browser.sock, total) < total / 2


def test_browser_that_does_not_read_gets_no_further_answers(world: World) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n" + bytes(30_000)
    session, site = world.serve(lambda _: answer)
    browser = world.browser(session)
    count = 2000
    browser.send(f"GET {HOME}/ HTTP/1.1\r\nHost: h\r\n\r\n".encode() * count)
    last = -1
    while len(site.seen) != last:
        last = len(site.seen)
        for _ in range(20):
            world.browser(session).get("http://foreign.test/")
    assert 0 < len(site.seen) < count / 2
    # The site connection of its last response serves other requests meanwhile.
    assert world.browser(session).get(f"{HOME}/")[2] == bytes(30_000)
    assert site.connections == 1
    assert sum(len(browser.response()[2]) for _ in range(count)) == count * 30_000


def test_browser_that_does_not_read_stops_the_download(world: World) -> None:
    written = 0
    total = 64 * 1024 * 1024

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
        while written < total:
            writer.write(bytes(65536))
            await writer.drain()
            written += 65536

    session, _ = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(f"GET {HOME}/ HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    browser.head()
    last = -1
    while written != last:
        last = written
        # One round trip of another client: all pending data has been relayed.
        for _ in range(20):
            world.browser(session).get("http://foreign.test/")
    assert 0 < written < total / 2
    assert len(browser.exactly(total)) == total


def test_many_browsers_are_served_at_once(world: World) -> None:
    session, site = world.serve()
    browsers = [world.browser(session) for _ in range(50)]
    for index, browser in enumerate(browsers):
        browser.send(f"GET {HOME}/{index} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    assert [browser.response()[2] for browser in browsers] == [f"/{index}".encode() for index in range(50)]
    assert len(site.seen) == 50


def _send_until_full(sock: socket.socket, total: int) -> int:
    """Send zeros until the socket has taken none for half a second."""
    sock.settimeout(0.5)
    sent = 0
    try:
        while sent < total:
            sent += sock.send(bytes(min(1 << 20, total - sent)))
    except TimeoutError:
        pass
    sock.settimeout(10)
    return sent
