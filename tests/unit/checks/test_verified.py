"""The check kind ``verified``: verdicts, undecided cases and notation."""

from __future__ import annotations

import importlib
import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.checks import needs
from pytest_webarena.checks.verified import package
from pytest_webarena.errors import TaskFileError
from pytest_webarena.evidence import RequestRecord, Unrecorded
from scripts import agree_verified
from tests.cases import each_case

from .helpers import evidence, request, result, task

FORM = (("Content-Type", "application/x-www-form-urlencoded"),)
JSON = (("Content-Type", "application/json"),)
PAGE = (("Accept", "text/html,*/*"),)


def response(data: Any = None, status: str = "SUCCESS", kind: str = "RETRIEVE") -> str:
    return json.dumps({"task_type": kind, "status": status, "retrieved_data": data})


def answer_check(data: Any, schema: Mapping[str, Any], status: str = "SUCCESS", **more: Any) -> dict[str, Any]:
    wanted = {"task_type": "retrieve", "status": status, "retrieved_data": data}
    items = {"type": "array", "items": schema} if schema else {"type": "null"}
    return {"evaluator": "AgentResponseEvaluator", "results_schema": items, "expected": wanted, **more}


def network_check(kind: str = "mutate", *, evaluator: Mapping[str, Any] | None = None, **expected: Any) -> str:
    """Return a check of one request and of a response for that kind of task."""
    asked = {
        "evaluator": "AgentResponseEvaluator",
        "results_schema": {"type": "null"},
        "expected": {"task_type": kind, "status": "SUCCESS", "retrieved_data": None},
    }
    seen = {"evaluator": "NetworkEventEvaluator", "expected": expected, **(evaluator or {})}
    return check(asked, seen)


def check(*evaluators: Mapping[str, Any], **more: Any) -> str:
    return "verified: " + json.dumps({"sites": ["shopping"], "eval": evaluators, **more})


def verdict(written: str, answer: str | None, *requests: RequestRecord, **facts: Any) -> Any:
    return result(written, evidence(answer, requests=requests, **{"answer_format": "verified", **facts}))


STRING, NUMBER, MONEY = {"type": "string"}, {"type": "number"}, {"type": "number", "format": "currency"}
BOOLEAN, DATE = {"type": "boolean"}, {"type": "string", "format": "date"}
DURATION, DISTANCE = {"type": "string", "format": "duration"}, {"type": "string", "format": "distance"}


@each_case(
    ("schema", "expected", "said", "score"),
    [
        (STRING, ["Coffee Grinder"], ["coffee grinder"], 1),
        (STRING, ["Coffee Grinder"], ["Coffee Grinders"], 0),
        (STRING, ["Coffee Grinder"], "Coffee Grinder", 1),
        (STRING, ["a", "b"], ["b", "a"], 1),
        (STRING, ["a", "b"], ["a"], 0),
        (STRING, ["a", "b"], ["a", "b", "b"], 0),
        (STRING, [["a", "b"]], ["b"], 1),
        (STRING, ["^Kettle .*$"], ["Kettle No 3"], 1),
        (STRING, ["état"], ['"etat"'], 1),
        (NUMBER, [1200], ["1,200"], 1),
        (NUMBER, [7], ["seven"], 1),
        (NUMBER, [7], [7.5], 0),
        (MONEY, [84.97], ["$84.97"], 1),
        (MONEY, [84.97], [85.2], 0),
        (BOOLEAN, [True], ["yes"], 1),
        (BOOLEAN, [True], ["no"], 0),
        (DATE, ["2023-03-05"], ["March 5, 2023"], 1),
        (DATE, ["2023-03-05"], ["March 6, 2023"], 0),
        (DURATION, ["01:30:00"], ["1h 32min"], 1),
        (DURATION, ["01:30:00"], ["2h"], 0),
        (DISTANCE, ["2.4km"], ["2400 m"], 1),
        (DISTANCE, ["2.4km"], ["2.4 miles"], 0),
    ],
)
def test_typed_answers(schema: Mapping[str, Any], expected: Any, said: Any, score: int) -> None:
    got = verdict(check(answer_check(expected, schema)), response(said))
    assert got.score == score, got.why
    assert bool(got.why) == (not score)


def test_order_counts_in_ordered_lists() -> None:
    ordered = check(answer_check(["a", "b"], STRING, ordered=True))
    assert verdict(ordered, response(["a", "b"])).score == 1
    assert verdict(ordered, response(["b", "a"])).score == 0


@each_case(
    ("answer", "score"),
    [
        (response(None, "NOT_FOUND_ERROR"), 1),
        (response([], "not_found_error"), 1),
        (f"```json\n{response(None, 'NOT_FOUND_ERROR')}\n```", 1),
        ('{"performed_operation": "retrieve", "status": "NOT_FOUND_ERROR"}', 1),
        (response(None, "UNKNOWN_ERROR"), 0),
        (response(None, "NOT_FOUND_ERROR", "MUTATE"), 0),
        ("N/A", 0),
        ("", 0),
        (None, 0),
        ("[1]", 0),
    ],
)
def test_response_status_and_form(answer: str | None, score: int) -> None:
    assert verdict(check(answer_check(None, {}, "NOT_FOUND_ERROR")), answer).score == score


def post(body: str, *, status: int | None = 302, headers: Any = FORM, **more: Any) -> RequestRecord:
    more.setdefault("request_bytes", len(body))
    return request("POST", "/cart/add/", body=body, status=status, request_headers=headers, **more)


@each_case(
    ("requests", "score"),
    [
        ((post("sku=B07&qty=2"),), 1),
        ((post("qty=2&sku=B07&token=x"),), 1),
        ((post('{"sku": "B07", "qty": "2"}', headers=JSON),), 1),
        ((post("sku=B07&qty=3"),), 0),
        ((post("sku=B07&qty=2", status=200),), 0),
        ((post("sku=B07&qty=2", status=None),), 0),
        ((post("sku=B07&qty=2", status=403, refused="not a site of this task"),), 0),
        ((post("sku=B07&qty=2"), post("sku=B07&qty=9")), 0),
        ((post("sku=B07&qty=9"), post("sku=B07&qty=2")), 1),
        ((request("GET", "/cart/add/?sku=B07&qty=2", status=302),), 0),
    ],
)
def test_mutating_requests_are_matched(requests: tuple[RequestRecord, ...], score: int) -> None:
    written = network_check(
        url="__SHOPPING__/cart/add/", http_method="POST", post_data={"sku": "B07", "qty": "2"}, response_status=302
    )
    assert verdict(written, response(kind="MUTATE"), *requests).score == score


@each_case(
    ("paths", "score"),
    [
        (("/", "/orders/?page=2"), 1),
        (("/", "/orders/?page=2&zz=1"), 0),
        (("/orders/?page=2", "/"), 0),
        (("/orders/?page=2", "/static/x.css"), 1),
        (("/orders/?page=3",), 0),
    ],
)
def test_navigation_check_uses_the_last_page(paths: tuple[str, ...], score: int) -> None:
    log = [request("GET", path, request_headers=PAGE) for path in paths]
    assert (
        verdict(network_check("navigate", url="__SHOPPING__/orders/?page=2"), response(kind="NAVIGATE"), *log).score
        == score
    )


def test_forbidden_request_fails() -> None:
    written = network_check(evaluator={"should_not_exist": True}, url="__SHOPPING__/cart/add/", http_method="POST")
    visit = request("GET", "/")
    assert verdict(written, response(kind="MUTATE"), visit).score == 1
    assert verdict(written, response(kind="MUTATE"), visit, post("sku=B07")).score == 0


def test_refused_request_counts_as_request_without_response() -> None:
    written = network_check(
        url="^http://.*/dummy_bin$", http_method="POST", post_data={"name": "Emma"}, response_status=-1
    )
    sent = request(
        "POST", "http://elsewhere.test/dummy_bin", body="name=Emma", request_headers=FORM, request_bytes=9,
        status=403, refused="elsewhere.test is not one of this task's sites",
    )  # fmt: skip
    assert verdict(written, response(kind="MUTATE"), sent).score == 1


TOTALS: dict[str, Any] = {"url": "__SHOPPING__/rest/totals", "response_content": {"$.items[0].name": "Kettle"}}


def totals(body: str | None) -> RequestRecord:
    return request("GET", "/rest/totals", response_headers=JSON, response_body=body, response_bytes=30)


def test_response_body_is_matched() -> None:
    written = network_check(**TOTALS)
    assert verdict(written, response(kind="MUTATE"), totals('{"items": [{"name": "Kettle"}]}')).score == 1
    assert verdict(written, response(kind="MUTATE"), totals('{"items": [{"name": "Pot"}]}')).score == 0


def test_cookies_of_responses_are_decoded() -> None:
    written = network_check(
        url="__SHOPPING__/cart/add/", http_method="POST", response_status=302,
        response_cookies={"mage-messages": "^.*kettle.*added to your wish list.*$"},
    )  # fmt: skip
    cookie = (
        ("Set-Cookie", "mage-messages=%5B%22Kettle%20has%20been%20added%20to%20your%20wish%20list%22%5D; Path=/"),
    )
    assert verdict(written, response(kind="MUTATE"), post("", response_headers=cookie)).score == 1
    assert verdict(written, response(kind="MUTATE"), post("")).score == 0


@each_case(
    ("written", "answer", "requests", "facts", "why"),
    [
        (check(answer_check([1], NUMBER)), "1", (), {"answer_format": "text"}, "not in the response format"),
        (check(answer_check([1], NUMBER)), None, (), {"answer_format": "text"}, "not in the response format"),
        (
            check(answer_check([1], NUMBER)),
            response([1]),
            (),
            {"sites": {}},
            "the address of shopping was not recorded",
        ),
        (network_check(**TOTALS), response(kind="MUTATE"), (), {}, "the requests were not recorded"),
        (network_check(**TOTALS), response(kind="MUTATE"), (totals(None),), {}, "/rest/totals was not kept"),
        (
            network_check(
                url="__SHOPPING__/cart/add/", http_method="POST", post_data={"sku": "B07"}, response_status=302
            ),
            response(kind="MUTATE"),
            (post("note=" + "x" * 99, request_bytes=200),),
            {},
            "the body of POST http://shopping.test/cart/add/ was too long to be kept whole",
        ),
    ],
)
def test_unrecorded_facts_are_undecided(
    written: str, answer: str | None, requests: Any, facts: dict[str, Any], why: str
) -> None:
    got = verdict(written, answer, *requests, **facts)
    assert got.score is None
    assert why in got.why


def test_lost_bodies_do_not_hide_a_wrong_response() -> None:
    assert verdict(network_check(**TOTALS), response(kind="NAVIGATE"), totals(None)).score == 0


def test_typed_answer_counts_with_text_answer_format() -> None:
    assert verdict(check(answer_check([1], NUMBER)), response([1]), answer_format="text").score == 1


def test_missing_package_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "webarena_verified.api", None)
    package.load_package.cache_clear()
    try:
        got = verdict(check(answer_check([1], NUMBER)), response([1]))
    finally:
        package.load_package.cache_clear()
    assert got.score is None
    assert "pip install 'pytest-webarena[suites]'" in got.why


def test_reasons_name_the_evaluator() -> None:
    written = network_check(url="__SHOPPING__/cart/add/", http_method="POST", response_status=302)
    got = verdict(written, response(kind="NAVIGATE"), request("GET", "/"))
    assert got.why.startswith("response: ")
    assert "POST http://shopping.test/cart/add/: No matching network event found" in got.why
    assert got.expected == "MUTATE SUCCESS; POST http://shopping.test/cart/add/"


def test_actual_text_names_the_nearest_request() -> None:
    written = network_check(
        url="__SHOPPING__/cart/add/", http_method="POST", response_status=302, post_data={"sku": "B07"}
    )
    said = response(kind="MUTATE")
    other = request("POST", "/search", status=200)
    got = verdict(written, said, post("sku=B08"), other, request("GET", "/"))
    assert got.actual == f"{said}; 3 requests; last POST: http://shopping.test/cart/add/ (302) sku=B08"
    assert verdict(written, said, other).actual.endswith("last POST: http://shopping.test/search (200)")
    assert verdict(written, said, request("GET", "/")).actual.endswith("no POST")
    visits = [request("GET", path, request_headers=PAGE) for path in ("/orders/?page=3", "/a.css")]
    got = verdict(network_check("navigate", url="__SHOPPING__/orders/?page=2"), response(kind="NAVIGATE"), *visits)
    assert got.actual.endswith("last GET: http://shopping.test/orders/?page=3 (200)")


def test_responses_are_needed_only_by_checks_of_responses() -> None:
    assert needs(task(f"- {network_check(**TOTALS)}").checks).responses
    assert not needs(task(f"- {check(answer_check([1], NUMBER))}").checks).responses
    assert not needs(task("- answer: x").checks).responses


@each_case(
    ("written", "category"),
    [
        (check(answer_check([1], NUMBER)), "information"),
        (network_check("navigate", url="x"), "navigation"),
        (network_check("mutate", url="x"), "content"),
        (check(answer_check(None, {}, "NOT_FOUND_ERROR")), "unachievable"),
    ],
)
def test_category_of_verified_tasks(written: str, category: str) -> None:
    assert task(f"- {written}").category == category


RIGHT = answer_check([1], NUMBER)


@each_case(
    ("evaluators", "message"),
    [
        ([], "expected a list of evaluators, at least one, found a list"),
        ({}, "expected a list of evaluators, at least one, found a mapping"),
        ([3], r"eval\[0\]: an evaluator \(a mapping\), found 3"),
        ([{**RIGHT, "evaluator": "AgentResponse"}], "name of an evaluator, found 'AgentResponse' .did you mean"),
        ([{**RIGHT, "order": True}], "a key of AgentResponseEvaluator, found 'order'"),
        ([{**RIGHT, "expected": None}], "a mapping under 'expected' of AgentResponseEvaluator, found nothing"),
        ([{**RIGHT, "results_schema": "x"}], "a mapping under 'results_schema' of AgentResponseEvaluator, found 'x'"),
        (
            [{**RIGHT, "expected": {"task_type": "read"}}],
            "'task_type' to be one of RETRIEVE, MUTATE, NAVIGATE, found 'read'",
        ),
        ([{**RIGHT, "expected": {"task_type": "retrieve", "status": "OK"}}], "'status' to be one of SUCCESS"),
        ([RIGHT, {"evaluator": "NetworkEventEvaluator", "expected": {}}], r"eval\[1\]: an address, .* found nothing"),
        (
            [{"evaluator": "NetworkEventEvaluator", "expected": {"url": "/x"}}],
            "an AgentResponseEvaluator in 'eval', found none",
        ),
    ],
)
def test_malformed_evaluators_are_refused_on_reading(evaluators: Any, message: str) -> None:
    with pytest.raises(TaskFileError, match=message):
        task("- verified: " + json.dumps({"sites": ["shopping"], "eval": evaluators}))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> agree_verified.Theirs:
    return agree_verified.Theirs(tmp_path_factory.mktemp("verified"))


@pytest.mark.parametrize(("number", "skip"), [(21, 19), (47, 21), (269, 23), (389, 29), (511, 29), (528, 29)])
def test_verdicts_equal_those_of_the_package(number: int, skip: int, theirs: agree_verified.Theirs) -> None:
    """A small sample of the comparison in ``scripts/agree_verified.py``."""
    asked = theirs.tasks[number]
    for case in list(agree_verified.cases(asked, random.Random(7)))[::skip]:
        assert agree_verified.ours(asked, case) == theirs(number, case), case


@each_case("sent", [(), (post("sku=B07"),)])
@each_case(
    ("method", "path", "decided"),
    [
        ("GET", "/", True),
        ("POST", "/notes/", True),
        ("POST", "/cart/add/", False),
        ("POST", "", False),
        ("", "", False),
    ],
)
def test_unrecorded_requests_may_be_the_expected_one(
    sent: tuple[RequestRecord, ...], method: str, path: str, decided: bool
) -> None:
    written = network_check(
        url="__SHOPPING__/cart/add/", http_method="POST", post_data={"sku": "B07"}, response_status=302
    )
    missing = Unrecorded(method=method, url=path and f"http://shopping.test{path}", count=3)
    got = verdict(written, response(kind="MUTATE"), request("GET", "/"), *sent, unrecorded=(missing,))
    assert got.score == (float(bool(sent)) if decided else None)
    assert got.cause == (None if decided else "site")


@pytest.mark.parametrize(
    ("method", "path", "decided"), [("GET", "/", False), ("GET", "/a.css", True), ("POST", "/", True)]
)
def test_unrecorded_pages_may_be_the_last_page(method: str, path: str, decided: bool) -> None:
    written = network_check("navigate", url="__SHOPPING__/orders/?page=2")
    missing = Unrecorded(method=method, url=f"http://shopping.test{path}", count=1)
    shown = request("GET", "/orders/?page=2", request_headers=PAGE)
    got = verdict(written, response(kind="NAVIGATE"), shown, unrecorded=(missing,))
    assert got.score == (1 if decided else None)


def test_warnings_of_compiling_its_dependencies_are_no_error_of_a_judgement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some installers leave that to the first import, and a suite may have made errors of all warnings."""
    (tmp_path / "webarena_verified").mkdir()
    (tmp_path / "webarena_verified" / "__init__.py").touch()
    (tmp_path / "webarena_verified" / "api.py").write_text(r"DIGITS = '\d+'")
    monkeypatch.syspath_prepend(tmp_path)
    # Not `patch.dict`: it empties sys.modules for a moment, and another thread would import built-in modules again.
    for name in [name for name in sys.modules if name.partition(".")[0] == "webarena_verified"]:
        monkeypatch.delitem(sys.modules, name)
    try:
        with pytest.raises(SyntaxError, match="invalid escape sequence"):
            importlib.import_module("webarena_verified.api")
        assert package.load_package.__wrapped__().DIGITS == r"\d+"
    finally:
        for name in ("webarena_verified.api", "webarena_verified"):
            sys.modules.pop(name, None)
