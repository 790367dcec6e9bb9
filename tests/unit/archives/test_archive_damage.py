"""Truncated, damaged and hostile archives: nothing of them is served as a site's response."""

from __future__ import annotations

import gzip
import hashlib
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest

from pytest_webarena.archives.answering import answer
from pytest_webarena.archives.archive import Archive
from pytest_webarena.archives.files import package_faults
from pytest_webarena.archives.reading import find_damage
from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from tests.unit.archives.helpers import write
from tests.unit.archives.test_archive import HOME, foreign, header_of, http, lacks, record

PAGE = b"<h1>Prices</h1>" * 40
PACKED = gzip.compress(PAGE, mtime=0)
CHUNKED = "Transfer-Encoding: chunked"
BROWSER = {"accept-encoding": "gzip, deflate, br, zstd"}


@pytest.mark.parametrize(
    ("body", "fields", "declared"),
    [
        (PAGE, ("Content-Length: 5000",), ()),
        (PAGE, (), ("WARC-Truncated: length",)),
        (b"258\r\n" + PAGE + b"\r\n400\r\n<p>Assam", (CHUNKED,), ()),
        (b"258\r\n" + PAGE + b"\r\nzzz\r\n<p>Assam", (CHUNKED,), ()),
        (b"400\r\n" + PAGE, (CHUNKED,), ()),
        (b"258\r\n" + PAGE, (CHUNKED,), ()),
        (PACKED[:25], ("Content-Encoding: gzip",), ()),
        (brotli.compress(PAGE)[:12], ("Content-Encoding: br",), ()),
    ],
    ids=["length", "told", "chunk", "chunks", "one chunk", "no end", "gzip", "br"],
)
def test_truncated_response_is_a_miss(
    tmp_path: Path, body: bytes, fields: tuple[str, ...], declared: tuple[str, ...]
) -> None:
    archive = foreign(tmp_path / "a.warc", record("response", HOME, http(body, *fields), *declared))
    for headers in (BROWSER, {}):
        assert lacks(answer(archive, "GET", HOME, headers))


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"258\r\n" + PAGE + b"\r\n0\r\n\r\n", (CHUNKED,)),
        (b"258;x=1\r\n" + PAGE + b"\r\n0\r\nTrailer: 1\r\n\r\n", (CHUNKED,)),
        (PAGE, (CHUNKED,)),
        (PAGE, (f"Content-Length: {len(PAGE)}",)),
        (PAGE, ("Content-Length: 3000", "Content-Encoding: gzip")),
        (PAGE, ("Content-Length: 3000", "X-Orig-Content-Encoding: br")),
        (PAGE, ("Content-Encoding: br",)),
        (PAGE, ("Content-Encoding: zstd",)),
        (PACKED + b"\0" * 20, ("Content-Encoding: gzip",)),
        (brotli.compress(PAGE), ("Content-Encoding: br",)),
    ],
    ids=["chunk", "trailer", "unpacked chunks", "length", "unpacked", "renamed", "no br", "no zstd", "gzip", "br"],
)
def test_complete_response_is_served_whether_unpacked_or_not(
    tmp_path: Path, body: bytes, fields: tuple[str, ...]
) -> None:
    archive = foreign(tmp_path / "a.warc", record("response", HOME, http(body, *fields)))
    assert answer(archive, "GET", HOME, {}).data == PAGE


def test_complete_capture_is_preferred_to_a_newer_truncated_one(tmp_path: Path) -> None:
    old = record("response", HOME, http(b"old"))
    new = record("response", HOME, http(b"new"), "WARC-Truncated: disconnect", number=2).replace(b"2024-", b"2025-")
    archive = foreign(tmp_path / "a.warc", old, new)
    assert answer(archive, "GET", HOME, {}).data == b"old"


def test_negative_chunk_size_does_not_loop(tmp_path: Path) -> None:
    """Python parses `` -10`` as a number, and a negative chunk size would loop without end."""
    body = b" " * 17 + b"-10\r\nhello"
    archive = foreign(tmp_path / "a.warc", record("response", HOME, http(body, CHUNKED)))
    assert answer(archive, "GET", HOME, {}).data == body


def redirect(url: str, to: str, number: int) -> bytes:
    return record("response", url, http(b"", f"Location: {to}", status="302 Found"), number=number)


@pytest.mark.parametrize(
    ("captured", "asked"),
    [
        ({"http://shop.test/up": "https://shop.test/up"}, "http://shop.test/up"),
        ({f"{HOME}c?utm_source=mail": "/c"}, f"{HOME}c?utm_source=mail"),
        ({f"{HOME}a": "/b", f"{HOME}b": "a#x"}, f"{HOME}a"),
        ({f"{HOME}in": "/a", f"{HOME}a": "/b", f"{HOME}b": "/a"}, f"{HOME}in"),
    ],
)
def test_redirect_loops_are_misses(tmp_path: Path, captured: dict[str, str], asked: str) -> None:
    records = [redirect(url, to, number) for number, (url, to) in enumerate(captured.items())]
    archive = foreign(tmp_path / "a.warc", *records)
    assert lacks(answer(archive, "GET", asked, {}))


def test_redirects_that_end_are_served_as_captured(tmp_path: Path) -> None:
    records = [redirect(f"{HOME}a", "/b", 1), redirect(f"{HOME}b", "https://else.test/", 2)]
    records += [redirect(f"{HOME}odd", "http://[bad/", 3)]
    archive = foreign(tmp_path / "a.warc", *records)
    for path, to in (("a", "/b"), ("b", "https://else.test/"), ("odd", "http://[bad/")):
        assert header_of(answer(archive, "GET", f"{HOME}{path}", {}), "Location") == to


def test_invalid_url_of_a_record_is_skipped(tmp_path: Path) -> None:
    bad = [record("response", url, http(b"x"), number=n) for n, url in enumerate(("http://[bad/", "http:///x"))]
    archive = foreign(tmp_path / "a.warc", *bad, record("response", HOME, http(b"good"), number=9))
    assert [each.url for each in archive.captures()] == [HOME]


@pytest.mark.parametrize("escaped", ["%7C", "|"])
def test_equivalent_url_escapes_match(tmp_path: Path, escaped: str) -> None:
    archive = foreign(tmp_path / "a.warc", record("response", f"{HOME}%7ea?q=1{escaped}2&x=[1]", http(b"found")))
    made = answer(archive, "GET", f"{HOME}~a?q=1{'|' if escaped == '%7C' else '%7c'}2&x=%5b1]", {})
    assert (made.data, lacks(made)) == (b"found", False)
    assert lacks(answer(archive, "GET", f"{HOME}~a?q=1%2F2&x=[1]", {}))


@pytest.mark.parametrize(
    "content",
    [
        b"\0" * 200_000,
        gzip.compress(b"\0" * 200_000, mtime=0),
        b"WARC/1.0\r\nWARC-Type: response\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"WARC/1.0\r\nWARC-Type: response\r\n" + b"X: a\r\n" * 30_000 + b"\r\n\r\n",
        record("response", HOME, http(b"", "X: " + "a" * 200_000)),
        record("response", HOME, http(b"", *["X: a"] * 30_000)),
    ],
    ids=["zeros", "packed zeros", "line", "lines", "http line", "http lines"],
)
def test_endless_record_headers_are_given_up(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / f"a.warc{'.gz' if content.startswith(gzip.compress(b'')[:2]) else ''}"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"a head without end|begins with b'\\x00") as raised:
        Archive([path])
    assert len(str(raised.value)) < 400


def package(path: Path, spoil: Callable[[bytes], bytes], *, how: int = zipfile.ZIP_STORED, **more: bytes) -> Path:
    with zipfile.ZipFile(path, "w", how) as file:
        file.writestr("archive/data.warc", record("response", HOME, http(PAGE)))
        for name, data in more.items():
            file.writestr(name.replace("_", "."), data)
    path.write_bytes(spoil(path.read_bytes()))
    return path


def _in_directory(data: bytes, at: int, value: bytes) -> bytes:
    start = data.index(b"PK\x01\x02") + at
    return data[:start] + value + data[start + len(value) :]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: _in_directory(data, 8, b"\x01"),  # encrypted
        lambda data: _in_directory(data, 10, b"\x63"),  # in an unknown way
        lambda data: _in_directory(data, 42, struct.pack("<I", 1 << 20)),  # elsewhere
        lambda data: data[:50] + b"\xff" * 20 + data[70:],
    ],
    ids=["encrypted", "unknown", "elsewhere", "broken"],
)
def test_unreadable_packages_are_usage_errors(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    path = package(tmp_path / "a.wacz", spoil, how=zipfile.ZIP_DEFLATED)
    with pytest.raises(UsageError, match=r"expected a WACZ \(a ZIP file\), found: "):
        Archive([path])


def test_packages_are_checked_against_their_listed_digests(tmp_path: Path) -> None:
    block = record("response", HOME, http(PAGE))
    listed = {"path": "archive/data.warc", "hash": f"sha256:{hashlib.sha256(block).hexdigest()}"}
    lost = {"path": "pages/pages.jsonl", "hash": "sha256:00"}
    good = json.dumps({"resources": [listed]}).encode()
    more = json.dumps({"resources": [{**listed, "hash": "sha256:00"}, lost]}).encode()
    assert find_damage([package(tmp_path / "good.wacz", bytes, datapackage_json=good)]) == []
    assert package_faults(package(tmp_path / "odd.wacz", bytes, datapackage_json=b"[]")) == []
    faults = package_faults(package(tmp_path / "bad.wacz", bytes, datapackage_json=more))
    assert [each.partition(" ")[0] for each in faults] == ["bad.wacz:"] * 2
    assert "expected the sha256 00, found " in faults[0]
    assert faults[1].endswith("expected the listed file, found none")
    spoilt = package(tmp_path / "crc.wacz", lambda data: data.replace(b"Prices", b"Pieces", 1))
    assert "Bad CRC-32" in package_faults(spoilt)[0]


def test_archive_check_fails_without_any_response(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.warc").write_bytes(b"")
    assert main(["sites", "archive", "check", str(tmp_path / "a.warc")]) == 1
    assert "expected an archive with usable responses, found none" in capsys.readouterr().out
    foreign(tmp_path / "b.warc", record("response", HOME, http(PAGE), "WARC-Truncated: length"))
    assert main(["sites", "archive", "check", str(tmp_path / "b.warc")]) == 0
    assert "1 marked as truncated" in capsys.readouterr().out


def test_archive_add_is_atomic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = write(tmp_path / "own.warc.gz", ("GET", HOME, b"home"))
    more = write(tmp_path / "more.warc.gz", ("GET", f"{HOME}more", b"more"))
    plain = write(tmp_path / "plain.warc", ("GET", f"{HOME}plain", b"plain"))
    before = own.read_bytes()
    assert main(["sites", "archive", "add", str(own), str(more), str(plain)]) == 2
    assert main(["sites", "archive", "add", str(own), str(own)]) == 2
    assert own.read_bytes() == before
    assert main(["sites", "archive", "add", str(own), str(more)]) == 0
    assert "1 captures added; 2 captures" in capsys.readouterr().out
    assert Archive([own]).count == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["more.warc.gz", "own.warc.gz", "plain.warc"]
