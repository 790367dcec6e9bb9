"""Words of answers that the question or the value accounts for."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_webarena.checks.answer_types.accounting import alike, counts, stem, unaccounted
from pytest_webarena.checks.answer_types.tokens import Token, tokens
from tests.cases import each_case

QUESTION = "How many of Ann's reviews from 2023-05-04 got 3 stars, and did Bo Ray's first order not ship?"


def left(answer: str, stated: Sequence[int] = (), question: str = QUESTION) -> list[str]:
    return unaccounted(tokens(answer), stated, question)


@each_case(
    ("answer", "wanted"),
    [
        ("", []),
        ("the reviews", []),
        ("it is reviewed", []),  # another form of a word
        ("Ann has reviews", []),
        ("Ann's", []),
        ("Bo Ray", []),
        ("on 4 May 2023", []),  # a date of the question in another form
        ("5 May 2023", ["5", "May", "2023"]),
        ("3 stars", []),
        ("4 stars", ["4"]),
        ("first order", []),
        ("first review", ["first"]),
        ("not ship", []),
        ("not a review", ["not"]),
        ("it ships", ["ships"]),  # without the negation of the question
        ("Cy Dow", ["Cy", "Dow"]),
        ("Stars of Cy", ["Cy"]),
        ("but late", ["but", "late"]),
        ("Ann-Marie", ["Ann-Marie"]),
    ],
)
def test_question_accounts_for_its_words(answer: str, wanted: list[str]) -> None:
    assert left(answer) == wanted


def test_value_and_other_texts_are_accounted_for() -> None:
    words = tokens("Acme sells kettles")
    assert unaccounted(words, [0], QUESTION) == ["sells", "kettles"]
    assert unaccounted(words, [0], QUESTION, also=["sells Kettles"]) == []


def test_number_of_values_is_accounted_for_before_them() -> None:
    question = "Who came?"
    assert unaccounted(tokens("2: Ann, Bo"), [1, 2], question, counted=2) == []
    assert unaccounted(tokens("3: Ann, Bo"), [1, 2], question, counted=2) == ["3"]
    assert unaccounted(tokens("Ann 2, Bo"), [0, 2], question, counted=2) == ["2"]


def test_choices_of_the_question_are_claims() -> None:
    assert left("red", question="Is it red or blue?") == ["red"]


def test_numbers_of_names_are_not_numbers_of_the_question() -> None:
    assert left("1", question="What did I buy at One Stop Market on 4/19/2023?") == ["1"]


def test_counted_things_are_those_that_the_question_asks_for() -> None:
    question = "How many open issues are on the first page?"
    assert [counts(question, Token(word)) for word in ("issues", "issue", "page", "people")] == [
        True,
        True,
        False,
        False,
    ]


def test_stems_join_forms_of_one_word() -> None:
    assert stem("bought") == stem("buys")
    assert stem("May") != stem("mayor")
    assert stem("reviewing") == stem("reviews")
    assert not alike(stem("order"), stem("ordinary"))
