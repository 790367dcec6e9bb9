"""Numbers in texts: found exactly, and only where they are numbers."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.checks.numbers import final_answer, numbers_in
from tests.cases import each_case


@each_case(
    ("text", "values"),
    [
        ("84.97", ["84.97"]),
        ("-5", ["-5"]),
        ("−5", ["-5"]),
        ("+5", ["5"]),
        ("$84.97", ["84.97"]),
        ("-$5", ["-5"]),
        ("$-5", ["-5"]),
        ("US$84.97", ["84.97"]),
        ("USD84.97", ["84.97"]),
        ("84,97 €", ["84.97"]),
        ("€ 1.234,56", ["1234.56"]),
        ("1,234.50", ["1234.5"]),
        ("1,234", ["1234"]),
        ("1.234", ["1.234"]),
        ("1.234.567", ["1234567"]),
        ("1'234.50", ["1234.5"]),
        ("1\u202f234\u00a0567", ["1234567"]),
        ("12,34,567", ["1234567"]),
        (".5 and -.5", ["1/2", "-1/2"]),
        ("3/4", ["3/4"]),
        ("1 3/4 cups", ["7/4"]),
        ("1½ or ½", ["3/2", "1/2"]),
        ("4/0", ["4", "0"]),
        ("1.2e-3", ["0.0012"]),
        ("1E10", ["10000000000"]),
        ("1.2×10^-3", ["0.0012"]),
        ("1.2 x 10^3", ["1200"]),
        ("10⁻³", ["0.001"]),
        ("5k", ["5000"]),
        ("1.2 million", ["1200000"]),
        ("$1.5bn", ["1500000000"]),
        ("5M", ["5000000"]),
        ("5m", ["5"]),
        ("10th", ["10"]),
        ("10kg", ["10"]),
        ("#42", ["42"]),
        ("(5)", ["5"]),
        ("no.5", ["5"]),
        ("5-10", ["5", "10"]),
        ("- 5", ["5"]),
        ("5 - 3", ["5", "3"]),
        ("x=-3", ["-3"]),
        ("SKU-123", []),
        ("B07X8 and v2.1", []),
        ("10x20", []),
        ("2023-01-05 and 1/5/2023 and 5.1.2023", []),
        ("2023-01-05T12:30:00Z 7", ["7"]),
        ("12:30", []),
        ("1.2.3.4", []),
        ("three", ["3"]),
        ("Twenty-one, no thirty", ["21", "30"]),
        ("three of 4", ["4"]),
        ("three of 2023-01-05", []),
        ("٣٤ and \uff11\uff12", ["34", "12"]),
        ("9" * 400, []),
        ("", []),
        ("none", []),
    ],
)
def test_numbers_in_a_text(text: str, values: list[str]) -> None:
    assert [token.value for token in numbers_in(text)] == [Fraction(value) for value in values]


def test_a_percentage_has_two_readings() -> None:
    [token] = numbers_in("about 45 per cent")
    assert token.values == (Fraction(45), Fraction(45, 100))
    assert token.text == "45 per cent"


@each_case(
    ("text", "answer"),
    [
        ("84", "84"),
        ("3 books.\nAnswer: 84.97", "84.97"),
        ("Answer: 1\nno\n**Final answer:** 2 kg\n", "2 kg"),
        ("so \\boxed{7}.", "7"),
        ("my answer is: 5", "my answer is: 5"),
    ],
)
def test_final_answer(text: str, answer: str) -> None:
    assert final_answer(text) == answer


@given(st.integers(-(10**12), 10**12), st.integers(0, 6), st.sampled_from(["", "$", "€"]), st.booleans())
def test_written_numbers_are_read_back(units: int, places: int, currency: str, grouped: bool) -> None:
    value = Fraction(units, 10**places)
    digits = f"{abs(units) // 10**places:{',' if grouped else ''}}"
    decimals = f".{abs(units) % 10**places:0{places}}" if places else ""
    text = f"It is {'-' if units < 0 else ''}{currency}{digits}{decimals} altogether"
    assert [token.value for token in numbers_in(text)] == [value]


@given(st.text(alphabet="0123456789.,-/%$ eE×^x'kM:()\n−½⁻³aZ", max_size=40))
def test_any_text_can_be_read(text: str) -> None:
    for token in numbers_in(text):
        assert token.values


@pytest.mark.matrix(6)
@pytest.mark.parametrize(
    "part",
    ["a-", "1,", "1.", "a1", "1-1", "'1", "a.1", "Answer:", "* ", "\n", "# \n", "1a ", "1 000", "1/", "-a", "\\boxed{"],
)
def test_long_texts_take_no_long_time(part: str) -> None:
    began = time.process_time()
    numbers_in(final_answer(part * (100_000 // len(part))))
    assert time.process_time() - began < 3
