"""Shipped questions with formula answers, verified numerically and independently of the package's parser."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import sympy as sp
from mpmath import diff, findroot, mp, odefun, polyroots, quad

from pytest_webarena.actions import Stop
from pytest_webarena.checks.computed.building import build
from pytest_webarena.checks.computed.confined_process import run_confined
from pytest_webarena.checks.computed.grammar import parse
from pytest_webarena.checks.computed.symbolic import SymbolicSpec, decide_alone
from pytest_webarena.checks.computed.tree import Node
from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.model import Task
from pytest_webarena.testing import make_evidence, verdict
from tests.cases import each_case

_FOLDER = Path(__file__).parents[3] / "tasks" / "computed"
TASKS = {task.id.removeprefix("computed-formula-"): task for task in load_tasks(_FOLDER / "formulas.yaml")}

Worked = Callable[..., Any]


def tangent(x: float) -> float:
    return 4 + float(diff(lambda x: x**3 - 2 * x, 2)) * (x - 2)


def waits(p: float, n: float) -> float:
    """Probability that no trial up to ``n`` succeeds, by subtraction."""
    return 1 - sum(p * (1 - p) ** k for k in range(int(n)))


def inverse(a: float) -> list[list[float]]:
    matrix = mp.matrix([[a, 1], [1, a]]) ** -1
    return [[float(matrix[i, j]) for j in range(2)] for i in range(2)]


def eigenvalues(b: float) -> list[float]:
    return sorted(float(mp.re(value)) for value in mp.eig(mp.matrix([[3, b], [b, 3]]), left=False, right=False))


def rectangle(a: float, b: float) -> float:
    angle = findroot(lambda t: diff(lambda t: 4 * a * mp.cos(t) * b * mp.sin(t), t), 0.8)
    return float(4 * a * mp.cos(angle) * b * mp.sin(angle))


def pulley(M: float, m: float, g: float) -> float:
    solved = mp.lu_solve(mp.matrix([[M, 1], [m, -1]]), mp.matrix([M * g, -m * g]))
    return float(solved[1])


def divider(U: float, R_1: float, R_2: float, R_3: float) -> float:
    """The node's voltage from the sum of currents."""
    return float(findroot(lambda v: (U - v) / R_1 - v / R_2 - v / R_3, 1))


def cooled(k: float, t: float) -> float:
    return float(odefun(lambda _, y: -k * (y - 20), 0, 90)(t))


def swung(t: float) -> float:
    return float(odefun(lambda _, y: [y[1], -4 * y[0]], 0, [3, 2])(t)[0])


def ionised(K: float, c: float) -> float:
    return float(max(mp.re(root) for root in polyroots([1, K, -K * c])))


def bucket(r: float, h: float) -> float:
    return float(quad(lambda z: mp.pi * (r + r * z / h) ** 2, [0, h]))


def rolled(g: float, h: float) -> float:
    """Speed from the energies of both motions, with the moment of inertia summed over slices."""
    inertia = quad(lambda z: mp.pi * (1 - z**2) ** 2 / 2, [-1, 1]) / quad(lambda z: mp.pi * (1 - z**2), [-1, 1])
    return float(mp.sqrt(2 * g * h / (1 + inertia)))


def crossed(t: float) -> list[float]:
    a, b = (1, t, 0), (0, 1, t)
    return [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]


WORKED_OUT: dict[str, tuple[str, Worked, tuple[str, ...]]] = {
    # variables, the calculated value, wrong answers
    "tangent": ("x", tangent, ("y = 10x - 4", "y = 12x - 16", "10x + 16")),
    "third-derivative": (
        "x",
        lambda x: float(diff(lambda x: x**2 * mp.exp(2 * x), x, 3)),
        ("8x^2 e^{2x}", "e^{2x}(4x^2 + 8x + 2)"),
    ),
    "motion": ("t", swung, (r"3\cos 2t + 2\sin 2t", r"3\cos t + 2 \sin t")),
    "cooling": ("k t", cooled, ("20 + 70e^{kt}", "90e^{-kt}")),
    "inverse-function": (
        "x",
        lambda x: float(findroot(lambda y: (2 * y + 1) - x * (y - 3), 10)),
        (r"\frac{x-3}{2x+1}", r"\frac{3x-1}{x-2}"),
    ),
    "odd-cubes": ("n", lambda n: sum(k**3 for k in range(1, 2 * int(n), 2)), ("n^2(n+1)^2/4", "n^2(2n^2+1)")),
    "inverse-matrix": ("a", inverse, ("[[a, -1], [-1, a]]", "[[1/a, 1], [1, 1/a]]")),
    "eigenvalues": ("b", eigenvalues, (r"3 + b", r"\pm 3 + b", "{3, b}")),
    "perpendicular": ("t", crossed, ("(t^2, t, 1)", "t^2 - t + 1", r"\{t^2, -t, 1\}")),
    "frustum": ("r h", bucket, (r"\pi r^2 h", r"5\pi r^2 h/2")),
    "largest-rectangle": ("a b", rectangle, ("ab", "4ab", r"\pi ab")),
    "geometric-wait": ("p n", waits, ("p(1-p)^n", "1 - (1-p)^n", "(1-p)^{n-1}")),
    "larger-of-two": (
        "L",
        lambda L: float(quad(lambda d: d * 2 * (L - d) / L**2, [0, L])),
        ("L/2", "2L/3"),
    ),
    "pulley": ("M m g", pulley, (r"\frac{(M-m)g}{M+m}", r"\frac{M m g}{M+m}")),
    "rolling": ("g h", rolled, (r"\sqrt{2gh}", r"\sqrt{\frac{4gh}{3}}")),
    "divider": ("U R_1 R_2 R_3", divider, (r"\frac{U R_2}{R_1+R_2}", "U R_3/(R_1+R_2+R_3)")),
    "weak-acid": ("K c", ionised, (r"\sqrt{Kc}", r"\frac{-K - \sqrt{K^2+4Kc}}{2}")),
}


def passes(task: Task, answer: str) -> bool | None:
    return verdict(task, make_evidence(answer=answer)).passed


def numbers(tree: Node, place: dict[str, Any]) -> Any:
    """Return the numeric value of a formula, or of all its parts."""
    if tree.op == "relation":
        return numbers(tree.parts[-1], place)
    if tree.op in ("set", "tuple"):
        return [numbers(part, place) for part in tree.parts]
    value = build(tree).subs({sp.Symbol(name): sp.Rational(number) for name, number in place.items()})
    return (
        [[float(cell) for cell in row] for row in value.tolist()] if isinstance(value, sp.MatrixBase) else float(value)
    )


def flat(values: Any) -> list[float]:
    return [each for part in values for each in flat(part)] if isinstance(values, Sequence) else [float(values)]


def test_formula_questions_cover_many_subjects() -> None:
    assert len(TASKS) >= 15
    assert len({task.source["subject"] for task in TASKS.values()}) >= 8
    assert all(not task.sites for task in TASKS.values())


@each_case("id", WORKED_OUT)
def test_formula_references_equal_calculated_values(id: str) -> None:
    names, worked, _ = WORKED_OUT[id]
    spec: Any = TASKS[id].checks[0].spec
    assert isinstance(spec, SymbolicSpec)
    tree = parse(spec.equals[0], spec.variables).tree
    for start in (3, 5):
        place: dict[str, Any] = {name: start + at for at, name in enumerate(names.split())}
        if "p" in place:
            place["p"] = "3/10"
        there = {name: float(sp.Rational(value)) for name, value in place.items()}
        wanted, found = flat(worked(**there)), flat(numbers(tree, place))
        if id == "eigenvalues":
            found.sort()
        assert found == pytest.approx(wanted, rel=1e-6)


def test_by_parts_reference_is_an_antiderivative() -> None:
    spec: Any = TASKS["by-parts"].checks[0].spec
    tree = parse(spec.equals[0]).tree
    area = numbers(tree, {"x": 3, "C": 0}) - numbers(tree, {"x": 1, "C": 0})
    assert area == pytest.approx(float(quad(lambda x: x**2 * mp.log(x), [1, 3])))
    assert [passes(TASKS["by-parts"], wrong) for wrong in (r"\frac{x^3}{3}\ln x + C", "x^3 ln(x)/3 - x^3/9")] == [
        False
    ] * 2


def test_biquadratic_reference_has_all_solutions() -> None:
    spec: Any = TASKS["biquadratic"].checks[0].spec
    roots = sorted(float(mp.re(root)) for root in polyroots([1, 0, -5, 0, 6]))
    assert sorted(flat(numbers(parse(spec.equals[0]).tree, {}))) == pytest.approx(roots)
    assert not passes(TASKS["biquadratic"], r"\sqrt 2, \sqrt 3")


def test_inequality_reference_has_the_right_intervals() -> None:
    held = [x / 10 for x in range(-100, 100) if abs(2 * x / 10 - 5) >= 3]
    assert held == [x / 10 for x in range(-100, 100) if x / 10 <= 1 or x / 10 >= 4]
    for right in ("|2x-5| >= 3", "x ≤ 1 or x ≥ 4", r"x \notin (1, 4)", r"\mathbb{R} \setminus (1, 4)"):
        assert passes(TASKS["inequality"], right) or right.startswith(("|2x", r"x \notin"))
    assert not any(passes(TASKS["inequality"], wrong) for wrong in ("1 <= x <= 4", "x < 1 or x > 4", "x >= 4"))


@each_case("task", TASKS.values(), ids=list(TASKS))
def test_solutions_pass_and_intents_fail(task: Task) -> None:
    (stop,) = task.solution or ()
    assert isinstance(stop, Stop)
    assert passes(task, stop.answer)
    assert not passes(task, task.intent)


@each_case(("id", "wrong"), [(id, wrong) for id, (_, _, many) in WORKED_OUT.items() for wrong in many])
def test_wrong_formulas_fail(id: str, wrong: str) -> None:
    assert passes(TASKS[id], wrong) is False


def test_no_solution_passes_another_question() -> None:
    """Judges a sample of the pairs in one process; one process per pair costs ten times as much."""
    solutions = {id: task.solution[0].answer for id, task in TASKS.items() if task.solution}  # type: ignore[union-attr]
    specs: dict[str, Any] = {id: task.checks[0].spec for id, task in TASKS.items()}
    sample = [(one, other) for one, other in itertools.permutations(solutions, 2) if math.comb(len(one), 2) % 7 == 0]
    assert len(sample) > 50

    def judged() -> list[tuple[str, str, str]]:
        return [(one, other, decide_alone(specs[one], solutions[other] or "")[0]) for one, other in sample]

    assert [each for each in run_confined(judged, seconds=100) if each[2] == "equal"] == []
