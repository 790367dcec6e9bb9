"""Archives of sites: reading WARC and WACZ files, matching requests to captures, reporting misses."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import brotli
import pytest

from pytest_webarena.archives.answering import Answer, answer
from pytest_webarena.archives.archive import Archive
from pytest_webarena.archives.files import package_faults
from pytest_webarena.archives.writing import WarcFile
from pytest_webarena.errors import UsageError
from pytest_webarena.gateway.archive_misses import KEPT_BACK, LACKING
from tests.unit.archives.helpers import opened, write

HOME = "https://shop.test/"


def record(kind: str, url: str, block: bytes, *fields: str, number: int = 1) -> bytes:
    """Return a WARC record as other tools write it."""
    head = [
        "WARC/1.0", f"WARC-Type: {kind}", f"WARC-Record-ID: <urn:uuid:{number}>", "WARC-Date: 2024-05-01T10:00:00Z",
        f"WARC-Target-URI: {url}", "Content-Type: application/http", *fields, f"Content-Length: {len(block)}",
    ]  # fmt: skip
    return "\r\n".join(head).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def http(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode() + body


def foreign(path: Path, *records: bytes) -> Archive:
    path.write_bytes(b"".join(records))
    return Archive([path])


def header_of(made: Answer, name: str) -> str | None:
    return next((value for field, value in made.headers if field.lower() == name.lower()), None)


def lacks(made: Answer) -> bool:
    return header_of(made, LACKING) is not None


@pytest.mark.parametrize(
    ("asked", "how"),
    [
        ("https://shop.test/find?q=tea&page=2", "exact"),
        ("HTTPS://Shop.test:443/find?q=tea&page=2#top", "exact"),
        ("http://shop.test/find?q=tea&page=2", "scheme"),
        ("https://shop.test/find?page=2&q=tea", "query"),
        ("https://shop.test/find?q=tea&page=2&_=1700000000&utm_source=mail&gclid=x", "query"),
    ],
)
def test_equivalent_urls_match_a_capture(tmp_path: Path, asked: str, how: str) -> None:
    archive = opened(tmp_path / "a.warc.gz", ("GET", "https://shop.test/find?q=tea&page=2", b"two"))
    found = archive.find("GET", asked)
    assert found is not None
    assert found.how == how
    made = answer(archive, "GET", asked, {})
    assert made.data == b"two"
    assert (header_of(made, "Webarena-Archive-Match") is None) == (how == "exact")


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        ("GET", "https://shop.test/find?q=coffee&page=2"),
        ("GET", "https://shop.test/find?q=tea"),
        ("GET", "https://shop.test/find?q=tea&page=2&page=3"),
        ("GET", "https://shop.test/find?q=tea&page=2&ts=yesterday"),
        ("GET", "https://shop.test/find?q=tea&page=2&ts=2024"),
        ("GET", "https://shop.test/find?q=tea&page=2&timestamp=20240131"),
        ("GET", "https://shop.test/find/?q=tea&page=2"),
        ("GET", "https://shop.test/Find?q=tea&page=2"),
        ("GET", "https://shop.test:8443/find?q=tea&page=2"),
        ("GET", "https://www.shop.test/find?q=tea&page=2"),
        ("POST", "https://shop.test/find?q=tea&page=2"),
        ("DELETE", "https://shop.test/find?q=tea&page=2"),
    ],
)
def test_different_urls_and_methods_are_misses(tmp_path: Path, method: str, asked: str) -> None:
    archive = opened(tmp_path / "a.warc.gz", ("GET", "https://shop.test/find?q=tea&page=2", b"two"))
    made = answer(archive, method, asked, {})
    assert (made.status, lacks(made)) == (404, True)


def test_page_with_another_timestamp_is_a_miss(tmp_path: Path) -> None:
    """A page request with a different timestamp parameter must not match."""
    archive = opened(tmp_path / "a.warc.gz", ("GET", f"{HOME}prices?ts=1700000000&of=tea", b"8.50"))
    asked, page = f"{HOME}prices?of=tea&ts=1600000000", {"accept": "text/html,*/*"}
    assert answer(archive, "GET", asked, {"accept": "*/*"}).data == b"8.50"
    assert lacks(answer(archive, "GET", asked, page))
    same = f"{HOME}prices?utm_source=mail&of=tea&ts=1700000000"
    assert answer(archive, "GET", same, page).data == b"8.50"


def test_post_requests_match_by_body(tmp_path: Path) -> None:
    archive = opened(tmp_path / "a.warc.gz", ("POST", f"{HOME}find", b"found tea"), sent=b"q=tea")
    assert answer(archive, "POST", f"{HOME}find", {}, b"q=tea").data == b"found tea"
    assert lacks(answer(archive, "POST", f"{HOME}find", {}, b"q=coffee"))
    assert lacks(answer(archive, "POST", f"{HOME}find", {}))
    assert lacks(answer(archive, "GET", f"{HOME}find", {}))


def test_multipart_forms_match_with_another_boundary(tmp_path: Path) -> None:
    body = b'--%s\r\nContent-Disposition: form-data; name="q"\r\n\r\ntea\r\n--%s--\r\n'
    kind = "multipart/form-data; boundary=----WebKit%s"
    with WarcFile(tmp_path / "a.warc", sites={}) as file:
        file.add(
            method="POST", url=HOME, request_head=f"POST / HTTP/1.1\r\nContent-Type: {kind % 'one'}\r\n",
            request_body=body % (b"----WebKitone", b"----WebKitone"), response_head="HTTP/1.1 200 OK\r\n",
            response_body=b"x", time=1,
        )  # fmt: skip
    archive = Archive([tmp_path / "a.warc"])
    sent = body % (b"----WebKittwo", b"----WebKittwo")
    assert answer(archive, "POST", HOME, {"content-type": kind % "two"}, sent).data == b"x"


def test_newest_capture_or_the_one_nearest_to_a_time_is_served(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{n}.warc", ("GET", HOME, b"%d" % n), time=1000.0 * n) for n in (3, 1, 2)]
    assert answer(Archive(files), "GET", HOME, {}).data == b"3"
    assert answer(Archive(files, at=1900), "GET", HOME, {}).data == b"2"
    assert Archive(files).ambiguous() == {HOME: 3}


def test_transient_failure_is_not_served_when_a_better_capture_exists(tmp_path: Path) -> None:
    good = write(tmp_path / "good.warc", ("GET", HOME, b"good"), time=1)
    bad = write(tmp_path / "bad.warc", ("GET", HOME, b"bad"), status="503 Busy", time=2)
    assert answer(Archive([good, bad]), "GET", HOME, {}).data == b"good"
    only = Archive([bad])
    assert answer(only, "GET", HOME, {"accept": "*/*"}).status == 503
    # A page request would mistake the failure for the page.
    page = answer(only, "GET", HOME, {"accept": "text/html,*/*"})
    assert (lacks(page), b"failure of the moment, status 503" in page.data) == (True, True)


def test_request_intercepted_while_recording_is_intercepted_again(tmp_path: Path) -> None:
    """On the live site, its response was not needed either."""
    path = tmp_path / "a.warc.gz"
    with WarcFile(path, sites={}) as file:
        file.add_withheld(method="POST", url=f"{HOME}track?at=1", time=1)
        file.add_withheld(method="POST", url=f"{HOME}find", time=1)
        file.add_withheld(method="WEBSOCKET", url=f"{HOME}live", time=1)
        file.add(
            method="GET", url=HOME, request_head="GET / HTTP/1.1\r\n", request_body=b"",
            response_head="HTTP/1.1 200 OK\r\n", response_body=b"x",
            time=1,
        )  # fmt: skip
    archive = Archive([path, write(tmp_path / "b.warc.gz", ("POST", f"{HOME}find?q=1", b"found"))])
    script, tab = {"origin": "https://shop.test", "sec-fetch-mode": "cors"}, {"accept": "text/html,*/*"}
    made = answer(archive, "POST", f"{HOME}track?at=2", script, b"what=2")
    assert (made.status, lacks(made), header_of(made, KEPT_BACK)) == (403, False, "1")
    assert (json.loads(made.data)["error"], header_of(made, "Access-Control-Allow-Origin")) == (
        "not sent",
        "https://shop.test",
    )
    assert b"<h1>Not sent: live sites are only read</h1>" in answer(archive, "POST", f"{HOME}track", tab).data
    upgrade = {"upgrade": "websocket"}
    assert header_of(answer(archive, "GET", f"{HOME}live", upgrade), KEPT_BACK) == "1"
    for url in (HOME, f"{HOME}other"):  # a page is no answer to it
        assert lacks(answer(archive, "GET", url, upgrade))
    for method, where in (("PUT", "track"), ("POST", "tracks"), ("POST", "find")):  # the last was let through once
        assert lacks(answer(archive, method, f"{HOME}{where}", script, b"what=2")), where


@pytest.mark.parametrize(
    "status", ["100 Continue", "101 Switching Protocols", "206 Partial", "304 Not Modified", "abc"]
)
def test_partial_and_interim_responses_are_misses(tmp_path: Path, status: str) -> None:
    archive = foreign(tmp_path / "a.warc", record("response", HOME, http(b"x", status=status)))
    assert lacks(answer(archive, "GET", HOME, {}))


def test_decompression_bomb_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_webarena.archives.bodies._LONGEST", 1000)
    bomb = gzip.compress(bytes(100_000))
    archive = opened(tmp_path / "a.warc", ("GET", HOME, bomb), fields="Content-Encoding: gzip\r\n")
    assert lacks(answer(archive, "GET", HOME, {"accept-encoding": "identity"}))


def test_redirect_is_served_as_captured(tmp_path: Path) -> None:
    archive = opened(tmp_path / "a.warc", ("GET", HOME, b""), status="302 Found", fields="Location: /home\r\n")
    made = answer(archive, "GET", HOME, {})
    assert (made.status, header_of(made, "Location"), lacks(made)) == (302, "/home", False)


@pytest.mark.parametrize(
    ("asked", "status", "data", "where"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=5-99", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_range_requests_are_answered(tmp_path: Path, asked: str, status: int, data: bytes, where: str | None) -> None:
    archive = opened(tmp_path / "a.warc", ("GET", HOME, b"0123456789"))
    made = answer(archive, "GET", HOME, {"range": asked})
    assert (made.status, made.data, header_of(made, "Content-Range")) == (status, data, where)


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("if-none-match", 'W/"x", "y"', 304),
        ("if-none-match", '"z"', 200),
        ("if-modified-since", "Wed, 01 May 2024 10:00:00 GMT", 304),
        ("if-modified-since", "Wed, 01 May 2019 10:00:00 GMT", 200),
        ("if-modified-since", "yesterday", 200),
    ],
)
def test_conditional_requests_are_answered(tmp_path: Path, field: str, value: str, status: int) -> None:
    fields = 'ETag: "y"\r\nLast-Modified: Mon, 01 Apr 2024 10:00:00 GMT\r\n'
    made = answer(opened(tmp_path / "a.warc", ("GET", HOME, b"page"), fields=fields), "GET", HOME, {field: value})
    assert made.status == status


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "unheard-of"])
def test_body_is_served_in_an_accepted_content_encoding(tmp_path: Path, coding: str) -> None:
    pack = {"gzip": gzip.compress, "br": brotli.compress, "deflate": __import__("zlib").compress}
    packed = pack.get(coding, bytes)(b"a page")
    fields = f"Content-Encoding: {coding}\r\n"
    archive = opened(tmp_path / "a.warc", ("GET", HOME, packed), fields=fields)
    made = answer(archive, "GET", HOME, {"accept-encoding": f"{coding}, other;q=0.5"})
    assert (made.data, header_of(made, "Content-Encoding")) == (packed, coding)
    bare = answer(archive, "GET", HOME, {"accept-encoding": "identity"})
    if coding == "unheard-of":
        assert lacks(bare)
    else:
        assert (bare.data, header_of(bare, "Content-Encoding")) == (b"a page", None)


def test_body_unpacked_by_the_tool_is_served_without_encoding(tmp_path: Path) -> None:
    block = http(b"a page", "Content-Encoding: gzip", "Transfer-Encoding: chunked")
    archive = foreign(tmp_path / "a.warc", record("response", HOME, block))
    made = answer(archive, "GET", HOME, {"accept-encoding": "gzip"})
    assert (made.data, header_of(made, "Content-Encoding"), header_of(made, "Transfer-Encoding")) == (
        b"a page",
        None,
        None,
    )


def test_chunked_body_and_old_target_uri_form_are_read(tmp_path: Path) -> None:
    block = http(b"2;x=y\r\na \r\n4\r\npage\r\n0\r\n\r\n", "Transfer-Encoding: chunked")
    archive = foreign(tmp_path / "a.warc", record("response", f"<{HOME}>", block))
    assert answer(archive, "GET", HOME, {}).data == b"a page"


def test_revisit_record_serves_the_original_payload(tmp_path: Path) -> None:
    digest = "WARC-Payload-Digest: sha1:AAAA"
    again = record(
        "revisit", f"{HOME}b", http(b"", "X-From: again"), digest,
        "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest", number=2,
    )  # fmt: skip
    whole = record("response", f"{HOME}a", http(b"a page"), digest)
    made = answer(foreign(tmp_path / "a.warc", whole, again), "GET", f"{HOME}b", {})
    assert (made.data, header_of(made, "X-From")) == (b"a page", "again")
    assert lacks(answer(foreign(tmp_path / "b.warc", again), "GET", f"{HOME}b", {}))


def test_resource_record_is_served(tmp_path: Path) -> None:
    archive = foreign(
        tmp_path / "a.warc", record("resource", HOME, b"a page"), record("metadata", HOME, b"x", number=2)
    )
    assert answer(archive, "GET", HOME, {}).data == b"a page"


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_wacz_package_is_read(tmp_path: Path, how: int) -> None:
    warcs = [write(tmp_path / f"{n}.warc.gz", ("GET", f"{HOME}{n}", b"%d" % n)) for n in range(3)]
    with zipfile.ZipFile(tmp_path / "a.wacz", "w", how) as package:
        package.writestr("datapackage.json", "{}")
        for warc in warcs:
            package.write(warc, f"archive/{warc.name}")
        package.writestr("indexes/index.cdx", "lies")
    archive = Archive([tmp_path / "a.wacz"])
    assert [answer(archive, "GET", f"{HOME}{n}", {}).data for n in range(3)] == [b"0", b"1", b"2"]
    archive.close()


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "a.wacz"])
@pytest.mark.parametrize("content", [b"", b"no archive at all\r\n\r\n", b"PK\x03\x04broken", b"\x1f\x8bbroken"])
def test_invalid_archive_files_are_usage_errors(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    message = ""
    try:
        assert Archive([tmp_path / name]).count == 0
    except UsageError as error:
        message = str(error)
    assert not message or (name in message and "expected" in message)


def test_truncated_archive_file_is_a_usage_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.warc.gz", *(("GET", f"{HOME}{n}", bytes(range(256)) * 40) for n in range(20)))
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(UsageError, match=r"a\.warc\.gz: expected a whole WARC record"):
        Archive([path])


def test_head_and_preflight_requests_are_answered(tmp_path: Path) -> None:
    archive = opened(tmp_path / "a.warc", ("GET", HOME, b"page"))
    assert answer(archive, "HEAD", HOME, {}).status == 200
    made = answer(archive, "OPTIONS", HOME, {"access-control-request-method": "PUT", "origin": "https://x.test"})
    assert (made.status, header_of(made, "Access-Control-Allow-Origin")) == (204, "https://x.test")


def test_captured_control_headers_are_not_served(tmp_path: Path) -> None:
    fields = [
        f"{LACKING}: 1",
        "Strict-Transport-Security: max-age=1",
        "Alt-Svc: h3",
        "Content-Length: 3",
        "X-Kept: 1",
    ]
    archive = foreign(tmp_path / "a.warc", record("response", HOME, http(b"page", *fields)))
    assert {name for name, _ in answer(archive, "GET", HOME, {}).headers} == {"X-Kept", "Accept-Ranges"}


def test_recording_drops_secrets_and_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    with WarcFile(path, sites={}) as file:
        for expected in (True, False):
            assert expected is file.add(
                method="GET", url=HOME,
                request_head="GET / HTTP/1.1\r\nCookie: sesame\r\nAuthorization: sesame\r\nX-A: b\r\n",
                request_body=b"", response_body=b"hi",
                response_head="HTTP/1.1 200 OK\r\nSet-Cookie: sesame\r\nContent-Type: text/plain\r\n",
                time=1,
            )  # fmt: skip
    assert b"sesame" not in path.read_bytes()
    assert b"X-A: b" in path.read_bytes()
    with pytest.raises(UsageError, match="expected a new file"):
        WarcFile(path, sites={})


def test_archive_written_by_wget_is_read() -> None:
    """``wget --warc-file`` of Debian 12: two pages, a missing image and robots.txt."""
    archive = Archive([Path(__file__).parent / "data" / "wget-1.21.warc.gz"])
    home = "http://127.0.0.1:8765"
    assert archive.origins == (home,)
    assert b"<h1>Docs</h1>" in answer(archive, "GET", f"{home}/", {}).data
    assert b"The answer is 42." in answer(archive, "GET", f"{home}/more.html?a=1&b=2", {}).data
    assert (made := answer(archive, "GET", f"{home}/x.png", {})).status == 404
    assert not lacks(made)  # the site itself answered 404
    assert lacks(answer(archive, "GET", f"{home}/y.png", {}))


@pytest.mark.parametrize(("name", "problems"), [("py-wacz-0.6.0.wacz", 0), ("js-wacz-0.1.6.wacz", 1)])
def test_packages_written_by_other_tools_are_read(name: str, problems: int) -> None:
    """The same file packed by Webrecorder's tool (PyPI) and Harvard's (npm). The latter lists a wrong digest of it,
    which the former's ``wacz validate`` reports, too."""
    path = Path(__file__).parent / "data" / name
    made = answer(Archive([path]), "GET", "http://127.0.0.1:8765/more.html?a=1&b=2", {})
    assert b"The answer is 42." in made.data
    assert len(package_faults(path)) == problems


def test_archive_written_by_node_warc_is_read() -> None:
    """node-warc 3.3.1 with Chromium: its records are pairs, request first, that refer to each other."""
    archive = Archive([Path(__file__).parent / "data" / "node-warc-3.3.1.warc"])
    assert archive.origins == ("http://cdn.example", "http://tea.example")
    assert b"<h1 id=h>none</h1>" in answer(archive, "GET", "http://tea.example/js", {}).data
    assert b"'42'" in answer(archive, "GET", "http://cdn.example/app.js", {}).data
