"""Checks of absence: those that are met where nothing is found.

They prove nothing until they were seen to fail, because a misspelt name is never found, either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_webarena.checks.verdict import CheckResult, Verdict
from pytest_webarena.tasks.kinds import find_kind
from pytest_webarena.tasks.model import Check
from pytest_webarena.text import clip

__all__ = ["Absence", "absences", "expects_absence", "found_subjects", "never_found"]

_EFFORT = frozenset({"answer", "cost", "tokens", "steps", "seconds", "human", "python"})
"""Kinds that look for nothing on sites. Under ``not`` they are met by another answer or number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """One check of absence, or one forbidden key node, in one verdict."""

    path: str
    """Path of the check."""
    subject: str
    """Its path; for a key node, with the node's name."""
    found: bool
    """Whether what must be absent was found, so that the check can fail."""
    actual: str
    """What was found instead."""
    expected: str

    def __str__(self) -> str:
        seen = f" ({self.actual})" if self.actual else ""
        return f"{self.subject} was never seen to fail{seen}: {clip(self.expected, 120)}"


def expects_absence(checks: Sequence[Check]) -> bool:
    """Return whether one of the ``checks`` is met where nothing is found."""
    return any(check.kind == "key_nodes" or _is_absence(check, negated) for check, negated in _leaves(checks))


def absences(checks: Sequence[Check], verdict: Verdict) -> Iterator[Absence]:
    """Yield the checks of absence and the forbidden key nodes of one verdict. Undecided ones are left out."""
    results = {result.path: result for each in verdict.results for _, result in each.walk()}
    for check, negated in _leaves(checks):
        result = results.get(check.path)
        if result is None or result.score is None:
            continue
        if check.kind == "key_nodes":
            yield from _forbidden(result)
        elif _is_absence(check, negated):
            yield Absence(
                path=check.path, subject=check.path, found=bool(result.passed) is negated,
                actual=result.actual, expected=f"{'not ' if negated else ''}{result.expected}",
            )  # fmt: skip


def found_subjects(checks: Sequence[Check], verdict: Verdict) -> set[str]:
    """Return the subjects of checks of absence that this verdict shows able to fail."""
    return {each.subject for each in absences(checks, verdict) if each.found}


def never_found(checks: Sequence[Check], verdicts: Iterable[Verdict], found: Iterable[str] = ()) -> list[Absence]:
    """Return the checks of absence that no verdict shows able to fail. ``found`` are subjects that others did."""
    proved = set(found)
    seen: dict[str, Absence] = {}
    for verdict in verdicts:
        for each in absences(checks, verdict):
            seen[each.subject] = each
            if each.found:
                proved.add(each.subject)
    return [each for subject, each in seen.items() if subject not in proved]


def _forbidden(result: CheckResult) -> Iterator[Absence]:
    for part in result.parts:
        if part.forbidden and not part.open:
            yield Absence(
                path=result.path, subject=f"{result.path} '{part.what}'", found=bool(part.by),
                actual="", expected="a forbidden key node",
            )  # fmt: skip


def _is_absence(check: Check, negated: bool) -> bool:
    if check.kind in _EFFORT:
        return False
    kind = find_kind(check.kind)
    holds = getattr(kind, "absence", None)
    return bool(holds is not None and holds(check.spec)) is not negated


def _leaves(checks: Sequence[Check], negated: bool = False) -> Iterator[tuple[Check, bool]]:
    for check in checks:
        if check.children:
            yield from _leaves(check.children, negated ^ (check.kind == "not"))
        else:
            yield check, negated
