"""Runs one set of trials under each schedule of pytest-xdist and `--concurrency`, and compares all outcomes.

    python benchmarks/schedules.py [--cases spread stops kills] [--list]

The trials need no browser and no sites, so a run takes seconds. They pass, fail, are undecided, crash, run out of
steps, are skipped, or can't start; ordinary Python tests are among them. The reference is a run in one process.

spread  -n 0, 1, 4, 8, each distribution, with and without concurrency: records, rates, JUnit, Allure and the exit
        code equal the reference
stops   -x, --maxfail, --lf and Ctrl-C: each planned trial has a record or is listed as not run, and --resume completes
        the run to the reference
kills   two workers are killed: no trial is lost, and all that the kills did not interrupt equal the reference

Exit code 1: a difference was found.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pytest_webarena.results import RunDir
from pytest_webarena.results.plan import read_plan
from pytest_webarena.results.trial_outcome import reported_outcome

KINDS = ("right", "wrong", "vague", "crash", "loop")
PER_KIND = 3
AGENT = """
import os, time
from pathlib import Path

from pytest_webarena.actions import Stop, Wait


class Scripted:
    def __init__(self, task):
        self.kind = task.intent.split()[1].rstrip(".")

    def act(self, observation):
        Path("workers").mkdir(exist_ok=True)
        Path("workers", str(os.getpid())).touch()
        time.sleep(float(os.environ.get("SECONDS_PER_STEP", "0")))
        if self.kind == "crash":
            raise ValueError("the agent has a fault")
        return {"right": Stop("rye"), "wrong": Stop("oats"), "vague": Stop("5 km"), "loop": Wait(seconds=0)}[
            self.kind
        ]
"""
CATALOGUE = """
apps:
  broken:
    backend: process
    process: {command: [python3, -c, "import sys; sys.exit('no database')", '{port}']}
    sites: {broken: {host: broken.test}}
"""
PYTHON_TESTS = """
import pytest


def test_passes():
    pass


def test_fails():
    raise AssertionError


@pytest.mark.skip(reason="not today")
def test_is_skipped():
    pass
"""
CONFTEST = """
import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "skipped" in item.name:
            item.add_marker(pytest.mark.skip(reason="not today"))
"""


class Seen(NamedTuple):
    """What a run leaves."""

    code: int
    records: dict[str, str]
    """Outcome of each trial, as all reports name it."""
    junit: dict[str, int]
    allure: dict[str, str]
    """Status by historyId."""
    summary: tuple[str, ...]
    """Rates in the terminal."""
    output: str


class Project:
    """A directory with the task files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "tasks").mkdir(parents=True)
        for number in range(PER_KIND):
            tasks = "".join(self._task(f"{kind}-{number}", kind) for kind in KINDS)
            (path / "tasks" / f"part{number}.tasks.yaml").write_text(f"tasks:\n{tasks}")
        more = self._task("skipped", "right") + self._task("unavailable", "right", sites="[broken]")
        (path / "tasks" / "more.tasks.yaml").write_text(f"tasks:\n{more}")
        (path / "scripted.py").write_text(AGENT)
        (path / "sites.yaml").write_text(CATALOGUE)
        (path / "test_python.py").write_text(PYTHON_TESTS)
        (path / "conftest.py").write_text(CONFTEST)
        (path / "pytest.ini").write_text("[pytest]\n")
        self._runs = 0

    @staticmethod
    def _task(name: str, kind: str, sites: str = "[]") -> str:
        answer = "{number: 5}" if kind == "vague" else "rye"  # 5 km may be 5: undecided
        return f"  - {{id: {name}, sites: {sites}, intent: 'Say {kind}.', checks: [{{answer: {answer}}}]}}\n"

    def command(self, *options: str, run: str) -> list[str]:
        """Return the command of one run."""
        return [
            *(sys.executable, "-m", "pytest", "tasks", "test_python.py", "--agent=scripted:Scripted"),
            *("--sites=sites.yaml", "--max-steps=3", "--trials=2", f"--browser-executable={sys.executable}"),
            *("-p", "no:randomly", "-p", "no:rerunfailures", "--tb=no"),
            *(f"--junitxml={run}.xml", f"--alluredir={run}.allure", *options),
            *(() if any(option.startswith("--resume") for option in options) else (f"--run-dir={run}",)),
        ]

    def new_run(self) -> str:
        """Return the name of a run that does not exist."""
        self._runs += 1
        return f"run{self._runs}"

    def start(self, command: list[str], **environ: str) -> subprocess.Popen[str]:
        """Start a run in a process group of its own."""
        return subprocess.Popen(
            command,
            cwd=self.path,
            env=os.environ | {"PYTHONPATH": str(self.path), "PY_COLORS": "0"} | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *options: str, run: str | None = None) -> Seen:
        """Run to the end."""
        name = run or self.new_run()
        process = self.start(self.command(*options, run=name))
        output, _ = process.communicate(timeout=600)
        return self.seen(name, process.returncode, output)

    def seen(self, run: str, code: int, output: str) -> Seen:
        """Read what a run left."""
        path = self.path / run
        records = RunDir(path).records() if path.exists() else []
        return Seen(
            code,
            {record.key.folder: reported_outcome(record).label for record in records},
            _junit(Path(f"{path}.xml")),
            _allure(Path(f"{path}.allure")),
            tuple(sorted(line for line in output.splitlines() if re.match(r"scripted\S*: ", line))),
            output,
        )


def _junit(path: Path) -> dict[str, int]:
    if not path.exists():
        return {}
    found: Counter[str] = Counter()
    for case in ElementTree.parse(path).iter("testcase"):
        status = sorted(child.tag for child in case if child.tag in ("failure", "error", "skipped")) or ["passed"]
        found[f"{case.get('name')} {'+'.join(status)}"] += 1
    return dict(found)


def _allure(path: Path) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for file in path.glob("*-result.json"):
        result = json.loads(file.read_text("utf-8"))
        labels = sorted(f"{label['name']}={label['value']}" for label in result["labels"] if _is_stable(label["name"]))
        found.setdefault(result["historyId"], []).append(" ".join([result["name"], result["status"], *labels]))
    return {key: " | ".join(sorted(values)) for key, values in found.items()}


def _is_stable(label: str) -> bool:
    return label not in ("host", "thread")


def differences(found: Seen, reference: Seen) -> Iterator[str]:
    """Yield each difference of two runs."""
    if found.code != reference.code:
        yield f"exit code {found.code}, expected {reference.code}"
    for name in ("records", "junit", "allure"):
        yield from _different(name, getattr(found, name), getattr(reference, name))
    if found.summary != reference.summary:
        yield f"summary {found.summary}, expected {reference.summary}"


def _different(name: str, found: dict[str, Any], reference: dict[str, Any]) -> Iterator[str]:
    for key in sorted(found.keys() | reference.keys()):
        if found.get(key) != reference.get(key):
            yield f"{name}: {key} is {found.get(key)}, expected {reference.get(key)}"


def spread(project: Project, reference: Seen) -> Iterator[tuple[str, list[str]]]:
    """Yield the differences of each distribution."""
    yield "-n 0 --concurrency 4", list(differences(project.run("--concurrency=4"), reference))
    for workers in (1, 4, 8):
        for distribution in ("load", "loadscope", "loadfile", "worksteal", "loadgroup"):
            options = (f"-n{workers}", f"--dist={distribution}")
            yield " ".join(options), list(differences(project.run(*options), reference))
    for workers in (1, 4):
        options = (f"-n{workers}", "--concurrency=4")
        yield " ".join(options), list(differences(project.run(*options), reference))


def stops(project: Project, reference: Seen) -> Iterator[tuple[str, list[str]]]:
    """Yield what stopped runs lose, and the differences of the runs that complete them."""
    for workers in ("-n0", "-n4", "-n4 --concurrency=4"):
        for stop in ("-x", "--maxfail=3"):
            yield f"{workers} {stop}", list(_stopped(project, reference, *workers.split(), stop))
        yield f"{workers} Ctrl-C", list(_interrupted(project, reference, *workers.split()))
        yield f"{workers} --lf", list(_last_failed(project, reference, *workers.split()))


def _stopped(project: Project, reference: Seen, *options: str) -> Iterator[str]:
    run = project.new_run()
    found = project.run(*options, run=run)
    yield from _accounted_for(project, run, found, reference)
    yield from _completed(project, run, reference, *(option for option in options if option[:2] in ("-n", "--c")))


def _interrupted(project: Project, reference: Seen, *options: str) -> Iterator[str]:
    run = project.new_run()
    process = project.start(project.command(*options, run=run), SECONDS_PER_STEP="1")
    _wait_for_records(project, run, process)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=300)
    yield from _accounted_for(project, run, project.seen(run, process.returncode, output), reference)
    yield from _completed(project, run, reference, *options)


def _last_failed(project: Project, reference: Seen, *options: str) -> Iterator[str]:
    project.run(*options)
    found = project.run(*options, "--lf")
    expected = {key: label for key, label in reference.records.items() if not label.startswith("passed")}
    yield from _different("--lf", found.records, expected)


def _wait_for_records(project: Project, run: str, process: subprocess.Popen[str], least: int = 8) -> None:
    deadline = time.monotonic() + 300
    while len(list((project.path / run).glob("trials/*/trial.json"))) < least:
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"the run ended before it could be interrupted: {process.communicate()[0]}")
        time.sleep(0.05)


def _accounted_for(project: Project, run: str, found: Seen, reference: Seen) -> Iterator[str]:
    """Yield what the plan and the printed numbers miss, and each finished trial whose outcome differs."""
    planned = {key.folder for key in read_plan(project.path / run)}
    if missing := reference.records.keys() - planned:
        yield f"the plan misses {sorted(missing)}"
    counts = re.search(r"^trials +(\d+) planned, (.*(?:\n {10,}.*)*)$", found.output, re.MULTILINE)
    if counts is None:
        yield "the summary does not say how many trials were planned"
    else:
        parts = [int(number) for number in re.findall(r"(\d+)", re.sub(r"\(.*?\)", "", counts[2]))]
        if not int(counts[1]) == len(planned) == sum(parts):
            yield f"the summary accounts for {sum(parts)} of {len(planned)} planned trials: {counts[0]}"
    for key, label in found.records.items():
        if label != reference.records.get(key) and not label.startswith("error: harness"):
            yield f"records: {key} is {label}, expected {reference.records.get(key)}"
    if found.records == reference.records:
        yield "the run was not stopped"


def _completed(project: Project, run: str, reference: Seen, *options: str) -> Iterator[str]:
    found = project.run(*options, f"--resume={run}", run=run)
    yield from _different("after --resume", _without_attempts(found.records), reference.records)
    if found.summary != reference.summary:
        yield f"summary after --resume {found.summary}, expected {reference.summary}"


def kills(project: Project, reference: Seen) -> Iterator[tuple[str, list[str]]]:
    """Yield what a run loses when two of its workers are killed."""
    for schedule in ("-n4", "-n4 --dist=loadfile", "-n4 --concurrency=4"):
        yield f"{schedule}, two workers killed", list(_killed(project, reference, *schedule.split()))


def _killed(project: Project, reference: Seen, *options: str) -> Iterator[str]:
    run = project.new_run()
    for file in (project.path / "workers").glob("*"):
        file.unlink()
    process = project.start(project.command(*options, run=run), SECONDS_PER_STEP="0.3")
    _wait_for_records(project, run, process)
    victims = sorted(int(file.name) for file in (project.path / "workers").glob("*"))[:2]
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    output, _ = process.communicate(timeout=300)
    found = project.seen(run, process.returncode, output)
    lost = {key for key, label in found.records.items() if label != reference.records.get(key)}
    width = 4 if "--concurrency=4" in options else 1
    if len(lost) > 2 * width:
        yield f"{len(lost)} trials differ, at most {2 * width} were running: {sorted(lost)}"
    for key in sorted(lost):
        if not found.records[key].startswith(("undecided", "error: harness")):
            yield f"records: {key} is {found.records[key]}, expected undecided or an error of the harness"
    resumed = project.run(*options, f"--resume={run}", run=run)
    for key, label in reference.records.items():
        if (now := _without_attempts(resumed.records).get(key)) not in (label, "undecided: unattributed"):
            yield f"after --resume: {key} is {now}, expected {label}"


def _without_attempts(records: dict[str, str]) -> dict[str, str]:
    """Return the records without numbers of attempts: interrupted trials may pass on their second one."""
    return {key: label.partition(": attempt")[0] for key, label in records.items()}


CASES = {"spread": spread, "stops": stops, "kills": kills}


def main() -> int:
    """Return exit code 1 if a run differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--list", action="store_true", help="Print the reference's outcomes.")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of shells ignore it, and so would runs
    wrong = runs = 0
    with tempfile.TemporaryDirectory(prefix="schedules-") as scratch:
        project = Project(Path(scratch) / "project")
        reference = project.run("-n0")
        print(
            f"reference: {len(reference.records)} records, exit code {reference.code}, {reference.summary}", flush=True
        )
        if given.list:
            print(json.dumps(reference._asdict() | {"output": ""}, indent=1), reference.output)
        for case in given.cases:
            for name, found in CASES[case](project, reference):
                runs, wrong = runs + 1, wrong + bool(found)
                print(f"{name:<36} {'equal' if not found else f'{len(found)} differences'}", flush=True)
                for line in found[:6]:
                    print(f"    {line}", flush=True)
    print(f"{runs} schedules, {wrong} with differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
