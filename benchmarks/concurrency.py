"""Measures many concurrent trials of a waiting agent: memory, and the agent's share of the time.

    python benchmarks/concurrency.py [--runs concurrency=32,n=16] [--rounds 2] [--steps 6] [--think 3]

Each run has ``--rounds`` trials per concurrent trial (``concurrency=K``: ``--concurrency K``; ``n=K``: ``-n K``). The
agent waits ``--think`` seconds per step on the embedded start page. Columns:

whole     think time divided by the run's time, from pytest's start to its end, times K
steady    the same for trials that started after the first K, from their first observation to their last
CPU s     processor time of all processes
peak PSS  peak of the proportional set size of all processes, sampled at most every half second
load      load average: other work on the machine lowers both shares

Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from throughput import MARK, watch

AGENT = """
import time
from pytest_webarena.actions import Noop, Scroll, Stop

class Thinker:
    def __init__(self):
        self.left = {steps}

    def act(self, observation):
        time.sleep({think})
        self.left -= 1
        return (Noop(), Scroll("down"), Scroll("up"))[self.left % 3] if self.left else Stop("done")
"""
TASK = "tasks:\n  - {id: wait, intent: Wait., sites: [homepage], checks: [{answer: done}]}\n"


def main() -> int:
    """Prints a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--runs", default="concurrency=32,n=16", help="runs, separated by commas (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=2, help="trials per concurrent trial (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=6, help="steps per trial (default: %(default)s)")
    parser.add_argument(
        "--think", type=float, default=3.0, help="seconds that the agent waits per step (default: %(default)s)"
    )
    options = parser.parse_args()
    print("run       trials  passed  wall s  whole  steady  CPU s  peak PSS (python, browser)  load")
    for run in options.runs.split(","):
        kind, _, width = run.partition("=")
        print(one_run(kind, int(width), options), flush=True)
    return 0


def one_run(kind: str, width: int, options: argparse.Namespace) -> str:
    """Plays one run and describes it in one line."""
    mark, count = uuid.uuid4().hex, width * options.rounds
    with tempfile.TemporaryDirectory(prefix="concurrency-") as folder:
        Path(folder, "thinker.py").write_text(AGENT.format(steps=options.steps, think=options.think))
        Path(folder, "tasks.yaml").write_text(TASK)
        how = ["--concurrency", str(width)] if kind == "concurrency" else ["-n", str(width)]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "tasks.yaml",
            "--agent=thinker.py:Thinker",
            f"--trials={count}",
            *how,
        ]
        command += ["-q", "--run-dir=run", "-p", "no:cacheprovider"]
        peaks: dict[str, int] = {"all": 0}
        ended = threading.Event()
        watcher = threading.Thread(target=watch, args=(mark, peaks, ended))
        watcher.start()
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, MARK: mark}, capture_output=True, text=True, check=False
        )
        seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        ended.set()
        watcher.join()
        trials = [read(file.parent) for file in Path(folder, "run", "trials").glob("*/trial.json")]
        outcomes = Counter(record["outcome"] for record, _ in trials)
        if done.returncode:
            print(done.stdout[-1500:], file=sys.stderr)
    trials.sort(key=lambda trial: trial[0]["started"])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    whole = sum(sum(think for _, think in steps) for _, steps in trials) / (seconds * width)
    return (
        f"{kind}={width:<6}  {len(trials):>6}  {outcomes['passed']:>6}  {seconds:>6.1f}  {whole:>5.0%}  "
        f"{steady(trials[width:], width):>6.0%}  {cpu:>5.0f}  {peaks['all'] / 1024:>5.0f} MiB "
        f"({peaks.get('python', 0) / 1024:.0f}, {peaks.get('browser', 0) / 1024:.0f})  {os.getloadavg()[0]:.1f}"
    )


def read(folder: Path) -> tuple[dict[str, Any], list[tuple[float, float]]]:
    """Returns a trial's record, and for each step its time and how long the agent thought."""
    record = json.loads((folder / "trial.json").read_text())
    parts = record["seconds"]
    begins = record["started"] + sum(parts.get(name, 0.0) for name in ("lease", "session", "setup"))
    lines = (folder / f"attempt-{record['attempt']}" / "steps.jsonl").read_text().splitlines()
    steps = [json.loads(line) for line in lines]
    return record, [(begins + step["started"], step["seconds"]["act"]) for step in steps]


def steady(trials: list[tuple[dict[str, Any], list[tuple[float, float]]]], width: int) -> float:
    """Returns the share of these trials' time in which agents thought."""
    steps = [step for _, each in trials for step in each]
    if not steps:
        return 0.0
    first, last = min(when for when, _ in steps), max(when + think for when, think in steps)
    return sum(think for _, think in steps) / ((last - first) * width)


if __name__ == "__main__":
    sys.exit(main())
