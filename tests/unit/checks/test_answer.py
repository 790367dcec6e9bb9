"""The kind ``answer``."""

from __future__ import annotations

import json

from pytest_webarena.checks.answer import says_unachievable
from tests.cases import each_case

from .helpers import evidence, result


@each_case(
    ("check", "answer", "passed"),
    [
        ("answer: Gooseneck Kettle", "gooseneck kettle.", True),
        ("answer: Gooseneck Kettle", "the gooseneck kettle", False),
        ("answer: {number: 84.97, unit: USD, tolerance: 0.01}", "It is $84.98.", True),
        ("answer: {number: 84.97, tolerance: 0.01}", "You spent $84.98.", None),
        ("answer: {number: 84.97, tolerance: 0.01}", "N/A", False),
        ("answer: {includes: [tea, 10]}", "tea, 10", True),
        ("answer: {includes: [tea, 10]}", "100 bags of tea", False),
        ("answer: {one_of: [yes, true]}", "Yes", True),
        ("answer: {one_of: [a, none]}", "none.", True),
        ("answer: {name: tea, excludes: milk}", "tea", True),
        ("answer: {name: tea, excludes: milk}", "tea, no milk", False),
        ("answer: {regex: '^#\\d+$'}", " #12 ", True),
    ],
)
def test_answers(check: str, answer: str, passed: bool | None) -> None:
    assert result(check, evidence(answer)).passed is passed


@each_case(
    "answer",
    [
        "N/A", "n/a.", '"N/A"', "NA", "N/A: there is no phone", "N/A - no phone", "N/A — no phone", "N/A (no phone)",
        "Impossible.", "unachievable", "Infeasible, no phone", "not possible", "**N/A**",
    ],
)  # fmt: skip
def test_an_answer_may_say_that_the_task_cannot_be_done(answer: str) -> None:
    assert says_unachievable(answer)
    assert result("answer: {unachievable: no phone}", evidence(answer)).passed
    found = result("answer: {exact: x}", evidence(answer))
    assert (found.passed, found.why) == (False, "the agent said that the task can't be done, but it can")


@each_case(
    ("answer", "passed"),
    [
        ("", False),
        ("Nathan", False),
        ("n/abc", False),
        ("The phone number is 555", False),
        ("possible", False),
        ("not", None),
        ("no", None),
        ("Impossible Burger", None),
        ("N/A because the page did not load", None),
        ("N/A, phone", None),  # a part of the reason may be another value
        ("I could not find it", None),
    ],
)
def test_other_answers_do_not_say_so(answer: str, passed: bool | None) -> None:
    assert says_unachievable(answer) is answer.startswith("N/A")
    found = result("answer: {unachievable: no phone}", evidence(answer))
    assert found.passed is passed


@each_case("wanted", ["{number: 8.40}", "{includes: '8.40'}", "{regex: '8[.]40'}", "{one_of: ['8.40']}"])
@each_case("answer", ["N/A: 8.40", "n/a, but it may be 8.40", "Not possible - 8.40", "NA (8.40)"])
def test_an_answer_that_declines_does_not_give_the_value(wanted: str, answer: str) -> None:
    assert result(f"answer: {wanted}", evidence(answer)).passed is not True
    assert result("answer: {unachievable: x}", evidence(answer)).passed is not True


def test_no_answer() -> None:
    got = result("answer: x", evidence(None, stop_reason="max_steps"))
    assert (got.score, got.actual, got.why) == (0, "no answer", "the agent was stopped (max_steps) before it answered")
    assert result("answer: {unachievable: x}", evidence(None)).passed is False


def test_numbers_of_the_intent_do_not_count() -> None:
    got = result("answer: {number: 84.97}", evidence("84.97 in 2023"), intent="How much did I spend in 2023?")
    assert got.passed


@each_case(
    ("wanted", "answer", "why"),
    [
        ("{json: {a: 1, b: [x, Y]}}", '{"b": ["X", "y."], "a": 1.0}', ""),
        ("{json: {a: 1}}", 'Here:\n```json\n{"a": 1}\n```\n', ""),
        ("{json: {a: 1}}", '{"a": 1, "b": 2}', "the values differ"),
        ("{json: {a: 1}}", '{"a": 2, "a": 1}', 'it has the key "a" more than once, so it says several things'),
        ("{json: [{a: 1}]}", '[{"a": 1, "a": 1}]', 'it has the key "a" more than once, so it says several things'),
        ("{json: [1, 2]}", "[2, 1]", "the values differ"),
        ("{json: [[1, 2], 3], any_order: true}", "[3, [2, 1]]", ""),
        ("{json: [1, 1, 2], any_order: true}", "[1, 2, 2]", "the values differ"),
        ("{json: null}", "null", ""),
        ("{json: true}", "1", "the values differ"),
        ("{json: 1}", "NaN", "it is not JSON"),
        ("{json: 1}", "one", "it is not JSON"),
        ("{json: 1}", "9" * 5000, "it is not JSON"),
        ("{json: 1}", "1e999", "the values differ"),
        ("{json: 1}", "[" * 100_000, "it is not JSON"),
        ("{schema: {type: array, items: {type: integer}, minItems: 2}}", "[1, 2.0]", ""),
        ("{schema: {type: array, items: {type: integer}}}", "[1, 2.5]", "$[1] is not of type integer"),
        ("{schema: {type: array, minItems: 2}}", "[1]", "$ has 1 items"),
        ("{schema: {type: object, required: [a]}}", "{}", "$ lacks 'a'"),
        (
            "{schema: {type: object, required: [a], properties: {a: {type: [string, 'null']}}}}",
            '{"a": 1}',
            "$.a is not of type string or null",
        ),
        (
            "{schema: {type: object, properties: {a: {}}, additionalProperties: false}}",
            '{"b": 1}',
            "$ has the further key 'b'",
        ),
        ("{schema: {enum: [a, 1]}}", '"A"', ""),
        ("{schema: {const: 2}}", "1", "$ is another value"),
        ("{schema: {type: number, minimum: 1, maximum: 3}}", "4", "$ is out of range"),
        ("{schema: {type: string, pattern: '^a', maxLength: 2}}", '"abc"', "$ has 3 characters"),
        ("{schema: {type: string, pattern: '^a'}}", '"ba"', "$ does not match the pattern"),
        ("{schema: {type: boolean}}", "true", ""),
    ],
)
def test_json_answers(wanted: str, answer: str, why: str) -> None:
    got = result(f"answer: {wanted}", evidence(answer))
    assert (got.passed, got.why) == (not why, why)


def test_what_is_expected_is_said() -> None:
    got = result("answer: {number: 1, includes: [tea], excludes: milk}", evidence("x"))
    assert got.expected == 'excludes "milk"; the number 1; "tea"'
    assert result("answer: {json: {a: 1}}", evidence("x")).expected == "the JSON " + json.dumps({"a": 1})
    assert got.actual == '"x"'
