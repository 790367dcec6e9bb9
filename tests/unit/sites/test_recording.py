"""Recorded responses of sites: responses that block the visitor are not stored."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.archives.archive import Archive
from pytest_webarena.gateway.framing import Capture
from pytest_webarena.gateway.log_entry import Entry
from pytest_webarena.sites.broker.recording import Recording

HOME = "https://tea.example/"
WALL = b"<title>Tea</title><script>var about = 'tea';</script><p>Please verify you are human to go on."


def exchange(url: str = HOME, *, method: str = "GET", got: bytes = b"<h1>Tea</h1>", fields: str = "") -> Entry:
    entry = Entry(method, url, f"{method} / HTTP/1.1\r\n")
    entry.status, entry.whole = 200, True
    entry.response_head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}"
    entry.reply = Capture(1 << 20)
    entry.reply.data += got
    entry.response_bytes = len(got)
    return entry


def app(backend: str, host: str) -> SimpleNamespace:
    return SimpleNamespace(backend=backend, sites=(SimpleNamespace(host=host),))


def recorded(path: Path, *entries: Entry, backend: str = "live", **more: SimpleNamespace) -> Archive:
    catalogue: Any = SimpleNamespace(sites={}, apps={"tea": app(backend, "tea.example"), **more})
    recording = Recording(path / "a.warc.gz", catalogue)
    for entry in entries:
        recording.keep(entry)
    recording.close()
    assert not recording.problem
    return Archive([path / "a.warc.gz"])


@pytest.mark.parametrize("backend", ["live", "process"])
@pytest.mark.parametrize("packed", [False, True])
def test_block_page_of_a_live_site_is_not_recorded(tmp_path: Path, packed: bool, backend: str) -> None:
    """A replayed block page would fail every later trial. Responses of own sites are always stored."""
    wall = exchange(got=gzip.compress(WALL), fields="Content-Encoding: gzip\r\n") if packed else exchange(got=WALL)
    assert recorded(tmp_path, wall, backend=backend).count == (0 if backend == "live" else 1)


@pytest.mark.parametrize("own", ["tea.example", "shop.test"])
def test_block_page_of_an_own_site_is_recorded(tmp_path: Path, own: str) -> None:
    backend, other_backend = ("process", "live") if own == "tea.example" else ("live", "process")
    made = recorded(tmp_path, exchange(got=WALL), backend=backend, other=app(other_backend, "shop.test"))
    assert made.count == (own == "tea.example")


def test_blocked_response_is_not_recorded(tmp_path: Path) -> None:
    refused = exchange()
    refused.note_obstacle("blocked", "status 403")
    assert recorded(tmp_path, refused).count == 0


def test_withheld_requests_are_recorded_as_withheld(tmp_path: Path) -> None:
    kept_back = exchange(f"{HOME}track?n=1", method="POST")
    kept_back.intercepted, kept_back.refused, kept_back.own = True, "it was not sent", "it was not sent"
    archive = recorded(tmp_path, exchange(), kept_back)
    assert archive.count == 1
    assert archive.kept_back("POST", "http://tea.example/track?n=2")
    assert not archive.kept_back("POST", HOME)
    assert not archive.kept_back("PUT", f"{HOME}track")


def test_request_withheld_by_its_body_does_not_apply_to_others(tmp_path: Path) -> None:
    """A withheld GraphQL mutation does not make later queries to that address withheld."""
    mutation = exchange(f"{HOME}graphql", method="POST")
    mutation.intercepted, mutation.refused, mutation.own, mutation.by_body = True, "not sent", "not sent", True
    assert not recorded(tmp_path, exchange(), mutation).kept_back("POST", f"{HOME}graphql")


def test_withheld_get_does_not_apply_to_other_gets(tmp_path: Path) -> None:
    disguised, socket = exchange(f"{HOME}q?_method=delete"), exchange(f"{HOME}live")
    socket.request_head = "GET /live HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    for each in (disguised, socket):
        each.intercepted, each.refused, each.own = True, "it was not sent", "it was not sent"
    archive = recorded(tmp_path, disguised, socket)
    assert not archive.kept_back("GET", f"{HOME}q?a=1")
    assert not archive.kept_back("GET", f"{HOME}live")
    assert archive.kept_back("WEBSOCKET", f"{HOME}live")
