"""The outcome of judging: a result per check and a verdict, with their conversion to and from plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from pytest_webarena.checks.intervals import clean, combined, score_bounds, total
from pytest_webarena.errors import Cause

__all__ = ["VERDICT_VERSION", "CheckResult", "Part", "Verdict"]

VERDICT_VERSION = 3
"""Version of the JSON form.

2 added the grading, and whose fault a missing score is; 3 undecided results that a judge could decide, which were not
met before, with a reason that began with "unsure: ".
"""

_UNSURE = "unsure: "

_OF_KEY_NODES = ("function", "step", "by", "open", "forbidden", "free")
"""Fields of `Part` that only key nodes use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a score, such as an item of a rubric or a key node."""

    what: str
    points: float
    """Points that count."""
    of: float
    """Maximum number of points."""
    given: float
    """Points that the judge gave; more than ``points`` if its evidence was not valid."""
    quote: str = ""
    """The judge's evidence: words of the answer."""
    why: str = ""
    """Why points that the judge gave don't count."""
    function: str = ""
    """For a key node: its target and match, as ``url param exact``; empty for other parts."""
    step: int | None = None
    """For a key node: index of the step at which it was first reached, -1 at the agent's start; None if it was not
    reached, or the step is unknown."""
    by: str = ""
    """For a key node: what reached it; empty when nothing did."""
    open: bool = False
    """For a key node: whether it is unknown if it was reached."""
    forbidden: bool = False
    """For a key node: whether it must not be reached."""
    free: bool = False
    """For a key node: whether the agent's start page, or a site's first page, reaches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check: what was expected, what was found, and why it matches or doesn't."""

    path: str
    """Path of the check in its task, e.g. ``checks[1].all[0]``."""
    kind: str
    score: float | None
    """From 0 to 1; None if undecided."""
    expected: str
    actual: str = ""
    why: str = ""
    state: str = ""
    """The state that was judged: ``end``, or ``after step 3``."""
    weight: float = 1.0
    children: tuple[CheckResult, ...] = ()
    cause: Cause | None = None
    """Whose fault a missing score is; None for the task's."""
    counts: float | None = None
    """What the result counts towards passing, if that differs from its score: 1 if it reaches a threshold of its
    own."""
    parts: tuple[Part, ...] = ()
    """Parts of the score, for kinds that report them."""
    waited: float | None = None
    """Seconds that the check was waited for because of its ``within``; None if it has none."""
    judgeable: bool = False
    """Whether an undecided check lacks no evidence: a person or a judge model could decide what the rules can't."""

    @property
    def passed(self) -> bool | None:
        """Whether the check holds, fully or up to its own threshold; None if undecided."""
        return None if self.score is None else (self.score if self.counts is None else self.counts) >= 1

    @property
    def mark(self) -> str:
        """One character: ✓ holds, ✗ does not hold, ◐ holds in part, ? undecided."""
        if self.score is None:
            return "?"
        return "✓" if self.passed else "✗" if self.score <= 0 else "◐"

    def walk(self, depth: int = 0) -> Iterator[tuple[int, CheckResult]]:
        """Yields this result and those inside it, with their depth."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of judging one trial."""

    score: float | None
    """From 0 to 1; None when an undecided check could change it."""
    passed: bool | None
    """Whether the score reaches the threshold; None when undecided."""
    results: tuple[CheckResult, ...]
    """One result per check of the task, in its order."""
    task: str = ""
    intent: str = ""
    threshold: float = 1.0
    stop_reason: str = ""
    """Why the episode ended."""
    grading: str = ""
    """The rules of judging, as ``repaired without shotgun``; empty for tasks without gradings."""
    lower_bound: float | None = None
    """Lower bound of the score: its least value if undecided checks had been decided. None in verdicts of older
    versions."""

    @property
    def undecided(self) -> bool:
        """Whether neither a pass nor a failure is decided."""
        return self.passed is None

    @property
    def judgeable(self) -> bool:
        """Whether the verdict is undecided, and a person or a judge model could decide it: no evidence is missing."""
        return self.undecided and all(result.judgeable for result in self.results if result.score is None)

    @property
    def known_score(self) -> float | None:
        """The score, or its lower bound if that is decided or a judge could decide; None for lack of evidence."""
        if self.score is None and (self.passed is not None or self.judgeable):
            return self.lower_bound or 0.0
        return self.score

    @property
    def cause(self) -> Cause:
        """Whose fault an undecided verdict is: that of the first undecided check."""
        return next((result.cause for result in self._open_ends() if result.cause is not None), None) or "task"

    @property
    def open_because(self) -> str:
        """Why a verdict is undecided: the reason of the first undecided check, one that lacks evidence first."""
        found = sorted(self._open_ends(), key=lambda result: result.judgeable)
        return next((result.why for result in found if result.why), "") or "a check could not be judged"

    def _open_ends(self) -> Iterator[CheckResult]:
        return (result for each in self.results for _, result in each.walk() if result.score is None)

    def __str__(self) -> str:
        return self.render()

    def render(self, width: int = 80, before: Verdict | None = None) -> str:
        """Returns the verdict as text of at most ``width`` columns: the failure text that pytest shows.

        Given the verdict on an earlier state, unchanged checks take one line each and the intent is left out.
        """
        from pytest_webarena.checks.render import render

        return render(self, width, before)

    def to_json(self) -> dict[str, Any]:
        """Returns plain data with a ``schema_version``, for `from_json`."""
        data = asdict(self)
        data["results"] = [_lean(result) for result in data["results"]]
        more = {"undecided": self.undecided, "judgeable": self.judgeable}
        return {"schema_version": VERDICT_VERSION, **data, **more}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """Build a verdict from the output of `to_json`, of this version or an older one."""
        version = data.get("schema_version")
        if not isinstance(version, int) or version > VERDICT_VERSION:
            raise ValueError(f"expected a verdict of schema version {VERDICT_VERSION} or older, found {version!r}")
        values = {key: data[key] for key in _STORED & data.keys()}
        found = cls(results=tuple(_result(result) for result in data["results"]), **values)
        return found if version >= VERDICT_VERSION else _reopened(found)


def _lean(data: dict[str, Any]) -> dict[str, Any]:
    """Remove rarely used fields at their default, so that stored verdicts with the same content stay the same."""
    rare = {
        key: value
        for key, value in data.items()
        if key not in ("counts", "parts", "judgeable", "waited") or value not in (None, (), False)
    }
    if parts := rare.get("parts"):
        rare["parts"] = [{k: v for k, v in part.items() if k not in _RARE or v != _RARE[k]} for part in parts]
    return {**rare, "children": [_lean(child) for child in data["children"]]}


_STORED = {field.name for field in fields(Verdict)} - {"results"}
_RARE = {field.name: field.default for field in fields(Part) if field.name in _OF_KEY_NODES}


def _result(data: Mapping[str, Any]) -> CheckResult:
    children = tuple(_result(child) for child in data["children"])
    parts = tuple(Part(**part) for part in data.get("parts", ()))
    return CheckResult(**{**data, "children": children, "parts": parts})


def _reopened(verdict: Verdict) -> Verdict:
    """Returns a verdict of version 2 with the results undecided that it had marked as unsure and counted as not met."""
    results = tuple(map(_reopened_result, verdict.results))
    if results == verdict.results or verdict.passed is not False or verdict.score is None:
        return replace(verdict, results=results)
    scores = [score_bounds(result) for result in verdict.results]
    product = clean(total(scores, None)[0]) == clean(verdict.score)  # the task's way of scoring was not stored
    weights = None if product else [result.weight for result in results]
    if total([score_bounds(result) for result in results], weights)[1] < verdict.threshold - 1e-9:
        return replace(verdict, results=results)  # another check decides
    return replace(verdict, results=results, score=None, passed=None, lower_bound=verdict.score)


def _reopened_result(result: CheckResult) -> CheckResult:
    if result.why.startswith(_UNSURE) and not result.children:
        return replace(result, score=None, judgeable=True, why=result.why.removeprefix(_UNSURE))
    children = tuple(map(_reopened_result, result.children))
    if children == result.children:
        return result
    low, high = combined(result.kind, [score_bounds(child) for child in children])
    return replace(
        result,
        children=children,
        score=clean(low) if low == high else None,
        judgeable=low != high and all(child.judgeable for child in children if child.score is None),
    )
