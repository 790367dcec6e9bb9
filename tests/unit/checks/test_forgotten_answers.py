"""Notes on tasks that lack a check of the answer, or its type, and messages on keys that make no sense."""

from __future__ import annotations

import json

import pytest

from pytest_webarena.checks.forgotten_answers import with_literal_numbers, with_unread_answers
from pytest_webarena.errors import TaskFileError
from pytest_webarena.tasks import Task
from pytest_webarena.testing import make_task
from tests.cases import each_case


def made(checks: str, intent: str = "How many lamps are there?") -> Task:
    return make_task(f"id: lamps\nintent: {json.dumps(intent)}\nsites: [shop]\nchecks: [{checks}]")


@each_case(
    ("checks", "intent", "noted"),
    [
        ("{url: {exact: 'http://shop.test/'}}", "How many lamps are there?", True),
        ("{url: {exact: 'http://shop.test/'}}", "Open the lamps.", False),
        ("{answer: {number: 36}}", "How many lamps are there?", False),
        ("{any: [{answer: {number: 36}}, {answer: {number: 35}}]}", "How many lamps are there?", False),
        ("{python: {function: 'json:loads'}}", "How many lamps are there?", False),  # it may read the answer
    ],
)
def test_a_question_whose_answer_no_check_reads_is_noted(checks: str, intent: str, noted: bool) -> None:
    note = with_unread_answers([made(checks, intent)])
    assert ("no check reads the answer to the question of lamps" in note) is noted


@each_case(
    ("check", "noted"),
    [("'36'", True), ("{exact: '1,234.5'}", True), ("{number: 36}", False), ("Acme", False), ("'#36'", False)],
)
def test_a_number_that_is_compared_as_a_text_is_noted(check: str, noted: bool) -> None:
    note = with_literal_numbers([made(f"{{answer: {check}}}")])
    assert ("write 'answer: {number: 36}'" in note) is noted


@each_case(
    ("check", "message"),
    [
        ("{exact: a, number: 1}", "with 'unit', 'tolerance', 'includes' or 'excludes', found 'exact' too"),
        ("{json: 1, number: 1}", "expected 'number' alone, or with"),
        ("{json: {a: 1}, excludes: b}", "expected 'json' alone, or with 'any_order', found 'excludes' too"),
        ("{number: 5, case: true}", "found 'case' too"),
        ("{name: a, date: 2026-01-01}", "found 'date' too (give a second value as 'includes')"),
        ("{unachievable: x, name: y}", "found 'unachievable' too"),
        ("{unit: km}", "expected 'unit' with 'number', found it alone"),
        ("{excludes: x}", "or 'includes', found it alone"),
        ("{case: false}", "expected a condition on the answer, found none"),
        ("{name: Acme, excludes: acme}", "expected a reference that meets its own check, found 'Acme'"),
        ("{yes_no: 'yes', excludes: 'Yes'}", "found 'yes', which as an answer is not met"),
        ("{number: 5, excludes: '5'}", "found '5', which as an answer is not met"),
        ("{date: 2026-03-14, excludes: 2026-03-14}", "found '2026-03-14', which as an answer is not met"),
        ("{name: '?'}", "found '?', which as an answer is not met"),
        ("{name: Acme, aliases: ['...']}", '"..." may mean it'),
        ("{names: [Acme, Acme]}", "which as an answer is undecided: it gives one name for two"),
        ("{text: '---'}", "which as an answer is not met"),
        ("{duration: -5 min}", "found '-5 min'"),
        ("{duration: 2 moons}", "expected a length of time in weeks, days, h, min and s, or in years and months"),
        ("{number: 5, unit: blorbs}", "expected a unit such as km or \u00b0C, a currency such as EUR, or %"),
        ("{value: 42}", "found 'value' (say what type the answer has: number, name, names, date"),
        ("{answer: 42}", "found 'answer' (say what type the answer has: number, name, names, date"),
        ("{nmber: 42}", "did you mean 'number'?"),
    ],
)  # fmt: skip
def test_senseless_keys_are_reported_with_their_line(check: str, message: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        made(f"{{answer: {check}}}")
    assert message in str(caught.value)
    assert ":6:" in str(caught.value)


@each_case(
    "check",
    [
        "{number: 0}", "{number: 0, unit: USD, tolerance: 1%, excludes: tax}", "{number: 84.97, includes: Kettle}",
        "{names: [Ann, Bo], ordered: true, case: true}", "{name: IT, excludes: other}", "{json: null}",
        "{regex: a, excludes: b}", "{duration: 0 s}", "{duration: 14 months}", "{number: 3, unit: crowns}",
        "{includes: [tea, '10'], case: true}", "{text: 'Who is it?'}", "{name: '36'}", "{number: -4}", "{time: '0:00'}",
        "{time: '10:30'}", "{number: 5, unit: m\u00b2}", "{url: 'https://x.test/\u00fc'}", "{duration: 0.5 s}",
    ],
)  # fmt: skip
def test_sensible_keys_are_accepted(check: str) -> None:
    made(f"{{answer: {check}}}")


NO_PHONE = "{answer: {unachievable: there is no phone}}"


@each_case(
    ("checks", "message"),
    [
        ("[{answer: {exact: ''}}]", "6:14: expected a check that refuses an empty answer, found the contrary"),
        ("[{answer: {name: N/A}}]", "expected a check that refuses 'N/A', found the contrary"),
        ("[{answer: N/A}]", "if this one can't, write 'unachievable'"),
        ("[{answer: {regex: '.*'}}]", "expected a check that refuses the answer 'zzqx'"),
        ("[{answer: {schema: {}}}]", "expected a check that refuses the answer '\"zzqx\"'"),
        ("[{answer: {schema: {required: [a]}}}]", "state what the answer must be"),
        ("[{not: {answer: {name: Ann}}}]", "expected checks that refuse an empty answer"),
        (f"[{{not: {NO_PHONE}}}]", "expected checks that refuse an empty answer"),
        ("[{answer: {number: 4}}, {answer: {number: 3}}]", "found checks that none meets: '4' and '3'"),
        ("[{answer: {number: 4}}, {not: {answer: {number: 4}}}]", "expected checks that one answer can meet"),
        ("[{number: 4}, {answer: {name: Ann}}]", "expected checks that one answer can meet"),
        (f"[{NO_PHONE}, {{answer: {{number: 3}}}}]", "expected checks that one answer can meet"),
        (f"[{{any: [{NO_PHONE}, {{answer: {{number: 3}}}}]}}]", "found checks that accept 'N/A' and another answer"),
        ("[{answer: {unachievable: there is none, absent: the}}]", "expected words that name something, or a number"),
        (
            "[{answer: {unachievable: there is none, absent: Kettle, about: kettle}}]",
            "expected a thing of which something is absent, found 'kettle' as 'about' and as absent",
        ),
        ("[{answer: {url: 'http://'}}]", "found 'http://'"),
        ("[{answer: {json: .inf}}]", "expected a JSON value, found '.inf'"),
        ("[{answer: {number: 3, tolerance: 100%}}]", "expected a share below 100%, found '100%'"),
        ("[{number: {is: 3, rel: 200%}}]", "expected a share below 100%, found '200%'"),
        ("[{symbolic: 1/0}]", "where it divides by zero"),
    ],
)
def test_senseless_checks_of_answers_are_refused(checks: str, message: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        make_task(f"id: lamps\nintent: How many?\nsites: [shop]\nchecks: {checks}")
    assert message in str(caught.value)


@each_case(
    "checks",
    [
        "[{any: [{answer: {name: Ann}}, {answer: {name: Bo}}]}]",
        "[{answer: {includes: tea}}, {not: {answer: {includes: coffee}}}]",
        "[{answer: {name: Ann}}, {answer: {includes: Ann}}]",
        "[{url: {exact: 'http://shop.test/'}}, {not: {answer: {name: Ann}}}]",
        f"[{{url: {{exact: 'http://shop.test/'}}}}, {{not: {NO_PHONE}}}]",
        f"[{{any: [{{url: {{exact: 'http://shop.test/'}}}}, {NO_PHONE}]}}]",
        "[{answer: {schema: {type: array, items: {type: number}, minItems: 2}}}]",
        "[{answer: {regex: '#\\d{4}'}}]",
        "[{number: {is: 3, marker: true}}]",
        "[{answer: {json: '.inf'}}]",
    ],
)
def test_sensible_checks_of_answers_are_accepted(checks: str) -> None:
    make_task(f"id: lamps\nintent: How many?\nsites: [shop]\nchecks: {checks}")
