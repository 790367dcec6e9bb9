"""Runs the demo: two agents on the embedded sites, an Allure report, its location, and what to do next.

``make demo`` calls this with the arguments for pytest. Exit status 0 means that the demo worked: the oracle passed
every task and no trial ended in an error. How many tasks other agents pass doesn't matter.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.viewer import write_view

OUTPUT = Path("demo").resolve()
RESULTS = OUTPUT / "allure-results"
REPORT = OUTPUT / "allure-report"
ABOUT = {
    "oracle": "replays solutions: passes all",
    "reader": "tries, without a model: passes half",
}
"""What to expect of each agent."""
ALLURE = ["npx", "--yes", "--loglevel=error", "--prefer-offline", "allure@3"]
"""Runs Allure 3 from npm. The first download takes ten seconds and is done while the agents work; later runs take
one."""


def main(arguments: list[str]) -> int:
    """Runs pytest with ``arguments``, builds the report and prints a summary."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    run_dir = OUTPUT / "run"
    command = ["pytest", *arguments, f"--run-dir={run_dir}", f"--alluredir={RESULTS}"]
    agents = [name for name in ABOUT if f"--agent={name}" in arguments]
    print("\n".join(["What to expect:", *(f"{name:>9}  {ABOUT[name]}" for name in agents), ""]))
    print("$", shlex.join(command), flush=True)
    with allure_fetched():
        status = subprocess.run([sys.executable, "-m", *command], check=False).returncode
    run = RunDir(run_dir)
    records = run.records()
    print("\n".join(["", *summary(records)]))
    faults = wrong(records, status=status, unfinished=len(run.unfinished()))
    reports = build_reports(run) if records else []
    print("\n".join(["", *reports, "", *(faults or next_step())]))
    return 1 if faults else 0


def next_step() -> list[str]:
    """Returns the instructions for somebody who has seen the demo."""
    bin = os.path.relpath(Path(sys.executable).parent)
    return [
        "All as expected. Next, a project of your own (an app, two tasks, an agent, CI), green at once:",
        f"  {bin}/webarena init my-tasks && cd my-tasks && {os.path.join('..', bin)}/pytest",
    ]


def summary(records: list[TrialRecord]) -> list[str]:
    """Returns one line per agent."""
    lines = []
    for agent in sorted({record.key.agent for record in records}):
        counts = Counter(record.outcome for record in records if record.key.agent == agent)
        counts_text = f"{counts['passed']} passed, {counts['failed']} failed, {counts['error']} errors"
        lines.append(f"{agent:>9}  {counts_text}" + (f" ({ABOUT[agent]})" if agent in ABOUT else ""))
    return lines


def wrong(records: list[TrialRecord], *, status: int, unfinished: int) -> list[str]:
    """Returns what went wrong; empty if nothing did. ``status`` is pytest's exit code, where 1 means failed tests."""
    oracle = [record for record in records if record.key.agent == "oracle"]
    faults = [] if oracle else ["The oracle finished no task."]
    faults += [f"oracle failed {record.key.task}: {record.message}" for record in oracle if record.outcome == "failed"]
    faults += [
        f"{record.key.agent} on {record.key.task}: {record.cause} error: {record.message}"
        for record in records
        if record.outcome == "error"
    ]
    if unfinished:
        faults.append(f"{unfinished} trials were begun and never finished.")
    if status not in (0, 1):
        faults.append(f"pytest ended with status {status}; its output is above.")
    return faults


def build_reports(run: RunDir) -> list[str]:
    """Builds reports of the run; returns the lines to print about them."""
    page = OUTPUT / "view.html"
    write_view(run, page)
    return [
        *allure_report(),
        "The same run, step by step, in one page that works offline:",
        f"  {page.as_uri()}",
        f"The records themselves: {run.path}",
    ]


@contextmanager
def allure_fetched() -> Iterator[None]:
    """Downloads Allure with npm in the background. Failures are only reported when the report is built."""
    if shutil.which("npx") is None:
        yield
        return
    nowhere = subprocess.DEVNULL
    fetching = subprocess.Popen([*ALLURE, "--version"], stdin=nowhere, stdout=nowhere, stderr=nowhere)
    try:
        yield
    except BaseException:
        fetching.terminate()
        raise
    finally:
        fetching.wait()


def allure_report() -> list[str]:
    """Converts Allure's results into HTML if npm is available: a single file, unless it would be too large."""
    if shutil.which("npx") is None:
        return ["No Allure report: npm was not found. With Node.js 20 or newer, run make demo again.", f"  {RESULTS}"]
    command = [*ALLURE, "generate", str(RESULTS), f"--config={RESULTS / 'allurerc.mjs'}", f"--output={REPORT}"]
    built = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    page = REPORT / "index.html"
    if built.returncode or not page.is_file():
        return ["No Allure report: Allure 3 failed.", *(built.stderr or built.stdout).strip().splitlines()[-3:]]
    if not (REPORT / "data").is_dir():  # everything is in one file
        return ["The Allure report, to be opened in a browser:", f"  {page.as_uri()}"]
    return ["The Allure report; this command serves and opens it:", f"  npx --yes allure@3 open {REPORT}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
