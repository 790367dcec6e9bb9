"""Numbers with reasons before them and remarks behind them, and workings that give them."""

from __future__ import annotations

from tests.cases import each_case
from tests.unit.checks.computed.test_said_answers import passes

ASKED = "What is the speed of the ball, in m/s?"
SPEED = {"is": 5, "rel": "1%", "unit": "m/s"}


@each_case(
    "answer",
    [
        "The distance is twice the time, so the speed is 5 m/s.",
        "The ball covers 10 m in 2 s, hence v = 10/2 = 5 m/s.",
        "The speed is 5 m/s, since the force is constant.",
        "The speed is 5 m/s, so the ball is slow.",
        "By the chain rule the speed is 5 m/s.",
        "Dividing the distance gives 5 m/s.",
        "v = s/t = 10/2 = 5 m/s",
        "v = √(k/m) = √25 = 5 m/s",
    ],
)
def test_the_clause_that_states_the_number_counts(answer: str) -> None:
    assert passes("number", ASKED, SPEED, answer) == (True, "undecided: ")


@each_case(
    "answer",
    [
        "The speed is 5 m/s, so twice that is right.",
        "The speed is not 4 m/s, so it may be 5 m/s.",
        "The speed is 4 m/s, so the speed is 5 m/s.",
        "The speed is 5 m/s, since I guess.",
        "The speed is 5 m/s, because that is half of it.",
        "The speed is 5 m/s, so the answer is ten.",
        "5 m/s would be too slow, so it is 6 m/s.",
        "If it were heavy, so 5 m/s.",
        "It is not true, so the speed is 5 m/s.",
        "Halving the distance gives 5 m/s, so the speed is twice that.",
        "The ball is slow, so its speed is less than 5 m/s.",
        "The speed is 5 m, since the ball is slow.",
        "v = s/t = 10/2 = 6 m/s",
    ],
)
def test_what_turns_or_doubts_the_number_is_not_met(answer: str) -> None:
    assert not passes("number", ASKED, SPEED, answer)[0]


@each_case(
    ("check", "answer", "right"),
    [
        ({"is": 10, "unit": "min"}, "t½ = 30/3 = 10 min", True),
        ({"is": 45, "unit": "degree"}, "x = arctan(1) = 45°", True),
        ({"is": 45, "unit": "degree"}, "x = arctan(2) = 45°", False),
        ({"is": 3, "unit": "kJ"}, "Q = 2 * 1500 = 3 kJ", True),
        ({"is": 3, "unit": "kJ"}, "Q = 2 * 2500 = 3 kJ", False),
        ({"is": 25, "unit": "m/s"}, "90 km/h ÷ 3.6 = 25 m/s", True),
        ({"is": "80%"}, "(40 g / 50 g) × 100 % = 80 %", True),
        ({"is": 25, "unit": "m/s"}, "90 km/h ÷ 3.6 = 25 m", False),
        ({"is": 3}, "pH = -log(0.001) = 3", True),
        ({"is": 3}, "pH = -log(0.01) = 3", False),
    ],
)
def test_a_working_agrees_in_base_units_or_with_the_other_logarithm(
    check: dict[str, object], answer: str, right: bool
) -> None:
    assert passes("number", "How much is it?", check, answer)[0] is right
