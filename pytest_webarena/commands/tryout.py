"""``webarena tasks try``: find a task, start its sites and a browser, and read commands."""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.actions import Stop
from pytest_webarena.commands.playing import open_runtime
from pytest_webarena.errors import TaskFileError, TrialError, UsageError, closest
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.sites_for_tasks import sites_for_tasks
from pytest_webarena.suites.loading import is_suite, load_suite
from pytest_webarena.tasks import Task, load_tasks, parse_tasks
from pytest_webarena.trials.runtime import Runtime
from pytest_webarena.trials.tryout import Tryout, about, converse, tryout

if TYPE_CHECKING:
    from pytest_webarena.evidence import Evidence

__all__ = ["run_tryout"]


def run_tryout(options: argparse.Namespace) -> int:
    """Run ``webarena tasks try``. Returns 0, or 1 when a replayed solution does not pass."""
    if options.record is not None and options.record.exists():
        raise UsageError(f"{options.record}: expected a file that is not there yet, found one; choose another name")
    if options.solution and (options.go_on or options.record is not None):
        raise UsageError("--solution replays and leaves; expected either it, or --go-on and --record")
    if options.headed and options.go_on:
        raise UsageError("--headed and --go-on: expected one of them; steps are read from the terminal or the window")
    task = _find(options.task, options.sites)
    with open_runtime(options.sites, headed=options.headed, executable=options.browser_executable) as runtime:
        try:
            return _play(task, runtime, options)
        except TrialError as error:
            print(f"error ({error.cause}): {error}", file=sys.stderr)
            return 1


def _play(task: Task, runtime: Runtime, options: argparse.Namespace) -> int:
    if options.solution:
        with tryout(task, runtime, print, options.pictures) as trying:
            print(about(task))
            while trying.steps_left and trying.next_step():
                pass
            passed = trying.show_checks(shutil.get_terminal_size().columns)
            if trying.steps_left:
                print(f"webarena tasks try {options.task} --go-on stops there and reads commands")
            return 0 if passed else 1
    kept: list[Evidence] = []

    def ended(trying: Tryout) -> None:
        if options.record is not None:
            kept.append(trying.evidence())

    if options.headed:
        with tryout(task, runtime, print, options.pictures, user_answers_dialogs=options.record is not None) as trying:
            _watch(trying, task)
            ended(trying)
    else:
        converse(task, runtime, _read, print, options.pictures, play=options.go_on, ended=ended)
    return _written(task, kept[0], runtime, options.record) if kept else 0


def _written(task: Task, evidence: Evidence, runtime: Runtime, file: Path) -> int:
    """Write the user's steps as a solution, and try it. Returns 1 for one that does not pass on fresh sites."""
    from pytest_webarena.recorder.selector_proving import relative
    from pytest_webarena.recorder.task_building import read_session, replay_steps
    from pytest_webarena.recorder.writing import solution_lines, task_lines

    shown = read_session(evidence, None)
    print(f"\n{len(shown.steps)} steps; doing them again on fresh sites, to see by what their elements can be found")
    replay = replay_steps(task, shown.steps, runtime, print)
    steps = [(relative(each.action, shown.sites), each.problem) for each in replay.chosen]
    steps.append((Stop(shown.answer), ""))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join([*solution_lines(steps), ""]), encoding="utf-8")
    print(f"\nwritten: {file}\ntrying it on fresh sites")
    keys = {"id": task.id, "intent": "Do it again.", "sites": list(task.sites)}
    [read] = parse_tasks("\n".join(["tasks:", *task_lines(keys, [["- answer: placeholder"]], steps)]))
    with tryout(replace(task, solution=read.solution), runtime, print, Path("tryout")) as trying:
        done = trying.play()
        return 0 if trying.show_checks(shutil.get_terminal_size().columns) and done else 1


def _read() -> str:
    """Read a command; one from a pipe is printed, so that the output reads as a dialogue."""
    command = input("> ")
    if not sys.stdin.isatty():
        print(command)
    return command


def _watch(trying: Tryout, task: Task) -> None:
    print(f"{about(task)}\nUse the browser's window; Enter ends it.\n")
    ended = threading.Event()

    def wait_for_enter() -> None:
        sys.stdin.readline()
        ended.set()

    threading.Thread(target=wait_for_enter, daemon=True).start()
    trying.watch(ended)


def _find(name: str, catalogue: str) -> Task:
    """The task named ``file::id`` or ``suite::id``; the ``[…]`` of an instance's node id is ignored."""
    file, _, id = name.partition("::")
    try:
        if is_suite(file):
            found = load_suite(file).tasks
        else:
            found = load_tasks(Path(file), sites=sites_for_tasks(load_catalogue(catalogue)))
    except TaskFileError as error:
        raise UsageError(str(error)) from None
    tasks = {task.id: task for task in found}
    id = id.partition("[")[0]
    if not id and len(tasks) == 1:
        return next(iter(tasks.values()))
    if id not in tasks:
        raise UsageError(f"{name}: expected FILE::ID of a task in {file}; {closest(id, tasks)}")
    return tasks[id]
