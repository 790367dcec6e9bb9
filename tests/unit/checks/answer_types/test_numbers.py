"""Numbers, units, currencies and lengths of time in answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.checks.answer_types import units
from pytest_webarena.tasks import load_tasks
from tests.cases import each_case

from .outcomes import Rows, cases, outcome

LAMPS = "How many lamps are there?"
PAID = "How much did I pay?"
ROWS: Rows = [
    (
        "{number: 36}",
        LAMPS,
        {
            "met": [
                "36", "36.", "**36**", "`36`", "thirty-six", "Thirty-six.", "36 lamps", "There are 36 lamps.", "36.0",
                "The answer is 36.", "Answer: 36", '{"answer": 36}', '{"count": 36}', '{"lamps": "36"}', "[36]",
                "| lamps |\n|---|\n| 36 |", "- 36", "The number of lamps is 36.", "A total of 36 lamps.", "+36",
            ],
            "not met": ["37", "3.6", "360", "136", "363", "", "None.", "Acme", "37 lamps", "3,6", "36.5"],
            "undecided": [
                "36%", "$36", "#36", "page 36", "36 shelves", "36, spread over 4 shelves", "about 36", "not 36",
                "at least 36", "36 or 37", "36-37", "I think 36", "35, 36", "36 K", "36k", "three dozen", "3 6",
            ],
        },
    ),
    (
        "{number: 0}",
        "How many items are in my cart?",
        {
            "met": ["0", "zero", "0 items", "There are 0 items in your cart."],
            "not met": ["1", "10", "5 items"],
            "undecided": ["Your cart is empty.", "There is no page.", "0 or 1", "I found nothing"],
        },
    ),
    ("{number: -4}", "What is the balance?", {"met": ["-4", "\u22124", "The balance is -4."], "not met": ["5"],
                                               "undecided": ["4", "minus 4"]}),
    (
        "{number: 1234.5}",
        "What is the score?",
        {
            "met": ["1234.5", "1,234.50", "1.234,50", "1234,5", "1'234.5"],
            "not met": ["1234", "1235", "12345", "1,234"],
            "undecided": ["$1,234.50", "1 234.5 points"],
        },
    ),
    (
        "{number: 1234.5, unit: USD}",
        PAID,
        {
            "met": [
                "$1,234.50", "1,234.50", "1234.50 USD", "USD 1234.5", "1,234.50 dollars", "US$1234.50", "1.234,50 $",
                "You paid $1,234.50.", '{"paid": "$1,234.50"}',
            ],
            "not met": ["€1,234.50", "1,234.50 euros", "1,234.50 EUR", "$1,234", "$1,234.51", "$12.345", "£1,234.50"],
            "undecided": ["$1,234.50 plus tax", "1,234.50 points", "not $1,234.50"],
        },
    ),
    (
        "{number: 85, unit: EUR}",
        "What is the annual fee?",
        {"met": ["€85", "85 €", "85 EUR", "EUR 85", "85", "85 euros"], "not met": ["$85", "€8.50", "85 USD"],
         "undecided": ["€85 per year", "€85 a month"]},
    ),
    (
        "{number: 14.2, unit: \u00b0C, tolerance: 0.05}",
        "What is the temperature?",
        {"met": ["14.2", "14.2 \u00b0C", "14.2\u00b0C", "14.2 degrees Celsius", "57.56 \u00b0F", "14.21 \u00b0C"],
         "not met": ["14.2 \u00b0F", "14.2 km", "14.3", "14.5 \u00b0C", "14.2 K"],
         "undecided": ["14.2 crates", "below 14.2 \u00b0C"]},
    ),
    (
        "{number: 3.45, unit: km}",
        "How long is the path?",
        {"met": ["3.45 km", "3.45", "3450 m", "3.45km", "3.45 kilometres", "3,450 metres"],
         "not met": ["3.45 miles", "3.45 m", "3450 km", "3.5 km", "3.45 h"],
         "undecided": ["about 3.45 km", "3.45 km or more"]},
    ),
    ("{number: 45, unit: '%'}", "What share was returned?",
     {"met": ["45%", "45 %", "45 percent", "45 per cent", "45"], "not met": ["4.5%", "46%", "45 km"],
      "undecided": ["over 45%", "$45"]}),
    ("{number: 84.97, tolerance: 1%}", PAID, {"met": ["84.97", "84.5", "85.8"], "not met": ["84", "86"]}),
    ("{number: 84.97, tolerance: 0.01}", PAID, {"met": ["84.98", "84.96"], "not met": ["84.99", "85"]}),
    (
        "{duration: 1 h 25 min}",
        "How long does it take?",
        {
            "met": ["1 h 25 min", "1h25m", "85 minutes", "1:25 h", "1 hour and 25 minutes", "It takes 85 min."],
            "not met": ["1 h 15 min", "85 hours", "25 min", "Acme", "1 h"],
            "undecided": ["85", "1:25", "about 85 minutes", "85 minutes or more"],
        },
    ),
    ("{duration: 3 days}", "How long was it open?",
     {"met": ["3 days", "72 hours", "three days", "72h"], "not met": ["3 weeks", "2 days"], "undecided": ["3"]}),
]  # fmt: skip


@each_case(("check", "intent", "answer", "wanted"), cases(ROWS))
def test_numbers(check: str, intent: str, answer: str, wanted: str) -> None:
    assert outcome(check, answer, intent) == wanted


def test_everyday_units_are_units_and_are_known_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [unit for unit in units._EVERYDAY_UNITS if units._parsed(units._spelling(unit)) is None] == []
    monkeypatch.setattr(units, "_parsed", lambda unit: None)
    assert load_tasks(Path(__file__).parents[4] / "tasks" / "homepage" / "key_nodes.yaml")
