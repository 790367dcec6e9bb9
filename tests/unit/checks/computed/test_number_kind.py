"""The check kind ``number``: tolerances, units, words of the question, mistakes in task files, hostile answers."""

from __future__ import annotations

import time

import pytest

from pytest_webarena.checks.computed import number as kind
from pytest_webarena.errors import TaskFileError
from pytest_webarena.testing import make_evidence, make_task, verdict
from tests.cases import each_case

PERCENTAGE = "What percentage is lost?"
RATIO = "What is the ratio of the masses?"
SPEED = "It starts at an initial speed of 3 m/s. What is its final speed?"
NOT_RED = "How likely is it that the ball is not red?"


def judged(check: str, answer: str | None, intent: str = "How much?") -> tuple[float | None, str]:
    task = make_task(f"intent: {intent}\nsites: []\nchecks: [{{number: {check}}}]")
    (result,) = verdict(task, make_evidence(answer=answer)).results
    return result.score, result.why


@each_case(
    ("check", "answer", "score"),
    [
        ("408", "408", 1),
        ("408", "408.0001", 0),
        ("sqrt(2)/2", "\\frac{1}{\\sqrt{2}}", 1),
        ("sqrt(2)/2", "0.70711", 0),
        ("{is: sqrt(2)/2, rel: 1%}", "0.70711", 1),
        ("{is: 9.81, rel: 1%}", "9.8", 1),
        ("{is: 9.81, rel: 1%}", "9.7", 0),
        ("{is: 100, rel: 0.01}", "101", 1),
        ("{is: 100, rel: 0.01}", "101.01", 0),
        ("{is: 0, abs: 0.01}", "-0.005", 1),
        ("{is: 0, abs: 0.01}", "0.02", 0),
        ("{is: 10, rel: 1%, abs: 2}", "12", 1),
        ("{is: 0.1, rel: 1%, abs: 0.01}", "0.109", 1),
        ("{is: 299792458, sig_figs: 3}", "3.00e8", 1),
        ("{is: 299792458, sig_figs: 3}", "2.99e8", 0),
        ("{is: 2.3449, sig_figs: 3}", "2.34", 1),
        ("{is: 2.3449, sig_figs: 3}", "2.35", 0),
        ("{one_of: [2, -2]}", "-2", 1),
        ("{one_of: [2, -2]}", "2 or -2", None),
        ("{interval: [9.7, 9.9]}", "9.9", 1),
        ("{interval: [9.7, 9.9]}", "9.91", 0),
        ("{is: 1.38e-23, preset: arb}", "Boltzmann.\\nANSWER: 1.39e-23", 1),
        ("{is: 1.38e-23, preset: arb, marker: false}", "1.39e-23", 1),
        ("{is: 45%}", "0.45", 1),
        ("0.45", "45 %", 1),
        ("{is: 5, unit: m/s}", "5", 1),
        ("{is: 5, unit: m/s}", "5 m/s", 1),
        ("{is: 5, unit: m/s}", "5 m s^{-1}", 1),
        ("{is: 5, unit: m/s}", "18 km/h", 1),
        ("{is: 5, unit: m/s}", "The speed is 18 kilometers per hour.", 1),
        ("{is: 5, unit: m/s}", "5 km/h", 0),
        ("{is: 5, unit: m/s}", "5 kg", 0),
        ("{is: 5, unit: m/s}", "5 widgets", None),
        ("{is: 298.15, unit: K}", "25 °C", 1),
        ("{is: 1, unit: kWh}", "3.6 MJ", 1),
        ("{is: 2, unit: N*m}", "2 J", 1),
        ("5", "5 m/s", 1),
        ("0.4", "40%", 1),
        ("0.4", "0.4%", 0),
        ("40", "40 %", None),
        ("{is: 40, unit: m}", "40 %", 0),
        ("{interval: [0.3, 0.5]}", "0.4 %", 0),
        ("{is: 7, unit: m/s^2}", "7 meters per second squared", 1),
        ("{is: 7, unit: m/s^2}", "7m/s2", 1),
        ("{is: 7, unit: J/(mol*K)}", "7 J/mol K", 1),
        ("{is: 7, unit: W/(m^2 K^4)}", "7 W/m²K⁴", 1),
        ("{is: 7, unit: W/(m^2 K^4)}", "7 W m^-2 K^-4", 1),
        ("{is: 7, unit: W/(m^2 K^4)}", "7 W/m^2", 0),
        ("{is: 7, unit: Pa}", "7 \\frac{\\text{N}}{\\text{m}^2}", 1),
        ("{is: 150, unit: min}", "2 h 30 min", 1),
        ("{is: 150, unit: min}", "2 h and 40 min", None),
        ("{is: 20, unit: degC}", "20 C", 1),
        ("{is: 3.1, unit: m/s}", "3.1 ms⁻¹", 1),
        ("{is: 3.1, unit: m/s}", "3.1 ms", 0),
        ("{is: 3.1, unit: m/s}", "3.1 m.s-1", 1),
        ("{is: 3.1, unit: N*m}", "3.1 newton-meters", None),
        ("{is: 3.1, unit: kWh}", "3.1 kilowatt-hours", None),
        ("{is: 3.1, unit: m}", "310 cm (3.1 m)", 1),
        ("{is: 3.1, unit: m}", "3.1 m = 310 cm", 1),
        ("{is: 3.1, unit: m}", "3.1 m (31 cm)", None),
        ("{is: 3.1, unit: T}", "3.1 N/(A·m)", 1),
        ("{is: 3.1, unit: Hz}", "3.1 1/s", 1),
        ("{is: 293.15, unit: K}", "20 degrees Celsius", 1),
        ("{is: 7, unit: K}", "7 degrees Kelvin", 1),
        ("{is: 7, unit: mol/L}", "7000 mM", 1),
        ("{is: 7, unit: um}", "7 microns", 1),
        ("{is: 7, unit: m/s}", "7 (m/s)^2", 0),
        ("{is: 7, unit: m^2/s^2}", "7 (m/s)^2", 1),
        ("{is: 7, unit: m^2/s^2}", "7 (m/s)²", 1),
        ("{is: 7, unit: m/s}", "7 blarg/s", None),
        ("{is: 7, unit: m/s}", "$7", None),
        ("{is: 7, unit: m/s}", "7 €", None),
        ("7", "$7", 1),
        ("{is: 7, unit: m/s}", "$7$", 1),
        ("{is: 7, unit: m/s}", "v in km/h = 7", 0),
        ("{is: 7, unit: m/s}", "v in km/h = 25.2", 1),
        ("{is: 7, unit: m/s}", "v [km/h] = 7", 0),
        ("{is: 7, unit: m/s}", "speed (km/h): 7", 0),
        ("{is: 7, unit: m/s}", "v/(m/s) = 7", 1),
        ("{is: 7, unit: m/s}", "7 in km/h", 0),
        ("{is: 7, unit: m/s}", "7 [m/s]", 1),
        ("{is: 7, unit: m}", "x(t) = 7", 1),
        ("{is: 7, unit: m/s}", "7 km/s (= 7 m/s)", None),
        ("{is: 7, unit: m/s}", "7 ㎞/s", None),
        ("{is: 7, unit: m/s}", "7 m/s to the north", 1),
        ("{is: 7, unit: m/s}", "7 m/s each second", None),
        ("{is: 7, unit: kg}", "7 kg of water", None),
        ("{is: 7, unit: kg}", "7 crates", None),
    ],
)
def test_tolerances_and_units(check: str, answer: str, score: float | None) -> None:
    assert judged(check, answer.replace("\\n", "\n"))[0] == score


def test_reasons_tell_what_is_wrong() -> None:
    assert judged("5", "3 or 4")[1] == "it gives several numbers: 3, 4"
    assert judged("5", "N/A: 5")[1] == "the agent said that the question can't be answered, but it can"
    assert judged("5", "5.5")[1] == "it is off by 0.5"
    assert judged("5", "2x")[1] == "a symbol is left over: x"
    assert judged("5", None)[1] == "the agent gave no answer"
    assert judged("{is: 5, unit: m}", "5 kg")[1] == "its unit, kilogram, does not measure what m does"
    assert judged("{is: 5, unit: m}", "5 widgets")[1] == "its unit is unknown: widgets"
    assert judged("{is: 5, unit: m}", "$5")[1] == "its unit is unknown: $"
    assert judged("5", "hardly 5")[1] == "it says more than it should, and this is not understood: hardly"
    assert judged("5", "5 or twelve")[1] == "its unit is unknown: or"
    assert judged("5", "v in m = 5 kg")[1] == "it gives two units: meter, kilogram"
    assert judged("5", "\\boxed{5} or rather \\boxed{6}")[1] == "it gives several final answers: 5, 6"


def test_a_missing_marker_is_not_a_wrong_answer() -> None:
    assert judged("{is: 5, marker: true}", "5")[1].startswith("no final answer")
    assert judged("{is: 5, marker: true}", "ANSWER: 6")[1] == "it is off by 1"
    assert judged("{is: 5, marker: true}", "ANSWER: 6\nno: 5\nANSWER: 5")[0] == 1


def test_numbers_of_the_question_do_not_count_beside_the_answer() -> None:
    asked = "How much do 3 of them cost?"
    assert judged("84.96", "3 of them cost $84.96.", asked)[0] == 1
    assert judged("3", "3", asked)[0] == 1


def test_words_of_the_question_are_understood() -> None:
    assert judged("7", "Each gnome gets 7 turnips.", "How many turnips are there for 3 gnomes?")[0] != 1
    assert judged("7", "There are 7 turnips for a gnome.", "How many turnips are there for a gnome?")[0] == 1
    assert judged("7", "7 turnips", "How many turnips?")[0] == 1
    assert judged("7", "7 turnips", "How many gnomes?")[0] != 1
    assert judged("7", "The smallest width is 7.", "What is the smallest width?")[0] == 1
    assert judged("7", "twice 7", "What is it if twice as many come?")[0] != 1
    assert judged("7", "ln K = 7", "What is ln K?")[0] == 1
    assert judged("7", "an increase of 7", "What is the increase in cost?")[0] == 1
    assert judged("7", "not 7", "Which number is not even?")[0] != 1


def test_units_cannot_be_converted_without_pint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "units_there", lambda: False)
    assert judged("{is: 5, unit: m/s}", "5 m/s")[0] == 1
    score, why = judged("{is: 5, unit: m/s}", "18 km/h")
    assert score is None
    assert "pytest-webarena[math]" in why


@each_case(
    ("check", "told"),
    [
        ("{is: 2x}", "a number or a closed form"),
        ("{is: 1/0}", "it divides by zero"),
        ("{rel: 1%}", "one of 'is', 'one_of' and 'interval'"),
        ("{is: 1, one_of: [2]}", "one of 'is', 'one_of' and 'interval'"),
        ("{is: 0, rel: 1%}", "'abs' for a reference of 0"),
        ("{is: 0, preset: arb}", "'abs' for a reference of 0"),
        ("{interval: [2, 1]}", "the lower one first"),
        ("{interval: [1, 2], rel: 1%}", "'interval' without a tolerance"),
        ("{is: 1, unit: widgets}", "a unit such as m/s^2"),
        ("{is: 1, rel: -1%}", "a share such as 1%"),
    ],
)
def test_mistakes_in_task_files_are_told(check: str, told: str) -> None:
    with pytest.raises(TaskFileError, match=told.replace("^", "\\^")):
        judged(check, "1")


HOSTILE = [
    "10**10**10", "9^9^9^9", "1e999999", "(" * 50_000, "\\frac{" * 12_000, "\\boxed{" * 12_000, "1" * 100_000,
    "-" * 100_000, "1+" * 1_900, "sqrt(" * 700 + "2", "__import__('os').system('id')", "1 " * 1_999,
    "2^" * 1_900 + "2", "((((" * 990 + "1", "1/" * 1_900 + "3", "\\sqrt{" * 650, "5 m" + "*m" * 1_900,
    "x = " * 900 + "1", "ANSWER: " * 12_000, "²" * 4_000, "1e400*" * 600 + "1", "factorial(10**8)",
    "1.5e300*1.5e300", "e^e^e^e^e", "-" * 3_000 + "1", "5 (" + "m" * 3_900 + ")",
]  # fmt: skip


@each_case("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_dealt_with_at_once(text: str) -> None:
    began = time.process_time()
    judged_score = judged("{is: 12345, rel: 1%}", text)[0]
    assert judged_score != 1
    assert time.process_time() - began < 2  # of the processor: what is promised, whatever else the machine does


def test_agents_are_told_the_form_of_the_answer() -> None:
    task = make_task("intent: x\nsites: []\nchecks: [{number: {is: 5, unit: m/s, sig_figs: 2, marker: true}}]")
    told = kind.NUMBER.asks(task.checks[0].spec) if kind.NUMBER.asks else ""
    assert "measured in m/s" in told
    assert "ANSWER:" in told
    assert "2 significant figures" in told
    assert "5 " not in told


@each_case("answer", ["N/A 408", "n/a 408", "None of them is 408", "none of the sums equals 408"])
def test_who_says_that_there_is_none_gives_no_number(answer: str) -> None:
    assert judged("408", answer)[0] != 1


@each_case(
    ("check", "intent", "answer", "score"),
    [
        ("45%", PERCENTAGE, "45", 1),
        ("45%", PERCENTAGE, "45 %", 1),
        ("45%", PERCENTAGE, "0.45", 1),
        ("45%", PERCENTAGE, "0.45 %", 0),
        ("45", PERCENTAGE, "45 %", 1),
        ("45%", RATIO, "45", None),
        ("2", RATIO, "2 %", None),
        ("2", RATIO, "2", 1),
        ("2%", RATIO, "3", 0),
        ("{interval: [44%, 46%]}", PERCENTAGE, "45", 1),
    ],
)
def test_a_bare_number_is_a_percentage_where_one_is_asked_for(
    check: str, intent: str, answer: str, score: float | None
) -> None:
    assert judged(check, answer, intent)[0] == score


@each_case(
    ("check", "intent", "answer", "score"),
    [
        ("20", SPEED, "The final speed is 20", 1),
        ("20", SPEED, "The speed is 20", 1),
        ("20", SPEED, "The initial speed is 20", None),
        ("20", "What is the lowest price?", "The second price is 20", None),
        ("20", "What is the price of two cups?", "The price of the two cups is 20", 1),
        ("3/4", "What is the ratio a/b?", "a/b = 3/4", 1),
        ("3/4", "What is the ratio a/b?", "b/a = 3/4", None),
        ("3/4", "What is the ratio of x to y?", "The ratio of x to y is 3/4", 1),
        ("3/4", "What is the ratio of x to y?", "The ratio of y to x is 3/4", None),
        ("3/4", "What is the ratio of a to b?", "The ratio of b to a is 3/4", None),
        ("3/4", NOT_RED, "P(not red) = 3/4", 1),
        ("3/4", NOT_RED, "P(red) = 3/4", None),
        ("3/4", NOT_RED.replace("not ", ""), "P(red) = 3/4", 1),
    ],
)
def test_an_answer_says_of_its_words_what_the_question_does(
    check: str, intent: str, answer: str, score: float | None
) -> None:
    assert judged(check, answer, intent)[0] == score
