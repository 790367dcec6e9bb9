"""Evidence for and against an element on a page being the one that a step means.

Evidence is counted by families of selectors, which can change independently. An element's name is one family, however
many selectors use it; an id, an attribute and the classes are others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_webarena.recorder.selector_families import (
    ADDRESS,
    FIELD,
    FORM,
    LAYOUT,
    NAME,
    PLACE,
    WEAK,
    family,
    leading_only,
    role_and_name,
    submitting_only,
)
from pytest_webarena.recorder.selector_proving import Page

if TYPE_CHECKING:
    from pytest_webarena.actions import Selector
    from pytest_webarena.browser.reports import SelectorMatch
    from pytest_webarena.signals import TargetRecord

__all__ = ["ALONE", "SelectorEvidence", "extends_name", "gather_evidence", "listed"]

ALONE = "alone says which one is meant"
"""End of the note on an element that only its place, or other weak evidence, distinguishes from others."""

_ENOUGH = 2
"""Number of families that have to agree. An address counts twice: links to the same page that do nothing else are
equivalent, whatever their name."""


@dataclass(frozen=True)
class SelectorEvidence:
    """Matches of all selectors of one step on a page."""

    own: str
    """The step's own selector."""
    others: tuple[str, ...]
    """Repair selectors; those of submit buttons are restricted by `submitting_only`."""
    matches: Mapping[str, SelectorMatch]

    @cached_property
    def votes(self) -> dict[str, set[int]]:
        """Elements that each family finds, from repair selectors that find exactly one.

        If the step's own selector is a place, its name was not unique when it was recorded, so names do not count.
        """
        votes: dict[str, set[int]] = {}
        for selector in self.others:
            kind = family(selector)
            if self.matches[selector].is_unique and not (kind == NAME and family(self.own) in LAYOUT):
                votes.setdefault(kind, set()).add(self.matches[selector].element)
        return votes

    def strong(self, element: int) -> list[str]:
        """Return the families that find this element alone and that few elements share."""
        found = [name for name in families_finding(self.votes, element) if name not in WEAK]
        return [name for name in found if name != ADDRESS or self.leads(element)]

    def leads(self, element: int) -> bool:
        """Return whether the element only leads to the address by which it is found.

        A link that a script handles, e.g. to delete something, does not count.
        """
        ways = [each for each in self.others if family(each) == ADDRESS and self.matches[each].element == element]
        return any(self.matches[leading_only(each)].element == element for each in ways)

    @cached_property
    def lost(self) -> list[str]:
        """Families, except names and weak ones, whose selectors no longer find anything."""
        count: dict[str, int] = {}
        for selector in (self.own, *self.others):
            count[family(selector)] = count.get(family(selector), 0) + self.matches[selector].count
        return [name for name, number in count.items() if not number and name != NAME and name not in WEAK]

    def agreed(self, votes: Mapping[str, set[int]]) -> tuple[int, str]:
        """Return the one element that enough families find and no other contradicts; else -1, and why."""
        firm = {name: found for name, found in votes.items() if name != PLACE}
        elements = {element for found in firm.values() for element in found}
        if len(elements) > 1:
            return -1, f"{listed(firm)} do not find the same element"
        if not elements:
            only = (
                "only its place in the document finds something" if votes else "nothing that is known of it finds one"
            )
            return -1, only
        [element] = elements
        if not self.leads(element):
            firm.pop(ADDRESS, None)
        strong = [name for name in firm if name not in WEAK]
        at_place = votes.get(PLACE) == {element}
        if PLACE in votes and not at_place and len(strong) < _ENOUGH:
            return -1, f"{listed(firm)} and its place do not find the same element"
        if not strong or len(firm) + at_place + (ADDRESS in firm) < _ENOUGH:
            return -1, f"{listed(families_finding(votes, element))} alone would find one, which is not enough"
        if NAME not in firm and len(self.lost) > len(strong):
            return (
                -1,
                f"{listed(families_finding(votes, element))} would find one, but {listed(self.lost)} nothing any more",
            )
        return element, ""

    def has_same_effect(self, element: int, role: str) -> bool:
        """Return whether the element leads, submits or fills like the recorded one, as far as known; or has two
        invisible marks of it."""
        strong = [name for name in self.strong(element) if name != NAME]
        does = {"link": (ADDRESS,), "button": (ADDRESS, FORM)}.get(role, (FIELD,))
        return any(each in strong for each in does) or len([name for name in strong if name != FORM]) >= _ENOUGH

    def warning_about(self, record: TargetRecord) -> str:
        """Return a warning about an element that the step's own selector finds alone; empty for none.

        It says how the element differs from the recorded one, or that only weak evidence identifies it.
        """
        kind = family(self.own)
        role, name = role_and_name([self.own, *self.others])
        found_name = " ".join(record.name.split())
        if kind != NAME and name and (record.role, found_name.casefold()) != (role, name.casefold()):
            return f"the page differs: it is {record.role} {found_name!r}, and {role} {name!r} was recorded"
        found = self.matches[self.own].element
        votes = {each: elements for each, elements in self.votes.items() if each != kind}
        elsewhere = [each for each, elements in votes.items() if each not in WEAK and elements != {found}]
        if elsewhere:
            return f"the page differs: by {listed(elsewhere)} another element would be found"
        other_families = {family(each): None for each in self.others if family(each) != kind}
        strong = [each for each in other_families if each not in WEAK]
        confirming = {family(each) for each in self.others if self.matches[each].element == found}
        if kind in WEAK and (other_families or ":nth-" in self.own) and not any(each in votes for each in strong):
            return f"{kind} {ALONE}"
        if other_families and not confirming.intersection(strong or other_families):
            return f"the page differs: by {listed(strong or list(other_families))} it is found no more"
        return ""


def gather_evidence(target: Selector, page: Page) -> SelectorEvidence:
    """Return the current matches of ``target`` and all its repair selectors."""
    known = (target.selector, *target.repair_selectors)
    others = tuple(
        dict.fromkeys(submitting_only(each, known) for each in target.repair_selectors if each != target.selector)
    )
    selectors = tuple(dict.fromkeys((target.selector, *others, *map(leading_only, others))))
    return SelectorEvidence(target.selector, others, dict(zip(selectors, page.find_matches(selectors), strict=True)))


def extends_name(old: str, new: str) -> bool:
    """Return whether one of two names is the other with more words, as names of neighbouring controls often are.

    >>> extends_name("Save", "Save as draft"), extends_name("Save", "Keep it")
    (True, False)
    >>> extends_name("Short title", "title"), extends_name("Title", "Title *")
    (True, False)
    """
    words = [set(re.findall(r"\w+", name.casefold())) for name in (old, new)]
    return bool(words[0] and words[1]) and words[0] != words[1] and (words[0] <= words[1] or words[1] <= words[0])


def families_finding(votes: Mapping[str, set[int]], element: int) -> list[str]:
    """Return the families that find this element and no other."""
    return [name for name, found in votes.items() if found == {element}]


def listed(names: Mapping[str, object] | Sequence[str]) -> str:
    """Join words with commas and an "and"."""
    words = list(names)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
