"""Shipped questions without sites: references are recalculated, and solutions pass."""

from __future__ import annotations

import math
from pathlib import Path

from pytest_webarena.actions import Stop
from pytest_webarena.checks import judge
from pytest_webarena.checks.computed.choice import ChoiceSpec
from pytest_webarena.checks.computed.number import NumberSpec
from pytest_webarena.checks.computed.rubric import RubricSpec
from pytest_webarena.checks.judge_protocol import Award, Grade, Question
from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.model import Task
from pytest_webarena.testing import make_evidence, verdict
from tests.cases import each_case

_FOLDER = Path(__file__).parents[3] / "tasks" / "computed"
TASKS = {task.id: task for name in ("numbers", "choices") for task in load_tasks(_FOLDER / f"{name}.yaml")}

WORKED_OUT: dict[str, float] = {
    "computed-tiles": 14 * 12,
    "computed-three-discounts": 240 * 0.85 * 0.9 * 0.95,
    "computed-train-meets": 312 / (84 + 72),
    "computed-mean-without": 9 * 17 - 8 * 15.5,
    "computed-egyptian": 1 / 3 + 1 / 7 + 1 / 15,
    "computed-digits-sum": sum(map(int, str(2**20))),
    "computed-trailing-zeros": 130 // 5 + 130 // 25 + 130 // 125,
    "computed-gcd": math.gcd(1638, 2457),
    "computed-remainder": pow(7, 100, 13),
    "computed-divisors": sum(720 % d == 0 for d in range(1, 721)),
    "computed-quadratic-roots": 7,
    "computed-larger-root": 2 + math.sqrt(3),
    "computed-two-unknowns": (31 + 2 * 17) / 13,
    "computed-geometric-series": 6 / (1 - 2 / 3),
    "computed-logarithm": math.log(75) / math.log(9),
    "computed-determinant": 2 * (-1 * 0 - 4 * 2) - 1 * (0 * 0 - 4 * 5) + 3 * (0 * 2 + 1 * 5),
    "computed-hexagon": 6 * math.sqrt(3),
    "computed-cone": math.pi * 9 * 7 / 3,
    "computed-diagonal": math.sqrt(9 + 16 + 144),
    "computed-heron": math.sqrt(21 * 8 * 7 * 6),
    "computed-chord": 2 * math.sqrt(100 - 36),
    "computed-arc": 8 * math.radians(135),
    "computed-derivative": 3 * math.e**2 + math.e**2,
    "computed-integral": math.pi / 2,
    "computed-limit": 4.5,
    "computed-area-between": (9 + 9 - 9) - (1 - 3 + 1 / 3),
    "computed-maximum": 2 / math.e,
    "computed-dice-sum": sum(a + b + c == 10 for a in range(1, 7) for b in range(1, 7) for c in range(1, 7)) / 216,
    "computed-committee": math.comb(6, 2) * math.comb(5, 2) / math.comb(11, 4),
    "computed-test-positive": 0.005 * 0.98 / (0.005 * 0.98 + 0.995 * 0.03),
    "computed-expected-draws": 4,
    "computed-arrangements": math.factorial(7) // 4,
    "computed-free-fall": 9.81 * 9 / 2,
    "computed-braking": 1200 * 30**2 / (2 * 60),
    "computed-pendulum": 9.81 / math.pi**2,
    "computed-resistors": 1 / (1 / 6 + 1 / 12 + 1 / 4),
    "computed-photon": 6.626e-34 * 3e8 / 500e-9,
    "computed-ice-melts": 0.25 * 334000,
    "computed-lens": 1 / (1 / 12 - 1 / 30),
    "computed-orbit": 2 * math.pi * 7.1e6 / 7500 / 60,
    "computed-half-life": 42 / 3,
    "computed-molar-mass": 40.08 + 12.01 + 48,
    "computed-ph": -math.log10(0.005),
    "computed-dilution": 0.3 * 500 / 6,
    "computed-ideal-gas": 2 * 8.314 * 300 / 150e3 * 1000,
}


def test_computed_questions_cover_many_subjects() -> None:
    assert len(TASKS) >= 60
    assert len({task.source["subject"] for task in TASKS.values()}) >= 8
    assert all(not task.sites for task in TASKS.values())


def test_every_number_question_is_recalculated() -> None:
    numbers = {id for id, task in TASKS.items() if isinstance(task.checks[0].spec, NumberSpec)}
    assert numbers == set(WORKED_OUT)


@each_case(("id", "value"), WORKED_OUT.items())
def test_number_references_equal_calculated_values(id: str, value: float) -> None:
    task = TASKS[id]
    assert passes(task, f"{value:.12g}")
    assert not passes(task, f"{value * 1.05 + 0.1:.12g}")


@each_case("task", TASKS.values(), ids=list(TASKS))
def test_solutions_pass_and_other_options_fail(task: Task) -> None:
    (stop,) = task.solution or ()
    assert isinstance(stop, Stop)
    assert passes(task, stop.answer)
    assert not passes(task, task.intent)
    spec = task.checks[0].spec
    if isinstance(spec, ChoiceSpec):
        letters = [chr(65 + index) for index in range(len(spec.options))]
        assert [letter for letter in letters if passes(task, letter)] == [stop.answer]


PROOFS = {task.id: task for task in load_tasks(_FOLDER / "proofs.yaml")}


class Scripted:
    """A judge that gives all points and quotes the beginning of the answer as evidence."""

    def ask(self, question: Question) -> Grade:
        awards = tuple(Award(points=item.points, quote=question.answer[:40]) for item in question.items)
        return Grade(decision="correct", awards=awards, replies=("",), model="m", prompt="p", temperature=0.0)


@each_case("task", PROOFS.values(), ids=list(PROOFS))
def test_rubrics_have_ten_points_and_solutions_pass(task: Task) -> None:
    spec = task.checks[0].spec
    assert isinstance(spec, RubricSpec)
    assert spec.most == 10
    assert len(spec.items) >= 3
    assert max(item.points for item in spec.items) < 10 * spec.threshold  # no single step is enough
    (stop,) = task.solution or ()
    assert isinstance(stop, Stop)
    assert passes(task, stop.answer)  # without a judge
    assert passes(task, "N/A") is False
    assert passes(task, task.intent) is None
    found = judge(task, make_evidence(answer="Some answer that is an argument."), asker=Scripted())
    assert found.passed


def test_rubrics_cover_several_subjects() -> None:
    assert len(PROOFS) >= 5
    assert len({task.source["subject"] for task in PROOFS.values()}) >= 5


def passes(task: Task, answer: str) -> bool | None:
    return verdict(task, make_evidence(answer=answer)).passed
