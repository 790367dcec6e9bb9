"""What stands left of the number of an equation: a name, or a working that comes to it."""

from __future__ import annotations

import pytest

from pytest_webarena.checks.computed.arithmetic import NoNumber
from pytest_webarena.checks.computed.values import read_number
from tests.cases import each_case
from tests.unit.checks.computed.test_said_answers import passes


@each_case(
    "answer",
    [
        "sqrt(7) = 3.61",
        "sqrt(100) = 3.61",
        "$\\sqrt{5} \\approx 3.61$",
        "ln(2) = 3.61",
        "log(3.61) = 3.61",
        "pi = 3.61",
    ],
)
def test_a_wrong_working_is_not_taken_for_a_name(answer: str) -> None:
    passed, why = passes("number", "How long is the diagonal?", {"is": "sqrt(13)", "rel": "1%"}, answer)
    assert not passed
    assert "several numbers" in why


@each_case(
    ("reference", "answer"),
    [
        ("sqrt(2)", "$\\sqrt{2} \\approx 1.414$"),
        ("sqrt(2)", "sqrt(2) ≈ 1.41421"),
        ("sqrt(3)", "sqrt(3) ≈ 1.732"),
        ("sqrt(3)", "$d = \\sqrt{3} \\approx 1.73$"),
        ("sqrt(pi)", "\\(\\sqrt{\\pi} \\approx 1.772\\)"),
        ("ln(2)", "ln(2) ≈ 0.693"),
        ("120", "5! = 120"),
        ("120", "5!=120"),
        ("8", "π(20) = 8"),
        ("2", "$\\sum_{n=0}^{\\infty} 2^{-n} = 2$"),
        ("4.5", "V2 = 4.5"),
        ("5", "R_1 = 5"),
        ("5", "f(2) = 5"),
        ("4", "Pr(X=1) = 4"),
        ("2", "e = 2"),
    ],
)
def test_a_right_working_or_a_name_may_stand_left(reference: str, answer: str) -> None:
    assert passes("number", "How much is it?", {"is": reference}, answer)[0]


@each_case("answer", ["√2 ≈ 1.5", "√2 ≈ 1.42", "√2 = 1.3", "d = √2 ≈ 1.5"])
def test_a_decimal_has_to_be_rounded_rightly_or_cut_off(answer: str) -> None:
    assert not passes("number", "How much is it?", {"is": "sqrt(2)"}, answer)[0]


@each_case(
    "sign", ["!=", "! =", "=!", "=/=", "/=", "=\\=", "!==", "\uff01=", "¬=", " / ="], ids=lambda sign: sign.strip()
)
@each_case("answer", ["n {} 8", "$n {} 8$", "The number n {} 8"])
def test_a_sign_for_not_equal_is_not_read_as_equal(sign: str, answer: str) -> None:
    with pytest.raises(NoNumber, match="not equal"):
        read_number(answer.format(sign), question="How many primes are below 20?")


@each_case(
    "left",
    [
        "2A",
        "$2A$",
        "A^2",
        "$A^2$",
        "A²",
        "$\\frac{1}{A}$",
        "$\\frac{A}{2}$",
        "A!",
        "n! ",
        "1/A",
        "2I",
        "P(X=2) - 1",
        "3 x",
    ],
)
def test_what_is_no_name_is_not_what_was_asked_for(left: str) -> None:
    intent = "What is the exact area of an equilateral triangle with side 2?"
    for answer in (f"{left} = √3", f"It follows that {left} = √3"):
        assert not passes("number", intent, {"is": "sqrt(3)"}, answer)[0], answer
