"""Simulates the duration of runs on 1 to 1,000 nodes: scheduling of `--ray` and static shards against the bound.

    python -m benchmarks.handing_out RUN [--think SECONDS] [--trials N]

Durations of trials are those of the recorded RUN, plus a model's SECONDS for each step, since agents that replay
solutions do not wait. Draws 812 tasks with five trials and three agents each, with a fixed seed. A node has 16 slots.
The constants below are a trial's other overhead (measured by `benchmarks/ray_overhead.py`) and a node's start.

bound    hours that no schedule can beat: all work divided by all slots, or the longest trial
--ray    hours of `--ray`, and their ratio to the bound
deaths   hours of `--ray` when one node in ten dies half-way and its trials restart
shards   hours of static shards, and their ratio to the bound (a task's id selects its shard, as with `--shard`)
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import json
import random
from pathlib import Path

TASKS, TRIALS, AGENTS = 812, 5, 3
SLOTS = 16
OVERHEAD = 0.15
"""Seconds per trial for sending, archiving and unpacking it."""
START = 10.0
"""Seconds until a node starts its first trial."""
NODES = (1, 3, 10, 30, 100, 300, 1000)


def times_of(run: Path, think: float) -> list[float]:
    """Returns the seconds of each recorded trial, with ``think`` seconds added per step."""
    records = (json.loads(file.read_text()) for file in sorted(run.glob("trials/*/trial.json")))
    return [each["seconds"]["total"] + think * each["steps"] for each in records]


def drawn(times: list[float], trials: int, seed: int = 1) -> list[list[float]]:
    """Draws the trials of each task: each task has its own length, and its trials vary by a fifth."""
    chance = random.Random(seed)
    return [
        [base * chance.lognormvariate(0, 0.2) for _ in range(trials * AGENTS)]
        for base in chance.choices(times, k=TASKS)
    ]


def bound(work: list[float], slots: int) -> float:
    """Returns the lower bound in seconds for any schedule."""
    return max(sum(work) / slots, max(work))


def handed_out(work: list[float], slots: int, deaths: dict[int, float] | None = None) -> float:
    """Returns the seconds until the last trial ends; the first free slot takes the next trial.

    ``deaths`` says when nodes die, by the node's number.
    """
    deaths = deaths or {}
    free = [(START, slot) for slot in range(slots)]
    heapq.heapify(free)
    waiting, end = list(reversed(work)), 0.0
    while waiting:
        now, slot = heapq.heappop(free)
        job = waiting.pop()
        over = now + job + OVERHEAD
        death = deaths.get(slot // SLOTS)
        if death is not None and over > death:
            waiting.append(job)  # to be started first, on another node
            continue
        end = max(end, over)
        heapq.heappush(free, (over, slot))
    return end


def shards(tasks: list[list[float]], nodes: int) -> float:
    """Returns the seconds that the slowest shard takes."""
    parts: list[list[float]] = [[] for _ in range(nodes)]
    for number, work in enumerate(tasks):
        digest = hashlib.sha256(f"task-{number}".encode()).digest()
        parts[int.from_bytes(digest[:8], "big") % nodes].extend(work)
    return max(handed_out(part, SLOTS) for part in parts)


def main() -> None:
    """Prints the table described in the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a recorded run")
    parser.add_argument("--think", type=float, default=5.0, help="seconds of a model per step (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=TRIALS, help="trials per task (default: %(default)s)")
    options = parser.parse_args()
    tasks = drawn(times_of(options.run, options.think), options.trials)
    work = [seconds for each in zip(*tasks, strict=True) for seconds in each]
    print(f"{len(work)} trials, {sum(work) / 3600:.1f} h of work, the longest {max(work):.0f} s")
    print(f"{'nodes':>6} {'slots':>6} {'bound':>8} {'--ray':>8} {'of it':>6} {'deaths':>8} {'shards':>8} {'of it':>6}")
    for nodes in NODES:
        least = bound(work, nodes * SLOTS)
        ray = handed_out(work, nodes * SLOTS)
        deaths = dict.fromkeys(range(nodes // 10), ray / 2)
        worse, split = handed_out(work, nodes * SLOTS, deaths), shards(tasks, nodes)
        print(
            f"{nodes:>6} {nodes * SLOTS:>6} {least / 60:>6.1f} m {ray / 60:>6.1f} m {least / ray:>6.0%} "
            f"{worse / 60:>6.1f} m {split / 60:>6.1f} m {least / split:>6.0%}"
        )


if __name__ == "__main__":
    main()
