"""What an answer says beside its value: taken from the question, it is understood; against the question, it fails."""

from __future__ import annotations

from pytest_webarena.checks.computed.contrasts import another_symbol
from pytest_webarena.checks.computed.extraction import final_answers
from pytest_webarena.checks.computed.symbolic import SymbolicSpec, decide_alone
from pytest_webarena.checks.computed.tokens import Unreadable
from tests.cases import each_case
from tests.unit.checks.computed.test_said_answers import passes

REST = "What is the remainder when 7^100 is divided by 13?"
PRIMES = "How many prime numbers are there below 20?"
WATER = "What is the mass of 2.5 moles of water? Molar mass 18.0 g/mol."
GAS = "How many moles of CO2 form when 44.1 g of propane (C3H8) burn?"
PH = "What is the pH of the solution?"
PERIOD = "What is the period of a pendulum of length L in gravity g?"


@each_case(
    ("intent", "check", "right", "wrong"),
    [
        (
            REST,
            {"is": 9},
            ["$7^{100} \\equiv 9 \\pmod{13}$", "7^100 ≡ 9 (mod 13)", "9 (mod 13)", "r ≡ 9 (mod 13)"],
            ["8^100 ≡ 9 (mod 13)", "9 (mod 7)", "22 (mod 13)", "9 mod 5", "quotient 9"],
        ),
        (
            PRIMES,
            {"is": 8},
            ["There are 8 primes below 20.", "8 (2, 3, 5, 7, 11, 13, 17, 19)", "8 prime numbers"],
            ["8 primes below 30", "8 (2, 3)", "8 below 20", "composite numbers = 8", "non-prime numbers: 8"],
        ),
        (
            WATER,
            {"is": 45, "unit": "g", "rel": "1%"},
            ["45 g H2O", "45.0 g H₂O", "$45.0\\ \\text{g H}_2\\text{O}$", "45 g of water", "m = 45 g"],
            ["45 g H2", "45 g of hydrogen", "n = 45 g", "45 mol H2O", "45 g H2O2"],
        ),
        (
            GAS,
            {"is": 3, "unit": "mol"},
            ["3 mol CO2", "$3\\ \\text{mol CO}_2$", "3 mol of CO₂", "n = 3 mol"],
            ["3 mol H2O", "3 mol C3H8", "3 mol of propane", "3 mol CO"],
        ),
        (PH, {"is": 2.3}, ["pH = 2.3", "The pH is 2.3"], ["pOH = 2.3", "pKa = 2.3", "[H+] = 2.3"]),
        (
            "What is the probability of two heads?",
            {"is": "5/16"},
            ["The chance is 5/16", "P(X = 2) = 5/16", "$\\binom52(\\frac12)^5 = \\frac{10}{32} = \\frac5{16}$"],
            ["odds are 5/16", "P(X ≠ 2) = 5/16"],
        ),
        ("How long does it take?", {"is": 2}, ["t = 2 s", "T = 2"], ["v = 2 m/s", "error is 2 s", "The square is 2"]),
        ("What is the focal length?", {"is": 20}, ["f = 20 cm", "The focal length is 20 cm"], ["m = 20", "T = 20 s"]),
        ("How many electrons pass?", {"is": 6}, ["6 electrons"], ["6 protons"]),
        ("What is the boiling point?", {"is": 78.4, "unit": "degC"}, ["78.4 C"], ["78.4 coulombs"]),
        ("How much energy is released?", {"is": 4184, "unit": "J"}, ["4 184 J", "E = 4 184 J"], ["4 184, 5 J"]),
        ("What is the exact height?", {"is": "sqrt(3)"}, ["√3 ≈ 2", "√3 = 1.73"], ["√3 = 2"]),
        ("What is the volume?", {"is": "36*pi"}, ["$36\\pi$"], ["$\\frac43\\pi(3)^2 = 36\\pi$"]),
    ],
)  # fmt: skip
def test_a_number_is_said_of_what_is_asked(
    intent: str, check: dict[str, object], right: list[str], wrong: list[str]
) -> None:
    found = {answer: passes("number", intent, check, answer) for answer in (*right, *wrong)}
    assert {answer: why for answer in right for passed, why in [found[answer]] if not passed} == {}
    assert [answer for answer in wrong if found[answer][0]] == []


@each_case(
    ("intent", "reference", "right", "wrong"),
    [
        (
            PERIOD,
            r"2\pi\sqrt{L/g}",
            [
                r"$T=\frac{2\pi}{\omega}=2\pi\sqrt{L/g}$",
                r"$T = 2\pi\sqrt{L/g}$, where $L$ is the length of the string",
                r"$T \approx 2\pi\sqrt{L/g}$ (in gravity)",
            ],
            ["f = 2π√(L/g)", "ω = 2π√(L/g)", "2π√(L/g) where L is the mass", "frequency = 2π√(L/g)"],
        ),
        (
            "Find the position of a particle with initial velocity v0 and acceleration a.",
            r"v_0 t + \frac12 a t^2",
            [r"$x = v_0 t + \frac12 a t^2$", r"$s(t) = v_0 t + \frac12 a t^2$"],
            ["v = v0 t + a t²/2", "v0 t + a t²/2 to the left", "v0 t + a t²/2 downward"],
        ),
        ("Find the electric field.", "k Q/r^2", ["k Q/r^2"], ["k Q/r^2 radially inward"]),
        ("Solve |2x - 1| < 3.", "(-1, 2)", ["(-1, 2)", "-1 < x < 2"], ["-1, 2"]),
        ("Find the vertex of the parabola.", "(-1, 2)", ["-1, 2"], ["2, -1"]),
        (
            "Evaluate 1 + 2 + ... + n.",
            "n(n+1)/2",
            ["S_n = n(n+1)/2"],
            ["S_{n+1} = n(n+1)/2", "1 + 2 + ... + (n+1) = n(n+1)/2"],
        ),
        ("Find the derivative of sin^2 x.", r"\sin 2x", [r"$\sin 2x$"], [r"$(\cos^2 x)' = \sin 2x$"]),
        (
            "What is the force on a charge moving perpendicular to the field B?",
            "q v B",
            ["$F = q v B$"],
            ["$F = q v B$, parallel to B"],
        ),
        ("What is the terminal velocity?", "m g/b", ["$v = mg/b$"], ["m"]),
        ("What is the energy of the spring?", r"\frac12 k A^2", [r"$\frac12 kA^2$", "½ kA²"], ["1/2"]),
        ("What is the moment of inertia?", "M L^2/3", [r"\frac13 ML^2"], ["1/3"]),
    ],
)  # fmt: skip
def test_a_formula_is_said_of_what_is_asked(intent: str, reference: str, right: list[str], wrong: list[str]) -> None:
    spec = SymbolicSpec(equals=(reference,))
    found = {answer: verdict_of(spec, answer, intent) for answer in (*right, *wrong)}
    assert {answer: found[answer] for answer in right if found[answer] != "equal"} == {}
    assert [answer for answer in wrong if found[answer] == "equal"] == []


def verdict_of(spec: SymbolicSpec, answer: str, intent: str) -> str:
    try:
        return decide_alone(spec, answer, intent)[0]
    except Unreadable:
        return "unreadable"


@each_case(
    ("name", "question", "usual"),
    [
        ("f", "What is the period?", "period"),
        ("f", "What is the focal length?", ""),
        ("v", "Find the position of a car that starts with speed v.", ""),
        ("v", "How far does it go?", "far"),
        ("n", "How many moles are there?", ""),
        ("omega", "What is the resonant frequency?", ""),
    ],
)
def test_a_symbol_is_no_other_quantity(name: str, question: str, usual: str) -> None:
    assert another_symbol(name, question) == usual


@each_case(
    "answer",
    [
        "ANSWER: B\nWait, that is wrong. It is A.",
        "ANSWER: B\n\nActually, A.",
        "ANSWER: B\nCorrection: the right answer is A.",
        "```\nANSWER: B\n```\nI would say A instead.",
        "ANSWER: B\nbut my own answer is A.",
        "ANSWER: B. \n\nHmm, let me see.\nNo, it is A.",
        "ANSWER: B\nThis is not correct.",
    ],
)
def test_what_is_taken_back_below_is_no_final_answer(answer: str) -> None:
    for marker in (True, False):
        said = final_answers(answer, marker=marker)
        assert said.texts == ()
        assert "takes it back" in said.missing


@each_case(
    ("answer", "said"),
    [
        ("ANSWER: B\n\nExplanation: A is wrong because iron is solid.", "B"),
        ("ANSWER: B\n\nNo other option fits.", "B"),
        ("ANSWER: B\n+ it melts first", "B"),
        ("ANSWER: 6 × 7\n= 42", "6 × 7 = 42"),
        ("ANSWER: 2x\n+ 1", "2x + 1"),
        ("ANSWER: 5\n\n---\nI checked it twice.", "5"),
        ("ANSWER\uff1aB\u200b", "B"),
    ],
)
def test_what_follows_may_explain_or_go_on(answer: str, said: str) -> None:
    assert final_answers(answer, marker=True).texts == (said,)


@each_case(
    ("answer", "right"),
    [
        ("Lyon because Paris is correct", False),
        ("B, because the correct answer is Paris", False),
        ("B, because I answer falsely", False),
        ("Lyon is wrong.\nB", False),
        ("It can't be Lyon. So B.", False),
        ("B, because Paris is not known for food.", True),
        ("B, because Lyon is correct", True),
        ("Paris is wrong. The answer is B.", True),
    ],
)
def test_a_choice_is_not_spoken_against(answer: str, right: bool) -> None:
    check = {"options": ["Paris", "Lyon", "Marseille"], "is": "B"}
    assert passes("choice", "Which city is known for food?", check, answer)[0] is right
