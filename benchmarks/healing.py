"""Measures how many steps `webarena tasks heal` repairs on rebuilt sites, and how many it repairs wrongly.

    python benchmarks/healing.py PATH… [--rules …] [--own FAMILY] [--sample N] [--seed N] [--keep FILE] [--show]

Runs each task's solution on the embedded sites and records it from the session's signals alone, with all selectors of
its elements. Replays the recording on the sites as the rules of `changed_pages` rebuild them. Marks that the sites put
on every element before the rebuild identify the right element; the healer does not read them. Counts the steps whose
own selector no longer matches the marked element, up to the first step that fails:

healed   the step used the marked element, through another selector or after a dialog was closed
lost     the healer gave up
wrong    another selector matched another element

Steps whose own selector matched another element are counted too: silent, or reported. ``reported`` alone counts all
reports. So are healed tasks that pass their own checks, which a rewritten file requires. Exit code 1: less than 70 %
healed over ids, labels, order and dialog, or any step wrong or silent.

The recorder names elements by role and name, which new ids do not change. With ``--own "its id"``, each step names its
element by its id (or by another family of `recorder.families`), as people write tasks; the other selectors stay as
fallbacks. `redesigned_pages` has a second set of rules, whose author had not read the healer; the same targets hold for
its four. Run `migrated` with ``--own "its id"`` too.
"""

from __future__ import annotations

import argparse
import pickle
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from changed_pages import MARK, RULES, catalogue
from redesigned_pages import RULES as RELEASES

from pytest_webarena.actions import Action, Selector, Stop
from pytest_webarena.browser.pageless import Pageless
from pytest_webarena.browser.reports import SelectorMatch
from pytest_webarena.commands.playing import open_runtime
from pytest_webarena.errors import TrialError
from pytest_webarena.recorder.replaying import replay_solution
from pytest_webarena.recorder.selector_families import family
from pytest_webarena.recorder.selector_proving import prove, relative
from pytest_webarena.recorder.steps import RecordedStep, steps_of
from pytest_webarena.recorder.writing import task_lines
from pytest_webarena.signals import DomEvent, Signal, TargetRecord
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.tasks import Task, load_tasks, parse_tasks
from pytest_webarena.trials.runtime import Runtime
from pytest_webarena.trials.tryout import Tryout, tryout

NAMED = ("ids", "labels", "order", "dialog")
NAMED_OF_RELEASES = ("migrated", "reworded", "reordered", "interrupted")
NOWHERE = Path("tryout")
CLOSING = ("role=dialog >> ", 'role=button[name="No thanks"s]')
"""How selectors of dialogs' closing buttons begin; these aren't the elements of any step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A task with the solution as it was recorded."""

    task: Task
    marks: tuple[str, ...]
    """The mark of each step's element; empty for steps without an element."""
    stills: tuple[str, ...] = ()
    """The HTML of the page before each step, which `healing_stills` changes."""


@dataclass(slots=True)
class Watched:
    """A page for the replay that notes which marked element each action is done to."""

    trying: Tryout
    marks: Sequence[str]
    right: list[bool] = field(default_factory=list)
    """Whether each action since the last check was done to the marked element."""
    step: int = 0

    @property
    def error(self) -> str:
        return self.trying.error

    def find(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        return self.trying.find(selector, patience)

    def find_matches(self, selectors: Sequence[str]) -> Sequence[SelectorMatch]:
        return self.trying.find_matches(selectors)

    def leads(self, selector: str, mark: str) -> bool:
        """Returns whether the selector's first match is the marked element, or lies inside or around it."""
        frame, joint, _ = selector.rpartition(" >> ")
        frame = frame if "internal:control" in frame else ""
        marked = f'{frame}{joint if frame else ""}css=[{MARK}="{mark}"]'
        by_selector, by_mark = self.trying.find_matches([selector, marked])
        return by_selector.count > 0 and by_selector.element == by_mark.element

    def act(self, action: Action, label: str = "") -> bool:
        target = getattr(action, "target", None)
        mark = self.marks[self.step] if self.step < len(self.marks) else ""
        is_closing = isinstance(target, Selector) and target.selector.startswith(CLOSING)
        right = not mark or is_closing or not isinstance(target, Selector) or self.leads(target.selector, mark)
        self.right.append(right)
        return self.trying.act(action, label)


def main() -> int:
    options = arguments(__doc__ or "", (*RULES, *RELEASES)).parse_args()
    recorded = recordings(options)
    with tempfile.TemporaryDirectory(prefix="webarena-healing-") as folder:
        totals = {rule: measure(rule, recorded, Path(folder), show=options.show) for rule in options.rules}
    wrong, silent = (sum(each[key] for each in totals.values()) for key in ("wrong", "another, silent"))
    shares = [share for rules in (NAMED, NAMED_OF_RELEASES) if (share := healed_share(totals, rules)) is not None]
    print(f"{wrong} steps healed wrongly, {silent} silently done to another element, under all rules")
    return int(any(share < 0.7 for share in shares) or wrong + silent > 0)


def arguments(about: str, rules: Sequence[str]) -> argparse.ArgumentParser:
    """Returns the parser of the options that all benchmarks of the healer have."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="task files or folders")
    default = [rule for rule in RULES if rule != "none" and rule in rules]
    parser.add_argument("--rules", nargs="+", default=default, choices=rules, help="rules to apply")
    parser.add_argument("--sample", type=int, help="run a random sample of this size")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: %(default)s)")
    parser.add_argument("--own", default="", metavar="FAMILY", help="name elements by this family of selectors")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="cache recordings in this file")
    parser.add_argument("--show", action="store_true", help="print the steps of every repaired task")
    return parser


def recordings(options: argparse.Namespace) -> list[Recorded]:
    """Returns the recordings of the chosen tasks, from the kept file or made now."""
    accounts = load_catalogue("embedded").accounts
    files = [file for path in options.paths for file in (sorted(path.rglob("*.yaml")) if path.is_dir() else [path])]
    tasks = [task for file in files for task in load_tasks(file, sites=accounts) if task.solution and task.sites]
    if options.sample:
        tasks = random.Random(options.seed).sample(tasks, min(options.sample, len(tasks)))
    keep = options.keep
    kept: dict[str, Recorded | None] = pickle.loads(keep.read_bytes()) if keep and keep.exists() else {}
    missing = [task for task in tasks if task.id not in kept]
    with tempfile.TemporaryDirectory(prefix="webarena-healing-") as folder, ExitStack() as exits:
        if missing:
            sites = str(catalogue(Path(folder), "none"))
            runtime = exits.enter_context(open_runtime(sites, headed=False, executable=None))
        for task in missing:
            kept[task.id] = record(task, runtime)
            if keep:
                keep.write_bytes(pickle.dumps(kept))
    recorded = [found for task in tasks if (found := kept[task.id]) is not None]
    print(f"{len(recorded)} of {len(tasks)} tasks recorded", flush=True)
    return [named_by(each, options.own) for each in recorded] if options.own else recorded


def healed_share(totals: Mapping[str, Counter[str]], rules: Sequence[str]) -> float | None:
    """Returns the share of the steps broken by ``rules`` that was healed; None if none was broken, or no rule was
    tried."""
    found = sum((totals[rule] for rule in rules if rule in totals), Counter())
    broken = sum(found[key] for key in ("healed", "lost", "wrong"))
    if not broken:
        return None
    print(f"{found['healed'] / broken:.1%} healed of what was broken by {', '.join(rules)}")
    return found["healed"] / broken


def record(task: Task, runtime: Runtime) -> Recorded | None:
    """Records the task's solution as a recorder sees it; returns None if the recorded task doesn't pass."""
    log: list[str] = []
    try:
        with tryout(task, runtime, log.append, NOWHERE) as trying:
            while trying.steps_left and trying.next_step():
                pass
            signals, before = trying.signals(), trying.signals_before
            sites = trying.sites
            if not trying.verdict().passed:
                raise ValueError("its solution does not pass")
        steps = steps_of(signals, before=before)
        again = replace(task, solution=tuple(each.action for each in steps))
        with tryout(again, runtime, log.append, NOWHERE) as trying:
            stills: list[str] = []
            chosen = list(prove(steps, trying, lambda action: _seen(trying, action, stills)))
        if any(each.problem for each in chosen):
            raise ValueError("; ".join(each.problem for each in chosen if each.problem))
        marks = tuple(_mark(step, signals) for step in steps)
        stop = next((step for step in task.solution or () if isinstance(step, Stop)), Stop(""))
        done = [(relative(each.action, sites), "") for each in chosen]
        keys = {"id": task.id, "intent": "Do it again.", "sites": list(task.sites)}
        text = "\n".join(["tasks:", *task_lines(keys, [["- answer: placeholder"]], [*done, (stop, "")])])
        [written] = parse_tasks(text)
    except (TrialError, ValueError) as error:
        print(f"{task.id}: not recorded: {error}", flush=True)
        return None
    return Recorded(task=replace(task, solution=written.solution), marks=marks, stills=tuple(stills))


def _seen(trying: Tryout, action: Action, stills: list[str]) -> str:
    """Keeps the page's HTML, then does the action; returns why it had no effect, or an empty string."""
    session = trying._stage.session
    stills.append("" if isinstance(session, Pageless) else session.read_page(open=None, locate=None).html)
    return "" if trying.act(action) else trying.error


def named_by(recorded: Recorded, own: str) -> Recorded:
    """Returns the recording with each element named by the selector family ``own``, where the step knows such a
    selector."""
    steps: list[Action] = []
    for step in recorded.task.solution or ():
        aimed: Any = step
        target = getattr(step, "target", None)
        others = target.repair_selectors if isinstance(target, Selector) else ()
        found = next((each for each in others if family(each) == own), "")
        if found and isinstance(target, Selector):
            rest = tuple(each for each in (target.selector, *target.repair_selectors) if each != found)
            aimed = replace(aimed, target=Selector(found, repair_selectors=rest))
        steps.append(aimed)
    return replace(recorded, task=replace(recorded.task, solution=tuple(steps)))


def _mark(step: RecordedStep, signals: Sequence[Signal]) -> str:
    """Returns the mark of the element that a step was done to."""
    if not step.selectors:
        return ""
    event = next(each for each in signals if isinstance(each, DomEvent) and each.time == step.time)
    fields = ("input", "select", "textarea")
    control = event.control
    place = control.place if control is not None and event.target.tag not in fields else 0
    return event.chain[min(place, len(event.chain) - 1)].attributes.get(MARK, "") if event.chain else ""


def measure(rule: str, recorded: Sequence[Recorded], folder: Path, *, show: bool) -> Counter[str]:
    """Replays all recordings on the sites as ``rule`` changes them, and counts the results."""
    found: Counter[str] = Counter()
    change = "redesigned_pages.redesigned" if rule in RELEASES else "changed_pages.changed"
    with open_runtime(str(catalogue(folder / rule, rule, change)), headed=False, executable=None) as runtime:
        for each in recorded:
            try:
                counted, lines = replayed(each, runtime)
            except TrialError as error:
                print(f"  {rule} {each.task.id}: {error}", flush=True)
                continue
            found += counted
            if (
                counted["wrong"]
                or counted["another, silent"]
                or (show and sum(counted[key] for key in ("healed", "lost")))
            ):
                print(f"  {rule} {each.task.id}: {dict(counted)}", *lines, sep="\n    ", flush=True)
    print(f"{rule}: " + ", ".join(f"{found[key]} {key}" for key in KEYS), flush=True)
    return found


KEYS = (
    "healed",
    "lost",
    "wrong",
    "another, silent",
    "another, reported",
    "steps",
    "reported",
    "tasks broken",
    "tasks passed",
)


def replayed(recorded: Recorded, runtime: Runtime) -> tuple[Counter[str], list[str]]:
    """Replays one task; returns its counts and the lines to print."""
    found: Counter[str] = Counter()
    lines = []
    solution = recorded.task.solution or ()
    with tryout(recorded.task, runtime, lambda _: None, NOWHERE) as trying:
        watched = Watched(trying, recorded.marks)
        replay = replay_solution(solution, watched, trying.sites)
        while True:
            done = next(replay, None)
            if done is None:
                break
            lines.append(str(done))
            found["steps"] += 1
            right, watched.right = all(watched.right), []
            if done.done is None:
                found["lost"] += 1
                break
            found["reported"] += not done.healed and done.how != "as recorded"
            if done.healed:
                found["healed" if right else "wrong"] += 1
            elif not right:
                found["another, silent" if done.how == "as recorded" else "another, reported"] += 1
            watched.step = done.number + 1
        if found["healed"] + found["lost"] + found["wrong"]:
            found["tasks broken"] += 1
            passed = bool(trying.verdict().passed)
            found["tasks passed"] += passed
            lines.append("passed" if passed else "does not pass")
    return found, lines


if __name__ == "__main__":
    import healing  # imported by name, as the kept file refers to it

    sys.exit(healing.main())
