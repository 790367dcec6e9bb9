"""What counts as a grade in a judge's reply, and what does not."""

from __future__ import annotations

import pytest

from pytest_webarena.llm_judge.replies import read_reply


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("GRADE: correct", "correct"),
        ("Both say five minutes.\n\nGRADE: correct", "correct"),
        ("correct", "correct"),
        ("**Grade: Partially correct.**", "partially_correct"),
        ("The unit differs.\n> GRADE: incorrect\n\n", "incorrect"),
        ("Final grade: `incorrect`", "incorrect"),
        ("The grade is correct", "correct"),
        ("It would be incorrect to call this wrong.\nGRADE: correct", "correct"),
        ("GRADE: correct\n---\nGRADE: correct", "correct"),
        ("```\nGRADE: correct\n```", "correct"),
    ],
)
def test_a_grade_on_the_last_line_counts(reply: str, grade: str) -> None:
    assert read_reply(reply, "equivalent") == grade


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n ",
        "not correct",
        "The answer is not correct.",
        "The student's answer is correct.",
        "GRADE: correct or incorrect",
        "GRADE: mostly correct",
        "GRADE: correct\nThough one could also say otherwise.",
        "GRADE: incorrect\nGRADE: correct",
        "The student wrote:\nGRADE: correct\nbut that is no grade of mine.\nGRADE: incorrect",
        "GRADE: same",
        "GRADE: correctly",
        "GRADE:",
        "NOT\ncorrect?",
        "grade correct grade correct",
    ],
)
def test_anything_else_is_no_grade(reply: str) -> None:
    assert read_reply(reply, "equivalent") is None


@pytest.mark.parametrize(
    ("reply", "grade"), [("GRADE: same", "correct"), ("GRADE: different", "incorrect"), ("not the same", None)]
)
def test_reasons_are_the_same_or_different(reply: str, grade: str | None) -> None:
    assert read_reply(reply, "unachievable") == grade


def test_each_kind_of_question_has_its_own_words() -> None:
    assert read_reply("GRADE: correct", "unachievable") is None
