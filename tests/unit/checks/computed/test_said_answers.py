"""Answers as agents give them, labelled by what they mean: no wrong one passes, nearly all right ones do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from pytest_webarena.testing import make_evidence, make_task, verdict
from pytest_webarena.yaml_files import read_yaml
from tests.cases import each_case

HERE = Path(__file__).parent
NOT_READ = {
    "12, since the coefficient of x is -12",  # several numbers
    "about 78 and a half metres",
    "Using h = ½gt², the tower is 78.5 m high.",
    "The guests can sit in 120 distinct orders.",  # neither in the list nor in the question
    "x\nANSWER: g/2 = 4.9 m/s^2",
    "27 numbers from 1 to 100 are divisible by 3 but not by 5.",
    "Proteins are made by the ribosome (C).",
    "No, 51 is not prime.",
    "78.5 m above the ground",
    "The height is 78.5 m (to three significant figures).",
    "Since V/T is constant, V = 4.5 L.",
    "The volume increases to 4.5 L.",
    "So the gas will expand to 4.5 L.",
    "twelve (12)",
    "The price for all three is $84.97.",
    "12 (twelve)",
}
"""Right answers that are undecided."""


def answers(file: str) -> Iterator[tuple[str, dict[str, Any], str, bool]]:
    for group in read_yaml(HERE / file, file):
        for right in (True, False):
            for answer in group["right" if right else "wrong"]:
                yield group["intent"], group["check"], answer, right


def passes(kind: str, intent: str, check: dict[str, Any], answer: str) -> tuple[bool, str]:
    task = make_task(yaml.safe_dump({"intent": intent, "sites": [], "checks": [{kind: check}]}, allow_unicode=True))
    (result,) = verdict(task, make_evidence(answer=answer)).results
    return result.score == 1, result.why if result.score == 0 else f"undecided: {result.why}"


@each_case("right", [True, False], ids=["right", "wrong"])
@each_case(("kind", "file"), [("number", "said_numbers.yaml"), ("choice", "said_choices.yaml")])
def test_answers_are_judged_by_what_is_said(kind: str, file: str, right: bool) -> None:
    off = {
        answer: why
        for intent, check, answer, label in answers(file)
        if label is right
        for passed, why in [passes(kind, intent, check, answer)]
        if passed is not right
    }
    known = {answer for _, _, answer, label in answers(file) if label} & NOT_READ
    assert not right or all(why.startswith("undecided") for why in off.values()), off  # what is right is never not met
    assert set(off) == (known if right else set()), off


@each_case(
    ("answer", "right"),
    [
        ("The damping ratio is 5.", True),
        ("The capacitance comes out as 5", True),
        ("The series sums to 5", True),
        ("The curve encloses an area of 5", True),
        ("The standard deviation is 5", True),
        ("Twice the damping ratio is 5", False),
        ("No damping ratio is 5", False),
        ("The increase of the damping ratio is 5", False),
        ("The log of the damping ratio is 5", False),
        ("Other than the damping ratio, it is 5", False),
    ],
)
def test_a_number_is_taken_for_what_its_subject_is_unless_a_word_makes_another_of_it(answer: str, right: bool) -> None:
    """Where the question says nothing, as in pairs for measuring."""
    assert passes("number", "How much?", {"is": 5}, answer)[0] is right


def test_micro_is_read_in_a_unit_of_latex() -> None:
    check = {"is": 5e-6, "rel": "1%", "unit": "m"}
    assert passes("number", "How long is it?", check, "$\\ell = 5\\ \\mathrm{\\mu m}$")[0]
