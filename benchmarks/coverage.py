"""Simulates the coverage of the 95 % interval of a success rate, for tasks drawn as a sample.

    python benchmarks/coverage.py [--replications 4000] [--seed 1] [--tasks 20 50 100 200]

Draws the rates of templates (`tasks` here: the clusters) from a beta distribution with a given mean and intraclass
correlation (0: tasks do not differ; 1: each task always or never succeeds), draws their trials, and calls
`clustered_interval`. Prints the mean coverage, a table by rate and number of clusters, and the lowest cells, next to
Wilson's interval, which treats trials as independent. Exit code 1: the mean is below 94 %, or a cell is below 92 % by
more than three standard errors of the simulation.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter

import numpy as np

from pytest_webarena.results.intervals import clustered_interval, wilson_interval

TASKS = (20, 50, 100, 200, 400, 800)
TRIALS = (1, 2, 3, 5, 10)
RATES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 0.5, 0.8, 0.95)
CORRELATIONS = (0.0, 0.1, 0.3, 0.6, 1.0)


def successes(
    random: np.random.Generator, replications: int, tasks: int, trials: int, rate: float, correlation: float
) -> np.ndarray:
    """Returns the number of passed trials per task, with one row per replication."""
    shape = (replications, tasks)
    if correlation in (0.0, 1.0):
        chances = np.full(shape, rate) if correlation == 0 else (random.random(shape) < rate).astype(float)
    else:
        size = 1 / correlation - 1
        chances = random.beta(rate * size, (1 - rate) * size, shape)
    return random.binomial(trials, chances)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--replications", type=int, default=4000, help="simulate each cell this often (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulation (default: %(default)s)")
    parser.add_argument("--tasks", type=int, nargs="+", default=TASKS, help="simulate these numbers of tasks")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    clustered: dict[tuple[int, int, float, float], float] = {}
    independent: dict[tuple[int, int, float, float], float] = {}
    for cell in itertools.product(options.tasks, TRIALS, RATES, CORRELATIONS):
        tasks, trials, rate, _ = cell
        hits = [0, 0]
        known: dict[tuple[int, ...], tuple[bool, bool]] = {}
        for row in successes(random, options.replications, *cell):
            counts = np.bincount(row, minlength=trials + 1)  # the order of the tasks doesn't matter
            key = tuple(counts.tolist())
            if key not in known:
                clusters = [
                    [True] * won + [False] * (trials - won) for won, count in enumerate(key) for _ in range(count)
                ]
                intervals = clustered_interval(clusters), wilson_interval(int(row.sum()), tasks * trials)
                known[key] = tuple(low <= rate <= high for low, high in intervals)  # type: ignore[assignment]
            for index, held in enumerate(known[key]):
                hits[index] += held
        clustered[cell], independent[cell] = (hit / options.replications for hit in hits)
    for name, found in (("clustered", clustered), ("independent", independent)):
        mean, low = sum(found.values()) / len(found), min(found.values())
        below = sum(value < 0.92 for value in found.values())
        print(f"{name}: {len(found)} cells, mean {mean:.1%}, lowest {low:.1%}, {below} below 92 %")
        for trials in TRIALS:
            values = [value for cell, value in found.items() if cell[1] == trials]
            print(f"  {trials:2} trials: mean {sum(values) / len(values):.1%}, lowest {min(values):.1%}")
    print("clustered, mean and lowest coverage by rate (rows) and number of clusters (columns):")
    print("        " + "".join(f"{tasks:>15}" for tasks in options.tasks))
    for rate in RATES:
        groups = [
            [value for cell, value in clustered.items() if (cell[0], cell[2]) == (n, rate)] for n in options.tasks
        ]
        print(f"{rate:8.1%}" + "".join(f"{sum(some) / len(some):>9.1%}{min(some):>6.0%}" for some in groups))
    print("clustered, mean and lowest coverage by correlation (rows) and trials (columns):")
    print("        " + "".join(f"{trials:>15}" for trials in TRIALS))
    for correlation in CORRELATIONS:
        groups = [
            [value for cell, value in clustered.items() if (cell[1], cell[3]) == (n, correlation)] for n in TRIALS
        ]
        print(f"{correlation:8.1f}" + "".join(f"{sum(some) / len(some):>9.1%}{min(some):>6.0%}" for some in groups))
    print("lowest cells of the clustered one (tasks, trials, rate, correlation):")
    for cell, value in Counter(clustered).most_common()[:-9:-1]:
        print(f"  {cell}: {value:.1%}")
    noise = 3 * (0.92 * 0.08 / options.replications) ** 0.5
    return int(sum(clustered.values()) / len(clustered) < 0.94 or min(clustered.values()) < 0.92 - noise)


if __name__ == "__main__":
    sys.exit(main())
