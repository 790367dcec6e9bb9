"""``webarena record``: a task made by doing it, or a solution read out of a recorded trial."""

from __future__ import annotations

import argparse
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.actions import Action, Goto, Stop
from pytest_webarena.agents.builtin import describe_step
from pytest_webarena.changes import SiteChanges
from pytest_webarena.commands.playing import open_runtime
from pytest_webarena.errors import TaskFileError, UsageError, closest
from pytest_webarena.recorder.proposing import ProposedCheck, proposed_checks
from pytest_webarena.recorder.proving import Chosen, prove, relative
from pytest_webarena.recorder.steps import RecordedStep, steps_of
from pytest_webarena.recorder.writing import task_lines
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.signals import AddressChanged
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.tasks import Task, parse_tasks
from pytest_webarena.trials.tryout import Tryout, tryout

if TYPE_CHECKING:
    from pytest_webarena.evidence import Evidence
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.sites.catalogues.manifest import Catalogue
    from pytest_webarena.trials.runtime import Runtime

__all__ = ["add_arguments", "proved", "shown_of"]

_LOOK = 0.5
"""Seconds between two looks at what was done."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument(
        "places", nargs="*", metavar="SITE[:/PATH]", help="sites to do the task on, and the page where it begins"
    )
    parser.add_argument("--intent", default="", metavar="TEXT", help="what the agent is told (default: asked for)")
    parser.add_argument("--id", default="", help="the task's id (default: made of the intent)")
    parser.add_argument("--user", action="append", default=[], metavar="SITE=NAME", help="whom to be signed in as")
    parser.add_argument(
        "--from", dest="source", type=Path, metavar="TRIAL",
        help="a trial's folder, RUN/trials/…: read the solution out of it instead of out of a browser's window",
    )  # fmt: skip
    parser.add_argument("--answer", metavar="TEXT", help="the answer (default: asked for, or the trial's)")
    parser.add_argument("--all-checks", action="store_true", help="take all recommended checks without a question")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write the task (default: printed)")
    parser.add_argument("--sites", metavar="CATALOGUE", help="sites to use (default: as for pytest)")
    parser.add_argument("--browser-executable", metavar="PATH", help="browser to use (default: as for pytest)")
    parser.set_defaults(run=run_record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What somebody did."""

    steps: tuple[RecordedStep, ...]
    answer: str
    url: str
    sites: Mapping[str, str]
    changes: tuple[SiteChanges, ...]


def run_record(options: argparse.Namespace) -> int:
    """Carry out ``webarena record``. Exit code 0, or 1 for a task whose solution does not pass on fresh sites."""
    from pytest_webarena.commands.project import DEFAULT_SITES

    if options.output is not None and options.output.exists():
        raise UsageError(f"{options.output}: expected a file that is not there yet, found one; choose another name")
    name = options.sites or DEFAULT_SITES
    catalogue = load_catalogue(name)
    evidence = _evidence(options.source) if options.source is not None else None
    task = _task(options, catalogue, evidence)
    with ExitStack() as exits:
        runtime = exits.enter_context(
            open_runtime(name, headed=evidence is None, executable=options.browser_executable)
        )
        shown = shown_of(evidence, options.answer) if evidence is not None else _watch(task, runtime, options)
        if not shown.steps and not shown.answer:
            raise UsageError("expected something done in the browser, or an answer; found neither")
        return _make(task, shown, runtime, options, _noise(catalogue))


def _make(
    task: Task, shown: Shown, runtime: Runtime, options: argparse.Namespace, noise: Mapping[str, Sequence[str]]
) -> int:
    """Do it again on fresh sites, ask which checks are meant, write the task, and try the whole of it."""
    print(f"\n{len(shown.steps)} steps; doing them again on fresh sites, to see by what their elements can be found")
    chosen = proved(task, shown, runtime)
    done = [relative(each.action, shown.sites) for each in chosen]
    steps = list(zip(done, [each.problem for each in chosen], strict=True))
    steps.append((Stop(shown.answer), ""))
    url = _relative(shown.url, shown.sites)
    checks = proposed_checks(
        task, answer=shown.answer, url=url, steps=[step.action for step in shown.steps],
        changes=shown.changes, noise=noise,
    )  # fmt: skip
    picked = _picked(checks, options)
    keys: dict[str, object] = {"id": task.id, "intent": task.intent, "sites": list(task.sites)}
    if task.start:
        keys["start"] = [f"{start.site}:{start.path}" for start in task.start]
    if task.user:
        keys["user"] = dict(task.user)
    keys["mutates"] = any(app.total for app in shown.changes)
    text = _text(keys, picked, steps)
    holding = _tried(text, runtime)
    whole = len(done) == len(shown.steps)
    passed = holding is not None and all(holding)
    if whole and holding and not passed and any(holding):
        # What a row was called was true of others, too: no proposal, as the sites say themselves.
        for check, holds in zip(picked, holding, strict=True):
            if not holds:
                print(f"left out, for it does not hold: {check.about}")
        text = _text(keys, [check for check, holds in zip(picked, holding, strict=True) if holds], steps)
        passed = True
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text, encoding="utf-8")
        print(f"\nwritten: {options.output}")
        print(f"next: pytest --audit {options.output}  (wrong agents must fail it)")
    else:
        print(f"\n{text}", end="")
    return 0 if passed and whole else 1


def proved(task: Task, shown: Shown, runtime: Runtime) -> list[Chosen]:
    """The steps, each with the selectors that find its element on fresh sites."""
    again = replace(task, solution=tuple(step.action for step in shown.steps))
    with tryout(again, runtime, _quiet, Path("tryout")) as trying:
        chosen = []
        for each in prove(shown.steps, trying, lambda action: "" if trying.act(action) else trying.error):
            print(f"  {'✗' if each.problem else '·'} {describe_step(each.action)}{_remark(each.problem)}")
            chosen.append(each)
        return chosen


def _remark(problem: str) -> str:
    return f"\n      look at this one: {problem}" if problem else ""


def _text(keys: Mapping[str, object], checks: Sequence[ProposedCheck], steps: Sequence[tuple[Action, str]]) -> str:
    return "\n".join(["tasks:", *task_lines(keys, [check.lines for check in checks], steps), ""])


def _tried(text: str, runtime: Runtime) -> list[bool] | None:
    """Which of the checks hold after the solution was done on fresh sites; None for a task that can't be read."""
    try:
        [task] = parse_tasks(text)
    except TaskFileError as error:
        print(f"\nthe task is not whole yet: {error}")
        return None
    print("\ntrying the task on fresh sites")
    with tryout(task, runtime, print, Path("tryout")) as trying:
        while trying.steps_left and trying.next_step():
            pass
        trying.show_checks()
        return [bool(result.passed) for result in trying.verdict().results[: len(task.checks)]]


# --- where it comes from


def _watch(task: Task, runtime: Runtime, options: argparse.Namespace) -> Shown:
    print(f"Use the browser's window to do this:\n  {task.intent}\nEach step is told here. Enter ends it.\n")
    ended = threading.Event()

    def wait_for_enter() -> None:
        sys.stdin.readline()
        ended.set()

    threading.Thread(target=wait_for_enter, daemon=True).start()
    with tryout(task, runtime, _quiet, Path("tryout"), by_hand=True) as trying:
        follow(trying, ended, print)
        answer = options.answer if options.answer is not None else input("the answer (empty: there is none): ").strip()
        trying.answered(answer)
        evidence = trying.evidence()
    return shown_of(evidence, answer)


def follow(trying: Tryout, ended: threading.Event, say: Callable[[str], None], every: float = _LOOK) -> None:
    """Tell the steps as they grow, until ``ended``; the last one with the next, or at the end: it may still grow."""
    told = 0
    over = False
    while not over:
        over = ended.wait(every)
        steps = steps_of(trying.signals())
        for step in steps[told : len(steps) if over else len(steps) - 1]:
            say(f"  · {describe_step(step.action)}{_remark(step.problem)}")
            told += 1


def shown_of(evidence: Evidence, answer: str | None) -> Shown:
    """What the signals of ``evidence`` tell. `UsageError` where they don't tell all of it."""
    if evidence.signals is None or not evidence.dom_events:
        raise UsageError("expected a trial with DOM events among its signals, found none; record it with Chromium")
    if evidence.lost_signals:
        raise UsageError(f"expected all that was done, found that {evidence.lost_signals} signals were lost")
    return Shown(
        steps=steps_of(evidence.signals, before=evidence.signals_before),
        answer=(evidence.text_answer or "") if answer is None else answer,
        url=evidence.url,
        sites=evidence.sites,
        changes=evidence.changes or (),
    )


def _evidence(folder: Path) -> Evidence:
    attempts = sorted(folder.glob("attempt-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    if not attempts:
        raise UsageError(
            f"{folder}: expected a trial's folder with attempts, such as RUN/trials/TASK.AGENT.1-…, found none"
        )
    try:
        return read_evidence(attempts[-1])
    except ValueError as error:
        raise UsageError(str(error)) from None


# --- the task


def _task(options: argparse.Namespace, catalogue: Catalogue, evidence: Evidence | None) -> Task:
    named = options.places or list(evidence.sites if evidence is not None else ())
    if not named:
        raise UsageError("expected the sites to do the task on, found none; e.g. webarena record shopping:/basket/")
    known = [*catalogue.sites]
    sites, start = [], []
    for each in named:
        site, _, path = each.partition(":")
        if site not in known:
            raise UsageError(f"{each}: expected a site of the catalogue; {closest(site, known)}")
        sites.append(site)
        if path:
            start.append(f"{site}:{path}")
    start = start or _start_of(evidence)
    intent = options.intent or _told(options.source) or (input("what is the agent to do? ").strip())
    if not intent:
        raise UsageError("expected an intent, found none; give it with --intent")
    id = options.id or _id(intent)
    users = {**_signed_in(options.source), **dict(each.partition("=")[::2] for each in options.user)}
    keys: dict[str, object] = {"id": id, "intent": intent, "sites": list(dict.fromkeys(sites))}
    if start:
        keys["start"] = start
    if users:
        keys["user"] = users
    text = "\n".join(["tasks:", *task_lines(keys, [["- answer: placeholder"]], [])])
    try:
        [task] = parse_tasks(text)
    except TaskFileError as error:
        raise UsageError(f"expected a task's id, sites and users, found: {error}") from None
    return replace(task, checks=(), solution=None)


def _start_of(evidence: Evidence | None) -> list[str]:
    """The pages that a recorded trial began with, as task files have them."""
    if evidence is None or evidence.signals is None:
        return []
    shown: dict[int, str] = {}
    for signal in evidence.signals[: evidence.signals_before]:
        if isinstance(signal, AddressChanged):
            shown[signal.tab] = signal.url
    first = next(iter(evidence.sites), "")
    found = [_relative(url, evidence.sites) for _, url in sorted(shown.items())]
    return [f"{first}:{each}" if each.startswith("/") else each for each in found if each]


def _told(source: Path | None) -> str:
    """The intent of a recorded trial."""
    record = _record(source)
    return record.intent if record is not None else ""


def _signed_in(source: Path | None) -> dict[str, str]:
    """Whom its task asked to be signed in, by site; nothing in records of older versions."""
    record = _record(source)
    users = record.environment.get("users", {}) if record is not None else {}
    return dict(users) if isinstance(users, Mapping) else {}


def _record(source: Path | None) -> TrialRecord | None:
    if source is None:
        return None
    run = RunDir(source.parent.parent)
    return next((record for record in run.records() if run.folder(record.key).path == source), None)


def _id(intent: str) -> str:
    words = re.findall(r"[a-z0-9]+", intent.lower())
    return "-".join(words[:6]) or "recorded"


def _noise(catalogue: Catalogue) -> dict[str, list[str]]:
    return {
        name: [pattern for database in app.databases.values() for pattern in database.noise]
        for name, app in catalogue.apps.items()
    }


def _relative(url: str, sites: Mapping[str, str]) -> str:
    found = relative(Goto(url), sites)
    return found.url if isinstance(found, Goto) and found.url != url else ""


def _picked(checks: Sequence[ProposedCheck], options: argparse.Namespace) -> list[ProposedCheck]:
    """Those that the author wants."""
    recommended = [check for check in checks if check.recommended]
    if not checks:
        print("\nnothing was found to check: write a check by hand")
        return []
    print("\nproposed checks:")
    for number, check in enumerate(checks, 1):
        print(f"  {number}{'*' if check.recommended else ' '} {check.about}")
    if options.all_checks or not sys.stdin.isatty():
        return recommended
    said = input("which (numbers, Enter for those with a star): ").split()
    return [checks[int(each) - 1] for each in said if each.isdigit() and 0 < int(each) <= len(checks)] or recommended


def _quiet(text: str) -> None:
    """What is told by somebody else."""
