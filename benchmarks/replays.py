"""Checks that replays of trials of other tools equal the originals: verdict, fields and divergence.

    python benchmarks/replays.py PATH… --client coordinates|puppeteer|browser-use [--sample N] [--seed N] [--only ID…]

A driver (`drivers/`) that controls the browser over CDP runs each task's solution: with points, wheel and keys; with
Puppeteer; or with browser-use's actions. The trial is replayed on fresh replicas, and compared with the original:

* the verdict of the task's own checks,
* the last value of each written field on each page, by the browser's own events or as set by a script,
* where the replay reports that it diverged.

Prints a line for each trial that differs. Tasks with steps that the client cannot perform (uploads, dialogs) are
skipped. Trials in which the driver gave up or timed out are listed and not counted; trials that ended with an answer
and failed are counted. Exit code 1: less than 97 % have an equal verdict, equal fields and no divergence, or fewer than
3 in 4 ended with an answer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pytest_webarena.actions import Action, Selector, as_record
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.tasks import Task, load_tasks

ROOT = Path(__file__).parents[1]
DRIVERS = Path(__file__).parent / "drivers"
sys.path.insert(0, str(ROOT))

from examples.clients.run import ENVS, install  # noqa: E402

CLIENTS = {
    "coordinates": ("playwright-python", "coordinates.py", ""),
    "puppeteer": ("puppeteer", "puppeteer.cjs", "env: [NODE_PATH]\nscheme: http\n"),
    "browser-use": ("browser-use", "browser_use_plan.py", ""),
}
"""Each client's environment (`examples.clients.run`), its driver, and keys for its definition."""
KINDS = frozenset(
    ["click", "type", "press", "select", "check", "hover", "goto", "go_back", "new_tab", "tab_focus", "stop"]
)
"""The kinds of actions that every driver can carry out."""
NO_WORDS: dict[str, tuple[str, ...]] = {
    "coordinates": (),
    "puppeteer": ("internal:", "name=/"),
    "browser-use": ("internal:", "name=/", "text=", "nth=", "has-text"),
}
"""Parts of selectors that a driver can't find elements by."""
ENOUGH = 0.97
ENDED = 0.75
"""The share of played trials that have to reach an answer; otherwise only the easy ones would be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The results of one trial."""

    outcome: str
    message: str
    stop: str
    """Why the trial ended."""
    fields: dict[tuple[str, str], str]
    """The last value of each field, by the page's path and the field's own selector."""
    replayed: str
    """The replay's own report."""


def main() -> int:
    """Measures and prints."""
    options = arguments().parse_args()
    tasks, not_played = chosen(options.paths, options.client, options.sample, options.seed)
    tasks = [task for task in tasks if not options.only or task.id in options.only]
    runs = options.runs or Path(tempfile.mkdtemp(prefix="webarena-replays-"))
    shutil.rmtree(runs, ignore_errors=True)
    agents, variables = definition(options.client, tasks, runs / "agents")
    wide = [f"--concurrency={options.concurrency}"]
    play(tasks, runs / "first", [*wide, f"--agent={options.client}", "-o", f"webarena_agents={agents}"], variables)
    source = ["--agent=replay", f"--agent-option=run={runs / 'first'}", f"--agent-option=agent={options.client}"]
    play(tasks, runs / "again", [*wide, *source], {})
    print(f"{len(not_played)} tasks not played by {options.client}: {dict(Counter(not_played.values()))}")
    return print_comparison(tasks, trials(runs / "first"), trials(runs / "again"))


def arguments() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="task files or folders")
    parser.add_argument("--client", required=True, choices=CLIENTS, help="driver of the browser")
    parser.add_argument("--sample", type=int, help="run a random sample of this size")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: %(default)s)")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="run only these tasks of the sample")
    parser.add_argument("--concurrency", type=int, default=1, help="concurrent trials (default: %(default)s)")
    parser.add_argument("--runs", type=Path, help="folder of records, emptied first")
    return parser


def chosen(paths: Sequence[Path], client: str, sample: int | None, seed: int) -> tuple[list[Task], dict[str, str]]:
    """Returns the tasks to play, and the reason for each task of the sample that the client can't play."""
    accounts = load_catalogue("embedded").accounts
    files = [file for path in paths for file in (sorted(path.rglob("*.yaml")) if path.is_dir() else [path])]
    tasks = [task for file in files for task in load_tasks(file, sites=accounts) if task.solution and task.sites]
    intents = Counter(task.intent for task in tasks)  # a driver knows a task by its intent alone
    tasks = [task for task in tasks if intents[task.intent] == 1]
    if sample:
        tasks = random.Random(seed).sample(tasks, min(sample, len(tasks)))
    whys = {task.id: why for task in tasks if (why := beyond(task, client))}
    return [task for task in tasks if task.id not in whys], whys


def beyond(task: Task, client: str) -> str:
    """Returns what the client can't do of a task; empty if it can do everything."""
    return next((why for step in task.solution or () if (why := beyond_step(step, client))), "")


def beyond_step(step: Action, client: str) -> str:
    """Returns why the client can't do a step; empty if it can."""
    target = getattr(step, "target", None)
    selector = target.selector if isinstance(target, Selector) else ""
    if step.kind not in KINDS - ({"hover", "new_tab"} if client == "browser-use" else set()):
        return str(step.kind)
    if any(words in selector for words in NO_WORDS[client]):
        return "a selector that it has no words for"
    return ""


def definition(client: str, tasks: Sequence[Task], folder: Path) -> tuple[Path, dict[str, str]]:
    """Writes a folder with the client's definition, its driver and the steps for each intent.

    Returns the path of the definition, and the client's environment variables.
    """
    environment, file, keys = CLIENTS[client]
    packages = (ENVS / environment).resolve()
    variables = install(environment, packages)
    program = packages / "bin/python" if file.endswith(".py") else "node"  # agents can't see the project's own Python
    folder.mkdir(parents=True)
    shutil.copy(DRIVERS / file, folder)
    (folder / f"{client}.yaml").write_text(f"kind: cdp\ncommand: [{program}, ./{file}]\n{keys}files: [plans.json]\n")
    plans = {task.intent: [as_record(step) for step in task.solution or ()] for task in tasks}
    (folder / "plans.json").write_text(json.dumps(plans))
    return folder.resolve(), variables


def play(tasks: Sequence[Task], run: Path, arguments: Sequence[str], variables: dict[str, str]) -> None:
    """Runs pytest once with all tasks; its output is stored next to its records."""
    run.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-n0", "--env-retries=1"]
    nodes = [f"{task.location.path}::{task.id}" for task in tasks]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")} | {"CI": "true"}
    environment |= variables
    with run.with_suffix(".txt").open("w") as out:
        subprocess.run(
            [*command, *arguments, f"--run-dir={run}", "--time-limit=180", "--max-steps=300", *nodes],
            cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip


def trials(run: Path) -> dict[str, Trial]:
    """Returns a run's trials by task."""
    records = [(file, json.loads(file.read_text())) for file in run.glob("trials/*/trial.json")]
    return {record["key"]["task"]: read_trial(file, record) for file, record in records}


def read_trial(file: Path, record: dict[str, str]) -> Trial:
    """Reads a trial from its record and the files of its last attempt."""
    attempt = sorted(file.parent.glob("attempt-*"))[-1]
    replayed = attempt / "replay.txt"
    return Trial(
        outcome=record["outcome"],
        message=record.get("message") or "",
        stop=record["stop_reason"],
        fields=fields(attempt / "browser_events.jsonl"),
        replayed=replayed.read_text() if replayed.exists() else "",
    )


def fields(signals: Path) -> dict[tuple[str, str], str]:
    """Returns the last value of each field that was written in."""
    events = [json.loads(line) for line in signals.read_text().splitlines()] if signals.exists() else []
    return {
        (urlsplit(event["url"]).path, event["target"]["selector"]): event["value"]
        for event in events
        if event["kind"] == "dom" and event["event"] in ("input", "change", "put", "set") and event["value"] is not None
    }


def print_comparison(tasks: Sequence[Task], first: dict[str, Trial], again: dict[str, Trial]) -> int:
    """Prints the differences and the share of equal trials; returns the exit code."""
    found: Counter[str] = Counter()
    for task in tasks:
        if task.id not in first or task.id not in again:
            print(f"{task.id}: no record")
            found["none"] += 1
            continue
        one, other = first[task.id], again[task.id]
        if one.stop != "answered":
            print(f"{task.id}: no answer of the driver ({one.stop}): {one.message[-400:]}")
            found["unanswered"] += 1
            continue
        whys = differences(one, other)
        found.update(whys.keys())
        found["equal"] += not whys
        found["passed"] += one.outcome == "passed"
        found["written"] += len(one.fields)
        if one.outcome != "passed":
            print(f"{task.id}: the driver's trial {one.outcome}: {one.message[:300]}")
        for what, why in whys.items():
            print(f"{task.id}: {what}: {why}")
    return summed_up(len(tasks), found)


def summed_up(played: int, found: Counter[str]) -> int:
    """Prints the totals; returns the exit code."""
    count = played - found["unanswered"]
    print(f"{found['unanswered']} of {played} played without an answer: not counted below")
    print(f"{found['passed']} of {count} passed the first time; {found['written']} fields were written in")
    for what in ("verdict", "fields", "divergence"):
        print(f"{count - found['none'] - found[what]} of {count} without a difference in the {what}")
    print(f"{found['equal']} of {count} trials equal in all ({found['equal'] / max(count, 1):.1%})")
    return int(not count or count < ENDED * played or found["equal"] < ENOUGH * count)


def differences(first: Trial, again: Trial) -> dict[str, str]:
    """Returns how a replay differs from the trial, and why."""
    whys: dict[str, str] = {}
    if first.outcome != again.outcome:
        whys["verdict"] = f"{first.outcome}, then {again.outcome}: {again.message[:300]}"
    unlike = [
        key for key in first.fields.keys() | again.fields.keys() if first.fields.get(key) != again.fields.get(key)
    ]
    if unlike:
        each = [f"{key}: {first.fields.get(key)!r}, then {again.fields.get(key)!r}" for key in sorted(unlike)]
        whys["fields"] = "; ".join(each)
    if "no divergence" not in again.replayed:
        lines = [line for line in again.replayed.splitlines() if "differs" in line or "not found" in line]
        whys["divergence"] = (lines or again.replayed.splitlines()[-1:] or ["the replay reported nothing"])[0]
    return whys


if __name__ == "__main__":
    sys.exit(main())
