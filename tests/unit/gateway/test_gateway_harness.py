"""The harness's port of a session, and waiting for unfinished requests that may have side effects."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.gateway.log import RequestLog
from pytest_webarena.gateway.log_entry import Entry
from tests.unit.gateway.conftest import Browser

if TYPE_CHECKING:
    from pytest_webarena.evidence import Unfinished
    from pytest_webarena.gateway.session import GatewaySession
    from tests.unit.gateway.conftest import Seen, World

HOME = "http://homepage.test"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
LONG = 30.0
"""Seconds that no test waits for."""


def post(path: str = "/save", body: str = "milk") -> bytes:
    head = f"POST {HOME}{path} HTTP/1.1\r\nHost: homepage.test\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def harness_browser(session: GatewaySession) -> Browser:
    return Browser(session.harness_port)


def unfinished_requests(session: GatewaySession) -> list[tuple[str, str, str]]:
    return [(each.method, each.url, each.waits_for) for each in session.unfinished]


class SlowSite:
    """A site that answers a request on command."""

    def __init__(self, *answer: bytes) -> None:
        self.go_on = asyncio.Event()
        self.got = threading.Event()
        self.answer = answer or (OK,)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"POST"):
                await reader.readexactly(4)
            self.got.set()
            for part in self.answer[:-1]:
                writer.write(part)
                await writer.drain()
            await self.go_on.wait()
            writer.write(self.answer[-1])
            await writer.drain()


def test_harness_requests_are_distinguished_by_port(world: World) -> None:
    session, site = world.serve()
    world.call(session.set_headers, "homepage.test", {"X-User": "ann"})
    agent, harness = world.browser(session), harness_browser(session)
    assert agent.get(f"{HOME}/page")[0] == harness.get(f"{HOME}/probe")[0] == 200
    assert agent.get("http://other.test/")[0] == harness.get("http://other.test/")[0] == 403
    assert [request.url for request in world.requests(session)] == [f"{HOME}/page", "http://other.test/"]
    assert all("X-User: ann" in seen.fields for seen in site.seen)
    assert session.unsafe == ""
    harness.send(post())
    assert harness.response()[0] == 200
    assert session.unsafe == f"POST {HOME}/save"  # the replica is dirty whether the agent or the harness wrote
    harness.close()


def test_fault_met_by_the_harness_is_an_upstream_error(world: World) -> None:
    session, _ = world.serve(lambda seen: None)
    harness = harness_browser(session)
    assert harness.get(f"{HOME}/probe")[0] == 502
    assert "ended without an answer" in session.upstream_error
    assert world.requests(session) == []
    harness.close()


def test_closing_a_session_ends_both_ports(world: World) -> None:
    session, _ = world.serve()
    harness = harness_browser(session)
    assert harness.get(f"{HOME}/")[0] == 200
    world.run(session.close())
    assert harness.closed()
    for port in (session.port, session.harness_port):
        with pytest.raises(ConnectionRefusedError):
            Browser(port)
    harness.close()


def test_writes_over_waits_for_unfinished_writes(world: World) -> None:
    slow = SlowSite()
    session, _ = world.serve_raw(slow)
    browser = world.browser(session)
    assert world.run(session.wait_for_writes(LONG)) == []
    browser.send(post())
    assert slow.got.wait(10)
    (late,) = world.run(session.wait_for_writes(0.01))
    assert (late.method, late.url, late.waits_for) == ("POST", f"{HOME}/save", "site")

    async def both() -> list[Unfinished]:
        waiting = asyncio.ensure_future(session.wait_for_writes(LONG))
        await asyncio.sleep(0)
        assert not waiting.done()
        slow.go_on.set()
        return await waiting

    assert world.run(both()) == []
    assert world.requests(session)[0].status == 200


def test_writes_over_ignores_reads_and_websockets(world: World) -> None:
    slow = SlowSite()
    session, _ = world.serve_raw(slow)
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n"
    for head in (f"GET {HOME}/poll HTTP/1.1\r\nHost: h\r\n", f"GET {HOME}/live HTTP/1.1\r\nHost: h\r\n{upgrade}"):
        world.browser(session).send(f"{head}\r\n".encode())
    world.until(lambda: session.in_flight == 2)
    assert world.run(session.wait_for_writes(LONG)) == []


def test_unfinished_requests_name_the_side_that_is_awaited(world: World) -> None:
    slow = SlowSite(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh", b"i")
    session, _ = world.serve_raw(slow)
    uploading, answered, harness = world.browser(session), world.browser(session), harness_browser(session)
    uploading.send(post("/upload", "x" * 9)[:-3])
    world.until(lambda: len(session.unfinished) == 1)
    answered.send(post("/answered"))
    assert answered.head().startswith("HTTP/1.1 200")
    harness.send(post("/probe"))
    harness.head()
    assert unfinished_requests(session) == [
        ("POST", f"{HOME}/upload", "browser"),
        ("POST", f"{HOME}/answered", "rest"),
        ("POST", f"{HOME}/probe", "rest"),
    ]
    harness.close()


def test_write_of_a_closed_tab_is_in_flight_until_answered(world: World) -> None:
    """A form is sent and the tab is closed: the site's response is still recorded."""
    slow = SlowSite()
    session, site = world.serve_raw(slow)
    browser = world.browser(session)
    browser.send(post())
    assert slow.got.wait(10)
    browser.close()
    world.until(lambda: not session.connections)
    assert unfinished_requests(session) == [("POST", f"{HOME}/save", "site")]
    world.call(slow.go_on.set)
    assert world.run(session.wait_for_writes(LONG)) == []
    (request,) = world.requests(session)
    assert (request.status, session.upstream_error, session.in_flight) == (200, "", 0)
    assert site.ended.wait(10)


@pytest.mark.parametrize("answer", [b"", b"HTTP/9 nonsense\r\n\r\n"])
def test_site_that_disconnects_after_the_browser_is_not_at_fault(world: World, answer: bytes) -> None:
    got, go_on = threading.Event(), asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"milk")
        got.set()
        await go_on.wait()
        writer.write(answer)

    session, _ = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(post())
    assert got.wait(10)
    browser.close()
    world.until(lambda: not session.connections)
    world.call(go_on.set)
    assert world.run(session.wait_for_writes(LONG)) == []
    (request,) = world.requests(session)
    assert (request.status, session.upstream_error) == (None, "")


def test_closing_a_session_ends_requests_of_closed_tabs(world: World) -> None:
    slow = SlowSite()
    session, site = world.serve_raw(slow)
    browser = world.browser(session)
    browser.send(post())
    assert slow.got.wait(10)
    browser.close()
    world.until(lambda: not session.connections)
    waiting = asyncio.run_coroutine_threadsafe(session.wait_for_writes(LONG), world.loop)
    world.run(session.close())
    assert waiting.result(10) == []
    assert session.in_flight == 0
    assert site.connections == 1


def test_write_arrives_when_its_page_navigates_away(world: World) -> None:
    """The browser disconnects before the gateway has a connection to the site."""
    seen: list[Seen] = []

    def answer(request: Seen) -> bytes:
        seen.append(request)
        return OK

    session, _ = world.serve(answer)
    for _ in range(20):
        browser = world.browser(session)
        browser.send(post())
        browser.close()
    world.until(lambda: len(session.requests()) == 20)
    assert world.run(session.wait_for_writes(LONG)) == []
    assert len(seen) == 20
    assert {request.status for request in world.requests(session)} == {200}


def test_aborted_read_is_awaited_as_unfinished(world: World) -> None:
    slow = SlowSite()
    session, _ = world.serve_raw(slow)
    browser = world.browser(session)
    browser.send(f"GET {HOME}/add HTTP/1.1\r\nHost: homepage.test\r\n\r\n".encode())
    assert slow.got.wait(10)
    browser.close()
    world.until(lambda: not session.connections)
    assert world.run(session.wait_for_writes(LONG)) == []
    (late,) = world.run(session.wait_for_writes(0.01, reads=LONG))
    assert (late.method, late.url, late.waits_for) == ("GET", f"{HOME}/add", "site")
    world.call(slow.go_on.set)
    assert world.run(session.wait_for_writes(LONG, reads=LONG)) == []
    (request,) = world.requests(session)
    assert (request.status, session.upstream_error, session.in_flight) == (200, "", 0)


def test_reads_of_every_origin_are_awaited_until_answered(world: World) -> None:
    """New tabs, downloads and workers, whether or not a page knows of the request."""
    slow = SlowSite()
    session, _ = world.serve_raw(slow)
    head = f"GET {HOME}/report?n=1 HTTP/1.1\r\nHost: homepage.test\r\n\r\n".encode()
    browser = world.browser(session)
    browser.send(head)
    assert slow.got.wait(10)
    assert world.run(session.wait_for_writes(LONG)) == []
    assert world.run(session.wait_for_writes(LONG, reads=1e-9)) == []  # it was there before the action
    (late,) = world.run(session.wait_for_writes(0.01, reads=LONG))
    assert (late.method, late.url, late.waits_for) == ("GET", f"{HOME}/report?n=1", "site")

    async def both() -> list[Unfinished]:
        waiting = asyncio.ensure_future(session.wait_for_writes(LONG, reads=LONG))
        await asyncio.sleep(0)
        assert not waiting.done()
        slow.go_on.set()
        return await waiting

    assert world.run(both()) == []
    assert browser.response()[0] == 200
    world.until(lambda: not session.in_flight)
    slow.go_on.clear()
    slow.got.clear()
    browser.send(head)
    assert slow.got.wait(10)
    assert world.run(session.wait_for_writes(LONG, reads=LONG)) == []  # asked for again, once it was answered: polling
    browser.close()
    other = world.browser(session)
    slow.got.clear()
    other.send(head.replace(b"n=1", b"n=2"))
    assert slow.got.wait(10)
    assert world.run(session.wait_for_writes(0.01, reads=LONG))
    world.call(slow.go_on.set)


def moment_after(entry: Entry) -> float:
    """Return a time after the start of this request."""
    while (now := time.monotonic()) <= entry.started:
        pass
    return now


def test_poll_that_was_running_before_the_action_is_ignored() -> None:
    log = RequestLog(body_limit=1, max_entries=9, max_bytes=999)
    first = log.begin("GET", f"{HOME}/poll?1", "")
    action = moment_after(first)
    log.answered(first, 200)
    log.finish(first)
    log.begin("GET", f"{HOME}/poll?2", "")
    tunnel, fresh = log.begin("CONNECT", "a.test:443", ""), log.begin("GET", f"{HOME}/new", "")
    assert log.reads_unanswered(action) == [fresh]
    log.answered(fresh, 200)  # a stream, which may never end
    assert log.reads_unanswered(action) == []
    assert tunnel.seconds is None


def test_periodic_writes_of_a_page_are_distinguished_from_the_agents() -> None:
    log = RequestLog(body_limit=99, max_entries=99, max_bytes=9999)

    def write(body: bytes, *, over: bool = True) -> Entry:
        entry = log.begin("POST", f"{HOME}/api", "")
        capture = log.capture(entry)
        assert capture is not None
        capture.data += body
        entry.request_bytes = len(body)
        if over:
            log.answered(entry, 200)
            log.finish(entry)
        return entry

    held, _ = write(b"wait", over=False), [write(b"beat") for _ in range(2)]
    first = moment_after(write(b"once"))
    beat, other, once = write(b"beat", over=False), write(b"save", over=False), write(b"once", over=False)
    assert [log.is_page_write(each, first) for each in (held, beat, other, once)] == [True, True, False, False]
    assert not log.is_page_write(beat, log._entries[0].started)  # unknown: it may have been the agent
    log.answered(held, 200)
    log.finish(held)
    assert log.is_page_write(write(b"wait", over=False), first)  # a poll that is held open
    assert not log.is_repeated(other, first)
    for _ in range(2):
        write(b"more")
    assert log.is_repeated(other, first)
    assert not log.is_repeated(other, time.monotonic())


def test_write_retried_after_a_failure_is_not_a_repeated_write() -> None:
    log = RequestLog(body_limit=1, max_entries=9, max_bytes=999)

    def write(status: int | None) -> Entry:
        entry = log.begin("POST", f"{HOME}/save", "")
        if status is not None:
            log.answered(entry, status)
            log.finish(entry)
        return entry

    since = write(503).started
    write(429)
    write(None)  # still open
    waiting = write(None)
    assert not log.is_repeated(waiting, since)
    write(200)
    write(404)
    assert log.is_repeated(waiting, since)


def test_log_knows_the_state_of_an_aborted_request(world: World) -> None:
    """A browser never reports the end of a response that nobody reads."""
    slow = SlowSite()
    session, _ = world.serve_raw(slow)

    def states(path: str, since: float = 0.0) -> list[tuple[str, int | None]]:
        return session.log.answers("GET", f"{HOME}{path}", since)

    assert states("/add") == []
    browser = world.browser(session)
    browser.send(f"GET {HOME}/add HTTP/1.1\r\nHost: homepage.test\r\n\r\n".encode())
    assert slow.got.wait(10)
    assert states("/add") == [("open", None)]
    world.call(slow.go_on.set)
    assert browser.response()[0] == 200
    world.until(lambda: not session.in_flight)
    assert states("/add") == [("whole", 200)]
    assert states("/add", time.time() + 60) == []
    assert world.browser(session).get("http://other.test/")[0] == 403
    assert session.log.answers("GET", "http://other.test/", 0.0) == [("own", 403)]


def test_log_distinguishes_unread_and_cut_responses(world: World) -> None:
    session, _ = world.serve(lambda seen: b"HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\n\r\n" + bytes(50_000_000))
    browser = world.browser(session)
    browser.send(f"GET {HOME}/much HTTP/1.1\r\nHost: homepage.test\r\n\r\n".encode())

    def states() -> list[tuple[str, int | None]]:
        return session.log.answers("GET", f"{HOME}/much", 0.0)

    world.until(lambda: states() == [("unread", 200)])
    browser.close()
    world.until(lambda: states() == [("cut", 200)])


@pytest.mark.parametrize(
    ("method", "statuses", "news"),
    [
        ("GET", (200, 200), 1),  # polling
        ("GET", (503, 503), 1),
        ("POST", (200, 200), 1),  # a heartbeat
        ("POST", (503, 503, 200, 200), 3),  # tried again
        ("POST", (429, 200, 200), 2),
    ],
)
def test_only_new_responses_count_as_news(world: World, method: str, statuses: tuple[int, ...], news: int) -> None:
    answers = iter(statuses)
    session, _ = world.serve(lambda seen: OK.replace(b"200 OK", f"{next(answers)} X".encode()))
    browser, seen = world.browser(session), {session.log.last_relevant_answer}
    for number, status in enumerate(statuses):
        head = f"{method} {HOME}/beat?{number} HTTP/1.1\r\nHost: homepage.test\r\nContent-Length: 0\r\n\r\n"
        browser.send(head.encode())
        assert browser.response()[0] == status
        world.until(lambda: not session.in_flight)
        seen.add(session.log.last_relevant_answer)
    assert len(seen) - 1 == news
    assert browser.get("http://other.test/")[0] == 403  # it did not reach a site
    assert session.log.last_relevant_answer in seen


def test_quiet_time_is_awaited_only_after_news(world: World) -> None:
    session, _ = world.serve()
    assert world.run(session.wait_for_writes(LONG, quiet=LONG)) == []
    world.browser(session).get(f"{HOME}/page")
    assert world.run(session.wait_for_writes(0.01, quiet=LONG)) == []  # at most

    async def waits() -> bool:
        waiting = asyncio.ensure_future(session.wait_for_writes(LONG, quiet=LONG))
        await asyncio.wait([waiting], timeout=0.05)
        return waiting.cancel()

    assert world.run(waits())


def test_request_that_ends_after_the_wait_counts_as_news(world: World) -> None:
    """Even if the same request was made before."""
    slow = SlowSite()
    session, _ = world.serve_raw(slow)
    slow.go_on.set()
    browser = world.browser(session)
    browser.send(post())
    assert browser.response()[0] == 200
    world.until(lambda: not session.in_flight)
    news = session.log.last_relevant_answer
    slow.go_on.clear()
    slow.got.clear()
    browser.send(post())
    assert slow.got.wait(10)

    async def waits() -> bool:
        waiting = asyncio.ensure_future(session.wait_for_writes(LONG, quiet=LONG))
        await asyncio.sleep(0)
        slow.go_on.set()
        while session.unfinished:
            await asyncio.sleep(0)
        await asyncio.wait([waiting], timeout=0.05)
        return waiting.cancel()

    assert world.run(waits())
    assert session.log.last_relevant_answer == news
