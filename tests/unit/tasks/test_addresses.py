"""Notation of addresses, and their resolution to full URLs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.sites_for_tasks import sites_for_tasks
from pytest_webarena.tasks import Address, resolve, validate
from pytest_webarena.tasks.addresses import parse_address
from pytest_webarena.tasks.known_sites import KnownSites
from tests.cases import each_case

from .helpers import problems, task_text

SITES = {"shopping": "http://shopping.test", "reddit": "http://reddit.test/base/"}


@each_case(
    ("text", "address"),
    [
        ("/x?y=1", "http://shopping.test/x?y=1"),
        ("reddit:/f", "http://reddit.test/base/f"),
        ("https://example.org/x", "https://example.org/x"),
        ("about:blank", "about:blank"),
        ("gitlab:/x", None),
        ("x/y", None),
        ("http://", None),
    ],
)
def test_resolve_returns_full_urls(text: str, address: str | None) -> None:
    assert resolve(text, SITES) == address


def test_path_without_a_site_is_not_resolved() -> None:
    assert resolve("/x", {}) is None


@pytest.mark.parametrize("text", ["reddit:/f", "http://a.test:8080/x", "about:blank"])
def test_addresses_round_trip(text: str) -> None:
    address = parse_address(text)
    assert isinstance(address, Address)
    assert str(address) == text


@each_case("text", ["", "x", "a b:/x", "javascript:alert(1)", "http://a b/", "http://[x/", "file:relative"])
def test_invalid_addresses_are_refused(text: str) -> None:
    assert parse_address(text) is None


KNOWN = KnownSites(
    {"shopping": (), "reddit": ()},
    {"shopping": ["http://shopping.test", "http://10.0.0.1:7770"], "reddit": ["http://r.test"]},
)
FULL = "http://shoping.test/kettle?a=1"


@each_case(
    ("keys", "hint"),
    [
        (f"start: {FULL}", "write 'shopping:/kettle?a=1' for http://shopping.test"),
        (f"solution: [{{goto: '{FULL}'}}]", "write 'shopping:/kettle?a=1' for http://shopping.test"),
        (f"setup: [{{browser: [{{goto: '{FULL}'}}]}}]", "write 'shopping:/kettle?a=1' for http://shopping.test"),
        (
            f"checks: [{{page: {{open: '{FULL}', includes: x}}}}]",
            "write 'shopping:/kettle?a=1' for http://shopping.test",
        ),
        ("start: https://www.example.com", "write site:/path for a page of a site; trials reach no other host"),
        ("start: http://10.0.0.1:7771/", "write site:/path for a page of a site; trials reach no other host"),
    ],
)
def test_host_of_no_site_is_refused(keys: str, hint: str) -> None:
    [problem] = problems(task_text(keys), sites=KNOWN)
    assert (problem.expected, problem.hint) == ("a host of a site", hint)


@each_case(
    ("keys", "sites"),
    [
        ("start: http://shopping.test./x", KNOWN),
        ("start: http://shopping.test:80/x", KNOWN),
        ("start: http://10.0.0.1:7770/", KNOWN),
        ("checks: [{network: {url: 'https://evil.example/**', none: true}}]", KNOWN),
        ("checks: [{answer: {url: 'https://www.example.com/'}}]", KNOWN),
        (f"start: {FULL}", ["shopping", "reddit"]),
        (f"start: {FULL}", KnownSites({"shopping": (), "reddit": None})),
        (f"start: {FULL}\nsource: {{suite: webarena, task_id: 0}}", KNOWN),
    ],
)
def test_host_that_may_exist_or_be_prohibited_is_valid(keys: str, sites: Collection[str]) -> None:
    assert problems(task_text(keys), sites=sites) == []


def test_check_of_an_address_elsewhere_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(task_text(f"checks: [{{url: '{FULL}'}}]"))
    [warning] = validate([file], sites=KNOWN).warnings
    assert "expected a host of a site, found 'shoping.test' (write 'shopping:/kettle?a=1'" in str(warning)


def test_hosts_of_two_catalogues_are_joined() -> None:
    other = KnownSites({"map": ()}, {"map": ["http://map.test"]})
    assert KNOWN.merged(other).foreign_host("http://map.test/") is None
    assert KNOWN.merged(other).foreign_host("http://elsewhere.test/") is not None
    assert KNOWN.merged(KnownSites({"live": ()})).foreign_host("http://elsewhere.test/") is None


def test_catalogue_knows_its_hosts() -> None:
    assert sites_for_tasks(load_catalogue("embedded")).foreign_host("http://homepage.tset/") is not None
    assert sites_for_tasks(load_catalogue("live")).foreign_host("http://www.example.com/") is None
