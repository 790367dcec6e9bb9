"""Answers that say of something else what was asked for: of another state, a product with it, or of no answer."""

from __future__ import annotations

from pytest_webarena.checks.computed.comparing import Terms, compare
from pytest_webarena.checks.computed.extraction import final_answers
from pytest_webarena.testing import make_evidence, make_task, verdict
from tests.cases import each_case

GROUND = "Find the ground state energy of an electron in a box."
ACCELERATION = "A block of 2.0 kg slides down an incline. What is its acceleration in m/s^2?"
GRAVITY = "What is the force of gravity on a mass of 5 kg?"


def score(check: str, answer: str, intent: str) -> float | None:
    task = make_task(f"intent: '{intent}'\nsites: []\nchecks: [{{number: {check}}}]")
    (result,) = verdict(task, make_evidence(answer=answer)).results
    return result.score


@each_case(
    ("check", "answer", "intent", "right"),
    [
        ("0.376", "E_2 = 0.376", GROUND, 0),
        ("0.376", "E₂ = 0.376 eV", GROUND, 0),
        ("0.376", "$E_{2} = 0.376$ eV", GROUND, 0),
        ("0.376", "ΔE = 0.376", GROUND, 0),
        ("0.376", "$\\Delta E = 0.376$", GROUND, 0),
        ("0.376", "E_1 = 0.376", GROUND, 1),
        ("0.376", "E_0 = 0.376", GROUND, 1),
        ("0.376", "E = 0.376", GROUND, 1),
        ("1.5", "E_2 = 1.5", "Find the energy of the first excited state.", 1),
        ("1.5", "E_3 = 1.5", "Find the energy of the first excited state.", 0),
        ("1.5", "E_2 = 1.5", "Find the ground state energy E_2 of the second well.", 1),
        ("1.5", "ΔE = 1.5", "What energy takes it from the ground state to the first excited one?", 1),
        ("1.5", "ΔE = 1.5", "By how much does the total energy change?", 1),
        ("12", "v_2 = 12", "What is the final speed?", 1),
        ("4.9", "ma = 4.9", ACCELERATION, 0),
        ("4.9", "$ma = 4.9$", ACCELERATION, 0),
        ("4.9", "a = 4.9", ACCELERATION, 1),
        ("9.8", "ma = 9.8", "What is the net force on it?", 1),
        ("9.8", "F = ma = 9.8", "What is the net force on it?", 1),
        ("9.8", "mg = 9.8", "What does it weigh? Give its weight.", 1),
        ("9.8", "mv = 9.8", "What is its speed?", 0),
        ("{is: 49, unit: N}", "49 N downward", GRAVITY, 1),
        ("{is: 49, unit: N}", "49 N (downwards)", GRAVITY, 1),
        ("{is: 49, unit: N}", "49 N, directed toward the center of the Earth", GRAVITY + " Mind the Earth.", 1),
        ("{is: 49, unit: N}", "49 N upward", GRAVITY, 0),
        ("{is: 49, unit: N}", "49 N away from the Earth", GRAVITY, 0),
        ("{is: 49, unit: N}", "49 N downward", "What is the net force on the cart?", 0),
    ],
)
def test_what_a_number_is_said_of(check: str, answer: str, intent: str, right: int) -> None:
    assert (score(check, answer, intent) == 1) is bool(right)


@each_case(
    ("answer", "intent", "same"),
    [
        ("E_2 = h^2/(8 m L^2)", GROUND, "unequal"),
        ("E_1 = h^2/(8 m L^2)", GROUND, "equal"),
        ("\\Delta E = h^2/(8 m L^2)", GROUND, "unequal"),
        ("\\Delta E = h^2/(8 m L^2)", "Find the gap between the levels.", "equal"),
    ],
)
def test_what_a_formula_is_said_of(answer: str, intent: str, same: str) -> None:
    assert compare("\\frac{h^2}{8 m L^2}", answer, Terms(intent=intent)).verdict == same


@each_case(
    "above",
    ["Not this:", "**Not this:**", "The wrong answer:", "The line below is not mine.", "What follows is a joke."],
)
def test_a_line_that_disowns_the_one_below_leaves_no_answer(above: str) -> None:
    found = final_answers(f"I thought about it.\n\n{above}\nANSWER: B", marker=True)
    assert not found.texts
    assert "the line above it" in found.missing


@each_case(
    "above",
    ["So it is not C.", "This is not correct.", "A is wrong.", "It is not this one, so:", "Not that. Hence:"],
)
def test_other_lines_above_an_answer_do_not_matter(above: str) -> None:
    assert final_answers(f"{above}\nANSWER: B", marker=True).texts == ("B",)


@each_case(
    ("answer", "same"),
    [
        ("y = (-1, 2)", "unequal"),
        ("y \\in (-1, 2)", "unequal"),
        ("-1 < y < 2", "undecided"),
        ("-1 < x < 2", "equal"),
        ("x \\in (-1, 2)", "equal"),
        ("x = (-1, 2)", "equal"),
        ("S = (-1, 2)", "equal"),
        ("-1, 2", "unequal"),
    ],
)
def test_an_inequality_is_solved_for_the_name_that_it_has(answer: str, same: str) -> None:
    assert compare("(-1, 2)", answer, Terms(intent="Solve the inequality |2x - 1| < 3.")).verdict == same
