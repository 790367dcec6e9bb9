"""What is said around formulas: sentences, units, the same once more, what names mean; and sets of numbers in words."""

from __future__ import annotations

from pytest_webarena.checks.computed.comparing import Terms, compare
from pytest_webarena.checks.computed.endings import unit_of, without_ending
from pytest_webarena.checks.computed.prose import statement
from tests.cases import each_case


@each_case(
    ("text", "formula"),
    [
        (r"The escape velocity is $v = \sqrt{2GM/R}$.", r"v = \sqrt{2GM/R}"),
        ("From $F = ma$ and $F = kx$ we get $a = kx/m$.", "a = kx/m"),
        ("$a = kx/m$, where $k$ is the stiffness.", "a = kx/m"),
        ("The roots are $x = 2$ and $x = 3$.", "x = 2  and  x = 3"),
        ("So the speed is 2gh", "2gh"),
        ("We find T = 2s. This holds for all planets.", None),
        ("The force is $F = 1$. This is wrong.", None),
        ("The force is not $F = 1$.", None),
        ("It is $x$ or maybe that of $y$.", None),
        ("It would be $x$ if there were none.", None),
        ("Here $a$ of $b$ are the sides.", None),
    ],
)
def test_the_last_formula_that_words_lead_up_to(text: str, formula: str | None) -> None:
    said = statement(text)
    assert (said.formula if said else None) == formula


@each_case(
    ("text", "stated"),
    [
        (r"The escape velocity is $\sqrt{2GM/R}$.", True),
        (r"By energy conservation, $v = \sqrt{2GM/R}$.", True),
        (r"The orbital velocity is $\sqrt{2GM/R}$.", False),
        (r"A third of the escape velocity is $\sqrt{2GM/R}$.", False),
        (r"$\sqrt{2GM/R}$ is the orbital velocity", False),
    ],
)
def test_the_task_accounts_for_the_words_of_a_clause(text: str, stated: bool) -> None:
    assert (statement(text, "Find the escape velocity of a planet.") is not None) is stated


@each_case("unit", ["m/s", "kg m^2 s^{-2}", r"\mathrm{m\,s^{-2}}", r"\text{J/(mol K)}", "rad/s", "square units"])
def test_units(unit: str) -> None:
    assert unit_of(unit) is not None


@each_case("text", ["x", "y/z", "", "hbar", "3"])
def test_no_units(text: str) -> None:
    assert unit_of(text) is None


@each_case(
    ("text", "left"),
    [
        ("9.8 m/s", "9.8"),
        ("v m/s", "v m/s"),
        ("v joules", "v"),
        ("g m", "g m"),
        (r"m g \text{ N}", "m g"),
        ("pq/n where q = 1 - p", r"pq/n \where q = 1 - p"),
        ("f(x) (x + 1)", "f(x) (x + 1)"),
    ],
)
def test_what_stands_behind_a_formula(text: str, left: str) -> None:
    assert without_ending(text)[0] == left


def test_an_answer_longer_than_a_formula_says_it_last() -> None:
    steps = "The energy is looked at, then the momentum of both. " * 60
    assert compare("x^2", f"{steps}\n\nSo the area is $x^2$.").verdict == "equal"
    assert compare("x^2", f"{steps}\n\nSo the area is $x^3$.").verdict == "unequal"


@each_case(
    ("reference", "answer", "verdict"),
    [
        (r"(-\infty,-1)\cup(1,\infty)", "|x| > 1", "equal"),
        (r"(-\infty,-1)\cup(1,\infty)", "|x| >= 1", "undecided"),
        (r"(-\infty,-1)\cup(1,\infty)", r"\mathbb{R} \setminus [-1, 1]", "equal"),
        (r"[1, 5]", "|x - 3| <= 2", "equal"),
        ("y = e^x", r"x = \ln y", "equal"),
        ("y = x^2", r"x = \sqrt{y}", "unequal"),
        ("y = 1", "x(y - 1) = 0", "undecided"),
        (r"\frac{du}{dt}", "u_t", "equal"),
        (r"\frac{du}{dt}", "u_x", "undecided"),
        (r"\mathbf{a}\times\mathbf{b}", r"\vec b \times \vec a", "unequal"),
        (r"\mathbf{a}\times\mathbf{b}", r"-\vec b \times \vec a", "equal"),
        (r"x \equiv 2 \pmod 5", "x ≡ 7 (mod 5)", "equal"),
        ("v_{max}", "v_max ± 0", "equal"),
    ],
)
def test_the_same_said_in_another_way(reference: str, answer: str, verdict: str) -> None:
    assert compare(reference, answer).verdict == verdict


FIELD = r"$\frac{q}{4\pi\epsilon_0 r^2}$"
ASKED = "What is the electric field at distance r from a point charge q?"


def judged(answer: str) -> str:
    terms = Terms(intent=ASKED)
    return compare(FIELD.strip("$"), answer.format(FIELD), terms).verdict


@each_case(
    "answer",
    [
        "{}, by Gauss's law",
        "{}, since the field is radial",
        "{} (Coulomb's law)",
        "{}, directed radially outward",
        "{}, which falls off with distance",
        "{}, as expected from symmetry",
        "Setting $q = q$ gives {}.",
        "The flux is $q$, so the field is {}.",
        "Hence the electric field at distance r is E = q/(4πε₀r²).",
        "E = q/(4πε₀r²) for r > 0",
    ],
)
def test_reasons_directions_and_names_change_nothing(answer: str) -> None:
    assert judged(answer) == "equal"


@each_case(
    "answer",
    [
        "{}, the potential",
        "{}, which has to be integrated",
        "{} (before the correction)",
        "{}, scaled by the dielectric constant",
        "{}, inverted",
        "{}, by a factor",
        "{}, because it is wrong",
        "{}, for a line of charge",
        "{}, pointing the opposite way",
        "Ignoring a factor of 2, the field is {}.",
        "A common misconception is that the field is {}.",
        "The field of a dipole is {}.",
        "Twice the field is {}.",
        "The field is $q$, so the potential is {}.",
        "So the field is q/(4πε₀r²), cubed.",
        "E = q/(4πε₀r²), so the field is E = q/r.",
    ],
)
def test_other_remarks_may_change_a_formula(answer: str) -> None:
    assert judged(answer) != "equal"


@each_case(("answer", "equal"), [("1/3 (about 33.3%)", True), ("1/3, i.e. about 0.333", True), ("1/3 (or 0.5)", False)])
def test_a_value_that_is_given_again_has_to_agree(answer: str, equal: bool) -> None:
    assert (compare("1/3", answer).verdict == "equal") is equal
