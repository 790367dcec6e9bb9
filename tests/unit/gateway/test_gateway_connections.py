"""Connections to a site: shared, stale, refused, cut and hanging."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import struct
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.gateway.conftest import Seen, World

HOME = "http://homepage.test"


def ok(content: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)


def test_connections_are_shared_within_a_session(world: World) -> None:
    session, site = world.serve()
    for _ in range(3):
        browser = world.browser(session)
        for _ in range(3):
            assert browser.get(f"{HOME}/")[0] == 200
    assert site.connections == 1
    other = world.session()
    world.route(other, site.port)
    assert world.browser(other).get(f"{HOME}/")[0] == 200
    assert site.connections == 2


def test_connection_closed_by_the_site_is_not_reused(world: World) -> None:
    session, site = world.serve(lambda _: b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi")
    browser = world.browser(session)
    assert [browser.get(f"{HOME}/")[2] for _ in range(3)] == [b"hi"] * 3
    assert site.connections == 3
    assert session.upstream_error == ""


def test_idle_connection_closed_by_the_site_is_forgotten(world: World) -> None:
    close = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ok(b"hi"))
        await close.wait()

    session, site = world.serve_raw(handler)
    browser = world.browser(session)
    assert browser.get(f"{HOME}/")[0] == 200
    world.call(close.set)
    assert site.ended.wait(10)
    assert browser.get(f"{HOME}/")[0] == 200
    assert (site.connections, session.upstream_error) == (2, "")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE", "PUT"])
def test_idempotent_request_on_a_stale_connection_is_sent_again(world: World, method: str) -> None:
    used: list[int] = []

    def answer(seen: Seen) -> bytes | None:
        used.append(seen.connection)
        return ok(b"" if seen.method == "HEAD" else b"hi") if used.count(seen.connection) == 1 else None

    session, _ = world.serve(answer)
    browser = world.browser(session)
    assert browser.get(f"{HOME}/")[0] == 200
    browser.send(f"{method} {HOME}/ HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    assert browser.response(body=method != "HEAD")[0] == 200
    assert used == [1, 1, 2]
    assert session.upstream_error == ""
    assert [record.status for record in world.requests(session)] == [200, 200]


def test_idempotent_request_is_retried_only_once(world: World) -> None:
    seen: list[str] = []

    def answer(request: Seen) -> bytes | None:
        seen.append(request.path)
        return ok(b"hi") if request.path == "/first" else None

    session, _ = world.serve(answer)
    browser = world.browser(session)
    assert browser.get(f"{HOME}/first")[0] == 200
    assert browser.get(f"{HOME}/second")[0] == 502
    assert seen == ["/first", "/second", "/second"]
    assert "without an answer" in session.upstream_error


def test_request_is_not_retried_once_the_response_began(world: World) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ok(b"hi"))
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-")

    session, site = world.serve_raw(handler)
    browser = world.browser(session)
    assert browser.get(f"{HOME}/first")[0] == 200
    assert browser.get(f"{HOME}/second")[0] == 502
    assert site.connections == 1


@pytest.mark.parametrize(("method", "body"), [("POST", "x"), ("POST", ""), ("PATCH", "x"), ("PUT", "x"), ("GET", "x")])
def test_non_idempotent_request_uses_a_new_connection(world: World, method: str, body: str) -> None:
    used: list[int] = []

    def answer(seen: Seen) -> bytes | None:
        used.append(seen.connection)
        return ok(b"hi") if used.count(seen.connection) == 1 else None

    session, site = world.serve(answer)
    browser = world.browser(session)
    assert browser.get(f"{HOME}/")[0] == 200
    browser.send(f"{method} {HOME}/ HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    assert browser.response()[0] == 200
    assert used == [1, 2] if body or method == "POST" else [1, 1, 2]
    assert [seen.method for seen in site.seen] == ["GET", method]


def test_restarting_site_is_waited_for(world: World) -> None:
    session = world.session()
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        world.route(session, sock.getsockname()[1])
        browser = world.browser(session)
        browser.send(f"GET {HOME}/ HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        while not world.requests(session):  # it has been refused at least once, or will be
            pass
        sock.settimeout(10)  # for the accept, if no second request arrives
        sock.listen()
        with sock.accept()[0] as connection:
            assert connection.recv(65536).startswith(b"GET / ")
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nback")
            assert browser.response()[2] == b"back"
    assert session.upstream_error == ""


def test_dead_site_answers_502_and_is_an_upstream_error(world: World) -> None:
    session = world.session()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: the port is reserved and refuses connections
        port = unused.getsockname()[1]
        world.route(session, port)
        browser = world.browser(session)
        status, head, body = browser.get(f"{HOME}/notes")
    assert status == 502
    assert "Server: pytest-webarena-gateway" in head
    assert "<h1>homepage.test does not work</h1>" in body.decode()
    assert f"127.0.0.1:{port}" in body.decode()
    assert session.upstream_error.startswith(f"homepage.test (served by 127.0.0.1:{port}): no connection: ")
    record = world.requests(session)[0]
    assert (record.status, record.refused) == (502, "")
    # The page is an answer like any other; the connection lives.
    assert browser.get("http://foreign.test/")[0] == 403


def test_dead_site_refuses_an_upload_too(world: World) -> None:
    session = world.session()
    world.route(session, 1)
    browser = world.browser(session)
    size = 4 * 1024 * 1024
    browser.send(f"POST {HOME}/ HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n".encode())
    browser.send(bytes(size))
    assert browser.response()[0] == 502
    assert browser.closed()


def test_site_that_accepts_no_connections_times_out(world: World) -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        # Fill its queue: from now on attempts hang.
        while True:
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
            if not select.select([], [client], [], 0.05)[1]:
                break
        session = world.session(connect_timeout=2.0)
        world.route(session, listener.getsockname()[1])
        browser = world.browser(session)
        total = 64 * 1024 * 1024
        browser.send(f"PUT {HOME}/ HTTP/1.1\r\nHost: h\r\nContent-Length: {total}\r\n\r\n".encode())
        browser.sock.settimeout(0.2)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < total:
                sent += browser.sock.send(bytes(1 << 20))
        # It waits in the browser, not in the gateway's memory.
        assert sent < total / 2
        browser.sock.settimeout(10)
        status, _, body = browser.response()
    assert status == 502
    assert "no connection within 2 s" in body.decode()


@pytest.mark.parametrize("partial", [b"", b"HTTP/1.1 200 OK\r\nContent-"])
def test_site_that_dies_before_its_response_answers_502(world: World, partial: bytes) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(partial)

    session, _ = world.serve_raw(handler)
    assert world.browser(session).get(f"{HOME}/")[0] == 502
    assert "without an answer" in session.upstream_error


@pytest.mark.parametrize("framing", ["Content-Length: 100", "Transfer-Encoding: chunked", "X-Open: until the end"])
def test_response_cut_by_a_dying_site_is_not_complete(world: World, framing: str) -> None:
    die = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n4\r\nhalf".encode())
        await die.wait()
        # As a killed process does: with a reset, not with an orderly end.
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    session, _ = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(f"GET {HOME}/ HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    browser.head()
    assert browser.exactly(7) == b"4\r\nhalf"
    world.call(die.set)
    if framing.startswith("X-Open"):
        with pytest.raises(ConnectionResetError):
            browser.rest()
    else:
        assert browser.closed()
    assert "in the middle of the response" in session.upstream_error
    world.until(lambda: session.in_flight == 0)
    assert world.requests(session)[0].status == 200


def test_hanging_site_is_waited_for_unless_a_deadline_is_set(world: World) -> None:
    go_on = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await go_on.wait()
        writer.write(ok(b"late"))
        await reader.read()

    patient, site = world.serve_raw(handler)
    hasty = world.session(response_timeout=0.05)
    world.route(hasty, site.port)
    waiting = world.browser(patient)
    waiting.send(f"GET {HOME}/ HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    status, _, body = world.browser(hasty).get(f"{HOME}/")
    assert status == 504
    assert "no answer within 0.05 s" in body.decode()
    world.call(go_on.set)
    assert waiting.response()[2] == b"late"


def test_response_timeout_covers_the_head_only(world: World) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
        await asyncio.sleep(3.5)
        writer.write(b"slow")

    session, _ = world.serve_raw(handler, response_timeout=3.0)  # a busy machine takes less for a head
    assert world.browser(session).get(f"{HOME}/")[2] == b"slow"
