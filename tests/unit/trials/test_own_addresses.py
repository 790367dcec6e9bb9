"""Own addresses of hosted sites in pages and answers."""

from __future__ import annotations

from pytest_webarena.browser.reports import PageReading
from pytest_webarena.evidence import TabState
from pytest_webarena.sites.protocol.messages import SiteAccess
from pytest_webarena.trials.own_addresses import named, named_reading, named_tab
from tests.cases import each_case


def site(name: str, own: str, path: str = "") -> SiteAccess:
    return SiteAccess(
        name=name, app=name, url=f"http://{name}.test{path}", start="", users={}, default_user="", login=None,
        own_address=own,
    )  # fmt: skip


SITES = [
    site("home", "http://h:80"),
    site("wiki", "http://h:80/wiki", "/wiki"),
    site("shop", "https://shop.example.org"),
    site("kept", ""),
]


@each_case(
    "text, expected",
    [
        ("at http://h:80/a?b#c, or", "at http://home.test/a?b#c, or"),
        ("http://h:80", "http://home.test"),
        ("http://h:80/wiki/Tea", "http://wiki.test/wiki/Tea"),
        ("http://h:80/wikis", "http://home.test/wikis"),
        ("http://h:80/wiki", "http://wiki.test/wiki"),
        ("http://h:8080/a", "http://h:8080/a"),
        ("see https://shop.example.org.", "see http://shop.test."),
        ("https://shop.example.org.uk", "https://shop.example.org.uk"),
        ("https://shop.example.org:444/", "https://shop.example.org:444/"),
        ("h:80/a", "h:80/a"),
    ],
)
def test_own_addresses_become_names(text: str, expected: str) -> None:
    assert named(text, SITES) == expected
    assert named(text, [SITES[-1]]) == text


def test_every_part_of_a_reading_is_translated() -> None:
    own, name = "http://h:80/a", "http://home.test/a"
    reading = PageReading(url="u", status=200, texts=(own, "x"), html=own, value=[{"href": own}, 1])
    found = named_reading(reading, SITES)
    assert (found.texts, found.html, found.value) == ((name, "x"), name, [{"href": name}, 1])
    assert named_tab(TabState(url="u", title="", html=own, active=True), SITES).html == name
