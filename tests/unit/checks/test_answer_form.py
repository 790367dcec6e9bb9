"""What checks say before there is an answer: its form, and what a blind guess gets."""

from __future__ import annotations

from pytest_webarena.agents.protocol import TaskView
from pytest_webarena.checks.answer_form import answer_form, chance_of
from pytest_webarena.checks.grading import REPAIRED
from pytest_webarena.testing import make_task
from tests.cases import each_case

CHOICE = "choice: {options: [iron, tin, lead, gold], is: B}"


@each_case(
    ("checks", "chance"),
    [
        (f"[{{{CHOICE}}}]", 0.25),
        (f"[{{any: [{{{CHOICE}}}]}}]", 0.25),
        (f"[{{{CHOICE}}}, {{{CHOICE}}}]", 0.0625),
        (f"[{{{CHOICE}}}, {{answer: B}}]", None),
        (f"[{{not: {{{CHOICE}}}}}]", None),
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
