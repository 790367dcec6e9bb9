"""Own addresses of hosted sites become names in texts of any spelling, and in values."""

from __future__ import annotations

import re
from dataclasses import replace

from pytest_webarena.actions import Click, Selector
from pytest_webarena.checks.page import PageSpec
from pytest_webarena.evidence import Evidence, RequestRecord, TabState
from pytest_webarena.own_addresses import OwnAddresses
from tests.cases import each_case

TABLE = OwnAddresses(
    {
        "http://h:80": "http://home.test",
        "http://h:80/wiki": "http://wiki.test/wiki",
        "http://h:7770": "http://shop.test",
        "http://two:7770": "http://shop.test",
        "http://h:8023": "http://git.test",
        "https://shop.example.org": "https://secure.test",
        "http://[::1]:7780/admin": "http://admin.test/admin",
    }
)


@each_case(
    "text, expected",
    [
        ("at http://h:80/a?b#c, or", "at http://home.test/a?b#c, or"),
        ("http://h", "http://home.test"),
        ("HTTP://H/a", "http://home.test/a"),
        ("http://h:80/wiki/Tea", "http://wiki.test/wiki/Tea"),
        ("http://h/wikis", "http://home.test/wikis"),
        ("http://h/wiki.", "http://wiki.test/wiki."),
        ("http://h/wiki.html", "http://home.test/wiki.html"),
        ("http%3A%2F%2Fh%2Fwiki%2FTea", "http%3A%2F%2Fwiki.test%2Fwiki%2FTea"),
        ("http://h:7770/product/1", "http://shop.test/product/1"),
        ("http://two:7770/product/1", "http://shop.test/product/1"),
        ("http://h.:7770/a", "http://shop.test/a"),
        ("http://ada:pw@h:7770/a", "http://ada:pw@shop.test/a"),
        ("http://h:8023/a http://h:7770/b", "http://git.test/a http://shop.test/b"),
        (r"http:\/\/h:7770\/a", r"http:\/\/shop.test\/a"),
        (r"https://shop\.example\.org/\d+", r"https://secure\.test/\d+"),
        ("?to=http%3A%2F%2Fh%3A7770%2Fa&b=1", "?to=http%3A%2F%2Fshop.test%2Fa&b=1"),
        ("%22http%3a%2f%2fh%3a7770", "%22http%3a%2f%2fshop.test"),
        ('<a href="//h:7770/a">', '<a href="//shop.test/a">'),
        ("ws://h:7770/live", "ws://shop.test/live"),
        ("see https://shop.example.org.", "see https://secure.test."),
        ("http://[::1]:7780/admin/x", "http://admin.test/admin/x"),
        ("h:7770/product/1", "shop.test/product/1"),
        ("It is two:7770.", "It is shop.test."),
        ("H/wiki/Tea or h/tea", "wiki.test/wiki/Tea or home.test/tea"),
        ("shop.example.org/a", "secure.test/a"),
        (r"^shop\.example\.org/\d+$", r"^secure\.test/\d+$"),
        ("[::1]:7780/admin/x", "admin.test/admin/x"),
        ("?to=h%3A7770%2Fa", "?to=shop.test%2Fa"),
        ("h%2Fwiki%2FTea", "wiki.test%2Fwiki%2FTea"),
    ],
)
def test_own_addresses_become_names(text: str, expected: str) -> None:
    assert TABLE.named(text) == expected
    assert TABLE.named(expected) == expected
    assert OwnAddresses({}).named(text) == text


@each_case(
    "text",
    [
        "http://h:77701/a",
        "http://h:777/a",
        "http://h:7771",
        "http://hh:7770/a",
        "http://a.h:7770/a",
        "http://h.evil:7770/a",
        "http://h:7770.evil/a",
        "http://h:7770@evil/a",
        "http://h:7770;x@evil/a",
        "http%3A%2F%2Fh%3A7770%40evil",
        "http://h-2:7770",
        "https://h:7770/a",
        "https://shop.example.org.uk",
        "https://shop.example.org:444/",
        r"https://shop\.example\.org\.uk",
        "http://evil//h:7770/a",
        "h:77701/a",
        "a.h:7770/a",
        "h:7770.evil/a",
        "h:7770@evil/a",
        "ada@h:7770/a",
        "git@shop.example.org:a/b.git",
        "h",
        "shop.example.org is a host, and h: a letter",
        "/h/a",
        "h(x)/a",
        "h, or /a",
        "http://[::1]:778/admin",
    ],
)
def test_other_addresses_are_unchanged(text: str) -> None:
    assert TABLE.named(text) == text


@each_case(
    "text, found",
    [
        ("h:7770/a", ""),
        ("https://h:7770/a", "h:7770"),
        ("http%253A%252F%252Fh%253A7770", "h:7770"),
        ("shop[.]example[.]org/a", "shop.example.org"),
        ("http://h:7770/a", ""),
        ("h:77701", ""),
        ("git@shop.example.org:a/b.git", ""),
        ("http://other/a", ""),
        (r"^http://h:777[01]/a$", "h:777[01]"),
        (r"^http://h:77\d\d/", "h:77dd"),
        ("see h: it is down", ""),
        ("http://h:8000.", ""),
    ],
)
def test_forms_that_are_not_translated_are_found(text: str, found: str) -> None:
    assert TABLE.untranslated(text) == found
    assert TABLE.untranslated({"a": [re.compile(text)]}) == found


def test_values_are_translated_throughout() -> None:
    own, name = "http://two:7770/a", "http://shop.test/a"
    tab = TabState(url=own, title="", html=own, active=True)
    evidence = Evidence(answer=own, stop_reason="answered", tabs=(tab,), sites={"shop": "http://shop.test"})
    found = TABLE.in_value(evidence)
    assert (found.answer, found.tabs[0].html, found.url) == (name, name, name)
    assert found.sites == evidence.sites
    assert TABLE.in_value(found) is found
    pattern = TABLE.in_value(re.compile(own, re.IGNORECASE))
    assert (pattern.pattern, pattern.flags & re.IGNORECASE) == (name, re.IGNORECASE)


def test_bodies_keep_the_size_of_the_part_that_was_cut() -> None:
    """Else a body with a translated address would look as if it had been cut, or the other way round."""
    body = "to=http%3A%2F%2Fh%3A7770%2Fa&title=x"
    whole = RequestRecord(time=0, method="POST", url="/", status=200, request_body=body, request_bytes=len(body))
    found = TABLE.in_value(whole)
    assert found.request_body != body
    assert not found.body_cut
    assert TABLE.in_value(replace(whole, request_bytes=len(body) + 1)).body_cut


@each_case(
    "text, found",
    [
        ("css=a[href='http://h:7770/a']", "http://h:7770"),
        ("css=a[href$='/a']", ""),
    ],
)
def test_selectors_are_left_as_they_are_and_reported(text: str, found: str) -> None:
    """Pages have the addresses that their sites send."""
    check = PageSpec(locate=text)
    assert TABLE.in_value(check).locate == text
    assert TABLE.untranslated(check) == found
    assert TABLE.untranslated([Click(Selector(text))]) == found
