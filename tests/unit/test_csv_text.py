"""CSV for people: spreadsheets run no cell as a formula."""

from __future__ import annotations

import csv
import io

import pytest

from pytest_webarena.csv_text import csv_text, inert, plain


@pytest.mark.parametrize("text", ["=1+1", "+1+A1", "-A1", "@SUM(A1)", "\tx", '=HYPERLINK("http://x.test")'])
def test_formulas_get_an_apostrophe(text: str) -> None:
    ((cell,),) = csv.reader(io.StringIO(csv_text([[text]]), newline=""))
    assert cell == f"'{text}"
    assert plain(cell) == text
    assert inert("\rx").startswith("'")


@pytest.mark.parametrize("value", ["-2.5", "+3", "-1e-5", "word", "", -4, 0.5, None])
def test_numbers_and_words_stay(value: object) -> None:
    ((cell,),) = csv.reader(io.StringIO(csv_text([[value]]) or '""\n'))
    assert cell == ("" if value is None else str(value))
