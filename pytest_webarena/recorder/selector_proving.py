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

_ANOTHER = "found by its place only, and nothing on the page has the recorded name; it may be another element"
_PATIENCE = 5.0
"""Seconds to wait for an element, because the page of the previous step may still be loading."""


class Page(Protocol):
    """Read-only queries to the active page."""

    def find(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        """Return the first match; wait for it at most ``patience`` seconds."""

    def find_matches(self, selectors: Sequence[str]) -> Sequence[SelectorMatch]:
        """Return the matches of each selector."""


class PageInUse(Page, Protocol):
    """A page on which steps are done."""

    @property
    def notes(self) -> str:
        """What the last action reported of its field; empty if nothing."""


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
    if not step.selectors:
        return Chosen(action=step.action, problem=step.problem)
    target, problem = _chosen(step.selectors, page)
    to, to_problem = _destination(step.to_selectors, target, page) if step.to_selectors else (None, "")
    return Chosen(action=step.with_target(target, to), problem=problem or to_problem or step.problem)


def _destination(selectors: Sequence[str], target: Selector, page: Page) -> tuple[Selector, str]:
    """Return the selectors of a drag's destination, and a problem for the author to look at.

    Lists move their elements during a drag, so the place was recorded in another order than the drag begins with. If
    the dragged element itself was below the pointer at the end, its place there is the destination.
    """
    names = [selector for selector in selectors[:-1] if family(selector) == NAME]
    dragged, *found = page.find_matches([target.selector, *names])
    others = [
        name for name, match in zip(names, found, strict=True) if match.is_unique and match.element != dragged.element
    ]
    return (Selector(others[0], repair_selectors=tuple(others[1:])), "") if others else _chosen(selectors, page)


def _chosen(selectors: Sequence[str], page: Page) -> tuple[Selector, str]:
    """Return the selectors of the element, and a problem for the author to look at."""
    *lasting, place = selectors
    if page.find(place, _PATIENCE) is None:  # the element has moved, so only its name can identify it
        for selector in lasting:
            if family(selector) not in LAYOUT and page.find(selector) is not None:
                return Selector(selector), "not where it was recorded; found by its name"
        return Selector(selectors[0]), "its element is not there"
    matches = dict(zip(selectors, page.find_matches(selectors), strict=True))
    recorded = matches[place].element
    agreeing = [selector for selector in selectors if matches[selector].element == recorded >= 0]
    alone = [selector for selector in agreeing if matches[selector].is_unique]
    best = next((selector for each in (alone, agreeing) for selector in each if selector != place), place)
    repair_selectors, names = _apart(best, alone), [each for each in selectors if family(each) == NAME]
    if best == place and names and not any(matches[each].count for each in names):
        return Selector(best, repair_selectors=repair_selectors), _ANOTHER
    if family(best) in LAYOUT and (
        name := next((selector for selector in selectors if family(selector) == NAME and matches[selector].count), "")
    ):
        repair_selectors = (
            name,
            *repair_selectors,
        )  # the name is not unique, but an element with another name would not be this one
    return Selector(best, repair_selectors=repair_selectors), ""


def _apart(best: str, alone: Sequence[str]) -> tuple[str, ...]:
    """Return repair selectors for ``best``: one per family, but all names, which are computed in different ways."""
    by_family: dict[str, str] = {}
    for selector in alone:
        if selector != best:
            by_family.setdefault(selector if family(selector) in (NAME, PLACE) else family(selector), selector)
    return tuple(by_family.values())


def prove(steps: Sequence[RecordedStep], page: PageInUse, act: Callable[[Action], str]) -> Iterator[Chosen]:
    """Do all steps with the chosen selectors, up to the first for which ``act`` returns why it had no effect."""
    for step in steps:
        chosen = choose(step, page)
        error = act(chosen.action)
        if error:
            yield Chosen(action=chosen.action, problem=f"it had no effect: {error}")
            return
        yield Chosen(action=chosen.action, problem=chosen.problem or page.notes)


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
