"""The forms of answers, and what a typed response is as a plain one."""

from __future__ import annotations

import json

import jsonschema

from pytest_webarena.answers import (
    ANSWER_FORMATS,
    RESPONSE_SCHEMA,
    STATUSES,
    TASK_TYPES,
    as_response,
    as_text,
    instructions,
    read_response,
)
from pytest_webarena.evidence import Evidence
from tests.cases import each_case


def typed(data: object, status: str = "SUCCESS", **more: object) -> str:
    return json.dumps({"task_type": "RETRIEVE", "status": status, "retrieved_data": data, **more})


@each_case(
    ("answer", "text"),
    [
        (typed(["Coffee Grinder"]), "Coffee Grinder"),
        (typed(["a", "b"]), "a, b"),
        (typed([3, 4.5]), "3, 4.5"),
        ('{"task_type": "retrieve", "status": "success", "retrieved_data": [84.00, 1e3]}', "84.00, 1e3"),
        (typed([True, False, None]), "yes, no, "),
        (typed([{"name": "Kettle", "price": 12.5}]), "name: Kettle, price: 12.5"),
        (typed([{"n": 1}, {"n": 2}]), "n: 1; n: 2"),
        (typed("bare"), "bare"),
        (typed([]), ""),
        (typed(None), ""),
        ('{"performed_operation": "mutate", "status": "success"}', ""),
        (f"Done.\n```json\n{typed(['x'])}\n```", "x"),
        (f"```{typed(['x'])}```", "x"),
        (typed(None, "NOT_FOUND_ERROR", error_details="no such order"), "N/A"),
        (typed(None, "action_not_allowed_error"), "N/A"),
        (typed(None, "PERMISSION_DENIED_ERROR"), "N/A"),
        (typed(None, "UNKNOWN_ERROR", error_details="the page hung"), "the page hung"),
        (typed(["x"], "DATA_VALIDATION_ERROR"), ""),
    ],
)
def test_typed_response_as_text(answer: str, text: str) -> None:
    assert as_text(answer) == text


@each_case(
    "answer", [None, "", "408", "N/A", "[1]", '{"status": "SUCCESS"}', '{"task_type": 1, "status": 2}', '{"a"', "{}"]
)
def test_what_is_no_typed_response_stays_as_it_is(answer: str | None) -> None:
    assert read_response(answer) is None
    assert as_text(answer) == answer


@each_case(
    ("text", "status", "data"),
    [
        ("", "SUCCESS", []),
        ("408", "SUCCESS", ["408"]),
        ("N/A", "NOT_FOUND_ERROR", None),
        ("n/a ", "NOT_FOUND_ERROR", None),
    ],
)
def test_plain_answer_as_a_typed_response(text: str, status: str, data: object) -> None:
    answer = json.loads(as_response(text))
    jsonschema.validate(answer, RESPONSE_SCHEMA)
    assert (answer["status"], answer["retrieved_data"]) == (status, data)
    if text in ("", "408", "N/A"):
        assert as_text(as_response(text)) == text


def test_instructions_name_every_word_of_the_schema() -> None:
    text = instructions("verified")
    for word in (*TASK_TYPES, *STATUSES, *RESPONSE_SCHEMA["properties"]):
        assert word in text
    assert instructions("text") == ""
    assert set(ANSWER_FORMATS) == {"text", "verified"}


def test_evidence_gives_text_checks_the_projection_only_where_the_form_was_asked_for() -> None:
    answer = typed(["x"])
    projected = Evidence(answer=answer, stop_reason="answered", answer_format="verified")
    assert projected.text_answer == "x"
    assert Evidence(answer=answer, stop_reason="answered").text_answer == answer
    assert Evidence.from_json(projected.to_json()) == projected


def test_evidence_of_older_versions_was_asked_for_text() -> None:
    data = Evidence(answer="x", stop_reason="answered").to_json()
    del data["answer_format"]
    assert Evidence.from_json({**data, "schema_version": 2}).answer_format == "text"
