"""Does recorded steps on fresh sites. Each keeps the most durable of its selectors that finds its element."""

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
"""Seconds to wait for an element, because the page of the previous step may still be loading."""


class Page(Protocol):
    """Read-only queries to the active page."""

    def find(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        """Return the first match; wait for it at most ``patience`` seconds."""

    def find_matches(self, selectors: Sequence[str]) -> Sequence[SelectorMatch]:
        """Return the matches of each selector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A step in the form that the solution will have."""

    action: Action
    problem: str = ""
    """Problem for the author to look at; empty if the step found the recorded element and had an effect."""


def choose(step: RecordedStep, page: Page) -> Chosen:
    """Return the action with the first selector that finds only the recorded element, and the rest as repair selectors.

    The recorded element is the one at its place in the document, which is the last selector. So the page must still be
    as it was when recorded.
    """
    if not step.ways:
        return Chosen(action=step.action, problem=step.problem)
    target, problem = _chosen(step.ways, page)
    to, lost = _chosen(step.to_ways, page) if step.to_ways else (None, "")
    return Chosen(action=step.with_target(target, to), problem=problem or lost or step.problem)


def _chosen(ways: Sequence[str], page: Page) -> tuple[Selector, str]:
    """Return the selectors of the element, and a problem for the author to look at."""
    *lasting, place = ways
    if page.find(place, _PATIENCE) is None:  # the element has moved, so only its name can identify it
        for way in lasting:
            if family(way) not in LAYOUT and page.find(way) is not None:
                return Selector(way), "not where it was recorded; found by its name"
        return Selector(ways[0]), "its element is not there"
    matches = dict(zip(ways, page.find_matches(ways), strict=True))
    recorded = matches[place].element
    same = [way for way in ways if matches[way].element == recorded >= 0]
    alone = [way for way in same if matches[way].alone]
    best = next((way for each in (alone, same) for way in each if way != place), place)
    kept = _apart(best, alone)
    if family(best) in LAYOUT and (
        name := next((way for way in ways if family(way) == NAME and matches[way].count), "")
    ):
        kept = (name, *kept)  # the name is not unique, but an element with another name would not be this one
    return Selector(best, repair_selectors=kept), ""


def _apart(best: str, alone: Sequence[str]) -> tuple[str, ...]:
    """Return repair selectors for ``best``: one per family, but all names, which are computed in different ways."""
    kept: dict[str, str] = {}
    for way in alone:
        if way != best:
            kept.setdefault(way if family(way) in (NAME, PLACE) else family(way), way)
    return tuple(kept.values())


def prove(steps: Sequence[RecordedStep], page: Page, act: Callable[[Action], str]) -> Iterator[Chosen]:
    """Do all steps with the chosen selectors, up to the first for which ``act`` returns why it had no effect."""
    for step in steps:
        chosen = choose(step, page)
        error = act(chosen.action)
        if error:
            yield Chosen(action=chosen.action, problem=f"it had no effect: {error}")
            return
        yield chosen


def relative(action: Action, sites: Mapping[str, str]) -> Action:
    """Return the action with an address in the form of task files: ``/path`` on the first site, else ``site:/path``."""
    if not isinstance(action, Goto):
        return action
    for number, (site, base) in enumerate(sites.items()):
        if action.url == base or action.url.startswith((f"{base}/", f"{base}?", f"{base}#")):
            path = action.url[len(base) :]
            path = path if path.startswith("/") else f"/{path}"
            return Goto(path if number == 0 else f"{site}:{path}")
    return action
