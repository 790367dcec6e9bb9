"""Directions beside a number: one that the question doesn't name may turn the answer round."""

from __future__ import annotations

from tests.cases import each_case
from tests.unit.checks.computed.test_said_answers import passes

GRAVITY = "What is the force of gravity on a block of 5 kg?"
RISE = "By how many kelvin does the temperature rise?"
THROWN = "A stone is thrown upward. What is its velocity after 2 s?"
SPEED = "How fast does the cyclist go?"


@each_case(
    ("intent", "answer", "right"),
    [
        (GRAVITY, "49 N", True),
        (GRAVITY, "49 N upward", False),
        (GRAVITY, "49 N upwards", False),
        (GRAVITY, "49 N away from the block", False),
        (GRAVITY, "49 N to the left", False),
        (GRAVITY, "49 N to the right", False),
        (GRAVITY, "49 N inward", False),
        (GRAVITY, "49 N (inwards)", False),
        (GRAVITY, "49 N clockwise", False),
        (GRAVITY, "49 N south", False),
        (GRAVITY, "The force is 49 N, upward.", False),
        (RISE, "it falls 49", False),
        (RISE, "It fell 49", False),
        (RISE, "The temperature drops 49", False),
        (RISE, "it rises 49", True),
        (THROWN, "49 m/s upward", True),
        (THROWN, "49 m/s upwards", True),
        (THROWN, "49 m/s downward", False),
        ("What is the size of the force?", "49 N upward", True),
        (SPEED, "49 to the north", True),
        (SPEED, "49 to the right", True),
        ("A block slides down a plane. What is its acceleration?", "49 down the plane", True),
        ("A block slides down a plane. What is its acceleration?", "49 downward", True),
        ("Which charge flows into the wire?", "49 inward", False),
        (GRAVITY, "That is right: 49 N", True),
    ],
)
def test_a_direction_is_understood_where_the_question_names_it(intent: str, answer: str, right: bool) -> None:
    assert passes("number", intent, {"is": 49}, answer)[0] is right
