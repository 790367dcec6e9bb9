"""Does recorded steps on fresh sites; each keeps the most lasting of its selectors that finds its element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_webarena.actions import Action, Goto, Selector
from pytest_webarena.recorder.selector_families import LAYOUT, NAME, PLACE, family
from pytest_webarena.recorder.steps import RecordedStep

if TYPE_CHECKING:
    from pytest_webarena.browser.reports import SelectorMatch
    from pytest_webarena.signals import TargetRecord

__all__ = ["Chosen", "Page", "choose", "prove", "relative"]

_PATIENCE = 5.0
"""Seconds to wait for an element: the page of the step before may still be on its way."""


class Page(Protocol):
    """What can be asked of the page in front; nothing is done to it."""

    def find(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        """The first match, waited for at most so many seconds."""

    def sightings(self, selectors: Sequence[str]) -> Sequence[SelectorMatch]:
        """What each selector finds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A step as the solution will have it."""

    action: Action
    problem: str = ""
    """What somebody should look at; empty for a step that found what was recorded, and had its effect."""


def choose(step: RecordedStep, page: Page) -> Chosen:
    """The action at the first of its ways that finds the recorded element and no other, the rest kept beside.

    Which that is, its place in the document says, which is the last way; so this is for pages as they were then.
    """
    if not step.ways:
        return Chosen(action=step.action, problem=step.problem)
    target, problem = _chosen(step.ways, page)
    to, lost = _chosen(step.to_ways, page) if step.to_ways else (None, "")
    return Chosen(action=step.aimed(target, to), problem=problem or lost or step.problem)


def _chosen(ways: Sequence[str], page: Page) -> tuple[Selector, str]:
    """By what the element is found, and what somebody should look at."""
    *lasting, place = ways
    if page.find(place, _PATIENCE) is None:  # it has moved: what it is called is all that is known of it
        for way in lasting:
            if family(way) not in LAYOUT and page.find(way) is not None:
                return Selector(way), "not where it was recorded; found by its name"
        return Selector(ways[0]), "its element is not there"
    seen = dict(zip(ways, page.sightings(ways), strict=True))
    meant = seen[place].element
    same = [way for way in ways if seen[way].element == meant >= 0]
    alone = [way for way in same if seen[way].alone]
    best = next((way for each in (alone, same) for way in each if way != place), place)
    kept = _apart(best, alone)
    if family(best) in LAYOUT and (name := next((way for way in ways if family(way) == NAME and seen[way].count), "")):
        kept = (name, *kept)  # others have it as well, but what has another one some day is not this element
    return Selector(best, repair_selectors=kept), ""


def _apart(best: str, alone: Sequence[str]) -> tuple[str, ...]:
    """What is worth keeping beside ``best``: one of each kind, and all names, for these are not read in one way."""
    kept: dict[str, str] = {}
    for way in alone:
        if way != best:
            kept.setdefault(way if family(way) in (NAME, PLACE) else family(way), way)
    return tuple(kept.values())


def prove(steps: Sequence[RecordedStep], page: Page, act: Callable[[Action], str]) -> Iterator[Chosen]:
    """Do all steps, each as it is chosen; ends with the first for which ``act`` says why it had no effect."""
    for step in steps:
        chosen = choose(step, page)
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
