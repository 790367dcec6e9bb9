"""Cycles, angles and decays per second: of one dimension in `pint`, and not the same."""

from __future__ import annotations

from tests.cases import each_case
from tests.unit.checks.computed.test_said_answers import passes

TEN_HERTZ = {"is": 10, "rel": "1%", "unit": "Hz"}
TEN_TURNS = {"is": 62.83, "rel": "1%", "unit": "rad/s"}


@each_case(
    ("check", "answer", "right"),
    [
        (TEN_HERTZ, "10 Hz", True),
        (TEN_HERTZ, "0.01 kHz", True),
        (TEN_HERTZ, "600 rpm", True),
        (TEN_HERTZ, "10 rev/s", True),
        (TEN_HERTZ, "10 revolutions per second", True),
        (TEN_HERTZ, "10 cycles per second", False),
        (TEN_HERTZ, "10 s^-1", True),
        (TEN_HERTZ, "10 1/s", True),
        (TEN_HERTZ, "62.8 rad/s", True),
        (TEN_HERTZ, "10 rad/s", False),
        (TEN_HERTZ, "95.5 rpm", False),
        (TEN_HERTZ, "570 deg/s", False),
        (TEN_HERTZ, "10 Bq", False),
        (TEN_TURNS, "62.8 rad/s", True),
        (TEN_TURNS, "3600 deg/s", True),
        (TEN_TURNS, "600 rpm", True),
        (TEN_TURNS, "62.8 s^-1", True),
        (TEN_TURNS, "62.8 Hz", False),
        (TEN_TURNS, "62.8 Bq", False),
        ({"is": 10, "unit": "rpm"}, "10 rpm", True),
        ({"is": 10, "rel": "1%", "unit": "rpm"}, "0.167 Hz", True),
        ({"is": 10, "rel": "1%", "unit": "Bq"}, "10 Hz", False),
        ({"is": 10, "rel": "1%", "unit": "Bq"}, "10 rpm", False),
        ({"is": 10, "rel": "1%", "unit": "Bq"}, "10 s^-1", True),
        ({"is": 37, "rel": "1%", "unit": "GBq"}, "1 Ci", True),
        ({"is": 3, "rel": "1%", "unit": "J/Hz"}, "3 J s", True),
        ({"is": 42.58, "rel": "1%", "unit": "MHz/T"}, "267.5e6 rad/s/T", True),
        ({"is": 42.58, "rel": "1%", "unit": "MHz/T"}, "42.58 MHz/T", True),
    ],
)
def test_a_cycle_is_a_whole_turn_and_no_radian_nor_a_decay(check: dict[str, object], answer: str, right: bool) -> None:
    assert passes("number", "How much is it?", check, answer)[0] is right
