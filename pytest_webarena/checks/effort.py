"""The kinds ``cost``, ``tokens``, ``steps`` and ``seconds``: limits on what an agent may use for a task."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.evidence import Evidence, Usage
from pytest_webarena.tasks.record_shapes import Field, Record
from pytest_webarena.tasks.shapes import Int, Number, Shape

__all__ = ["COST", "SECONDS", "STEPS", "TOKENS", "AtMost"]

_ROUNDING = 1e-9
"""Relative rounding error that is allowed in a sum of many calls' costs in dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """An upper limit on one kind of effort."""

    at_most: float
    what: str
    """Kind of effort: ``cost``, ``tokens``, ``steps`` or ``seconds``."""

    def __str__(self) -> str:
        return f"at most {_shown(self.what, self.at_most)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What is known about the amount used."""

    low: float
    """Lower bound of the amount."""
    gap: str = ""
    """Why the amount may be higher; empty if it is exact."""


def _shown(what: str, amount: float) -> str:
    if what == "cost":
        return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}" if amount else "$0"
    if what == "seconds":
        return f"{amount:.4g} s"
    word = what.removesuffix("s") if amount == 1 else what
    return f"{amount:,.0f} {word}"


def _cost(evidence: Evidence) -> _Found:
    used = evidence.usage
    told = math.fsum(worth for step in evidence.steps if (worth := _worth(step.usage)) is not None)
    low = max(told, _worth(used) or 0.0)
    if used is not None and used.worth is None and not used.untold_calls and not evidence.usage_gap:
        return _Found(low=low, gap="the price of its model is not known; --prices makes it known")
    return _Found(low=low, gap=_gap(evidence))


def _worth(used: Usage | None) -> float | None:
    return used.worth if used is not None else None


def _tokens(evidence: Evidence) -> _Found:
    used = evidence.usage
    parts = [step.usage for step in evidence.steps if step.usage is not None]
    told = sum(map(_counted, parts))
    gap = _gap(evidence)
    if not gap and any(_uncounted(part) for part in (*parts, used)):
        gap = "the agent reported calls or dollars without their tokens"
    return _Found(low=max(told, _counted(used) if used is not None else 0), gap=gap)


def _counted(used: Usage) -> int:
    return used.input_tokens + used.output_tokens


def _uncounted(used: Usage | None) -> bool:
    """Whether something was used that must have consumed tokens, but no tokens were reported."""
    return used is not None and not _counted(used) and bool(used.calls or used.worth or used.worth is None)


def _gap(evidence: Evidence) -> str:
    """Returns why an agent may have used more than what is recorded; empty if it did not."""
    used = evidence.usage
    if evidence.usage_gap:
        return evidence.usage_gap
    if used is None:
        return "what the agent used was not recorded; run the trial again"
    if used.untold_calls:
        one = used.untold_calls == 1
        return (
            f"{used.untold_calls:,} request{'s' * (not one)} to its model, given up or answered without a count of "
            f"tokens, may have used more"
        )
    return ""


def _steps(evidence: Evidence) -> _Found:
    return _Found(low=len(evidence.steps))


def _seconds(evidence: Evidence) -> _Found:
    took, used = evidence.agent_seconds, evidence.usage
    if took is None:
        return _Found(low=0.0, gap="how long the agent took was not measured")
    if used is not None and used.cached_calls:
        calls = f"{used.cached_calls:,} of its {used.calls:,} replies came"
        return _Found(low=took, gap=f"{calls} from the response cache, in no time; run it without --model-cache")
    return _Found(low=took)


def _judge(found_in: Callable[[Evidence], _Found]) -> Callable[[AtMost, View], Judgement]:
    def judge(spec: AtMost, view: View) -> Judgement:
        """A known amount above the limit fails; an amount below it passes only if it is known completely."""
        found = found_in(view.evidence)
        expected = str(spec)
        if found.low > spec.at_most * (1 + _ROUNDING):
            least = "at least " if found.gap else ""
            return Judgement.of(False, expected=expected, actual=f"{least}{_shown(spec.what, found.low)}")
        if found.gap:
            known = f"{_shown(spec.what, found.low)} that are known of" if found.low else ""
            return Judgement.unknown(expected=expected, actual=known, why=found.gap)
        return Judgement.of(True, expected=expected, actual=_shown(spec.what, found.low))

    return judge


def _kind(
    what: str, *, doc: str, shape: Shape[Any], bound: str, of: Callable[[Evidence], _Found], more: str, example: str
) -> Kind[AtMost]:
    line = f"- {what}: {{at_most: {example}}}"
    return Kind(
        name=what,
        doc=doc,
        form=Record(
            f"{what} check",
            lambda at_most: AtMost(at_most=at_most, what=what),
            [Field(key="at_most", shape=shape, doc=bound, example=line)],
            doc=more,
        ),
        judge=_judge(of),
        looks_at=lambda spec: (),
        examples=(line,),
    )


_TOLD = (
    "Counts all calls of the agent's models in the attempt that has the verdict: also retries, summaries, "
    "notes and the reward model, never the judge. Replies from the response cache count in full. Agents of "
    "kind `model` are counted by the package; others report their `usage`; `scripted`, `replay`, `human` and "
    "built-in agents use nothing. Usage is incomplete if a step has no `usage`, a price is unknown, a "
    "request was abandoned or the agent was cut off. Then the check is undecided, unless the known part "
    "exceeds the limit. [More](agents.md#limits-and-money)."
)

COST: Kind[AtMost] = _kind(
    "cost",
    doc="Limits the cost of the agent's model calls.",
    shape=Number(float, "US dollars, 0 or more", low=0),
    bound="Maximum, in US dollars.",
    of=_cost,
    more=_TOLD,
    example="0.15",
)

TOKENS: Kind[AtMost] = _kind(
    "tokens",
    doc="Limits the tokens of the agent's model calls.",
    shape=Int("a number of tokens, 0 or more", low=0),
    bound="Maximum number of tokens of prompts and replies, with cached and reasoning tokens.",
    of=_tokens,
    more="Counts the same calls as [`cost`](#cost).",
    example="20000",
)

STEPS: Kind[AtMost] = _kind(
    "steps",
    doc="Limits the agent's steps.",
    shape=Int("a number of steps, 1 or more", low=1),
    bound="Maximum number of steps.",
    of=_steps,
    more=(
        "Each reply is a step, also if it has no effect or no action; so is the answer. For an agent that "
        "drives its own browser, steps are clicks, texts, keys, scrolls, navigations and the answer. What "
        "its scripts do in a page is not a step."
    ),
    example="12",
)

SECONDS: Kind[AtMost] = _kind(
    "seconds",
    doc="Limits the time that the agent takes.",
    shape=Number(float, "a number of seconds above 0", above=0),
    bound="Maximum, in seconds.",
    of=_seconds,
    more=(
        "Counts the time from showing a page to the agent until its reply, with model calls, retries and "
        "waiting for endpoints. Browser, sites, checks and notes for later trials don't count. For an agent "
        "that drives its own browser, all time from start to end counts, except while its commands wait to "
        "be recorded. With replies from the response cache, the check is undecided, unless the limit is "
        "exceeded anyway."
    ),
    example="90",
)
