"""Compares the duration of a test run to its budget: ``test_budget.py JUNIT_XML``.

The report is pytest's (`--junitxml`, one suite). The exit code is always 0: exceeding the budget does not fail a
change, but CI prints it, so that growth is noticed early. It also prints the machine's speed, by which times of
different machines, or of one under another load, can be compared.
"""

from __future__ import annotations

import os
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

__all__ = ["speed", "summary"]

WALL = 600
"""Budget of the first tier on two idle cores, in seconds of wall time."""
SINGLE = 10
"""Budget of one test in seconds, including its fixtures."""
SHOWN = 20
TURNS = 10_000_000
"""Turns of the loop that measures the speed of one core."""


def speed(turns: int = TURNS) -> str:
    """Returns a line with the CPU time that a loop of so many additions takes now.

    A core that another process uses through its second hardware thread is slower, so a value is comparable only with
    those of a similar load.
    """
    began, total = time.process_time(), 0
    for number in range(turns):
        total += number
    seconds = time.process_time() - began
    return (
        f"test_budget: speed: {turns:,} additions in Python take {seconds:.2f} CPU s; {os.cpu_count()} CPUs, "
        f"Python {sys.version.partition(' ')[0]}"
    )


def summary(report: Path, load: float) -> list[str]:
    """Returns the slowest tests, the slowest last, and a line that compares the run to its budget.

    Args:
        report: JUnit XML of the run.
        load: load average of the machine at the end of the run.
    """
    try:
        suites = list(ElementTree.parse(report).iter("testsuite"))
    except (OSError, ElementTree.ParseError) as error:
        return [f"test_budget: expected pytest's report at {report}, found none that can be read: {error}"]
    cases = sorted((float(case.get("time", 0)), _name(case)) for suite in suites for case in suite.iter("testcase"))
    elapsed = sum(float(suite.get("time", 0)) for suite in suites)
    total = sum(seconds for seconds, _ in cases)
    lines = [f"{seconds:7.1f} s  {name}" for seconds, name in cases[-SHOWN:]]
    over = [name for seconds, name in cases if seconds > SINGLE]
    verdict = "within the budget" if elapsed <= WALL and not over else "OVER THE BUDGET"
    lines.append(
        f"test_budget: {verdict}: {elapsed:.0f} s of {WALL} s; {len(cases)} tests took {total:.0f} s in all workers, "
        f"{len(over)} of them more than {SINGLE} s; load {load:.1f}"
    )
    return lines


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname', '').removeprefix('tests.')}::{case.get('name')}"


if __name__ == "__main__":
    print("\n".join(summary(Path(sys.argv[1]), os.getloadavg()[1])))
    print(speed())
