"""Sites that start with the first request, and shared sites that are read-only."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.gateway.pages import COMING
from pytest_webarena.gateway.upstream import NotAvailable
from tests.unit.gateway.conftest import Browser

if TYPE_CHECKING:
    from pytest_webarena.gateway.session import GatewaySession
    from tests.unit.gateway.conftest import World

WIKI = "http://wiki.test/"
PAGE = "Accept: text/html,application/xhtml+xml"


class StartingReplica:
    """A replica that arrives on command."""

    def __init__(self, world: World) -> None:
        self.asked = 0
        self.world = world
        self.there: asyncio.Future[tuple[str, int]] = world.call(world.loop.create_future)

    async def __call__(self) -> tuple[str, int]:
        self.asked += 1
        return await asyncio.shield(self.there)

    def come(self, port: int) -> None:
        self.world.call(self.there.set_result, ("127.0.0.1", port))

    def stay_away(self, why: str) -> None:
        self.world.call(self.there.set_exception, NotAvailable(why))


def session_with_starting_site(world: World, **options: float) -> tuple[GatewaySession, StartingReplica]:
    session, coming = world.session(**options), StartingReplica(world)
    world.call(session.route, "wiki.test", "", 0, arrival=coming)
    return session, coming


def test_first_request_starts_the_site_and_waits_for_it(world: World) -> None:
    session, coming = session_with_starting_site(world)
    assert coming.asked == 0
    browser = world.browser(session)
    browser.send(f"GET {WIKI}page HTTP/1.1\r\nHost: wiki.test\r\n{PAGE}\r\n\r\n".encode())
    world.until(lambda: coming.asked == 1)
    coming.come(world.site().port)
    assert browser.response()[::2] == (200, b"/page")
    assert world.browser(session).get(f"{WIKI}again")[::2] == (200, b"/again")
    assert coming.asked == 1
    assert session.visited_hosts == {"wiki.test"}


def test_page_request_gets_a_refresh_while_the_site_starts(world: World) -> None:
    session, coming = session_with_starting_site(world, hold=0.05)
    status, head, body = world.browser(session).get(f"{WIKI}page", PAGE)
    assert (status, COMING in body.decode(), "Refresh: 1" in head) == (503, True, True)
    assert COMING in world.call(session.own_answer, f"{WIKI}page")
    coming.come(world.site().port)
    assert world.browser(session).get(f"{WIKI}page", PAGE)[::2] == (200, b"/page")
    assert world.call(session.own_answer, f"{WIKI}page") == ""


def test_subresource_request_waits_until_the_site_has_started(world: World) -> None:
    session, coming = session_with_starting_site(world, hold=0.05)
    page, picture = world.browser(session), world.browser(session)
    picture.send(f"GET {WIKI}logo HTTP/1.1\r\nHost: wiki.test\r\nAccept: image/png\r\n\r\n".encode())
    assert page.get(f"{WIKI}page", PAGE)[0] == 503  # later than the picture's request would have been put off
    coming.come(world.site().port)
    assert picture.response()[::2] == (200, b"/logo")


def test_site_that_fails_to_start_is_an_upstream_error(world: World) -> None:
    session, coming = session_with_starting_site(world)
    coming.stay_away("its image is missing")
    status, _, body = world.browser(session).get(WIKI)
    assert status == 502
    assert "its image is missing" in body.decode()
    assert "its image is missing" in session.upstream_error


def test_harness_request_does_not_start_a_site(world: World) -> None:
    session, coming = session_with_starting_site(world)
    browser = Browser(session.harness_port)
    status, _, body = browser.get(WIKI)
    browser.close()
    assert (status, coming.asked, session.visited_hosts) == (403, 0, set())
    assert "nor visited so far" in body.decode()


WRITES = {
    "a form": "POST /edit HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
    "another method": "GET /edit HTTP/1.1\r\nX-HTTP-Method-Override: PUT\r\n\r\n",
    "a body": "GET /edit HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
    "beside what reads": "POST /edit/search/ HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
    "led past it by dots": "POST /search/../edit HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
    "led past it by an escape": "POST /search/%2e%2e/edit HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
}


@pytest.mark.parametrize("name", WRITES)
def test_write_to_a_shared_site_is_refused_and_recorded(world: World, name: str) -> None:
    session, site = world.session(), world.site()
    world.route(session, site.port, "wiki.test", reads=("/search/",))
    browser = world.browser(session)
    line, _, rest = WRITES[name].partition("\r\n")
    method, path, version = line.split()
    browser.send(f"{method} http://wiki.test{path} {version}\r\nHost: wiki.test\r\n{rest}".encode())
    status, _, body = browser.response()
    assert status == 403
    assert "can&#x27;t be changed" in body.decode()
    assert site.seen == []
    (record,) = world.requests(session)
    assert (record.method, record.status, "shared by all" in record.refused) == (method, 403, True)
    assert session.unsafe_hosts == {}


def test_websocket_to_a_shared_site_is_refused(world: World) -> None:
    session, site = world.session(), world.site()
    world.route(session, site.port, "wiki.test", reads=())
    head = f"GET {WIKI} HTTP/1.1\r\nHost: wiki.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    browser = world.browser(session)
    browser.send(f"{head}Sec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
    assert browser.response()[0] == 403
    assert site.seen == []


def test_reads_and_declared_reads_pass_to_a_shared_site(world: World) -> None:
    session, site = world.session(), world.site()
    world.route(session, site.port, "wiki.test", reads=("/search/",))
    browser = world.browser(session)
    assert browser.get(f"{WIKI}page")[0] == 200
    browser.send(b"POST http://wiki.test/search/rye?x=1 HTTP/1.1\r\nHost: wiki.test\r\nContent-Length: 1\r\n\r\nx")
    assert browser.response()[0] == 200
    assert [seen.method for seen in site.seen] == ["GET", "POST"]


def test_harness_may_write_to_a_shared_site(world: World) -> None:
    session, site = world.session(), world.site()
    world.route(session, site.port, "wiki.test", reads=())
    browser = Browser(session.harness_port)
    browser.send(b"POST http://wiki.test/signin HTTP/1.1\r\nHost: wiki.test\r\nContent-Length: 1\r\n\r\nx")
    assert browser.response()[0] == 200
    browser.close()
