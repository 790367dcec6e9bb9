"""TLS termination at the gateway: requests inside are read, refused and recorded like plain ones."""

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
def untrusted_authority() -> Authority:
    """An authority that the browser does not trust."""
    return Authority()


@pytest.fixture
def served(world: World, authority: Authority) -> tuple[GatewaySession, Site]:
    session, site = world.session(authority=lambda: authority), world.site()
    world.route(session, site.port, port=443, read=True)
    return session, site


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.certificate)


def visit(world: World, session: GatewaySession, authority: Authority, host: str = "homepage.test") -> Browser:
    """Return a connection through a tunnel, with TLS and a verified certificate."""
    browser = world.browser(session)
    assert connect(browser, f"{host}:443")[0] == 200
    browser.sock.settimeout(DEADLINE)
    browser.sock = trusting(authority).wrap_socket(browser.sock, server_hostname=host)
    return browser


def request_inside(browser: Browser, path: str, method: str = "GET", body: bytes = b"") -> tuple[int, str, bytes]:
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    browser.send(f"{method} {path} HTTP/1.1\r\nHost: homepage.test\r\n{length}\r\n".encode() + body)
    return browser.response()


def test_requests_inside_tls_are_recorded_like_plain_ones(
    world: World, served: tuple[GatewaySession, Site], authority: Authority
) -> None:
    session, site = served
    browser = visit(world, session, authority)
    assert request_inside(browser, "/a?b=1")[2] == b"/a?b=1"
    assert session.unsafe == ""
    assert request_inside(browser, "/notes", "POST", b"text=hello")[2] == b"text=hello"
    assert session.unsafe == f"POST {HOME}/notes"
    tunnel, first, second = world.requests(session)
    assert (tunnel.method, tunnel.url, tunnel.status, tunnel.refused) == ("CONNECT", "homepage.test:443", 200, "")
    assert (first.method, first.url, first.status) == ("GET", f"{HOME}/a?b=1", 200)
    assert (second.url, second.request_body) == (f"{HOME}/notes", "text=hello")
    assert [seen.line for seen in site.seen] == ["GET /a?b=1 HTTP/1.1", "POST /notes HTTP/1.1"]
    assert "Host: homepage.test" in site.seen[0].head


def test_large_body_inside_tls_is_relayed_whole(
    world: World, served: tuple[GatewaySession, Site], authority: Authority
) -> None:
    session, _ = served
    browser = visit(world, session, authority)
    data = bytes(range(256)) * 8192
    assert request_inside(browser, "/up", "POST", data)[2] == data


def test_websocket_inside_tls_is_relayed(world: World, authority: Authority) -> None:
    session, site = world.session(authority=lambda: authority), world.raw_site(echo_after_handshake)
    world.route(session, site.port, port=443, read=True)
    browser = visit(world, session, authority)
    browser.send("\r\n".join(["GET /live HTTP/1.1", "Host: homepage.test", *HANDSHAKE, "", ""]).encode())
    assert browser.head().startswith("HTTP/1.1 101")
    browser.send(b"\x81\x05hello")
    assert browser.exactly(7) == b"\x81\x05hello"
    assert session.unsafe == f"WebSocket {HOME}/live"
    assert world.requests(session)[-1].url == f"{HOME}/live"


def test_browser_that_does_not_trust_the_authority_is_refused(
    world: World, served: tuple[GatewaySession, Site], untrusted_authority: Authority
) -> None:
    session, site = served
    with pytest.raises(ssl.SSLCertVerificationError):
        visit(world, session, untrusted_authority)
    world.until(lambda: not session.in_flight)
    assert "no TLS came about with the browser" in world.requests(session)[0].refused
    assert site.seen == []


def test_certificate_is_valid_for_its_host_only(authority: Authority) -> None:
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
def test_failed_handshake_does_not_block_the_session(
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


def test_plain_http_request_to_an_https_host_is_refused(world: World, served: tuple[GatewaySession, Site]) -> None:
    session, _ = served
    assert world.browser(session).get("http://homepage.test:443/")[0] == 403
    assert "is served by https only" in world.requests(session)[0].refused


def test_harness_may_request_https_urls_without_tls(world: World, served: tuple[GatewaySession, Site]) -> None:
    session, _ = served
    assert world.browser(session).get(f"{HOME}/api")[2] == b"/api"
    assert world.requests(session)[0].url == f"{HOME}/api"


def test_read_only_site_refuses_writes_inside_tls(world: World, authority: Authority) -> None:
    session, site = world.session(authority=lambda: authority), world.site()
    world.route(session, site.port, port=443, read=True, reads=())
    assert request_inside(visit(world, session, authority), "/", "DELETE")[0] == 403
    assert site.seen == []
    assert "can't be changed" in world.call(session.own_answer, f"{HOME}/")


@pytest.fixture
def tls_site(world: World, untrusted_authority: Authority) -> Iterator[tuple[GatewaySession, int]]:
    """A session, and the port of a TLS site with a certificate of another authority."""
    session = world.session()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere")
        writer.close()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(answer, "127.0.0.1", 0, ssl=untrusted_authority.context("homepage.test"))

    server = world.run(start())
    yield session, server.sockets[0].getsockname()[1]
    world.run(session.close())
    world.call(server.close)


def test_upstream_certificate_is_verified(world: World, tls_site: tuple[GatewaySession, int]) -> None:
    session, port = tls_site
    world.route(session, port, port=443, read=True, secure=ssl.create_default_context())
    status, _, page = world.browser(session).get(f"{HOME}/")
    assert status == 502
    assert b"its certificate is not valid" in page
    assert "its certificate is not valid" in session.upstream_error


def test_upstream_site_with_a_valid_certificate_is_reached(
    world: World, tls_site: tuple[GatewaySession, int], untrusted_authority: Authority
) -> None:
    session, port = tls_site
    world.route(session, port, port=443, read=True, secure=trusting(untrusted_authority))
    browser = world.browser(session)
    assert [browser.get(f"{HOME}/{n}")[2] for n in range(3)] == [b"there"] * 3
    world.route(session, port, "other.test", port=443, read=True, secure=trusting(untrusted_authority))
    assert b"Hostname mismatch" in world.browser(session).get("https://other.test/")[2]


def test_tunnel_without_termination_is_not_read(
    world: World, tls_site: tuple[GatewaySession, int], untrusted_authority: Authority
) -> None:
    session, port = tls_site
    world.route(session, port, port=443, secure=ssl.create_default_context())
    assert request_inside(visit(world, session, untrusted_authority), "/secret")[2] == b"there"
    assert [request.method for request in world.requests(session)] == ["CONNECT"]
    assert session.unsafe == "CONNECT homepage.test:443"


def test_hosted_https_site_is_verified_by_its_own_address(
    world: World, tls_site: tuple[GatewaySession, int], untrusted_authority: Authority
) -> None:
    session, port = tls_site
    own, secure = f"https://homepage.test:{port}", trusting(untrusted_authority)
    world.route(session, port, "shop.test", port=443, read=True, secure=secure, address=own)
    assert world.browser(session).get("https://shop.test/a")[2] == b"there"
    assert "Location: https://shop.test/a?b" in world.browser(session).get(f"{own}/a?b")[1]
    browser = world.browser(session)
    assert connect(browser, f"homepage.test:{port}")[0] == 200
    world.route(session, port, "shop.test", port=443, read=True, secure=secure, address="https://other.test")
    assert b"Hostname mismatch" in world.browser(session).get("https://shop.test/a")[2]
