"""CONNECT and WebSockets: plain traffic in a tunnel is read, other traffic is relayed raw."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.gateway.conftest import Browser, World

HOME = "http://homepage.test"
HANDSHAKE = "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
SWITCH = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n"
)


async def echo_after_handshake(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"GET /live HTTP/1.1\r\nHost: homepage.test\r\n")
    assert b"Connection: Upgrade\r\nUpgrade: websocket\r\n" in head
    writer.write(SWITCH)
    await echo(reader, writer)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write(b"bye")


def connect(browser: Browser, authority: str) -> tuple[int, str, bytes]:
    browser.send(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\nProxy-Connection: keep-alive\r\n\r\n".encode())
    head = browser.head()
    status = int(head.split(" ")[1])
    if status == 200:
        return status, head, b""
    length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
    return status, head, browser.exactly(length)


def test_websocket_through_a_tunnel_is_relayed_and_recorded(world: World) -> None:
    session, _ = world.serve_raw(echo_after_handshake)
    browser = world.browser(session)
    assert connect(browser, "homepage.test:80")[:2] == (200, "HTTP/1.1 200 Connection established")
    browser.send("\r\n".join(["GET /live HTTP/1.1", "Host: homepage.test", *HANDSHAKE, "", ""]).encode())
    assert browser.head().startswith("HTTP/1.1 101")
    for data in (b"\x81\x05hello", bytes(range(256)) * 1000):
        browser.send(data)
        assert browser.exactly(len(data)) == data
    assert session.unsafe == "WebSocket http://homepage.test/live"
    tunnel, socket = world.requests(session)
    assert (tunnel.method, tunnel.url, tunnel.status) == ("CONNECT", "homepage.test:80", 200)
    assert (socket.method, socket.url, socket.status) == ("GET", "http://homepage.test/live", 101)
    assert socket.request_bytes == socket.response_bytes == 7 + 256_000
    assert session.in_flight == 1


def test_websocket_upgrade_relays_frames_sent_early(world: World) -> None:
    session, _ = world.serve_raw(echo_after_handshake)
    browser = world.browser(session)
    head = "\r\n".join([f"GET {HOME}/live HTTP/1.1", "Host: homepage.test", *HANDSHAKE, "", ""])
    browser.send(head.encode() + b"early")
    assert "Upgrade: websocket" in browser.head()
    assert browser.exactly(5) == b"early"
    assert session.unsafe == "WebSocket http://homepage.test/live"


def test_first_frame_in_the_packet_of_the_upgrade_is_relayed(world: World) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SWITCH + b"first")
        await echo(reader, writer)

    session, _ = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send("\r\n".join([f"GET {HOME}/live HTTP/1.1", "Host: homepage.test", *HANDSHAKE, "", ""]).encode())
    browser.head()
    assert browser.exactly(5) == b"first"


def test_site_may_decline_an_upgrade(world: World) -> None:
    session, _ = world.serve()
    browser = world.browser(session)
    assert browser.get(f"{HOME}/live", *HANDSHAKE)[0] == 200
    assert browser.get(f"{HOME}/next")[2] == b"/next"


def test_websocket_ends_in_one_direction_at_a_time(world: World) -> None:
    session, site = world.serve_raw(echo_after_handshake)
    browser = world.browser(session)
    browser.send("\r\n".join([f"GET {HOME}/live HTTP/1.1", "Host: homepage.test", *HANDSHAKE, "", ""]).encode())
    browser.head()
    browser.sock.shutdown(1)
    # The site can still send: only one direction has ended.
    assert browser.rest() == b"bye"
    assert site.ended.wait(10)
    world.until(lambda: session.in_flight == 0)


def test_closed_browser_ends_the_websocket_of_the_site(world: World) -> None:
    session, site = world.serve_raw(echo_after_handshake)
    browser = world.browser(session)
    browser.send("\r\n".join([f"GET {HOME}/live HTTP/1.1", "Host: homepage.test", *HANDSHAKE, "", ""]).encode())
    browser.head()
    browser.close()
    assert site.ended.wait(10)
    world.until(lambda: session.in_flight == 0)


def test_plain_requests_in_a_tunnel_are_recorded(world: World) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    connect(browser, "homepage.test:80")
    for path in ("/a", "/b"):
        browser.send(f"GET {path} HTTP/1.1\r\nHost: homepage.test\r\n\r\n".encode())
        assert browser.response()[2] == path.encode()
    assert session.unsafe == ""
    browser.send(b"POST /notes HTTP/1.1\r\nHost: homepage.test\r\nContent-Length: 4\r\n\r\nmilk")
    assert browser.response()[2] == b"milk"
    assert session.unsafe == "POST http://homepage.test/notes"
    assert [(r.method, r.url) for r in world.requests(session)[1:]] == [
        ("GET", "http://homepage.test/a"),
        ("GET", "http://homepage.test/b"),
        ("POST", "http://homepage.test/notes"),
    ]
    assert site.connections == 2


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"GET http://homepage.test/ HTTP/1.1\r\nHost: homepage.test\r\n\r\n", "xpected a path inside the tunnel"),
        (b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "xpected a path inside the tunnel"),
        (b"CONNECT homepage.test:80 HTTP/1.1\r\nHost: homepage.test\r\n\r\n", "CONNECT inside a tunnel"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "TLS is not spoken here"),
        (b"SSH-2.0-OpenSSH\n", "CRLF"),
    ],
)
def test_tunnel_of_a_plain_site_accepts_only_http(world: World, raw: bytes, says: str) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    connect(browser, "homepage.test:80")
    browser.send(raw)
    status, _, body = browser.response()
    assert (status, says in body.decode()) == (400, True), body
    assert site.connections == 0


@pytest.mark.parametrize(
    ("authority", "status"),
    [
        ("example.com:443", 403),
        ("homepage.test:443", 403),
        ("homepage.test:22", 403),
        ("127.0.0.1:80", 403),
        ("[::1]:80", 403),
        ("homepage.test", 400),
        ("http://homepage.test/", 400),
        ("homepage.test:", 400),
        ("homepage.test:80:80", 400),
        ("a@homepage.test:80", 400),
        ("/", 400),
    ],
)
def test_tunnels_lead_to_sites_only(world: World, authority: str, status: int) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    got, _, body = connect(browser, authority)
    assert got == status
    assert b"<h1>" in body
    assert site.connections == 0
    assert world.requests(session)[0].refused
    assert session.unsafe == ""


def test_connect_with_a_body_is_refused(world: World) -> None:
    session, _ = world.serve()
    browser = world.browser(session)
    browser.send(b"CONNECT homepage.test:80 HTTP/1.1\r\nHost: homepage.test:80\r\nContent-Length: 4\r\n\r\nbody")
    assert browser.response()[0] == 400
    assert browser.closed()


def test_tls_tunnel_is_relayed_raw_and_counts_as_unsafe(world: World) -> None:
    session = world.session()
    site = world.raw_site(echo)
    world.route(session, site.port, "shop.example", port=443)
    browser = world.browser(session)
    # TLS clients may send before the tunnel is established.
    browser.send(b"CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example:443\r\n\r\n\x16\x03\x01early")
    assert browser.head() == "HTTP/1.1 200 Connection established"
    assert browser.exactly(8) == b"\x16\x03\x01early"
    big = bytes(range(256)) * 4096
    browser.send(big)
    assert browser.exactly(len(big)) == big
    browser.sock.shutdown(1)
    assert browser.rest() == b"bye"
    world.until(lambda: session.in_flight == 0)
    record = world.requests(session)[0]
    assert (record.method, record.url, record.status) == ("CONNECT", "shop.example:443", 200)
    assert (record.request_bytes, record.response_bytes) == (8 + len(big), 8 + len(big) + 3)
    assert session.unsafe == "CONNECT shop.example:443"
    # The plain name of an https site is not served.
    assert world.browser(session).get("http://shop.example:443/")[0] == 403


def test_dead_tls_site_answers_502(world: World) -> None:
    session = world.session()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: the port is reserved and refuses connections
        world.route(session, unused.getsockname()[1], "shop.example", port=443)
        status, _, body = connect(world.browser(session), "shop.example:443")
    assert status == 502
    assert b"shop.example" in body
    assert "shop.example" in session.upstream_error


def test_tunnel_follows_its_site_and_ends_with_it(world: World) -> None:
    session, _ = world.serve(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")
    browser = world.browser(session)
    connect(browser, "homepage.test:80")
    message = b"GET / HTTP/1.1\r\nHost: homepage.test\r\n\r\n"
    browser.send(message)
    assert browser.response()[2] == b"old"
    world.route(session, world.site(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew").port)
    browser.send(message)
    assert browser.response()[2] == b"new"
    world.call(session.unroute, "homepage.test")
    browser.send(message)
    assert browser.response()[0] == 403


def test_session_closes_while_a_browser_does_not_read_its_websocket(world: World) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SWITCH)
        while True:
            writer.write(bytes(1 << 20))
            await writer.drain()

    session, site = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send("\r\n".join([f"GET {HOME}/live HTTP/1.1", "Host: homepage.test", *HANDSHAKE, "", ""]).encode())
    browser.head()
    world.until(lambda: any(pipe.get_write_buffer_size() for pipe in session.pipes))
    world.run(session.close())
    assert site.ended.wait(10)


def test_slow_websocket_reader_slows_the_sender(world: World) -> None:
    written = 0
    total = 64 * 1024 * 1024

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SWITCH)
        while written < total:
            writer.write(bytes(65536))
            await writer.drain()
            written += 65536

    session, _ = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send("\r\n".join([f"GET {HOME}/live HTTP/1.1", "Host: homepage.test", *HANDSHAKE, "", ""]).encode())
    browser.head()
    last = -1
    while written != last:
        last = written
        for _ in range(20):
            world.browser(session).get("http://foreign.test/")
    assert 0 < written < total / 2
    assert len(browser.exactly(total)) == total
