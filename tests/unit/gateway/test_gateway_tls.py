"""https hosts whose TLS is ended at the gateway: what is inside is read, refused and recorded like plain requests."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.gateway.authority import Authority
from tests.unit.gateway.conftest import DEADLINE, Browser
from tests.unit.gateway.test_gateway_tunnels import HANDSHAKE, connect, echo_after_handshake

if TYPE_CHECKING:
    from pytest_webarena.gateway.session import GatewaySession
    from tests.unit.gateway.conftest import Site, World

HOME = "https://homepage.test"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def others() -> Authority:
    """Somebody else's."""
    return Authority()


@pytest.fixture
def served(world: World, authority: Authority) -> tuple[GatewaySession, Site]:
    session, site = world.session(authority=lambda: authority), world.site()
    world.route(session, site.port, port=443, read=True)
    return session, site


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.certificate)


def visit(world: World, session: GatewaySession, authority: Authority, host: str = "homepage.test") -> Browser:
    """A connection that is inside the tunnel, TLS agreed on and the certificate verified."""
    browser = world.browser(session)
    assert connect(browser, f"{host}:443")[0] == 200
    browser.sock.settimeout(DEADLINE)
    browser.sock = trusting(authority).wrap_socket(browser.sock, server_hostname=host)
    return browser


def inside(browser: Browser, path: str, method: str = "GET", body: bytes = b"") -> tuple[int, str, bytes]:
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    browser.send(f"{method} {path} HTTP/1.1\r\nHost: homepage.test\r\n{length}\r\n".encode() + body)
    return browser.response()


def test_requests_inside_are_recorded_like_plain_ones(
    world: World, served: tuple[GatewaySession, Site], authority: Authority
) -> None:
    session, site = served
    browser = visit(world, session, authority)
    assert inside(browser, "/a?b=1")[2] == b"/a?b=1"
    assert session.unsafe == ""
    assert inside(browser, "/notes", "POST", b"text=hello")[2] == b"text=hello"
    assert session.unsafe == f"POST {HOME}/notes"
    tunnel, first, second = world.requests(session)
    assert (tunnel.method, tunnel.url, tunnel.status, tunnel.refused) == ("CONNECT", "homepage.test:443", 200, "")
    assert (first.method, first.url, first.status) == ("GET", f"{HOME}/a?b=1", 200)
    assert (second.url, second.request_body) == (f"{HOME}/notes", "text=hello")
    assert [seen.line for seen in site.seen] == ["GET /a?b=1 HTTP/1.1", "POST /notes HTTP/1.1"]
    assert "Host: homepage.test" in site.seen[0].head


def test_large_bodies_come_whole(world: World, served: tuple[GatewaySession, Site], authority: Authority) -> None:
    session, _ = served
    browser = visit(world, session, authority)
    data = bytes(range(256)) * 8192
    assert inside(browser, "/up", "POST", data)[2] == data


def test_websockets_inside(world: World, authority: Authority) -> None:
    session, site = world.session(authority=lambda: authority), world.raw_site(echo_after_handshake)
    world.route(session, site.port, port=443, read=True)
    browser = visit(world, session, authority)
    browser.send("\r\n".join(["GET /live HTTP/1.1", "Host: homepage.test", *HANDSHAKE, "", ""]).encode())
    assert browser.head().startswith("HTTP/1.1 101")
    browser.send(b"\x81\x05hello")
    assert browser.exactly(7) == b"\x81\x05hello"
    assert session.unsafe == f"WebSocket {HOME}/live"
    assert world.requests(session)[-1].url == f"{HOME}/live"


def test_whoever_does_not_trust_the_authority_gets_nothing(
    world: World, served: tuple[GatewaySession, Site], others: Authority
) -> None:
    session, site = served
    with pytest.raises(ssl.SSLCertVerificationError):
        visit(world, session, others)
    world.until(lambda: not session.in_flight)
    assert "no TLS came about with the browser" in world.requests(session)[0].refused
    assert site.seen == []


def test_certificates_are_for_the_one_host(authority: Authority) -> None:
    def greet(host: str, name: str) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = trusting(authority).wrap_bio(incoming, outgoing, server_hostname=name)
        server = authority.context(host).wrap_bio(outgoing, incoming, server_side=True)
        for _ in range(3):
            for side in (client, server):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue

    long = "a" * 60 + ".homepage.test"
    for good in ("homepage.test", "127.0.0.1", "::1", long):
        greet(good, good)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        greet("homepage.test", "shop.test")


@pytest.mark.parametrize("ahead", [b"", b"GET / HTTP/1.1\r\n\r\n"])
def test_a_handshake_that_does_not_come_about_holds_nobody(
    world: World, served: tuple[GatewaySession, Site], ahead: bytes
) -> None:
    session, _ = served
    browser = world.browser(session)
    if ahead:
        browser.send(b"CONNECT homepage.test:443 HTTP/1.1\r\nHost: homepage.test:443\r\n\r\n" + ahead)
        assert browser.response()[0] == 400
    else:
        assert connect(browser, "homepage.test:443")[0] == 200
    world.run(session.close())
    assert session.in_flight == 0


def test_plain_http_for_an_https_host_is_told_so(world: World, served: tuple[GatewaySession, Site]) -> None:
    session, _ = served
    assert world.browser(session).get("http://homepage.test:443/")[0] == 403
    assert "is served by https only" in world.requests(session)[0].refused


def test_the_harness_may_ask_without_tls(world: World, served: tuple[GatewaySession, Site]) -> None:
    session, _ = served
    assert world.browser(session).get(f"{HOME}/api")[2] == b"/api"
    assert world.requests(session)[0].url == f"{HOME}/api"


def test_read_only_sites_stay_so(world: World, authority: Authority) -> None:
    session, site = world.session(authority=lambda: authority), world.site()
    world.route(session, site.port, port=443, read=True, reads=())
    assert inside(visit(world, session, authority), "/", "DELETE")[0] == 403
    assert site.seen == []
    assert "can't be changed" in world.call(session.own_answer, f"{HOME}/")


@pytest.fixture
def elsewhere(world: World, others: Authority) -> Iterator[tuple[GatewaySession, int]]:
    """A session, and the port of a site that speaks TLS itself, with a certificate of another authority."""
    session = world.session()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere")
        writer.close()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(answer, "127.0.0.1", 0, ssl=others.context("homepage.test"))

    server = world.run(start())
    yield session, server.sockets[0].getsockname()[1]
    world.run(session.close())
    world.call(server.close)


def test_the_way_out_verifies_certificates(world: World, elsewhere: tuple[GatewaySession, int]) -> None:
    session, port = elsewhere
    world.route(session, port, port=443, read=True, secure=ssl.create_default_context())
    status, _, page = world.browser(session).get(f"{HOME}/")
    assert status == 502
    assert b"its certificate is not valid" in page
    assert "its certificate is not valid" in session.upstream_error


def test_the_way_out_to_a_site_with_a_good_certificate(
    world: World, elsewhere: tuple[GatewaySession, int], others: Authority
) -> None:
    session, port = elsewhere
    world.route(session, port, port=443, read=True, secure=trusting(others))
    browser = world.browser(session)
    assert [browser.get(f"{HOME}/{n}")[2] for n in range(3)] == [b"there"] * 3
    world.route(session, port, "other.test", port=443, read=True, secure=trusting(others))
    assert b"Hostname mismatch" in world.browser(session).get("https://other.test/")[2]


def test_what_is_passed_on_stays_unread(world: World, elsewhere: tuple[GatewaySession, int], others: Authority) -> None:
    session, port = elsewhere
    world.route(session, port, port=443, secure=ssl.create_default_context())
    assert inside(visit(world, session, others), "/secret")[2] == b"there"
    assert [request.method for request in world.requests(session)] == ["CONNECT"]
    assert session.unsafe == "CONNECT homepage.test:443"
