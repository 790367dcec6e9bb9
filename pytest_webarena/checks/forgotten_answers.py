"""Notes on tasks that seem to lack a check of the answer, or its type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pytest_webarena.checks.answer_spec import AnswerSpec
from pytest_webarena.checks.kind import Kind
from pytest_webarena.checks.numbers import numeral_value
from pytest_webarena.docs_site import docs
from pytest_webarena.tasks.kinds import find_kind
from pytest_webarena.tasks.model import Check, Task

__all__ = ["with_literal_numbers", "with_unread_answers"]

_NAMED = 5
"""Tasks that a note names."""


def with_unread_answers(tasks: Sequence[Task]) -> str:
    """Returns a note on tasks that ask a question, but have no check that may read the answer; empty if there are
    none."""
    named = _named(
        tasks, lambda task: task.intent.rstrip().endswith("?") and not any(map(_reads, _leaves(task.checks)))
    )
    return named and (
        f"no check reads the answer to the question of {named}: add one, such as 'answer: {{number: 36}}' or "
        f"'answer: {{name: Ann Lee}}' ({docs('task-format')})"
    )


def with_literal_numbers(tasks: Sequence[Task]) -> str:
    """Returns a note on tasks that compare the whole answer with the text of a number; empty if there are none."""
    named = _named(tasks, lambda task: any(map(_is_literal_number, _leaves(task.checks))))
    return named and (
        f"the whole answer must be the text of a number in {named}, so that 'There are 36.' is not met: write "
        f"'answer: {{number: 36}}' ({docs('task-format')})"
    )


def _named(tasks: Sequence[Task], fits: Callable[[Task], bool]) -> str:
    """Returns the names of the tasks that fit. Published tasks are left out, because they can't be changed."""
    found = list(dict.fromkeys(task.template or task.id for task in tasks if not task.source and fits(task)))
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more


def _leaves(checks: Sequence[Check]) -> Iterator[Check]:
    for check in checks:
        yield from _leaves(check.children) if check.children else (check,)


def _reads(check: Check) -> bool:
    """Whether a check may depend on the answer."""
    kind = find_kind(check.kind)
    sources = kind.sights(check.spec) if isinstance(kind, Kind) else None
    return sources is None or "answer" in sources


def _is_literal_number(check: Check) -> bool:
    exact = check.spec.text.exact if isinstance(check.spec, AnswerSpec) else None
    return exact is not None and numeral_value(exact.strip()) is not None
