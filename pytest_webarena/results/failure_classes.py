"""Causes of failure: the classes that WebArena's paper describes, and rules that propose them from records.

The paper (Zhou et al., arXiv 2307.13854, section 5.1, and its appendix on errors) describes agents that call feasible
tasks impossible, settle on the first related thing, overlook what they have typed already, and repeat themselves. It
describes people who misread intents, or gave incomplete answers or solutions (section 3.2). It counts only the first of
these, and gives no rules. The rules here are this project's own. Each names the evidence in the record and only
proposes its class. People decide on the class (`failure_labels`); classes that only a reader can recognise have no
rule.
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
from pytest_webarena.owners import UNATTRIBUTED
from pytest_webarena.results.records import TrialRecord

__all__ = ["CLASSES", "FailureClass", "Proposal", "ended_by", "propose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureClass:
    """A class of failures."""

    name: str
    """Name of the class in label files."""
    about: str
    """What a reader of such a trial observes."""
    rule: str = ""
    """Condition under which the class is proposed; empty where only a reader can recognise it."""


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
            rule="a wrong answer from the first page that showed it, with no other page opened",
        ),
        FailureClass(
            name="overlooked-input",
            about="overlooked what it had entered already",
            rule="the same text typed into the same field again, with no other action on that field between",
        ),
        FailureClass(
            name="repeated-actions",
            about="repeated the same actions",
            rule="three times in a row the same action, on the same page and to no effect; or stopped for repetition",
        ),
        FailureClass(
            name="undecided-answer",
            about="gave an answer that the rules can't decide; a judge may accept it",
            rule="the verdict is undecided",
        ),
        FailureClass(name="misread-intent", about="did or answered something else than was asked"),
        FailureClass(
            name="incomplete",
            about="a part of the answer, or of what was to be done",
            rule="some checks of the task pass, or one in part",
        ),
        FailureClass(
            name="no-valid-action",
            about="gave no valid action",
            rule="stopped for invalid actions",
        ),
        FailureClass(
            name="ran-out",
            about="ran out of steps, time, money or model context",
            rule="stopped by a limit",
        ),
        FailureClass(name="wrong-verdict", about="the task or its check is at fault, not the agent"),
        FailureClass(name="other", about="something else"),
    )
}
"""Classes by name, in the order of tables."""

_LIMITS = ("max_steps", "time", "tokens", "cost", "context")
_IN_A_ROW = 3
_SHORTEST = 2
"""Characters of an answer that is searched for on pages; shorter ones occur on any page."""

ObservationOf = Callable[[StepRecord], str]
"""Returns the text that an agent saw before a step; empty where it was not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A class, and the evidence for it in the record."""

    name: str
    why: str


def propose(record: TrialRecord, steps: Sequence[StepRecord], observation_of: ObservationOf) -> tuple[Proposal, ...]:
    """Return the possible classes of a failed trial, in the order of `CLASSES`; none for other trials."""
    if record.outcome != "failed":
        return ()
    found = {each.name: each for each in _proposals(record, steps, observation_of)}
    return tuple(found[name] for name in CLASSES if name in found)


def _proposals(record: TrialRecord, steps: Sequence[StepRecord], observation_of: ObservationOf) -> Iterator[Proposal]:
    answer = as_text(record.answer) or ""
    if record.undecided and record.stop_reason != UNATTRIBUTED:
        yield Proposal(name="undecided-answer", why="the rules can't decide; a judge could")
    if says_unachievable(answer):
        if record.category != "unachievable":
            yield Proposal(name="gave-up", why="the answer calls the task impossible")
    elif (at := _on_first_sight(record, answer, steps, observation_of)) is not None:
        yield Proposal(
            name="observation-bias", why=f"answered with what the page of step {at + 1} was the first to show"
        )
    if (repeated := _typed_again(steps)) is not None:
        yield Proposal(
            name="overlooked-input", why=f"step {repeated[1] + 1} types what step {repeated[0] + 1} had typed there"
        )
    if (last := _in_a_row(steps)) is not None:
        reason = f"steps {last - _IN_A_ROW + 2} to {last + 1} are the same, and the page stayed where it was"
        yield Proposal(name="repeated-actions", why=reason)
    elif record.stop_reason == "repeated":
        yield Proposal(name="repeated-actions", why="it was stopped for repeating itself")
    parts = _parts(record)
    if (held := sum(part >= 1 for part in parts)) < len(parts) and any(parts):
        some = "" if held else ", one in part"
        yield Proposal(name="incomplete", why=f"{held} of {len(parts)} checks pass{some}")
    if record.stop_reason == "invalid":
        yield Proposal(name="no-valid-action", why="it was stopped for invalid actions")
    if ended_by(record) == "limit":
        yield Proposal(name="ran-out", why=f"stopped by {record.stop_reason}")


def ended_by(record: TrialRecord) -> str:
    """Return ``agent`` where the agent stopped, ``limit`` where a limit ended the trial, else ``rule``.

    Rules are stop rules and filters.
    """
    return "agent" if record.stop_reason == "answered" else "limit" if record.stop_reason in _LIMITS else "rule"


def _on_first_sight(
    record: TrialRecord, answer: str, steps: Sequence[StepRecord], observation_of: ObservationOf
) -> int | None:
    """The index of the stop, if its page was the first to show the answer."""
    wanted = normalise(answer)
    if len(wanted) < _SHORTEST or record.stop_reason != "answered" or record.category == "unachievable":
        return None
    if not steps or steps[-1].action.get("kind") != "stop":
        return None
    pages = [normalise(observation_of(step)) for step in steps]
    if not all(pages):  # a missing observation might have shown it
        return None
    word = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
    shows = [word.search(page) is not None for page in pages]
    return len(steps) - 1 if shows[-1] and not any(shows[:-1]) else None


def _typed_again(steps: Sequence[StepRecord]) -> tuple[int, int] | None:
    """Two steps that typed the same text into one field of one page, with no other action on it in between."""
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
        elif step.action.get("kind") not in ("hover", "click"):  # keys, for example, may have cleared the field
            last.pop(field, None)
    return None


def _element(step: StepRecord) -> object:
    assert step.target is not None
    named = bool(step.target.role and step.target.name)
    return (step.target.role, step.target.name) if named else step.target.selector


def _in_a_row(steps: Sequence[StepRecord]) -> int | None:
    """The last of three equal actions in a row that did not change the page."""
    row = 0
    for at, step in enumerate(steps):
        same = at > 0 and _done(step) == _done(steps[at - 1]) and step.url_before == steps[at - 1].url_before
        moved = step.url_after != step.url_before and not step.error
        row = 0 if moved or step.action.get("kind") in ("stop", "wait", "scroll", "noop") else row + 1 if same else 1
        if row >= _IN_A_ROW:
            return at
    return None


def _done(step: StepRecord) -> object:
    """What an action does, regardless of its element's number in the observation."""
    what = {name: value for name, value in step.action.items() if name != "target"}
    where = _element(step) if step.target else step.action.get("target")
    return repr((sorted(what.items(), key=lambda item: item[0]), step.value, where))


def _parts(record: TrialRecord) -> list[float]:
    """The score of each check of the verdict."""
    results: Sequence[Mapping[str, Any]] = (record.verdict or {}).get("results") or ()
    found = [each.get("counts") if each.get("counts") is not None else each.get("score") for each in results]
    return [float(each) for each in found if each is not None]
