"""Page programs in a real browser: values in Python's notation, helper functions, whole trials in three gradings."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.browser.session import Session
from pytest_webarena.checks.upstream.collecting import collect
from pytest_webarena.checks.upstream.programs import as_python, found_value
from pytest_webarena.testing import make_task
from tests.browser.conftest import Reply, Web

pytestmark = pytest.mark.browser

Show = Callable[[str], Session]

# Results of Playwright's `page.evaluate` as Python's `str` prints them; exceptions are ''.
VALUES = {
    "document.title": "T",
    "document.title;": "T",
    "document.x": "None",
    "document.querySelector('.none')": "None",
    "document.querySelector('p')": "ref: <Node>",
    "document.querySelectorAll('p').length": "2",
    "document.body.children.length / 4": "0.5",
    "document.querySelector('p') !== null": "True",
    "document.title.length * 1e21": "1e+21",
    "document.title.length * 1e16": "10000000000000000",
    "document.title / 0": "nan",
    "document.x ?? -0": "-0.0",
    "document.querySelectorAll('p')": "{'0': 'ref: <Node>', '1': 'ref: <Node>'}",
    "document.title.match(/(T)(x)?/)": "['T', 'T', None]",
    "document.querySelector('p').dataset": "{'a': 'b'}",
    "document.createEvent": "None",
    "document.querySelector('.none').innerText": "",
    "document.querySelector('p'": "",
    "document.querySelector('[data-a=\"b\"').innerText": "One",
    "document.querySelector('##').innerText": "",
    "[...document.querySelectorAll('p')].map(e => e.innerText)": "['One', 'Two']",
    "[...document.querySelectorAll('p')].map(e => e.innerText + \"'\")": '["One\'", "Two\'"]',
    "document.defaultView.Promise.resolve('later')": "later",
}
PAGE = "<!DOCTYPE html><html><head><title>T</title></head><body><p data-a=b>One</p><p>Two</p></body></html>"


def looks(session: Session, targets: list[dict[str, Any]]) -> list[Any]:
    """Return what is collected for these targets."""
    targets = [{"required_contents": {"exact_match": "x"}, **target} for target in targets]
    task = make_task(f"intent: a\nsites: [a]\nchecks: [program_html: {json.dumps(targets)}]")
    live: Any = SimpleNamespace(read_page=session.read_page, sites={"a": "http://a.test"})
    gathered: Any = collect(task.checks[0].spec, live)
    return [look["own"] for look in gathered]


def text(look: Any) -> str:
    return as_python(found_value(look["found"], null="None"))


def test_program_values_match_playwright(show: Show) -> None:
    session = show(PAGE)
    found = looks(session, [{"url": "last", "locator": locator} for locator in VALUES])
    assert dict(zip(VALUES, map(text, found), strict=True)) == VALUES


def test_empty_locator_returns_html_of_page(show: Show) -> None:
    [look] = looks(show(PAGE), [{"url": "last", "locator": " "}])
    assert text(look) == PAGE.replace("data-a=b", 'data-a="b"')


def test_program_reads_page_that_forbids_eval(show: Show, web: Web) -> None:
    session = show(PAGE)
    strict = {"Content-Security-Policy": "default-src 'self'; script-src 'self'"}
    web.pages["http://a.test/strict"] = Reply(body=PAGE, headers=strict)
    [look] = looks(session, [{"url": "__A__/strict", "locator": "document.title.length"}])
    assert (look["landed"], text(look)) == ("http://a.test/strict", "1")


MEMBERS = """<table><tr><td data-label=Account><span class=gl-avatar-labeled-sublabel>@ann</span></td>
<td class=col-max-role><span>Owner</span></td></tr><tr><td data-label=Account>
<span class=gl-avatar-labeled-sublabel>@bob</span></td><td class=col-max-role><span>Guest</span></td></tr></table>"""
ORDER = """<div class=price>A &amp; B</div><table id=my-orders-table>
<tbody><tr><td class="col name">Tea<dl><dt>Size</dt><dd>Big</dd></dl></td><td class="col sku">T1</td>
<td class="col qty">Ordered2</td></tr></tbody><tbody><tr><td class="col name">Cup</td><td class="col sku">C1</td>
<td class="col qty">Ordered10</td></tr></tbody></table><a id=tab-label-reviews-title>Reviews 12</a>"""
COMMENTS = """<div id=main><a class=fg-inherit>op</a><span class=vote__net-score>1</span>
<div class=comment__content>post</div>
<div class=comment__main><header><h1><span><time datetime=2023-01-01T00:00:00Z></time></span></h1></header></div>
<div class=comment data-level=1><a class=fg-inherit>ann</a><span class=vote__net-score>1</span>
<div class=comment__main><header><h1><span><time datetime=2023-01-02T00:00:00Z></time></span></h1></header>
<div class=comment__content>first</div></div>
<div class=comment data-level=2><a class=fg-inherit>bob</a><span class=vote__net-score>1</span>
<div class=comment__main><header><h1><span><time datetime=2023-01-03T00:00:00Z></time></span></h1></header>
<div class=comment__content>reply</div></div></div></div></div>"""
CALLS = [
    (MEMBERS, "gitlab_get_project_memeber_role(__page__, 'bob')", "Guest"),
    (MEMBERS, "gitlab_get_project_memeber_role(__page__, 'eve')", ""),
    (ORDER, "get_query_text(__page__, '.price')", "A & B"),
    (ORDER, "get_query_text_lowercase(__page__, '.price')", "a & b"),
    (ORDER, "get_query_text(__page__, '.none')", ""),
    (ORDER, "shopping_get_order_product_quantity(__page__, 'X9 |OR| C1')", 10),
    (ORDER, "shopping_get_order_product_quantity(__page__, 'X9')", 0),
    (ORDER, "shopping_get_order_product_option(__page__, 'T1', 'Size')", "Big"),
    (ORDER, "shopping_get_num_reviews(__page__)", 12),
    (PAGE, "shopping_get_num_reviews(__page__)", 0),
    (COMMENTS, "reddit_get_latest_comment_content_by_username(__page__, 'bob')", "reply"),
    (COMMENTS, "reddit_get_parent_comment_username_of_latest_comment_by_username(__page__, 'bob')", "ann"),
    (COMMENTS, "reddit_get_latest_comment_content_by_username(__page__, 'eve')", ""),
]


def test_program_helper_functions_read_pages(show: Show, web: Web) -> None:
    session = show(PAGE)
    for index, (page, _, _) in enumerate(CALLS):
        web.pages[f"http://a.test/{index}"] = page
    found = looks(session, [{"url": f"__A__/{i}", "locator": f"func:{call}"} for i, (_, call, _) in enumerate(CALLS)])
    assert [found_value(look["found"], null="None") for look in found] == [value for _, _, value in CALLS]


def test_prep_actions_run_before_locator_and_ignore_errors(show: Show) -> None:
    session = show("<button onclick=\"document.title = 'open'\">more</button><title>shut</title>")
    targets = [
        {"url": "last", "locator": "document.title", "prep_actions": ["document.querySelector('button').click()"]}
    ]
    assert text(looks(session, targets)[0]) == "open"
    broken = [{**targets[0], "prep_actions": ["document.querySelector('i').click()"]}]
    assert text(looks(session, broken)[0]) == "open"  # as the page was left; the fault is swallowed


def test_unopenable_program_url_is_a_task_error(show: Show, web: Web) -> None:
    session = show(PAGE)
    [look] = looks(session, [{"url": "__B__/x", "locator": "document.title"}])
    assert (look["cause"], "__B__/x" in look["error"]) == ("task", True)


TASKS = """
tasks:
  - id: calculator
    intent: Open the calculator and tell me what 5 times 5 is.
    sites: [homepage]
    checks:
      - string_match: {must_include: ["25"]}
      - url_match: {reference_url: __HOMEPAGE__/calc, note: GOLD in PRED}
      - program_html:
          - {url: last, locator: document.title, required_contents: {must_include: [calculator |OR| abacus]}}
          - {url: "func:reddit_get_post_url('__last_url__')", required_contents: {must_include: ["<form"]}}
          - {url: __HOMEPAGE__/scratchpad/, locator: "document.querySelector('h1').outerText",
             required_contents: {exact_match: Scratchpad}}
    solution:
      - goto: /calculator
      - stop: it is 1925, and so on
  - id: own
    intent: Say hello.
    sites: [homepage]
    checks: [{answer: hello}]
    solution: [{stop: hello}]
  - id: helper
    intent: Say hello.
    sites: [homepage]
    checks:
      - program_html: [{url: "func:shopping_get_latest_order_url()", required_contents: {must_include: [x]}}]
    solution: [{stop: hello}]
"""


@pytest.mark.usefixtures("shared_engine")
def test_trial_has_a_verdict_for_every_grading(pytester: pytest.Pytester) -> None:
    (pytester.path / "graded.tasks.yaml").write_text(TASKS)
    result = pytester.runpytest_inprocess("--agent=oracle", "--run-dir=run", "--record=minimal", "--alluredir=allure")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    found = [json.loads(file.read_text()) for file in (pytester.path / "run/trials").glob("*/trial.json")]
    records = {record["key"]["task"]: record for record in found}
    graded = records["calculator"]
    assert {name: verdict["passed"] for name, verdict in graded["verdicts"].items()} == {
        "repaired": False,
        "original": True,
    }
    assert (graded["grading"], graded["outcome"], graded["verdict"]["grading"]) == ("repaired", "failed", "repaired")
    assert [result["score"] for result in graded["verdicts"]["repaired"]["results"]] == [0, 0, 1]
    assert (records["own"]["outcome"], list(records["own"]["verdicts"])) == ("passed", ["repaired"])
    assert (records["helper"]["outcome"], records["helper"]["cause"]) == ("error", "task")
    result.stdout.fnmatch_lines(
        ["webarena: agent oracle *grading repaired", "oracle: 1/2 passed = 50.0%, grading repaired*"]
    )
    assert json.loads((pytester.path / "run/run.json").read_text())["grading"] == {"name": "repaired", "without": []}
    assert "grading=repaired" in (pytester.path / "allure/environment.properties").read_text()
    refused = pytester.runpytest("--agent=oracle", "--without-repair=url-bass")
    refused.stderr.fnmatch_lines(["*--without-repair: expected a repair rule*did you mean 'url-base'*"])
