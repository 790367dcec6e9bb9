"""Choices among options: the letter in all usual forms, the words, and what names none or several."""

from __future__ import annotations

import pytest

from pytest_webarena.checks.computed.choice import CHOICE
from pytest_webarena.errors import TaskFileError
from pytest_webarena.testing import make_evidence, make_task, verdict
from tests.cases import each_case

OPTIONS = "[iron, tin, lead, red (not blue)]"
NAMED = [
    ("B", "B"),
    ("b", "B"),
    ("(b)", "B"),
    ("B.", "B"),
    ("Option B", "B"),
    ("The answer is B", "B"),
    ("The answer is (B).", "B"),
    ("B) tin", "B"),
    ("**B**", "B"),
    ("tin", "B"),
    ("Tin.", "B"),
    ("The correct answer is **B**.", "B"),
    ("The answer is B because lead is heavy.", "B"),
    ("A red thing, so the answer is C", "C"),
    ("D) red (not blue)", "D"),
    ("It is not clear. The answer is B.", "B"),
    ("answer: b", "B"),
    ("\\text{B}", "B"),
    ("(B) tin", "B"),
    ("tin (B)", "B"),
    ("The answer is tin", "B"),
    ("I would choose option C.", "C"),
    ("C.", "C"),
    ("Option (c)", "C"),
    ("option c is correct", "C"),
    ("B is the correct answer", "B"),
    ("The best option is C: lead.", "C"),
    ("A", "A"),
    ("A) iron", "A"),
    ("Answer: A.", "A"),
    ("I think it's B", "B"),
    ("'B'", "B"),
    ("B)", "B"),
    ("[B]", "B"),
    ("Choice B", "B"),
    ("B - tin", "B"),
    ("My final answer is B", "B"),
    ("the answer is a", "A"),
    ("(B", "B"),
    ("Therefore, the answer is (C) lead.", "C"),
    ("B\n", "B"),
    ("Let's see. The answer is D.", "D"),
    ("A because it rusts", "A"),
    ("B (tin)", "B"),
    ("$\\mathrm{B}$", "B"),
    ("B tin", "B"),
    ("A is wrong. C is wrong. The answer is B.", "B"),
    ("I am confident that the answer is B.", "B"),
    ("It rusts.\n\nA", "A"),
    ("tin, i.e. B", "B"),
    ("The answer is B. Tin is soft.", "B"),
]
NOTHING = [
    "not B",
    "B is wrong",
    "A or B",
    "B and C",
    "E",
    "I don't know",
    "B: lead",
    "It isn't B",
    "B isn't right",
    "None of the above",
    "All of the above",
    "B, since A is wrong",
    "iron and tin",
    "neither B nor C",
    "B is not correct",
    "anything but B",
    "BB",
    "AB",
    "A, B",
    "A/B",
    "Both A and B",
    "B, obviously not",
    "B - of course not!",
    "everything else than B",
    "everything but B",
    "the opposite of B",
    "None of them is B",
    # asked, doubted, offered beside another
    "B?",
    "Is it B? No.",
    "B maybe",
    "B or lead",
    "B and lead",
    "B or E",
    "B or tin",
    "Z, B",
    "between B and lead",
    "the one after B",
    "different from B",
    "B is out",
    "B, or none",
    # turned by a sign, taken back
    "\u00acB",
    "!B",
    "~B",
    "~~B~~",
    "B \u2717",
    "B++",
    # contradicted
    "It is lead, so B",
    "The answer is lead. B",
    "The answer is B. Lead is soft.",
    "The answer is B. Not really.",
    "B, although lead is right",
    "I refuse. B",
    "lead (B) is right",
    "nicht B",
    "They all say B",
    "Is B correct",
    "It should have been B",
    "tin would be right",
    "B-",
]


def judged(answer: str | None, right: str = "B", more: str = "") -> tuple[float | None, str]:
    task = make_task(f"intent: x\nsites: []\nchecks: [{{choice: {{options: {OPTIONS}, is: {right}{more}}}}}]")
    (result,) = verdict(task, make_evidence(answer=answer)).results
    return result.score, result.why


@each_case(("answer", "letter"), NAMED)
def test_an_option_is_named(answer: str, letter: str) -> None:
    assert judged(answer, letter) == (1, "")
    assert judged(answer, "A" if letter != "A" else "B") == (0, f"it names {letter}")


@each_case("answer", ["", *NOTHING])
def test_what_names_no_single_option_is_not_met(answer: str) -> None:
    for letter in "ABCD":
        assert judged(answer, letter)[0] != 1


@each_case(("answer", "score"), [("A or B", None), ("not B", None), ("E", 0), ("gold", 0), ("N/A", 0), ("", 0)])
def test_what_is_not_understood_is_undecided_if_it_names_an_option(answer: str, score: float | None) -> None:
    assert judged(answer)[0] == score


def test_reasons_tell_what_is_wrong() -> None:
    assert judged("A or B")[1] == "it names several options: A, B"
    assert judged("not B")[1] == "it speaks against B"
    assert judged("B) lead")[1] == "it names several options: B, C"
    assert (
        judged("N/A", "A")[1]
        == judged("N/A: A", "A")[1]
        == "the agent said that the question can't be answered, but it can"
    )
    assert judged("E")[1] == "it names none of the options A to D"
    assert judged("Answer: A\nAnswer: B")[1] == "it gives several final answers: A, B"
    assert (
        judged("B or lead")[1]
        == judged("It is lead, so B")[1].replace("C, B", "B, C")
        == "it names several options: B, C"
    )
    assert judged("B or E")[1] == "it names several options: B, E"
    assert judged("B maybe")[1] == "it says more than an option, and this is not understood: maybe"
    assert judged(None)[1] == "the agent gave no answer"
    assert judged("B", more=", marker: true")[1].startswith("no final answer")
    assert judged("A? No.\nANSWER: B", more=", marker: true")[0] == 1


def test_any_of_several_right_options() -> None:
    assert [judged(letter, "[A, C]")[0] for letter in "ABC"] == [1, 0, 1]


MOTION = "It grows by a factor of two, It halves, It stays the same, It grows by a factor of four"
FORMULAS = "$x^2+1$, $x^2-1$, $2x$, '$\\frac{1}{x}$'"


@each_case(
    ("options", "answer", "letter"),
    [
        (MOTION, "The energy grows by a factor of four.", "D"),
        (MOTION, "D: grows by a factor of four", "D"),
        (MOTION, "The energy grows by a factor of four, so D", "D"),
        (MOTION, "The energy stays the same, so D", ""),
        (MOTION, "It grows by a factor of four or two", ""),
        (MOTION, "It does not grow by a factor of four", ""),
        (FORMULAS, "$2x$", "C"),
        (FORMULAS, "C) 2x", "C"),
        (FORMULAS, "The derivative is $2x$. The answer is (C).", "C"),
        (FORMULAS, "C) x^2+1", ""),
        (FORMULAS, "x^2-1, so C", ""),
        (FORMULAS, "2x or 1/x", ""),
    ],
)
def test_options_in_other_words_and_formulas(options: str, answer: str, letter: str) -> None:
    for right in "ABCD":
        check = f"{{choice: {{options: [{options}], is: {right}}}}}"
        task = make_task(f"intent: What about the energy, or the derivative?\nsites: []\nchecks: [{check}]")
        (result,) = verdict(task, make_evidence(answer=answer)).results
        assert (result.score == 1) is (right == letter), result.why


def test_chance_and_what_agents_are_told() -> None:
    task = make_task(f"intent: x\nsites: []\nchecks: [{{choice: {{options: {OPTIONS}, is: [A, C]}}}}]")
    assert CHOICE.chance is not None
    assert CHOICE.asks is not None
    assert CHOICE.chance(task.checks[0].spec) == 0.5
    told = CHOICE.asks(task.checks[0].spec)
    assert "B) tin\nC) lead" in told
    assert "ANSWER:" not in told


@each_case(
    ("check", "told"),
    [
        ("{options: [a], is: A}", "2 to 26 options"),
        ("{options: [a, b], is: C}", "the letter of an option, A to B"),
        ("{options: [a, b], is: [A, B]}", "an option that is wrong"),
        ("{options: [a, A], is: A}", "options that differ"),
    ],
)
def test_mistakes_in_task_files_are_told(check: str, told: str) -> None:
    with pytest.raises(TaskFileError, match=told):
        make_task(f"intent: x\nsites: []\nchecks: [{{choice: {check}}}]")


@each_case(
    ("intent", "answer", "score"),
    [
        ("Which is false?", "A", 1),
        ("Which is false?", "A is true", None),
        ("Which is false?", "A is the correct answer", 1),
        ("Which statement is not correct?", "A is correct.", None),
        ("Which statement is not correct?", "The correct answer is A.", 1),
        ("Which statement is correct?", "A is correct.", 1),
        ("Which metal is heaviest?", "A is correct.", 1),
    ],
)
def test_an_option_called_true_is_no_answer_to_a_question_for_a_false_one(
    intent: str, answer: str, score: float | None
) -> None:
    task = make_task(f"intent: {intent}\nsites: []\nchecks: [{{choice: {{options: {OPTIONS}, is: A}}}}]")
    (result,) = verdict(task, make_evidence(answer=answer)).results
    assert result.score == score
