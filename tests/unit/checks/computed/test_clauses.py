"""What stands left of a formula and what is said behind it: read wholly, and never passed over."""

from __future__ import annotations

import pytest

from pytest_webarena.checks.computed.clauses import definitions_in
from pytest_webarena.checks.computed.comparing import compare
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree_equality import Terms
from tests.cases import each_case
from tests.unit.checks.helpers import evidence, result

POSITION = "A stone has the initial velocity v0 and the acceleration a. Find its position as a function of time."
MOTION = "The position is $x = a t^2$. Find the velocity of the car."
SQUARE = "Find the derivative of sin(x)^2."
VOLUME = "A sphere grows. What is the rate of change of its volume V with respect to r?"
ROOTS = "Solve $x^2 - 5x + 6 = 0$."
SLOPE = "What is the slope of $y = x^2$ at x?"


@each_case(
    ("reference", "answer", "intent", "verdict"),
    [
        ("2x", "y' = 2x", "", "equal"),
        ("2x", "u' = 2x", "", "unequal"),
        ("2x", "y' = 2x", SLOPE, "equal"),
        ("2x", "y' = 2x", "Find the function whose derivative is 2.", "unequal"),
        ("2x", "y' = 2x", "Solve y'' = 2 by its derivative.", "unequal"),
        ("2x", "y' = 2x", "What is y' if y = x^2?", "equal"),
        ("2x", "y'' = 2x", SLOPE, "unequal"),
        ("2x", "y'' = 2x", "What is the second derivative of x^3/3?", "equal"),
        ("2x", "y' = 2x", "What is the second derivative of x^3/3?", "unequal"),
        ("2 g h", "v^2 = 2gh", "Find $v^2$.", "equal"),
        ("2 g h", "v^2 = 2gh", "Find $v$.", "unequal"),
        ("m g h", "g = m g h", "", "unequal"),
        ("m g h", "2E = m g h", "", "undecided"),
        ("6", "f^{-1}(3) = 6", "What is f(3)?", "unequal"),
        ("6", "f^{-1}(3) = 6", "What is the inverse of f at 3?", "equal"),
        ("6", "x^2 \\in \\{6\\}", "", "undecided"),
        ("x^2/2 + C", "\\int x\\,dx = x^2/2 + C", "", "equal"),
        ("x^2/2 + C", "\\int y\\,dx = x^2/2 + C", "", "undecided"),
        ("x^2/2 + C", "y = \\int x\\,dx = x^2/2 + C", "", "equal"),
        ("\\frac{1}{2}", "\\int_0^1 x^2 dx = \\frac{1}{2}", "", "undecided"),
        ("m g h", "m g h, where g = 2 g", "", "unequal"),
        ("m g h", "m g h, where g = GM/R^2", "", "undecided"),
        ("m g h", "m g h, where g = GM/R^2", "With g = GM/R^2, what is the energy?", "equal"),
        ("m g h", "W h, where W = m g", "", "equal"),
        ("m g h", "W h, where W = m g and h = 2 m", "", "undecided"),
        ("m g h", "W h, where W = 2 F and F = m g / 2", "", "equal"),
        ("C e^x", "A e^x, where A = e^{c}", "", "equal"),
        ("C e^x", "A e^x, where A = x", "", "undecided"),
        ("x^2/2 + C", "x^2/2 + C, where x is constant", "", "undecided"),
        ("2x", "2x (where x is a constant)", "", "equal"),
        ("m g h", "The inverse is m g h", "What is the energy?", "undecided"),
        ("g h", "g h per unit mass", "", "undecided"),
        ("g h", "g h per unit mass", "What is the energy per unit mass?", "equal"),
    ],
)
def test_what_stands_around_a_formula(reference: str, answer: str, intent: str, verdict: str) -> None:
    assert compare(reference, answer, Terms(intent=intent)).verdict == verdict


@each_case(
    ("reference", "answer", "intent", "verdict"),
    [
        *(("v_0 t", f"{left} = v_0 t", POSITION, "unequal") for left in ("dx/dt", "d²x/dt²", r"\ddot x")),
        ("v_0 t", "x'(t) = v_0 t", POSITION, "undecided"),
        ("v_0 t", "x(t) = v_0 t", POSITION, "equal"),
        *(
            ("2 a t", f"{left} = 2 a t", MOTION, "equal")
            for left in ("dx/dt", r"\dot x", "x'(t)", "v", r"\frac{dx}{dt}")
        ),
        *(("2 a t", f"{left} = 2 a t", MOTION, "unequal") for left in ("dt/dx", "dx/da", r"\ddot x", "dm/dt")),
        ("2 a", "dx/dt = 2 a", "The position is x = a t^2. Find the acceleration.", "unequal"),
        ("2 a", "d^2x/dt^2 = 2 a", "The position is x = a t^2. Find the acceleration.", "equal"),
        ("2 a", "dv/dt = 2 a", "The velocity is v = 2 a t. Find the acceleration.", "equal"),
        *((r"\sin 2x", rf"{left} = \sin 2x", SQUARE, "unequal") for left in ("dx/dy", "dt/dx", "dy/dt")),
        *((r"\sin 2x", rf"{left} = \sin 2x", SQUARE, "equal") for left in ("dy/dx", "f'(x)", r"\frac{d}{dx} \sin^2 x")),
        *((r"4\pi r^2", rf"{left} = 4\pi r^2", VOLUME, "unequal") for left in ("dr/dV", "dV/dt", "dA/dr", "V")),
        *((r"4\pi r^2", rf"{left} = 4\pi r^2", VOLUME, "equal") for left in ("dV/dr", "V'(r)", r"\frac{dV}{dr}")),
        ("2x", "dx/dy = 2x", "Let y = x^2. Find dy/dx.", "unequal"),
        ("2x", "y' = 2x", r"Let y = x^2. Find $\frac{dy}{dx}$.", "equal"),
        ("2x", "g'(x) = 2x", "For f(x) = x^2, find the derivative.", "undecided"),
        ("2x", "f'(x) = 2x", "For f(x) = x^2, find the derivative.", "equal"),
        ("2x", "f(x) = 2x", "Find the derivative of f(x) = x^2.", "unequal"),
        ("k", "dh/dt = k", "How fast does the water level h rise?", "equal"),
        ("k", "dh/dx = k", "How fast does the water level h rise?", "unequal"),
        ("k v", "r = k v", "What is the rate of the reaction r?", "equal"),
        ("m w^2", "dK/dt = m w^2", "A disk turns with the angular speed w. What is its kinetic energy?", "unequal"),
        ("q v B", "dF/dt = q v B", "Find the Lorentz force on a charge q moving with velocity v.", "unequal"),
        *((r"\{2, 3\}", f"{left} = 2, 3", ROOTS, "unequal") for left in ("x^2", "5x")),
        (r"\{2, 3\}", "x^2 = 2, 3", "Solve x^2 - 5x + 6 = 0", "unequal"),
        (r"\{2, 3\}", "x = 2, 3", ROOTS, "equal"),
    ],
)
def test_only_the_derivative_that_is_asked_for_may_stand_left(
    reference: str, answer: str, intent: str, verdict: str
) -> None:
    assert compare(reference, answer, Terms(intent=intent)).verdict == verdict


@each_case("answer", ["~~m g h~~", "~~2~~ m g h", "m g h <del>m</del>", "F h, where F = 2 F"])
def test_struck_out_or_circular_is_unread(answer: str) -> None:
    with pytest.raises(Unreadable, match=r"struck out|by F"):
        compare("m g h", answer)


@each_case(
    ("text", "found"),
    [
        ("where q = 1 - p", ("q = 1 - p",)),
        ("where $m$ is the mass, $g$ the gravity and $h$ the height", ()),
        ("(where A and k are constants)", ()),
        ("with $h = 2 m$ and $k = 3$.", ("h = 2 m", "k = 3")),
        (r"where $A = \pi r^2$ is the base area", (r"A = \pi r^2",)),
        ("for $x > 0$", ()),
        ("where C is a function of x", None),
        ("where h is half the height", None),
        ("where C", None),
        ("C = x", None),
    ],
)
def test_clauses_are_read_wholly_or_not_at_all(text: str, found: tuple[str, ...] | None) -> None:
    assert definitions_in(text) == found


def test_the_intent_of_the_task_says_what_is_asked() -> None:
    check = "symbolic: 2x"
    assert result(check, evidence("y' = 2x")).score == 0.0
    assert "only a name may stand left" in result(check, evidence("y' = 2x")).why
