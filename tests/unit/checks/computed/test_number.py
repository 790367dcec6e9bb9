"""Numbers in answers: read from formulas and sentences, compared within tolerances, converted between units."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.checks.computed import number as kind
from pytest_webarena.checks.computed.arithmetic import NoNumber
from pytest_webarena.checks.computed.extraction import final_answers
from pytest_webarena.checks.computed.values import read_number
from pytest_webarena.errors import TaskFileError
from pytest_webarena.testing import make_evidence, make_task, verdict

READ: list[tuple[str, float]] = [
    ("1 000 000", 1000000),
    ("1\\,000\\,000", 1000000),
    ("12\u202f000 km", 12000),
    ("5 m/s^2 downward", 5),
    ("The value of f(2) is 9", 9),
    ("5", 5),
    ("The answer is 42.", 42),
    ("$\\frac{3}{4}$", 0.75),
    ("x = 3/4", 0.75),
    ("x = 2/3 ≈ 0.667", 0.6666666666666666),
    ("about 3.14", 3.14),
    ("\\(\\sqrt{2}\\)", 1.4142135623730951),
    ("It is $\\sqrt{2}$, approximately 1.414.", 1.4142135623730951),
    ("2\\pi", 6.283185307179586),
    ("1.2×10^-3", 0.0012),
    ("1.5x10^3 J", 1500),
    ("5 m/s", 5),
    ("v = 5 m/s", 5),
    ("The speed is 18 km/h", 18),
    ("9.8 m/s²", 9.8),
    ("9.8 m s^{-2}", 9.8),
    ("F = ma = 10 N", 10),
    ("$x = 5$", 5),
    ("\\boxed{7}", 7),
    ("1,234.50", 1234.5),
    ("$1,234.50", 1234.5),
    ("-3", -3),
    ("\u22123", -3),
    ("\u2212$3.50", -3.5),
    ("45%", 45),
    ("seven", 7),
    ("There are 12 apples in 2023-01-05", 12),
    ("5 \\times 10^{-19} \\text{ J}", 5e-19),
    ("\\frac{\\sqrt{3}}{2}", 0.8660254037844386),
    ("e^{-2}", 0.1353352832366127),
    ("T = 300\\,\\mathrm{K}", 300),
    ("25 °C", 25),
    ("6.02e23", 6.02e23),
    ("10^{-5}", 1e-05),
    ("v_0 = 3.5 m/s", 3.5),
    ("H2O mass 18.015 g/mol", 18.015),
    ("f(2) = 9", 9),
    ("2 1/2", 2.5),
    ("0.5", 0.5),
    (".5", 0.5),
    ("approximately 5.0 seconds", 5),
    ("1e5", 100000.0),
    ("1E5", 100000.0),
    ("100,000", 100000),
    ("3.0 × 10⁸ m/s", 300000000.0),
    ("$$\\frac{1}{3}$$", 0.3333333333333333),
    ("The total is $12.50.", 12.5),
    ("The result: \\[ 4 \\]", 4),
    ("(5)", 5),
    ("5 J/(mol*K)", 5),
    ("2/3 (0.667)", 0.6666666666666666),
    ("0.667 = 2/3", 0.6666666666666666),
    ("7 apples", 7),
    ("it takes 5 minutes", 5),
    ("-1/2", -0.5),
    ("(1+sqrt(5))/2", 1.618033988749895),
    ("about 1.6e-19 C.", 1.6e-19),
    ("3/4 of the cake", 0.75),
    ("ln 2", 0.6931471805599453),
    ("\\ln(2)", 0.6931471805599453),
    ("50\\%", 50),
    ("1.0", 1.0),
    ("**42**", 42),
    ("Energy: 5.3 eV", 5.3),
    ("a = 2, b = 2", 2),
    ("\\frac{22}{7}", 3.142857142857143),
    ("√3/2", 0.8660254037844386),
    ("3√2", 4.242640687119286),
    ("π", 3.141592653589793),
    ("pi", 3.141592653589793),
    ("2\\cdot 10^{5}", 200000.0),
    ("answer 5", 5),
    ("= 5", 5),
    ("≈5", 5),
    ("1.38 \\times 10^{-23}\\ \\mathrm{J/K}", 1.38e-23),
    ("0.5 (50%)", 0.5),
    ("5 × 10 = 50", 50),
    ("-\\frac{1}{2}", -0.5),
    ("\\frac{10}{3}\\text{ meters}", 3.3333333333333335),
    ("5 meters per second", 5),
    # in words
    ("two thirds", 2 / 3),
    ("two hundred", 200),
    ("minus seven", -7),
    ("negative 8.5", -8.5),
    ("It comes to three hundred and forty-one.", 341),
    ("three and a half", 3.5),
    ("one point zero five", 1.05),
    ("sixteen (16)", 16),
    ("4.1 times 10 to the power of minus 7", 4.1e-7),
    # powers and separators
    ("1.9 x 10-27 kg", 1.9e-27),
    ("7.3 e-4", 7.3e-4),
    ("6.6743(15)×10^-11", 6.6743e-11),
    ("47 000 km", 47000),
    ("3.2 quadrillion", 3.2e15),
    ("15k", 15000),
    ("6‰", 0.006),
    # closed forms
    ("log_10(1000)", 3),
    ("\\log_{2} 32", 5),
    ("\\log 7", math.log(7)),
    ("lg 0.01", -2),
    ("6!", 720),
    ("\\frac{7!}{3!4!}", 35),
    ("\\binom{7}{3}", 35),
    ("\\cos^{-1}(1/2)", math.pi / 3),
    ("\\sin^2 30^\\circ", 0.25),
    ("the square root of 48", math.sqrt(48)),
    ("-four", -4),
    ("The probability is 3/8, or 37.5%.", 0.375),
    ("|-4|", 4),
    ("\\left|-\\frac{1}{8}\\right|", 0.125),
    ("\\sin 30^\\circ", 0.5),
    ("tan(45 degrees)", 1),
    ("The entropy is ln 3", math.log(3)),
    ("√¼", 0.5),
    ("∛27", 3),
    # worked out
    ("$8 \\times 9 = 72$", 72),
    ("3! = 6", 6),
    ("$p = 2mv = 2 \\times 3 \\times 4 = 24$", 24),
    ("The work done is 0.5 * 4 * 3^2 = 18 J", 18),
    ("\\lvert\\vec{F}\\rvert = \\sqrt{6^2+8^2} = 10", 10),
    ("\\sin 60^\\circ = 0.866", math.sin(math.pi / 3)),
    ("pH = -log(0.001) = 3", 3),
    ("\\int_0^2 3x^2\\,dx = 8", 8),
    ("\\lim_{n\\to\\infty} a_n = 7", 7),
    # how exact it is, and how sure
    ("4.2 \\pm 0.1", 4.2),
    ("(8.00 +/- 0.03) m", 8),
    ("17.3 ± 1%", 17.3),
    ("6.28 (3 s.f.)", 6.28),
    ("0.577 (to 3 decimal places)", 0.577),
    # what is around it
    ("print(12.5)", 12.5),
    ("pow(2, 5)", 32),
    ("np.sqrt(49)", 7),
    ("<answer>19</answer>", 19),
    ("| depth | 31 m |", 31),
    ("P(X ≥ 2) = 0.6", 0.6),
    ("⇒ n = 11", 11),
    ("From equation 4 it follows that k = 13.", 13),
    ("The answer is 3, not 2.", 3),
    ("\\sigma^2 = 31", 31),
    ("31 units²", 31),
    ("7.1826, which rounds to 7.18", 7.1826),
    ("17 rather than 18", 17),
    ("3 in 8", 0.375),
    # said of something
    ("$a = g\\sin\\theta \\approx 4.9\\ \\text{m/s}^2$", 4.9),
    ("The speed at the kerb is 5 m/s", 5),
    ("By symmetry, the field is 5 N/C.", 5),
    ("$\\langle x \\rangle = 7.5$", 7.5),
    ("\\Delta H = 4.2 kJ/mol", 4.2),
    ("\\sum_{n=0}^{\\infty} 2^{-n} = 2", 2),
    ("There are 5! = 120 ways.", 120),
    ("7.5 square units", 7.5),
    ("The roots add up to 12.", 12),
    ("\\SI{44}{\\newton}", 44),
]
REFUSED = [
    "x = 2 or x = -2",
    "3 or 4",
    "NaN",
    "inf",
    "2x",
    "3 + y",
    "45 + 8 minutes",
    "12*34",
    "2x = 10",
    "between 3 and 4",
    "3-4",
    "x > 5",
    "not 5",
    "It is not 5",
    "5 is wrong",
    "x^2 = 4",
    "x = 4 = 2y",
    "3y = 12",
    "\\pm 3",
    "3i",
    "3+4i",
    "\\infty",
    "1/0",
    "10**10**10",
    "The ratio is 3:4",
    "1/2 = 0.6",
    "n = 3, m = 4",
    "1 + sqrt(5)) / 2",
    "half",
    "1.2.3",
    "2023-01-05",
    "10 to 20",
    # bounds
    "at least 12",
    "no more than 12",
    "fewer than twelve",
    "12 or more",
    "12+",
    "above 12",
    "x → 12",
    # denied, or not known
    "It cannot be 12.",
    "anything but 12",
    "12 is too large",
    "nowhere near 12",
    "12 does not satisfy it",
    "any number but 12",
    "in the range 12",
    "[12, \\infty)",
    "12 N_A",
    "12 \\mu_0",
    "12 (x)",
    "close to 12 but larger",
    "12?",
    "I don't know, 12 perhaps",
    "It is undefined at 12",
    "non-zero",
    "not twelve",
    # left to be worked out
    "half of 12",
    "twice 12",
    "12 squared",
    "12 and a half",
    "one over 12",
    "12√x",
    "12 \\cdot \\infty",
    "12(x+1)",
    "two pi",
    "3 x 4 and no more",
    "two three",
    "the square of 12",
    "12\\hbar",
    "12 kT",
    # two numbers
    "12..13",
    "5 ± 4",
    "2 ± \\sqrt{3}",
    "+/- 12",
    "3 × 4 = 13",
    "0.3 = 0.3%",
    # names and places
    "chapter 12",
    "x_{12}",
    "the 12th",
    "The answer is 12!",
    # what is not understood beside it
    "hardly 12",
    "twice as much as 12",
    "12 more than x",
    "12 below zero",
    "log of 12",
    "minimum 12",
    "at best 12",
    "12 or twelve hundred",
    "12, maybe six",
    "12 lakh",
    "12-fold",
    "either 12 or its negative",
    "certainly no 12",
    "12 tops",
    "12 and counting",
    "nicht 12",
    "false: 12",
    "12 contradicts it",
    "\u279612",
    "⪅12",
    "¬12",
    "12 a day",
    "I refuse. 12",
    "12. Not really.",
    "By the wrong method, 12",
    "12 is out",
    "-v = 12",
    "ln v = 12",
    "sqrt(v) = 12",
    "an increase of 12",
    "12 is an error",
    "(2,4)",
]


def read(text: str) -> float:
    (said,) = final_answers(text, marker=False).texts
    return float(read_number(said).written.value)


@pytest.mark.parametrize(("text", "value"), READ)
def test_a_number_is_read_by_its_value(text: str, value: float) -> None:
    assert read(text) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("text", REFUSED)
def test_what_gives_no_single_number_is_refused(text: str) -> None:
    with pytest.raises(NoNumber):
        read(text)


def judged(check: str, answer: str | None, intent: str = "How much?") -> tuple[float | None, str]:
    task = make_task(f"intent: {intent}\nsites: []\nchecks: [{{number: {check}}}]")
    (result,) = verdict(task, make_evidence(answer=answer)).results
    return result.score, result.why


@pytest.mark.parametrize(
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
        ("{one_of: [2, -2]}", "2 or -2", 0),
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
        ("{is: 5, unit: m/s}", "5 widgets", 0),
        ("{is: 298.15, unit: K}", "25 °C", 1),
        ("{is: 1, unit: kWh}", "3.6 MJ", 1),
        ("{is: 2, unit: N*m}", "2 J", 1),
        ("5", "5 m/s", 1),
        ("0.4", "40%", 1),
        ("0.4", "0.4%", 0),
        ("40", "40 %", 1),
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
        ("{is: 150, unit: min}", "2 h and 40 min", 0),
        ("{is: 20, unit: degC}", "20 C", 1),
        ("{is: 3.1, unit: m/s}", "3.1 ms⁻¹", 1),
        ("{is: 3.1, unit: m/s}", "3.1 ms", 0),
        ("{is: 3.1, unit: m/s}", "3.1 m.s-1", 1),
        ("{is: 3.1, unit: N*m}", "3.1 newton-meters", 1),
        ("{is: 3.1, unit: kWh}", "3.1 kilowatt-hours", 1),
        ("{is: 3.1, unit: m}", "310 cm (3.1 m)", 1),
        ("{is: 3.1, unit: m}", "3.1 m = 310 cm", 1),
        ("{is: 3.1, unit: m}", "3.1 m (31 cm)", 0),
        ("{is: 3.1, unit: T}", "3.1 N/(A·m)", 1),
        ("{is: 3.1, unit: Hz}", "3.1 1/s", 1),
        ("{is: 293.15, unit: K}", "20 degrees Celsius", 1),
        ("{is: 7, unit: K}", "7 degrees Kelvin", 1),
        ("{is: 7, unit: mol/L}", "7000 mM", 1),
        ("{is: 7, unit: um}", "7 microns", 1),
        ("{is: 7, unit: m/s}", "7 (m/s)^2", 0),
        ("{is: 7, unit: m^2/s^2}", "7 (m/s)^2", 1),
        ("{is: 7, unit: m^2/s^2}", "7 (m/s)²", 1),
        ("{is: 7, unit: m/s}", "7 blarg/s", 0),
        ("{is: 7, unit: m/s}", "$7", 0),
        ("{is: 7, unit: m/s}", "7 €", 0),
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
        ("{is: 7, unit: m/s}", "7 km/s (= 7 m/s)", 0),
        ("{is: 7, unit: m/s}", "7 ㎞/s", 0),
        ("{is: 7, unit: m/s}", "7 m/s to the north", 1),
        ("{is: 7, unit: m/s}", "7 m/s each second", 0),
        ("{is: 7, unit: kg}", "7 kg of water", 1),
        ("{is: 7, unit: kg}", "7 crates", 0),
    ],
)
def test_tolerances_and_units(check: str, answer: str, score: float) -> None:
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
    assert judged("5", "5 or twelve")[1] == "it gives several numbers: 5, twelve"
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
    assert judged("7", "Each gnome gets 7 turnips.", "How many turnips are there for 3 gnomes?")[0] == 0
    assert judged("7", "There are 7 turnips for a gnome.", "How many turnips are there for a gnome?")[0] == 1
    assert judged("7", "7 turnips", "How many turnips?")[0] == 1
    assert judged("7", "7 turnips", "How many gnomes?")[0] == 0
    assert judged("7", "The smallest width is 7.", "What is the smallest width?")[0] == 1
    assert judged("7", "twice 7", "What is it if twice as many come?")[0] == 0
    assert judged("7", "ln K = 7", "What is ln K?")[0] == 1
    assert judged("7", "an increase of 7", "What is the increase in cost?")[0] == 1
    assert judged("7", "not 7", "Which number is not even?")[0] == 0


def test_units_cannot_be_converted_without_pint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "units_there", lambda: False)
    assert judged("{is: 5, unit: m/s}", "5 m/s")[0] == 1
    score, why = judged("{is: 5, unit: m/s}", "18 km/h")
    assert score is None
    assert "pytest-webarena[math]" in why


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_dealt_with_at_once(text: str) -> None:
    began = time.process_time()
    judged_score = judged("{is: 12345, rel: 1%}", text)[0]
    assert judged_score == 0
    assert time.process_time() - began < 2  # of the processor: what is promised, whatever else the machine does


_PIECES = [
    *"0123456789.,+-*/^(){}[]=$%\\ eixm_",
    "\\frac",
    "\\sqrt",
    "\\pi",
    "pi",
    "sqrt",
    "\\boxed{",
    "10^",
    "≈",
    "m/s",
    "√",
    "²",
    "\n",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=60).map("".join))
def test_whatever_is_written_is_a_number_or_none(text: str) -> None:
    for said in final_answers(text, marker=False).texts:
        try:
            value = read_number(said).written.value
        except NoNumber:
            continue
        assert isinstance(value, float | int) is False or math.isfinite(value)


def test_agents_are_told_the_form_of_the_answer() -> None:
    task = make_task("intent: x\nsites: []\nchecks: [{number: {is: 5, unit: m/s, sig_figs: 2, marker: true}}]")
    told = kind.NUMBER.asks(task.checks[0].spec) if kind.NUMBER.asks else ""
    assert "measured in m/s" in told
    assert "ANSWER:" in told
    assert "2 significant figures" in told
    assert "5 " not in told


@pytest.mark.parametrize("answer", ["N/A 408", "n/a 408", "None of them is 408", "none of the sums equals 408"])
def test_who_says_that_there_is_none_gives_no_number(answer: str) -> None:
    assert judged("408", answer)[0] == 0
