"""Measures how answers are read, on labelled answers.

    python benchmarks/answers.py FILE... [--list] [--attacks] [--ablate]

A file is JSONL. Each line has ``task``, ``intent``, ``want`` (a typed value, keys of a check, or a task of WebArena),
``answer``, ``right`` and, in some files, ``class`` (why the answer is right or wrong). A file that ends with ``.yaml``
has the format of tests/unit/suites/natural_answers. No judge model is asked. Answers of WebArena are graded with
``repaired``; tasks that need a judge model are left out.

Prints outcomes per type, and the upper end of the 95 % confidence interval of the share of wrong answers that are met
(Clopper-Pearson, one-sided; about 3/n if none is met). ``--list`` prints each wrong answer that is met and each right
one that is not met. ``--attacks`` adds generated answers to each task (`answer_types.mutants`). ``--ablate`` removes
one rule of reading at a time and prints how many outcomes change.

benchmarks/answers/ has sets that readers were worked on with: their figures are no estimate for new answers.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
import unittest.mock
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_webarena.checks import judge
from pytest_webarena.checks.answer import AnswerSpec
from pytest_webarena.checks.answer_types import (
    accounting,
    amounts,
    dates,
    moments,
    names,
    quantities,
    reading,
    statements,
    tokens,
    units,
)
from pytest_webarena.checks.answer_types.mutants import mutants
from pytest_webarena.checks.answer_types.values import Absence
from pytest_webarena.checks.grading import REPAIRED
from pytest_webarena.checks.upstream import typed_references
from pytest_webarena.checks.upstream.strings import StringSpec
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks import Task, parse_tasks
from scripts.measure_gradings import needs_judge, read, tasks, verdict

OUTCOMES = {True: "met", False: "not met", None: "undecided"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """One labelled answer."""

    type: str
    task: Task
    answer: str
    right: bool
    reason: str = ""
    """Why it is right or wrong."""


def check_of(want: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the ``answer`` check of a wanted value."""
    match want["type"]:
        case "keys":
            return dict(want["keys"])
        case "none":
            return {"unachievable": "there is none"}
        case "number":
            return {"number": want["value"], **{key: want[key] for key in ("unit", "tolerance") if want.get(key)}}
        case "name":
            return {"name": want["value"], **({"aliases": want["aliases"]} if want.get("aliases") else {})}
        case "names":
            return {"names": want["values"], "ordered": want.get("ordered", False)}
        case kind:
            return {kind: want["value"]}


@functools.cache
def typed_task(intent: str, want: str) -> Task:
    """Returns a task with one check of its answer."""
    check = {"answer": check_of(json.loads(want))}
    data = {"tasks": [{"id": "t", "intent": intent, "sites": [], "checks": [check]}]}
    [task] = parse_tasks(yaml.safe_dump(data, allow_unicode=True, width=10_000))
    return task


def labelled(path: Path) -> Iterator[Labelled]:
    """Yields the answers of a file that need no judge model."""
    if path.suffix == ".yaml":
        for each in read(path):
            if not needs_judge(each.task):
                yield Labelled("webarena", tasks()[each.task], each.answer, each.right)
        return
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        want = row["want"]
        if want["type"] != "webarena":
            task = typed_task(row["intent"], json.dumps(want))
        elif needs_judge(want["task_id"]):
            continue
        else:
            task = tasks()[want["task_id"]]
        yield Labelled(want["type"], task, row["answer"], row["right"], row.get("class", ""))


def attacks(answers: Sequence[Labelled]) -> Iterator[Labelled]:
    """Yields generated right and wrong answers to the tasks of labelled ones."""
    for task, kind in {(each.task.id, each.task.intent): (each.task, each.type) for each in answers}.values():
        for check in task.checks:
            spec = check.spec
            if isinstance(spec, AnswerSpec):
                wanted = spec.values or (Absence(reason=spec.unachievable),)
            elif isinstance(spec, StringSpec):
                wanted = typed_references.typed((spec.corrected or spec).texts, task.intent)
            else:
                continue
            for mutant in mutants(wanted[0]) if len(wanted) == 1 else ():
                yield Labelled(kind, task, mutant.answer, mutant.right, f"attack: {mutant.kind}")


def outcome(each: Labelled) -> str:
    """Returns the outcome of reading an answer."""
    if each.type == "webarena":
        return OUTCOMES[verdict(each.task, each.answer, REPAIRED).passed]
    return OUTCOMES[judge(each.task, Evidence(answer=each.answer, stop_reason="answered", sites={})).passed]


def upper_bound(count: int, total: int) -> float:
    """Returns the one-sided 95 % upper confidence bound of a share (Clopper-Pearson).

    >>> round(upper_bound(0, 100), 4), round(upper_bound(2, 100), 4)
    (0.0295, 0.0616)
    """
    low, high = count / total if total else 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        below = sum(exp(_log_probability(k, total, share)) for k in range(count + 1))
        low, high = (share, high) if below > 0.05 else (low, share)
    return high


def _log_probability(k: int, total: int, share: float) -> float:
    """Returns the logarithm of the probability of ``k`` of ``total``: as a number, its factors are out of range."""
    ways = lgamma(total + 1) - lgamma(k + 1) - lgamma(total - k + 1)
    return ways + (k * log(share) if k else 0.0) + ((total - k) * log1p(-share) if k < total else 0.0)


# Ablation ----------------------------------------------------------------------------------------------------------

Patches = list[tuple[Any, str, Any]]


def _never(*_: Any, **__: Any) -> bool:
    return False


def _nothing(*_: Any, **__: Any) -> Iterator[Any]:
    return iter(())


_no_match = re.compile(r"(?!)")


def _wrapped(target: Any, name: str, around: Callable[..., Any]) -> tuple[Any, str, Any]:
    """Returns a patch that passes the original as first argument."""
    return target, name, functools.partial(around, getattr(target, name))


def _without(owner: Any, name: str, words: str) -> tuple[Any, str, Any]:
    return owner, name, getattr(owner, name) - frozenset(words.split())


def _question_with(attribute: str, value: Any = frozenset()) -> Patches:
    """Returns patches that replace one attribute of the question; it is empty by default."""
    original = accounting._Question.__init__

    def init(self: Any, text: str) -> None:
        original(self, text)
        setattr(self, attribute, value)

    return [(accounting._Question, "__init__", init)]


def _no_possessives() -> Patches:
    original = accounting._Question.accounts_for

    def accounts_for(self: Any, token: Any, *others: Any) -> bool:
        return not token.plain.endswith("'s") and original(self, token, *others)

    return [(accounting._Question, "accounts_for", accounts_for)]


def _accounting_with(**changes: Any) -> Patches:
    """Returns a patch that overrides arguments of `unaccounted`."""
    return [_wrapped(reading, "unaccounted", lambda original, *a, **k: original(*a, **{**k, **changes}))]


def _same_unit_only(value: Any, unit: str, wanted: str) -> Any:
    return value if units._spelling(unit) == units._spelling(wanted) else None


def rules() -> dict[str, Patches]:
    """Returns each rule of reading with the patches that remove it."""
    found: dict[str, Patches] = {
        "accounting: words of the question": _question_with("exact"),
        "accounting: stems of the question": _question_with("stems"),
        "accounting: stems by prefix": [(accounting, "alike", lambda one, other: one == other)],
        "accounting: irregular verbs": [(accounting, "_IRREGULAR", {})],
        "accounting: numbers of the question": _question_with("numbers"),
        "accounting: dates of the question": _question_with("dates"),
        "accounting: turning words by pairs": _question_with("pairs"),
        "accounting: order of the question": [(accounting._Order, "keeps", lambda *_, **__: True)],
        "accounting: qualified words": _question_with("bound", {}),
        "accounting: lists of options": [(accounting._Question, "options", lambda *_: frozenset())],
        "accounting: names to choose from": [(accounting._Question, "rivals", lambda *_: frozenset())],
        "reading: sides of a comparison": [(reading, "_half_compared", lambda *_: "")],
        "reading: order of values": [(reading, "_mixed_up", lambda *_: "")],
        "accounting: possessives": _no_possessives(),
        "accounting: number of values": _accounting_with(counted=0),
        "accounting: words of the reason": _accounting_with(also=()),
        "accounting: numbers next to names": _accounting_with(named=()),
        "numbers: labels and other counts": [(quantities.NumberValue, "_is_label", staticmethod(_never))],
        "numbers: what the question counts": [(quantities, "counts", _never)],
        "numbers: unit conversion": [(quantities, "convert", _same_unit_only)],
        "numbers: multipliers": [(quantities.NumberValue, "_scaled", _never)],
        "numbers: number of the question": [(quantities.NumberValue, "_is_asked", staticmethod(_never))],
        "numbers: in words": [(amounts, "_in_words", lambda *_: None)],
        "numbers: one as a pronoun": [(amounts, "_is_pronoun", _never)],
        "numbers: vague words": [(module, "vague", _never) for module in (quantities, moments)],
        "numbers: digits in other tokens": [
            (module, "contains_digits", _never) for module in (quantities, names, moments)
        ],
        "numbers: currency before": [(quantities.NumberValue, "_code_before", _never)],
        "names: case of codes": [(names, "is_code", _never)],
        "names: parts of the name": [(names.Name, "_part", lambda *_: "")],
        "names: counts are no codes": [(names, "is_content", _never)],
        "dates: weekdays": [(dates, "_is_weekday", _never)],
        "dates: all forms": [(moments, "dates_in", _nothing)],
        "yes or no: replies only": [(statements, "_is_reply", lambda answer, i: answer[i].plain in statements._YES_NO)],
        "absence: first person": [(statements, "_FIRST_PERSON", frozenset())],
        "tokens: emphasis": [(tokens, "_EMPHASIS", _no_match)],
        "tokens: links": [(tokens, "_LINK", _no_match)],
        "tokens: headings and bullets": [(tokens, "_HEADING", _no_match)],
        "tokens: numbers of items": [(tokens, "_without_numbering", str)],
        "tokens: final answer": [(tokens, "_FINAL", _no_match)],
        "tokens: inner punctuation": [(tokens, "_INNER", _no_match)],
        "tokens: JSON": [(tokens, "_json_lines", str)],
        "tokens: operators": [(tokens, "_operator", _never)],
    }
    for name, words in accounting.NEUTRAL_GROUPS.items():
        found[f"neutral: {name}"] = [_without(accounting, "_NEUTRAL", words)]
    for name, words in accounting.MODIFIER_GROUPS.items():
        sets = ("_TURNING", "_QUALIFYING", "NEGATIONS", "PREPOSITIONS")
        found[f"modifiers: {name}"] = [_without(accounting, each, words) for each in sets]
    return found


def _clear_caches() -> None:
    tokens.tokens.cache_clear()
    accounting._Question.of.cache_clear()
    accounting._counted.cache_clear()
    typed_references._value.cache_clear()


@contextmanager
def removed(patches: Patches) -> Iterator[None]:
    """Removes a rule."""
    with ExitStack() as stack:
        for target, name, replacement in patches:
            stack.enter_context(unittest.mock.patch.object(target, name, replacement))
        _clear_caches()
        yield
    _clear_caches()


def ablate(answers: Sequence[Labelled], outcomes: Sequence[str]) -> None:
    """Prints how many outcomes change when a rule is removed: towards met and away from it."""
    print(f"\n{'without':<44}{'changed':>8}  {'right: met':>10} {'not met':>8}  {'wrong: met':>10} {'not met':>8}")
    for name, patches in rules().items():
        with removed(patches):
            changed = list(map(outcome, answers))
        differing = [(each, old, new) for each, old, new in zip(answers, outcomes, changed, strict=True) if old != new]
        cells = []
        for right in (True, False):
            for word in ("met", "not met"):
                mine = [(old, new) for each, old, new in differing if each.right is right]
                cells.append(sum(new == word for _, new in mine) - sum(old == word for old, _ in mine))
        print(f"{name:<44}{len(differing):>8}  {cells[0]:>+10} {cells[1]:>+8}  {cells[2]:>+10} {cells[3]:>+8}")


def report(answers: Sequence[Labelled], outcomes: Sequence[str]) -> None:
    """Prints the table by type."""
    count = Counter((each.type, each.right, word) for each, word in zip(answers, outcomes, strict=True))
    words = tuple(OUTCOMES.values())
    print(f"{'type':<12}" + "".join(f"{label:>6}: met  not met  undecided" for label in ("right", "wrong")) + "  bound")
    types = sorted({each.type for each in answers})
    for name in [*types, "all"] if len(types) > 1 else types:
        line, cells = f"{name:<12}", []
        for right in (True, False):
            cells = [sum(count[kind, right, word] for kind in (types if name == "all" else [name])) for word in words]
            line += f"{cells[0]:>11}{cells[1]:>9}{cells[2]:>11}"
        print(f"{line}  {upper_bound(cells[0], sum(cells)):>5.1%}")


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSONL or YAML of labelled answers")
    parser.add_argument("--list", action="store_true", help="print answers that are read wrongly")
    parser.add_argument("--attacks", action="store_true", help="add generated answers to each task")
    parser.add_argument("--ablate", action="store_true", help="remove each rule in turn")
    options = parser.parse_args()
    answers = [each for path in options.files for each in labelled(path)]
    if options.attacks:
        answers += list(attacks(answers))
    outcomes = list(map(outcome, answers))
    report(answers, outcomes)
    for each, word in zip(answers, outcomes, strict=True):
        if options.list and word == ("not met" if each.right else "met"):
            label = "right" if each.right else "wrong"
            print(f"{label} but {word} ({each.reason}): {each.task.intent!r}: {each.answer!r}")
    if options.ablate:
        ablate(answers, outcomes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
