"""Writes to live sites are intercepted; reads are sent."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.processes import wait_until
from tests.unit.live.conftest import CDN, SCRIPT, SHOP, TAB

if TYPE_CHECKING:
    from pytest_webarena.gateway.log_entry import Entry
    from tests.unit.live.conftest import Internet


WRITES = ["POST", "PUT", "PATCH", "DELETE", "PURGE"]


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("host", [SHOP, CDN])
def test_writes_are_intercepted(internet: Internet, method: str, host: str) -> None:
    internet.host(SHOP)
    internet.host(CDN)
    session = internet.enter("example.com")
    status, head, body = internet.ask(session, internet.url(host, "/buy"), *SCRIPT, method=method, body=b"tea=1")
    assert (status, json.loads(body)["error"], internet.asked(host)) == (403, "not sent", [])
    assert "Access-Control-Allow-Origin: http://shop.example.com" in head
    seen = internet.last(session)
    assert (seen.method, seen.intercepted, seen.obstacle, seen.request_bytes) == (method, True, "", 5)
    assert seen.refused.endswith("nothing was changed there")


def test_intercepted_form_gets_an_explaining_page(internet: Internet) -> None:
    internet.host(SHOP)
    session = internet.enter("example.com")
    status, head, page = internet.ask(session, internet.url(SHOP, "/buy"), *TAB, method="POST", body=b"tea=1")
    assert (status, internet.asked(SHOP)) == (403, [])
    assert "text/html" in head
    assert b"live sites are only read" in page
    assert internet.last(session).request_body == "tea=1"


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
def test_disguised_writes_are_intercepted(
    internet: Internet, method: str, fields: tuple[str, ...], body: bytes
) -> None:
    internet.host(SHOP)
    session = internet.enter("example.com")
    assert internet.ask(session, internet.url(SHOP, "/live"), *fields, method=method, body=body)[0] == 403
    assert (internet.last(session).intercepted, internet.asked(SHOP)) == (True, [])


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
def test_requests_allowed_by_the_task_are_sent(internet: Internet, case: str) -> None:
    terms, sent, kept = NAMED[case]
    internet.host(SHOP)
    internet.host(CDN)
    session = internet.enter("example.com", **terms)
    for path in sent:
        assert internet.ask(session, internet.url(SHOP, path), *SCRIPT, method="POST", body=b"a=1")[0] == 200, path
        assert internet.ask(session, internet.url(CDN, path), *SCRIPT, method="POST", body=b"a=1")[0] == 403, path
        assert internet.ask(session, internet.url(SHOP, path), *SCRIPT, method="PUT", body=b"a=1")[0] == 403, path
    for path in kept:
        assert internet.ask(session, internet.url(SHOP, path), *SCRIPT, method="POST", body=b"a=1")[0] == 403, path
    assert len(internet.asked(SHOP)) == len(sent)
    assert internet.asked(CDN) == []
    disguised = internet.ask(
        session, internet.url(SHOP, sent[0]), "X-HTTP-Method-Override: DELETE", method="POST", body=b"a=1"
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
def test_declared_reads_with_a_writing_body_are_intercepted(internet: Internet, case: str) -> None:
    path, fields, body = OTHERS[case]
    internet.host(SHOP)
    session = internet.enter("example.com", reads=["POST /search"])
    assert internet.ask(session, internet.url(SHOP, path), *SCRIPT, *fields, method="POST", body=body)[0] == 403
    assert (internet.last(session).intercepted, internet.asked(SHOP)) == (True, [])


@pytest.mark.parametrize(
    "body",
    [b"q=tea&method=DELETE", b"_method=POST&q=tea", b'{"query": "{ teas(about: \\"mutation { x }\\") { name } }"}',
     b'{"filters": [{"about": "mutations of tea"}]}', PART % (b"picture", b"\x89PNG\0\0mutation"),
     b"q=" + b"a" * (1 << 20)],
)  # fmt: skip
def test_declared_reads_are_sent_unchanged(internet: Internet, body: bytes) -> None:
    site = internet.host(SHOP)
    session = internet.enter("example.com", reads=["POST /search"])
    assert internet.ask(session, internet.url(SHOP, "/search"), *SCRIPT, method="POST", body=body)[0] == 200
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
def test_writes_in_the_query_of_a_get_are_intercepted(internet: Internet, query: str, status: int) -> None:
    internet.host(SHOP)
    session = internet.enter("example.com")
    assert internet.ask(session, internet.url(SHOP, f"/graphql?{query}"), *SCRIPT)[0] == status
    assert len(internet.asked(SHOP)) == (status == 200)


def test_interception_by_body_is_recorded_as_such(internet: Internet) -> None:
    """Such an interception says nothing about other requests to the URL."""
    internet.host(SHOP)
    kept: list[Entry] = []
    session = internet.enter("example.com", reads=["POST /graphql"], keep=kept.append)
    body = json.dumps({"query": "mutation { buy { id } }"}).encode()
    for path in ("/graphql", "/order"):
        assert internet.ask(session, internet.url(SHOP, path), *SCRIPT, method="POST", body=body)[0] == 403
    wait_until(lambda: len(kept) == 2)  # its answer is there before an exchange is over
    seen = {urlsplit(each.url).path: (each.intercepted, each.by_body) for each in kept}
    assert seen == {"/graphql": (True, True), "/order": (True, False)}


def test_request_allowed_with_its_host_is_sent_to_that_host_only(internet: Internet) -> None:
    internet.host(SHOP)
    internet.host(CDN)
    session = internet.enter("example.com", reads=[f"POST {internet.url(CDN, '/graphql')}"])
    assert internet.ask(session, internet.url(CDN, "/graphql"), *SCRIPT, method="POST", body=b"{}")[0] == 200
    assert internet.ask(session, internet.url(SHOP, "/graphql"), *SCRIPT, method="POST", body=b"{}")[0] == 403
