"""Hosts that a catalogue names in addition to its sites: what is sent there, and that nothing is sent elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.live.addresses import address_problem, own_network_problem
from pytest_webarena.live.host_lists import HostLists
from pytest_webarena.live.other_hosts import LoadNetwork, NamedHosts
from pytest_webarena.sites.broker.other_hosts import OtherHosts, share_other_hosts
from pytest_webarena.sites.catalogues.manifest import AppManifest
from tests.cases import each_case
from tests.unit.gateway.conftest import ok
from tests.unit.live.conftest import CDN, EVIL, PUBLIC, SCRIPT, TAB, Internet, answering

if TYPE_CHECKING:
    from pytest_webarena.gateway.session import GatewaySession
    from tests.unit.gateway.conftest import Seen, Site, World

LOGIN = "login.example.org"
PART = ("Sec-Fetch-Dest: script", "Sec-Fetch-Site: cross-site", "Accept: */*")
FRAME = ("Sec-Fetch-Dest: iframe", "Sec-Fetch-Mode: navigate", "Accept: text/html,*/*")


class Named:
    """A simulated internet with hosts that a catalogue names."""

    def __init__(self, internet: Internet) -> None:
        self.internet = internet
        closed = lambda address: "" if address == PUBLIC else address_problem(address)  # noqa: E731
        self.network = LoadNetwork(find=internet.find, closed=closed)

    def session(
        self, *, loads: Sequence[str] = (), sign_in: Sequence[str] = (), private: Sequence[str] = (), read: bool = True
    ) -> GatewaySession:
        """Return a session whose catalogue names these hosts, each at the port of its simulated site."""
        loads, sign_in = ([self.internet.url(host, "") for host in hosts] for hosts in (loads, sign_in))
        session = self.internet.world.session()
        hosts = NamedHosts(HostLists.of(loads, sign_in, private), self.network, read=read)
        self.internet.world.call(session.admit_hosts, hosts)
        return session


@pytest.fixture
def named(internet: Internet) -> Named:
    return Named(internet)


def counting(seen: list[int], *fields: str) -> Any:
    """An answer that is another one each time."""

    def answer(_: Seen) -> bytes:
        seen.append(1)
        content = b"number %d" % len(seen)
        lines = "".join(f"{field}\r\n" for field in fields).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n%sContent-Length: %d\r\n\r\n%s" % (
            lines, len(content), content,
        )  # fmt: skip

    return answer


def test_all_trials_get_the_same_bytes_of_a_part(internet: Internet, named: Named) -> None:
    internet.host(CDN, counting([], "Set-Cookie: id=7", "Vary: Accept-Language", "X-Kind: font"))
    first, second = named.session(loads=[CDN]), named.session(loads=[CDN])
    answers = [
        internet.ask(session, internet.url(CDN, "/a.css?v=1"), *PART, f"Cookie: id={number}", "Range: bytes=0-1")
        for number, session in enumerate((first, second, second))
    ]
    assert {(status, body) for status, _, body in answers} == {(200, b"number 1")}
    assert all("X-Kind: font" in head and "set-cookie" not in head.lower() for _, head, _ in answers)
    assert internet.asked(CDN) == ["GET /a.css?v=1 HTTP/1.1"]
    assert not {line.lower().partition(":")[0] for line in internet.sites[CDN].seen[0].fields} & {"cookie", "range"}
    assert internet.ask(first, internet.url(CDN, "/a.css?v=1"), *PART, "Accept-Language: de")[2] == b"number 2"
    assert internet.ask(first, internet.url(CDN, "/a.css?v=1"), *PART, "Origin: http://a.test")[2] == b"number 3"
    logged = internet.last(first)
    assert (logged.status, logged.refused, logged.response_bytes) == (200, "", 8)


def test_simultaneous_trials_cause_one_request(internet: Internet, named: Named) -> None:
    internet.host(CDN, counting([]))
    sessions = [named.session(loads=[CDN]) for _ in range(4)]
    bodies: list[bytes] = []
    threads = [
        threading.Thread(target=lambda s=session: bodies.append(internet.ask(s, internet.url(CDN), *PART)[2]))
        for session in sessions
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bodies == [b"number 1"] * 4
    assert len(internet.asked(CDN)) == 1


def test_frames_and_preflights_of_parts_are_answered(internet: Internet, named: Named) -> None:
    internet.host(CDN)
    session = named.session(loads=[CDN])
    assert internet.ask(session, internet.url(CDN, "/frame"), *FRAME)[2] == b"/frame"
    fields = (
        "Origin: http://shop.test",
        "Access-Control-Request-Method: GET",
        "Access-Control-Request-Headers: x-a",
        "Connection: close",
    )
    status, head, _ = internet.ask(session, internet.url(CDN, "/data"), *fields, method="OPTIONS")
    assert (status, "Access-Control-Allow-Headers: x-a" in head) == (204, True)
    assert internet.last(session).refused == ""
    assert internet.asked(CDN) == ["GET /frame HTTP/1.1"]


@each_case(
    ("method", "fields", "path"),
    [
        ("GET", TAB, "/"),
        ("GET", ("Accept: text/html,*/*",), "/"),
        ("GET", (*TAB, "Sec-Purpose: prefetch;prerender"), "/"),
        ("GET", ("Sec-Fetch-Site: none", "Sec-Fetch-Dest: empty"), "/"),
        ("HEAD", PART, "/"),
        ("POST", SCRIPT, "/collect"),
        ("PUT", SCRIPT, "/"),
        ("DELETE", SCRIPT, "/"),
        ("GET", (*PART, "X-HTTP-Method-Override: POST"), "/"),
        ("GET", PART, "/?_method=DELETE"),
        ("GET", PART, "/graphql?query=mutation%7Bbuy%7D"),
        ("GET", (*PART, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAA"), "/live"),
    ],
)
def test_only_parts_of_pages_are_loaded(
    internet: Internet, named: Named, method: str, fields: Sequence[str], path: str
) -> None:
    internet.host(CDN)
    session = named.session(loads=[CDN])
    browser = internet.world.browser(session)
    url = internet.url(CDN, path)
    browser.send("\r\n".join([f"{method} {url} HTTP/1.1", f"Host: {CDN}", *fields, "", ""]).encode())
    assert browser.response(body=method != "HEAD")[0] == 403
    assert internet.last(session).refused.startswith(f"{CDN} only serves parts of other sites' pages")
    assert (internet.sites[CDN].connections, internet.lookups) == (0, [])


@each_case(
    "url",
    [
        "http://{evil}:{port}/",
        "http://sub.{cdn}:{port}/",
        "http://{cdn}.evil.example.org:{port}/",
        "http://{cdn}.:{port}/",
        "http://{cdn}/",
        "http://{cdn}:{other}/",
        "https://{cdn}:{port}/",
        "http://{cdn}:{port}@{evil}:{port}/",
        "http://{evil}:{port}@{cdn}:{port}/",
        "http://{evil}:{port}\\@{cdn}:{port}/",
        "http://127.1.0.1:{port}/",
        "http://2130771969:{port}/",
        "http://0x7f.1.0.1:{port}/",
        "http://[::ffff:127.1.0.1]:{port}/",
        "ftp://{cdn}:{port}/",
        "ws://{cdn}:{port}/",
        "//{cdn}:{port}/",
    ],
)
def test_no_request_leaves_to_a_host_that_is_not_named(internet: Internet, named: Named, url: str) -> None:
    internet.host(CDN)
    internet.host(EVIL)
    session = named.session(loads=[CDN])
    port = internet.sites[CDN].port
    target = url.format(cdn=CDN, evil=EVIL, port=port, other=internet.sites[EVIL].port)
    for fields in (PART, TAB):
        browser = internet.world.browser(session)
        browser.send("\r\n".join([f"GET {target} HTTP/1.1", f"Host: {CDN}", *fields, "", ""]).encode())
        assert browser.response()[0] in (400, 403)
    assert (internet.lookups, [site.connections for site in internet.sites.values()]) == ([], [0, 0])


@each_case("where", ["tunnel", "host field", "redirect", "harness"])
def test_named_hosts_open_no_way_to_others(internet: Internet, named: Named, where: str) -> None:
    internet.host(EVIL)
    internet.host(CDN, answering(302, f"Location: {internet.url(EVIL, '/steal')}"))
    session = named.session(loads=[CDN])
    port = internet.sites[CDN].port
    browser = internet.world.browser(session)
    if where == "tunnel":
        browser.send(f"CONNECT {CDN}:{port} HTTP/1.1\r\nHost: {CDN}\r\n\r\n".encode())
        assert browser.head().startswith("HTTP/1.1 200")
        lines = [f"GET /inside HTTP/1.1\r\nHost: {EVIL}:{port}", *PART, "", ""]
        browser.send("\r\n".join(lines).encode())
        assert browser.response()[0] == 302
    elif where == "host field":
        assert browser.get(internet.url(CDN, "/inside"), *PART)[0] == 302
    elif where == "redirect":  # the browser follows it
        assert f"Location: {internet.url(EVIL, '/steal')}" in browser.get(internet.url(CDN), *PART)[1]
        assert browser.get(internet.url(EVIL, "/steal"), *PART)[0] == 403
    else:
        harness = type(browser)(session.harness_port)
        assert harness.get(internet.url(EVIL), *PART)[0] == 403
        harness.close()
    assert internet.sites[EVIL].connections == 0
    assert all(f"Host: {CDN}:{port}" in seen.fields for seen in internet.sites[CDN].seen)


def test_names_are_looked_up_for_each_connection_and_all_addresses_count(internet: Internet, named: Named) -> None:
    """DNS rebinding: a name that is public at first and local afterwards."""
    site = internet.host(CDN, counting([]))
    local = internet.world.site(port=site.port)
    internet.names[CDN] = [PUBLIC, "127.0.0.1", f"{PUBLIC} 127.0.0.1"]
    session = named.session(loads=[CDN])
    assert internet.ask(session, internet.url(CDN, "/1"), *PART)[0] == 200
    for path in ("/2", "/3"):
        status, _, page = internet.ask(session, internet.url(CDN, path), *PART)
        assert (status, b"127.0.0.1 is loopback" in page) == (403, True)
        assert f"'private_hosts: [{CDN}]' would allow it" in internet.last(session).refused
    assert local.connections == 0


def test_private_hosts_may_have_private_addresses(internet: Internet, named: Named) -> None:
    site = internet.host(CDN)
    internet.world.site(port=site.port)
    internet.names[CDN] = ["127.0.0.1", "169.254.169.254"]
    session = named.session(loads=[CDN], private=[CDN])
    assert internet.ask(session, internet.url(CDN, "/1"), *PART)[0] == 200
    status, _, page = internet.ask(session, internet.url(CDN, "/2"), *PART)
    assert (status, b"169.254.169.254 is link-local" in page, b"would allow" in page) == (403, True, False)


@each_case(
    "address",
    ["169.254.169.254", "fd00:ec2::254", "0.0.0.0", "0.1.2.3", "224.0.0.1", "::", "fe80::1", "fe80::1%lo", "ff02::1",
     "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "168.63.129.16", "255.255.255.255", "none"],
)  # fmt: skip
def test_no_key_allows_addresses_that_are_not_of_a_host(address: str) -> None:
    assert own_network_problem(address)


@each_case("address", ["10.1.2.3", "192.168.1.1", "172.16.0.9", "127.0.0.1", "::1", "fd12::3", "93.184.215.14"])
def test_private_addresses_are_of_hosts(address: str) -> None:
    assert own_network_problem(address) == ""


def test_failures_are_the_environments_and_are_not_kept(internet: Internet, named: Named) -> None:
    answers = iter([answering(503), lambda _: None, lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", ok])
    closing: list[bool] = []

    def answer(seen: Seen) -> bytes | None:
        data: bytes | None = next(answers)(seen)
        closing.append(True)
        return (
            data
            if data is None or not data.endswith(b"half")
            else data.replace(b"200 OK", b"200 OK\r\nConnection: close")
        )

    internet.host(CDN, answer)
    session = named.session(loads=[CDN])
    statuses = [internet.ask(session, internet.url(CDN), *PART)[0] for _ in range(5)]
    assert statuses == [503, 502, 502, 200, 200]
    assert len(internet.asked(CDN)) == 4
    assert [each.obstacle for each in internet.world.requests(session)] == ["site", "site", "site", "", ""]
    assert internet.world.requests(session)[0].obstacle_why == "status 503"
    assert session.upstream_error == ""


def test_larger_parts_are_refused_not_cut(internet: Internet, named: Named, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_webarena.live.other_hosts._LARGEST", 5)
    internet.host(CDN)
    session = named.session(loads=[CDN])
    assert internet.ask(session, internet.url(CDN, "/1234"), *PART)[2] == b"/1234"
    assert internet.ask(session, internet.url(CDN, "/12345"), *PART)[0] == 502
    assert "found a larger one" in internet.last(session).obstacle_why


def test_people_sign_in_by_pages_and_forms(internet: Internet, named: Named) -> None:
    internet.host(LOGIN, counting([], "Set-Cookie: sso=1"))
    session = named.session(sign_in=[LOGIN])
    status, head, _ = internet.ask(session, internet.url(LOGIN, "/authorize?client=1"), *TAB, "Cookie: a=1")
    assert (status, "Set-Cookie: sso=1" in head) == (200, True)
    internet.ask(session, internet.url(LOGIN, "/login"), *TAB, method="POST", body=b"user=emma")
    assert internet.ask(session, internet.url(LOGIN, "/authorize?client=1"), *TAB)[2] == b"number 3"
    assert [(seen.method, seen.body) for seen in internet.sites[LOGIN].seen] == [
        ("GET", b""), ("POST", b"user=emma"), ("GET", b""),
    ]  # fmt: skip
    assert "Cookie: a=1" in internet.sites[LOGIN].seen[0].fields
    harness = type(internet.world.browser(session))(session.sign_in_port)
    assert harness.get(internet.url(LOGIN, "/authorize"), *TAB)[0] == 200
    harness.close()


@each_case(
    ("method", "fields", "path"),
    [
        ("PUT", TAB, "/"),
        ("PATCH", TAB, "/"),
        ("DELETE", SCRIPT, "/users/1"),
        ("POST", (*TAB, "X-HTTP-Method-Override: DELETE"), "/"),
        ("POST", TAB, "/?_method=DELETE"),
        ("GET", ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAA"), "/live"),
        ("GET", ("Sec-Fetch-Site: none", "Sec-Fetch-Dest: empty"), "/"),
    ],
)
def test_other_requests_to_sign_in_hosts_are_refused(
    internet: Internet, named: Named, method: str, fields: Sequence[str], path: str
) -> None:
    internet.host(LOGIN)
    session = named.session(sign_in=[LOGIN])
    assert internet.ask(session, internet.url(LOGIN, path), *fields, method=method)[0] == 403
    assert internet.sites[LOGIN].connections == 0


def test_https_is_refused_where_it_can_not_be_read(internet: Internet) -> None:
    named = Named(internet)
    session = internet.world.session()
    hosts = NamedHosts(HostLists.of([CDN], [], []), named.network, read=False)
    internet.world.call(session.admit_hosts, hosts)
    browser = internet.world.browser(session)
    browser.send(f"CONNECT {CDN}:443 HTTP/1.1\r\nHost: {CDN}\r\n\r\n".encode())
    assert browser.response()[0] == 403
    assert (internet.lookups, internet.last(session).refused) == ([], f"{CDN} is visited by https in Chromium only")


def test_gateways_that_serve_two_leases_have_the_hosts_of_both(internet: Internet, named: Named) -> None:
    sites: dict[str, Site] = {host: internet.host(host) for host in (CDN, LOGIN)}
    first, second = named.session(loads=[CDN]), named.session(sign_in=[LOGIN])
    own, more = first.routes.other_hosts, second.routes.other_hosts
    assert isinstance(own, NamedHosts)
    assert isinstance(more, NamedHosts)
    internet.world.call(first.admit_hosts, own.joined(more))
    for host in sites:
        assert internet.ask(first, internet.url(host, "/a"), *PART)[0] == 200


def test_leases_may_ask_the_hosts_of_their_apps_alone(world: World) -> None:
    """Each app's keys count for the leases with that app, and joined gateways have the hosts of both."""
    site, other = world.site(), world.site()
    entry, second = (f"http://localhost:{each.port}" for each in (site, other))
    apps = [
        AppManifest(name="shop", sites=(), backend="process", loads=(entry,), private_hosts=("localhost",)),
        AppManifest(name="forum", sites=(), backend="process", loads=(entry, second)),
        AppManifest(name="plain", sites=(), backend="process"),
    ]
    hosts = OtherHosts()
    sessions = [world.session() for _ in apps]
    for session, app in zip(sessions, apps, strict=True):
        world.call(hosts.open, session, [app], read=True)
    assert sessions[2].routes.other_hosts is None
    statuses = [world.browser(sessions[number]).get(f"{entry}/a", *PART)[0] for number in (1, 2, 0)]
    assert statuses == [403, 403, 200]
    world.call(share_other_hosts, sessions[2], sessions[0])
    world.call(share_other_hosts, sessions[1], sessions[0])
    assert [world.browser(session).get(f"{entry}/a", *PART)[0] for session in sessions] == [200, 200, 200]
    assert [world.browser(session).get(f"{second}/a", *PART)[0] for session in sessions] == [403, 200, 403]
    assert (len(site.seen), len(other.seen)) == (1, 1)
