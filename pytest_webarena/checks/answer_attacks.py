"""Attacks the checks of answers without a run: wrong answers made from the right one must not pass, right ones must."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_webarena.checks.answer import AnswerSpec
from pytest_webarena.checks.answer_types.mutants import Mutant, mutants
from pytest_webarena.checks.answer_types.values import Absence, Name, Names, Value
from pytest_webarena.checks.kind import Kind, View
from pytest_webarena.checks.upstream.strings import StringSpec
from pytest_webarena.checks.upstream.typed_references import typed
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks.kinds import find_kind
from pytest_webarena.tasks.model import Check, Task

__all__ = ["AnswerAttacks", "Flaw", "attack_answers"]

_MOST_OTHERS = 3
"""Number of other values of one template that are tried on a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """A wrong answer that passes, or a right one that fails."""

    task: Task
    check: str
    """Path of the check in its task."""
    answer: str
    kind: str
    """Class of the answer."""
    right: bool

    def __str__(self) -> str:
        fault = "the right answer is not met" if self.right else "a wrong answer passes"
        place = f"{self.task.location.path}:{self.task.location.line}"
        return f"{place}: {self.task.id}: {self.check}: {fault} ({self.kind}): {self.answer!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAttacks:
    """The outcome of all attacks."""

    tasks: int
    """Number of tasks that were attacked."""
    wrong: Mapping[str, int]
    """Wrong answers by outcome: ``met``, ``not met``, ``undecided``."""
    right: Mapping[str, int]
    """Right answers by outcome."""
    flaws: tuple[Flaw, ...]

    def summary(self) -> str:
        """Returns the counts in two sentences."""
        wrong, right = sum(self.wrong.values()), sum(self.right.values())
        tasks = f"{self.tasks} task{'s' * (self.tasks != 1)}"
        return (
            f"{tasks} with answers attacked: {wrong} wrong answers, {self.wrong.get('met', 0)} pass "
            f"({self.wrong.get('undecided', 0)} undecided). {right} right ones, {self.right.get('not met', 0)} are not "
            f"met ({self.right.get('undecided', 0)} undecided)."
        )


def attack_answers(tasks: Sequence[Task]) -> AnswerAttacks:
    """Try right and wrong answers on the checks that read the answer, by each check's own type of answer.

    A wrong answer passes if all checks of the answer are met. Checks inside ``any`` and ``not`` are not attacked.
    """
    by_template: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_template[task.template].append(task)
    wrong, right = Counter[str](), Counter[str]()
    flaws: list[Flaw] = []
    attacked = 0
    for task in tasks:
        checks = list(_answer_checks(task.checks))
        values = [(check, value) for check in checks for value in [_value(check, task)] if value is not None]
        attacked += bool(values)
        for check, value in values:
            siblings = [other for other in by_template[task.template] if other is not task]
            others = list(dict.fromkeys(_others(siblings, check, value)))[:_MOST_OTHERS]
            for mutant in mutants(value, others):
                outcome = _outcome(mutant, check, checks, task)
                (right if mutant.right else wrong)[outcome] += 1
                if outcome == ("not met" if mutant.right else "met"):
                    flaws.append(
                        Flaw(task=task, check=check.path, answer=mutant.answer, kind=mutant.kind, right=mutant.right)
                    )
    return AnswerAttacks(tasks=attacked, wrong=dict(wrong), right=dict(right), flaws=tuple(flaws))


def _answer_checks(checks: Sequence[Check]) -> Iterator[Check]:
    for check in checks:
        if check.kind == "all":
            yield from _answer_checks(check.children)
        elif isinstance(check.spec, AnswerSpec | StringSpec):
            yield check


def _value(check: Check, task: Task) -> Value | None:
    """Returns the value that a check wants; None if it has no single type."""
    spec = check.spec
    if isinstance(spec, AnswerSpec):
        if spec.unachievable:
            return Absence(reason=spec.unachievable)
        return spec.value or (Names(names=spec.includes) if spec.includes else None)
    if not isinstance(spec, StringSpec) or spec.fuzzy_match is not None:
        return None
    values = typed(spec.texts, task.intent)
    if len(values) == 1:
        return values[0]
    names = tuple(value for value in values if isinstance(value, Name))
    return Names(names=names) if values and len(names) == len(values) else None


def _others(siblings: Sequence[Task], check: Check, value: Value) -> Iterator[Value]:
    for sibling in siblings:
        for each in _answer_checks(sibling.checks):
            if each.path == check.path and (other := _value(each, sibling)) is not None and type(other) is type(value):
                yield other


def _outcome(mutant: Mutant, check: Check, checks: Sequence[Check], task: Task) -> str:
    """Returns the outcome of the check, for a right answer; of all checks of the answer, for a wrong one."""
    found = []
    for each in [check] if mutant.right else checks:
        kind = find_kind(each.kind)
        assert isinstance(kind, Kind)
        evidence = Evidence(answer=mutant.answer, stop_reason="answered", sites={})
        found.append(kind.judge(each.spec, View(evidence=evidence, intent=task.intent)).score)
    if 0 in found:
        return "not met"
    return "undecided" if None in found else "met"
