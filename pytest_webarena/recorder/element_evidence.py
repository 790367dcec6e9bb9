"""What speaks for an element on a page being the one that a step means, and what against it.

Evidence counts by families: what selectors ask for that can change alone. What an element is called is one family,
however many selectors name it; an id, an attribute, its classes are others.
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
    as_leading,
    as_sending,
    called,
    family,
)
from pytest_webarena.recorder.selector_proving import Page

if TYPE_CHECKING:
    from pytest_webarena.actions import Selector
    from pytest_webarena.browser.reports import SelectorMatch
    from pytest_webarena.signals import TargetRecord

__all__ = ["ALONE", "Signs", "gathered", "listed", "stands_beside"]

ALONE = "alone says which one is meant"
"""How a note ends of an element that nothing but its place, or other weak evidence, tells from others."""

_ENOUGH = 2
"""Families that have to agree. An address counts twice: what leads to the same page, and does nothing else, does the
same, whatever it is called."""


@dataclass(frozen=True)
class Signs:
    """What the selectors of one step find on a page."""

    own: str
    """By which the step says it."""
    others: tuple[str, ...]
    """What is kept; what sends a form is asked for as `as_sending` does."""
    seen: Mapping[str, SelectorMatch]

    @cached_property
    def votes(self) -> dict[str, set[int]]:
        """Which elements each family finds, of what is kept beside and finds one and no other.

        A name next to a step that says a place was no one's alone when it was recorded: it decides nothing.
        """
        votes: dict[str, set[int]] = {}
        for selector in self.others:
            kind = family(selector)
            if self.seen[selector].alone and not (kind == NAME and family(self.own) in LAYOUT):
                votes.setdefault(kind, set()).add(self.seen[selector].element)
        return votes

    def strong(self, element: int) -> list[str]:
        """The families that find this element alone, and that few elements share."""
        found = [name for name in those(self.votes, element) if name not in WEAK]
        return [name for name in found if name != ADDRESS or self.leads(element)]

    def leads(self, element: int) -> bool:
        """Whether it does nothing else than lead to the address by which it is found: a link that a script sends, to
        delete what is there, is another one."""
        ways = [each for each in self.others if family(each) == ADDRESS and self.seen[each].element == element]
        return any(self.seen[as_leading(each)].element == element for each in ways)

    @cached_property
    def gone(self) -> list[str]:
        """The families, but its name, that few elements share, of which nothing finds anything any more."""
        count: dict[str, int] = {}
        for selector in (self.own, *self.others):
            count[family(selector)] = count.get(family(selector), 0) + self.seen[selector].count
        return [name for name, number in count.items() if not number and name != NAME and name not in WEAK]

    def agreed(self, votes: Mapping[str, set[int]]) -> tuple[int, str]:
        """The one element that enough families find and none of the others contradicts; else -1, and why."""
        firm = {name: found for name, found in votes.items() if name != PLACE}
        meant = {element for found in firm.values() for element in found}
        if len(meant) > 1:
            return -1, f"{listed(firm)} do not find the same element"
        if not meant:
            only = (
                "only its place in the document finds something" if votes else "nothing that is known of it finds one"
            )
            return -1, only
        [element] = meant
        if not self.leads(element):
            firm.pop(ADDRESS, None)
        strong = [name for name in firm if name not in WEAK]
        at_place = votes.get(PLACE) == {element}
        if PLACE in votes and not at_place and len(strong) < _ENOUGH:
            return -1, f"{listed(firm)} and its place do not find the same element"
        if not strong or len(firm) + at_place + (ADDRESS in firm) < _ENOUGH:
            return -1, f"{listed(those(votes, element))} alone would find one, which is not enough"
        if NAME not in firm and len(self.gone) > len(strong):
            return -1, f"{listed(those(votes, element))} would find one, but {listed(self.gone)} nothing any more"
        return element, ""

    def does_the_same(self, element: int, role: str) -> bool:
        """Whether it leads, sends or fills what the recorded one did, as far as that is known; or has two marks of it
        that nobody reads."""
        strong = [name for name in self.strong(element) if name != NAME]
        does = {"link": (ADDRESS,), "button": (ADDRESS, FORM)}.get(role, (FIELD,))
        return any(each in strong for each in does) or len([name for name in strong if name != FORM]) >= _ENOUGH

    def against(self, record: TargetRecord) -> str:
        """What somebody should know of an element that the step's own selector finds alone: in what it is another than
        the recorded one, or that little says it is the same. Empty for nothing."""
        kind = family(self.own)
        role, name = called([self.own, *self.others])
        said = " ".join(record.name.split())
        if kind != NAME and name and (record.role, said.casefold()) != (role, name.casefold()):
            return f"the page differs: it is {record.role} {said!r}, and {role} {name!r} was recorded"
        found = self.seen[self.own].element
        votes = {each: elements for each, elements in self.votes.items() if each != kind}
        elsewhere = [each for each, elements in votes.items() if each not in WEAK and elements != {found}]
        if elsewhere:
            return f"the page differs: by {listed(elsewhere)} another element would be found"
        beside = {family(each): None for each in self.others if family(each) != kind}
        strong = [each for each in beside if each not in WEAK]
        confirming = {family(each) for each in self.others if self.seen[each].element == found}
        if kind in WEAK and (beside or ":nth-" in self.own) and not any(each in votes for each in strong):
            return f"{kind} {ALONE}"
        if beside and not confirming.intersection(strong or beside):
            return f"the page differs: by {listed(strong or list(beside))} it is found no more"
        return ""


def gathered(target: Selector, page: Page) -> Signs:
    """What ``target`` and all that is kept beside it find now."""
    known = (target.selector, *target.repair_selectors)
    others = tuple(
        dict.fromkeys(as_sending(each, known) for each in target.repair_selectors if each != target.selector)
    )
    selectors = tuple(dict.fromkeys((target.selector, *others, *map(as_leading, others))))
    return Signs(target.selector, others, dict(zip(selectors, page.sightings(selectors), strict=True)))


def stands_beside(old: str, new: str) -> bool:
    """Whether one of two names is the other one with more words, as things are called that are next to each other.

    >>> stands_beside("Save", "Save as draft"), stands_beside("Save", "Keep it")
    (True, False)
    >>> stands_beside("Short title", "title"), stands_beside("Title", "Title *")
    (True, False)
    """
    words = [set(re.findall(r"\w+", name.casefold())) for name in (old, new)]
    return bool(words[0] and words[1]) and words[0] != words[1] and (words[0] <= words[1] or words[1] <= words[0])


def those(votes: Mapping[str, set[int]], element: int) -> list[str]:
    """The families that find this element and no other."""
    return [name for name, found in votes.items() if found == {element}]


def listed(names: Mapping[str, object] | Sequence[str]) -> str:
    """Words with commas and an "and"."""
    words = list(names)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
