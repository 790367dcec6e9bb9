"""Checks that recordings equal the solutions that they record: verdicts before and after.

    python benchmarks/recorder.py PATH… [--sample N] [--seed N]

Runs each task's solution in a real browser on leased sites. The recorder gets the session's signals alone, none of the
solution's selectors. Its result is written as YAML, read back, and run on fresh sites; the task's own checks judge both
runs. Uploaded files come from the folder `files` next to the task's file. Prints the tasks whose verdicts differ, and
the share of equal ones.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pytest_webarena.actions import Stop
from pytest_webarena.commands.playing import open_runtime
from pytest_webarena.errors import TrialError
from pytest_webarena.recorder.selector_proving import prove, relative
from pytest_webarena.recorder.steps import steps_of
from pytest_webarena.recorder.writing import task_lines
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.sites_for_tasks import sites_for_tasks
from pytest_webarena.tasks import Task, load_tasks, parse_tasks
from pytest_webarena.trials.runtime import Runtime
from pytest_webarena.trials.tryout import tryout

NOWHERE = Path("tryout")


def main() -> int:
    """Measures and prints. Returns exit code 1 if fewer than 95 % of the verdicts are equal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="task files or folders")
    parser.add_argument("--sites", default="embedded", help="catalogue of sites (default: %(default)s)")
    parser.add_argument("--sample", type=int, help="run a random sample of this size")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: %(default)s)")
    options = parser.parse_args()
    accounts = sites_for_tasks(load_catalogue(options.sites))
    files = [file for path in options.paths for file in (sorted(path.rglob("*.yaml")) if path.is_dir() else [path])]
    tasks = [task for file in files for task in load_tasks(file, sites=accounts) if task.solution and task.sites]
    if options.sample:
        tasks = random.Random(options.seed).sample(tasks, min(options.sample, len(tasks)))
    equal = steps = lasting = 0
    with open_runtime(options.sites, headed=False, executable=None) as runtime:
        for task in tasks:
            began = time.monotonic()
            try:
                before, after, found, why = compare(task, runtime)
            except (TrialError, ValueError) as error:
                before, after, found, why = True, False, [], f"{type(error).__name__}: {error}"
            equal += before == after
            steps += len(found)
            lasting += sum(not selector.startswith("css=") for selector in found)
            if before != after:
                print(f"{task.id}: {'passed' if before else 'failed'}, then {'passed' if after else 'failed'}: {why}")
            else:
                print(f"{task.id}: equal, {time.monotonic() - began:.1f} s")
            sys.stdout.flush()
    print(f"{equal} of {len(tasks)} verdicts equal ({equal / len(tasks):.1%}); {steps} targets, {lasting} by no CSS")
    return int(equal < 0.95 * len(tasks))


def compare(task: Task, runtime: Runtime) -> tuple[bool, bool, list[str], str]:
    """Returns the verdicts of the solution and of its recording, the recorded targets, and what went wrong."""
    log: list[str] = []
    uploads = {path.name: path for path in Path(task.location.path).parent.glob("files/*")}
    with tryout(task, runtime, log.append, NOWHERE, uploads=uploads) as trying:
        while trying.steps_left and trying.next_step():
            pass
        before = trying.verdict()
        recorded = steps_of(trying.signals(), before=trying.signals_before)
        sites = trying.evidence().sites
    shown = replace(task, solution=tuple(each.action for each in recorded))
    with tryout(shown, runtime, log.append, NOWHERE, uploads=uploads) as trying:
        chosen = list(prove(recorded, trying, lambda action: "" if trying.act(action) else trying.error))
    stop = next((step for step in task.solution or () if isinstance(step, Stop)), Stop(""))
    done = [(relative(each.action, sites), each.problem) for each in chosen]
    keys = {"id": task.id, "intent": "Do it again.", "sites": list(task.sites)}
    text = "\n".join(["tasks:", *task_lines(keys, [["- answer: placeholder"]], [*done, (stop, "")])])
    [written] = parse_tasks(text)
    again = replace(task, solution=written.solution)
    with tryout(again, runtime, log.append, NOWHERE, uploads=uploads) as trying:
        while trying.steps_left and trying.next_step():
            pass
        after = trying.verdict()
    targets = []
    for action, _ in done:
        with suppress(AttributeError):
            targets.append(action.target.selector)  # type: ignore[union-attr]
    problems = [each.problem for each in chosen if each.problem]
    failed = [line for line in after.render(200).splitlines() if line.startswith(("✗", "failed"))]
    return bool(before.passed), bool(after.passed), targets, "; ".join([*problems, *failed])[:400]


if __name__ == "__main__":
    sys.exit(main())
