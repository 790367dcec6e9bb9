"""What judging gives: a result per check and a verdict, to and from plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from pytest_webarena.errors import Cause

__all__ = ["VERDICT_VERSION", "CheckResult", "Part", "Verdict"]

VERDICT_VERSION = 2
"""Of the JSON form; 2 added the grading, and whose fault it is that a check has no score."""

_OF_KEY_NODES = ("function", "step", "by", "open", "forbidden", "free")
"""What only parts of key nodes have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the things that a score is made of, as an item of a rubric is."""

    what: str
    points: float
    """What counts."""
    of: float
    """The most that there is to get."""
    given: float
    """What the judge gave; more than ``points`` where its evidence did not hold."""
    quote: str = ""
    """The evidence: words of the answer."""
    why: str = ""
    """Why what was given does not count."""
    function: str = ""
    """Of a key node: its target and match, as ``url param exact``; empty for other things."""
    step: int | None = None
    """Of a key node: index of the step at which it was first reached, -1 where the agent began; None: it was not, or
    there is no telling at which."""
    by: str = ""
    """Of a key node: what reached it; empty when nothing did."""
    open: bool = False
    """Of a key node: whether there is no telling if it was reached."""
    forbidden: bool = False
    """Of a key node: whether it must not be reached."""
    free: bool = False
    """Of a key node: whether the page on which the agent began reaches it, or a site's first page does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check, judged: what was expected, what was seen, and why that (doesn't) fit."""

    path: str
    """Where the check stands in its task, e.g. ``checks[1].all[0]``."""
    kind: str
    score: float | None
    """From 0 to 1; None when there is no telling."""
    expected: str
    actual: str = ""
    why: str = ""
    state: str = ""
    """The state it speaks of: ``end``, or ``after step 3``."""
    weight: float = 1.0
    children: tuple[CheckResult, ...] = ()
    cause: Cause | None = None
    """Of no score: whose fault that is; None for the task's."""
    counts: float | None = None
    """What it counts towards passing, where that is not its score: 1 for one that reaches a threshold of its own."""
    parts: tuple[Part, ...] = ()
    """What the score is made of, for kinds that say so."""

    @property
    def passed(self) -> bool | None:
        """Whether it holds fully, or as far as it has to; None when there is no telling."""
        return None if self.score is None else (self.score if self.counts is None else self.counts) >= 1

    @property
    def mark(self) -> str:
        """One character: ✓ holds, ✗ doesn't, ◐ in part, ? no telling."""
        if self.score is None:
            return "?"
        return "✓" if self.passed else "✗" if self.score <= 0 else "◐"

    def walk(self, depth: int = 0) -> Iterator[tuple[int, CheckResult]]:
        """This result and those inside it, with their depth."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of judging one trial."""

    score: float | None
    """From 0 to 1; None when inconclusive."""
    passed: bool | None
    """Whether the score reaches the threshold; None when inconclusive."""
    results: tuple[CheckResult, ...]
    """One per check of the task, in its order."""
    task: str = ""
    intent: str = ""
    threshold: float = 1.0
    stop_reason: str = ""
    """Why the episode ended."""
    grading: str = ""
    """By whose rules, as ``repaired without shotgun``; empty for tasks that know no gradings."""

    @property
    def inconclusive(self) -> bool:
        """Whether the evidence decides nothing: neither a pass nor a fail."""
        return self.score is None

    @property
    def cause(self) -> Cause:
        """Whose fault it is that an inconclusive verdict is none: the first such check's."""
        open_ends = (result for each in self.results for _, result in each.walk() if result.score is None)
        return next((result.cause for result in open_ends if result.cause is not None), None) or "task"

    @property
    def open_because(self) -> str:
        """Why an inconclusive verdict is none: what the first such check says."""
        open_ends = (result for each in self.results for _, result in each.walk() if result.score is None)
        return next((result.why for result in open_ends if result.why), "") or "a check could not be judged"

    def __str__(self) -> str:
        return self.render()

    def render(self, width: int = 80, before: Verdict | None = None) -> str:
        """The verdict as text of at most ``width`` columns: the failure text that pytest shows.

        Given the verdict on an earlier state, checks that say the same take a line each and the intent is left out.
        """
        from pytest_webarena.checks.render import render

        return render(self, width, before)

    def to_json(self) -> dict[str, Any]:
        """Plain data with a ``schema_version``; `from_json` reads it back."""
        data = asdict(self)
        data["results"] = [_lean(result) for result in data["results"]]
        return {"schema_version": VERDICT_VERSION, **data, "inconclusive": self.inconclusive}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """Read what `to_json` wrote, this version's or an older one's."""
        version = data.get("schema_version")
        if not isinstance(version, int) or version > VERDICT_VERSION:
            raise ValueError(f"expected a verdict of schema version {VERDICT_VERSION} or older, found {version!r}")
        values = {key: value for key, value in data.items() if key not in ("schema_version", "inconclusive", "results")}
        return cls(results=tuple(_result(result) for result in data["results"]), **values)


def _lean(data: dict[str, Any]) -> dict[str, Any]:
    """A result without what most have not: stored verdicts that say the same stay the same."""
    rare = {key: value for key, value in data.items() if key not in ("counts", "parts") or value not in (None, ())}
    if parts := rare.get("parts"):
        rare["parts"] = [{k: v for k, v in part.items() if k not in _RARE or v != _RARE[k]} for part in parts]
    return {**rare, "children": [_lean(child) for child in data["children"]]}


_RARE = {field.name: field.default for field in fields(Part) if field.name in _OF_KEY_NODES}


def _result(data: Mapping[str, Any]) -> CheckResult:
    children = tuple(_result(child) for child in data["children"])
    parts = tuple(Part(**part) for part in data.get("parts", ()))
    return CheckResult(**{**data, "children": children, "parts": parts})
