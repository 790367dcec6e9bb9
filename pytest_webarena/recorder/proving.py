"""Does recorded steps on fresh sites; each keeps the most lasting of its selectors that finds its element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_webarena.actions import Action, Goto
from pytest_webarena.recorder.steps import RecordedStep

if TYPE_CHECKING:
    from pytest_webarena.signals import TargetRecord

__all__ = ["Chosen", "choose", "prove", "relative"]

_PATIENCE = 5.0
"""Seconds to wait for an element: the page of the step before may still be on its way."""

Find = Callable[[str, float], "TargetRecord | None"]
"""The first match of a selector, waited for at most so many seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A step as the solution will have it."""

    action: Action
    problem: str = ""
    """What somebody should look at; empty for a step that found what was recorded, and had its effect."""


def choose(step: RecordedStep, find: Find) -> Chosen:
    """The action at the first of its ways that finds the recorded element.

    Which that is, its place in the document says, which is the last way; so this is for pages as they were then.
    """
    if not step.ways:
        return Chosen(action=step.action, problem=step.problem)
    *lasting, place = step.ways
    meant = find(place, _PATIENCE)
    if meant is None:  # it has moved: what it is called is all that is known of it
        for way in lasting:
            if find(way, 0.0) is not None:
                return Chosen(action=step.aimed(way), problem="not where it was recorded; found by its name")
        return Chosen(action=step.action, problem="its element is not there")
    for way in lasting:
        found = find(way, 0.0)
        if found is not None and _is(found, meant):
            return Chosen(action=step.aimed(way), problem=step.problem)
    return Chosen(action=step.aimed(place), problem=step.problem)


def _is(found: TargetRecord, meant: TargetRecord) -> bool:
    """Whether two elements that were described a moment apart are the same."""
    return (found.selector, found.tag, found.x, found.y) == (meant.selector, meant.tag, meant.x, meant.y)


def prove(steps: Sequence[RecordedStep], find: Find, act: Callable[[Action], str]) -> Iterator[Chosen]:
    """Do all steps, each as it is chosen; ends with the first for which ``act`` says why it had no effect."""
    for step in steps:
        chosen = choose(step, find)
        error = act(chosen.action)
        if error:
            yield Chosen(action=chosen.action, problem=f"it had no effect: {error}")
            return
        yield chosen


def relative(action: Action, sites: Mapping[str, str]) -> Action:
    """The action with an address as task files have it: ``/path`` on the first site, else ``site:/path``."""
    if not isinstance(action, Goto):
        return action
    for number, (site, base) in enumerate(sites.items()):
        if action.url == base or action.url.startswith((f"{base}/", f"{base}?", f"{base}#")):
            path = action.url[len(base) :]
            path = path if path.startswith("/") else f"/{path}"
            return Goto(path if number == 0 else f"{site}:{path}")
    return action
