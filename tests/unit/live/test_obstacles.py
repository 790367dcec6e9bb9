"""Obstacles of live sites: robots.txt, blocking responses, slow and missing responses."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest

from tests.processes import wait_until
from tests.unit.live.conftest import PUBLIC, SHOP, TAB, answering

if TYPE_CHECKING:
    from tests.unit.live.conftest import Played


def test_robots_txt_is_obeyed_by_pages_unless_ignored(played: Played) -> None:
    played.host(SHOP, robots="User-agent: *\nDisallow: /private*\nAllow: /\n")
    session = played.enter("example.com")
    status, _, page = played.ask(session, played.url(SHOP, "/private/a"), *TAB)
    assert (status, played.asked(SHOP)) == (403, [])
    assert b"robots.txt forbids it to programs" in page
    assert played.last(session).obstacle == "blocked"
    assert played.ask(session, played.url(SHOP, "/tea"), *TAB)[0] == 200
    assert played.ask(session, played.url(SHOP, "/private/a.png"), "Sec-Fetch-Dest: image")[0] == 200
    assert [seen.path for seen in played.sites[SHOP].seen].count("/robots.txt") == 1
    free = played.enter("example.com", robots="ignore")
    assert played.ask(free, played.url(SHOP, "/private/a"), *TAB)[0] == 200


@pytest.mark.parametrize("status", [429, 500, 503])
def test_unavailable_robots_txt_closes_the_site(played: Played, status: int) -> None:
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
    played: Played, status: int, fields: tuple[str, ...], page: str, part: str
) -> None:
    played.host(SHOP, answering(status, *fields))
    session = played.enter("example.com")
    assert played.ask(session, played.url(SHOP, "/a.js"), "Sec-Fetch-Dest: script")[0] == status
    assert played.last(session).obstacle == part
    assert played.ask(session, played.url(SHOP), *TAB)[0] == status
    assert played.last(session).obstacle == page


def test_retry_after_is_respected(played: Played) -> None:
    played.host(SHOP, answering(429, "Retry-After: 600"))
    session = played.enter("example.com")
    assert played.ask(session, played.url(SHOP), *TAB)[0] == 429
    assert "to be asked again in 600 s" in played.last(session).obstacle_why
    status, _, page = played.ask(session, played.url(SHOP, "/again"), *TAB)
    assert (status, len(played.asked(SHOP))) == (429, 1)
    assert b"asked not to be asked again" in page
    assert played.last(session).obstacle == "blocked"


def test_redirect_to_another_country_is_an_obstacle(played: Played) -> None:
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
    # Following an external link is the visitor's choice; a redirect of the start page is not.
    to = played.url("partner.agency.net", "/")
    played.ask(session, played.url("www.example.com", "/out"), *TAB)
    played.ask(session, to, *TAB)
    assert (played.last(session).status, played.last(session).obstacle) == (403, "")
    begun = played.enter("example.com", starts=[start])
    played.ask(begun, start, *TAB)
    played.ask(begun, to, *TAB)
    assert played.last(begun).obstacle == "blocked"


def test_script_navigation_to_another_country_is_an_obstacle(played: Played) -> None:
    played.host("www.example.com")
    played.host("www.example.de")
    played.host("partner.agency.net")
    session = played.enter("example.com", starts=[played.url("www.example.com")])
    by_itself = (*TAB, "Sec-Fetch-Site: cross-site", f"Referer: {played.url('www.example.com')}")
    assert played.ask(session, played.url("www.example.com"), *TAB)[0] == 200
    assert played.ask(session, played.url("www.example.de"), *by_itself)[0] == 403
    assert played.last(session).obstacle == "blocked"
    played.ask(session, played.url("www.example.de"), *by_itself, "Sec-Fetch-User: ?1")  # a user clicked
    assert played.last(session).obstacle == ""
    played.ask(session, played.url("partner.agency.net"), *by_itself)  # for example a page that opens a pop-up
    assert played.last(session).obstacle == ""
    assert (played.asked("www.example.de"), played.asked("partner.agency.net")) == ([], [])


def test_robots_txt_for_a_version_of_our_agent_applies(played: Played) -> None:
    played.host(SHOP, robots="User-agent: PyTest-WebArena/1.0\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
    assert played.ask(played.enter("example.com"), played.url(SHOP, "/tea"), *TAB)[0] == 403
    assert played.asked(SHOP) == []


def test_unresolvable_host_is_a_site_obstacle(played: Played) -> None:
    played.ports.add((SHOP, 80, False))
    session = played.enter("example.com", robots="ignore")
    status, _, page = played.ask(session, f"http://{SHOP}/", *TAB)
    assert status == 502
    assert b"Name or service not known" in page
    assert played.last(session).obstacle == "site"
    assert played.world.call(lambda: session.upstream_error) == ""


def test_refused_connection_is_a_site_obstacle(played: Played) -> None:
    with socket.socket() as taken:
        taken.bind((PUBLIC, 0))
        played.ports.add((SHOP, taken.getsockname()[1], False))
        played.names[SHOP] = [PUBLIC]
        session = played.enter("example.com")
        assert played.ask(session, played.url(SHOP), *TAB)[0] == 502
        assert played.last(session).obstacle == "site"


def test_missing_response_is_a_site_obstacle(played: Played) -> None:
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


def stalling_site(played: Played, kind: bytes, ending: str, *, trickle: asyncio.Event | None = None) -> None:
    """Add a site whose response stalls, or never ends with ``trickle``."""

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
def test_stalled_page_is_a_site_obstacle(played: Played, ending: str) -> None:
    stalling_site(played, b"text/html", ending)
    session = played.enter("example.com", robots="ignore", answer_within=0.2)
    browser = played.world.browser(session)
    browser.send(f"GET {played.url(SHOP)} HTTP/1.1\r\nHost: {SHOP}\r\nAccept: text/html\r\n\r\n".encode())
    assert browser.rest().endswith(
        ENDINGS[ending][1]
    )  # cut there, so that the browser knows that the body is incomplete
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
def test_stalled_response_is_an_obstacle_only_if_pages_wait_for_it(
    played: Played, monkeypatch: pytest.MonkeyPatch, fields: tuple[str, ...], kind: bytes, obstacle: str
) -> None:
    monkeypatch.setattr("pytest_webarena.gateway.log_entry._STANDSTILL", 0.0)
    stalling_site(played, kind, "chunks")
    session = played.enter("example.com", robots="ignore", answer_within=60)
    browser = played.world.browser(session)
    browser.send("\r\n".join([f"GET {played.url(SHOP)} HTTP/1.1", f"Host: {SHOP}", *fields, "", ""]).encode())
    browser.head()
    assert browser.exactly(13) == ENDINGS["chunks"][1]
    assert played.last(session).obstacle == obstacle


def test_endless_page_is_a_site_obstacle(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_webarena.gateway.response_body._ENDLESS", 1)
    over = asyncio.Event()
    stalling_site(played, b"text/html", "chunks", trickle=over)
    session = played.enter("example.com", robots="ignore", answer_within=2)
    browser = played.world.browser(session)
    browser.send(f"GET {played.url(SHOP)} HTTP/1.1\r\nHost: {SHOP}\r\nAccept: text/html\r\n\r\n".encode())
    browser.head()
    wait_until(lambda: played.last(session).obstacle == "site")
    assert played.last(session).obstacle_why == "its answer has no end within 2 s"
    played.world.call(over.set)


def test_user_agent_identifies_the_harness_and_contact(played: Played) -> None:
    played.host(SHOP)
    session = played.enter("example.com", contact="https://lab.example.org/bot")
    played.ask(session, played.url(SHOP), *TAB, "User-Agent: Mozilla/5.0 Chrome/140")
    agents = [field for seen in played.sites[SHOP].seen for field in seen.fields if field.startswith("User-Agent")]
    assert agents == [
        "User-Agent: pytest-webarena (+pytest-webarena; https://lab.example.org/bot)",
        "User-Agent: Mozilla/5.0 Chrome/140 (+pytest-webarena; https://lab.example.org/bot)",
    ]


def test_page_requests_to_a_host_are_rate_limited(played: Played) -> None:
    played.host(SHOP)
    session = played.enter("example.com", pages_per_second=0.001, patience=0.5)
    seen = [played.ask(session, played.url(SHOP, f"/{n}"), *TAB)[0] for n in range(6)]
    assert seen == [200, 200, 200, 200, 429, 429]
    assert "is asked too often" in played.last(session).obstacle_why
    assert len(played.asked(SHOP)) == 4
