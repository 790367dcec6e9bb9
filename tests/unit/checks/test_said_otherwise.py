"""Right answers in other units and spellings, and wrong ones with one thing too many in them."""

from __future__ import annotations

import pytest

from pytest_webarena.errors import TaskFileError
from tests.cases import each_case

from .helpers import evidence, result

_MINUTES = "How many minutes does it take to cycle from Aldersey to Lunnet?"


def passes(check: str, answer: str, intent: str) -> bool:
    return result(f"answer: {check}", evidence(answer), intent=intent).passed is True


@each_case(
    ("number", "answer", "intent"),
    [
        ("65", "It takes 1 h 5 min.", _MINUTES),
        ("65", "1 hour and 5 minutes", _MINUTES),
        ("60", "one hour", _MINUTES),
        ("88", "1 h 28", _MINUTES),
        ("30", "half an hour", _MINUTES),
        ("24", "24 min by bicycle", _MINUTES),
        ("890", "0.89 kg", "How many grams does the rucksack weigh?"),
        ("0.96", "960 m", "How many kilometres is it?"),
    ],
)
def test_an_amount_in_another_unit_of_its_kind(number: str, answer: str, intent: str) -> None:
    assert passes(f"{{number: {number}}}", answer, intent)


@each_case(
    ("number", "answer", "intent"),
    [
        ("60", "60 hours", _MINUTES),
        ("28", "1 h 28 min", _MINUTES),
        ("28", "1 hour and 28 minutes", _MINUTES),
        ("28", "1 h 28", _MINUTES),
        ("30", "30 cents", "How much, in crowns, is owed?"),
        ("45", "45 fewer", "By how much did the number of hives rise?"),
        ("60", "not 1 hour", _MINUTES),
        ("60", "1 hour or 2 hours", _MINUTES),
        ("65", "5 min 1 h", _MINUTES),
        ("24", "24 min by car", _MINUTES),
        ("890", "890 kg", "How many grams does the rucksack weigh?"),
        ("33.7", "54.3 km", "How many miles is it? Let the converter turn the kilometres into miles."),
        ("1.94", "1.94 euros", "What do they cost by prices.csv, which has crowns per kilogram?"),
        ("34", "34 months", "How old did the builder turn that year?"),
    ],
)
def test_a_number_in_a_unit_that_makes_it_another(number: str, answer: str, intent: str) -> None:
    assert not passes(f"{{number: {number}, tolerance: 0.05}}", answer, intent)


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        ('"Jam, 250 g"', "Jam, 250g"),
        ('"Jam, 250g"', "Jam, 250 g"),
        ('{includes: "Jam, 250 g"}', "It is **Jam, 250g**."),
    ],
)
def test_a_name_with_a_closed_up_amount(check: str, answer: str) -> None:
    assert passes(check, answer, "What is it called?")


@pytest.mark.parametrize(
    ("check", "answer"),
    [('"Jam, 250 g"', "Jam, 2 50 g")],
)
def test_what_such_a_reading_does_not_let_through(check: str, answer: str) -> None:
    assert not passes(check, answer, "What is it called?")


_WHICH = "Which of the pharmacies in Ivesham opens on Sundays? Name only those."
_NAMED = "{includes: [Rahmani Pharmacy, Dunn Pharmacy], only: true}"


@each_case(
    "answer",
    [
        "Rahmani Pharmacy and Dunn Pharmacy",
        "Two pharmacies open on Sundays: Dunn Pharmacy and Rahmani Pharmacy.",
        "- **Dunn Pharmacy** (10:00-14:00)\n- **Rahmani Pharmacy**",
        "Only Dunn Pharmacy and the Rahmani Pharmacy.",
    ],
)
def test_only_those_named(answer: str) -> None:
    assert passes(_NAMED, answer, _WHICH)


@each_case(
    "answer",
    [
        "Rahmani Pharmacy, Dunn Pharmacy and Novak Pharmacy",
        "Novak Pharmacy, Rahmani Pharmacy and Dunn Pharmacy",
        "- Dunn Pharmacy\n- Rahmani Pharmacy\n- Sea View",
        "Rahmani Pharmacy",
    ],
)
def test_one_name_too_many(answer: str) -> None:
    assert not passes(_NAMED, answer, _WHICH)


@each_case(
    ("answer", "right"),
    [
        ("Lantern and Loam, Rahmani Pharmacy", True),
        ("Rahmani; Lantern & Loam", True),
        ("Lantern & Loam, Rahmani Pharmacy, Corner Bakery", False),
        ("Corner Bakery, Rahmani Pharmacy and Lantern & Loam", False),
    ],
)
def test_parts_of_names_are_enough_and_all_of_them_no_other_name(answer: str, right: bool) -> None:
    assert passes('{includes: ["Lantern & Loam", Rahmani], only: true}', answer, "Which shops are open?") is right


def test_an_address_too_many() -> None:
    check, asked = "{includes: ann@x.test, only: true}", "What is her e-mail address?"
    assert passes(check, "Ann Lee <ann@x.test>", asked)
    assert not passes(check, "ann@x.test and bob@x.test", asked)


@each_case(
    ("answer", "right"),
    [
        ("ann.lee/rye-timer", True),
        ("It is `ann.lee/rye-timer`, with 9 stars.", True),
        ("ann.lee/rye-timer and makers/quern", False),
        ("ann.lee/rye-timer and Quote Checker", False),
    ],
)
def test_a_path_is_no_name_beside_itself(answer: str, right: bool) -> None:
    assert passes("{includes: ann.lee/rye-timer, only: true}", answer, "Which project has the most stars?") is right


def test_only_goes_with_includes() -> None:
    with pytest.raises(TaskFileError, match="'only' with 'includes'"):
        passes("{number: 4, only: true}", "4", "How many?")


@each_case(
    ("answer", "right"),
    [
        ("N/A; The Blue Ewer", False),
        ("N/A - Thomas Brand", False),
        ("N/A. Not Given", True),
        ("N/A: Permission Denied", True),
        ("N/A - the page of the Kettle Chapel says nothing", True),
        ("N/A (Kettle Chapel)", True),
    ],
)
def test_a_name_is_no_reason(answer: str, right: bool) -> None:
    asked = "In which workshop were the cups of the Kettle Chapel made?"
    assert passes("{unachievable: the store names no workshop}", answer, asked) is right


@pytest.mark.parametrize(
    ("answer", "right"), [("N/A; 12 minutes from the next one", False), ("N/A: it names no way", True)]
)
def test_a_value_in_the_unit_that_is_asked_for_is_no_reason(answer: str, right: bool) -> None:
    asked = "How many minutes is it to the airport?"
    assert passes("{unachievable: the map has no airport}", answer, asked) is right
