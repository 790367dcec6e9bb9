"""The guard of live sites against hostile hosts: no request reaches a forbidden address."""

from __future__ import annotations

import errno
import gzip
import tracemalloc
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.live.addresses import address_problem, host_problem
from tests.cases import each_case
from tests.unit.gateway.conftest import ok
from tests.unit.live.conftest import CDN, EVIL, PUBLIC, SCRIPT, SHOP, TAB, answering

if TYPE_CHECKING:
    from tests.unit.gateway.conftest import Seen, Site, World
    from tests.unit.live.conftest import Internet


def with_secret(internet: Internet, make: Callable[[], Site]) -> tuple[Site, Site]:
    """Return a public site made by ``make``, and a local site at the same port."""
    for _ in range(20):
        site = make()
        try:
            return site, internet.world.site(port=site.port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:  # the local port is in use
                raise
    raise AssertionError("no port was free at both addresses")


def test_pages_and_their_subresources_are_loaded(internet: Internet) -> None:
    internet.host(SHOP)
    internet.host(CDN)
    session = internet.enter("example.com")
    assert internet.ask(session, internet.url(SHOP, "/tea"), *TAB)[2] == b"/tea"
    assert internet.ask(session, internet.url(CDN, "/app.js"), "Sec-Fetch-Dest: script")[2] == b"/app.js"
    assert [each.obstacle for each in internet.world.requests(session)] == ["", ""]


def test_tabs_are_limited_to_the_tasks_domains(internet: Internet) -> None:
    internet.host(SHOP)
    internet.host(CDN)
    session = internet.enter("example.com")
    status, _, page = internet.ask(session, internet.url(CDN, "/page"), *TAB)
    assert (status, internet.asked(CDN)) == (403, [])
    assert b"not of this task&#x27;s domains (example.com)" in page
    assert (internet.last(session).obstacle, internet.lookups) == ("", [])
    assert internet.ask(session, internet.url(CDN, "/frame"), "Sec-Fetch-Dest: iframe", "Accept: text/html")[0] == 200
    # Plain http has no destination header: requests that accept HTML count as pages.
    assert internet.ask(session, internet.url(CDN, "/page"), "Accept: text/html,*/*")[0] == 403
    named = internet.enter("example.com", CDN)
    assert internet.ask(named, internet.url(CDN, "/page"), *TAB)[0] == 200


def test_requests_of_the_browser_itself_are_refused(internet: Internet) -> None:
    """Full browsers call their vendor's services; those requests must not leave the trial."""
    internet.host(CDN)
    session = internet.enter("example.com")
    fields = ("Sec-Fetch-Site: none", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: empty")
    assert internet.ask(session, internet.url(CDN, "/v1/forms"), *fields)[0] == 403
    assert (internet.last(session).refused, internet.asked(CDN)) == (f"the browser asks {CDN} for no page", [])
    assert internet.ask(session, internet.url(CDN, "/v1/forms"), "Sec-Fetch-Site: cross-site", *fields[1:])[0] == 200


def test_subresource_responses_vary_by_destination(internet: Internet) -> None:
    """Otherwise the browser would show a cached frame document in a tab without a request."""
    internet.host(CDN, lambda _: b"HTTP/1.1 200 OK\r\nVary: Origin\r\nContent-Length: 2\r\n\r\nhi")
    head = internet.ask(internet.enter("example.com"), internet.url(CDN, "/frame"), "Sec-Fetch-Dest: iframe")[1]
    assert "Vary: Origin\r\n" in head
    assert "Vary: Accept, Sec-Fetch-Dest" in head


CLOSED = (
    "127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.9", "192.168.1.1", "169.254.169.254", "100.64.0.1", "198.18.0.1",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%lo", "fd00:ec2::254", "::ffff:127.0.0.1",
    "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2002:c0a8:101::1", "ff02::1",
    "2001:4860::5efe:a9fe:a9fe", "64:ff9b:1::1", "::127.0.0.1", "2001:db8::1", "168.63.129.16", "nonsense", "",
)  # fmt: skip


@each_case("address", CLOSED)
def test_closed_addresses_are_not_public(address: str) -> None:
    assert address_problem(address)


@each_case(
    "address", ["93.184.215.14", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "192.0.1.1"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert address_problem(address) == ""


def test_address_that_only_ipaddress_calls_public_is_closed() -> None:
    import ipaddress

    known = [each for each in CLOSED if "." in each and ":" not in each]
    assert any(ipaddress.ip_address(each).is_global for each in known if each != "nonsense")


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "0", "localhost", "intranet", "[::1]", "127.0.0.1",
     "[::ffff:7f00:1]", "printer.local", "metadata.google.internal", "a.localhost", "169.254.169.254", "[fe80::1]"],
)  # fmt: skip
@pytest.mark.parametrize("port", [80, 443])
def test_invalid_hosts_are_never_looked_up(internet: Internet, host: str, port: int) -> None:
    session = internet.enter("example.com", host.strip("[]"))
    browser = internet.world.browser(session)
    browser.send(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    assert browser.response()[0] == 403
    assert internet.lookups == []
    assert host_problem(host)


@pytest.mark.parametrize("closed", ["127.0.0.1", f"{PUBLIC} 127.0.0.1", "::ffff:127.0.0.1"])
def test_names_of_closed_addresses_are_refused(internet: Internet, closed: str) -> None:
    _, inside = with_secret(internet, lambda: internet.host(EVIL))
    internet.names[EVIL] = [closed]
    session = internet.enter("example.com")
    status, _, page = internet.ask(session, internet.url(EVIL, "/latest/meta-data"), *SCRIPT)
    assert (status, inside.connections, internet.asked(EVIL)) == (403, 0, [])
    assert b"are forbidden" in page
    assert internet.last(session).obstacle == ""


def test_task_site_at_a_closed_address_is_a_site_obstacle(internet: Internet) -> None:
    internet.host(SHOP)
    internet.names[SHOP] = ["10.0.0.7"]
    session = internet.enter("example.com", "127.0.0.1", robots="ignore")
    for url in (internet.url(SHOP), "http://127.0.0.1/"):
        assert internet.ask(session, url, *TAB)[0] == 403
        assert (internet.last(session).obstacle, internet.asked(SHOP)) == ("site", [])


def test_number_of_hosts_of_a_trial_is_limited(internet: Internet) -> None:
    session = internet.enter("example.com")

    def meet(count: int) -> None:
        for number in range(count):
            session.routes.resolve(f"http://h{number}.example.com/")

    internet.world.call(meet, 5000)
    assert "no more can be" in internet.ask(session, "http://one-more.example.com/", *SCRIPT)[2].decode()


def test_compressed_bomb_as_robots_txt_is_bounded(internet: Internet) -> None:
    bomb = gzip.compress(b"#" * (64 << 20))
    site = internet.world.site(
        lambda seen: (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb
            if "robots" in seen.path
            else ok(seen)
        ),
        at=PUBLIC,
    )
    internet.names[SHOP] = [PUBLIC]
    internet.ports.add((SHOP, site.port, False))
    session = internet.enter("example.com")
    tracemalloc.start()
    try:
        assert internet.ask(session, internet.url(SHOP), *TAB)[0] == 200
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_rebound_name_is_refused_on_the_next_connection(internet: Internet, world: World) -> None:
    """DNS rebinding: each connection is checked again, with one lookup for each connection."""

    def closing(seen: Seen) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"

    _, inside = with_secret(internet, lambda: internet.host(EVIL, closing))
    internet.names[EVIL] = [PUBLIC, "127.0.0.1"]
    session = internet.enter("example.com")
    assert internet.ask(session, internet.url(EVIL, "/a"), *SCRIPT)[0] == 200
    assert internet.lookups == [EVIL]
    assert internet.ask(session, internet.url(EVIL, "/b"), *SCRIPT)[0] == 403
    assert (inside.connections, len(internet.asked(EVIL))) == (0, 1)


@pytest.mark.parametrize("target", ["http://127.0.0.1/", "http://169.254.169.254/latest/", "http://localhost:8080/"])
def test_redirects_are_checked_like_any_request(internet: Internet, target: str) -> None:
    internet.host(SHOP, lambda seen: f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())
    session = internet.enter("example.com")
    assert internet.ask(session, internet.url(SHOP, "/go"), "Sec-Fetch-Dest: image")[0] == 302
    assert internet.ask(session, target, "Sec-Fetch-Dest: image")[0] == 403
    assert internet.ask(session, target, *TAB)[0] == 403


@pytest.mark.parametrize("inside_by", ["127.0.0.1", "rebound.example.org"])
def test_robots_txt_redirect_to_a_closed_address_is_not_followed(internet: Internet, inside_by: str) -> None:
    def leads_inside(seen: Seen) -> bytes | None:
        return answering(302, f"Location: {to}")(seen) if "robots" in seen.path else ok(seen)

    site, inside = with_secret(internet, lambda: internet.world.site(leads_inside, at=PUBLIC))
    to = f"http://{inside_by}:{site.port}/robots.txt"
    internet.names = {SHOP: [PUBLIC], "rebound.example.org": ["127.0.0.1"]}
    internet.ports.add((SHOP, site.port, False))
    session = internet.enter("example.com")
    assert internet.ask(session, internet.url(SHOP), *TAB)[0] == 200  # as without a robots.txt
    assert inside.connections == 0


def test_other_ports_are_refused(internet: Internet) -> None:
    site = internet.host(CDN)
    internet.ports.clear()
    session = internet.enter("example.com")
    assert internet.ask(session, f"http://{CDN}:{site.port}/", *SCRIPT)[0] == 403
    assert "is not one of the web's (80, 443)" in internet.last(session).refused
    assert site.connections == 0
