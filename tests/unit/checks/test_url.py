"""The check kind ``url``: addresses of tabs."""

from __future__ import annotations

from dataclasses import replace

from pytest_webarena.evidence import Evidence, RequestRecord, TabState
from tests.cases import each_case

from .helpers import evidence, request, result

HERE = "http://shopping.test/catalogue/?sort=price&page=2#top"


@each_case(
    ("check", "url", "why"),
    [
        ("/catalogue/", HERE, ""),
        ("/catalogue", HERE, ""),
        ("/catalogue/?page=2", HERE, ""),
        ("/catalogue/?page=3", HERE, "the query lacks page=3"),
        ("/catalogue/#top", HERE, ""),
        ("/catalogue/#end", HERE, "the fragments differ"),
        ("/cat", HERE, "the paths differ"),
        ("reddit:/catalogue/", HERE, "it is on another host"),
        ("http://shopping.test/catalogue", HERE, ""),
        ("http://shopping.test:80/catalogue", HERE, ""),
        ("http://shopping.test:81/catalogue", HERE, "it is on another host"),
        ("/a b/é", "http://SHOPPING.test/a%20b/%C3%A9", ""),
        ("/", "http://shopping.test", ""),
        ("[/x, /catalogue/]", HERE, ""),
        ("[/x, /y]", HERE, "it is none of them"),
        ("/proxy/shopping.test/x", "http://evil.test/proxy/shopping.test/x", "it is on another host"),
        ("{exact: '/catalogue/?page=2&sort=price'}", HERE, ""),
        ("{exact: '/catalogue/?page=2'}", HERE, "the query has more: sort=price"),
        ("{query: {page: 2, sort: price}}", HERE, ""),
        ("{query: {sort: [price, name]}}", "http://shopping.test/?sort=name&sort=price", ""),
        ("{query: {sort: name}}", HERE, "the query lacks sort=name"),
        ("{query: {sort: [price, price]}}", HERE, "the query lacks sort=price"),
        ("/%EA", "http://shopping.test/%E9", "the paths differ"),
        ("/?q=%EA", "http://shopping.test/?q=%E9", "the query lacks q=%EA"),
        ("{query: {q: ''}}", "http://shopping.test/?q=", ""),
        ("{regex: 'sort=\\w+'}", HERE, ""),
        ("{regex: '^/'}", HERE, "the pattern is not found"),
        ("{address: /catalogue/, query: {page: 3}}", HERE, "the query lacks page=3"),
        ("/x", "about:blank", "it is on another host"),
        ("/x", "http://[", "it is no address"),
    ],
)
def test_url_conditions(check: str, url: str, why: str) -> None:
    got = result(f"url: {check}", evidence(url=url))
    assert (got.passed, got.why) == (not why, why)


def test_url_of_any_tab() -> None:
    tabs = tuple(
        TabState(url=f"http://shopping.test/{name}", title="", html="", active=name == "b") for name in ("a", "b")
    )
    recorded = evidence(tabs=tabs)
    assert result("url: /b", recorded).passed
    assert result("url: /a", recorded).passed is False
    got = result("url: {address: /a, tabs: any}", recorded)
    assert (got.passed, got.actual) == (True, "http://shopping.test/a")
    assert result("url: {address: /c, tabs: any}", recorded).why == "no open tab is there"


def test_url_after_any_step() -> None:
    recorded = evidence(url="http://shopping.test/z", urls=[f"http://shopping.test/{name}" for name in "abc"])
    got = result("url: /b\nwhen: any_step", recorded)
    assert (got.passed, got.state, got.actual) == (True, "after step 1", "http://shopping.test/b")
    assert result("url: /z\nwhen: any_step", recorded).state == "end"
    got = result("url: /q\nwhen: any_step", recorded)
    assert (got.passed, got.state) == (False, "any state")
    assert result("url: /b", recorded).passed is False


def test_unrecorded_tabs_sites_and_steps_are_undecided() -> None:
    got = result("url: /a", evidence())
    assert (got.score, got.why) == (None, "no tab was recorded at the end")
    got = result("url: reddit:/a", evidence(url=HERE, sites={"shopping": "http://shopping.test"}))
    assert (got.score, got.why) == (None, "the address of reddit was not recorded")
    unknown = evidence(url="http://shopping.test/z", urls=["", "http://shopping.test/b"])
    assert result("url: /a\nwhen: any_step", unknown).score is None
    assert result("url: /b\nwhen: any_step", unknown).score == 1


def test_site_base_address_may_have_a_path() -> None:
    recorded = evidence(url="http://host:7780/admin/orders", sites={"shopping": "http://host:7780/admin"})
    assert result("url: /orders", recorded).passed


def _asked_for(status: int, *, path: str = "/a", into: str = "document") -> RequestRecord:
    return request("GET", path, status=status, request_headers=(("Sec-Fetch-Dest", into),))


@each_case(
    ("requests", "score", "cause"),
    [
        ([], 1, None),
        ([_asked_for(200)], 1, None),
        ([_asked_for(404)], 0, None),
        ([_asked_for(403)], 0, None),
        ([_asked_for(404), _asked_for(200)], 1, None),
        ([_asked_for(200), _asked_for(404)], 0, None),
        ([_asked_for(200), _asked_for(404, into="empty")], 1, None),
        ([_asked_for(404, path="/b"), _asked_for(200)], 1, None),
        ([request("POST", "/a", status=405)], 0, None),
        ([_asked_for(503)], None, "site"),
        ([_asked_for(429)], None, "site"),
        ([_asked_for(304)], 1, None),
    ],
)
def test_error_status_at_the_address_fails_or_is_undecided(
    requests: list[RequestRecord], score: float | None, cause: str | None
) -> None:
    recorded = evidence(url="http://shopping.test/a#part", requests=tuple(requests))
    got = result("url: /a", recorded)
    assert (got.score, got.cause) == (score, cause)


def test_tab_status_overrides_request_status() -> None:
    """Scripts change addresses, so the tab's content may come from another request."""
    for status, score, asked in ((200, 1, 503), (503, None, 200), (None, None, 503), (404, 0, 200)):
        recorded = evidence(url="http://shopping.test/a", requests=(_asked_for(asked),))
        recorded = replace(recorded, tabs=(replace(recorded.tabs[0], status=status),))
        assert result("url: /a", recorded).score == score


def test_forbidden_address_with_error_status_does_not_pass() -> None:
    recorded = evidence(url="http://shopping.test/a", requests=(_asked_for(403),))
    assert result("not: {url: /a}", recorded).passed is not True


@each_case(
    ("check", "there", "required", "forbidden"),
    [
        ("/admin", "http://shopping.test//admin", False, True),
        ("/admin", "http://shopping.test/x/%2e%2e/admin/", False, True),
        ("/admin", "https://shopping.test./admin", False, True),
        ("/admin", "http://shopping.test/administration", False, False),
        ("{regex: 'test/admin$'}", "http://SHOPPING.test//%61dmin/", False, True),
        ("{exact: /admin}", "http://shopping.test//admin?x=1", False, False),
        ("/admin", "http://shopping.test/admin/", True, True),
    ],
)
def test_forbidden_addresses_match_equivalent_spellings(
    check: str, there: str, required: bool, forbidden: bool
) -> None:
    assert result(f"url: {check}", evidence(url=there)).passed is required
    assert result(f"not: {{url: {check}}}", evidence(url=there)).passed is not forbidden


def test_forbidden_address_is_found_among_many_tabs() -> None:
    tabs = tuple(TabState(url=f"http://shopping.test/{n}", title="", html="", active=not n) for n in range(9))
    assert result("not: {url: {address: /7, tabs: any}}", evidence(tabs=tabs)).passed is False
    assert result("not: {url: {address: /x, tabs: any}}", evidence(tabs=tabs)).passed


def test_one_of_several_tabs_must_show_the_page() -> None:
    tabs = tuple(TabState(url=f"http://shopping.test/a?{n}", title="", html="", active=n == 1) for n in (1, 2))
    one, both = (_asked_for(404, path="/a?1"),), (_asked_for(404, path="/a?1"), _asked_for(404, path="/a?2"))
    assert result("url: {address: /a, tabs: any}", evidence(tabs=tabs, requests=one)).passed
    assert result("url: {address: /a, tabs: any}", evidence(tabs=tabs, requests=both)).passed is False


def test_too_many_open_tabs_fail_a_url_check() -> None:
    def opened(count: int, *more: str) -> Evidence:
        urls = [*(f"http://shopping.test/{n}" for n in range(count)), *more]
        return evidence(tabs=tuple(TabState(url=url, title="", html="", active=url == urls[0]) for url in urls))

    assert result("url: {address: /1, tabs: any}", opened(5, "about:blank")).passed
    got = result("url: {address: /1, tabs: any}", opened(6))
    assert (got.passed, got.why) == (False, "6 tabs are open, and at most 5 may be")
    assert result("url: {address: /1, tabs: any, most: 6}", opened(6)).passed
    assert result("url: {address: /1, tabs: any, most: 2}", opened(3)).passed is False
    assert result("url: /0", opened(9)).passed
