"""Signs that stand alone, temperatures apart, and markers of other keyboards."""

from __future__ import annotations

from tests.cases import each_case
from tests.unit.checks.computed.test_said_answers import passes

CITY = "Which French city is called the capital of gastronomy?"
CITIES = {"options": ["Paris", "Lyon", "Nice"], "is": "B"}
RISE = "By how many kelvin does the temperature of the water rise?"
BATH = "At how many kelvin is the water after a rise of 5 K?"


@each_case("answer", ["8 -", "8 *", "8 /", "/8", "*8", "8-", "(8)-", "8 +", "^8"])
def test_a_sign_of_a_sum_has_two_sides(answer: str) -> None:
    assert not passes("number", "How many primes are there?", {"is": 8}, answer)[0]


@each_case("answer", ["8", "**8**", "*8*", "+8", "(8)"])
def test_a_number_alone_may_be_emphasised(answer: str) -> None:
    assert passes("number", "How many primes are there?", {"is": 8}, answer)[0]


@each_case(
    ("intent", "answer", "right"),
    [
        (RISE, "25 °C", True),
        (RISE, "25 degrees Celsius", True),
        (RISE, "45 °F", True),
        (RISE, "25 K", True),
        (RISE, "-248.15 °C", False),
        (RISE, "298.15 °C", False),
        (BATH, "25 °C", False),
        (BATH, "-248.15 °C", True),
    ],
)
def test_a_difference_of_temperatures_has_no_zero_to_shift(intent: str, answer: str, right: bool) -> None:
    assert passes("number", intent, {"is": 25, "rel": "1%", "unit": "K"}, answer)[0] is right


def test_the_marker_may_have_a_full_width_colon() -> None:
    assert passes("number", "How many?", {"is": 8, "marker": True}, "So.\nANSWER\uff1a8")[0]
    assert passes("choice", CITY, CITIES | {"marker": True}, "ANSWER\uff1aB")[0]


@each_case(
    ("answer", "right"),
    [
        ("B", True),
        ("- B", True),
        ("'B'", True),
        ("[B]", True),
        ("-B", False),
        ("-(B)", False),
        ("B'", False),
        ("[ ] B", False),
        ("- [ ] B", False),
        ("I refuse.\nB", False),
        ("I decline to choose.\n\nB", False),
        ("B, because it is wrong", False),
        ("B, because it is the capital of gastronomy", True),
    ],
)
def test_a_letter_is_chosen_if_nothing_takes_it_back(answer: str, right: bool) -> None:
    assert passes("choice", CITY, CITIES, answer)[0] is right
