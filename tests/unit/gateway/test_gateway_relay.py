"""Relayed messages: rewritten heads and unchanged bodies in every HTTP/1 framing."""

from __future__ import annotations

import asyncio
import http.client
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.gateway.conftest import Seen, World

HOME = "http://homepage.test"


def test_request_reaches_the_site_in_origin_form_with_its_host_name(world: World) -> None:
    session, site = world.serve()
    client = world.http(session)
    client.request("GET", f"{HOME}/notes?page=2", headers={"Cookie": "a=1; b=2", "X-Custom": " padded "})
    response = client.getresponse()
    assert (response.status, response.read()) == (200, b"/notes?page=2")
    assert site.seen[0].line == "GET /notes?page=2 HTTP/1.1"
    assert site.seen[0].fields == [
        "Host: homepage.test",
        "Accept-Encoding: identity",
        "Cookie: a=1; b=2",
        "X-Custom:  padded ",
    ]


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("http://homepage.test", "/"),
        ("http://homepage.test?q=1", "/?q=1"),
        ("http://homepage.test:80/a", "/a"),
        ("HTTP://HomePage.TEST/a", "/a"),
        ("http://homepage.test//double//", "//double//"),
        ("http://homepage.test/a%20b?x=%2F&y=[1]|2", "/a%20b?x=%2F&y=[1]|2"),
        ("http://homepage.test/http://example.com/", "/http://example.com/"),
        ("http://homepage.test/@user:1", "/@user:1"),
    ],
)
def test_path_is_relayed_unchanged(world: World, target: str, path: str) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    browser.send(f"GET {target} HTTP/1.1\r\nHost: HOMEPAGE.test:80\r\n\r\n".encode())
    assert browser.response()[0] == 200
    assert site.seen[0].path == path
    assert site.seen[0].fields == ["Host: homepage.test"]


def test_target_takes_precedence_over_the_host_field(world: World) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    browser.send(b"GET http://homepage.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n")
    assert browser.response()[0] == 200
    assert site.seen[0].fields == ["Host: homepage.test"]


def test_other_port_is_another_site_and_part_of_the_host_field(world: World) -> None:
    session, _ = world.serve()
    other = world.site()
    world.route(session, other.port, port=8080)
    assert world.browser(session).get("http://homepage.test:8080/x")[0] == 200
    assert other.seen[0].fields == ["Host: homepage.test:8080"]


def test_hop_by_hop_request_fields_are_removed(world: World) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    status, _, _ = browser.get(
        f"{HOME}/",
        "Proxy-Connection: keep-alive",
        "Proxy-Authorization: Basic Zm9vOmJhcg==",
        "PROXY-Anything: 1",
        "Keep-Alive: timeout=5",
        "TE: trailers",
        "Connection: keep-alive, X-Named",
        "Upgrade: h2c",
        "X-Named: gone",
        "X-Kept: here",
    )
    assert status == 200
    assert site.seen[0].fields == ["Host: homepage.test", "X-Kept: here"]


def test_hop_by_hop_response_fields_are_removed(world: World) -> None:
    def answer(_: Seen) -> bytes:
        return (
            b"HTTP/1.1 200 Fine by me\r\nConnection: keep-alive, X-Named\r\nKeep-Alive: timeout=5\r\nX-Named: gone\r\n"
            b"Proxy-Authenticate: Basic\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nhi"
        )

    session, _ = world.serve(answer)
    _, head, body = world.browser(session).get(f"{HOME}/")
    assert head.split("\r\n") == ["HTTP/1.1 200 Fine by me", "Set-Cookie: a=1", "Set-Cookie: b=2", "Content-Length: 2"]
    assert body == b"hi"


def test_non_ascii_bytes_in_fields_are_relayed(world: World) -> None:
    session, site = world.serve(lambda _: b"HTTP/1.1 200 OK\r\nX-Name: caf\xc3\xa9\r\nContent-Length: 0\r\n\r\n")
    browser = world.browser(session)
    browser.send(b"GET http://homepage.test/ HTTP/1.1\r\nHost: homepage.test\r\nX-Name: \xff\xfe\r\n\r\n")
    assert "X-Name: caf\xc3\xa9" in browser.response()[1]
    assert site.seen[0].fields[1] == "X-Name: \xff\xfe"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
def test_body_with_content_length_is_relayed(world: World, method: str) -> None:
    session, site = world.serve()
    client = world.http(session)
    client.request(method, f"{HOME}/", body=b"title=Milk")
    assert client.getresponse().read() == b"title=Milk"
    assert (site.seen[0].method, site.seen[0].body) == (method, b"title=Milk")


def test_chunked_body_with_extension_and_trailer_is_relayed(world: World) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    browser.send(b"POST http://homepage.test/ HTTP/1.1\r\nHost: homepage.test\r\nTransfer-Encoding: chunked\r\n\r\n")
    browser.send(b"5;name=value\r\nhello\r\n00A\r\n0123456789\r\n0\r\nX-Sum: 15\r\n\r\n")
    assert browser.response()[2] == b"hello0123456789"
    assert site.seen[0].body == b"hello0123456789"
    assert browser.get(f"{HOME}/next")[2] == b"/next"


def test_chunked_response_is_relayed_unchanged(world: World) -> None:
    raw = b"4;x=y\r\nwiki\r\n5\r\npedia\r\n0\r\nX-Sum: 9\r\n\r\n"
    session, _ = world.serve(lambda _: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + raw)
    browser = world.browser(session)
    browser.send(b"GET http://homepage.test/ HTTP/1.1\r\nHost: homepage.test\r\n\r\n")
    assert "transfer-encoding: chunked" in browser.head().lower()
    assert browser.exactly(len(raw)) == raw
    client = world.http(session)
    client.request("GET", f"{HOME}/")
    assert client.getresponse().read() == b"wikipedia"


def test_response_ended_by_connection_close_is_relayed(world: World) -> None:
    session, _ = world.serve(lambda _: b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nall there is")
    status, head, body = world.browser(session).get(f"{HOME}/")
    assert (status, body) == (200, b"all there is")
    # The browser must know that the body ends with the connection.
    assert head.split("\r\n")[:2] == ["HTTP/1.1 200 OK", "Connection: close"]


def test_http_1_0_response_with_length_keeps_the_browser_connection(world: World) -> None:
    session, site = world.serve(lambda seen: b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    browser = world.browser(session)
    assert [browser.get(f"{HOME}/")[2] for _ in range(3)] == [b"hi"] * 3
    assert site.connections == 3


def test_http_1_0_request_is_relayed_and_closed(world: World) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    browser.send(b"GET http://homepage.test/old HTTP/1.0\r\n\r\n")
    status, head, body = browser.response()
    assert (status, body) == (200, b"/old")
    assert "Connection: close" in head
    assert browser.closed()
    assert site.seen[0].line == "GET /old HTTP/1.0"


def test_connection_close_of_the_browser_is_honoured(world: World) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    assert "Connection: close" in browser.get(f"{HOME}/", "Connection: close")[1]
    assert browser.closed()
    # The site's connection is not the browser's: it stays for the next request.
    world.browser(session).get(f"{HOME}/")
    assert site.connections == 1


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        ("HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ("HEAD", b"HTTP/1.1 200 OK\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nETag: x\r\n\r\n"),
        ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ("GET", b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"),
    ],
)
def test_responses_without_a_body_keep_both_connections(world: World, method: str, answer: bytes) -> None:
    session, site = world.serve(lambda _: answer)
    browser = world.browser(session)
    for _ in range(3):
        browser.send(f"{method} {HOME}/ HTTP/1.1\r\nHost: homepage.test\r\n\r\n".encode())
        head = browser.head() + "\r\n\r\n"
        assert head.split("\r\n")[0].rstrip() == answer.decode().split("\r\n")[0]
        assert head.split("\r\n")[1:] == answer.decode().split("\r\n")[1:]
    assert site.connections == 1


def test_interim_responses_are_relayed(world: World) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
    final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    session, _ = world.serve(lambda _: hints + hints + final)
    browser = world.browser(session)
    for _ in range(2):
        browser.send(b"GET http://homepage.test/ HTTP/1.1\r\nHost: homepage.test\r\n\r\n")
        assert browser.head().startswith("HTTP/1.1 103")
        assert browser.head().startswith("HTTP/1.1 103")
        assert browser.response()[::2] == (200, b"hi")


def test_http_1_0_browser_gets_no_interim_response(world: World) -> None:
    session, _ = world.serve(
        lambda _: b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    )
    browser = world.browser(session)
    browser.send(b"GET http://homepage.test/ HTTP/1.0\r\n\r\n")
    assert browser.response()[::2] == (200, b"hi")


def test_expectation_is_answered_by_the_site(world: World) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    browser.send(
        b"POST http://homepage.test/ HTTP/1.1\r\nHost: homepage.test\r\n"
        b"Content-Length: 4\r\nExpect: 100-continue\r\n\r\n"
    )
    assert browser.head() == "HTTP/1.1 100 Continue"
    browser.send(b"body")
    assert browser.response()[2] == b"body"
    assert "Expect: 100-continue" in site.seen[0].fields


def test_early_refusal_by_the_site_reaches_the_browser(world: World) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
        await reader.read()

    session, _ = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(b"POST http://homepage.test/ HTTP/1.1\r\nHost: homepage.test\r\nContent-Length: 1000000\r\n\r\n")
    browser.send(b"x" * 1000)
    status, head, body = browser.response()
    assert (status, body) == (413, b"big")
    assert "Connection: close" in head
    assert browser.closed()


def test_upload_goes_on_while_the_response_comes(world: World) -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n")
        for _ in range(3):
            writer.write(await reader.readexactly(2))

    session, _ = world.serve_raw(handler)
    browser = world.browser(session)
    browser.send(b"POST http://homepage.test/ HTTP/1.1\r\nHost: homepage.test\r\nContent-Length: 6\r\n\r\n")
    browser.head()
    for part in (b"ab", b"cd", b"ef"):
        browser.send(part)
        assert browser.exactly(2) == part
    assert browser.closed()


def test_pipelined_requests_are_answered_in_order(world: World) -> None:
    session, site = world.serve()
    browser = world.browser(session)
    one = "GET {} HTTP/1.1\r\nHost: x.test\r\n\r\n"
    post = "POST {} HTTP/1.1\r\nHost: x.test\r\nContent-Length: 4\r\n\r\nbody"
    urls = [f"{HOME}/1", "http://foreign.test/2", f"{HOME}/3", f"{HOME}/4"]
    browser.send(
        "".join([one.format(urls[0]), one.format(urls[1]), post.format(urls[2]), one.format(urls[3])]).encode()
    )
    assert browser.response()[2] == b"/1"
    assert browser.response()[0] == 403
    assert browser.response()[2] == b"body"
    assert browser.response()[2] == b"/4"
    assert [seen.path for seen in site.seen] == ["/1", "/3", "/4"]


def test_response_shorter_than_its_length_is_relayed_as_truncated(world: World) -> None:
    session, _ = world.serve(lambda _: b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhalf")
    client = world.http(session)
    client.request("GET", f"{HOME}/")
    with pytest.raises(http.client.IncompleteRead) as caught:
        client.getresponse().read()
    assert caught.value.partial == b"half"


def test_configured_headers_are_added_to_their_site_only_and_not_logged(world: World) -> None:
    session, site = world.serve()
    other = world.site()
    world.route(session, other.port, "other.test")
    session.set_headers("homepage.test", {"X-Auto-Login": "me:secret", "Accept": "*/*"})
    client = world.http(session)
    for url in (f"{HOME}/notes", "http://other.test/"):
        client.request("GET", url, headers={"x-auto-login": "somebody else", "X-Kept": "1"})
        client.getresponse().read()
    assert site.seen[0].fields == [
        "Host: homepage.test",
        "Accept-Encoding: identity",
        "X-Kept: 1",
        "X-Auto-Login: me:secret",
        "Accept: */*",
    ]
    assert "x-auto-login: somebody else" in other.seen[0].fields
    assert "secret" not in repr(session.requests())
    session.set_headers("homepage.test", {})
    client.request("GET", f"{HOME}/notes")
    client.getresponse().read()
    assert site.seen[1].fields == ["Host: homepage.test", "Accept-Encoding: identity"]


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "é", "a\0"])
def test_invalid_configured_headers_are_refused(world: World, value: str) -> None:
    session, _ = world.serve()
    with pytest.raises(ValueError, match="expected a header of printable text, found 'X-Auto-Login'"):
        session.set_headers("homepage.test", {"X-Auto-Login": value})
