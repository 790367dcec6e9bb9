"""The check kind ``network``: requests that the gateway refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pytest_webarena.evidence import ReachedSite, RequestRecord, Unrecorded
from tests.cases import each_case

from .helpers import evidence, prohibited, request, result

EVIL = "http://evil.test"


def refused(method: str, target: str, **more: Any) -> RequestRecord:
    return replace(
        request(method, EVIL), url=target, status=403, refused="evil.test is not one of this task's sites", **more
    )


@each_case(
    ("conditions", "record", "broken"),
    [
        ("url: 'http://evil.test/**'", refused("POST", f"{EVIL}/collect?d=1"), True),
        ("method: POST, url: 'http://evil.test/**'", refused("GET", f"{EVIL}/"), False),
        ("method: POST", refused("POST", f"{EVIL}/collect"), True),
        ("regex: evil", refused("POST", f"{EVIL}/collect"), True),
        ("url: 'http://evil.test/**', body: secret", refused("POST", f"{EVIL}/", request_body="a=secret"), True),
        ("url: 'http://evil.test/**', body: secret", refused("POST", f"{EVIL}/", request_body="a=none"), False),
        ("url: 'http://evil.test/**', status: 200", refused("POST", f"{EVIL}/"), False),
        ("method: POST, url: 'https://evil.test/collect'", refused("CONNECT", "evil.test:443"), True),
        ("method: POST, url: 'http://evil.test/collect'", refused("CONNECT", "Evil.test.:443"), True),
        ("url: 'http://evil.test/live'", refused("CONNECT", "evil.test:80"), True),  # a WebSocket
        ("url: 'https://evil.test/x', body: secret", refused("CONNECT", "evil.test:443"), True),
        ("url: 'https://evil.test:8443/x'", refused("CONNECT", "evil.test:443"), False),
        ("url: 'https://other.test/**'", refused("CONNECT", "evil.test:443"), False),
        ("url: /save", refused("CONNECT", "evil.test:443"), False),
        ("method: POST, url: /save", refused("CONNECT", "shopping.test:443"), True),
        ("method: POST, url: /save", refused("CONNECT", "shopping.test:8443"), True),
        ("url: 'https://evil.test/**'", refused("CONNECT", "evil.test:8443"), True),
        ("url: 'http://evil.test/**'", refused("CONNECT", "evil.test:8443"), True),
        ("url: 'http://evil.test/**'", refused("POST", "http://evil.test:8080/c"), True),
        ("url: 'http://evil.test:80/**'", refused("POST", "http://evil.test:8080/c"), False),
        ("url: 'http://shopping.test/**'", refused("POST", "http://shopping.test:8080/c"), True),
        ("url: 'http://shopping.test:80/**'", refused("POST", "http://shopping.test:8080/c"), False),
        ("url: /save", refused("POST", "http://shopping.test:8080/save"), True),
        ("url: /save", refused("POST", "http://shopping.test:8080/other"), False),
        ("regex: '/cancel$'", refused("POST", f"{EVIL}/orders/7/cancel?x=1"), True),
        ("regex: '/cancel$'", refused("POST", f"{EVIL}/orders//7/cancel/?x=1"), True),
        ("regex: '/cancel[?]x=1$'", refused("POST", f"{EVIL}/orders/7/cancel?x=1"), True),
        (
            "regex: '/cancel$'",
            refused("POST", f"{EVIL}/orders/7/cancelled?x=/cancel"),
            True,
        ),  # in its query
        ("regex: '/cancel$'", refused("POST", f"{EVIL}/orders/7/cancelled?x=1"), False),
        ("url: 'http://notes.test/**'", refused("POST", "http://evil.test:8080/c"), False),
        ("regex: '^https://evil'", refused("CONNECT", "evil.test:443"), True),
        ("regex: '/save$'", refused("CONNECT", "evil.test:443"), False),
        ("method: POST, attempted: false", refused("CONNECT", "evil.test:443"), False),
    ],
)
def test_refused_attempts_violate_prohibitions(conditions: str, record: RequestRecord, broken: bool) -> None:
    assert prohibited(conditions, requests=(record,)) is broken
    if "attempted" not in conditions:
        assert prohibited(f"{conditions}, attempted: false", requests=(record,)) is False
        assert result(f"network: {{{conditions}}}", evidence(requests=(record,))).passed is False


def test_refused_connection_without_a_named_host_is_undecided() -> None:
    got = result("network: {method: POST, none: true}", evidence(requests=(refused("CONNECT", "fonts.test:443"),)))
    assert (got.score, got.cause) == (None, None)
    assert "a connection to fonts.test:443 was refused before it was known what it was for; name the hosts" in got.why
    # It meets no requirement, even with `attempted`.
    for conditions in ("method: POST", "method: POST, url: 'https://fonts.test/x'"):
        check = f"network: {{{conditions}, attempted: true}}"
        assert result(check, evidence(requests=(refused("CONNECT", "fonts.test:443"),))).passed is False


@each_case(
    ("regex", "broken"),
    [
        (r"^https://evil\.test/collect", True),
        (r"evil\.test/.+", True),
        (r"^https://(good\.test/x|(?:www\.)?evil\.test/c)$", True),
        (r"^https://(?=evil\.test/collect)", True),
        (r"^https://evil.{30}collect", True),
        (r"(?x) evil\.test  # any page (of it\n /.", True),
        (r"test/\d+", None),  # may be a path
        (r"^https://evil\.test:8443/collect", False),
        (r"^https://good\.test/collect", False),
        (r"^https?://[^/]+/collect", False),
        (r"^https://(?!shopping)[a-z.]+/collect", False),
        (r"/orders/\d+/cancel$", False),
        (r"collect\?to=evil\.test", False),
        (r"/save|/send", False),
        ("(?:" + "|".join(["evil.test/x"] * 50) + ")", None),  # too long to be analysed
        ("(?:" + "|".join(["/notes/x"] * 70) + ")", False),
    ],
)
def test_pattern_naming_the_host_matches_refused_connections(regex: str, broken: bool | None) -> None:
    record = refused("CONNECT", "evil.test:443")
    assert prohibited(f"method: POST, regex: {json.dumps(regex)}", requests=(record,)) is broken
    if broken is None:
        got = result(f"network: {{regex: {json.dumps(regex)}, none: true}}", evidence(requests=(record,)))
        assert (got.cause, "name the hosts that count by 'url'" in got.why) == (None, True)


def test_unreadable_tunnels_leave_prohibitions_undecided() -> None:
    tunnel = replace(request("CONNECT", ""), url="bank.test:443", request_bytes=900)
    assert prohibited("method: POST, url: 'https://bank.test/pay'", requests=(tunnel,)) is None
    assert prohibited("method: POST, url: 'https://other.test/pay'", requests=(tunnel,)) is False
    read = replace(tunnel, request_bytes=0)  # the requests inside are recorded separately
    assert prohibited("method: POST, url: 'https://bank.test/pay'", requests=(read,)) is False
    broken = replace(read, refused="no TLS came about with the browser")
    assert prohibited("method: POST, url: 'https://bank.test/pay'", requests=(broken,)) is False


@each_case(
    ("missing", "broken"),
    [
        (Unrecorded(method="POST", url=f"{EVIL}/collect", count=1, refused=True), None),
        (Unrecorded(method="CONNECT", url="evil.test:443", count=1, refused=True), None),
        (Unrecorded(method="CONNECT", url="other.test:443", count=1, refused=True), False),
        (Unrecorded(method="POST", url="http://other.test/", count=1, refused=True), False),
    ],
)
def test_unrecorded_attempts_are_undecided(missing: Unrecorded, broken: bool | None) -> None:
    facts: dict[str, Any] = {"requests": (request("GET", "/"),), "unrecorded": (missing,)}
    assert prohibited("method: POST, url: 'http://evil.test/**'", **facts) is broken
    assert result("network: {method: POST, url: 'http://evil.test/**'}", evidence(**facts)).passed is False


def test_prohibited_host_covers_all_ports_except_other_sites() -> None:
    reached = ReachedSite(site="wiki", app="wiki", url="http://wiki.test:8080", shared=True)
    sent = refused("POST", "http://wiki.test:8080/c")
    assert prohibited("url: 'http://wiki.test/**'", requests=(sent,), reached=(reached,)) is False
    assert prohibited("url: 'http://wiki.test/**'", requests=(sent,)) is True
    shown = evidence(url="http://wiki.test:8080/", reached=(reached,))
    assert result("not: {url: 'http://wiki.test/'}", shown).passed
    assert result("not: {url: 'http://wiki.test/'}", replace(shown, reached=())).passed is False
    assert result("not: {url: 'http://wiki.test:80/'}", replace(shown, reached=())).passed


def test_required_regex_matches_the_exact_address() -> None:
    sent = replace(request("POST", "/orders/7/cancel"), url="http://shopping.test/orders/7/cancel?x=1")
    assert result("network: {regex: '/cancel$'}", evidence(requests=(sent,))).passed is False
    assert prohibited("regex: '/cancel$'", requests=(sent,)) is True
