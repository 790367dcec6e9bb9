"""The request log of a session: recorded requests, limits, and requests with possible side effects."""

from __future__ import annotations

import asyncio
import base64
import gzip
import time
import zlib
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.evidence import Unrecorded
from pytest_webarena.gateway import log

if TYPE_CHECKING:
    from tests.unit.gateway.conftest import World

HOME = "http://homepage.test"


def post(world: World, body: bytes, *, body_limit: int = 65536) -> str | None:
    """The logged body of a POST of ``body``."""
    session, _ = world.serve(body_limit=body_limit)
    client = world.http(session)
    client.request("POST", f"{HOME}/", body=body)
    assert client.getresponse().read() == body or not body
    (record,) = world.requests(session)
    assert record.request_bytes == len(body)
    return record.request_body


def test_exchange_is_recorded_with_all_fields(world: World) -> None:
    session, _ = world.serve(
        lambda _: b"HTTP/1.1 201 Created\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 5\r\n\r\nsaved"
    )
    before = time.time()
    browser = world.browser(session)
    browser.send(
        f"POST {HOME}/notes?x=1 HTTP/1.1\r\nHost: homepage.test\r\nProxy-Connection: keep-alive\r\nX-Space:  a \r\n"
        "Content-Length: 10\r\n\r\ntitle=Milk".encode()
    )
    browser.response()
    (record,) = world.requests(session)
    assert before <= record.time <= time.time()
    assert (record.method, record.url, record.status, record.refused) == ("POST", f"{HOME}/notes?x=1", 201, "")
    assert record.request_headers == (
        ("Host", "homepage.test"),
        ("Proxy-Connection", "keep-alive"),
        ("X-Space", "a"),
        ("Content-Length", "10"),
    )
    assert record.response_headers == (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Content-Length", "5"))
    assert (record.request_body, record.request_bytes, record.response_bytes) == ("title=Milk", 10, 5)
    assert 0 < record.seconds < 10


def test_body_bytes_are_counted_without_their_framing(world: World) -> None:
    session, _ = world.serve(
        lambda _: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;x=y\r\nyou\r\n0\r\nA: b\r\n\r\n"
    )
    client = world.http(session)
    client.request("POST", f"{HOME}/", body=iter([b"ab", b"cde"]), encode_chunked=True)
    assert client.getresponse().read() == b"hiyou"
    (record,) = world.requests(session)
    assert (record.request_body, record.request_bytes, record.response_bytes) == ("abcde", 5, 5)


@pytest.mark.parametrize(
    ("body", "logged"),
    [
        (b"", None),
        (b"plain", "plain"),
        ("grüße".encode(), "grüße"),
        (b"\xff\xfe", "base64:" + base64.b64encode(b"\xff\xfe").decode()),
        (b"nul\0", "base64:" + base64.b64encode(b"nul\0").decode()),
        (b"base64:aGk=", "base64:" + base64.b64encode(b"base64:aGk=").decode()),
    ],
)
def test_body_is_text_or_base64(world: World, body: bytes, logged: str | None) -> None:
    assert post(world, body) == logged


def test_long_body_is_truncated_between_characters(world: World) -> None:
    assert post(world, b"x" * 200_000) == "x" * 65536
    assert post(world, "üüü".encode(), body_limit=3) == "ü"
    assert post(world, b"\xff" * 10, body_limit=3) == "base64:" + base64.b64encode(b"\xff" * 3).decode()
    assert post(world, b"hello", body_limit=0) is None


def test_requests_are_recorded_in_order_and_without_status_in_flight(world: World) -> None:
    go_on = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if b"/slow" in await reader.readuntil(b"\r\n\r\n"):
            await go_on.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    session, site = world.serve_raw(handler)
    slow = world.browser(session)
    slow.send(f"GET {HOME}/slow HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    world.until(lambda: site.connections == 1)
    world.browser(session).get(f"{HOME}/fast")
    assert [(record.url, record.status) for record in world.requests(session)] == [
        (f"{HOME}/slow", None),
        (f"{HOME}/fast", 200),
    ]
    assert session.in_flight == 1
    world.call(go_on.set)
    slow.response()
    assert [record.status for record in world.requests(session)] == [200, 200]
    world.until(lambda: session.in_flight == 0)


def test_refused_requests_record_the_reason(world: World) -> None:
    session, _ = world.serve()
    world.browser(session).get("http://example.com/x")
    malformed = world.browser(session)
    malformed.send(f"GET {HOME}/y HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".encode())
    malformed.response()
    garbage = world.browser(session)
    garbage.send(b"\x16\x03\x01 a b\r\n\r\n")
    garbage.response()
    assert [(record.method, record.url, record.status, record.refused) for record in world.requests(session)] == [
        ("GET", "http://example.com/x", 403, "example.com is not one of this task's sites"),
        ("GET", f"{HOME}/y", 400, "expected one Host field, found 2"),
        ("", "", 400, "expected plain HTTP/1.1, found other bytes (TLS is not spoken here)"),
    ]
    assert world.totals(session).refused == 3


@pytest.mark.parametrize("at_once", [True, False])
def test_body_of_a_refused_upload_is_recorded(world: World, at_once: bool) -> None:
    session, _ = world.serve()
    browser = world.browser(session)
    head = b"POST http://example.com/form HTTP/1.1\r\nHost: example.com\r\nContent-Length: 9\r\n\r\n"
    if at_once:
        browser.send(head + b"name=Emma")
        assert browser.response()[0] == 403
    else:
        browser.send(head)
        assert browser.response()[0] == 403
        browser.send(b"name=")
        browser.send(b"Emma")
    world.until(lambda: session.requests()[0].request_bytes == 9)
    (record,) = world.requests(session)
    assert (record.status, record.request_body, record.body_cut) == (403, "name=Emma", False)


def reply(content: bytes, *fields: str) -> bytes:
    """Return a response with a body, in one chunk if it is chunked."""
    chunked = "Transfer-Encoding: chunked" in fields
    head = "\r\n".join(["HTTP/1.1 200 OK", *fields, *([] if chunked else [f"Content-Length: {len(content)}"])])
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content) if chunked else content
    return head.encode() + b"\r\n\r\n" + body


JSON = "Content-Type: application/json; charset=utf-8"
TEXT = '{"name": "Grüße"}'


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (reply(TEXT.encode(), JSON), TEXT),
        (reply(TEXT.encode(), JSON.lower(), "Transfer-Encoding: chunked"), TEXT),
        (reply(gzip.compress(TEXT.encode()), JSON, "Content-Encoding: gzip"), TEXT),
        (reply(zlib.compress(TEXT.encode()), JSON, "Content-Encoding: deflate"), TEXT),
        (b"HTTP/1.1 200 OK\r\n%s\r\nConnection: close\r\n\r\n[1]" % JSON.encode(), "[1]"),
        (reply(TEXT.encode(), JSON, "Content-Encoding: br"), None),
        (reply(b"\xff", JSON), None),
        (reply(b"no gzip", JSON, "Content-Encoding: gzip"), None),
        (reply(TEXT.encode(), "Content-Type: text/html"), None),
        (reply(TEXT.encode(), "X-Type: application/json"), None),
        (reply(b'"' + b"x" * 300 + b'"', JSON), None),
        (b"HTTP/1.1 204 No Content\r\n%s\r\n\r\n" % JSON.encode(), None),
    ],
)
def test_json_responses_are_kept_whole_or_not_at_all(world: World, answer: bytes, kept: str | None) -> None:
    session, _ = world.serve(lambda _: answer, body_limit=200)
    browser = world.browser(session)
    browser.send(f"GET {HOME}/x HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    browser.head()
    world.until(lambda: not session.in_flight)
    (record,) = world.requests(session)
    assert record.response_body == kept


def test_log_is_limited_in_entries(world: World) -> None:
    session, _ = world.serve(max_entries=3)
    browser = world.browser(session)
    for index in range(5):
        browser.get(f"{HOME}/{index}")
    browser.send(f"POST {HOME}/p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nmilk".encode())
    browser.response()
    assert [record.url[-2:] for record in world.requests(session)] == ["/0", "/1", "/2"]
    totals = world.totals(session)
    assert (totals.requests, totals.unrecorded, totals.refused) == (6, 3, 0)
    assert (totals.request_bytes, totals.response_bytes) == (4, 14)
    # The reset decision does not depend on the log.
    assert session.unsafe == f"POST {HOME}/p"


def test_log_is_limited_in_bytes(world: World) -> None:
    session, _ = world.serve(max_log_bytes=10_000, body_limit=4_000)
    browser = world.browser(session)
    for _ in range(6):
        browser.send(f"POST {HOME}/ HTTP/1.1\r\nHost: h\r\nContent-Length: 4000\r\n\r\n{'x' * 4000}".encode())
        browser.response()
    kept = world.requests(session)
    assert 2 <= len(kept) <= 3
    assert sum(len(record.request_body or "") for record in kept) <= 10_000
    assert world.totals(session).unrecorded == 6 - len(kept)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE"])
def test_safe_methods_are_not_unsafe(world: World, method: str) -> None:
    session, _ = world.serve(lambda _: b"HTTP/1.1 204 No Content\r\n\r\n")
    client = world.http(session)
    client.request(method, f"{HOME}/")
    client.getresponse().read()
    assert session.unsafe == ""


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_body_makes_any_method_unsafe(world: World, method: str) -> None:
    session, _ = world.serve(lambda _: b"HTTP/1.1 204 No Content\r\n\r\n")
    client = world.http(session)
    client.request(method, f"{HOME}/notes", body=b"delete=1")
    client.getresponse().read()
    assert session.unsafe == f"{method} with a body {HOME}/notes"


def test_get_with_method_override_is_unsafe(world: World) -> None:
    session, _ = world.serve()
    world.browser(session).get(f"{HOME}/notes/1", "X-HTTP-Method-Override: DELETE")
    assert session.unsafe == f"GET as another method {HOME}/notes/1"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PROPFIND", "get", "X"])
def test_writing_methods_are_unsafe(world: World, method: str) -> None:
    session, _ = world.serve(lambda _: b"HTTP/1.1 204 No Content\r\n\r\n")
    client = world.http(session)
    client.request(method, f"{HOME}/notes")
    client.getresponse().read()
    assert session.unsafe == f"{method} {HOME}/notes"


def test_each_site_has_its_own_first_unsafe_request(world: World) -> None:
    session, site = world.serve()
    world.route(session, site.port, "wikipedia.test")
    client = world.http(session)
    for method, url in [("GET", HOME), ("PUT", f"{HOME}/1"), ("POST", f"{HOME}/2"), ("GET", "http://wikipedia.test/")]:
        client.request(method, url)
        client.getresponse().read()
    assert session.unsafe_hosts == {"homepage.test": f"PUT {HOME}/1"}


def test_unsafe_request_counts_before_its_response(world: World) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    session, site = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(f"POST {HOME}/ HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n".encode())
    world.until(lambda: site.connections == 1)
    assert session.unsafe == f"POST {HOME}/"


def test_many_reads_leave_log_entries_for_writes(world: World) -> None:
    session, _ = world.serve(max_entries=8)
    client = world.http(session)
    for number in range(20):
        client.request("GET", f"{HOME}/page?{number}")
        client.getresponse().read()
    for number in range(3):
        client.request("POST", f"{HOME}/notes", body=f"title={number}")
        client.getresponse().read()
    kept = [(record.method, record.request_body) for record in world.requests(session)]
    assert kept == [("GET", None)] * 6 + [("POST", "title=0"), ("POST", "title=1")]
    missing = [
        Unrecorded(method="GET", url=f"{HOME}/page", count=14),
        Unrecorded(method="POST", url=f"{HOME}/notes", count=1),
    ]
    assert world.call(session.unrecorded) == missing
    assert world.totals(session).unrecorded == 15


def test_many_reads_leave_log_bytes_for_writes(world: World) -> None:
    session, _ = world.serve(max_log_bytes=4000)
    client = world.http(session)
    for _ in range(40):
        client.request("GET", f"{HOME}/{'x' * 300}")
        client.getresponse().read()
    client.request("POST", f"{HOME}/notes", body="title=Tea")
    client.getresponse().read()
    last = world.requests(session)[-1]
    assert (last.method, last.request_body) == ("POST", "title=Tea")
    assert [each.method for each in world.call(session.unrecorded)] == ["GET"]


def test_unrecorded_requests_are_counted_by_url_within_limits(world: World) -> None:
    session, _ = world.serve(max_entries=0)
    client = world.http(session)
    for number in range(1200):
        client.request("GET", f"{HOME}/{number}")
        client.getresponse().read()
    client.request("BREW", f"{HOME}/{'x' * 3000}")
    client.getresponse().read()
    client.request("GET", "http://elsewhere.test/")
    client.getresponse().read()
    client.request("CONNECT", "elsewhere.test:443")
    client.getresponse().read()
    missing = world.call(session.unrecorded)
    assert sum(each.count for each in missing if not each.refused) == 1201
    assert sum(each.count for each in missing if each.refused) == 2
    assert Unrecorded(method="CONNECT", url="", count=1, refused=True) in missing
    assert Unrecorded(method="GET", url="", count=200) in missing
    assert Unrecorded(method="", url="", count=1) in missing


def test_responses_of_the_gateway_itself_are_known(world: World) -> None:
    answers = iter([b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"])
    session, _ = world.serve(lambda _: next(answers))
    browser = world.browser(session)
    assert browser.get(f"{HOME}/a")[0] == 502
    assert "homepage.test (served by" in world.call(session.own_answer, f"{HOME}/a")
    assert world.call(session.own_answer, f"{HOME}/b") == ""
    browser = world.browser(session)
    assert browser.get("http://elsewhere.test/")[0] == 403
    assert "not one of this task's sites" in world.call(session.own_answer, "http://elsewhere.test/")
    assert browser.get(f"{HOME}/a")[0] == 200
    assert world.call(session.own_answer, f"{HOME}/a") == ""  # the site has answered since


@pytest.mark.parametrize(("status", "doubtful"), [(200, False), (404, False), (500, True)])
def test_server_error_makes_the_session_doubtful(world: World, status: int, doubtful: bool) -> None:
    session, _ = world.serve(lambda _: f"HTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n".encode())
    world.browser(session).get(f"{HOME}/")
    assert world.call(lambda: session.doubtful) is doubtful


def test_missing_response_makes_the_session_doubtful(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read()

    session, _ = world.serve_raw(silent)
    browser = world.browser(session)
    browser.send(f"GET {HOME}/ HTTP/1.1\r\nHost: homepage.test\r\n\r\n".encode())
    world.until(asked.is_set)
    assert not world.call(lambda: session.doubtful)
    monkeypatch.setattr(log, "_SLOW", 0.0)
    assert world.call(lambda: session.doubtful)  # it is awaited
    browser.close()
    world.until(lambda: session.in_flight == 0)
    monkeypatch.setattr(log, "_SLOW", 3600.0)
    assert world.call(lambda: session.doubtful)  # the browser has given up
