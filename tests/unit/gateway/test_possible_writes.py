"""Which requests count as changes of a site that nothing resets."""

from __future__ import annotations

import pytest

from pytest_webarena.gateway.log import RequestLog
from pytest_webarena.gateway.possible_writes import possible_writes
from tests.cases import each_case

QUERY = '{"query": "query Teas { teas { name } }"}'


def found(
    method: str, path: str, body: str = "", *, field: str = "", reads: tuple[str, ...] = (), limit: int = 999
) -> str:
    log = RequestLog(body_limit=limit, max_entries=9, max_bytes=9999)
    url = f"https://shop.test{path}"
    entry = log.begin(method, url, f"{method} {path} HTTP/1.1\r\nHost: shop.test\r\n{field}")
    capture = log.capture(entry)
    assert capture is not None
    capture.add(body.encode(), 0, len(body))
    entry.request_bytes = len(body)
    log.note_unsafe(entry, "shop.test", method)
    return possible_writes(log.unsafe, {"shop.test": reads}).get("shop.test", "")


@each_case(
    ("method", "path", "body", "reads"),
    [
        ("POST", "/search?q=tea", "", ("/search",)),
        ("POST", "/graphql", QUERY, ()),
        ("POST", "/graphql", f"[{QUERY}, {QUERY}]", ()),
    ],
)
def test_requests_that_only_read_are_no_changes(method: str, path: str, body: str, reads: tuple[str, ...]) -> None:
    assert not found(method, path, body, reads=reads)


@each_case(
    ("method", "path", "body", "reads"),
    [
        ("POST", "/notes", "note=Milk", ("/search",)),
        ("POST", "/search/../notes", "", ("/search",)),
        ("POST", "/graphql", '{"query": "mutation { buy }"}', ()),
        ("POST", "/graphql", "[" + QUERY + ', {"query": "mutation { buy }"}]', ()),
        ("POST", "/graphql", '{"extensions": {"persistedQuery": {}}}', ()),
        ("POST", "/graphql", '{"query": "tea"}', ()),  # a field of that name in another API
        ("DELETE", "/graphql", QUERY, ()),
        ("WebSocket", "/live", "", ()),
    ],
)
def test_other_requests_may_have_changed_the_site(method: str, path: str, body: str, reads: tuple[str, ...]) -> None:
    assert found(method, path, body, reads=reads) == f"{method} https://shop.test{path}"


@pytest.mark.parametrize(("field", "limit"), [("X-HTTP-Method-Override: DELETE", 999), ("", 9)])
def test_query_that_is_not_known_completely_is_a_change(field: str, limit: int) -> None:
    assert found("POST", "/graphql", QUERY, field=field, limit=limit)


def test_changes_are_known_when_the_log_is_full() -> None:
    log = RequestLog(body_limit=9, max_entries=1, max_bytes=9999)
    for host in ("a.test", "b.test", "c.test", "c.test"):
        log.note_unsafe(log.begin("PUT", f"http://{host}/1", "PUT / HTTP/1.1"), host, "PUT")
    assert len(log.unsafe) == 3
    assert set(possible_writes(log.unsafe, {"a.test": (), "c.test": ()})) == {"a.test", "c.test"}
