"""Hosted sites: browsers see a name, the site its own address; absolute links lead to the name."""

from __future__ import annotations

import pytest

from pytest_webarena.gateway.session import GatewaySession
from tests.cases import each_case
from tests.unit.gateway.conftest import Seen, Site, World

NAME = "http://shop.test"


def hosted(world: World, *lines: str) -> tuple[GatewaySession, Site, str]:
    """A site called ``NAME`` that responds with ``lines``, in which OWN is its own address; and that address."""
    own = ""

    def answer(seen: Seen) -> bytes:
        fields = "".join(line.replace("OWN", own).replace("HOST", own[7:]) + "\r\n" for line in lines)
        return f"HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n".encode()

    session, site = world.session(), world.site(answer)
    own = f"http://127.0.0.1:{site.port}"
    world.route(session, site.port, "shop.test", address=own)
    return session, site, own


def test_site_sees_its_own_address(world: World) -> None:
    session, site, own = hosted(world)
    world.browser(session).get(
        f"{NAME}/cart?a=1", f"Origin: {NAME}", f"Referer: {NAME}/shelf", "X-Other: http://shop.test"
    )
    (seen,) = site.seen
    assert seen.path == "/cart?a=1"
    assert seen.fields == [
        f"Host: {own[7:]}", f"Origin: {own}", f"Referer: {own}/shelf", "X-Other: http://shop.test",
    ]  # fmt: skip


@each_case(
    "line, expected",
    [
        ("Location: OWN/login?next=%2F", "Location: http://shop.test/login?next=%2F"),
        ("Location: //HOST/login", "Location: http://shop.test/login"),
        ("Location: OWN", "Location: http://shop.test"),
        ("Location: /login", "Location: /login"),
        ("Location: http://127.0.0.1:1/login", "Location: http://127.0.0.1:1/login"),
        ("Refresh: 0; url=OWN/next", "Refresh: 0; url=http://shop.test/next"),
        ("Access-Control-Allow-Origin: OWN", "Access-Control-Allow-Origin: http://shop.test"),
        ("Access-Control-Allow-Origin: *", "Access-Control-Allow-Origin: *"),
        ("Set-Cookie: id=1; Domain=127.0.0.1; Path=/", "Set-Cookie: id=1; Domain=shop.test; Path=/"),
        ("Set-Cookie: id=Domain=127.0.0.1; Path=/", "Set-Cookie: id=Domain=127.0.0.1; Path=/"),
        ("Set-Cookie: id=1; domain=other.example", "Set-Cookie: id=1; domain=other.example"),
        ("Set-Cookie: __Host-id=1; Secure; Path=/", "Set-Cookie: __Host-id=1; Secure; Path=/"),
        ("Set-Cookie: secure; Secure; Path=/; SameSite=None", "Set-Cookie: secure; Path=/"),
        ("Set-Cookie: id=1; Path=/; SameSite=Lax", "Set-Cookie: id=1; Path=/; SameSite=Lax"),
        (
            "Content-Security-Policy: default-src 'self'; img-src HOST data:",
            "Content-Security-Policy: default-src 'self' OWN ws://HOST; img-src HOST data: http://shop.test",
        ),
        (
            "Content-Security-Policy: connect-src ws://HOST",
            "Content-Security-Policy: connect-src ws://HOST ws://shop.test",
        ),
        ("Content-Security-Policy: script-src 'none'", "Content-Security-Policy: script-src 'none'"),
        ("X-Home: OWN", "X-Home: OWN"),
    ],
)
def test_responses_name_the_site(world: World, line: str, expected: str) -> None:
    session, _, own = hosted(world, line)
    _, head, _ = world.browser(session).get(f"{NAME}/")
    (record,) = world.requests(session)
    (field,) = [each for each in head.split("\r\n")[1:] if not each.startswith("Content-Length")]
    assert dict(record.response_headers)[field.partition(":")[0]] == field.partition(": ")[2]
    assert field.replace(own, "OWN").replace(own[7:], "HOST") == expected


@pytest.mark.parametrize("body", ["", "a=1"])
def test_own_address_redirects_to_name_with_method_and_body(world: World, body: str) -> None:
    session, site, own = hosted(world)
    browser, method = world.browser(session), "POST" if body else "GET"
    browser.send(f"{method} {own}/buy?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    status, head, _ = browser.response()
    assert status == 307
    assert f"Location: {NAME}/buy?x=1" in head
    assert not site.seen
    assert not world.call(lambda: session.unsafe_hosts)
    assert not world.requests(session)


@pytest.mark.parametrize("max_entries", [20, 0])
def test_request_at_own_address_counts_once(world: World, max_entries: int) -> None:
    declared = {"http://own:7770": NAME}
    session, site = world.session(own_addresses=declared, max_entries=max_entries), world.site()
    world.route(session, site.port, "shop.test", address="http://own:7770")
    asks = "Origin: {}\r\nAccess-Control-Request-Method: POST\r\nContent-Length: 0\r\n\r\n"
    for at, origin in (("http://own:7770", NAME), (NAME, "null")):
        for method in ("OPTIONS", "POST"):
            browser = world.browser(session)
            browser.send(f"{method} {at}/items HTTP/1.1\r\nHost: h\r\n{asks.format(origin)}".encode())
            browser.response(body=method == "POST")
    assert [(seen.method, seen.path) for seen in site.seen] == [("POST", "/items")]
    counted = [(each.method, each.url, 1) for each in world.requests(session)]
    counted += [(each.method, each.url, each.count) for each in world.call(session.unrecorded)]
    assert counted == [("POST", f"{NAME}/items", 1)]
    assert world.totals(session).requests == 4


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_redirected_form_keeps_its_origin(world: World, method: str) -> None:
    session, site, own = hosted(world)
    for url, origin in ((f"{own}/buy", NAME), (f"{NAME}/buy", "null"), (f"{NAME}/other", "null")):
        browser = world.browser(session)
        fields = f"Host: h\r\nOrigin: {origin}\r\nCookie: id=1\r\nAccept: text/html,*/*\r\n"
        fields += "Upgrade-Insecure-Requests: 1\r\n"
        browser.send(f"{method} {url} HTTP/1.1\r\n{fields}\r\n".encode())
        browser.response()
    assert [seen.fields[1] for seen in site.seen] == [f"Origin: {own}", "Origin: null"]
    assert not world.call(lambda: session.upstream_error)


@pytest.mark.parametrize(("cookie", "fault"), [("Cookie: id=1", True), ("X: y", False)])
@pytest.mark.parametrize("kind", ["application/json", "font/woff2"])
def test_script_that_lacks_cookies_at_own_address_is_a_fault(world: World, cookie: str, fault: bool, kind: str) -> None:
    session, _, own = hosted(world, f"Content-Type: {kind}")
    browser = world.browser(session)
    browser.get(f"{NAME}/", cookie)
    for at, origin in ((own, NAME), (NAME, "null")):  # as browsers do for a script's request with a field of its own
        asks = f"OPTIONS {at}/me HTTP/1.1\r\nHost: h\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: GET\r\n\r\n"
        if at == NAME:
            browser.send(asks.encode())
            assert browser.response(body=False)[0] == 204
        _, head, _ = browser.get(f"{at}/me", f"Origin: {origin}")
        assert f"Access-Control-Allow-Origin: {origin}" in head
    error = world.call(lambda: session.own_address_fault)
    assert ("keep_address: true" in error) == (fault and kind == "application/json")


def test_two_names_of_one_address_are_told_apart_by_path(world: World) -> None:
    session, site = world.session(), world.site()
    own = f"http://127.0.0.1:{site.port}"
    world.route(session, site.port, "wiki.test", address=f"{own}/wiki")
    world.route(session, site.port, "home.test", address=own)
    for path, name in (("/wiki/a", "wiki.test"), ("/wiki", "wiki.test"), ("/wikis", "home.test"), ("/", "home.test")):
        assert f"Location: http://{name}{path}" in world.browser(session).get(own + path)[1]


def test_replaced_site_takes_its_own_address_along(world: World) -> None:
    session, site, own = hosted(world)
    other = world.site()
    world.route(session, other.port, "shop.test", address=f"http://127.0.0.1:{other.port}")
    assert world.browser(session).get(f"{own}/")[0] == 403
    assert world.browser(session).get(f"http://127.0.0.1:{other.port}/")[0] == 307
    world.call(session.unroute, "shop.test")
    assert world.browser(session).get(f"http://127.0.0.1:{other.port}/")[0] == 403
    assert not site.seen


def test_addresses_of_all_instances_lead_to_the_leased_one(world: World) -> None:
    declared = {"http://one:7770": NAME, "http://two:7770": NAME, "http://one:8023": "http://git.test"}
    session, site = world.session(own_addresses=declared), world.site()
    world.route(session, site.port, "shop.test", address="http://one:7770")
    browser = world.browser(session)
    for own in ("http://one:7770", "http://two:7770"):
        status, head, _ = browser.get(f"{own}/a?to={own}")
        assert (status, f"Location: {NAME}/a?to={own}\r" in head) == (307, True)
    assert [browser.get(f"http://{other}/")[0] for other in ("one:8023", "two:77701", "two")] == [403, 403, 403]
    browser.get(f"{NAME}/a", "Origin: http://shop.test")
    assert [seen.fields for seen in site.seen] == [["Host: one:7770", "Origin: http://one:7770"]]


def test_site_leased_on_first_visit_gets_its_address_then(world: World) -> None:
    session, site = world.session(), world.site()
    own = f"http://127.0.0.1:{site.port}"

    async def arrive() -> tuple[str, int]:
        session.settle("shop.test", own)
        return "127.0.0.1", site.port

    world.route(session, 0, "shop.test", address="", arrival=arrive)
    assert world.browser(session).get(f"{own}/")[0] == 403
    world.browser(session).get(f"{NAME}/a")
    assert site.seen[0].fields == [f"Host: {own[7:]}"]
    assert world.browser(session).get(f"{own}/")[0] == 307


def test_websocket_at_own_address_is_forwarded(world: World) -> None:
    lines = "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    session = world.session()
    site = world.site(lambda seen: lines.encode())
    own = f"http://127.0.0.1:{site.port}"
    world.route(session, site.port, "shop.test", address=own)
    browser = world.browser(session)
    browser.send(f"CONNECT {own[7:]} HTTP/1.1\r\nHost: {own[7:]}\r\n\r\n".encode())
    browser.head()
    ask = (
        f"GET /live HTTP/1.1\r\nHost: {own[7:]}\r\nOrigin: {NAME}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    )
    browser.send(ask.encode())
    assert browser.head().startswith("HTTP/1.1 101")
    assert f"Origin: {own}" in site.seen[0].fields
    assert "shop.test" in world.call(lambda: session.unsafe_hosts)
