"""The record of a trial as a sequence of moments, each of which may reach a key node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.actions import Note
from pytest_webarena.evidence import Evidence, StepRecord
from pytest_webarena.signals import AddressChanged, DomEvent, Signal

__all__ = ["BEFORE", "Moment", "moments", "resets", "same_field", "takes_over"]

BEFORE = -1
"""The step of moments before the agent's first step."""

_VALUED = ("input", "change")
_ACTED = frozenset({"click", "type", "select", "check"})
"""Kinds of action that cause DOM events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happened, and when."""

    kind: Literal["start", "address", "event", "note", "gap", "end"]
    """Kind of the moment. ``gap``: something may have happened that was not recorded."""
    step: int | None
    """Index of the step; `BEFORE` before the first one; None if unknown."""
    url: str = ""
    """Address of the tab's page."""
    event: DomEvent | None = None
    settled: bool = True
    """For an event: whether its value is complete, and not the beginning of what is being typed."""
    text: str = ""
    """Text of a note."""
    why: str = ""
    """For a gap: why nothing was recorded."""
    elements: bool = True
    addresses: bool = True
    """For a gap: whether elements (``elements``) or addresses (``addresses``) may be missing."""
    by_agent: bool = False
    """For a gap: whether it exists because there was too much to record."""
    shown: frozenset[str] = frozenset()
    """For the end: addresses that were shown before, each at its own moment."""


def moments(evidence: Evidence) -> tuple[Moment, ...]:
    """Returns all moments in order; the first is the start, if it is known, and the last is the end."""
    found = tuple(_moments(evidence))
    shown = frozenset(each.url for each in found if each.kind in ("start", "address"))
    steps = evidence.steps
    return (*found, Moment(kind="end", step=steps[-1].index if steps else BEFORE, shown=shown))


def _moments(evidence: Evidence) -> Iterator[Moment]:
    steps, signals = evidence.steps, evidence.signals
    if steps and steps[0].url_before:
        yield Moment(kind="start", step=BEFORE, url=steps[0].url_before)
    if signals is None:
        yield from _by_steps(steps)
        yield Moment(kind="gap", step=None, why="what happened in the browser was not recorded")
    else:
        before = min(evidence.signals_before, len(signals))
        for signal in signals[:before]:
            if isinstance(signal, AddressChanged):
                yield Moment(kind="start", step=BEFORE, url=signal.url)
        yield from _by_signals(signals, steps, evidence.signals_after, before)
        if evidence.lost_signals:
            why = f"{evidence.lost_signals:,} later signals of the browser had no room in the record"
            yield Moment(kind="gap", step=None, why=why, by_agent=True)
        if evidence.unheard_documents:
            why = f"in {evidence.unheard_documents:,} documents nobody is known to have listened for events"
            yield Moment(kind="gap", step=None, why=why, addresses=False)
        elif _deaf(evidence):
            yield Moment(kind="gap", step=None, why="no events of pages were recorded", addresses=False)


def _deaf(evidence: Evidence) -> bool:
    """Whether DOM events may have been missed because nobody listened."""
    if evidence.dom_events or any(isinstance(signal, DomEvent) for signal in evidence.signals or ()):
        return False
    return evidence.dom_events is False or any(map(_acts, evidence.steps))


def _acts(step: StepRecord) -> bool:
    return not step.error and step.action.get("kind") in _ACTED


def _by_steps(steps: Sequence[StepRecord]) -> Iterator[Moment]:
    """Yields the known addresses of the agent's steps, if no signals were recorded."""
    for step in steps:
        for url in (step.url_before, step.url_after):
            if url:
                yield Moment(kind="address", step=step.index, url=url)
        yield from _note(step)


def _by_signals(
    signals: Sequence[Signal], steps: Sequence[StepRecord], after: Sequence[int], before: int
) -> Iterator[Moment]:
    """Yields signals and notes in order, without signals ``before`` the agent's start. Without the number of signals
    per step, the notes come last."""
    settled = _settled(signals, after)
    known = len(after) == len(steps)
    done = before
    for step, until in zip(steps, after, strict=False) if known else ():
        for index in range(done, min(until, len(signals))):
            yield from _signal(signals[index], step.index, settled[index])
        done = max(done, until)
        yield from _note(step)
    rest = steps[-1].index if steps and known else None
    for index in range(done, len(signals)):
        yield from _signal(signals[index], rest, settled[index])
    if not known:
        for step in steps:
            yield from _note(step)


def _signal(signal: Signal, step: int | None, settled: bool) -> Iterator[Moment]:
    if isinstance(signal, AddressChanged):
        yield Moment(kind="address", step=step, url=signal.url)
    elif isinstance(signal, DomEvent):
        yield Moment(kind="event", step=step, url=signal.url, event=signal, settled=settled)


def _note(step: StepRecord) -> Iterator[Moment]:
    if step.action.get("kind") == Note.kind and not step.error:
        yield Moment(kind="note", step=step.index, text=str(step.action.get("text", "")))


def _settled(signals: Sequence[Signal], after: Sequence[int]) -> list[bool]:
    """Returns for each signal whether no other value of the same field follows at once: typing 200 does not enter
    20."""
    ends = set(after)
    settled = [True] * len(signals)
    open_: DomEvent | None = None
    begun = 0
    for index, signal in enumerate(signals):
        if index in ends:
            open_ = None  # at the end of a step, the field's value counts as entered
        if not isinstance(signal, DomEvent):
            open_ = None
        elif signal.by_script:
            continue
        elif signal.event in _VALUED and signal.value is not None:
            if open_ is not None and same_field(open_, signal) and not _is_tick(signal):
                settled[begun] = False
            open_, begun = signal, index
        elif open_ is not None and not same_field(open_, signal):
            open_ = None
    return settled


def _is_tick(event: DomEvent) -> bool:
    """Whether the event is of a checkbox, each of whose values is intended."""
    return bool(event.chain) and event.chain[0].attributes.get("type", "").lower() == "checkbox"


def same_field(one: DomEvent, two: DomEvent) -> bool:
    """Whether both events are of the same element, as far as the records show. One record may include the surroundings
    of the element's frame and the other not."""
    places = [[(each.tag, each.nth, each.within) for each in event.chain] for event in (one, two)]
    shorter, longer = sorted(places, key=len)
    cut_at_frame = bool(shorter) and shorter[-1][2] == "frame"
    return (
        (one.tab, one.frame, one.target.selector) == (two.tab, two.frame, two.target.selector)
        and (shorter == longer or (cut_at_frame and shorter == longer[: len(shorter)]))
        and all(_attribute(one, name) == _attribute(two, name) for name in ("id", "name"))
    )


def _attribute(event: DomEvent, name: str) -> str | None:
    return event.chain[0].attributes.get(name) if event.chain else None


def takes_over(given: DomEvent, event: DomEvent) -> bool:
    """Whether ``event`` selects another radio button of the group of ``given``, which is then off without an event."""
    return (
        event.event in _VALUED
        and _group(given) is not None
        and _group(given) == _group(event)
        and not same_field(given, event)
    )


def _group(event: DomEvent) -> object:
    names = event.chain[0].attributes if event.chain else {}
    if names.get("type", "").lower() != "radio" or not names.get("name"):
        return None
    return (event.tab, event.frame, names["name"])


def resets(given: DomEvent, event: DomEvent) -> bool:
    """Whether ``event`` is a click on a reset button in the document of ``given``."""
    return (
        event.event == "click"
        and (event.tab, event.frame) == (given.tab, given.frame)
        and any(
            each.tag in ("button", "input") and each.attributes.get("type", "").lower() == "reset"
            for each in event.chain
        )
    )
