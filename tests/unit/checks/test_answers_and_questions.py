"""Answers that repeat words of the question: options that it lists, negations, units of time that it asks for."""

from __future__ import annotations

from decimal import Decimal

from pytest_webarena.checks.answer_types.reading import Outcome, read
from pytest_webarena.checks.answer_types.values import Absence, Name, NumberValue
from tests.cases import each_case

ROLE = "Which role does Bo Ray have: guest, reporter, developer, maintainer or owner? Answer with one word."
TOWN = "Which of these towns is the nearest: Lunnet, Aldersey, Corrin Bridge, Dunmere? Answer with its name only."


@each_case(
    ("question", "wanted", "answer", "outcome"),
    [
        (ROLE, "Reporter", "reporter", "met"),
        (ROLE, "Reporter", "guest, reporter", "undecided"),
        (ROLE, "Reporter", "reporter, developer", "undecided"),
        (ROLE, "Reporter", "guest", "not met"),
        (TOWN, "Aldersey", "Aldersey is the nearest", "met"),
        (TOWN, "Aldersey", "Lunnet, Aldersey", "undecided"),
        (TOWN, "Corrin Bridge", "Corrin Bridge", "met"),
        (TOWN, "Corrin Bridge", "Aldersey, Corrin Bridge", "undecided"),
        (TOWN, "Aldersey", "Dunmere", "not met"),
    ],
)
def test_another_option_of_the_question_is_unaccounted(
    question: str, wanted: str, answer: str, outcome: Outcome
) -> None:
    assert read(answer, [Name(forms=(wanted,))], question).outcome == outcome


@each_case(
    ("question", "answer", "outcome"),
    [
        ("What does not scale like flour?", "What does not scale like flour?", "undecided"),
        ("What does not scale like flour?", "N/A", "met"),
        ("What does not scale like flour?", "No flour", "undecided"),
        ("What does not scale like flour?", "", "not met"),
        ("Which rose is blue?", "Which rose is blue?", "not met"),
        ("Which rose is blue?", "No rose is blue.", "undecided"),
    ],
)
def test_repeated_question_does_not_say_that_it_cannot_be_done(question: str, answer: str, outcome: Outcome) -> None:
    assert read(answer, [Absence(reason="there is none")], question).outcome == outcome


@each_case(
    ("answer", "outcome"),
    [
        ("65", "met"),
        ("65 minutes", "met"),
        ("1 h 5 min", "met"),
        ("1 hour and 5 minutes", "met"),
        ("3900 s", "met"),
        ("1 hour", "not met"),
        ("5 minutes", "not met"),
        ("65 hours", "not met"),
    ],
)
def test_number_of_minutes_may_be_given_as_a_length_of_time(answer: str, outcome: Outcome) -> None:
    wanted = NumberValue(value=Decimal(65), unit="min")
    assert read(answer, [wanted], "How many minutes does the walk take?").outcome == outcome
