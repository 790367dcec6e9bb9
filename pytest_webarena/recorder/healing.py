"""Finds an element again whose selector finds it no more: what else was kept of it has to agree on one element.

Wrong healing is worse than none, so agreement counts by families: what selectors ask for that can change alone. What an
element is called is one family, however many selectors name it; an id, an attribute, its classes are others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_webarena.actions import Selector
from pytest_webarena.recorder.families import AROUND, CLASSES, NAME, PLACE, ROLE, family
from pytest_webarena.recorder.proving import Page
from pytest_webarena.tasks.syntax import ROLES
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.browser.reports import Sighting
    from pytest_webarena.signals import TargetRecord

__all__ = ["Looked", "look_for", "said_of"]

_WEAK = (CLASSES, AROUND, PLACE)
"""Families that many elements share, or that shift with whatever comes before them."""
_ENOUGH, _ENOUGH_WEAK = 2, 3
"""Families that have to agree; where all of them are weak, so many."""
_KNOWN_ROLES = frozenset(
    {"button", "checkbox", "combobox", "link", "listbox", "option", "radio", "searchbox", "slider", "spinbutton",
     "textbox"}
)  # fmt: skip
"""Roles that are told of elements without doubt."""
_TELLING_WORD = re.compile(r"[^\W\d_]{4,}")
_LONGEST = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What came of looking for one element."""

    target: Selector | None
    """By what it is found now, and by what else; None where nobody knows which element is meant."""
    found: TargetRecord | None = None
    by: tuple[str, ...] = ()
    """The families that agreed on it, if it had to be healed; empty: it is found as the task says."""
    note: str = ""
    """Why it is not found; of one that is, in what the page is another."""

    @property
    def healed(self) -> bool:
        """Whether it was found by something else than the task says."""
        return bool(self.by)


def look_for(target: Selector, page: Page, patience: float) -> Looked:
    """Where the element of a step is now. Its own selector is waited for; another one has to be agreed on."""
    there = page.find(target.selector, patience) is not None
    others = [each for each in target.also if each != target.selector]
    parts = [] if there else _parts_of_name([target.selector, *others])
    selectors = [target.selector, *others, *parts]
    seen = dict(zip(selectors, page.sightings(selectors), strict=True))
    votes = _votes({each: seen[each] for each in others})
    if NAME not in votes and (part := _one_of([seen[each] for each in parts])) >= 0:
        votes["a part of its name"] = {part}
    element, why = _agreed(votes)
    own = seen[target.selector]
    if own.count:
        return _kept(target, own, element, votes, seen, page)
    if element < 0:
        return Looked(target=None, note=why)
    return _found(target, element, votes, seen, page)


def _kept(
    target: Selector,
    own: Sighting,
    element: int,
    votes: Mapping[str, set[int]],
    seen: Mapping[str, Sighting],
    page: Page,
) -> Looked:
    """The step's own selector finds something: it stays, unless it finds several and all else says another one.

    Of several that nothing else says the first of, none is taken: something that looks alike may have come before it.
    """
    if element < 0 and own.count > 1 and votes and not any(own.element in found for found in votes.values()):
        return Looked(target=None, note=f"its selector finds {own.count} elements, and {_listed(votes)} not the first")
    if element in (-1, own.element):
        note = f"its selector finds {own.count} elements, of which the first is taken"
        return Looked(target=target, found=own.target, note=note if element < 0 and own.count > 1 and votes else "")
    if own.alone:
        by = _listed(_those(votes, element))
        return Looked(target=target, found=own.target, note=f"by {by} another element would be found")
    return _found(target, element, votes, seen, page, f"its selector finds {own.count} elements, and another one first")


def _votes(seen: Mapping[str, Sighting]) -> dict[str, set[int]]:
    """Which elements each family finds, of selectors that find one and no other."""
    votes: dict[str, set[int]] = {}
    for selector, sighting in seen.items():
        if sighting.alone:
            votes.setdefault(family(selector), set()).add(sighting.element)
    return votes


def _agreed(votes: Mapping[str, set[int]]) -> tuple[int, str]:
    """The one element that enough families find and none of the others contradicts; else -1, and why."""
    firm = {name: found for name, found in votes.items() if name != PLACE}
    meant = {element for found in firm.values() for element in found}
    if len(meant) > 1:
        return -1, f"{_listed(firm)} do not find the same element"
    if not meant:
        only = "only its place in the document finds something" if votes else "nothing that is known of it finds one"
        return -1, f"{only}"
    [element] = meant
    strong = [name for name in firm if name not in _WEAK]
    at_place = votes.get(PLACE) == {element}
    if PLACE in votes and not at_place and len(strong) < _ENOUGH:
        return -1, f"{_listed(firm)} and its place do not find the same element"
    agreeing = len(firm) + at_place
    if agreeing < (_ENOUGH if strong else _ENOUGH_WEAK):
        return -1, f"{_listed(_those(votes, element))} alone would find one, which is not enough"
    return element, ""


def _found(
    target: Selector,
    element: int,
    votes: Mapping[str, set[int]],
    seen: Mapping[str, Sighting],
    page: Page,
    note: str = "",
) -> Looked:
    """The element as a step should name it from now on: by its role and name, if these find it alone."""
    agreeing = [each for each in target.also if seen[each].alone and seen[each].element == element]
    record = seen[agreeing[0]].target
    wanted = _role_of([target.selector, *target.also])
    if record is not None and wanted in _KNOWN_ROLES and record.role in _KNOWN_ROLES and record.role != wanted:
        return Looked(target=None, note=f"a {wanted} was recorded, and there is {said_of(record)} now")
    own = _named(record, target.selector, agreeing[0], page) or agreeing[0]
    also = tuple(each for each in agreeing if each != own)
    return Looked(target=Selector(own, also=also), found=record, by=tuple(_those(votes, element)), note=note)


def _named(record: TargetRecord | None, old: str, same: str, page: Page) -> str:
    """A selector by role and name, in the frame of ``same``, if it finds what that finds and nothing else."""
    if record is None or record.role not in ROLES or record.role == "generic":
        return ""
    name = " ".join(record.name.split())
    if not 0 < len(name) <= _LONGEST:
        return ""
    frame, joint, _ = same.rpartition(" >> ")
    made = f"{frame}{joint}role={record.role}[name={json.dumps(name, ensure_ascii=False)}s]"
    by_name, by_other = page.sightings([made, same])
    return made if made != old and by_name.alone and by_name.element == by_other.element else ""


def _parts_of_name(selectors: Sequence[str]) -> list[str]:
    """For each of the longer words of the recorded name, what finds elements of its role that have it in their name."""
    for selector in selectors:
        frame, joint, last = selector.rpartition(" >> ")
        if (match := ROLE.fullmatch(last)) and match[2]:
            words = dict.fromkeys(_TELLING_WORD.findall(json.loads(match[2])))
            return [f"{frame}{joint}role={match[1]}[name=/\\b{word}\\b/i]" for word in words]
    return []


def _one_of(seen: Sequence[Sighting]) -> int:
    """The element that is found by all that find something, alone; -1 if there is none."""
    found = {each.element for each in seen if each.count}
    return found.pop() if len(found) == 1 and all(each.count < 2 for each in seen) else -1


def _role_of(selectors: Sequence[str]) -> str:
    """The role that one of the selectors asks for."""
    for selector in selectors:
        if match := ROLE.fullmatch(selector.rpartition(" >> ")[2]):
            return match[1]
    return ""


def _those(votes: Mapping[str, set[int]], element: int) -> list[str]:
    return [name for name, found in votes.items() if found == {element}]


def _listed(names: Mapping[str, object] | Sequence[str]) -> str:
    words = list(names)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def said_of(record: TargetRecord | None) -> str:
    """An element in a few words."""
    if record is None:
        return "an element"
    return f"{record.role or record.tag} {clip(record.name, 60)!r}" if record.name else f"{record.role or record.tag}"
