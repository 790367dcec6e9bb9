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
    "Counted is the attempt that has the verdict: all calls of the agent's models, those that ask again, sum up or "
    "take notes included, and its reward model's; never the judge's. Replies of the response cache count as if they "
    "had been paid for, so that a run from the cache ends as the first one did. Agents of kind `model` are counted "
    "by the package; others tell it themselves (`usage`), and are believed. Built-in agents, `scripted`, `replay` "
    "and `human` ask no model and use nothing. Where it is not known whether more was used (a step came without "
    "`usage`, a price is unknown, a request was given up, the agent was cut off), the check is inconclusive, unless "
    "what is known is too much already. [More](agents.md#limits-and-money)."
)

COST: Kind[AtMost] = _kind(
    "cost",
    doc="What the agent's model calls may cost.",
    shape=Number(float, "US dollars, 0 or more", low=0),
    bound="US dollars.",
    of=_cost,
    more=_TOLD,
    example="0.15",
)

TOKENS: Kind[AtMost] = _kind(
    "tokens",
    doc="How many tokens the agent's model calls may have.",
    shape=Int("a number of tokens, 0 or more", low=0),
    bound="Tokens of prompts and replies together, cached and reasoning ones included.",
    of=_tokens,
    more="What is counted is what [`cost`](#cost) counts.",
    example="20000",
)

STEPS: Kind[AtMost] = _kind(
    "steps",
    doc="How many steps the agent may take.",
    shape=Int("a number of steps, 1 or more", low=1),
    bound="Steps.",
    of=_steps,
    more=(
        "A step is a reply, whether it had an effect or was no action at all; the answer is one, too. Of an agent that "
        "drives itself: a click, a text, a key, a scroll, a navigation, and the answer; what its own scripts do in a "
        "page is no step."
    ),
    example="12",
)

SECONDS: Kind[AtMost] = _kind(
    "seconds",
    doc="How long the agent may take.",
    shape=Number(float, "a number of seconds above 0", above=0),
    bound="Seconds.",
    of=_seconds,
    more=(
        "Counted is the time for which the agent was waited for: from being shown a page to its reply, all model "
        "calls, retries and waiting for an endpoint included. Browser, sites, checks and notes for later trials "
        "don't count. Of an agent that drives itself all counts from its start to its end, its browser included, "
        "but for the time in which its commands wait to be recorded. Replies from the response cache take no time: "
        "with them, the check is inconclusive, unless it took too long all the same."
    ),
    example="90",
)
