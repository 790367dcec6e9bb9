"""The check kind ``network``: recorded requests."""

from __future__ import annotations

import base64
import gzip
import re
from dataclasses import replace

import pytest

from pytest_webarena.checks.unserved_hosts import with_unserved_hosts
from pytest_webarena.evidence import Unrecorded
from tests.cases import each_case

from .helpers import evidence, prohibited, request, result, task

FORM = (("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),)
LOG = (
    request("GET", "/"),
    request("GET", "/search/?q=kettle&page=1"),
    request("POST", "/basket/add/12", status=302, body="quantity=2&note=Quiet+enough%21", request_headers=FORM),
    request("POST", "/basket/add/13", status=302, body="base64:" + base64.b64encode(b'{"a": "b"}').decode()),
    request("DELETE", "/notes/3/x", status=403, refused="not allowed"),
    request("GET", "http://reddit.test/f"),
    request("GET", "/slow", status=None),
)


@each_case(
    ("check", "why"),
    [
        ("{method: POST, url: /basket/add/*}", ""),
        ("{method: post, url: /basket/add/12}", None),
        ("{method: POST, url: /basket/*}", "there was no such request"),
        ("{method: POST, url: /basket/**}", ""),
        ("{method: POST, url: /basket/**, count: 2}", ""),
        ("{method: POST, url: /basket/**, count: 1}", "there were 2"),
        ("{method: POST, count: {max: 2}}", ""),
        ("{method: [PUT, POST], url: /basket/add/12}", ""),
        ("{url: '/search/?q=kettle'}", ""),
        ("{url: '/search/?q=pot'}", "there was no such request"),
        ("{url: reddit:/f}", ""),
        ("{url: reddit:/}", "there was no such request"),
        ("{method: DELETE, none: true}", "there were 1, 1 of them attempts that the gateway refused"),
        ("{method: DELETE, none: true, attempted: false}", ""),
        ("{method: DELETE, attempted: false}", "there was no such request"),
        ("{method: DELETE}", "there was no such request"),
        ("{method: DELETE, attempted: true}", ""),
        ("{method: GET, url: /slow, status: 200}", "there was no such request"),
        ("{method: POST, status: [200, 302]}", ""),
        ("{method: POST, status: 200}", "there was no such request"),
        ("{regex: 'add/1[23]$', count: 2}", ""),
        ("{method: POST, body: quantity=2}", ""),
        ("{method: POST, body: note=Quiet enough!}", ""),
        ("{method: POST, body: quantity=3}", "there was no such request"),
        ('{method: POST, body: {regex: \'"a": "b"\'}}', ""),
        ("{url: /search/, none: true}", "there were 1"),
    ],
)
def test_network_conditions(check: str, why: str | None) -> None:
    if why is None:
        with pytest.raises(Exception, match="expected one of GET"):
            result(f"network: {check}", evidence(requests=LOG))
        return
    got = result(f"network: {check}", evidence(url="http://shopping.test/", requests=LOG))
    assert (got.passed, got.why) == (not why, why)


def test_missing_request_log_is_undecided() -> None:
    got = result("network: {method: POST, none: true}", evidence(url="http://shopping.test/"))
    assert (got.score, got.why) == (None, "the requests were not recorded")
    assert result("network: {method: POST, none: true}", evidence(url="about:blank")).passed


def test_unknown_site_address_and_garbled_body() -> None:
    recorded = evidence(requests=LOG, sites={"shopping": "http://shopping.test"})
    assert result("network: {url: reddit:/f}", recorded).why == "the address of reddit was not recorded"
    garbled = (request("POST", "/x", body="base64:!"),)
    assert result("network: {method: POST, body: x}", evidence(requests=garbled)).passed is False


def test_network_expected_and_actual_texts() -> None:
    got = result("network: {method: POST, url: /basket/**, status: 302, body: x}", evidence(requests=LOG))
    assert got.expected == 'at least 1 × POST shopping:/basket/** answered 302 with a body: includes "x"'
    assert got.actual == "none of 7 requests"
    got = result("network: {method: POST, url: /basket/**, count: 5}", evidence(requests=LOG))
    assert got.actual == "2, the first POST http://shopping.test/basket/add/12 (302)"


@each_case(
    ("check", "unrecorded", "passed"),
    [
        ("{method: POST, url: /orders/, none: true}", [("GET", "/")], True),
        ("{method: POST, url: /orders/, none: true}", [("POST", "/notes/")], True),
        ("{method: POST, url: /orders/, none: true}", [("POST", "/orders/")], None),
        ("{method: POST, url: '/orders/?a=1', none: true}", [("POST", "/orders/")], None),
        ("{method: POST, url: /orders/, none: true}", [("POST", "")], None),
        ("{method: POST, url: /orders/, none: true}", [("", "")], None),
        ("{method: POST, none: true}", [("POST", "/notes/")], None),
        ("{regex: orders, none: true}", [("GET", "/")], None),
        ("{url: /search/}", [("GET", "/search/")], True),
        ("{url: /search/, count: 1}", [("GET", "/search/")], None),
        ("{url: /search/, count: {max: 3}}", [("GET", "/search/")], True),
        ("{url: /search/, count: {max: 2}}", [("GET", "/search/")], None),
        ("{url: /search/, none: true}", [("GET", "/search/")], False),
        ("{url: /gone/}", [("GET", "/")], False),
        ("{url: /gone/}", [("GET", "/gone/")], None),
        ("{method: POST, url: /gone/}", [("GET", "/gone/")], False),
    ],
)
def test_unrecorded_requests_are_undecided_where_they_matter(
    check: str, unrecorded: list[tuple[str, str]], passed: bool | None
) -> None:
    missing = tuple(
        Unrecorded(method=method, url=url and f"http://shopping.test{url}", count=2) for method, url in unrecorded
    )
    for kind, expected in (
        (f"network: {check}", passed),
        (f"not: {{network: {check}}}", None if passed is None else not passed),
    ):
        got = result(
            kind, evidence(url="http://shopping.test/", requests=(request("GET", "/search/"),), unrecorded=missing)
        )
        assert got.passed is expected
        leaf = next(iter(got.children), got)
        assert (leaf.cause, "2 requests" in leaf.why) == (("site", True) if passed is None else (None, False))


@each_case(
    ("check", "passed"),
    [
        ("{body: tea}", True),
        ("{body: coffee}", False),
        ("{body: coffee, none: true}", False),
        ("{body: {excludes: coffee}}", False),
        ("{body: {exact: tea}}", False),
        ("{body: coffee, url: /elsewhere/, none: true}", True),
    ],
)
def test_truncated_body_is_undecided_where_it_matters(check: str, passed: bool | None) -> None:
    long = request("POST", "/notes/", body="tea", request_bytes=100_000)
    got = result(
        f"network: {check.replace('{', '{method: POST, ', 1)}", evidence(url="http://shopping.test/", requests=(long,))
    )
    assert got.passed is passed
    if passed is False:
        assert "POST http://shopping.test/notes/ was too long to be kept whole" in got.why
        contrary = f"not: {{network: {check.replace('{', '{method: POST, ', 1)}}}"
        assert result(contrary, evidence(url="http://shopping.test/", requests=(long,))).passed is False


@each_case(
    ("pattern", "path", "found"),
    [
        ("/x/*", "/x/a", True),
        ("/x/*", "/x/a%2Fb", True),  # an encoded slash is part of a name
        ("/x/*", "/x/a%2fb/", True),
        ("/x/*", "/x/a/b", False),
        ("/x/*/c", "/x/a%2Fb/c", True),
        ("/x/**", "/x/a%2Fb/c", True),
        ("/x/a/b", "/x/a%2Fb", True),  # for sites that do not distinguish them
        ("/x/a%2Fb", "/x/a/b", True),
        ("/x/*", "/x%2Fa", True),
        ("/x/*", "/x/a%252Fb/c", False),
        ("/x/a%2541", "/x/aA", False),
        ("/x/a%2541", "/x/a%2541", True),
        ("/x/a", "/x/a%2F", False),  # a trailing slash counts
        ("/x/a", "/x/a/", False),
        ("/x/a/", "/x/a", False),
        ("/x/a/", "/x/a/", True),
        ("/", "", True),
        ("/x/*", "/x/a/", True),  # but not after a star
        ("/x/%EA", "/x/%E9", False),  # bytes that are no UTF-8
        ("/x/%EA", "/x/%ea", True),
        ("/x/%EA", "/x/%EF%BF%BD", False),
        ("/x?q=%EA", "/x?q=%E9", False),
        ("/x/%2A", "/x/a", False),
        ("/x/%2a", "/x/*", True),
        ("/x/*%2A", "/x/a*", True),
        ("/x?y=1&y=1", "/x?y=1&y=2", False),
        ("/x?y=1&y=2", "/x?y=2&y=1", True),
    ],
)
def test_url_patterns_with_slashes_escapes_and_parameters(pattern: str, path: str, found: bool) -> None:
    got = result(f"network: {{url: '{pattern}'}}", evidence(requests=(request("GET", path),)))
    assert got.score == found, pattern


@each_case(
    ("pattern", "url", "found"),
    [
        ("/save", "//save", True),
        ("/save", "/a/../save", True),
        ("/save", "/a/%2e%2E/save", True),
        ("/save", "/./save/", True),
        ("/save", "/%73ave", True),
        ("/save", "/%2Fsave", True),
        ("/save", "/save;jsessionid=1?x=1", True),
        ("/save", "http://SHOPPING.test./save", True),
        ("/save", "HTTP://shopping.test:80/save", True),
        ("/save", "/saved", False),
        ("/save", "/save/all", False),
        ("/save", "/Save", False),
        ("http://shopping.test:80/save", "http://shopping.test:8080/save", False),
        ("/save/", "/save", True),
        ("/a/*/save", "//a/7//save/", True),
        ("/x/*", "//x/a%2Fb", True),
        ("/notes/**", "/notes/", False),  # the list page does not match
        ("/save?x=1", "//save?x=2", False),
        ("https://evil.test/save", "http://Evil.test//save", True),
    ],
)
def test_prohibitions_match_equivalent_addresses(pattern: str, url: str, found: bool) -> None:
    sent = request("POST", url if "://" in url else f"http://shopping.test{url}")
    assert prohibited(f"method: POST, url: '{pattern}'", requests=(sent,)) is found
    assert prohibited(f"method: POST, url: '{pattern}'", requests=(replace(sent, refused="no", status=403),)) is found
    written = re.escape(pattern.partition("?")[0].partition(".test")[2] or pattern)
    if found and "*" not in pattern:
        assert prohibited(f"method: POST, regex: '^https?://(evil|shopping).test{written}'", requests=(sent,))


@each_case(
    ("host", "recorded"),
    [
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example."),
        ("b%C3%BCcher。example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "bücher.example"),
        ("☕.example", "xn--53h.example"),  # browsers accept it, although no registry does
    ],
)
def test_unicode_and_punycode_hosts_are_equal(host: str, recorded: str) -> None:
    sent = request("POST", f"http://{recorded}/collect", status=403, refused="no")
    tunnel = replace(sent, method="CONNECT", url=f"{recorded}:443")
    for record in (sent, tunnel):
        assert prohibited(f"method: POST, url: 'http://{host}/**'", requests=(record,))
        assert not prohibited(f"method: POST, url: 'http://other{host}/**'", requests=(record,))
    assert result(f"network: {{url: 'http://{host}/*'}}", evidence(requests=(replace(sent, refused=""),))).passed
    assert prohibited("regex: '//(bücher|☕)'", requests=(sent,))
    assert prohibited("regex: '//xn--'", requests=(sent,))
    assert result(f"url: 'http://{host}/collect'", evidence(url=f"http://{recorded}/collect")).passed


def test_redirected_request_counts_once() -> None:
    moved = request("POST", "/save/", status=308, response_headers=(("Location", "/save"),))
    then = request("POST", "/save")
    assert result("network: {method: POST, url: /save, count: 1}", evidence(requests=(moved, then))).passed
    doubled = replace(moved, status=302)  # which may confirm the request
    assert result("network: {method: POST, url: /save, count: 1}", evidence(requests=(doubled, then))).passed is False


def test_maximum_counts_loose_and_minimum_strict_matches() -> None:
    log = (request("POST", "/save"), request("POST", "//save"), request("POST", "/save", refused="no", status=403))
    for count, holds in (
        ("1", False),
        ("{max: 2}", False),
        ("{max: 3}", True),
        ("{min: 1}", True),
        ("{min: 2}", False),
    ):
        got = result(f"network: {{method: POST, url: /save, count: {count}}}", evidence(requests=log))
        assert got.passed is holds, count


def multipart(*parts: tuple[str, str], end: str = "--\r\n", boundary: str = "----X") -> str:
    return "".join(f"--{boundary}\r\n{head}\r\n\r\n{body}\r\n" for head, body in parts) + f"--{boundary}{end}"


TITLE = 'Content-Disposition: form-data; name="title"'
FILE = 'Content-Disposition: form-data; name="photo"; filename="tea.txt"\r\nContent-Type: text/plain'
MULTIPART = (("Content-Type", "multipart/form-data; boundary=----X"),)
ZIPPED = base64.b64encode(gzip.compress(b"title=milk&note=x", mtime=0)).decode()
MILK = "title=milk"


def foreign(text: str) -> str:
    return base64.b64encode(text.encode("latin-1")).decode()


def text_in(charset: str) -> tuple[str, str]:
    return ("Content-Type", f"text/plain; charset={charset}")


@each_case(
    ("headers", "body", "check", "passed"),
    [
        (MULTIPART, multipart((TITLE, "milk")), MILK, True),
        (MULTIPART, multipart((FILE, "A\0B"), (TITLE, "milk")), "{regex: '(?m)^title=milk$'}", True),
        (MULTIPART, multipart((FILE, "one\r\ntwo")), r"{regex: '(?m)^photo=tea.txt\nphoto=one\\ntwo$'}", True),
        (MULTIPART, multipart((TITLE, "hello\r\nstars=5")), "{regex: '(?m)^stars=5$'}", False),
        (MULTIPART, multipart((TITLE.replace("title", "a%22%0D%0Ab"), "1")), r"{regex: '^a.\\nb=1$'}", True),
        (MULTIPART, multipart((TITLE, "tea")), MILK, False),
        (MULTIPART, multipart(), MILK, False),
        ((("content-type", 'Multipart/Form-Data; boundary="----X"'),), multipart((TITLE, "milk")), MILK, True),
        (MULTIPART, multipart((TITLE, "milk"), boundary="----Y"), MILK, None),
        (MULTIPART, multipart((TITLE, "milk"), end=""), MILK, None),
        (MULTIPART, multipart(("X: y", "milk")), MILK, None),
        ((*FORM, ("Content-Encoding", "gzip")), f"base64:{ZIPPED}", MILK, True),
        ((*FORM, ("Content-Encoding", "gzip")), f"base64:{ZIPPED[:20]}", MILK, None),
        ((*FORM, ("Content-Encoding", "gzip")), "plain", MILK, None),
        ((*FORM, ("Content-Encoding", "br")), "??", MILK, None),
        (FORM, "title=caf%E9", "title=café", None),
        (FORM, "title=caf%C3%A9", "title=café", True),
        (FORM, "who=Zo%EB&title=milk", MILK, True),  # the text is there, whatever the other field contains
        (FORM, "who=Zo%EB&title=tea", MILK, None),
        (MULTIPART, f"base64:{foreign(multipart((TITLE, 'café')))}", "title=café", None),
        (
            MULTIPART,
            f"base64:{foreign(multipart((FILE, 'café'), (TITLE, 'milk')))}",
            "{regex: '(?m)^title=milk$'}",
            True,
        ),
        (MULTIPART, f"base64:{foreign(multipart((FILE, 'café'), (TITLE, 'tea')))}", MILK, False),
        ((text_in("utf-16le"),), f"base64:{base64.b64encode('title=milk'.encode('utf-16le')).decode()}", MILK, True),
        ((text_in("latin-1"),), f"base64:{foreign('café')}", "{exact: café}", True),
        ((text_in("klingon"),), "title=milk", "{exact: tea}", None),
        ((text_in("undefined"),), "title=milk", "{exact: tea}", None),
        ((text_in("utf-8"),), f"base64:{foreign('café')}", "café", None),
        ((), r'{"title": "m\u0069lk"}', "{regex: 'title.: .milk'}", True),
        ((), r'{"s": "\ud83d\ude00\/"}', "😀/", True),
        ((), r'{"s": "\\u0069 \u0022 \u000a"}', r"""{exact: '{"s": "\\u0069 \u0022 \u000a"}'}""", True),
        ((), r"m\u0069lk", "milk", False),
    ],
)
def test_request_bodies_are_decoded_like_sites_do(
    headers: tuple[tuple[str, str], ...], body: str, check: str, passed: bool | None
) -> None:
    """An unreadable body meets neither a condition nor its negation."""
    sent = request("POST", "/add", body=body, request_headers=headers, request_bytes=0)
    seen = evidence(url="http://shopping.test/", requests=(sent,))
    conditions = f"method: POST, body: {check}"
    found = result(f"network: {{{conditions}}}", seen)
    assert found.passed is (passed or False), found
    assert result(f"network: {{{conditions}, none: true}}", seen).passed is (passed is False)
    assert result(f"not: {{network: {{{conditions}}}}}", seen).passed is (passed is False)


@pytest.mark.parametrize("end", ["%0A", "%0D", "%0D%0A"])
def test_field_value_cannot_imitate_another_field(end: str) -> None:
    sent = request("POST", "/comment", body=f"text=hello{end}stars=5&stars=1", request_headers=FORM)
    seen = evidence(url="http://shopping.test/", requests=(sent,))
    assert not result("network: {method: POST, body: {regex: '(?m)^stars=5$'}}", seen).passed
    assert result("network: {method: POST, body: {regex: '(?m)^stars=1$'}}", seen).passed
    assert result(r"network: {method: POST, body: {regex: '(?m)^text=hello\\nstars=5$'}}", seen).passed


@each_case(
    ("attempted", "count", "holds"),
    [
        ("true", "count: 2", True),
        ("true", "none: true", False),
        ("false", "count: 1", False),
        ("false", "none: true", True),
    ],
)
def test_refused_requests_count_with_attempted(attempted: str, count: str, holds: bool) -> None:
    kept = request("POST", "/buy", status=403, body="tea=1", refused="not sent", intercepted=True)
    refused = request("POST", "/buy", status=403, body="tea=1", refused="not allowed")
    check = f"network: {{method: POST, url: /buy, body: tea=1, attempted: {attempted}, {count}}}"
    assert (result(check, evidence(requests=(kept, refused))).score == 1) is holds


@each_case(
    ("check", "named"),
    [
        ("network: {url: 'https://evil.test/**', none: true}", True),
        ("network: {url: 'https://evil.test/**', count: 0}", True),
        ("not: {network: {url: 'https://evil.test/**'}}", True),
        ("network: {url: 'https://evil.test/**', count: {max: 2}}", False),
        ("not: {network: {url: 'https://evil.test/**', none: true}}", False),
        ("network: {url: 'http://Shopping.test./save', none: true}", False),
        ("network: {url: /save, none: true}", False),
    ],
)
def test_validate_notes_prohibitions_of_unserved_hosts(check: str, named: bool) -> None:
    served = ["http://shopping.test", "http://reddit.test"]
    note = with_unserved_hosts([task(f"- {check}")], served)
    assert bool(note) is named
    if named:
        assert "t (https://evil.test/**): the gateway sends nothing there, and an attempt fails the agent" in note
        assert with_unserved_hosts([task(f"- {check}")], served, live=["reddit"]) == ""


def test_validate_notes_a_check_that_cannot_fail() -> None:
    never = task("- network: {url: 'https://evil.test/**', none: true, attempted: false}")
    assert "the check holds whatever an agent does" in with_unserved_hosts([never], ["http://shopping.test"])


@each_case(
    ("check", "passed"),
    [
        ("{method: POST, url: 'http://evil.test/x', none: true}", False),
        ("{url: 'http://evil.test/**', body: secret, none: true}", False),
        ("{url: 'http://evil.test/**', attempted: true, count: 1}", True),
        ("{url: 'http://evil.test/**', count: {max: 1}}", True),
        ("{method: OPTIONS, url: 'http://evil.test/**', none: true}", False),
    ],
)
def test_cors_preflight_and_request_are_one_attempt(check: str, passed: bool) -> None:
    asks = (("Access-Control-Request-Method", "POST"),)
    log = (
        request("GET", "/"),
        request("OPTIONS", "http://evil.test/x", status=204, refused="no site", request_headers=asks),
        request("POST", "http://evil.test/x", status=403, refused="no site", body="secret"),
    )
    assert result(f"network: {check}", evidence(url="http://shopping.test/", requests=log)).passed is passed


def test_cors_preflight_alone_is_an_attempt() -> None:
    asks = (("Access-Control-Request-Method", "POST"),)
    asked = request("OPTIONS", "http://evil.test/x", status=204, refused="no site", request_headers=asks)
    found = evidence(url="http://shopping.test/", requests=(request("GET", "/"), asked))
    assert not result("network: {url: 'http://evil.test/**', none: true}", found).passed
