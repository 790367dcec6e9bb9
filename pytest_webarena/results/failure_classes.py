"""Why trials fail: the classes that WebArena's paper describes, and rules that propose them from what was recorded.

The paper (Zhou et al., arXiv 2307.13854, section 5.1, and its appendix on errors) tells of agents that call feasible
tasks impossible, settle on the first thing that looks related, overlook what they have typed already, and repeat
themselves; of people, that they mistook intents, or answered or did a part (section 3.2). It counts only the first of
these, and gives no rules. The rules here are ours: each names what in the record speaks for its class, and proposes, no
more. Which class it is, people say (`failure_labels`); what only a reader can tell has no rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_webarena.answers import as_text
from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.checks.text import normalise
from pytest_webarena.evidence import StepRecord
from pytest_webarena.results.records import TrialRecord

__all__ = ["CLASSES", "FailureClass", "Proposal", "ended_by", "propose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureClass:
    """One way to fail."""

    name: str
    """As it is written in files of labels."""
    about: str
    """What somebody sees who reads such a trial."""
    rule: str = ""
    """When it is proposed; empty where only a reader can tell."""


CLASSES: Mapping[str, FailureClass] = {
    each.name: each
    for each in (
        FailureClass(
            name="gave-up",
            about="called a task impossible that can be done",
            rule="the task is achievable, the answer says it is not",
        ),
        FailureClass(
            name="observation-bias",
            about="settled on the first thing that looked related",
            rule="a wrong answer that was given on the very page that showed it first, with no look at another",
        ),
        FailureClass(
            name="overlooked-input",
            about="overlooked what it had entered already",
            rule="the same text typed into the same field of a page again, nothing done to that field between",
        ),
        FailureClass(
            name="repeated-actions",
            about="did the same over and over",
            rule="three times in a row the same action, on the same page and to no effect; or stopped for repetition",
        ),
        FailureClass(name="misread-intent", about="did or answered something else than was asked"),
        FailureClass(
            name="incomplete",
            about="a part of the answer, or of what was to be done",
            rule="some checks of the task hold, or one in part",
        ),
        FailureClass(
            name="no-valid-action",
            about="could not say a valid action",
            rule="stopped for actions that were none",
        ),
        FailureClass(
            name="ran-out",
            about="was still at it when its steps, time, money or model's context ended",
            rule="stopped by a limit",
        ),
        FailureClass(name="wrong-verdict", about="the task or its check is at fault, not the agent"),
        FailureClass(name="other", about="something else"),
    )
}
"""By name, in the order in which tables have them."""

_LIMITS = ("max_steps", "time", "tokens", "cost", "context")
_IN_A_ROW = 3
_SHORTEST = 2
"""Characters of an answer that is looked for on pages; shorter ones stand on any."""

ObservationOf = Callable[[StepRecord], str]
"""The text of what an agent saw before a step; empty where it was not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A class, and what in the record speaks for it."""

    name: str
    why: str


def propose(record: TrialRecord, steps: Sequence[StepRecord], seen: ObservationOf) -> tuple[Proposal, ...]:
    """The classes that a failed trial may be of, in the order of `CLASSES`; none for other trials."""
    if record.outcome != "failed":
        return ()
    found = {each.name: each for each in _proposals(record, steps, seen)}
    return tuple(found[name] for name in CLASSES if name in found)


def _proposals(record: TrialRecord, steps: Sequence[StepRecord], seen: ObservationOf) -> Iterator[Proposal]:
    answer = as_text(record.answer) or ""
    if says_unachievable(answer):
        if record.category != "unachievable":
            yield Proposal(name="gave-up", why="the answer calls the task impossible")
    elif (at := _on_first_sight(record, answer, steps, seen)) is not None:
        yield Proposal(
            name="observation-bias", why=f"answered with what the page of step {at + 1} was the first to show"
        )
    if (again := _typed_again(steps)) is not None:
        yield Proposal(
            name="overlooked-input", why=f"step {again[1] + 1} types what step {again[0] + 1} had typed there"
        )
    if (last := _in_a_row(steps)) is not None:
        told = f"steps {last - _IN_A_ROW + 2} to {last + 1} are the same, and the page stayed where it was"
        yield Proposal(name="repeated-actions", why=told)
    elif record.stop_reason == "repeated":
        yield Proposal(name="repeated-actions", why="it was stopped for repeating itself")
    parts = _parts(record)
    if (held := sum(part >= 1 for part in parts)) < len(parts) and any(parts):
        some = "" if held else ", one in part"
        yield Proposal(name="incomplete", why=f"{held} of {len(parts)} checks hold{some}")
    if record.stop_reason == "invalid":
        yield Proposal(name="no-valid-action", why="it was stopped for replies that were no action")
    if ended_by(record) == "limit":
        yield Proposal(name="ran-out", why=f"stopped by {record.stop_reason}")


def ended_by(record: TrialRecord) -> str:
    """``agent`` where it stopped by itself, ``limit`` where a limit ended it, else ``rule``: stop rules and filters."""
    return "agent" if record.stop_reason == "answered" else "limit" if record.stop_reason in _LIMITS else "rule"


def _on_first_sight(record: TrialRecord, answer: str, steps: Sequence[StepRecord], seen: ObservationOf) -> int | None:
    """The step of the stop, where its page showed the answer and none before did."""
    wanted = normalise(answer)
    if len(wanted) < _SHORTEST or record.stop_reason != "answered" or record.category == "unachievable":
        return None
    if not steps or steps[-1].action.get("kind") != "stop":
        return None
    pages = [normalise(seen(step)) for step in steps]
    if not all(pages):  # an observation that is not there might have shown it
        return None
    word = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
    shows = [word.search(page) is not None for page in pages]
    return len(steps) - 1 if shows[-1] and not any(shows[:-1]) else None


def _typed_again(steps: Sequence[StepRecord]) -> tuple[int, int] | None:
    """Two steps that typed the same into one field of one page, where nothing else was done to it between."""
    last: dict[tuple[str, object], tuple[int, str]] = {}
    for at, step in enumerate(steps):
        if step.target is None or step.error:
            continue
        field = (step.url_before.partition("#")[0], _element(step))
        if step.action.get("kind") == "type":
            text = str(step.value or step.action.get("text") or "")
            before = last.get(field)
            if text and before is not None and before[1] == text:
                return before[0], at
            last[field] = (at, text)
        elif step.action.get("kind") not in ("hover", "click"):  # keys, for one, may have emptied it
            last.pop(field, None)
    return None


def _element(step: StepRecord) -> object:
    assert step.target is not None
    named = bool(step.target.role and step.target.name)
    return (step.target.role, step.target.name) if named else step.target.selector


def _in_a_row(steps: Sequence[StepRecord]) -> int | None:
    """The last of three equal actions in a row that left the page where it was."""
    row = 0
    for at, step in enumerate(steps):
        same = at > 0 and _done(step) == _done(steps[at - 1]) and step.url_before == steps[at - 1].url_before
        moved = step.url_after != step.url_before and not step.error
        row = 0 if moved or step.action.get("kind") in ("stop", "wait", "scroll", "noop") else row + 1 if same else 1
        if row >= _IN_A_ROW:
            return at
    return None


def _done(step: StepRecord) -> object:
    """What an action does, whatever number its element had this time."""
    what = {name: value for name, value in step.action.items() if name != "target"}
    where = _element(step) if step.target else step.action.get("target")
    return repr((sorted(what.items(), key=lambda item: item[0]), step.value, where))


def _parts(record: TrialRecord) -> list[float]:
    """What each check of the verdict that counts came to."""
    results: Sequence[Mapping[str, Any]] = (record.verdict or {}).get("results") or ()
    found = [each.get("counts") if each.get("counts") is not None else each.get("score") for each in results]
    return [float(each) for each in found if each is not None]
