"""Measures the oracle's tasks per minute, where a trial's time goes, and the memory of a worker.

    python benchmarks/throughput.py [--workers 1,2,4] [--sites embedded] [PATH …]

Columns of parts are medians in seconds. Memory is the peak proportional set size (PSS) of the whole process tree,
sampled every half second. Linux only. Compare the columns with each other, not with other machines.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from pathlib import Path
from statistics import median

from processes import carrying

MARK = "WEBARENA_THROUGHPUT"


def main() -> int:
    """Prints one line per number of workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=["tasks/homepage"], help="task files or folders")
    parser.add_argument(
        "--workers", default="1,2,4", help="numbers of workers, separated by commas (default: %(default)s)"
    )
    parser.add_argument("--sites", default="embedded", help="catalogue of sites (default: %(default)s)")
    options = parser.parse_args()
    print(
        "workers  trials  tasks/min  s/trial   lease  session  episode  collect  harness*  peak PSS (python, browser)"
    )
    for workers in map(int, options.workers.split(",")):
        print(one_run(workers, options.sites, options.paths), flush=True)
    print("* lease + session + collect + judge: overhead of a trial without set-up and episode; medians in seconds")
    return 0


def one_run(workers: int, sites: str, paths: list[str]) -> str:
    """Runs the oracle and describes the run in one line."""
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="throughput-") as folder:
        command = [sys.executable, "-m", "pytest", *paths, "--agent=oracle", "-n", str(workers), "-q"]
        command += [f"--run-dir={folder}/run", f"--sites={sites}", "-p", "no:cacheprovider"]
        peaks: dict[str, int] = {"all": 0}
        ended = threading.Event()
        watcher = threading.Thread(target=watch, args=(mark, peaks, ended))
        watcher.start()
        began = time.monotonic()
        done = subprocess.run(command, env={**os.environ, MARK: mark}, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - began
        ended.set()
        watcher.join()
        if done.returncode:
            print(done.stdout[-2000:], file=sys.stderr)
        records = [json.loads(file.read_text()) for file in Path(folder, "run", "trials").glob("*/trial.json")]
    middle = {name: median(record["seconds"].get(name, 0.0) for record in records) for name in PARTS}
    harness = median(sum(record["seconds"].get(name, 0.0) for name in HARNESS) for record in records)
    return (
        f"{workers:>7}  {len(records):>6}  {60 * len(records) / seconds:>9.1f}  {middle['total']:>7.2f}  "
        f"{middle['lease']:>6.3f}  {middle['session']:>7.3f}  {middle['episode']:>7.2f}  {middle['collect']:>7.3f}  "
        f"{harness:>8.3f}  {peaks['all'] / 1024:>5.0f} MiB  "
        f"({peaks.get('python', 0) / 1024:.0f}, {peaks.get('browser', 0) / 1024:.0f})"
    )


PARTS = ("total", "lease", "session", "episode", "collect")
HARNESS = ("lease", "session", "collect", "judge")


def watch(mark: str, peaks: dict[str, int], ended: threading.Event) -> None:
    """Keeps the peak memory, in KiB, of all processes that carry the mark."""
    took = 0.0
    while not ended.wait(max(0.5, 30 * took)):  # reading the shared memory of a hundred renderers costs processor time
        began = time.thread_time()
        now: Counter[str] = Counter()
        for pid in carrying(MARK, mark):
            now[kind(pid)] += pss(pid)
        if now.total() > peaks["all"]:
            peaks.update(now, all=now.total())
        took = time.thread_time() - began


def kind(pid: int) -> str:
    """Returns ``browser`` (Playwright's driver included) or ``python``."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "python"
    return "browser" if b"chrom" in words or b"/driver/node" in words else "python"


def pss(pid: int) -> int:
    """Returns the proportional set size in KiB."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
