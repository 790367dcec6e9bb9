"""Mutants of a trial that reached its key nodes: without one step, the nodes that this step reached must be lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_webarena.actions import Noop, Stop, as_record
from pytest_webarena.checks.key_nodes.judging import judge
from pytest_webarena.checks.key_nodes.model import KeyNodes, UrlTarget
from pytest_webarena.checks.key_nodes.timeline import same_field
from pytest_webarena.checks.kind import View
from pytest_webarena.checks.verdict import Part
from pytest_webarena.evidence import Evidence
from pytest_webarena.signals import AddressChanged, DomEvent, Signal
from pytest_webarena.text import clip

__all__ = ["Mutant", "doubts", "mutants", "without_step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """The key nodes that a trial still reaches without one of its steps."""

    step: int
    """Index of the removed step."""
    meant: tuple[int, ...]
    """Positions, from 0, of the nodes that this step reached."""
    lost: tuple[int, ...]
    """Positions of the nodes that are no longer reached."""

    @property
    def exact(self) -> bool:
        """Whether exactly the step's nodes are lost."""
        return self.meant == self.lost


def without_step(evidence: Evidence, step: int) -> Evidence:
    """Returns the evidence as if this step had done nothing. It needs the number of signals after each step."""
    place = next(number for number, each in enumerate(evidence.steps) if each.index == step)
    ends = (0, *evidence.signals_after)
    begin, end = ends[place], ends[place + 1]
    signals = evidence.signals or ()
    late = _leaving(signals, begin, end)
    kept = (*signals[:begin], *(each for number, each in enumerate(signals[end:], start=end) if number not in late))
    gone = {each.url for each in signals[begin:end] if isinstance(each, AddressChanged)}
    gone -= {each.url for each in kept if isinstance(each, AddressChanged)}
    stops = evidence.steps[place].action.get("kind") == Stop.kind
    steps = tuple(replace(each, action=as_record(Noop())) if each.index == step else each for each in evidence.steps)
    return replace(
        evidence,
        answer=None if stops else evidence.answer,
        steps=steps,
        signals=kept,
        signals_after=tuple(
            each if each <= begin else max(begin, each - (end - begin) - sum(one < each for one in late))
            for each in evidence.signals_after
        ),
        tabs=tuple(replace(tab, url="about:blank") if tab.url in gone else tab for tab in evidence.tabs),
    )


def _leaving(signals: Sequence[Signal], begin: int, end: int) -> set[int]:
    """Returns the later signals that only report the change of a field which the step had filled."""
    filled = [each for each in signals[begin:end] if isinstance(each, DomEvent) and each.event == "input"]
    found = set()
    for number, each in enumerate(signals[end:], start=end):
        if not isinstance(each, DomEvent) or each.event not in ("input", "change"):
            continue
        others = [one for one in filled if not same_field(one, each)]
        if len(others) < len(filled) and each.event == "change":
            found.add(number)
        filled = others
    return found


def mutants(spec: KeyNodes, evidence: Evidence) -> Iterator[Mutant]:
    """Yields a mutant for each step that reached nodes; none if the record does not assign signals to steps."""
    if evidence.signals is None or len(evidence.signals_after) != len(evidence.steps):
        return
    whole = _wanted(spec, evidence)
    for step in sorted({part.step for part in whole.values() if part.step is not None and part.step >= 0 and part.by}):
        left = _wanted(spec, without_step(evidence, step))
        yield Mutant(
            step=step,
            meant=tuple(number for number, part in whole.items() if part.by and part.step == step),
            lost=tuple(number for number, part in whole.items() if part.by and not left[number].by),
        )


def _wanted(spec: KeyNodes, evidence: Evidence) -> dict[int, Part]:
    parts = judge(spec, View(evidence=evidence)).parts
    return {number: part for number, part in enumerate(parts) if not part.forbidden}


def doubts(spec: KeyNodes, evidence: Evidence) -> Iterator[str]:
    """Yields warnings about the nodes of a solution: those reached without their step, and those reached together.

    Address nodes are left out: a later address often contains an earlier one, as in a search that is narrowed down.
    """
    names = [clip(str(node), 60) for node in spec.nodes]
    for mutant in mutants(spec, evidence):
        for number in mutant.meant:
            if number not in mutant.lost and not isinstance(spec.nodes[number].target, UrlTarget):
                yield f"key node '{names[number]}' is reached without step {mutant.step} of the solution, too"
        if len(mutant.meant) > 1 and mutant.exact:
            yield f"one step reaches several key nodes: {_listed([names[number] for number in mutant.meant])}"
        extra = [names[number] for number in mutant.lost if number not in mutant.meant]
        if extra and spec.order == "any":
            yield f"without step {mutant.step} of the solution {_listed(extra)} can't be reached either"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
