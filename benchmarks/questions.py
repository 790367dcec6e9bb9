"""Measures the overhead of questions without sites: 1,000 of them, answered at once by the oracle.

    python benchmarks/questions.py [--questions 1000] [--workers 2]

Prints wall time and processor time of the whole run (start of pytest and reports included), median times of a trial and
its parts, and the helper processes that were seen: there should be no browser and no broker. On a busy machine, divide
the processor time by the workers.
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
from statistics import median

from processes import carrying

MARK = "WEBARENA_QUESTIONS"
HELPERS = {"chrom": "browser", "headless_shell": "browser", "firefox": "browser", "broker": "broker"}


def main() -> int:
    """Runs once and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1000, help="ask this many questions (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="run this many workers (default: %(default)s)")
    options = parser.parse_args()
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="questions-") as name:
        folder = Path(name)
        (folder / "sums.tasks.yaml").write_text(_tasks(options.questions))
        command = [sys.executable, "-m", "pytest", "sums.tasks.yaml", "--agent=oracle", "-q", "-p", "no:cacheprovider"]
        command += ["-n", str(options.workers), "--run-dir=run"]
        seen: set[str] = set()
        ended = threading.Event()
        watcher = threading.Thread(target=_watch, args=(mark, seen, ended))
        watcher.start()
        began = time.monotonic()
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, MARK: mark}, capture_output=True, text=True, check=False
        )
        seconds = time.monotonic() - began
        ended.set()
        watcher.join()
        records = [json.loads(file.read_text()) for file in (folder / "run" / "trials").glob("*/trial.json")]
    outcomes = Counter(record["outcome"] for record in records)
    if done.returncode or outcomes != {"passed": options.questions}:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
        return 1
    parts = {
        part: 1000 * median(record["seconds"].get(part, 0.0) for record in records)
        for part in ("total", "session", "episode", "collect", "judge")
    }
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = used.ru_utime + used.ru_stime
    print(f"{options.questions} questions, -n {options.workers}: {seconds:.1f} s, of processors {busy:.1f} s")
    print("a trial (ms): " + ", ".join(f"{part} {value:.1f}" for part, value in parts.items()))
    print(f"helper processes seen: {', '.join(sorted(seen)) or 'none'}")
    return 0


def _tasks(number: int) -> str:
    tasks = [
        {
            "id": f"sum-{index}",
            "intent": f"What is {index} + {index % 7}?",
            "sites": [],
            "checks": [{"answer": {"number": index + index % 7}}],
            "solution": [{"stop": str(index + index % 7)}],
        }
        for index in range(number)
    ]
    return json.dumps({"tasks": tasks})


def _watch(mark: str, seen: set[str], ended: threading.Event) -> None:
    """Notes the helper processes of the run until it is over."""
    while not ended.wait(0.2):
        for pid in carrying(MARK, mark):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            seen.update(word for part, word in HELPERS.items() if part in command)


if __name__ == "__main__":
    raise SystemExit(main())
