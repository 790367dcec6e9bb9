"""Checks that verdicts depend only on the agent: the same trials in other orders, in parallel, on other backends.

    python benchmarks/verdicts.py [--sites embedded,embedded-docker] [--workers 1,4] [--agents oracle,null] [PATH …]

Runs the task set once per catalogue and number of workers, each time in another order, shuffled from ``--seed``. Then
compares the runs trial by trial: outcome, cause, score, answer, stop reason, number of steps, and of every check its
score, expected value, actual value and reason. Prints a line per run and every difference. Differences in the actual
value alone (such as the number of requests of a page) are printed and not counted. Finished runs in ``--keep`` are not
repeated. Exit code 0: no difference.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ORDER = "WEBARENA_VERDICTS_ORDER"
ASIDE = "judged alike, though what was seen differs: "
SEEN = 200
"""How many characters of a differing value are printed."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffles the tests in the same way in every worker; this file is also a plugin of the runs."""
    random.Random(os.environ[ORDER]).shuffle(items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One pass through all trials."""

    sites: str
    workers: int
    order: str
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.sites} -n {self.workers}"


def main() -> int:
    """Does the missing runs and compares them all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=["tasks"], metavar="PATH", help="task files or folders")
    parser.add_argument(
        "--sites", default="embedded,embedded-docker", help="catalogues, separated by commas (default: %(default)s)"
    )
    parser.add_argument(
        "--workers", default="1,4", help="numbers of workers, separated by commas (default: %(default)s)"
    )
    parser.add_argument("--agents", default="oracle,null", help="agents, separated by commas (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the orders (default: %(default)s)")
    parser.add_argument("--keep", type=Path, default=None, help="keep records in this folder")
    parser.add_argument("--only-compare", action="store_true", help="compare the runs in --keep")
    options = parser.parse_args()
    base = options.keep or Path(tempfile.mkdtemp(prefix="verdicts-"))
    runs = [
        Run(
            sites=sites, workers=workers, order=f"{options.seed} {sites} {workers}", folder=base / f"{sites}-n{workers}"
        )
        for sites in options.sites.split(",")
        for workers in map(int, options.workers.split(","))
    ]
    agents = options.agents.split(",")
    if not options.only_compare:
        for run in runs:
            perform(run, agents, options.paths)
    verdicts = {run.name: read(run.folder, agents) for run in runs if run.folder.exists()}
    for name, found in verdicts.items():
        outcomes = Counter(trial["outcome"] for trial in found.values())
        print(f"{name}: {len(found)} trials, " + ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items())))
    differences = list(compare(verdicts))
    print("\n".join(differences))
    counted = [difference for difference in differences if not difference.startswith(ASIDE)]
    print(f"{len(counted)} differences" if counted else f"identical verdicts in {len(verdicts)} runs")
    print(f"records: {base}")
    return 1 if counted or not verdicts else 0


def perform(run: Run, agents: Sequence[str], paths: Sequence[str]) -> None:
    """Plays all trials once. Wrong agents fail, so pytest's exit code isn't used."""
    if (run.folder / "done").exists():
        return
    command = [
        sys.executable,
        "-m",
        "pytest",
        *paths,
        *(f"--agent={agent}" for agent in agents),
        "-n",
        str(run.workers),
    ]
    command += [f"--sites={run.sites}", "--record=minimal", "--tb=no", "-q", "-p", "no:cacheprovider", "-p", "verdicts"]
    command += [f"--resume={run.folder}" if run.folder.exists() else f"--run-dir={run.folder}"]
    path = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
    began = time.monotonic()
    env = {**os.environ, "PYTHONPATH": path, ORDER: run.order}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    print(f"{run.name}: order {run.order}, {time.monotonic() - began:.0f} s", flush=True)
    if done.returncode not in (0, 1):
        sys.exit(
            f"expected a finished run, pytest ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}"
        )
    (run.folder / "done").touch()


def read(folder: Path, agents: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Returns the parts of each trial's record that must depend on nothing but the agent, by name."""
    found = {}
    for file in folder.glob("trials/*/trial.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        key = record["key"]
        if key["agent"] not in agents:
            continue
        trial = {name: record[name] for name in ("outcome", "cause", "score", "answer", "stop_reason", "steps")}
        for result in walk((record["verdict"] or {}).get("results", ())):
            for name in ("score", "expected", "actual", "why", "state"):
                trial[f"{result['path']}.{name}"] = result[name]
        found[f"{key['task']} {key['agent']} {key['trial']}"] = trial
    return found


def walk(results: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yields all checks, including nested ones."""
    for result in results:
        yield result
        yield from walk(result["children"])


def compare(runs: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    """Yields a line per run without some trials or verdicts, and a paragraph per trial and part where verdicts
    differ."""
    trials = sorted({trial for found in runs.values() for trial in found})
    for name, found in runs.items():
        if missing := [trial for trial in trials if trial not in found]:
            yield f"{name}: {len(missing)} of {len(trials)} trials are not there, e.g. {missing[0]}"
        if errors := [trial for trial, parts in found.items() if parts["outcome"] == "error"]:
            yield f"{name}: {len(errors)} trials ended in errors, so without a verdict, e.g. {errors[0]}"
    for trial in trials:
        had = {name: found[trial] for name, found in runs.items() if trial in found}
        had = {name: parts for name, parts in had.items() if parts["outcome"] != "error"}
        for part in sorted({part for parts in had.values() for part in parts}):
            values = {name: json.dumps(parts.get(part)) for name, parts in had.items()}
            if len(set(values.values())) > 1:
                yield f"{ASIDE if part.endswith('.actual') else ''}{trial}, {part}:" + "".join(
                    f"\n    {name}: {value[:SEEN]}" for name, value in values.items()
                )


if __name__ == "__main__":
    sys.exit(main())
