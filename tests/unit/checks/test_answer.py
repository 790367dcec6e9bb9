"""The kind ``answer``."""

from __future__ import annotations

import json

from pytest_webarena.checks.answer import says_unachievable
from tests.cases import each_case

from .helpers import evidence, result


@each_case(
    ("check", "answer", "holds"),
    [
        ("answer: Gooseneck Kettle", "gooseneck kettle.", True),
        ("answer: Gooseneck Kettle", "the gooseneck kettle", False),
        ("answer: {number: 84.97, tolerance: 0.01}", "You spent $84.98.", True),
        ("answer: {number: 84.97, tolerance: 0.01}", "N/A", False),
        ("answer: {includes: [tea, 10]}", "10 bags of tea", True),
        ("answer: {includes: [tea, 10]}", "100 bags of tea", False),
        ("answer: {one_of: [yes, true]}", "Yes", True),
        ("answer: {regex: '^#\\d+$'}", " #12 ", True),
        ("answer: {exact: ''}", "", True),
    ],
)
def test_answers(check: str, answer: str, holds: bool) -> None:
    assert result(check, evidence(answer)).passed is holds


@each_case(
    "answer",
    [
        "N/A",
        "n/a.",
        '"N/A"',
        "NA",
        "N/A: there is no such page",
        "N/A - not listed",
        "N/A — not listed",
        "N/A (not listed)",
        "Not achievable because the page is missing",
        "Impossible.",
        "unachievable",
        "Infeasible, no permission",
        "not possible",
        "**N/A**",
    ],
)
def test_ways_to_say_that_it_cannot_be_done(answer: str) -> None:
    assert says_unachievable(answer)
    assert result("answer: {unachievable: no phone}", evidence(answer)).passed
    assert (
        result("answer: {exact: x}", evidence(answer)).why == "the agent said that the task can't be done, but it can"
    )


@each_case(
    "answer",
    ["", "Impossible Burger", "Nathan", "n/abc", "It is N/A", "The phone number is 555", "possible", "not", "nah"],
)
def test_other_answers_do_not_say_so(answer: str) -> None:
    assert not says_unachievable(answer)
    got = result("answer: {unachievable: no phone}", evidence(answer))
    assert got.passed is False
    assert got.why == "the agent did not say that the task can't be done"
    assert got.expected == '"N/A" (no phone)'


def test_a_real_answer_may_be_na() -> None:
    assert result("answer: N/A", evidence("n/a")).passed


@each_case("wanted", ["{number: 8.40}", "{includes: '8.40'}", "{regex: '8[.]40'}", "{one_of: ['8.40']}"])
@each_case("answer", ["N/A: 8.40", "n/a, but it may be 8.40", "Not possible - 8.40", "NA (8.40)"])
def test_who_says_that_it_can_not_be_done_has_not_stated_the_value(wanted: str, answer: str) -> None:
    """Else one answer would be right for tasks that can be done and for those that can't. It is right for neither."""
    got = result(f"answer: {wanted}", evidence(answer))
    assert (got.passed, got.why) == (False, "the agent said that the task can't be done, but it can")
    got = result("answer: {unachievable: x}", evidence(answer))
    assert (got.passed, got.why) == (False, "it says that the task can't be done, and then something else than why")


@each_case(
    ("wanted", "answer"),
    [
        ("{includes: not possible}", "Not possible: returns end after 30 days"),
        ("{one_of: [N/A, none]}", "N/A."),
        ("{includes: n/a}", "N/A, as the page says"),
        ("{includes: Burger}", "Impossible Burger"),
    ],
)
def test_unless_these_are_the_words_that_are_wanted(wanted: str, answer: str) -> None:
    assert result(f"answer: {wanted}", evidence(answer)).passed


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
        ("{schema: {required: [a]}}", "{}", "$ lacks 'a'"),
        ("{schema: {properties: {a: {type: [string, 'null']}}}}", '{"a": 1}', "$.a is not of type string or null"),
        ("{schema: {properties: {a: {}}, additionalProperties: false}}", '{"b": 1}', "$ has the further key 'b'"),
        ("{schema: {enum: [a, 1]}}", '"A"', ""),
        ("{schema: {const: 2}}", "1", "$ is another value"),
        ("{schema: {minimum: 1, maximum: 3}}", "4", "$ is out of range"),
        ("{schema: {pattern: '^a', maxLength: 2}}", '"abc"', "$ has 3 characters"),
        ("{schema: {pattern: '^a'}}", '"ba"', "$ does not match the pattern"),
        ("{schema: {type: boolean}}", "true", ""),
    ],
)
def test_json_answers(wanted: str, answer: str, why: str) -> None:
    got = result(f"answer: {wanted}", evidence(answer))
    assert (got.passed, got.why) == (not why, why)


def test_what_is_expected_is_said() -> None:
    got = result("answer: {includes: [tea], excludes: milk, json: {a: 1}}", evidence("x"))
    assert got.expected == 'includes "tea"; excludes "milk"; the JSON ' + json.dumps({"a": 1})
    assert got.actual == '"x"'


@each_case(
    "answer",
    ["not 408", "It is not 408.", "It isn't 408", "408 is wrong", "408 is not the answer", "408?", ">408", "< 408",
     "408+", "less than 408", "more than $408", "at least 408", "408 or more", "never 408", "It can't be 408", "≠ 408",
     "None of them is 408", "anything but 408", "408, obviously not", "everything else than 408", "N/A 408",
     "over 408"],
)  # fmt: skip
def test_a_number_that_is_spoken_against_is_not_given(answer: str) -> None:
    assert result("answer: {number: 408}", evidence(answer)).passed is False
    assert result("answer: {number: 408, tolerance: 1}", evidence(answer)).passed is False


@each_case(
    "answer",
    ["408", "It is 408.", "$408", "You did not pay more, so 408", "Not counting postage, it is 408", "408 (not 2023)",
     "The total excluding tax is 408", "408 are not shipped", "It is not 2023 but 408", "**408**", "408!", "about 408",
     "There are 408 that aren't paid", "Orders above 2023: 408", "within 408 days", "I couldn't find others; 408"],
)  # fmt: skip
def test_a_number_beside_other_denials_is_given(answer: str) -> None:
    assert result("answer: {number: 408}", evidence(answer), intent="How many were there in 2023?").passed
