"""Ends of connections: browsers that disconnect, sites that are unrouted, sessions that close."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.gateway.session import Gateway

if TYPE_CHECKING:
    from tests.unit.gateway.conftest import World

HOME = "http://homepage.test"


def ok(content: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)


def test_unanswered_get_ends_after_the_browser_disconnects(world: World) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    session, site = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(f"GET {HOME}/events HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    world.until(lambda: site.connections == 1)
    browser.close()
    assert site.ended.wait(10)
    world.until(lambda: session.in_flight == 0)
    assert [(record.url, record.status) for record in world.requests(session)] == [(f"{HOME}/events", None)]
    assert session.upstream_error == ""


def test_complete_request_arrives_after_the_browser_disconnects(world: World) -> None:
    session, site = world.serve()
    for index in range(20):
        browser = world.browser(session)
        browser.send(f"POST {HOME}/{index} HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nmilk".encode())
        browser.close()
    world.until(lambda: len(site.seen) == 20)
    assert {seen.body for seen in site.seen} == {b"milk"}


def test_complete_upload_arrives_after_the_browser_disconnects(world: World) -> None:
    go_on = asyncio.Event()
    arrived = bytearray()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await go_on.wait()
        await reader.readuntil(b"\r\n\r\n")
        while data := await reader.read(1 << 20):
            arrived.extend(data)

    def waiting() -> bool:
        return any(transport.get_write_buffer_size() for route in session.routes for transport in route.transports)

    session, site = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(f"POST {HOME}/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    chunk = b"4000\r\n" + bytes(0x4000) + b"\r\n"
    count = 0
    # Until the kernel takes no more and the rest waits in the gateway.
    while not world.call(waiting):
        browser.send(chunk)
        count += 1
    browser.send(b"0\r\n\r\n")
    browser.close()
    world.until(lambda: not session.connections)
    world.call(go_on.set)
    assert site.ended.wait(10)
    world.until(lambda: session.in_flight == 0)
    assert bytes(arrived) == chunk * count + b"0\r\n\r\n"


def test_incomplete_upload_does_not_become_a_request(world: World) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    browser.send(f"POST {HOME}/ HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nmilk".encode())
    world.until(lambda: site.connections == 1)
    browser.close()
    assert site.ended.wait(10)
    assert site.seen == []


def test_sites_can_be_routed_moved_and_unrouted(world: World) -> None:
    session = world.session()
    browser = world.browser(session)
    assert browser.get(f"{HOME}/")[0] == 403
    world.route(session, world.site(lambda _: ok(b"one")).port)
    assert browser.get(f"{HOME}/")[2] == b"one"
    world.route(session, world.site(lambda _: ok(b"two")).port)
    assert browser.get(f"{HOME}/")[2] == b"two"
    world.route(session, world.site(lambda _: ok(b"wiki")).port, "Wikipedia.Test")
    assert browser.get("http://wikipedia.test/")[2] == b"wiki"
    world.call(session.unroute, "HOMEPAGE.test")
    world.call(session.unroute, "unknown.test")
    assert browser.get(f"{HOME}/")[0] == 403
    assert browser.get("http://wikipedia.test/")[2] == b"wiki"


@pytest.mark.parametrize("how", ["unroute", "route elsewhere"])
def test_unrouted_site_loses_its_connections(world: World, how: str) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ok(b"hi"))
        await reader.readuntil(b"\r\n\r\n")
        hanging.set()
        await reader.read()

    hanging = asyncio.Event()
    session, site = world.serve_raw(handler)
    browser = world.browser(session)
    assert browser.get(f"{HOME}/")[0] == 200
    browser.send(f"GET {HOME}/hanging HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    world.until(hanging.is_set)
    if how == "unroute":
        world.call(session.unroute, "homepage.test")
    else:
        world.route(session, world.site().port)
    assert site.ended.wait(10)
    assert browser.response()[0] == 502
    # Unrouted on purpose: no upstream error and no retry.
    assert session.upstream_error == ""
    assert site.connections == 1
    assert browser.get(f"{HOME}/")[0] == (403 if how == "unroute" else 200)


def test_pending_request_does_not_reach_an_unrouted_site(world: World) -> None:
    """A replica that left the session may belong to another trial once the connection is made."""
    session, site = world.serve()

    async def work() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", session.port)
        writer.write(f"POST {HOME}/ HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nmilk".encode())
        while not session.in_flight:
            await asyncio.sleep(0)
        # The exchange has started, its connection has not.
        session.unroute("homepage.test")
        answer = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        return answer

    assert world.run(work()).startswith(b"HTTP/1.1 502")
    assert site.seen == []


def test_connection_is_dropped_when_the_site_ends_mid_upload(world: World) -> None:
    hold = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await uploading.wait()
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nenough")
        writer.write_eof()
        await hold.wait()

    uploading = asyncio.Event()
    session, _ = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(f"PUT {HOME}/ HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n".encode())
    browser.sock.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        while True:
            browser.send(bytes(1_000_000))
    browser.sock.settimeout(10)
    world.call(uploading.set)
    assert browser.response()[::2] == (200, b"enough")
    world.until(lambda: not any(route.transports for route in session.routes))
    world.call(hold.set)


def test_closing_a_session_cuts_all_connections(world: World) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"websocket" in head:
            writer.write(b"HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
        if b"/idle" in head:
            writer.write(ok(b"hi"))
        ended.append((head.split(b" ")[1], await _end_of(reader)))

    ended: list[tuple[bytes, str]] = []
    session, site = world.serve_raw(handler)
    world.browser(session).get(f"{HOME}/idle")
    hanging, uploading, live = (world.browser(session) for _ in range(3))
    hanging.send(f"GET {HOME}/hanging HTTP/1.1\r\nHost: h\r\nCookie: a\r\n\r\n".encode())
    world.until(lambda: site.connections == 1)
    uploading.send(f"POST {HOME}/uploading HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n".encode())
    uploading.send(bytes(1_000_000))
    live.send(f"GET {HOME}/live HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n".encode())
    live.head()
    world.until(lambda: site.connections == 3)
    assert session.in_flight == 3
    world.run(session.close())
    world.until(lambda: len(ended) == site.connections)
    assert session.in_flight == 0
    for browser in (hanging, uploading, live):
        with contextlib.suppress(ConnectionResetError):
            assert browser.rest() == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", session.port))
    # The record outlives the session.
    assert {record.url.rpartition("/")[2]: record.status for record in world.requests(session)} == {
        "idle": 200,
        "hanging": None,
        "uploading": None,
        "live": 101,
    }
    assert session.unsafe
    assert session.unfinished_hosts["homepage.test"] in [  # whichever was cut first
        f"GET {HOME}/hanging was not over",
        f"POST {HOME}/uploading was not over",
    ]
    world.run(session.close())


@pytest.mark.parametrize(
    "response",
    ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "HTTP/1.1 200 OK\r\n\r\nwithout end"],
    ids=["nothing", "half", "endless"],
)
def test_aborted_request_counts_as_unfinished(world: World, response: str) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response.encode())
        await reader.read()

    session, site = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(f"GET {HOME}/report HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    world.until(lambda: site.connections == 1)
    if response:
        browser.head()
    browser.close()
    world.until(lambda: session.in_flight == 0)
    assert session.unfinished_hosts == {"homepage.test": f"GET {HOME}/report was not over"}


def test_request_aborted_before_its_connection_counts_as_unfinished(world: World) -> None:
    session, site = world.serve()
    browsers = [world.browser(session) for _ in range(20)]
    for browser in browsers:
        browser.send(f"GET {HOME}/report HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        browser.close()
    world.until(lambda: len(site.seen) == 20)
    world.until(lambda: session.in_flight == 0)
    assert session.unfinished_hosts == {"homepage.test": f"GET {HOME}/report was not over"}


def test_answered_request_counts_as_finished(world: World) -> None:
    session, _ = world.serve()
    browser = world.browser(session)
    for _ in range(3):
        browser.get(f"{HOME}/")
    world.run(session.close())
    assert session.unfinished_hosts == {}


def test_truncated_response_counts_as_unfinished(world: World) -> None:
    session, _ = world.serve(lambda _: None)
    assert world.browser(session).get(f"{HOME}/report")[0] == 502
    assert session.unfinished_hosts == {"homepage.test": f"GET {HOME}/report was not over"}


def test_request_that_never_reached_the_site_is_not_unfinished(world: World) -> None:
    session = world.session()
    world.route(session, 1)
    assert world.browser(session).get(f"{HOME}/")[0] == 502
    assert world.browser(session).get("http://elsewhere.test/")[0] == 403
    assert session.unfinished_hosts == {}


def test_closing_a_session_drops_pending_requests(world: World) -> None:
    """After a session has closed, its replica may belong to another trial."""
    session, site = world.serve()
    for index in range(30):
        world.browser(session).send(
            f"POST {HOME}/{index} HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nmilk".encode()
        )
    world.run(session.close())
    # One round trip over another session: the site's queue is empty afterwards.
    other = world.session()
    world.route(other, site.port)
    world.browser(other).get(f"{HOME}/")
    count = len(site.seen)
    world.browser(other).get(f"{HOME}/")
    assert len(site.seen) == count + 1


def test_closing_the_gateway_closes_its_sessions(world: World) -> None:
    async def work() -> list[int]:
        gateway = Gateway()
        ports = [(await gateway.open()).port for _ in range(3)]
        await gateway.close()
        return ports

    for port in world.run(work()):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_sessions_do_not_see_each_other(world: World) -> None:
    first, _ = world.serve(lambda _: ok(b"one"))
    second, _ = world.serve(lambda _: ok(b"two"))
    assert world.browser(first).get(f"{HOME}/")[2] == b"one"
    assert world.browser(second).get(f"{HOME}/")[2] == b"two"
    world.call(second.unroute, "homepage.test")
    world.browser(first).get(f"{HOME}/")
    assert (len(world.requests(first)), len(world.requests(second))) == (2, 1)
    world.run(second.close())
    assert world.browser(first).get(f"{HOME}/")[2] == b"one"


async def _end_of(reader: asyncio.StreamReader) -> str:
    try:
        while await reader.read(65536):
            pass
    except ConnectionError:
        return "reset"
    return "end"
