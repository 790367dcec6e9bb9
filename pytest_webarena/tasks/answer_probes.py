"""Refuses tasks whose checks of the answer make no sense: no answer meets them, or answers to nothing do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pytest_webarena.tasks.kinds import CheckKind, find_kind
from pytest_webarena.tasks.model import Check, Task
from pytest_webarena.tasks.shapes import Fault
from pytest_webarena.text import clip

__all__ = ["senseless_answers"]

_IMPOSSIBLE = "N/A"
_WRONG = ("", "zzqx", '"zzqx"', '{"zzqx": "vorb"}')
"""Answers that are right for no task: an empty one, words and JSON without a meaning."""


@runtime_checkable
class AnswerKind(CheckKind, Protocol):
    """A kind of check that may know answers that it must accept."""

    def right_answers(self, spec: Any) -> Sequence[str] | None:
        """Returns such answers; None if the kind knows none."""

    def accepts(self, spec: Any, answer: str) -> tuple[bool | None, str]:
        """Returns whether the answer meets the check, None if that is undecided, and why it does not."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    check: Check
    kind: AnswerKind
    right: tuple[str, ...]
    impossible: bool
    """Whether the check says that the task can't be done."""

    def accepts(self, answer: str) -> bool | None:
        return self.kind.accepts(self.check.spec, answer)[0]


def senseless_answers(task: Task) -> tuple[Check, Fault] | None:
    """Returns the first check of a task whose condition on the answer makes no sense, and why; None if all do.

    - A check accepts its own reference, and refuses answers that are right for no task.
    - It refuses ``N/A``, unless it says that the task can't be done.
    - One answer can meet all checks of the task together.

    Kinds of checks that know no answer are not examined.
    """
    leaves = {id(leaf.check): leaf for leaf in _leaves(task.checks)}
    for leaf in leaves.values():
        if fault := _fault(leaf):
            return leaf.check, fault
    if len(leaves) == len(task.checks) == 1 and not task.checks[0].children:
        return None
    return _together(task, leaves) if leaves else None


def _leaves(checks: Sequence[Check]) -> Iterator[_Leaf]:
    for check in checks:
        yield from _leaves(check.children)
        kind = None if check.children else find_kind(check.kind)
        if isinstance(kind, AnswerKind) and (right := kind.right_answers(check.spec)) is not None:
            yield _Leaf(check, kind, tuple(right), kind.categorise(check.spec) == "unachievable")


def _fault(leaf: _Leaf) -> Fault | None:
    for answer in leaf.right:
        met, why = leaf.kind.accepts(leaf.check.spec, answer)
        if not met:
            outcome = "undecided" if met is None else "not met"
            found = f"'{clip(answer, 60)}', which as an answer is {outcome}: {why}"
            return Fault("a reference that meets its own check", found)
    for answer in (*_WRONG, *(() if leaf.impossible else (_IMPOSSIBLE,))):
        # For speed: a check with references refuses what none of them resembles.
        alike = not leaf.right or any(_letters(answer) == _letters(right) for right in leaf.right)
        if alike and leaf.accepts(answer):
            return _accepted(answer, "a check that refuses")
    return None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _accepted(answer: str, what: str) -> Fault:
    if answer == _IMPOSSIBLE:
        hint = "agents say with it that a task can't be done; if this one can't, write 'unachievable'"
        return Fault(f"{what} 'N/A'", "the contrary", hint)
    shown = f"the answer '{answer}'" if answer else "an empty answer"
    return Fault(f"{what} {shown}", "the contrary", "state what the answer must be")


def _together(task: Task, leaves: dict[int, _Leaf]) -> tuple[Check, Fault] | None:
    def outcome(check: Check, answer: str, *, sure: bool) -> bool | None:
        """Returns whether an answer meets a check; None if the check reads something else. Undecided answers count as
        not met if ``sure``, as met otherwise."""
        if not check.children:
            leaf = leaves.get(id(check))
            met = leaf.accepts(answer) if leaf else None
            return not sure if leaf and met is None else met
        if check.kind == "not":
            met = outcome(check.children[0], answer, sure=not sure)
            return None if met is None else not met
        found = [outcome(child, answer, sure=sure) for child in check.children]
        decisive = check.kind == "any"
        return decisive if decisive in found else None if None in found else not decisive

    def whole(answer: str) -> bool | None:
        found = {outcome(check, answer, sure=True) for check in task.checks}
        return False if False in found else None if None in found else True

    first = next(iter(leaves.values())).check
    right = list(dict.fromkeys(answer for leaf in leaves.values() for answer in leaf.right))
    outcomes = {answer: whole(answer) for answer in (*right, *_WRONG, _IMPOSSIBLE)}
    spelt = all(leaf.right for leaf in leaves.values())
    if spelt and task.score == "product" and set(outcomes.values()) == {False}:
        shown = " and ".join(f"'{clip(answer, 30)}'" for answer in right[:2])
        hint = "write alternatives with 'any', and several values of one answer with 'names' or 'includes'"
        return first, Fault("checks that one answer can meet", f"checks that none meets: {shown}", hint)
    for answer in (*_WRONG, *(() if any(leaf.impossible for leaf in leaves.values()) else (_IMPOSSIBLE,))):
        if outcomes[answer]:
            return first, _accepted(answer, "checks that refuse")
    if outcomes[_IMPOSSIBLE] and any(outcomes[answer] for answer in right if answer != _IMPOSSIBLE):
        found = "checks that accept 'N/A' and another answer"
        return first, Fault("a task that can be done, or one that can't", found, "keep one of the two")
    return None
