"""Changes of recorded requests and of answers: which parts are changed to what, and which changes are caught."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import monotonic

from pytest_webarena.evidence import Evidence, RequestRecord
from pytest_webarena.trials.sent_facts import answer_facts, request_facts
from pytest_webarena.trials.written_facts import Facts
from tests.cases import each_case

FORM = "application/x-www-form-urlencoded"


def post(body: str, kind: str = FORM, url: str = "http://shop.test/comments?draft=0") -> RequestRecord:
    return RequestRecord(
        time=0.0, method="POST", url=url, status=200, request_headers=(("content-type", kind),), request_body=body,
        request_bytes=len(body),
    )  # fmt: skip


def outcomes(facts: Facts) -> dict[str, tuple[str, bool | None]]:
    return {each.column: (each.became, each.caught) for each in facts.tried}


def of_answer(answer: str, passes: Callable[[str], bool | None]) -> Facts:
    facts = Facts(ends=monotonic() + 60)
    evidence = Evidence(answer=answer, stop_reason="answered")
    for each in answer_facts(evidence, lambda changed: passes(changed.answer or "")):
        facts.add(each)
    facts.work()
    return facts


def of_requests(*requests: RequestRecord, reads: str, entered: tuple[str, ...], written: str = "") -> Facts:
    """Return the facts of requests, judged by a text in the last one that a check reads."""
    facts = Facts(ends=monotonic() + 60)
    evidence = Evidence(answer="", stop_reason="answered", requests=requests)
    for each in request_facts(
        evidence,
        lambda changed: any(reads in f"{one.url} {one.request_body}" for one in changed.requests),
        lambda _, value: value in entered,
        lambda value: value == written,
    ):
        facts.add(each)
    facts.work()
    return facts


def test_values_of_a_structured_answer_are_changed_one_at_a_time() -> None:
    found = of_answer(json.dumps({"names": ["Ada", "Bob"], "n": 3}), lambda answer: "Ada" in answer and "3" in answer)
    assert {column: caught for column, (_, caught) in outcomes(found).items()} == {
        "names.0": True, "names.1": False, "n": True,
    }  # fmt: skip


@each_case(
    ("answer", "read", "caught"),
    [
        ("It costs 12 dollars since 2026-07-09.", "12", True),
        ("It costs 12 dollars since 2026-07-09.", "07-09", True),
        ("It costs 12 dollars.", "dollars", False),
        ("Ada", "Ada", True),
        ("Ada", "", False),
    ],
)
def test_text_answer_is_one_part(answer: str, read: str, caught: bool) -> None:
    [tried] = of_answer(answer, lambda given: read in given).tried
    assert (tried.table, tried.unit, tried.caught) == ("answer", "answer part", caught)


def test_chosen_parameters_of_requests_are_changed_one_at_a_time() -> None:
    found = of_requests(post("body=Done&stars=4&token=x"), reads="body=Done", entered=("Done", "4"))
    assert outcomes(found) == {"body": ("Done 2", True), "stars": ("5", False)}
    assert {each.table for each in found.tried} == {"POST http://shop.test/comments"}


def test_parameters_of_json_and_addresses_are_changed() -> None:
    sent = post('{"comment": {"stars": 4}}', "application/json", "http://shop.test/comments?ticket=12")
    assert outcomes(of_requests(sent, reads='"stars": 4', entered=(4,)))["comment.stars"] == ("5", True)  # type: ignore[arg-type]
    assert outcomes(of_requests(sent, reads="ticket=12", entered=("12",))) == {"ticket": ("13", True)}


def test_request_that_no_check_reads_is_named() -> None:
    """The password of a sign-in is chosen, and no check's business."""
    sign_in = post("password=Secret", url="http://shop.test/login")
    found = of_requests(sign_in, post("body=Done"), reads="body=Done", entered=("Done", "Secret"))
    assert outcomes(found) == {"body": ("Done 2", True)}
    assert [(each.what, each.why) for each in found.untried] == [
        ("POST http://shop.test/login.password", "no check reads the request")
    ]


def test_equal_requests_are_changed_together() -> None:
    again = post("body=Done")
    assert outcomes(of_requests(again, again, reads="body=Done", entered=("Done",))) == {"body": ("Done 2", True)}


def test_value_in_a_database_is_left_to_its_column() -> None:
    assert not of_requests(post("body=Done"), reads="x", entered=("Done",), written="Done").tried


@each_case(
    ("request_", "why"),
    [
        (post("a", "multipart/form-data; boundary=x"), "bodies of the type multipart/form-data are not changed"),
        (post("{", "application/json"), "its body is no JSON document"),
        (post("base64:AA=="), "its body is cut, compressed or binary"),
    ],
)
def test_request_that_cannot_be_changed_is_named(request_: RequestRecord, why: str) -> None:
    [untried] = of_requests(request_, reads="x", entered=("a",)).untried
    assert (untried.what, untried.unit, untried.why) == (
        "POST http://shop.test/comments", "request parameter", why,
    )  # fmt: skip
