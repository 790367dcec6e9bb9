"""Refused requests: foreign addresses and malformed or ambiguous messages."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.gateway.conftest import World

HOME = "http://homepage.test"


def request(*fields: str, line: str = f"POST {HOME}/ HTTP/1.1", body: str = "") -> bytes:
    return "\r\n".join([line, "Host: homepage.test", *fields, "", body]).encode("latin-1")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://example.com/", "example.com is not one of this task&#x27;s sites"),
        ("http://127.0.0.1/", "127.0.0.1 is not one of"),
        ("http://127.0.0.1:8080/", "127.0.0.1 is not one of"),
        ("http://localhost/", "localhost is not one of"),
        ("http://[::1]/", "[::1] is not one of"),
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is not one of"),
        ("http://homepage.test.example.com/", "homepage.test.example.com is not one of"),
        ("http://homepage.test./", "homepage.test. is not one of"),
        ("http://homepage.test:8080/", "port 8080 of homepage.test is not served (port 80 is)"),
        ("https://homepage.test/", "port 443 of homepage.test is not served (port 80 is)"),
        ("ftp://homepage.test/", "ftp:// addresses are not served"),
        ("file://homepage.test/etc/passwd", "file:// addresses are not served"),
    ],
)
def test_foreign_addresses_are_refused_with_a_page(
    world: World, monkeypatch: pytest.MonkeyPatch, url: str, says: str
) -> None:
    def looked_up(*args: object) -> None:
        raise AssertionError(f"looked up {args[0]!r}")

    session, site = world.serve()
    browser = world.browser(session)
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    status, head, body = browser.get(url)
    assert status == 403
    assert "Server: pytest-webarena-gateway" in head
    assert "Content-Type: text/html" in head
    assert says in body.decode()
    assert '<a href="http://homepage.test/">' in body.decode()
    assert site.connections == 0
    # A page full of foreign references must not cost a connection each.
    monkeypatch.undo()
    assert browser.get(f"{HOME}/")[0] == 200
    assert [record.status for record in world.requests(session)] == [403, 200]
    assert session.unsafe == ""


def test_refusal_page_lists_sites_and_escapes_the_request(world: World) -> None:
    session, _ = world.serve()
    world.route(session, 1, "gitlab.test", port=8023)
    browser = world.browser(session)
    browser.send(b"GET ftp://<script>alert(1)</script>/ HTTP/1.1\r\nHost: x\r\n\r\n")
    page = browser.response()[2].decode()
    assert "http://gitlab.test:8023/" in page
    assert "http://homepage.test/" in page
    assert "<script>" not in page


def test_refused_head_request_has_no_body(world: World) -> None:
    session, _ = world.serve()
    browser = world.browser(session)
    browser.send(b"HEAD http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
    assert browser.response(body=False)[0] == 403
    assert browser.get(f"{HOME}/")[0] == 200


def test_refused_upload_gets_a_response(world: World) -> None:
    session, _ = world.serve()
    browser = world.browser(session)
    size = 8 * 1024 * 1024
    browser.send(f"POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: {size}\r\n\r\n".encode())
    # Sent without looking for an answer first, as simple clients do.
    browser.send(bytes(size))
    status, head, _ = browser.response()
    assert status == 403
    assert "Connection: close" in head
    assert browser.closed()
    assert session.unsafe == ""


def test_preflight_is_allowed_so_that_the_refused_request_is_recorded(world: World) -> None:
    session, _ = world.serve()
    browser = world.browser(session)
    asked = (
        "Origin: http://homepage.test",
        "Access-Control-Request-Method: PUT",
        "Access-Control-Request-Headers: x-a",
    )
    browser.send(request(*asked, line="OPTIONS http://example.com/x HTTP/1.1"))
    status, head, _ = browser.response(body=False)
    assert status == 204
    assert "Access-Control-Allow-Origin: http://homepage.test\r\n" in head
    assert "Access-Control-Allow-Methods: PUT\r\nAccess-Control-Allow-Headers: x-a" in head
    browser.send(request("X-A: 1", "Content-Length: 6", line="PUT http://example.com/x HTTP/1.1", body="secret"))
    assert browser.response()[0] == 403
    records = world.requests(session)
    assert [(each.method, each.status, bool(each.refused), each.request_body) for each in records] == [
        ("OPTIONS", 204, True, None),
        ("PUT", 403, True, "secret"),
    ]
    assert session.unsafe == ""


def test_opening_the_proxy_port_explains_its_use(world: World) -> None:
    session, _ = world.serve()
    browser = world.browser(session)
    browser.send(b"GET /notes HTTP/1.1\r\nHost: 127.0.0.1:4321\r\n\r\n")
    status, _, body = browser.response()
    assert status == 400
    assert "This is a forward proxy" in body.decode()
    assert "set this address as the HTTP proxy of the browser" in body.decode()


MALFORMED: list[tuple[str, bytes, int, str]] = [
    ("no version", b"GET http://homepage.test/\r\n\r\n", 400, "METHOD http://host/path HTTP/1.1"),
    ("version 2", b"GET http://homepage.test/ HTTP/2.0\r\nHost: h\r\n\r\n", 505, "HTTP/2.0"),
    ("http/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP/2.0"),
    ("version 0.9", b"GET http://homepage.test/ HTTP/0.9\r\n\r\n", 505, "HTTP/0.9"),
    ("two spaces", request(line=f"GET  {HOME}/ HTTP/1.1"), 400, "METHOD"),
    ("tab", request(line=f"GET\t{HOME}/ HTTP/1.1"), 400, "METHOD"),
    ("space in target", request(line=f"GET {HOME}/a b HTTP/1.1"), 400, "METHOD"),
    ("trailing space", request(line=f"GET {HOME}/ HTTP/1.1 "), 400, "METHOD"),
    ("bytes above ascii in target", request(line=f"GET {HOME}/caf\xe9 HTTP/1.1"), 400, "METHOD"),
    ("fragment", request(line=f"GET {HOME}/#x HTTP/1.1"), 400, "http://host/path"),
    ("user name", request(line="GET http://a:b@homepage.test/ HTTP/1.1"), 400, "user name"),
    ("user name hides host", request(line="GET http://homepage.test@example.com/ HTTP/1.1"), 400, "user name"),
    ("backslash", request(line="GET http:\\\\homepage.test\\ HTTP/1.1"), 400, "starts with http://"),
    ("no host", request(line="GET http:/// HTTP/1.1"), 400, "http://host/path"),
    ("port out of range", request(line="GET http://homepage.test:999999/ HTTP/1.1"), 400, "http://host/path"),
    ("escaped host", request(line="GET http://homepage%2etest/ HTTP/1.1"), 400, "http://host/path"),
    ("asterisk", request(line="OPTIONS * HTTP/1.1"), 400, "forward proxy"),
    ("method with a slash", request(line=f"GE/T {HOME}/ HTTP/1.1"), 400, "METHOD"),
    ("tls", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "TLS"),
    ("lf only", b"GET http://homepage.test/ HTTP/1.1\nHost: homepage.test\n\n", 400, "CRLF"),
    ("lf in the fields", request("A: b\nC: d"), 400, "CRLF"),
    ("cr in the fields", request("A: b\rC: d"), 400, "CRLF"),
    ("cr before the end", b"GET http://homepage.test/ HTTP/1.1\r\nHost: h\r\r\n\r\n", 400, "CRLF"),
    ("nul", request("A: b\0c"), 400, "Name: value"),
    ("vertical tab", request("A: b\x0bc"), 400, "Name: value"),
    ("folded line", request("A: b", " c"), 400, "folded"),
    ("folded first line", b"GET http://homepage.test/ HTTP/1.1\r\n Host: h\r\n\r\n", 400, "folded"),
    ("space before the colon", request("Content-Length : 4", body="body"), 400, "Name: value"),
    ("no colon", request("Content-Length"), 400, "Name: value"),
    ("no name", request(": x"), 400, "Name: value"),
    ("name with a byte above ascii", request("X-\xe9: x"), 400, "Name: value"),
    ("no Host", b"GET http://homepage.test/ HTTP/1.1\r\n\r\n", 400, "one Host"),
    ("two Hosts", request("Host: homepage.test"), 400, "one Host"),
    ("two Hosts in HTTP/1.0", request("Host: a", line=f"GET {HOME}/ HTTP/1.0"), 400, "one Host"),
    ("bad Host", b"GET http://homepage.test/ HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "in Host"),
    ("empty Host", b"GET http://homepage.test/ HTTP/1.1\r\nHost:\r\n\r\n", 400, "in Host"),
    ("both lengths", request("Content-Length: 4", "Transfer-Encoding: chunked"), 400, "both"),
    ("both lengths, other order", request("Transfer-Encoding: chunked", "Content-Length: 4"), 400, "both"),
    ("two lengths", request("Content-Length: 4", "Content-Length: 5"), 400, "more than one Content-Length"),
    ("equal lengths", request("Content-Length: 4", "content-length: 4"), 400, "more than one Content-Length"),
    ("list of lengths", request("Content-Length: 4, 4"), 400, "number of bytes"),
    ("negative length", request("Content-Length: -1"), 400, "number of bytes"),
    ("length with a sign", request("Content-Length: +4"), 400, "number of bytes"),
    ("hex length", request("Content-Length: 0x4"), 400, "number of bytes"),
    ("empty length", request("Content-Length:"), 400, "number of bytes"),
    ("length with an underscore", request("Content-Length: 1_0"), 400, "number of bytes"),
    ("length in other digits", request("Content-Length: \xb2"), 400, "number of bytes"),
    ("huge length", request("Content-Length: " + "9" * 30), 400, "number of bytes"),
    ("unknown coding", request("Transfer-Encoding: gzip"), 501, "chunked"),
    ("coding list", request("Transfer-Encoding: gzip, chunked"), 501, "chunked"),
    ("coding twice", request("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), 400, "more than one"),
    ("coding list twice", request("Transfer-Encoding: chunked, chunked"), 501, "chunked"),
    ("quoted coding", request('Transfer-Encoding: "chunked"'), 501, "chunked"),
    ("coding with a vertical tab", request("Transfer-Encoding: \x0bchunked"), 400, "Name: value"),
    ("coding with nbsp", request("Transfer-Encoding: \xa0chunked"), 501, "chunked"),
    ("coding in HTTP/1.0", request("Transfer-Encoding: chunked", line=f"POST {HOME}/ HTTP/1.0"), 400, "HTTP/1.0"),
    ("length named in Connection", request("Connection: Content-Length", "Content-Length: 4"), 400, "Connection"),
    ("coding named in Connection", request("Connection: close, transfer-encoding"), 400, "Connection"),
    ("Host named in Connection", request("Connection: host"), 400, "Connection"),
    ("unknown expectation", request("Expect: a-pony"), 417, "100-continue"),
    ("too much head", request("A: " + "x" * 200_000), 431, "bytes of header"),
    ("endless head", b"GET http://homepage.test/" + b"x" * 200_000, 431, "bytes of header"),
]


@pytest.mark.parametrize(
    ("raw", "status", "says"), [case[1:] for case in MALFORMED], ids=[case[0] for case in MALFORMED]
)
def test_malformed_requests_are_refused_and_end_the_connection(
    world: World, raw: bytes, status: int, says: str
) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    browser.send(raw)
    # The next bytes could be read as a body or as a request: both must be refused.
    with contextlib.suppress(OSError):
        browser.send(b"GET http://homepage.test/smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
    got, head, body = browser.response()
    assert (got, says in body.decode()) == (status, True), body.decode()
    assert head.startswith("HTTP/1.1")
    assert browser.closed()
    record = world.requests(session)[0]
    assert (record.status, bool(record.refused)) == (status, True)
    assert len(world.requests(session)) == 1
    assert site.connections == 0
    assert session.unsafe == ""


BAD_CHUNKS: dict[str, bytes] = {
    "no size": b"\r\nhello\r\n0\r\n\r\n",
    "not hex": b"g\r\n",
    "sign": b"+5\r\nhello\r\n0\r\n\r\n",
    "prefix": b"0x5\r\nhello\r\n0\r\n\r\n",
    "underscore": b"1_0\r\nhello",
    "leading space": b" 5\r\nhello\r\n0\r\n\r\n",
    "trailing space": b"5 \r\nhello\r\n0\r\n\r\n",
    "lf after size": b"5\nhello\r\n0\r\n\r\n",
    "cr in extension": b"5;a\rb\r\nhello\r\n0\r\n\r\n",
    "lf in extension": b"5;a\nb\r\nhello\r\n0\r\n\r\n",
    "nul in extension": b"5;a\0b\r\nhello\r\n0\r\n\r\n",
    "size too large": b"FFFFFFFFFFFFFFFFF\r\n",
    "data too long": b"5\r\nhello!\r\n0\r\n\r\n",
    "lf after data": b"5\r\nhello\n0\r\n\r\n",
    "anything after data": b"5\r\nhello" + b"x" * 50,
    "trailer without colon": b"0\r\nTrailer\r\n\r\n",
    "folded trailer": b"0\r\nA: b\r\n c\r\n\r\n",
    "lf in trailer": b"0\r\nA: b\nC: d\r\n\r\n",
    "lf at the end": b"0\r\n\n",
    "endless extension": b"5;" + b"x" * 10_000,
    "endless trailer": b"0\r\n" + b"A: b\r\n" * 10_000,
}


@pytest.mark.parametrize("raw", BAD_CHUNKS.values(), ids=BAD_CHUNKS.keys())
@pytest.mark.parametrize("at_once", [True, False], ids=["with the head", "later"])
def test_malformed_chunks_are_refused_and_never_complete_a_request(world: World, raw: bytes, at_once: bool) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    head = request("Transfer-Encoding: chunked")
    if at_once:
        browser.send(head + raw)
    else:
        browser.send(head)
        world.until(lambda: site.connections == 1)
        browser.send(raw)
    status, _, body = browser.response()
    assert status in (400, 431), body
    assert browser.closed()
    world.until(lambda: session.in_flight == 0)
    assert site.seen == []
    assert world.requests(session)[0].refused


BAD_RESPONSES: dict[str, bytes] = {
    "not http": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "tls": b"\x15\x03\x01\x00\x02\x02\x16",
    "lf only": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
    "bad status": b"HTTP/1.1 20 OK\r\n\r\n",
    "version 2": b"HTTP/2 200 OK\r\n\r\n",
    "folded": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    "both lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
    "unknown coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "chunked in HTTP/1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "bad length": b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nhi",
    "switch not asked for": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    "bad first chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n",
    "head too long": b"HTTP/1.1 200 OK\r\nA: " + b"x" * 200_000 + b"\r\n\r\n",
    "endless head": b"HTTP/1.1 200 OK\r\nA: " + b"x" * 200_000,
}


@pytest.mark.parametrize("raw", BAD_RESPONSES.values(), ids=BAD_RESPONSES.keys())
def test_malformed_responses_are_upstream_errors(world: World, raw: bytes) -> None:
    session, _ = world.serve(lambda _: raw)
    browser = world.browser(session)
    browser.send(request(line=f"GET {HOME}/ HTTP/1.1"))
    status, _, body = browser.response()
    assert status == 502
    assert "homepage.test does not work" in body.decode()
    assert session.upstream_error.startswith("homepage.test (served by 127.0.0.1:")


@pytest.mark.parametrize("later", [b"oops\r\n", b"2\r\nhiX\r\n", b"0\r\nbad trailer\r\n\r\n"])
def test_response_that_becomes_malformed_is_cut(world: World, later: bytes) -> None:
    go_on = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
        await go_on.wait()
        writer.write(later)
        await reader.read()

    session, _ = world.serve_raw(handler)
    client = world.http(session)
    client.request("GET", f"{HOME}/")
    response = client.getresponse()
    assert response.read(2) == b"hi"
    world.call(go_on.set)
    with pytest.raises(http.client.IncompleteRead):
        response.read()
    assert session.upstream_error


@pytest.mark.parametrize(("first", "then"), [(b"hi", b""), (b"h", b"i"), (b"hi", b"idle")])
def test_extra_response_is_not_used_for_the_next_request(world: World, first: bytes, then: bytes) -> None:
    forged = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"
    go_on = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + first + (b"" if then else forged))
        if then:
            await go_on.wait()
            writer.write(then.removeprefix(b"idle") + forged)
        await reader.read()

    session, site = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(request(line=f"GET {HOME}/ HTTP/1.1"))
    browser.head()
    assert browser.exactly(len(first)) == first
    world.call(go_on.set)
    assert browser.exactly(2 - len(first)) == b"hi"[len(first) :]
    # The gateway drops the connection with its remaining data.
    assert site.ended.wait(10)
    assert browser.get(f"{HOME}/")[2] == b"hi"
    assert site.connections == 2


def test_h2c_upgrade_is_not_passed_on(world: World) -> None:
    session, site = world.serve()
    fields = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")
    assert world.browser(session).get(f"{HOME}/", *fields)[0] == 200
    assert site.seen[0].fields == ["Host: homepage.test"]
