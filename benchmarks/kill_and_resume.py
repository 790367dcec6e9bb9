"""Kills a run half-way with SIGKILL, resumes it, and counts lost and repeated trials.

    python benchmarks/kill_and_resume.py [PYTEST_ARGUMENT …]     (default: tasks/homepage -n 2)

Kills the run when half of its trials have a record, resumes it with `--resume`, and compares every trial's folder with
its state at the kill. A trial that had a verdict must be identical to the byte; every other trial must have a verdict
now. A worker may have recorded an interrupted trial as an error because its sites went away; it runs again. Exit code
1: a trial was lost or changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE = 600.0
"""Seconds within which half of the trials have to finish."""


def main() -> int:
    """Returns exit code 1 if a trial was lost or run twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given = parser.parse_known_args()[1] or ["tasks/homepage", "-n", "2"]
    with tempfile.TemporaryDirectory(prefix="kill-and-resume-") as scratch:
        run, results = Path(scratch) / "run", Path(scratch) / "allure-results"
        command = [sys.executable, "-m", "pytest", *given, "-q", "--tb=no", f"--alluredir={results}"]
        planned = _planned(command)
        print(f"{planned} trials planned", flush=True)
        if not _kill_half_way([*command, f"--run-dir={run}"], run, planned):
            return 1
        before, begun = _judged(run), _begun(run)
        print(f"killed with {len(before)} trials finished, {len(begun) - len(before)} at work", flush=True)
        subprocess.run([*command, f"--resume={run}"], check=False, stdout=subprocess.DEVNULL)
        return _compare(planned, before, begun, run, results)


def _planned(command: list[str]) -> int:
    listed = subprocess.run([*command, "--collect-only"], check=False, capture_output=True, text=True)
    if listed.returncode:
        sys.exit(f"pytest can't collect these tasks:\n{listed.stdout}{listed.stderr}")
    return sum("::" in line for line in listed.stdout.splitlines())


def _kill_half_way(command: list[str], run: Path, planned: int) -> bool:
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while len(_judged(run)) < planned / 2:
        try:
            running.wait(0.05)
        except subprocess.TimeoutExpired:
            pass
        else:
            print("the run ended before it could be killed")
            return False
        if time.monotonic() > deadline:
            running.kill()
            print(f"half of the trials were not finished after {PATIENCE:.0f} s")
            return False
    running.send_signal(signal.SIGKILL)
    running.wait()
    _wait_for_quiet(run)
    return True


def _wait_for_quiet(run: Path, still: float = 3.0) -> None:
    """Waits until nothing was written for ``still`` seconds; workers that lost the controller may be finishing a
    step."""
    seen, since = -1.0, time.monotonic()
    while time.monotonic() - since < still:
        newest = max((path.stat().st_mtime for path in run.rglob("*")), default=0.0)
        if newest != seen:
            seen, since = newest, time.monotonic()
        time.sleep(0.2)


def _judged(run: Path) -> dict[str, str]:
    """Returns the folder of each trial that has a verdict, with a digest of its content."""
    return {
        path.parent.name: _digest(path.parent)
        for path in run.glob("trials/*/trial.json")
        if json.loads(path.read_text("utf-8"))["outcome"] in ("passed", "failed")
    }


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(str(path.relative_to(folder)).encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _begun(run: Path) -> set[str]:
    return {path.name for path in run.glob("trials/*")}


def _compare(planned: int, before: dict[str, str], begun: set[str], run: Path, results: Path) -> int:
    after = _judged(run)
    again = sorted(name for name, digest in before.items() if after.get(name) != digest)
    attempts = {name: len(list((run / "trials" / name).glob("attempt-*"))) for name in after}
    cut_short = sorted(begun - set(before))
    lost = planned - len(after)
    print(f"after --resume: {len(after)} of {planned} trials have a verdict, {lost} lost")
    print(f"finished before the kill and touched again: {len(again)} of {len(before)}")
    for name in cut_short:
        print(f"  interrupted, then run again: {name}, {attempts.get(name, 0)} attempts on record")
    extra = [name for name, count in attempts.items() if count > 1 and name not in cut_short]
    print(f"trials with more than one attempt that were not interrupted: {len(extra)}")
    reported = _reported(results)
    print(f"Allure: {len(reported)} of {planned} trials in the results of both invocations together")
    for name in (*again, *extra):
        print(f"  {name}")
    return 1 if lost or again or extra or len(reported) != planned else 0


def _reported(results: Path) -> set[str]:
    return {json.loads(path.read_text("utf-8"))["historyId"] for path in results.glob("*-result.json")}


if __name__ == "__main__":
    sys.exit(main())
