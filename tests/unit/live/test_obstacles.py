"""Obstacles of live sites: robots.txt, blocking responses, slow and missing responses."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest

from tests.processes import wait_until
from tests.unit.live.conftest import PUBLIC, SHOP, TAB, answering

if TYPE_CHECKING:
    from tests.unit.live.conftest import Internet


def test_robots_txt_is_obeyed_by_pages_unless_ignored(internet: Internet) -> None:
    internet.host(SHOP, robots="User-agent: *\nDisallow: /private*\nAllow: /\n")
    session = internet.enter("example.com")
    status, _, page = internet.ask(session, internet.url(SHOP, "/private/a"), *TAB)
    assert (status, internet.asked(SHOP)) == (403, [])
    assert b"robots.txt forbids it to programs" in page
    assert internet.last(session).obstacle == "blocked"
    assert internet.ask(session, internet.url(SHOP, "/tea"), *TAB)[0] == 200
    assert internet.ask(session, internet.url(SHOP, "/private/a.png"), "Sec-Fetch-Dest: image")[0] == 200
    assert [seen.path for seen in internet.sites[SHOP].seen].count("/robots.txt") == 1
    free = internet.enter("example.com", robots="ignore")
    assert internet.ask(free, internet.url(SHOP, "/private/a"), *TAB)[0] == 200


@pytest.mark.parametrize("status", [429, 500, 503])
def test_unavailable_robots_txt_closes_the_site(internet: Internet, status: int) -> None:
    site = internet.world.site(
        lambda seen: b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status if "robots" in seen.path else b"",
        at=PUBLIC,
    )
    internet.names[SHOP] = [PUBLIC]
    internet.ports.add((SHOP, site.port, False))
    internet.sites[SHOP] = site
    session = internet.enter("example.com")
    assert internet.ask(session, internet.url(SHOP), *TAB)[0] == 403
    assert internet.last(session).obstacle == "blocked"


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
def test_error_responses_are_classified_as_obstacles(
    internet: Internet, status: int, fields: tuple[str, ...], page: str, part: str
) -> None:
    internet.host(SHOP, answering(status, *fields))
    session = internet.enter("example.com")
    assert internet.ask(session, internet.url(SHOP, "/a.js"), "Sec-Fetch-Dest: script")[0] == status
    assert internet.last(session).obstacle == part
    assert internet.ask(session, internet.url(SHOP), *TAB)[0] == status
    assert internet.last(session).obstacle == page


def test_retry_after_is_respected(internet: Internet) -> None:
    internet.host(SHOP, answering(429, "Retry-After: 600"))
    session = internet.enter("example.com")
    assert internet.ask(session, internet.url(SHOP), *TAB)[0] == 429
    assert "to be asked again in 600 s" in internet.last(session).obstacle_why
    status, _, page = internet.ask(session, internet.url(SHOP, "/again"), *TAB)
    assert (status, len(internet.asked(SHOP))) == (429, 1)
    assert b"asked not to be asked again" in page
    assert internet.last(session).obstacle == "blocked"


def test_redirect_to_another_country_is_an_obstacle(internet: Internet) -> None:
    internet.host("www.example.com", lambda seen: answering(302, f"Location: {to}")(seen))
    internet.host("www.example.de")
    internet.host("partner.agency.net")
    start = internet.url("www.example.com")
    session = internet.enter("example.com")
    to = internet.url("www.example.de", "/")
    assert internet.ask(session, internet.url("www.example.com", "/deal"), *TAB)[0] == 302
    assert internet.ask(session, to, *TAB)[0] == 403
    assert internet.last(session).obstacle == "blocked"
    assert "sends visitors on to" in internet.last(session).obstacle_why
    # Following an external link is the visitor's choice; a redirect of the start page is not.
    to = internet.url("partner.agency.net", "/")
    internet.ask(session, internet.url("www.example.com", "/out"), *TAB)
    internet.ask(session, to, *TAB)
    assert (internet.last(session).status, internet.last(session).obstacle) == (403, "")
    begun = internet.enter("example.com", starts=[start])
    internet.ask(begun, start, *TAB)
    internet.ask(begun, to, *TAB)
    assert internet.last(begun).obstacle == "blocked"


def test_script_navigation_to_another_country_is_an_obstacle(internet: Internet) -> None:
    internet.host("www.example.com")
    internet.host("www.example.de")
    internet.host("partner.agency.net")
    session = internet.enter("example.com", starts=[internet.url("www.example.com")])
    by_itself = (*TAB, "Sec-Fetch-Site: cross-site", f"Referer: {internet.url('www.example.com')}")
    assert internet.ask(session, internet.url("www.example.com"), *TAB)[0] == 200
    assert internet.ask(session, internet.url("www.example.de"), *by_itself)[0] == 403
    assert internet.last(session).obstacle == "blocked"
    internet.ask(session, internet.url("www.example.de"), *by_itself, "Sec-Fetch-User: ?1")  # a user clicked
    assert internet.last(session).obstacle == ""
    internet.ask(session, internet.url("partner.agency.net"), *by_itself)  # for example a page that opens a pop-up
    assert internet.last(session).obstacle == ""
    assert (internet.asked("www.example.de"), internet.asked("partner.agency.net")) == ([], [])


def test_robots_txt_for_a_version_of_our_agent_applies(internet: Internet) -> None:
    internet.host(SHOP, robots="User-agent: PyTest-WebArena/1.0\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
    assert internet.ask(internet.enter("example.com"), internet.url(SHOP, "/tea"), *TAB)[0] == 403
    assert internet.asked(SHOP) == []


def test_unresolvable_host_is_a_site_obstacle(internet: Internet) -> None:
    internet.ports.add((SHOP, 80, False))
    session = internet.enter("example.com", robots="ignore")
    status, _, page = internet.ask(session, f"http://{SHOP}/", *TAB)
    assert status == 502
    assert b"Name or service not known" in page
    assert internet.last(session).obstacle == "site"
    assert internet.world.call(lambda: session.upstream_error) == ""


def test_refused_connection_is_a_site_obstacle(internet: Internet) -> None:
    with socket.socket() as taken:
        taken.bind((PUBLIC, 0))
        internet.ports.add((SHOP, taken.getsockname()[1], False))
        internet.names[SHOP] = [PUBLIC]
        session = internet.enter("example.com")
        assert internet.ask(session, internet.url(SHOP), *TAB)[0] == 502
        assert internet.last(session).obstacle == "site"


def test_missing_response_is_a_site_obstacle(internet: Internet) -> None:
    async def silent(reader: Any, writer: Any) -> None:
        await reader.read()

    site = internet.world.raw_site(silent, at=PUBLIC)
    internet.ports.add((SHOP, site.port, False))
    internet.names[SHOP] = [PUBLIC]
    session = internet.enter("example.com", robots="ignore", answer_within=0.2)
    assert internet.ask(session, internet.url(SHOP), *TAB)[0] == 504
    assert (internet.last(session).obstacle, internet.last(session).obstacle_why) == ("site", "no answer within 0.2 s")


HALF = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%s\r\n\r\n%s"
ENDINGS = {
    "length": (b"Content-Length: 500", b"<h1>half"),
    "chunks": (b"Transfer-Encoding: chunked", b"8\r\n<h1>half\r\n"),
}


def stalling_site(internet: Internet, kind: bytes, ending: str, *, trickle: asyncio.Event | None = None) -> None:
    """Add a site whose response stalls, or never ends with ``trickle``."""

    async def half(reader: Any, writer: Any) -> None:
        await reader.readuntil(b"\r\n\r\n")
        field, body = ENDINGS[ending]
        writer.write(HALF % (kind, field, body))
        while trickle is not None and not trickle.is_set():
            writer.write(b"1\r\n.\r\n")
            await asyncio.sleep(0.05)
        await reader.read()

    site = internet.world.raw_site(half, at=PUBLIC)
    internet.ports.add((SHOP, site.port, False))
    internet.names[SHOP] = [PUBLIC]


@pytest.mark.parametrize("ending", list(ENDINGS))
def test_stalled_page_is_a_site_obstacle(internet: Internet, ending: str) -> None:
    stalling_site(internet, b"text/html", ending)
    session = internet.enter("example.com", robots="ignore", answer_within=0.2)
    browser = internet.world.browser(session)
    browser.send(f"GET {internet.url(SHOP)} HTTP/1.1\r\nHost: {SHOP}\r\nAccept: text/html\r\n\r\n".encode())
    assert browser.rest().endswith(
        ENDINGS[ending][1]
    )  # cut there, so that the browser knows that the body is incomplete
    record = internet.last(session)
    assert (record.obstacle, record.obstacle_why) == ("site", "nothing of the rest of its answer came within 0.2 s")
    assert internet.world.call(lambda: session.upstream_error) == ""


@pytest.mark.parametrize(
    ("fields", "kind", "obstacle"),
    [
        (("Accept: text/html",), b"text/html", "site"),
        (("Accept: */*",), b"text/javascript", "site"),
        (("Accept: */*",), b"text/event-stream", ""),
        (("Accept: image/avif",), b"image/png", ""),
    ],
)
def test_stalled_response_is_an_obstacle_only_if_pages_wait_for_it(
    internet: Internet, monkeypatch: pytest.MonkeyPatch, fields: tuple[str, ...], kind: bytes, obstacle: str
) -> None:
    monkeypatch.setattr("pytest_webarena.gateway.log_entry._STANDSTILL", 0.0)
    stalling_site(internet, kind, "chunks")
    session = internet.enter("example.com", robots="ignore", answer_within=60)
    browser = internet.world.browser(session)
    browser.send("\r\n".join([f"GET {internet.url(SHOP)} HTTP/1.1", f"Host: {SHOP}", *fields, "", ""]).encode())
    browser.head()
    assert browser.exactly(13) == ENDINGS["chunks"][1]
    assert internet.last(session).obstacle == obstacle


def test_endless_page_is_a_site_obstacle(internet: Internet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_webarena.gateway.response_body._ENDLESS", 1)
    over = asyncio.Event()
    stalling_site(internet, b"text/html", "chunks", trickle=over)
    session = internet.enter("example.com", robots="ignore", answer_within=2)
    browser = internet.world.browser(session)
    browser.send(f"GET {internet.url(SHOP)} HTTP/1.1\r\nHost: {SHOP}\r\nAccept: text/html\r\n\r\n".encode())
    browser.head()
    wait_until(lambda: internet.last(session).obstacle == "site")
    assert internet.last(session).obstacle_why == "its answer has no end within 2 s"
    internet.world.call(over.set)


def test_user_agent_identifies_the_harness_and_contact(internet: Internet) -> None:
    internet.host(SHOP)
    session = internet.enter("example.com", contact="https://lab.example.org/bot")
    internet.ask(session, internet.url(SHOP), *TAB, "User-Agent: Mozilla/5.0 Chrome/140")
    agents = [field for seen in internet.sites[SHOP].seen for field in seen.fields if field.startswith("User-Agent")]
    assert agents == [
        "User-Agent: pytest-webarena (+pytest-webarena; https://lab.example.org/bot)",
        "User-Agent: Mozilla/5.0 Chrome/140 (+pytest-webarena; https://lab.example.org/bot)",
    ]


def test_page_requests_to_a_host_are_rate_limited(internet: Internet) -> None:
    internet.host(SHOP)
    session = internet.enter("example.com", pages_per_second=0.001, patience=0.5)
    seen = [internet.ask(session, internet.url(SHOP, f"/{n}"), *TAB)[0] for n in range(6)]
    assert seen == [200, 200, 200, 200, 429, 429]
    assert "too many requests to" in internet.last(session).obstacle_why
    assert len(internet.asked(SHOP)) == 4
