"""The unit behind an answer's value, against the unit or the quantity that the task asks for."""

from __future__ import annotations

from typing import Any

import yaml

from pytest_webarena.testing import make_evidence, make_task, verdict
from tests.cases import each_case

WORK = "How much work is done by the force?"
KINDS = [{"number": {"is": 6}}, {"number": {"is": 6, "rel": "1%"}}, {"symbolic": "6"}]


def score(intent: str, check: dict[str, Any], answer: str) -> float | None:
    task = make_task(yaml.safe_dump({"intent": intent, "sites": [], "checks": [check]}, allow_unicode=True))
    [result] = verdict(task, make_evidence(answer=answer)).results
    return result.score


@each_case("check", KINDS, ids=str)
@each_case("unit", ["N", "kg", "W", "m/s"])
def test_a_unit_of_another_quantity_is_not_met_or_undecided(check: dict[str, Any], unit: str) -> None:
    assert score(WORK, check, rf"$W = 6\ \mathrm{{{unit}}}$") != 1


@each_case("check", KINDS, ids=str)
@each_case("unit", ["J", r"N\,m", "eV"])
def test_a_unit_of_the_quantity_is_met(check: dict[str, Any], unit: str) -> None:
    assert score(WORK, check, rf"$W = 6\ \mathrm{{{unit}}}$") == 1


@each_case("check", KINDS, ids=str)
def test_a_unit_of_another_size_than_the_named_one_is_undecided(check: dict[str, Any]) -> None:
    assert score("Give the length in metres.", check, r"$6\ \mathrm{cm}$") is None
    assert score("Give the length in metres.", check, r"$6\ \mathrm{m}$") == 1


def test_the_unit_of_a_reference_decides() -> None:
    check = {"symbolic": r"6 t\ \text{J}"}
    assert score("?", check, r"$6t\ \text{J}$") == 1
    assert score("?", check, r"$6t\ \text{N}$") == 0
    assert score("?", check, r"$6t\ \text{kJ}$") is None


@each_case("answer", ["6 N", "(A) 6 N", "It is 6 N."])
def test_an_option_with_another_unit_is_not_chosen(answer: str) -> None:
    assert score(WORK, {"choice": {"options": ["6 J", "8 J"], "is": "A"}}, answer) != 1


@each_case(
    ("intent", "unit"),
    [
        ("What is its activation energy?", r"\mathrm{kJ/mol}"),
        ("What is the mass of the particle?", r"\mathrm{MeV}"),
        ("What is the molar mass of the gas?", r"\mathrm{g/mol}"),
        ("What is the specific heat?", r"\mathrm{J/(kg\,K)}"),
        ("What is the energy density?", r"\mathrm{J/m^3}"),
        ("What is the change in mass?", r"\mathrm{kg}"),
    ],
)
def test_usual_units_of_a_quantity_are_not_foreign(intent: str, unit: str) -> None:
    assert score(intent, {"number": {"is": 6}}, rf"$6\ {unit}$") == 1
