"""The guard of live sites, against hosts that mean ill: nothing arrives where nothing may."""

from __future__ import annotations

import asyncio
import errno
import gzip
import json
import socket
import tracemalloc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from pytest_webarena.live.addresses import why_no_host, why_not_public
from tests.processes import wait_until
from tests.unit.gateway.conftest import ok
from tests.unit.live.conftest import PUBLIC, SCRIPT, TAB

if TYPE_CHECKING:
    from pytest_webarena.gateway.log_entry import Entry
    from tests.unit.gateway.conftest import Seen, Site, World
    from tests.unit.live.conftest import Played

SHOP, CDN, EVIL = "shop.example.com", "cdn.example.net", "evil.example.org"


def with_secret(played: Played, make: Callable[[], Site]) -> tuple[Site, Site]:
    """A site of the Internet that ``make`` makes, and something on this machine at the very port of it."""
    for _ in range(20):
        site = make()
        try:
            return site, played.world.site(port=site.port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:  # somebody on this machine has that port
                raise
    raise AssertionError("no port was free at both addresses")


def test_pages_and_what_they_load(played: Played) -> None:
    played.host(SHOP)
    played.host(CDN)
    session = played.enter("example.com")
    assert played.ask(session, played.url(SHOP, "/tea"), *TAB)[2] == b"/tea"
    assert played.ask(session, played.url(CDN, "/app.js"), "Sec-Fetch-Dest: script")[2] == b"/app.js"
    assert [each.obstacle for each in played.world.requests(session)] == ["", ""]


def test_tabs_stay_on_the_domains(played: Played) -> None:
    played.host(SHOP)
    played.host(CDN)
    session = played.enter("example.com")
    status, _, page = played.ask(session, played.url(CDN, "/page"), *TAB)
    assert (status, played.asked(CDN)) == (403, [])
    assert b"not of this task&#x27;s domains (example.com)" in page
    assert (played.last(session).obstacle, played.lookups) == ("", [])
    assert played.ask(session, played.url(CDN, "/frame"), "Sec-Fetch-Dest: iframe", "Accept: text/html")[0] == 200
    # Plain http tells no destination: whatever takes a page is taken for one.
    assert played.ask(session, played.url(CDN, "/page"), "Accept: text/html,*/*")[0] == 403
    named = played.enter("example.com", CDN)
    assert played.ask(named, played.url(CDN, "/page"), *TAB)[0] == 200


def test_a_browser_calls_nobody_for_itself(played: Played) -> None:
    """Full browsers have services of their maker's; one that an agent drives has no other way out than the trial's."""
    played.host(CDN)
    session = played.enter("example.com")
    fields = ("Sec-Fetch-Site: none", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: empty")
    assert played.ask(session, played.url(CDN, "/v1/forms"), *fields)[0] == 403
    assert (played.last(session).refused, played.asked(CDN)) == (f"the browser asks {CDN} by itself, for no page", [])
    assert played.ask(session, played.url(CDN, "/v1/forms"), "Sec-Fetch-Site: cross-site", *fields[1:])[0] == 200


def test_what_a_page_has_loaded_is_kept_for_that_alone(played: Played) -> None:
    """A browser would show a frame's document in a tab without asking anybody."""
    played.host(CDN, lambda _: b"HTTP/1.1 200 OK\r\nVary: Origin\r\nContent-Length: 2\r\n\r\nhi")
    head = played.ask(played.enter("example.com"), played.url(CDN, "/frame"), "Sec-Fetch-Dest: iframe")[1]
    assert "Vary: Origin\r\n" in head
    assert "Vary: Accept, Sec-Fetch-Dest" in head


CLOSED = (
    "127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.9", "192.168.1.1", "169.254.169.254", "100.64.0.1", "198.18.0.1",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%lo", "fd00:ec2::254", "::ffff:127.0.0.1",
    "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2002:c0a8:101::1", "ff02::1",
    "2001:4860::5efe:a9fe:a9fe", "64:ff9b:1::1", "::127.0.0.1", "2001:db8::1", "168.63.129.16", "nonsense", "",
)  # fmt: skip


@pytest.mark.parametrize("address", CLOSED)
def test_closed_addresses(address: str) -> None:
    assert why_not_public(address)


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "192.0.1.1"]
)
def test_public_addresses(address: str) -> None:
    assert why_not_public(address) == ""


def test_an_address_that_only_python_calls_public_is_closed() -> None:
    import ipaddress

    known = [each for each in CLOSED if "." in each and ":" not in each]
    assert any(ipaddress.ip_address(each).is_global for each in known if each != "nonsense")


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "0", "localhost", "intranet", "[::1]", "127.0.0.1",
     "[::ffff:7f00:1]", "printer.local", "metadata.google.internal", "a.localhost", "169.254.169.254", "[fe80::1]"],
)  # fmt: skip
@pytest.mark.parametrize("port", [80, 443])
def test_hosts_that_are_none_are_never_looked_up(played: Played, host: str, port: int) -> None:
    session = played.enter("example.com", host.strip("[]"))
    browser = played.world.browser(session)
    browser.send(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    assert browser.response()[0] == 403
    assert played.lookups == []
    assert why_no_host(host)


@pytest.mark.parametrize("closed", ["127.0.0.1", f"{PUBLIC} 127.0.0.1", "::ffff:127.0.0.1"])
def test_names_of_closed_addresses(played: Played, closed: str) -> None:
    _, inside = with_secret(played, lambda: played.host(EVIL))
    played.names[EVIL] = [closed]
    session = played.enter("example.com")
    status, _, page = played.ask(session, played.url(EVIL, "/latest/meta-data"), *SCRIPT)
    assert (status, inside.connections, played.asked(EVIL)) == (403, 0, [])
    assert b"where nobody may be asked" in page
    assert played.last(session).obstacle == ""


def test_a_site_of_the_task_where_nobody_may_be_asked_is_nobodys_fault(played: Played) -> None:
    played.host(SHOP)
    played.names[SHOP] = ["10.0.0.7"]
    session = played.enter("example.com", "127.0.0.1", robots="ignore")
    for url in (played.url(SHOP), "http://127.0.0.1/"):
        assert played.ask(session, url, *TAB)[0] == 403
        assert (played.last(session).obstacle, played.asked(SHOP)) == ("site", [])


def test_hosts_of_a_trial_have_an_end(played: Played) -> None:
    session = played.enter("example.com")

    def meet(count: int) -> None:
        for number in range(count):
            session.routes.resolve(f"http://h{number}.example.com/")

    played.world.call(meet, 5000)
    assert "no more can be" in played.ask(session, "http://one-more.example.com/", *SCRIPT)[2].decode()


def test_rules_that_unpack_without_end(played: Played) -> None:
    bomb = gzip.compress(b"#" * (64 << 20))
    site = played.world.site(
        lambda seen: (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb
            if "robots" in seen.path
            else ok(seen)
        ),
        at=PUBLIC,
    )
    played.names[SHOP] = [PUBLIC]
    played.ports.add((SHOP, site.port, False))
    session = played.enter("example.com")
    tracemalloc.start()
    try:
        assert played.ask(session, played.url(SHOP), *TAB)[0] == 200
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_a_name_that_changes_between_two_requests(played: Played, world: World) -> None:
    """Rebinding: the second connection is judged anew, and nobody looks a name up twice for one connection."""

    def closing(seen: Seen) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"

    _, inside = with_secret(played, lambda: played.host(EVIL, closing))
    played.names[EVIL] = [PUBLIC, "127.0.0.1"]
    session = played.enter("example.com")
    assert played.ask(session, played.url(EVIL, "/a"), *SCRIPT)[0] == 200
    assert played.lookups == [EVIL]
    assert played.ask(session, played.url(EVIL, "/b"), *SCRIPT)[0] == 403
    assert (inside.connections, len(played.asked(EVIL))) == (0, 1)


@pytest.mark.parametrize("target", ["http://127.0.0.1/", "http://169.254.169.254/latest/", "http://localhost:8080/"])
def test_redirects_are_judged_like_any_request(played: Played, target: str) -> None:
    played.host(SHOP, lambda seen: f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())
    session = played.enter("example.com")
    assert played.ask(session, played.url(SHOP, "/go"), "Sec-Fetch-Dest: image")[0] == 302
    assert played.ask(session, target, "Sec-Fetch-Dest: image")[0] == 403
    assert played.ask(session, target, *TAB)[0] == 403


@pytest.mark.parametrize("inside_by", ["127.0.0.1", "rebound.example.org"])
def test_robots_txt_that_leads_inside(played: Played, inside_by: str) -> None:
    def leads_inside(seen: Seen) -> bytes | None:
        return answering(302, f"Location: {to}")(seen) if "robots" in seen.path else ok(seen)

    site, inside = with_secret(played, lambda: played.world.site(leads_inside, at=PUBLIC))
    to = f"http://{inside_by}:{site.port}/robots.txt"
    played.names = {SHOP: [PUBLIC], "rebound.example.org": ["127.0.0.1"]}
    played.ports.add((SHOP, site.port, False))
    session = played.enter("example.com")
    assert played.ask(session, played.url(SHOP), *TAB)[0] == 200  # as without a robots.txt
    assert inside.connections == 0


def test_other_ports_are_closed(played: Played) -> None:
    site = played.host(CDN)
    played.ports.clear()
    session = played.enter("example.com")
    assert played.ask(session, f"http://{CDN}:{site.port}/", *SCRIPT)[0] == 403
    assert "is not one of the web's (80, 443)" in played.last(session).refused
    assert site.connections == 0


WRITES = ["POST", "PUT", "PATCH", "DELETE", "PURGE"]


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("host", [SHOP, CDN])
def test_writes_are_answered_for_the_site(played: Played, method: str, host: str) -> None:
    played.host(SHOP)
    played.host(CDN)
    session = played.enter("example.com")
    status, head, told = played.ask(session, played.url(host, "/buy"), *SCRIPT, method=method, body=b"tea=1")
    assert (status, json.loads(told)["error"], played.asked(host)) == (403, "not sent", [])
    assert "Access-Control-Allow-Origin: http://shop.example.com" in head
    seen = played.last(session)
    assert (seen.method, seen.intercepted, seen.obstacle, seen.request_bytes) == (method, True, "", 5)
    assert seen.refused.endswith("nothing was changed there")


def test_a_form_that_is_sent_is_told_so_by_a_page(played: Played) -> None:
    played.host(SHOP)
    session = played.enter("example.com")
    status, head, page = played.ask(session, played.url(SHOP, "/buy"), *TAB, method="POST", body=b"tea=1")
    assert (status, played.asked(SHOP)) == (403, [])
    assert "text/html" in head
    assert b"live sites are only read" in page
    assert played.last(session).request_body == "tea=1"


@pytest.mark.parametrize(
    ("method", "fields", "body"),
    [
        ("GET", ("X-HTTP-Method-Override: DELETE",), b""),
        ("GET", ("X_HTTP_METHOD_OVERRIDE: DELETE",), b""),
        ("GET", ("HTTP-Method-Override: DELETE",), b""),
        ("GET", (), b"tea=1"),
        (
            "GET",
            ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: x"),
            b"",
        ),
    ],
)
def test_what_else_may_write(played: Played, method: str, fields: tuple[str, ...], body: bytes) -> None:
    played.host(SHOP)
    session = played.enter("example.com")
    assert played.ask(session, played.url(SHOP, "/live"), *fields, method=method, body=body)[0] == 403
    assert (played.last(session).intercepted, played.asked(SHOP)) == (True, [])


NAMED: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "a search": ({"reads": ["POST /search"]}, ["/search", "/search?q=tea"], ["/search/", "/searches", "/x/search"]),
    "below": ({"reads": ["/api/*/find"]}, ["/api/v1/find"], ["/api/v1/v2/find", "/api/find", "/api/v1/find/../../buy"]),
    "deep": (
        {"reads": ["/api/**"]},
        ["/api/", "/api/a/b"],
        ["/apis", "/api/../buy", "/api//buy", "/api/%2e%2e/buy", "/api/a%2Fb", "/api/.", "/api/%5c..", "/api/a\\b"],
    ),
    "a write": ({"writes": ["POST /basket/add"]}, ["/basket/add"], ["/basket/empty"]),
}


@pytest.mark.parametrize("case", NAMED)
def test_requests_that_a_task_names(played: Played, case: str) -> None:
    terms, sent, kept = NAMED[case]
    played.host(SHOP)
    played.host(CDN)
    session = played.enter("example.com", **terms)
    for path in sent:
        assert played.ask(session, played.url(SHOP, path), *SCRIPT, method="POST", body=b"a=1")[0] == 200, path
        assert played.ask(session, played.url(CDN, path), *SCRIPT, method="POST", body=b"a=1")[0] == 403, path
        assert played.ask(session, played.url(SHOP, path), *SCRIPT, method="PUT", body=b"a=1")[0] == 403, path
    for path in kept:
        assert played.ask(session, played.url(SHOP, path), *SCRIPT, method="POST", body=b"a=1")[0] == 403, path
    assert len(played.asked(SHOP)) == len(sent)
    assert played.asked(CDN) == []
    disguised = played.ask(
        session, played.url(SHOP, sent[0]), "X-HTTP-Method-Override: DELETE", method="POST", body=b"a=1"
    )
    assert disguised[0] == (200 if "writes" in terms else 403)


FORM = "Content-Type: application/x-www-form-urlencoded"
PART = b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n--x--\r\n'
OTHERS: dict[str, tuple[str, tuple[str, ...], bytes]] = {
    "a form's field": ("/search", (FORM,), b"q=tea&_method=DELETE"),
    "an escaped one": ("/search", (FORM,), b"q=tea&%5Fmethod=DELETE"),
    "as PHP reads it": ("/search", (FORM,), b".method=DELETE"),
    "a form in disguise": ("/search", ("Content-Type: text/plain",), b"_method=DELETE"),
    "of parts": ("/search", (), b'--x\r\nContent-Disposition: form-data; name="_method"\r\n\r\nPUT\r\n--x--\r\n'),
    "JSON": ("/search", ("Content-Type: application/json",), b'{"\\u005fmethod": "DELETE"}'),
    "the address": ("/search?_method=PUT", (), b"q=tea"),
    "a field with underscores": ("/search", ("X_HTTP_METHOD_OVERRIDE: DELETE",), b"q=tea"),
    "packed": ("/search", ("Content-Encoding: gzip",), gzip.compress(b"_method=DELETE")),
    "a mutation": ("/search", (), b'{"query": "# all\\n mutation Buy($a: Int) { buy(a: $a) }"}'),
    "a mutation further in": ("/search", (), b'{"operations": [{"query": "mutation{buy}"}]}'),
    "a mutation in a part": ("/search", (), PART % (b"operations", b'{"query": "mutation($f: Upload!) {up(f: $f)}"}')),
    "a mutation as a part": ("/search", (), PART % (b"query", b"mutation {buy}")),
    "in other letters": ("/search", (), '{"query": "mutation{buy}"}'.encode("utf-16")),
    "in letters that are told": ("/search", ("Content-Type: application/json; charset=utf-7",), b"+AHs-"),
    "another address": ("/search", ("X-Original-URL: /basket/add",), b"q=tea"),
    "too much": ("/search", (), b"q=" + b"a" * (5 << 20)),
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_only_reads_is_looked_into(played: Played, case: str) -> None:
    path, fields, body = OTHERS[case]
    played.host(SHOP)
    session = played.enter("example.com", reads=["POST /search"])
    assert played.ask(session, played.url(SHOP, path), *SCRIPT, *fields, method="POST", body=body)[0] == 403
    assert (played.last(session).intercepted, played.asked(SHOP)) == (True, [])


@pytest.mark.parametrize(
    "body",
    [b"q=tea&method=DELETE", b"_method=POST&q=tea", b'{"query": "{ teas(about: \\"mutation { x }\\") { name } }"}',
     b'{"filters": [{"about": "mutations of tea"}]}', PART % (b"picture", b"\x89PNG\0\0mutation"),
     b"q=" + b"a" * (1 << 20)],
)  # fmt: skip
def test_what_only_reads_is_sent_whole(played: Played, body: bytes) -> None:
    site = played.host(SHOP)
    session = played.enter("example.com", reads=["POST /search"])
    assert played.ask(session, played.url(SHOP, "/search"), *SCRIPT, method="POST", body=body)[0] == 200
    assert [seen.body for seen in site.seen if seen.path == "/search"] == [body]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("query=mutation%7Bbuy%7D", 403),
        ("query=%20%23c%0Amutation+Buy%7Bbuy%7D", 403),
        ("query=fragment+F+on+X%7Ba%7D+mutation+M%7Bbuy%7D", 403),
        ("_method=DELETE", 403),
        ("query=%7Bteas%7D", 200),
        ("query=mutation", 200),
        ("query=%7Bmutation%7Bname%7D%7D", 200),
        ("_method=get&method=DELETE", 200),
    ],
)
def test_writes_in_the_address_of_a_get(played: Played, query: str, status: int) -> None:
    played.host(SHOP)
    session = played.enter("example.com")
    assert played.ask(session, played.url(SHOP, f"/graphql?{query}"), *SCRIPT)[0] == status
    assert len(played.asked(SHOP)) == (status == 200)


def test_what_its_body_alone_keeps_back_is_told_apart(played: Played) -> None:
    """It says nothing of what else is sent there."""
    played.host(SHOP)
    kept: list[Entry] = []
    session = played.enter("example.com", reads=["POST /graphql"], keep=kept.append)
    body = json.dumps({"query": "mutation { buy { id } }"}).encode()
    for path in ("/graphql", "/order"):
        assert played.ask(session, played.url(SHOP, path), *SCRIPT, method="POST", body=body)[0] == 403
    wait_until(lambda: len(kept) == 2)  # its answer is there before an exchange is over
    seen = {urlsplit(each.url).path: (each.intercepted, each.by_body) for each in kept}
    assert seen == {"/graphql": (True, True), "/order": (True, False)}


def test_a_request_named_with_its_host(played: Played) -> None:
    played.host(SHOP)
    played.host(CDN)
    session = played.enter("example.com", reads=[f"POST {played.url(CDN, '/graphql')}"])
    assert played.ask(session, played.url(CDN, "/graphql"), *SCRIPT, method="POST", body=b"{}")[0] == 200
    assert played.ask(session, played.url(SHOP, "/graphql"), *SCRIPT, method="POST", body=b"{}")[0] == 403


def test_robots_are_obeyed_by_pages_unless_told_otherwise(played: Played) -> None:
    played.host(SHOP, robots="User-agent: *\nDisallow: /private*\nAllow: /\n")
    session = played.enter("example.com")
    status, _, page = played.ask(session, played.url(SHOP, "/private/a"), *TAB)
    assert (status, played.asked(SHOP)) == (403, [])
    assert b"robots.txt closes it to robots" in page
    assert played.last(session).obstacle == "blocked"
    assert played.ask(session, played.url(SHOP, "/tea"), *TAB)[0] == 200
    assert played.ask(session, played.url(SHOP, "/private/a.png"), "Sec-Fetch-Dest: image")[0] == 200
    assert [seen.path for seen in played.sites[SHOP].seen].count("/robots.txt") == 1
    free = played.enter("example.com", robots="ignore")
    assert played.ask(free, played.url(SHOP, "/private/a"), *TAB)[0] == 200


@pytest.mark.parametrize("status", [429, 500, 503])
def test_rules_that_cannot_be_had_close_all(played: Played, status: int) -> None:
    site = played.world.site(
        lambda seen: b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status if "robots" in seen.path else b"",
        at=PUBLIC,
    )
    played.names[SHOP] = [PUBLIC]
    played.ports.add((SHOP, site.port, False))
    played.sites[SHOP] = site
    session = played.enter("example.com")
    assert played.ask(session, played.url(SHOP), *TAB)[0] == 403
    assert played.last(session).obstacle == "blocked"


def answering(status: int, *fields: str) -> Any:
    head = "".join(f"{field}\r\n" for field in fields)
    return lambda seen: f"HTTP/1.1 {status} x\r\n{head}Content-Length: 2\r\n\r\nhi".encode()


@pytest.mark.parametrize(
    ("status", "fields", "page", "part"),
    [
        (200, (), "", ""),
        (404, (), "", ""),
        (403, (), "blocked", ""),
        (451, (), "blocked", ""),
        (429, (), "blocked", "blocked"),
        (403, ("cf-mitigated: challenge",), "blocked", "blocked"),
        (500, (), "site", ""),
        (503, ("Retry-After: 1",), "blocked", "blocked"),
    ],
)
def test_answers_that_are_none(played: Played, status: int, fields: tuple[str, ...], page: str, part: str) -> None:
    played.host(SHOP, answering(status, *fields))
    session = played.enter("example.com")
    assert played.ask(session, played.url(SHOP, "/a.js"), "Sec-Fetch-Dest: script")[0] == status
    assert played.last(session).obstacle == part
    assert played.ask(session, played.url(SHOP), *TAB)[0] == status
    assert played.last(session).obstacle == page


def test_who_asks_to_be_left_alone_is(played: Played) -> None:
    played.host(SHOP, answering(429, "Retry-After: 600"))
    session = played.enter("example.com")
    assert played.ask(session, played.url(SHOP), *TAB)[0] == 429
    assert "to be asked again in 600 s" in played.last(session).obstacle_why
    status, _, page = played.ask(session, played.url(SHOP, "/again"), *TAB)
    assert (status, len(played.asked(SHOP))) == (429, 1)
    assert b"asked not to be asked again" in page
    assert played.last(session).obstacle == "blocked"


def test_visitors_who_are_sent_to_another_country(played: Played) -> None:
    played.host("www.example.com", lambda seen: answering(302, f"Location: {to}")(seen))
    played.host("www.example.de")
    played.host("partner.agency.net")
    start = played.url("www.example.com")
    session = played.enter("example.com")
    to = played.url("www.example.de", "/")
    assert played.ask(session, played.url("www.example.com", "/deal"), *TAB)[0] == 302
    assert played.ask(session, to, *TAB)[0] == 403
    assert played.last(session).obstacle == "blocked"
    assert "sends visitors on to" in played.last(session).obstacle_why
    # A link that leads elsewhere is the visitor's choice; the page that all begin with is not.
    to = played.url("partner.agency.net", "/")
    played.ask(session, played.url("www.example.com", "/out"), *TAB)
    played.ask(session, to, *TAB)
    assert (played.last(session).status, played.last(session).obstacle) == (403, "")
    begun = played.enter("example.com", starts=[start])
    played.ask(begun, start, *TAB)
    played.ask(begun, to, *TAB)
    assert played.last(begun).obstacle == "blocked"


def test_a_script_that_sends_visitors_to_another_country(played: Played) -> None:
    played.host("www.example.com")
    played.host("www.example.de")
    played.host("partner.agency.net")
    session = played.enter("example.com", starts=[played.url("www.example.com")])
    by_itself = (*TAB, "Sec-Fetch-Site: cross-site", f"Referer: {played.url('www.example.com')}")
    assert played.ask(session, played.url("www.example.com"), *TAB)[0] == 200
    assert played.ask(session, played.url("www.example.de"), *by_itself)[0] == 403
    assert played.last(session).obstacle == "blocked"
    played.ask(session, played.url("www.example.de"), *by_itself, "Sec-Fetch-User: ?1")  # somebody clicked
    assert played.last(session).obstacle == ""
    played.ask(session, played.url("partner.agency.net"), *by_itself)  # as pages do that open windows for others
    assert played.last(session).obstacle == ""
    assert (played.asked("www.example.de"), played.asked("partner.agency.net")) == ([], [])


def test_rules_for_a_version_of_ours_are_for_us(played: Played) -> None:
    played.host(SHOP, robots="User-agent: PyTest-WebArena/1.0\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
    assert played.ask(played.enter("example.com"), played.url(SHOP, "/tea"), *TAB)[0] == 403
    assert played.asked(SHOP) == []


def test_a_name_that_is_none(played: Played) -> None:
    played.ports.add((SHOP, 80, False))
    session = played.enter("example.com", robots="ignore")
    status, _, page = played.ask(session, f"http://{SHOP}/", *TAB)
    assert status == 502
    assert b"Name or service not known" in page
    assert played.last(session).obstacle == "site"
    assert played.world.call(lambda: session.upstream_error) == ""


def test_nobody_listens(played: Played) -> None:
    with socket.socket() as taken:
        taken.bind((PUBLIC, 0))
        played.ports.add((SHOP, taken.getsockname()[1], False))
        played.names[SHOP] = [PUBLIC]
        session = played.enter("example.com")
        assert played.ask(session, played.url(SHOP), *TAB)[0] == 502
        assert played.last(session).obstacle == "site"


def test_a_site_that_does_not_answer(played: Played) -> None:
    async def silent(reader: Any, writer: Any) -> None:
        await reader.read()

    site = played.world.raw_site(silent, at=PUBLIC)
    played.ports.add((SHOP, site.port, False))
    played.names[SHOP] = [PUBLIC]
    session = played.enter("example.com", robots="ignore", answer_within=0.2)
    assert played.ask(session, played.url(SHOP), *TAB)[0] == 504
    assert (played.last(session).obstacle, played.last(session).obstacle_why) == ("site", "no answer within 0.2 s")


HALF = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%s\r\n\r\n%s"
ENDINGS = {
    "length": (b"Content-Length: 500", b"<h1>half"),
    "chunks": (b"Transfer-Encoding: chunked", b"8\r\n<h1>half\r\n"),
}


def halting(played: Played, kind: bytes, ending: str, *, trickle: asyncio.Event | None = None) -> None:
    """A site whose answer comes to a standstill, or goes on and on."""

    async def half(reader: Any, writer: Any) -> None:
        await reader.readuntil(b"\r\n\r\n")
        field, body = ENDINGS[ending]
        writer.write(HALF % (kind, field, body))
        while trickle is not None and not trickle.is_set():
            writer.write(b"1\r\n.\r\n")
            await asyncio.sleep(0.05)
        await reader.read()

    site = played.world.raw_site(half, at=PUBLIC)
    played.ports.add((SHOP, site.port, False))
    played.names[SHOP] = [PUBLIC]


@pytest.mark.parametrize("ending", list(ENDINGS))
def test_a_page_that_comes_to_a_standstill(played: Played, ending: str) -> None:
    halting(played, b"text/html", ending)
    session = played.enter("example.com", robots="ignore", answer_within=0.2)
    browser = played.world.browser(session)
    browser.send(f"GET {played.url(SHOP)} HTTP/1.1\r\nHost: {SHOP}\r\nAccept: text/html\r\n\r\n".encode())
    assert browser.rest().endswith(ENDINGS[ending][1])  # cut there, so that browsers know that there was more
    record = played.last(session)
    assert (record.obstacle, record.obstacle_why) == ("site", "nothing of the rest of its answer came within 0.2 s")
    assert played.world.call(lambda: session.upstream_error) == ""


@pytest.mark.parametrize(
    ("fields", "kind", "obstacle"),
    [
        (("Accept: text/html",), b"text/html", "site"),
        (("Accept: */*",), b"text/javascript", "site"),
        (("Accept: */*",), b"text/event-stream", ""),
        (("Accept: image/avif",), b"image/png", ""),
    ],
)
def test_what_pages_wait_for_in_vain(
    played: Played, monkeypatch: pytest.MonkeyPatch, fields: tuple[str, ...], kind: bytes, obstacle: str
) -> None:
    monkeypatch.setattr("pytest_webarena.gateway.log_entry._STANDSTILL", 0.0)
    halting(played, kind, "chunks")
    session = played.enter("example.com", robots="ignore", answer_within=60)
    browser = played.world.browser(session)
    browser.send("\r\n".join([f"GET {played.url(SHOP)} HTTP/1.1", f"Host: {SHOP}", *fields, "", ""]).encode())
    browser.head()
    assert browser.exactly(13) == ENDINGS["chunks"][1]
    assert played.last(session).obstacle == obstacle


def test_a_page_without_end(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_webarena.gateway.rest._ENDLESS", 1)
    over = asyncio.Event()
    halting(played, b"text/html", "chunks", trickle=over)
    session = played.enter("example.com", robots="ignore", answer_within=2)
    browser = played.world.browser(session)
    browser.send(f"GET {played.url(SHOP)} HTTP/1.1\r\nHost: {SHOP}\r\nAccept: text/html\r\n\r\n".encode())
    browser.head()
    wait_until(lambda: played.last(session).obstacle == "site")
    assert played.last(session).obstacle_why == "its answer has no end within 2 s"
    played.world.call(over.set)


def test_we_say_who_we_are(played: Played) -> None:
    played.host(SHOP)
    session = played.enter("example.com", contact="https://lab.example.org/bot")
    played.ask(session, played.url(SHOP), *TAB, "User-Agent: Mozilla/5.0 Chrome/140")
    agents = [field for seen in played.sites[SHOP].seen for field in seen.fields if field.startswith("User-Agent")]
    assert agents == [
        "User-Agent: pytest-webarena (+pytest-webarena; https://lab.example.org/bot)",
        "User-Agent: Mozilla/5.0 Chrome/140 (+pytest-webarena; https://lab.example.org/bot)",
    ]


def test_a_host_that_is_asked_too_often(played: Played) -> None:
    played.host(SHOP)
    session = played.enter("example.com", pages_per_second=0.001, patience=0.5)
    seen = [played.ask(session, played.url(SHOP, f"/{n}"), *TAB)[0] for n in range(6)]
    assert seen == [200, 200, 200, 200, 429, 429]
    assert "is asked too often" in played.last(session).obstacle_why
    assert len(played.asked(SHOP)) == 4
