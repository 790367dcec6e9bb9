"""Wrong answers that users have found to pass: none of them may be met again."""

from __future__ import annotations

from decimal import Decimal

from pytest_webarena.checks.answer_types.reading import read
from pytest_webarena.checks.answer_types.values import Absence, Name, Names, NumberValue, Value, YesNo
from tests.cases import each_case

PLANS = Names(names=(Name(forms=("Pro",)), Name(forms=("Pro Max",))))
ANN = Name(forms=("Ann Lee",))
BO = Name(forms=("Bo Ray",))


@each_case(
    ("question", "wanted", "answer"),
    [
        ("Which plans are on sale?", [PLANS], "Pro Max"),
        ("Which user is not an admin?", [Name(forms=("bo.ray",))], "not bo.ray"),
        ("How many orders are not paid?", [NumberValue(value=Decimal(3))], "There are not 3 orders"),
        ("How many reviews have less than 3 stars?", [NumberValue(value=Decimal(3))], "less than 3 reviews"),
        ("Who manages Ann Lee?", [BO], "Ann Lee manages Bo Ray."),
        ("Which branch was merged into main?", [Name(forms=("dev",))], "main was merged into dev"),
        ("Which branch was merged into main?", [Name(forms=("dev",))], "Merged main into dev."),
        ("Who follows Ann?", [Name(forms=("Bo",))], "Ann follows Bo"),
        ("Who is the manager of Ann?", [Name(forms=("Bo",))], "The manager of Bo is Ann"),
        ("Which product is cheaper than the Kettle?", [Name(forms=("Cup",))], "cheaper than the Cup"),
        ("Are there more than 3 open issues?", [YesNo(value=True)], "Yes, there are 3."),
        ("Are there at least 5 beds?", [YesNo(value=False)], "No, there are 5"),
        ("Is it true that no order is late?", [YesNo(value=True)], "Yes, it is late"),
        ("List the tags.", [Name(forms=("tea",))], "tea, ..."),
        ("How many reviews mention rust?", [Absence(reason="the shop has no reviews")], "No reviews mention rust."),
        ("Cancel order 12.", [Absence(reason="orders can't be cancelled")], "Order 12 was not cancelled."),
        ("Cancel order 12.", [Absence(reason="orders can't be cancelled")], "None"),
        ("Where was the parcel shipped from?", [Name(forms=("Bern",))], "It was shipped to Bern."),
        ("How many customers placed orders?", [NumberValue(value=Decimal(6))], "There were 6 orders."),
        ("How many of the 6 rooms are free?", [NumberValue(value=Decimal(6))], "There are 6 rooms."),
        ("What is the best game?", [Name(forms=("Halo",))], "Halo 2"),
        ("Who wrote it?", [ANN], "- Ann\n- Lee"),
        ("Is the red lamp cheaper than the blue lamp?", [YesNo(value=True)], "Yes, the blue lamp is cheaper."),
        ("Who is the author and who the reviewer?", [ANN, BO], "Author: Bo Ray\nReviewer: Ann Lee"),
        ("Was it Ann Lee or Bo Ray?", [ANN], "Ann Lee or Bo Ray"),
        ("How many lamps are there?", [NumberValue(value=Decimal(6))], "At least \\boxed{6} lamps."),
        ("What is the number?", [Absence(reason="the number is unlisted")], "The number is not unlisted."),
        ("Which products are red?", [Absence(reason="no product is red")], "Not all products are red."),
    ],
)
def test_wrong_answers_that_passed_once(question: str, wanted: list[Value], answer: str) -> None:
    assert read(answer, wanted, question).outcome != "met"


@each_case(
    ("question", "wanted", "answer"),
    [
        ("What is the number?", [Absence(reason="the number is unlisted")], "The number is unlisted."),
        ("What is the number?", [Absence(reason="there is no number")], "It is impossible."),
        ("How far is it?", [NumberValue(value=Decimal(95), unit="km")], "It is 95 km in total."),
        ("How warm is it?", [NumberValue(value=Decimal(25), unit="°C")], "25 degrees"),
        ("How many views has it?", [NumberValue(value=Decimal(1500000))], "1.5 million"),
    ],
)
def test_right_answers_that_failed_once(question: str, wanted: list[Value], answer: str) -> None:
    assert read(answer, wanted, question).outcome != "not met"


def test_units_are_never_evaluated_as_expressions() -> None:
    wanted = [NumberValue(value=Decimal(6), unit="km")]
    assert read("6 9**9**9", wanted, "How far?").outcome != "met"
    assert read("6km**9**9**9", wanted, "How far?").outcome != "met"
