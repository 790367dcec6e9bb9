"""The calculator's arithmetic, page and history, and the converter."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.test import Client

from pytest_webarena.embedded.homepage.arithmetic import CalculationError, calculate
from tests.cases import each_case


@each_case(
    ("expression", "result"),
    [
        ("1+2*3", "7"),
        ("(1+2)*3", "9"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("2^-2", "0.25"),
        ("2^0.5", "1.4142135624"),
        ("10-4-3", "3"),
        ("100/8/2", "6.25"),
        ("0.1+0.2", "0.3"),
        ("1/3", "0.3333333333"),
        ("2/3", "0.6666666667"),
        (".5*4", "2"),
        ("15%", "0.15"),
        ("80*(1+12%)", "89.6"),
        ("50%%", "0.005"),
        ("7 × 6 ÷ 4", "10.5"),
        ("9−12", "-3"),
        ("--3", "3"),
        ("4*-2", "-8"),
        ("sqrt(2)", "1.4142135624"),
        ("SQRT(16)", "4"),
        ("round(2.345, 2)", "2.35"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("max(2,9,4)-min(3,1)", "8"),
        ("average(2,3,7)", "4"),
        ("abs(3-10)", "7"),
        ("pi*2", "6.2831853072"),
        ("0*-1", "0"),
        ("1000000*1000000", "1000000000000"),
        ("100", "100"),
    ],
)
def test_calculate_results(expression: str, result: str) -> None:
    assert calculate(expression) == result


@each_case(
    ("expression", "says"),
    [
        ("", "Enter something"),
        ("1/0", "divided by zero"),
        ("1/(2-2)", "divided by zero"),
        ("2+", "ends too early"),
        ("(2+3", "closing bracket"),
        ("2+3)", "Did not expect “)”"),
        ("2 3", "Did not expect “3”"),
        ("*2", "Did not expect “*”"),
        ("1,250*2", "without commas"),
        ("(1,250)*2", "without commas"),
        ("sine(1)", "“sine” is unknown"),
        ("__import__", "“_” can't be used"),
        ("sqrt 4", "in brackets"),
        ("sqrt(-1)", "no square root"),
        ("sqrt(1,2)", "2 values"),
        ("0^0", "positive power"),
        ("0^-1", "positive power"),
        ("(-8)^(1/3)", "whole power"),
        ("9^9^9", "too large"),
        ("10^18", "too large"),
        ("round(1,99)", "0 to 10 places"),
        ("round(1,10^300)", "0 to 10 places"),
        ("2 & 3", "“&” can't be used"),
        ("(" * 90 + "1" + ")" * 90, "nested too deeply"),
        ("1" * 201, "200 characters"),
    ],
)
def test_calculation_errors_are_explained(expression: str, says: str) -> None:
    with pytest.raises(CalculationError, match=re.escape(says)):
        calculate(expression)


@settings(deadline=None)
@given(st.text(alphabet="0123456789.+-*/^%(), sqrtpimaxround", max_size=60))
def test_any_expression_gives_a_result_or_error_quickly(text: str) -> None:
    started = time.process_time()
    try:
        result = calculate(text)
    except CalculationError:
        result = "0"
    assert re.fullmatch(r"-?\d+(\.\d{1,10})?", result)
    assert time.process_time() - started < 1


def _history(client: Client) -> list[str]:
    html = client.get("/calculator").get_data(as_text=True)
    return [f"{a} = {b}" for a, b in re.findall(r"<code>([^<]+)</code> = <strong>([^<]+)</strong>", html)]


def test_calculation_is_shown_and_remembered(mara: Client) -> None:
    response = mara.post("/calculator", data={"expression": " 12*(3+4) "})

    assert response.status_code == 303
    html = mara.get(response.location).get_data(as_text=True)
    assert '<output for="expression">84</output>' in html
    assert 'value="12*(3+4)"' in html
    assert _history(mara) == ["12*(3+4) = 84", "45-38.50 = 6.5", "7*6*85 = 3570"]


def test_looking_at_a_result_does_not_enter_the_history(mara: Client) -> None:
    assert '<output for="expression">10</output>' in mara.get("/calculator?expression=4%2B6").get_data(as_text=True)
    assert len(_history(mara)) == 2


def test_calculation_error_keeps_the_typed_expression(mara: Client) -> None:
    response = mara.post("/calculator", data={"expression": "5/0"})

    html = response.get_data(as_text=True)
    assert response.status_code == 422
    assert "Nothing can be divided by zero." in html
    assert 'value="5/0"' in html
    assert len(_history(mara)) == 2
    assert "Enter something" in mara.post("/calculator", data={}).get_data(as_text=True)


def test_histories_are_per_user_and_can_be_cleared(
    mara: Client, visitor: Client, rows: Callable[..., list[tuple[Any, ...]]]
) -> None:
    visitor.post("/calculator", data={"expression": "1+1"})
    assert _history(visitor)[0] == "1+1 = 2"
    assert "1+1 = 2" not in _history(mara)

    assert mara.post("/calculator/clear").status_code == 303

    assert _history(mara) == []
    assert len(_history(visitor)) == 2
    assert rows("SELECT count(*) FROM calculations WHERE owner = 'tobin.ashgrove'") == [(2,)]


def test_history_shows_the_latest_25(mara: Client) -> None:
    for index in range(30):
        mara.post("/calculator", data={"expression": f"{index}+0"})

    shown = _history(mara)
    assert len(shown) == 25
    assert shown[0] == "29+0 = 29"


@pytest.mark.parametrize(
    ("query", "shows"),
    [
        ("value=2.5&from=league&to=km", "10.5</output> kilometres"),
        ("value=1&from=mi&to=m", "1609.344</output> metres"),
        ("value=1&from=ha&to=strip", "3.225806</output> orchard strips"),
        ("value=100&from=c&to=f", "212</output> degrees Fahrenheit"),
        ("value=-40&from=f&to=c", "-40</output> degrees Celsius"),
        ("value=0&from=kg&to=lb", "0</output> pounds"),
        ("value=3&from=km&to=kg", "Kilometres can’t be turned into kilograms."),  # noqa: RUF001
        ("value=three&from=km&to=m", "“three” is no number"),
        ("value=nan&from=km&to=m", "too large"),
        ("value=1e99&from=km&to=m", "too large"),
    ],
)
def test_converter_results(visitor: Client, query: str, shows: str) -> None:
    assert shows in visitor.get(f"/converter?{query}").get_data(as_text=True)
