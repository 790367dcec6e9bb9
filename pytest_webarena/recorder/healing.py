"""Finds an element again whose selector no longer finds it, if its repair selectors agree on one element.

Wrong healing is worse than none. An element is accepted only if a person who knew all recorded data would say that it
is the same control: enough evidence must be unchanged and none may point to another element. If less evidence is left
than lost, or the name is typical of a neighbouring control, the element counts as not found.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_webarena.actions import Selector
from pytest_webarena.recorder.element_evidence import (
    ALONE,
    SelectorEvidence,
    extends_name,
    families_finding,
    gather_evidence,
    listed,
)
from pytest_webarena.recorder.selector_families import PLACE, WEAK, family, role_and_name, submitting_only
from pytest_webarena.recorder.selector_proving import Page
from pytest_webarena.tasks.syntax import ROLES
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.signals import TargetRecord

__all__ = ["LookupResult", "described", "look_for"]

_KNOWN_ROLES = frozenset(
    {"button", "checkbox", "combobox", "link", "listbox", "option", "radio", "searchbox", "slider", "spinbutton",
     "textbox"}
)  # fmt: skip
"""Roles that are always recorded reliably."""
_LONGEST = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupResult:
    """Result of searching for one element."""

    target: Selector | None
    """Current selector and repair selectors; None if the element can't be identified."""
    found: TargetRecord | None = None
    families: tuple[str, ...] = ()
    """Families that agreed on it, if it was healed; empty if the step's own selector finds it."""
    note: str = ""
    """Why it was not found; if it was found, a warning about it."""

    @property
    def healed(self) -> bool:
        """Whether it was found by selectors other than the step's own."""
        return bool(self.families)

    @property
    def is_uncertain(self) -> bool:
        """Whether only weak evidence, such as its place or classes, identifies it."""
        return self.note.endswith(ALONE)


def look_for(target: Selector, page: Page, patience: float) -> LookupResult:
    """Find the element of a step. Its own selector is awaited for ``patience`` seconds; others have to agree."""
    page.find(target.selector, patience)
    evidence = gather_evidence(target, page)
    own = evidence.matches[target.selector]
    if own.is_unique:
        return _kept(target, evidence)
    if own.count:
        return _among(target, evidence, page)
    element, reason = evidence.agreed(evidence.votes)
    if element < 0:
        return LookupResult(target=None, note=reason)
    return _found(target, element, evidence, page)


def _kept(target: Selector, evidence: SelectorEvidence) -> LookupResult:
    """Handle an own selector that finds one element: keep it, with a warning if the element differs from the recorded
    one, unless all other evidence agrees on another element."""
    own = evidence.matches[target.selector]
    kind = family(target.selector)
    element, _ = evidence.agreed({name: found for name, found in evidence.votes.items() if name != kind})
    if element not in (-1, own.element) and evidence.strong(element):
        by = listed(families_finding(evidence.votes, element))
        return LookupResult(target=None, note=f"its selector finds {described(own.target)}, and {by} another element")
    return LookupResult(
        target=target, found=own.target, note=evidence.warning_about(own.target) if own.target is not None else ""
    )


def _among(target: Selector, evidence: SelectorEvidence, page: Page) -> LookupResult:
    """Handle an own selector that finds several elements.

    If selectors other than a place were kept, it found only one when it was recorded. So a similar element is new, and
    evidence that few elements share has to decide.
    """
    own = evidence.matches[target.selector]
    several = f"its selector finds {own.count} elements"
    if not evidence.others and ":nth-" not in target.selector:
        return LookupResult(target=target, found=own.target)
    placed = all(family(each) == PLACE for each in evidence.others)
    if placed and evidence.votes.get(PLACE, {own.element}) == {own.element}:
        return LookupResult(target=target, found=own.target, note=f"{several}, and {PLACE} {ALONE}")
    firm = {name: found for name, found in evidence.votes.items() if name not in WEAK}
    if firm and all(found == {own.element} for found in firm.values()):
        return LookupResult(target=target, found=own.target)
    element, _ = evidence.agreed(evidence.votes)
    if element not in (-1, own.element):
        return _found(target, element, evidence, page, f"{several}, and another one first")
    against = [name for name, found in firm.items() if own.element not in found]
    reason = (
        f"{listed(against)} not the first" if against else "nothing that few elements share says which one is meant"
    )
    return LookupResult(target=None, note=f"{several}, and {reason}")


def _found(target: Selector, element: int, evidence: SelectorEvidence, page: Page, note: str = "") -> LookupResult:
    """Return the element with the selector that a step should use from now on: role and name if these are unique."""
    matches, known = evidence.matches, (target.selector, *target.repair_selectors)
    agreeing = [each for each in evidence.others if matches[each].is_unique and matches[each].element == element]
    record = matches[agreeing[0]].target
    role, name = role_and_name(known)
    if record is not None and role in _KNOWN_ROLES and record.role in _KNOWN_ROLES and record.role != role:
        return LookupResult(target=None, note=f"a {role} was recorded, and there is {described(record)} now")
    if record is not None and extends_name(name, record.name) and not evidence.has_same_effect(element, role):
        return LookupResult(target=None, note=f"{described(record)} may be next to what was recorded: {role} {name!r}")
    own = _named(record, target.selector, agreeing[0], page) or agreeing[0]
    written = {submitting_only(each, known): each for each in target.repair_selectors}
    others = tuple(written[each] for each in agreeing if each != own)
    return LookupResult(
        target=Selector(own, repair_selectors=others),
        found=record,
        families=tuple(families_finding(evidence.votes, element)),
        note=note,
    )


def _named(record: TargetRecord | None, old: str, agreeing: str, page: Page) -> str:
    """Return a selector by role and name, in the frame of ``agreeing``, that finds only its element; or empty."""
    if record is None or record.role not in ROLES or record.role == "generic":
        return ""
    name = " ".join(record.name.split())
    if not 0 < len(name) <= _LONGEST:
        return ""
    frame, joint, _ = agreeing.rpartition(" >> ")
    selector = f"{frame}{joint}role={record.role}[name={json.dumps(name, ensure_ascii=False)}s]"
    by_name, by_other = page.find_matches([selector, agreeing])
    return selector if selector != old and by_name.is_unique and by_name.element == by_other.element else ""


def described(record: TargetRecord | None) -> str:
    """Describe an element in a few words."""
    if record is None:
        return "an element"
    return f"{record.role or record.tag} {clip(record.name, 60)!r}" if record.name else f"{record.role or record.tag}"
