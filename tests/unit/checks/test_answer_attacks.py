"""Attacks on the checks of answers: wrong answers of every class must not pass, right ones must not fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.checks.answer_attacks import AnswerAttacks, attack_answers
from pytest_webarena.commands.cli import main
from pytest_webarena.testing import make_task
from tests.cases import each_case

OTHERS = "Zebedee asked for a review. Who reviewed it?"
"""Names a person who is wrong as a further name of the answer."""


def attacked(*checks: str, intent: str = "How many lamps are there?") -> AnswerAttacks:
    return attack_answers([make_task(f"intent: {json.dumps(intent)}\nsites: [shop]\nchecks: [{', '.join(checks)}]")])


@each_case(
    ("check", "intent"),
    [
        ("{answer: {number: 6}}", "How many lamps are there?"),
        ("{answer: {number: 0}}", "How many items are in my cart?"),
        ("{answer: {number: 1}}", "How many open issues are there?"),
        ("{answer: {number: 84.97, unit: USD}}", "How much did I pay?"),
        ("{answer: {number: 14.2, unit: °C, tolerance: 0.05}}", "What is the temperature in °C?"),
        ("{answer: {number: 45, unit: '%'}}", "What share of the orders was returned?"),
        ("{answer: {number: 3450, unit: m}}", "How long is the path?"),
        ("{answer: {name: yjlou}}", "Who opened the issue?"),
        ("{answer: {name: B42a}}", "Which room is it?"),
        ("{answer: {names: [Ann Lee, Bo Ray, Cy Dow], ordered: true}}", "Who are the top three reviewers?"),
        ("{answer: {names: [Ann Lee, Bo Ray]}}", "Who reviewed it?"),
        ("{answer: {date: 2026-03-04}}", "When was it released?"),
        ("{answer: {date: 2026-03}}", "In which month was it released?"),
        ("{answer: {time: '14:30'}}", "When does the boat leave?"),
        ("{answer: {duration: 1 h 25 min}}", "How long does it take?"),
        ("{answer: {yes_no: 'yes'}}", "Is the shop open on Sunday?"),
        ("{answer: {yes_no: 'no'}}", "Is the shop open on Sunday?"),
        ("{answer: {text: Arrived late but works}}", "What is the title of the newest review?"),
        ("{answer: {url: 'http://shop.test/a/b'}}", "What is the address of the page?"),
        ("{answer: {unachievable: the shop lists no fax number, type: number}}", "What is the fax number?"),
        ("{string_match: {must_include: ['754.99']}}", "Tell me the total cost of my latest order?"),
        ("{string_match: {exact_match: Quest Band}}", "What is the best-selling product?"),
    ],
)
def test_no_wrong_answer_passes_and_no_right_one_fails(check: str, intent: str) -> None:
    found = attacked(check, intent=intent)
    assert found.flaws == ()
    assert found.wrong["not met"] + found.wrong["undecided"] >= 9
    assert found.right.get("undecided", 0) == 0


def test_attacks_find_a_wrong_name_that_the_question_gives() -> None:
    found = attacked("{answer: {names: [Ann Lee]}}", intent=OTHERS)
    assert [(flaw.answer, flaw.kind) for flaw in found.flaws] == [("Ann Lee\nZebedee", "superset")]


def test_another_check_of_the_answer_may_refuse_a_wrong_answer() -> None:
    found = attacked("{answer: {names: [Ann Lee]}}", "{answer: {excludes: Zebedee, includes: Ann Lee}}", intent=OTHERS)
    assert not [flaw for flaw in found.flaws if not flaw.right]


def test_values_of_sibling_tasks_are_wrong_answers() -> None:
    tasks = [
        replace(
            make_task(f"intent: Who opened issue {number}?\nsites: [shop]\nchecks: [{{answer: {{name: {name}}}}}]"),
            template="issues",
        )
        for number, name in ((1, "Ann Lee"), (2, "Bo Ray"))
    ]
    found = attack_answers(tasks)
    assert found.tasks == 2
    assert found.flaws == ()
    assert found.wrong["not met"] > attack_answers(tasks[:1]).wrong["not met"] * 2


def test_validate_with_answers_names_each_wrong_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tasks.yaml"
    text = f"tasks: [{{id: a, intent: {OTHERS}, sites: [wikipedia], checks: [{{answer: {{names: [Ann Lee]}}}}]}}]\n"
    file.write_text(text)
    assert main(["tasks", "validate", str(file)]) == 0
    assert main(["tasks", "validate", "--answers", str(file)]) == 1
    out = capsys.readouterr().out
    assert f"{file}:1: a: checks[0]: a wrong answer passes (superset): 'Ann Lee\\nZebedee'" in out
    file.write_text(text.replace("Zebedee asked for a review. ", ""))
    assert main(["tasks", "validate", "--answers", str(file)]) == 0
