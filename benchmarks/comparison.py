"""Simulates comparisons of two agents: coverage of intervals, false alarms, early stopping.

    python benchmarks/comparison.py [--part NAME] [--replications 4000] [--seed 1]

Draws templates, tasks and trials from a logistic normal model, in which templates, tasks and the agents' difference
each have a spread. Runs the functions behind ``webarena compare agents`` on them and prints a line per cell:

sample   coverage of the difference's interval, tasks as a sample; target: mean at least 94 %, no cell below 92 %
whole    the same for tasks as the whole set; the same targets
alarms   two runs of one agent; target: `difference_of` finds "worse" in at most 5 % (one side of a 95 % interval)
until    `Watch` after every complete template; targets: false alarms of both sides at most 5 %, and at 1.5 times the
         planned effect at least 30 % fewer trials than the fixed design with the same power
time     two runs of 812 tasks with five trials each; target: at most 3 s of processor time

Exit code 1: a target is missed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pytest_webarena.results.comparing.difference import PairedTask, difference_of, sample_interval, set_interval
from pytest_webarena.results.comparing.sequential import Watch

TASKS = (20, 50, 100, 200, 400, 800)
TRIALS = (1, 2, 3, 5, 10)
RATES = (0.05, 0.3, 0.5, 0.9)
EFFECTS = (0.0, 0.1)
SIZES = ("single", "uneven")
"""Tasks per template: one; or 1, 2, 3, 5 and 9 in turn, 4 on average."""
SPREADS = ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.5, 1.5, 1.0), (3.0, 3.0, 1.0))
"""Standard deviations (in logits) between templates, between a template's tasks, and of the agents' difference between
templates."""

PLANNED = 0.1
"""The effect for which `Watch` is planned."""
LONGEST = 1000
"""The number of tasks in the longest run with `Watch`."""

POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class Cell:
    """One simulated design, and the true rates."""

    tasks: int
    trials: int
    size: str
    rate: float
    effect: float
    spread: tuple[float, float, float]


def chance(logit: np.ndarray | float) -> np.ndarray:
    return 1 / (1 + np.exp(-np.asarray(logit)))


def mean_rate(centre: float, spread: float) -> float:
    """Returns the mean success rate of a population of tasks."""
    return float((WEIGHTS * chance(centre + spread * POINTS)).sum())


def centre_of(rate: float, spread: float) -> float:
    low, high = -30.0, 30.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_rate(middle, spread) < rate else (low, middle)
    return (low + high) / 2


def sizes_of(tasks: int, size: str) -> np.ndarray:
    if size == "single":
        return np.ones(tasks, dtype=int)
    found, turn = [], itertools.cycle((1, 2, 3, 5, 9))
    while sum(found) < tasks:
        found.append(min(next(turn), tasks - sum(found)))
    return np.array(found)


def chances(
    random: np.random.Generator, cell: Cell, replications: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Draws both agents' success rates per task; also returns each task's template and the true difference."""
    templates, tasks, change = cell.spread
    sizes = sizes_of(cell.tasks, cell.size)
    of = np.repeat(np.arange(len(sizes)), sizes)
    first = centre_of(cell.rate, float(np.hypot(templates, tasks)))
    other = cell.rate + cell.effect if cell.rate + cell.effect < 0.99 else cell.rate - cell.effect
    spread = float(np.sqrt(templates**2 + tasks**2 + change**2))
    second = centre_of(other, spread)
    common = (
        random.normal(0, templates, (replications, len(sizes)))[:, of]
        + random.normal(0, tasks, (replications, cell.tasks))
    )  # fmt: skip
    moved = random.normal(0, change, (replications, len(sizes)))[:, of]
    truth = mean_rate(second, spread) - mean_rate(first, float(np.hypot(templates, tasks)))
    return chance(first + common), chance(second + common + moved), of, truth


def sample_intervals(
    first: np.ndarray, second: np.ndarray, of: np.ndarray, trials: int
) -> Iterator[tuple[float, float]]:
    """Yields the interval of `difference_of` for each replication.

    NumPy computes its sums; the first replication is checked against `difference_of` itself.
    """
    count, clusters = len(of), int(of.max()) + 1
    a, b = first / trials, second / trials
    difference = b - a
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    sums, sizes = np.add.reduceat(difference, starts, axis=1), np.bincount(of)
    mean = difference.mean(axis=1)
    between = clusters / (clusters - 1) * ((sums - mean[:, None] * sizes) ** 2).sum(axis=1) / count**2
    gains, losses = (b * (1 - a)).mean(axis=1), (a * (1 - b)).mean(axis=1)
    alike = count**2 / float((sizes**2).sum())
    for row in range(len(first)):
        found = sample_interval(
            float(gains[row]), float(losses[row]), float(between[row]), trials=count * trials, clusters=alike,
            confidence=0.95,
        )  # fmt: skip
        if row == 0:
            assert np.allclose(found, difference_of(pairs(first[0], second[0], of, trials)).sample, atol=1e-9)
        yield found


def pairs(first: np.ndarray, second: np.ndarray, of: np.ndarray, trials: int) -> list[PairedTask]:
    return [
        PairedTask(task=str(n), cluster=int(of[n]), passed=(int(first[n]), int(second[n])), judged=(trials, trials))
        for n in range(len(of))
    ]


def set_intervals(first: np.ndarray, second: np.ndarray, of: np.ndarray, trials: int) -> Iterator[tuple[float, float]]:
    """Like `sample_intervals`, for tasks that are the whole set."""
    count = len(of)
    rates = np.stack([first, second]) / trials
    parts = rates * (1 - rates) / (trials - 1)
    both, squares = parts.sum(axis=0), (parts**2).sum(axis=0) / (trials - 1)
    mean = (rates[1] - rates[0]).mean(axis=1)
    total, below = both.sum(axis=1), squares.sum(axis=1)
    for row in range(len(first)):
        freedom = float(total[row] ** 2 / below[row]) if below[row] else 0.0
        found = set_interval(
            float(mean[row]), float(total[row]) / count**2, trials=count * trials, freedom=freedom, confidence=0.95
        )
        if row == 0:
            assert np.allclose(found, difference_of(pairs(first[0], second[0], of, trials)).whole, atol=1e-9)
        yield found


def grid(
    tasks: tuple[int, ...], *, trials: tuple[int, ...] = TRIALS, effects: tuple[float, ...] = EFFECTS
) -> Iterator[Cell]:
    for values in itertools.product(tasks, trials, SIZES, RATES, effects, SPREADS):
        yield Cell(*values)


def cover_sample(random: np.random.Generator, cell: Cell, replications: int) -> float:
    first, second, of, truth = chances(random, cell, replications)
    a, b = random.binomial(cell.trials, first), random.binomial(cell.trials, second)
    held = [low <= truth <= high for low, high in sample_intervals(a, b, of, cell.trials)]
    return sum(held) / replications


def cover_whole(random: np.random.Generator, cell: Cell, replications: int) -> float:
    """Returns the coverage for one set of tasks, drawn once, with new trials in each replication."""
    first, second, of, _ = chances(random, cell, 1)
    truth = float((second - first).mean())
    shape = (replications, cell.tasks)
    a, b = random.binomial(cell.trials, first, shape), random.binomial(cell.trials, second, shape)
    intervals = set_intervals(a, b, of, cell.trials) if cell.trials > 1 else sample_intervals(a, b, of, 1)
    return sum(low <= truth <= high for low, high in intervals) / replications


def alarms(random: np.random.Generator, cell: Cell, replications: int) -> float:
    """Returns how often one of two runs of the same agent is called worse: the gate's rate of false alarms."""
    first, _, of, _ = chances(random, cell, replications)
    a, b = random.binomial(cell.trials, first), random.binomial(cell.trials, first)
    return sum(high < 0 for _, high in sample_intervals(a, b, of, cell.trials)) / replications


def report(name: str, found: dict[Cell, float], *, worst: Callable[[float], float] = lambda value: value) -> None:
    values = list(found.values())
    print(f"{name}: {len(values)} cells, mean {sum(values) / len(values):.2%}, {min(values):.2%} to {max(values):.2%}")
    for trials in sorted({cell.trials for cell in found}):
        some = [value for cell, value in found.items() if cell.trials == trials]
        print(f"  {trials:2} trials: mean {sum(some) / len(some):.2%}, {min(some):.2%} to {max(some):.2%}")
    for cell, value in sorted(found.items(), key=lambda each: worst(each[1]))[:8]:
        print(f"  {value:.2%}  {cell}")


def settled_after(a: np.ndarray, b: np.ndarray, of: np.ndarray, trials: int) -> Iterator[tuple[str, int]]:
    """Yields the verdict of `Watch` and the tasks it needed, per replication; all the tasks if it reached no
    verdict."""
    ends = [*np.flatnonzero(np.diff(of)) + 1, len(of)]
    for first, second in zip(a, b, strict=True):
        watch, start, verdict = Watch(difference=PLANNED), 0, ""
        differences = ((second - first) / trials).tolist()
        for end in ends:
            verdict = watch.add(differences[start:end])
            start = end
            if verdict:
                break
        yield verdict, int(start)


def until(random: np.random.Generator, replications: int, trials: int, spread: tuple[float, float, float]) -> bool:
    """Simulates one design that is checked after every template, and prints its line; returns whether it meets the
    targets."""

    def draw(effect: float, tasks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        cell = Cell(tasks, trials, "uneven", 0.4, effect, spread)
        first, second, of, _ = chances(random, cell, replications)
        if not effect:
            second = first  # the same agent twice
        return random.binomial(trials, first), random.binomial(trials, second), of

    a, b, of = draw(PLANNED, LONGEST)
    fixed = LONGEST
    for tasks in range(40, LONGEST, 20):  # the fixed design that finds the planned effect in 80 % of replications
        found = sample_intervals(a[:, :tasks], b[:, :tasks], of[:tasks], trials)
        if sum(low > 0 for low, _ in found) >= 0.8 * replications:
            fixed = tasks
            break
    runs = list(settled_after(a, b, of, trials))
    better = sorted(tasks for verdict, tasks in runs if verdict == "better")
    enough = better[math.ceil(0.8 * replications) - 1] if len(better) >= 0.8 * replications else LONGEST
    planned = sum(min(tasks, enough) for _, tasks in runs) / replications
    larger = sum(min(tasks, enough) for _, tasks in settled_after(*draw(1.5 * PLANNED, enough), trials)) / replications
    alike = list(settled_after(*draw(0.0, enough), trials))
    alarms = sum(verdict in ("better", "worse") for verdict, _ in alike) / replications
    none = sum(tasks for _, tasks in alike) / replications
    saved = 1 - larger / fixed
    print(
        f"  {trials} trials, spread {spread}: fixed design {fixed} tasks; at most {enough} for equal power; "
        f"on average {planned:.0f} at the planned effect ({1 - planned / fixed:.0%} saved), {larger:.0f} at 1.5 times "
        f"({saved:.0%} saved), {none:.0f} at none; false alarms {alarms:.2%}",
        flush=True,
    )
    return saved >= 0.3 and alarms <= 0.05


def timed(random: np.random.Generator) -> float:
    """Returns the processor time in seconds to compare two runs of 812 × 5 trials, from the counts to the printed
    text."""
    from pytest_webarena.results.comparing.significance import flip_test_of

    of = np.repeat(np.arange(len(sizes_of(812, "uneven"))), sizes_of(812, "uneven"))
    first, second = random.binomial(5, 0.4, 812), random.binomial(5, 0.45, 812)
    began = time.process_time()
    tasks = pairs(first, second, of, 5)
    difference_of(tasks)
    flip_test_of(tasks)
    return time.process_time() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--part",
        choices=("sample", "whole", "alarms", "until", "time"),
        action="append",
        help="run only this part; repeatable",
    )
    parser.add_argument(
        "--replications", type=int, default=4000, help="simulate each cell this often (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulation (default: %(default)s)")
    parser.add_argument("--tasks", type=int, nargs="+", default=TASKS, help="simulate these numbers of tasks")
    parser.add_argument("--cells", type=Path, metavar="FILE", help="write one JSON line per cell here")
    options = parser.parse_args()
    parts, missed = options.part or ["sample", "whole", "alarms", "until", "time"], []
    measures: dict[str, Callable[[np.random.Generator, Cell, int], float]] = {
        "sample": cover_sample, "whole": cover_whole, "alarms": alarms
    }  # fmt: skip
    for part in parts:
        random = np.random.default_rng([options.seed, list(measures).index(part) if part in measures else 9])
        if part == "until":
            print("until:")
            designs = itertools.product((1, 3), SPREADS[1:3])
            met = [until(random, options.replications, *design) for design in designs]
            missed += ["until"] * (not all(met))
            continue
        if part == "time":
            seconds = timed(random)
            print(f"time: {seconds:.2f} s of processor time for 2 × 812 × 5 trials")
            missed += ["time"] * (seconds > 3)
            continue
        found: dict[Cell, float] = {}
        for cell in grid(tuple(options.tasks), effects=(0.0,) if part == "alarms" else EFFECTS):
            found[cell] = measures[part](random, cell, options.replications)
            if options.cells:
                with options.cells.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"part": part, **vars(cell), "value": found[cell]}) + "\n")
        report(part, found, worst=(lambda value: -value) if part == "alarms" else (lambda value: value))
        values = list(found.values())
        if part == "alarms":
            missed += [part] * (max(values) > 0.05)
        else:
            missed += [part] * (sum(values) / len(values) < 0.94 or min(values) < 0.92)
    print(f"missed: {', '.join(missed)}" if missed else "all targets are met")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
