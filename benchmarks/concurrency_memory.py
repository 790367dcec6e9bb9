"""Measures whether memory stays flat over many short concurrent trials, per kind of process.

    python benchmarks/concurrency_memory.py [--trials 500] [--concurrency 8] [--every 50] [--inject-leak]

The agent does not wait, on the embedded start page. After every ``--every`` trials, all processes are sampled for three
seconds. Columns are the median of their proportional set size (PSS) in MiB:

pytest    the process that runs the trials, and its agents
driver    Playwright's driver
browser   Chromium's processes, with the pages of running trials
broker    the pool of sites, and the replicas
other     supervisors, watchdogs, the reaper

The last line is the increase per trial in KiB: the slope of a line through all rows but the first, since the first
trials load what is loaded once. Garbage collection in the driver causes variations of about 70 MiB. Linux only.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path

from concurrency import AGENT, TASK
from processes import carrying
from throughput import MARK, pss

LEAK = """
kept = []

class Leaky(Thinker):
    def __init__(self):
        super().__init__()
        kept.append(bytearray(b"x" * 2**20))
"""
KINDS = ("pytest", "driver", "browser", "broker", "other")
_LOOKS = 10
_PAUSE = 0.3
"""Seconds between two measurements."""


def main() -> int:
    """Prints a line each time ``--every`` more trials are over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=500, help="run this many trials (default: %(default)s)")
    parser.add_argument("--concurrency", type=int, default=8, help="concurrent trials (default: %(default)s)")
    parser.add_argument("--every", type=int, default=50, help="sample after this many trials (default: %(default)s)")
    parser.add_argument("--inject-leak", action="store_true", help="inject a leak of 1 MiB per trial")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wide-memory-") as folder:
        Path(folder, "thinker.py").write_text(AGENT.format(steps=2, think=0) + LEAK)
        Path(folder, "tasks.yaml").write_text(TASK)
        return played(Path(folder), options)


def played(folder: Path, options: argparse.Namespace) -> int:
    """Plays the trials in ``folder`` and watches them; returns pytest's exit code."""
    mark = uuid.uuid4().hex
    agent = f"--agent=thinker.py:{'Leaky' if options.inject_leak else 'Thinker'}"
    command = [sys.executable, "-m", "pytest", "tasks.yaml", agent, "-q", "--record=minimal"]
    command += [
        f"--trials={options.trials}",
        f"--concurrency={options.concurrency}",
        "--run-dir=run",
        "-p",
        "no:cacheprovider",
    ]
    with Path(folder, "log").open("w") as log:
        run = subprocess.Popen(command, cwd=folder, env={**os.environ, MARK: mark}, stdout=log, stderr=log)
    print("trials over  " + "".join(f"{kind:>9}" for kind in KINDS) + "      all   MiB")
    rows: list[tuple[int, Counter[str]]] = []
    while run.poll() is None:
        over = sum(1 for _ in Path(folder, "run", "trials").glob("*/trial.json"))
        if over >= options.every * (len(rows) + 1):
            sizes = looked_at(mark, run.pid)
            if run.poll() is None and sizes["driver"]:  # the run was not about to end
                rows.append((over, sizes))
                print(line(*rows[-1]), flush=True)
        time.sleep(_PAUSE)
    if run.returncode:
        print(Path(folder, "log").read_text()[-1500:], file=sys.stderr)
    if len(rows) > 2:
        overs = [over for over, _ in rows[1:]]
        more = [statistics.linear_regression(overs, [sizes[kind] for _, sizes in rows[1:]]).slope for kind in KINDS]
        print("KiB a trial  " + "".join(f"{each:>9.1f}" for each in [*more, sum(more)]))
    return run.returncode


def line(over: int, sizes: Counter[str]) -> str:
    """Returns a row of the table."""
    return f"{over:>11}  " + "".join(f"{sizes[kind] / 1024:>9.1f}" for kind in KINDS) + f"{sizes.total() / 1024:>9.1f}"


def looked_at(mark: str, main: int) -> Counter[str]:
    """Returns the memory in KiB by kind, as the median of several measurements."""
    looks = []
    for _ in range(_LOOKS):
        now: Counter[str] = Counter()
        for pid in carrying(MARK, mark):
            now[kind(pid, main)] += pss(pid)
        looks.append(now)
        time.sleep(_PAUSE)
    return Counter({kind: round(statistics.median(look[kind] for look in looks)) for kind in KINDS})


def kind(pid: int, main: int) -> str:
    """Returns one of `KINDS`."""
    if pid == main:
        return "pytest"
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "other"
    if b"/driver/node" in words:
        return "driver"
    if b"chrom" in words:
        return "browser"
    return "broker" if b"broker" in words or b"fork" in words else "other"


if __name__ == "__main__":
    sys.exit(main())
