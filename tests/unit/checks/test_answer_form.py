"""What checks say before there is an answer: its form, and what a blind guess gets."""

from __future__ import annotations

from pytest_webarena.agents.protocol import TaskView
from pytest_webarena.checks.answer_form import answer_form, answer_schema, chance_of
from pytest_webarena.checks.grading import REPAIRED
from pytest_webarena.testing import make_task
from tests.cases import each_case

CHOICE = "choice: {options: [iron, tin, lead, gold], is: B}"
OTHER_CHOICE = "choice: {options: [iron, tin, lead, gold], is: C}"


@each_case(
    ("checks", "chance"),
    [
        (f"[{{{CHOICE}}}]", 0.25),
        (f"[{{any: [{{{CHOICE}}}]}}]", 0.25),
        (f"[{{{CHOICE}}}, {{{CHOICE}}}]", 0.0625),
        (f"[{{{CHOICE}}}, {{answer: B}}]", None),
        (f"[{{{CHOICE}}}, {{not: {{{OTHER_CHOICE}}}}}]", None),
        (f"[{{any: [{{{CHOICE}}}, {{answer: B}}]}}]", None),
        ("[{number: 3}]", None),
    ],
)
def test_what_a_blind_guess_gets(checks: str, chance: float | None) -> None:
    assert chance_of(make_task(f"intent: x\nsites: []\nchecks: {checks}")) == chance


def test_agents_are_told_what_the_checks_wait_for() -> None:
    told = answer_form(
        make_task(f"intent: x\nsites: []\nchecks: [{{all: [{{{CHOICE}}}]}}, {{not: {{number: 3}}}}]"), REPAIRED
    )
    assert "A) iron\nB) tin" in told
    assert "number" not in told
    assert answer_form(make_task("intent: x\nsites: []\nchecks: [{answer: x}]"), REPAIRED) == ""
    assert TaskView(intent="Which?", answer_form=told).objective == f"Which?\n\n{told}"
    assert "task_type" in TaskView(intent="Which?", answer_form=told, answer_format="verified").answer_instructions


TYPED = [
    (
        ["{number: 3}", "{number: -2.5, unit: EUR, tolerance: 1}", "{unachievable: no such thing, type: number}"],
        "digits",
    ),
    (["{name: Ann}", "{name: B4a, aliases: [b]}", "{unachievable: there is none, type: name}"], "name"),
    (["{names: [Ann]}", "{names: [x, y], ordered: true}", "{unachievable: there is none, type: names}"], "each line"),
    (["{date: 2026-03-14}", "{date: 2026}", "{unachievable: there is none, type: date}"], "YYYY-MM-DD"),
    (["{time: '14:30'}", "{unachievable: there is none, type: time}"], "HH:MM"),
    (["{duration: 5 min}", "{duration: 3 days}", "{unachievable: there is none, type: duration}"], "length of time"),
    (["{yes_no: 'yes'}", "{yes_no: 'no'}", "{unachievable: there is none, type: yes_no}"], "'no'"),
    (["{text: Late}", "{text: Very late, case: true}", "{unachievable: there is none, type: text}"], "text"),
    (["{url: 'http://a.test/b'}", "{unachievable: there is none, type: url}"], "address"),
]


@each_case(("specs", "word"), TYPED)
def test_instruction_depends_only_on_the_type(specs: list[str], word: str) -> None:
    tasks = [make_task(f"intent: x\nsites: []\nchecks: [{{answer: {spec}}}]") for spec in specs]

    [instruction] = {answer_form(task, REPAIRED) for task in tasks}
    schemas = [answer_schema(task, REPAIRED) for task in tasks]

    assert word in instruction
    assert instruction.endswith("If the task can't be done, answer N/A and why.")
    assert schemas[0] is not None
    assert schemas[0]["description"] == instruction
    assert schemas == [schemas[0]] * len(schemas)


@each_case("spec", ["x", "{unachievable: there is none}", "{regex: a+}", "{json: [1]}", "{includes: a}"])
def test_answer_without_a_type_has_no_instruction(spec: str) -> None:
    task = make_task(f"intent: x\nsites: []\nchecks: [{{answer: {spec}}}]")

    assert answer_form(task, REPAIRED) == ""
    assert answer_schema(task, REPAIRED) is None


def test_answers_of_several_types_have_no_schema() -> None:
    task = make_task("intent: x\nsites: []\nchecks: [{any: [{answer: {number: 3}}, {answer: {name: three}}]}]")

    assert answer_form(task, REPAIRED).count("alone") == 2
    assert answer_schema(task, REPAIRED) is None
