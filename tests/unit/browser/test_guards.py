"""URL guards: addresses that a tab may open or stay at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.browser.tabs.address_guard import RefusedAddress, allowed_in_tab, resolve_address
from tests.cases import each_case

BASE = "http://shop.test/items/4?page=2"


@each_case(
    ("written", "url"),
    [
        ("http://a.test/x", "http://a.test/x"),
        ("HTTPS://a.test/x", "HTTPS://a.test/x"),
        ("/cart", "http://shop.test/cart"),
        ("?page=3", "http://shop.test/items/4?page=3"),
        ("#top", "http://shop.test/items/4?page=2#top"),
        ("//other.test/x", "http://other.test/x"),
        ("a.test", "http://a.test"),
        ("a.test:8080/x", "http://a.test:8080/x"),
        ("localhost:8080", "http://localhost:8080"),
        (" http://a.test/x\n", "http://a.test/x"),
        ("about:blank", "about:blank"),
    ],
)
def test_written_addresses_are_resolved(written: str, url: str) -> None:
    assert resolve_address(written, BASE) == url


@each_case(
    "written",
    [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "java\nscript:alert(1)",
        "javascript:alert(1)",
        "data:text/html,hi",
        "view-source:http://a.test",
        "chrome://settings",
        "about:config",
        "blob:http://a.test/1",
        "ftp://a.test",
        "mailto:a@a.test",
    ],
)
def test_other_schemes_are_refused(written: str) -> None:
    with pytest.raises(RefusedAddress, match="only http and https"):
        resolve_address(written, BASE)


@each_case("written", ["", "  ", "the cart", "http://", "http:///x", "http://[::1", "http://a.test:port/"])
def test_invalid_addresses_are_refused(written: str) -> None:
    with pytest.raises(RefusedAddress):
        resolve_address(written, BASE)


def test_path_without_a_current_site_is_refused() -> None:
    with pytest.raises(RefusedAddress, match="no full address"):
        resolve_address("/cart", "about:blank")


@given(st.text(max_size=30))
def test_every_resolved_address_is_allowed_in_a_tab(text: str) -> None:
    try:
        url = resolve_address(text, BASE)
    except RefusedAddress:
        return
    assert allowed_in_tab(url)


@each_case(
    ("url", "allowed"),
    [
        ("http://a.test/", True),
        ("about:blank", True),
        ("about:blank#x", True),
        ("about:srcdoc", True),
        ("about:gpu", False),
        ("blob:http://a.test/1", True),
        ("blob:null/1", False),
        ("data:text/html,hi", False),
        ("file:///etc/passwd", False),
        ("chrome://version", False),
        ("chrome-error://chromewebdata/", True),  # Chromium's page for a failed navigation
        ("", True),
    ],
)
def test_only_web_pages_are_allowed_in_a_tab(url: str, allowed: bool) -> None:
    assert allowed_in_tab(url) is allowed
