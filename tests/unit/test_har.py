"""Recorded requests as HAR."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.har import archive, entries
from tests.cases import each_case

SHOP = "http://shopping.test"


def request(method: str = "GET", path: str = "/", status: int | None = 200, **more: Any) -> RequestRecord:
    return RequestRecord(time=1_700_000_000.25, method=method, url=SHOP + path, status=status, **more)


def test_archive() -> None:
    har = archive([request()], version="1.0")
    assert har["log"]["version"] == "1.2"
    assert har["log"]["creator"] == {"name": "pytest-webarena", "version": "1.0"}
    (entry,) = har["log"]["entries"]
    assert entry["startedDateTime"] == "2023-11-14T22:13:20.250+00:00"
    assert set(entry) == {"startedDateTime", "time", "request", "response", "cache", "timings"}


def test_request() -> None:
    (entry,) = entries(
        [
            request(
                "POST",
                "/cart/?page=2&empty=",
                302,
                request_headers=(
                    ("Content-Type", "application/x-www-form-urlencoded"),
                    ("Cookie", "session=a=b; lang=en"),
                ),
                request_body="item=Coffee+Grinder&note=",
                request_bytes=25,
                response_headers=(
                    ("Location", "/cart/done"),
                    ("Set-Cookie", "mage-messages=%5B%5D; Path=/; HttpOnly; SameSite=Lax"),
                    ("Set-Cookie", "b=2; Secure; Domain=shopping.test"),
                ),
                seconds=0.0125,
            )
        ]
    )
    sent, got = entry["request"], entry["response"]
    assert (sent["method"], sent["url"], sent["bodySize"]) == (
        "POST",
        f"{SHOP}/cart/?page=2&empty=",
        25,
    )
    assert sent["queryString"] == [{"name": "page", "value": "2"}, {"name": "empty", "value": ""}]
    assert sent["cookies"] == [{"name": "session", "value": "a=b"}, {"name": "lang", "value": "en"}]
    assert sent["postData"] == {
        "mimeType": "application/x-www-form-urlencoded",
        "params": [{"name": "item", "value": "Coffee Grinder"}, {"name": "note", "value": ""}],
        "text": "item=Coffee+Grinder&note=",
    }
    assert (got["status"], got["statusText"], got["redirectURL"]) == (302, "Found", f"{SHOP}/cart/done")
    assert got["cookies"] == [
        {"name": "mage-messages", "value": "%5B%5D", "path": "/", "httpOnly": True},
        {"name": "b", "value": "2", "secure": True, "domain": "shopping.test"},
    ]
    assert entry["time"] == 12.5


def test_bodies() -> None:
    binary = "base64:" + base64.b64encode(b"\xffname\0").decode()
    sent, cut, answered = entries(
        [
            request("PUT", request_body=binary, request_bytes=6),
            request("PUT", request_body="abc", request_bytes=100),
            request(response_body='{"a": 1}', response_headers=(("content-type", "text/json"),), response_bytes=8),
        ]
    )
    assert sent["request"]["postData"] == {"mimeType": "application/octet-stream", "params": [], "text": "�name\0"}
    assert "only the beginning of 100 bytes" in cut["request"]["postData"]["comment"]
    assert answered["response"]["content"] == {"size": 8, "mimeType": "text/json", "text": '{"a": 1}'}
    assert "postData" not in answered["request"]


@pytest.mark.parametrize(
    "record",
    [
        request("POST", status=None),
        request("POST", status=403, refused="x.test is not one of this task's sites"),
    ],
)
def test_exchange_without_a_response(record: RequestRecord) -> None:
    (entry,) = entries([record])
    assert (entry["response"]["status"], entry["response"]["headers"]) == (-1, [])
    assert entry.get("comment", "") == (f"refused by the gateway: {record.refused}" if record.refused else "")


def test_tunnels_are_left_out() -> None:
    assert entries([request("CONNECT"), request()]) == entries([request()])


def test_status_without_a_name() -> None:
    (entry,) = entries([request(status=799)])
    assert (entry["response"]["status"], entry["response"]["statusText"]) == (799, "")


def test_incomplete_archive_is_marked() -> None:
    assert "comment" not in archive([request()])["log"]
    assert archive([request()], missing=7)["log"]["comment"].startswith("incomplete: 7 more requests")


@each_case(
    ("expires", "kept"),
    [
        ("Wed, 21 Oct 2026 07:28:00 GMT", {"expires": "2026-10-21T07:28:00+00:00"}),
        ("Wed, 21-Oct-2026 07:28:00 GMT", {"expires": "2026-10-21T07:28:00+00:00"}),
        ("Thu, 01 Jan 1970 00:00:00 GMT", {"expires": "1970-01-01T00:00:00+00:00"}),
        ("soon", {}),
    ],
)
def test_a_cookie_ends_at_a_date_as_the_format_has_them(expires: str, kept: dict[str, str]) -> None:
    (entry,) = entries([request(response_headers=(("Set-Cookie", f"a=1; Expires={expires}"),))])
    assert entry["response"]["cookies"] == [{"name": "a", "value": "1", **kept}]
