"""Which conditions of a task are proven: each was seen to hold, and seen to fail.

A condition that never failed may pass anything; a condition of absence, for example, whose name is misspelt. An
alternative of `any` that never held may be one that nothing can meet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.checks.verdict import CheckResult, Verdict
from pytest_webarena.tasks.kinds import find_kind
from pytest_webarena.tasks.model import Check
from pytest_webarena.text import clip

__all__ = ["Condition", "Unproven", "conditions", "failed_subjects", "held_subjects", "needs_other_states", "unproven"]

_LIMITS = frozenset({"cost", "tokens", "steps", "seconds"})
"""Kinds that limit what an agent may use. They say nothing about the task's result."""
_NOT_ON_SITES = _LIMITS | {"answer", "human", "python"}
"""Kinds that look for nothing on sites. Under ``not`` they are met by another answer or number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One check in one verdict: one that is no combination, or an alternative of `any`; or one forbidden key node."""

    check: Check
    subject: str
    """Its path; for a key node, with the node's name."""
    met: bool
    """Whether it is as the task wants it; under ``not``, the contrary of the check's own result."""
    is_absence: bool
    """Whether it is met where nothing is found."""
    is_combination: bool = False
    """Whether it is an alternative with checks of its own, which each have to fail once."""
    actual: str
    """What was found."""
    expected: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproven:
    """A condition that was never seen to hold, or never seen to fail."""

    condition: Condition
    lacks: Literal["hold", "fail"]

    def __str__(self) -> str:
        seen = f" ({clip(self.condition.actual, 60)})" if self.condition.actual else ""
        return f"{self.condition.subject} was never seen to {self.lacks}{seen}: {clip(self.condition.expected, 120)}"

    @property
    def mend(self) -> str:
        """Advice on how to prove it."""
        if self.lacks == "hold":
            return "remove this alternative, or add an instance whose solution takes it"
        if self.condition.is_absence:
            return "a misspelt name would pass, too: check it, or let `setup` prepare what must be absent"
        return "nothing that was tried breaks it: let `changes` guard the rows, with `where`, or remove the check"


def needs_other_states(checks: Sequence[Check]) -> bool:
    """Return whether one of the ``checks`` is met where nothing is found, or is an alternative, so that a solution that
    passes does not prove it."""
    return any(
        is_alternative or check.kind == "key_nodes" or (not check.children and _is_absence(check, negated))
        for check, negated, is_alternative in _walk(checks)
    )


def conditions(checks: Sequence[Check], verdict: Verdict) -> Iterator[Condition]:
    """Yield the decided conditions of one verdict."""
    results = {result.path: result for each in verdict.results for _, result in each.walk()}
    for check, negated, is_alternative in _walk(checks):
        result = results.get(check.path)
        if result is None or result.score is None or check.kind in _LIMITS or (check.children and not is_alternative):
            continue
        yield Condition(
            check=check, subject=check.path, met=bool(result.passed) is not negated,
            is_absence=not check.children and _is_absence(check, negated), is_combination=bool(check.children),
            actual=result.actual, expected=f"{'not ' if negated else ''}{result.expected}",
        )  # fmt: skip
        yield from _forbidden_nodes(check, result)


def failed_subjects(checks: Sequence[Check], verdict: Verdict) -> set[str]:
    """Return the conditions that this verdict shows able to fail."""
    return {each.subject for each in conditions(checks, verdict) if not each.met}


def held_subjects(checks: Sequence[Check], verdict: Verdict) -> set[str]:
    """Return the conditions that this verdict shows able to hold."""
    return {each.subject for each in conditions(checks, verdict) if each.met}


def unproven(
    checks: Sequence[Check],
    verdicts: Iterable[Verdict],
    *,
    held: Collection[str] = (),
    failed: Collection[str] = (),
) -> list[Unproven]:
    """Return the conditions that no verdict shows able to hold, or none able to fail. Those without a decided verdict
    are left out.

    ``held`` and ``failed`` are subjects for which something else showed it.
    """
    seen: dict[str, Condition] = {}
    held, failed = set(held), set(failed)
    for verdict in verdicts:
        for each in conditions(checks, verdict):
            seen[each.subject] = each
            (held if each.met else failed).add(each.subject)
    return [
        Unproven(condition=each, lacks="fail" if subject in held else "hold")
        for subject, each in seen.items()
        if subject not in held or (subject not in failed and not each.is_combination)
    ]


def _forbidden_nodes(check: Check, result: CheckResult) -> Iterator[Condition]:
    for part in result.parts:
        if part.forbidden and not part.open:
            yield Condition(
                check=check, subject=f"{result.path} '{part.what}'", met=not part.by, is_absence=True,
                actual="", expected="a forbidden key node",
            )  # fmt: skip


def _is_absence(check: Check, negated: bool) -> bool:
    if check.kind in _NOT_ON_SITES:
        return False
    holds = getattr(find_kind(check.kind), "absence", None)
    return bool(holds is not None and holds(check.spec)) is not negated


def _walk(
    checks: Sequence[Check], negated: bool = False, is_alternative: bool = False
) -> Iterator[tuple[Check, bool, bool]]:
    """Yield all checks, whether an odd number of ``not`` surrounds them, and whether they are alternatives."""
    for check in checks:
        yield check, negated, is_alternative
        yield from _walk(check.children, negated ^ (check.kind == "not"), check.kind == "any")
