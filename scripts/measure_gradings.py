"""Measures the accuracy of the gradings on natural answers with known labels.

    python scripts/measure_gradings.py [FILE…] [--list] [--rules RULE,…]

The files (default: those in the unit tests) contain, per task of WebArena, right and wrong answers in our own words,
labelled by meaning. Every grading of the task judges each answer without a judge model; answers that need one are
undecided and counted separately. Below the rows is the share of wrong verdicts among the decided answers.
"""

from __future__ import annotations

import argparse
import collections
import functools
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from pytest_webarena.checks import judge
from pytest_webarena.checks.grading import Grading, find_grading, gradings_of
from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.evidence import Evidence
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.tasks.model import Task

FOLDER = Path(__file__).parents[1] / "tests/unit/suites/natural_answers"
SITES = {
    "shopping": "http://www.shopping.com",
    "shopping_admin": "http://www.cms.com/admin",
    "reddit": "http://www.reddit.com",
    "gitlab": "http://www.gitlab.com",
    "map": "http://www.openstreetmap.org",
    "wikipedia": "http://www.wikipedia.org",
    "homepage": "http://www.homepage.com",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One answer with its label."""

    task: int
    template: int
    right: bool
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict of one grading on one answer."""

    labelled: Labelled
    grading: str
    passed: bool | None
    """None if undecided, because a judge model is needed."""


def read(path: Path) -> tuple[Labelled, ...]:
    """Returns the answers of a file. Raises `ValueError` with the reason if it is invalid."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where available
    data = yaml.load(path.read_text("utf-8"), Loader=loader)
    if not isinstance(data, dict) or data.get("schema_version") != 1 or not isinstance(data.get("tasks"), list):
        raise ValueError(f"{path}: expected schema_version 1 and a list of tasks")
    found = []
    for entry in data["tasks"]:
        for right, key in ((True, "right"), (False, "wrong")):
            for answer in entry[key]:
                if not isinstance(answer, str):
                    raise ValueError(f"{path}: task {entry['task']}: expected texts, found {answer!r}")
                found.append(Labelled(task=entry["task"], template=entry["template"], right=right, answer=answer))
    return tuple(found)


@functools.cache
def tasks() -> Mapping[int, Task]:
    """Returns WebArena's tasks by number."""
    return {int(str(task.source["task_id"])): task for task in load_suite("webarena").tasks}


def verdict(task: Task, answer: str, grading: Grading) -> Verdict:
    """Judges the answer alone, without the checks of pages and addresses."""
    checks = tuple(check for check in task.checks if check.kind == "string_match")
    evidence = Evidence(answer=answer, stop_reason="answered", sites=SITES)
    if grading.name == "verified":
        return judge(task, evidence, grading=grading)
    only = Task(id=task.id, intent=task.intent, sites=task.sites, checks=checks)
    return judge(only, evidence, grading=grading)


def measure(
    answers: Iterable[Labelled], rules: frozenset[str] | None = None, *, by: Collection[str] = ()
) -> Iterator[Judged]:
    """Judges all answers by all gradings, or only by those named in ``by``."""
    for each in answers:
        task = tasks()[each.task]
        for name in gradings_of(task):
            grading = find_grading(name)
            if name == "repaired" and rules is not None:
                grading = Grading(name="repaired", rules=rules)
            if by and name not in by:
                continue
            found = verdict(task, each.answer, grading)
            yield Judged(labelled=each, grading=name, passed=found.passed)


def needs_judge(task: int) -> bool:
    """Returns whether right answers to the task are decided by a judge model."""
    return any(getattr(check.spec, "fuzzy_match", None) is not None for check in tasks()[task].checks)


def share(part: int, whole: int) -> str:
    """Formats a count with its share."""
    return f"{part:5} ({100 * part / whole:5.1f} %)" if whole else f"{part:5}"


def report(judged: Sequence[Judged]) -> None:
    """Prints the table."""
    for group, chosen in (("answers that need no judge", False), ("answers to be judged by a model", True)):
        counts: dict[str, collections.Counter[tuple[bool, bool | None]]] = {}
        for each in judged:
            if needs_judge(each.labelled.task) is chosen:
                counts.setdefault(each.grading, collections.Counter())[each.labelled.right, each.passed] += 1
        print(f"{group}\n  grading    label        pass             fail             undecided")
        for grading, count in counts.items():
            for right in (True, False):
                total = sum(number for (label, _), number in count.items() if label is right)
                cells = "  ".join(share(count[right, passed], total) for passed in (True, False, None))
                print(f"  {grading:<10} {'right' if right else 'wrong'}  {cells}")
            passes = count[True, True] + count[False, True]
            if passes:
                recall = count[True, True] / sum(count[True, each] for each in (True, False, None))
                print(f"  {'':<10} precision {count[True, True] / passes:.3f}, recall {recall:.3f}")
            if grading == "repaired" and not chosen:
                _report_decided(count)


def _report_decided(count: Mapping[tuple[bool, bool | None], int]) -> None:
    """Prints how many answers are decided, and how many of these disagree with their label."""
    right, wrong = (count[label, True] + count[label, False] for label in (True, False))
    fails, passes = share(count[True, False], right).strip(), share(count[False, True], wrong).strip()
    decided = share(right + wrong, sum(count.values())).strip()
    print(f"  {'':<10} decided {decided}; of these right that fail {fails}, wrong that pass {passes}")


def main() -> int:
    """Measures and prints the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="YAML files of labelled answers")
    parser.add_argument("--list", action="store_true", help="print answers whose verdict differs from the label")
    parser.add_argument("--rules", help="judge repaired with only these rules")
    options = parser.parse_args()
    rules = frozenset(options.rules.split(",")) if options.rules else None
    for path in options.files or sorted(FOLDER.glob("*.yaml")):
        answers = read(path)
        judged = list(measure(answers, rules))
        named = len({each.task for each in answers}), len({each.template for each in answers})
        print(f"{path.name}: {len(answers)} answers to {named[0]} tasks of {named[1]} templates")
        report(judged)
        original = {
            (each.labelled.task, each.labelled.answer): each.passed for each in judged if each.grading == "original"
        }
        for each in judged:
            wrong = each.grading == "repaired" and each.passed is not None and each.passed is not each.labelled.right
            if wrong and options.list:
                label = "right, but fails" if each.labelled.right else "wrong, but passes"
                also = original[each.labelled.task, each.labelled.answer]
                print(
                    f"  {each.labelled.task} (template {each.labelled.template}) {label} (original: {also}): "
                    f"{each.labelled.answer!r}"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
