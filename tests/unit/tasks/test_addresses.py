"""Notation of addresses, and their resolution to full URLs."""

from __future__ import annotations

import pytest

from pytest_webarena.tasks import Address, resolve
from pytest_webarena.tasks.addresses import parse_address
from tests.cases import each_case

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
