"""Requests that a trial sent, and differences between two requests to the same URL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.agents.request_diff import differing_fields, pair_requests, read_sent

FORM = "application/x-www-form-urlencoded"
BOUNDARY = "multipart/form-data; boundary="


def posts(folder: Path, *bodies: tuple[str, str], query: str = "") -> Any:
    """Return the recorded POST requests to one URL with these content types and bodies."""
    folder.mkdir(exist_ok=True)
    lines = [
        {
            "time": 1732800100.0 + number, "method": "POST", "url": f"http://s.test/save{query}", "status": 204,
            "request_headers": [["Content-Type", kind]] if kind else [], "request_body": body,
        }
        for number, (kind, body) in enumerate(bodies)
    ]  # fmt: skip
    (folder / "network.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return read_sent(folder)


def request_diff(tmp_path: Path, kind: str, one: str, two: str) -> list[tuple[str, str | None, str | None]]:
    [then], [now] = posts(tmp_path / "then", (kind, one)), posts(tmp_path / "now", (kind, two))
    return list(differing_fields(then, now))


def in_parts(boundary: str, *fields: str) -> str:
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{field.partition("=")[0]}"' for field in fields]
    ends = [f"\r\n\r\n{field.partition('=')[2]}\r\n" for field in fields]
    return "".join(map("".join, zip(parts, ends, strict=True))) + f"--{boundary}--\r\n"


@pytest.mark.parametrize(
    ("kind", "one", "two", "expected"),
    [
        (FORM, "id=3&a=b+c", "id=2&a=b+c", [("id", "3", "2")]),
        (FORM, "row=1&row=2", "row=1&row=3", [("row", "1, 2", "1, 3")]),
        (FORM, "row=1&row=2", "row=1", [("row", "1, 2", "1")]),
        (FORM, "id=3", "id=3&all=on", [("all", None, "on")]),
        (FORM, "id=3&all=on", "id=3", [("all", "on", None)]),
        (FORM, "note=", "", [("note", "", None)]),
        ("text/plain;charset=UTF-8", "id=3", "id=2", [("id", "3", "2")]),
        ("application/json", '{"id": 3, "on": true}', '{"id": 2, "on": true}', [("id", "3", "2")]),
        ("application/json", '[{"id": 3}]', '[{"id": 2}]', [("[0].id", "3", "2")]),
        ("application/json", '{"of": {"ids": [1, 2]}}', '{"of": {"ids": [1]}}', [("of.ids[1]", "2", None)]),
        ("application/json", '{"of": {}}', '{"of": []}', [("of", "{}", "[]")]),
        ("text/plain", "3", "2", [("", "3", "2")]),
        ("text/plain", "the third", "the second", [("", "the third", "the second")]),
        ("", "<id>3</id>", "<id>2</id>", [("", "<id>3</id>", "<id>2</id>")]),
    ],
)
def test_fields_are_compared_in_every_body_format(tmp_path: Path, kind: str, one: str, two: str, expected: Any) -> None:
    assert request_diff(tmp_path, kind, one, two) == expected
    assert request_diff(tmp_path, kind, one, one) == []


def test_multipart_forms_are_compared_without_their_boundaries(tmp_path: Path) -> None:
    [then] = posts(tmp_path / "then", (f"{BOUNDARY}x1", in_parts("x1", "id=3", "note=a\nb")))
    [same] = posts(tmp_path / "same", (f"{BOUNDARY}y2", in_parts("y2", "id=3", "note=a\nb")))
    [now] = posts(tmp_path / "now", (f"{BOUNDARY}y2", in_parts("y2", "id=2", "note=a\nb")))
    assert list(differing_fields(then, same)) == []
    assert list(differing_fields(then, now)) == [("id", "3", "2")]


def test_query_parameters_are_compared(tmp_path: Path) -> None:
    [then] = posts(tmp_path / "then", ("", ""), query="?id=3&_=1732800000123")
    [now] = posts(tmp_path / "now", ("", ""), query="?id=2&_=1732800009123")
    assert list(differing_fields(then, now)) == [("id", "3", "2")]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("1732800000", "1732800107.5"),
        ("1732800000000", "1732800107512"),
        ("2024-11-28T13:20:00.123Z", "2024-11-28T14:30:00%2B01:00"),
        ("d41d8cd98f00b204", "e9800998ecf8427e"),
        ("0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
    ],
)
def test_generated_values_are_not_a_difference(tmp_path: Path, one: str, two: str) -> None:
    assert request_diff(tmp_path, FORM, f"at={one}", f"at={two}") == []
    assert request_diff(tmp_path, FORM, f"at={one}", "at=2") == [("at", one, "2")]
    assert request_diff(tmp_path, FORM, f"at={one}", "") == [("at", one, None)]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("2024-11-28T10:00", "2024-11-28T11:00"),  # a field for a date and a time: chosen
        ("2031-01-01T10:00:00Z", "2031-02-01T10:00:00Z"),
        ("1555550100", "1555550199"),  # a telephone number
        ("somebody@shops.example", "somebody.else@shops.example"),
        ("waterproof-windbreaker", "waterproof-trousers-long"),
    ],
)
def test_values_that_only_resemble_generated_ones_are_a_difference(tmp_path: Path, one: str, two: str) -> None:
    assert request_diff(tmp_path, FORM, f"at={one}", f"at={two}") == [("at", one, two)]


def test_requests_to_one_url_are_paired_in_any_order(tmp_path: Path) -> None:
    then = posts(tmp_path / "then", (FORM, "x=1"), (FORM, "x=2"), (FORM, "x=3"))
    turned = posts(tmp_path / "turned", (FORM, "x=3"), (FORM, "x=1"), (FORM, "x=2"))
    now = posts(tmp_path / "now", (FORM, "x=3"), (FORM, "x=9"), (FORM, "x=1"))
    assert list(pair_requests(then, turned)) == []
    assert [(one.fields, two.fields) for one, two in pair_requests(then, now)] == [({"x": ("2",)}, {"x": ("9",)})]


def test_reads_and_refused_requests_are_left_out(tmp_path: Path) -> None:
    entries = [
        {"time": 1.0, "method": "GET", "url": "http://s.test/"},
        {"time": 2.0, "method": "POST", "url": "http://other.test/", "refused": "no site of this task"},
        {"time": 3.0, "method": "DELETE", "url": "http://s.test/rows/3"},
    ]
    (tmp_path / "network.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in entries))
    assert [each.place for each in read_sent(tmp_path)] == [("DELETE", "s.test", "/rows/3")]
    assert read_sent(tmp_path / "none") == []
