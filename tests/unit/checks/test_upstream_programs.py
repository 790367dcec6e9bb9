"""The kind ``program_html``: what it reads, how that is judged, and its helper functions as a closed table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_webarena.checks import ORIGINAL, REPAIRED, Grading, Verdict, collect, find_grading, judge, needs
from pytest_webarena.checks.upstream.calls import FUNCTIONS, CallError, parse_call
from pytest_webarena.checks.upstream.helpers import post_url
from pytest_webarena.checks.upstream.page_scripts import close_selectors
from pytest_webarena.errors import SiteError, TaskFileError
from tests.cases import each_case

from .helpers import FakeLive, FakePage, evidence, task, with_probes

R = "http://reddit.test"
S = "http://shopping.test"


@dataclass
class Site(FakeLive):
    """Pages that show the same to every locator, but for what ``shows`` says; the agent is at ``here``."""

    here: str = f"{R}/f/books/12/a-title/-/comment/3"
    shows: Callable[[str, str], Any] = lambda url, locator: url
    answers: Mapping[str, tuple[int, Any]] = field(default_factory=dict)
    admin: tuple[str, str] | None = None

    def read_page(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> FakePage:
        self.asked.append(("page", open, *prepare))
        if locate == "js=0":
            return FakePage(url=self.here)
        found = self.shows(open or self.here, locate or "")
        if isinstance(found, Exception):
            raise found
        return FakePage(url=open or self.here, texts=() if found is None else (json.dumps(found),))

    def fetch(self, site: str, path: str, **request: Any) -> tuple[int, str]:
        self.asked.append(
            ("fetch", site, path.partition("?")[0], request["headers"].get("Authorization"), request["body"])
        )
        status, data = self.answers.get(path.partition("?")[0], (404, {}))
        return status, data if isinstance(data, str) else json.dumps(data)

    def account(self, site: str) -> tuple[str, str] | None:
        return self.admin


def graded(targets: object, live: Site, grading: Grading = REPAIRED) -> Verdict:
    """Collect and judge, through stored evidence."""
    made = task(f"- program_html: {json.dumps(targets)}")
    probes = collect(needs(made.every_check).end, live, state="end")
    return judge(made, with_probes(evidence("", url=live.here), *probes), grading=grading)


def target(url: str, contents: object, locator: str = "document.title", **more: object) -> dict[str, object]:
    return {"url": url, "locator": locator, "required_contents": contents, **more}


def shown(value: object, kind: str = "value") -> Site:
    return Site(shows=lambda url, locator: [[kind, value]])


@each_case(
    ("found", "contents", "holds"),
    [
        (["value", " Busy "], {"exact_match": "busy"}, True),
        (["value", "&amp;lt;b&amp;gt; it&#39;s"], {"exact_match": "&lt;b&gt; it's"}, True),
        (["value", 1], {"exact_match": "1"}, True),
        (["value", True], {"exact_match": "True"}, True),
        (["value", 2.5], {"exact_match": "2.5"}, True),
        (["value", ["a", None]], {"exact_match": "['a', None]"}, True),
        (["text", "nan"], {"exact_match": "nan"}, True),
        (["none"], {"exact_match": "None"}, True),
        (["error", "TypeError"], {"exact_match": ""}, True),
        (["value", "10"], {"must_include": ["0"]}, True),
        (["value", "a c"], {"must_include": ["a", "b |OR| c"]}, True),
        (["value", "a d"], {"must_include": ["a", "b |OR| c"]}, False),
        (["value", "a"], {"exact_match": "b", "must_include": ["a"]}, False),
    ],
)
def test_original(found: object, contents: object, holds: bool) -> None:
    live = Site(shows=lambda url, locator: [found])
    assert graded([target("last", contents)], live, ORIGINAL).passed is holds


def test_null_is_nothing_when_repaired() -> None:
    wanted = [target("last", {"must_include": ["no"]})]
    live = Site(shows=lambda url, locator: [["none"]])
    assert graded(wanted, live, ORIGINAL).passed is True
    assert graded(wanted, live).passed is False
    assert graded(wanted, live, find_grading("repaired", ["js-null"])).passed is True
    assert graded([target("last", {"exact_match": "None"})], shown("none")).passed is True


def test_every_target_has_to_hold() -> None:
    live = shown("a")
    assert graded([target("last", {"exact_match": "a"}), target(f"{S}/x", {"exact_match": "a"})], live).passed is True
    assert graded([target("last", {"exact_match": "a"}), target(f"{S}/x", {"exact_match": "b"})], live).passed is False
    assert ("page", f"{S}/x") in live.asked


def test_placeholders_are_the_sites_of_the_trial() -> None:
    live = Site(shows=lambda url, locator: [["value", f"to {S}/cart"]])
    assert graded([target("__SHOPPING__/x", {"must_include": ["__SHOPPING__/cart"]})], live).passed is True
    assert ("page", f"{S}/x") in live.asked


def test_the_last_page_after_another_one_was_opened() -> None:
    """The original goes there in the agent's own tab, so that the "last" page is then that one."""
    live = Site(shows=lambda url, locator: [["value", url]])
    wanted = [target(f"{S}/x", {"must_include": ["/x"]}), target("last", {"must_include": ["/f/books"]})]
    assert graded(wanted, live, ORIGINAL).passed is False
    assert graded(wanted, live).passed is True
    assert graded(wanted, live, find_grading("repaired", ["fresh-tabs"])).passed is False


def test_the_post_of_the_last_address() -> None:
    live = Site(shows=lambda url, locator: [["value", url]])
    wanted = [target("func:reddit_get_post_url('__last_url__')", {"exact_match": f"{R}/f/books/12/"})] * 2
    assert graded(wanted, live, ORIGINAL).passed is True
    assert live.asked.count(("page", f"{R}/f/books/12/")) == 2


def test_an_error_of_the_site_is_no_verdict() -> None:
    live = Site(shows=lambda url, locator: SiteError("it is down") if S in url else [["value", "a"]])
    wanted = [target("last", {"exact_match": "b"}), target(f"{S}/x", {"exact_match": "a"})]
    verdict = graded(wanted, live, ORIGINAL)
    assert (verdict.passed, verdict.cause) == (None, "site")
    assert graded(wanted, live).passed is False
    assert graded(wanted[1:], live).passed is None


def test_a_locator_that_can_not_be_read_shows_nothing() -> None:
    live = Site(shows=lambda url, locator: None)
    assert graded([target("last", {"exact_match": ""})], live, ORIGINAL).passed is True


def test_selectors_are_closed() -> None:
    live = Site(shows=lambda url, locator: [["error", "SyntaxError"], ["value", "a"]])
    wanted = [target("last", {"exact_match": "a"}, "document.querySelector('[name=\"a\"').value")]
    assert graded(wanted, live).passed is True
    assert graded(wanted, live, ORIGINAL).passed is False
    assert graded(wanted, live, find_grading("repaired", ["closed-selectors"])).passed is False


@each_case(
    ("locator", "closed"),
    [
        ("document.querySelector('[id=\"a\"').b", "document.querySelector('[id=\"a\"]').b"),
        ("document.querySelector(\"[name='name'\").value", "document.querySelector(\"[name='name']\").value"),
        ("document.querySelector('[name=\"a[b][c]\"').value", "document.querySelector('[name=\"a[b][c]\"]').value"),
        ("document.querySelector('[name=\"a\"]').value", "document.querySelector('[name=\"a\"]').value"),
        ("[...document.querySelectorAll('a')].map(x => x['b'])[0]",) * 2,
        ("document.title",) * 2,
    ],
)
def test_closing_selectors(locator: str, closed: str) -> None:
    assert close_selectors(locator) == closed


def test_corrections() -> None:
    live = Site(shows=lambda url, locator: [["value", url]])
    wanted = [target("__REDDIT__/f/a", {"must_include": ["/edit"]}, corrected={"url": "__REDDIT__/f/a/edit"})]
    assert graded(wanted, live, ORIGINAL).passed is False
    assert graded(wanted, live).passed is True
    other = [target("last", {"exact_match": "Completed"}, corrected={"required_contents": {"exact_match": "Complete"}})]
    assert [graded(other, shown("Complete"), each).passed for each in (ORIGINAL, REPAIRED)] == [False, True]


ORDERS = {
    "/rest/default/V1/integration/admin/token": (200, "\"abc\""),
    "/rest/V1/orders": (200, {"items": [{"increment_id": "000000191"}]}),
    "/rest/V1/products/B1/reviews": (
        200,
        [
            {"nickname": "Ann", "ratings": [{"rating_name": "Rating", "percent": 20}]},
            {"nickname": "Bob", "ratings": [{"rating_name": "Rating", "percent": 80}]},
        ],
    ),
    "/rest/V1/products/B2/reviews": (200, []),
}  # fmt: skip


def test_the_latest_order() -> None:
    live = Site(shows=lambda url, locator: [["value", url]], answers=ORDERS)
    wanted = [target("func:shopping_get_latest_order_url()", {"exact_match": f"{S}/sales/order/view/order_id/191/"})]
    assert graded(wanted, live, ORIGINAL).passed is True
    token, orders = [asked for asked in live.asked if asked[0] == "fetch"]
    assert json.loads(token[4]) == {"username": "admin", "password": "admin1234"}
    assert orders[2:4] == ("/rest/V1/orders", "Bearer abc")


def test_accounts_of_the_catalogue_come_first() -> None:
    live = Site(shows=lambda url, locator: [["value", url]], answers=ORDERS, admin=("root", "secret"))
    graded([target("func:shopping_get_latest_order_url()", {"exact_match": "x"})], live)
    assert json.loads(next(asked for asked in live.asked if asked[0] == "fetch")[4])["username"] == "root"


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("shopping_get_sku_latest_review_author('B1')", "Bob"),
        ("shopping_get_sku_latest_review_rating('B1')", "80"),
        ("shopping_get_sku_latest_review_author('B2')", ""),
    ],
)
def test_the_latest_review(call: str, value: str) -> None:
    live = Site(answers=ORDERS)
    assert graded([target("last", {"exact_match": value}, f"func:{call}")], live, ORIGINAL).passed is True


@each_case(
    "answers",
    [
        {},
        {**ORDERS, "/rest/V1/products/B1/reviews": (500, {})},
        {**ORDERS, "/rest/V1/products/B1/reviews": (200, "<html>")},
        {**ORDERS, "/rest/V1/products/B1/reviews": (200, [{"nickname": None}])},
        {**ORDERS, "/rest/V1/products/B1/reviews": (200, {"message": "no"})},
        {**ORDERS, "/rest/default/V1/integration/admin/token": (200, {"message": "locked"})},
    ],
)
def test_a_helper_that_fails_is_no_verdict(answers: dict[str, tuple[int, Any]]) -> None:
    wanted = [target("last", {"exact_match": "Bob"}, "func:shopping_get_sku_latest_review_author('B1')")]
    for grading in (ORIGINAL, REPAIRED):
        verdict = graded(wanted, Site(answers=answers), grading)
        assert (verdict.passed, verdict.cause) == (None, "site")
        assert "expected" in verdict.results[0].why


@each_case(
    ("url", "post"),
    [
        (f"{R}/f/books/12/a-title", f"{R}/f/books/12/"),
        (f"{R}/f/books/12", f"{R}/f/books/12/"),
        (f"{R}/f/books/12;a=b", f"{R}/f/books/12/"),
        (f"{R}/f/books", f"{R}/f/books"),
        (f"{R}/user/a/b/c", f"{R}/user/a/b/c"),
        ("about:blank", "about:blank"),
        (f"{R}/f/books/12?x=1#c", f"{R}/f/books/12/"),
    ],
)
def test_post_url(url: str, post: str) -> None:
    assert post_url(url) == post


@each_case(
    ("text", "message"),
    [
        ("__import__('os').system('true')", "no call of a function by its name"),
        ("eval('1')", "the unknown function 'eval'"),
        ("reddit_get_post_url(open('x'))", "other arguments than 1 text"),
        ("reddit_get_post_url('a', 'b')", "other arguments"),
        ("reddit_get_post_url(url='a')", "no call of a function by its name"),
        ("reddit_get_post_ulr('a')", "did you mean 'reddit_get_post_url'"),
        ("shopping_get_latest_order_url(", "no function call"),
        ("1 + 1", "no call of a function by its name"),
    ],
)
def test_calls_are_a_closed_table(text: str, message: str) -> None:
    with pytest.raises(CallError, match=message.replace("(", r"\(")):
        parse_call(text, "address")


def test_calls_that_look_at_the_page_name_it() -> None:
    call = parse_call("gitlab_get_project_memeber_role(__page__, 'ann')", "text")
    assert (call.name, call.arguments, call.function.page) == ("gitlab_get_project_memeber_role", ("ann",), True)
    with pytest.raises(CallError, match="without __page__"):
        parse_call("gitlab_get_project_memeber_role('ann')", "text")
    assert {name for name, each in FUNCTIONS.items() if each.gives == "address"} == {
        "reddit_get_post_url",
        "shopping_get_latest_order_url",
    }


@each_case(
    ("spec", "message"),
    [
        ("[]", "expected a list of targets, at least one"),
        ("[{url: last, required_contents: {}}]", "expected what is required, found nothing"),
        ("[{url: first, required_contents: {exact_match: a}}]", "expected 'last', an address or 'func:'"),
        ("[{url: last, locator: '#a', required_contents: {exact_match: a}}]", "expected JavaScript that begins with"),
        ("[{url: 'func:exit()', required_contents: {exact_match: a}}]", "the unknown function 'exit'"),
        ("[{url: last, locator: 'func:exit()', required_contents: {exact_match: a}}]", "the unknown function 'exit'"),
        ("[{url: last, required_contents: {must_include: a}}]", "expected a list of texts"),
        ("[{url: last}]", "expected the key 'required_contents'"),
    ],
)
def test_malformed(spec: str, message: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        task(f"- program_html: {spec}")
    assert message in str(caught.value)


@each_case(
    ("found", "contents", "holds"),
    [
        (["value", 12], {"required_values": ["> 10"]}, True),
        (["value", "12"], {"required_values": ["> 12"]}, True),
        (["value", "12"], {"required_values": ["> 13"]}, False),
        (["value", "a dozen"], {"required_values": ["> 1"]}, False),
        (["value", "it is red"], {"must_include": ["red"]}, True),
        (["value", "it is redder"], {"must_include": ["red"]}, False),
        (["value", "redder"], {"must_exclude": ["red"]}, True),
        (["value", 0], {"exact_match": "0"}, True),
    ],
)
def test_visual_dialect(found: object, contents: object, holds: bool) -> None:
    live = Site(shows=lambda url, locator: [found])
    locator = "func:shopping_get_num_reviews(__page__)"
    spec = {"dialect": "visualwebarena", "targets": [target("last", contents, locator)]}
    assert graded(spec, live, ORIGINAL).passed is holds


def test_lambdas_that_give_nothing_fail_at_once() -> None:
    live = Site(shows=lambda url, locator: [["none"]])
    wanted = [target("last", {"exact_match": ""}, "lambda:() => null"), target("last", {"exact_match": "a"})]
    assert graded({"dialect": "visualwebarena", "targets": wanted}, live, ORIGINAL).passed is False


def test_the_dialects_unescape_or_not() -> None:
    spec = {"targets": [target("last", {"exact_match": "&amp;"})]}
    assert graded({**spec, "dialect": "webarena-lite"}, shown("&amp;"), ORIGINAL).passed is True
    assert graded(spec, shown("&amp;"), ORIGINAL).passed is False


def test_fewer_looks_than_targets_tell_nothing() -> None:
    made = task(f"- program_html: {json.dumps([target('last', {'exact_match': 'a'})])}")
    assert judge(made, evidence("", url=R)).passed is None
    [probe] = collect(needs(made.checks).end, shown("a"), state="end")
    more = task(f"- program_html: {json.dumps([target('last', {'exact_match': 'a'})] * 2)}")
    assert judge(more, with_probes(evidence("", url=R), probe)).passed is None
