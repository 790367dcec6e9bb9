"""Translation between site URLs and the host names that a model sees."""

from __future__ import annotations

from pytest_webarena.actions import Action, Click, Element, Goto, Stop, Type
from pytest_webarena.agents.model.hosts import PAPER_NAMES, HostMap
from tests.cases import each_case

SITES = {
    "shopping": "http://shopping.test",
    "shopping_admin": "http://shopping.test/admin",
    "gitlab": "http://gitlab.test:8023",
    "forum": "http://forum.test",
}
HOSTS = HostMap(SITES, PAPER_NAMES)


@each_case(
    ("own", "shown"),
    [
        ("http://shopping.test", "http://onestopmarket.com"),
        ("http://shopping.test/cart?a=1", "http://onestopmarket.com/cart?a=1"),
        ("http://shopping.test/admin/sales", "http://luma.com/admin/sales"),
        ("clone http://gitlab.test:8023/a/b.git now", "clone http://gitlab.com/a/b.git now"),
        (
            "http://shopping.testing/ http://shopping.test.example/",
            "http://shopping.testing/ http://shopping.test.example/",
        ),
        ("http://gitlab.test:80231/", "http://gitlab.test:80231/"),
        ("http://forum.test/", "http://forum.test/"),
        ("See http://shopping.test.", "See http://onestopmarket.com."),
    ],
)
def test_urls_are_shown_with_the_host_names_of_the_paper(own: str, shown: str) -> None:
    assert HOSTS.to_shown(own) == shown


@each_case(
    ("written", "expected"),
    [
        (Goto("http://luma.com/admin/sales"), Goto("http://shopping.test/admin/sales")),
        (Goto("https://gitlab.com/a"), Goto("http://gitlab.test:8023/a")),
        (Goto("onestopmarket.com/cart"), Goto("http://shopping.test/cart")),
        (Goto("onestopmarket.com"), Goto("http://shopping.test")),
        (Goto("onestopmarket.community"), Goto("onestopmarket.community")),
        (Goto("/cart"), Goto("/cart")),
        (Stop("git clone https://gitlab.com/a.git"), Stop("git clone http://gitlab.test:8023/a.git")),
        (Type(Element("4"), "http://onestopmarket.com"), Type(Element("4"), "http://shopping.test")),
        (Click(Element("4")), Click(Element("4"))),
    ],
)
def test_actions_are_translated_back_to_site_urls(written: Action, expected: Action) -> None:
    assert HOSTS.to_real(written) == expected


def test_urls_stay_unchanged_without_host_names() -> None:
    plain = HostMap(SITES, {})
    assert (
        plain.to_shown("http://shopping.test http://onestopmarket.com")
        == "http://shopping.test http://onestopmarket.com"
    )
    assert plain.to_real(Goto("http://luma.com")) == Goto("http://luma.com")
    assert plain.sites == SITES
